/*  test_sound.c -- a snapshot is a file that anyone can have written: what cannot be is named, and nothing else
 *  happens. */
#include "tests/unit/simulator/rehearsal/rehearsal_testing.h"

#include <stdio.h>

#include "federation/base/rng.h"
#include "federation/wire/codec.h"

enum { PARTS_MAX = 128, MUTATIONS = 3000, TEXTS_MAX = 512 };

/*  ---- one of each part ---- */

static void put(uint32_t kind, const void *record)
{
    put_part(&parts.expected, kind, record); /* behind sites, jobs and states */
}

static void add_account_parts(void)
{
    const helio_row_queue_rule_t rule = {.queue = HELIO_TEXT("standard"),
                                         .schedule = HELIO_TEXT("mon-fri 08:00-18:00"),
                                         .priority = 20,
                                         .at_ms = NOON - DAY,
                                         .holds = true};
    const helio_row_quota_t quota = {HELIO_TEXT("acme"), {0}, 4, HELIO_QUOTA_UNLIMITED, 1000, NOON - DAY};
    const helio_row_quota_t own = {HELIO_TEXT("globex"), HELIO_TEXT("standard"), 2, 8, 500, NOON - DAY};
    const helio_row_budget_t budget = {HELIO_TEXT("acme"), {0}, 1, INT64_C(1000000000), HELIO_PERIOD_MONTH, NOON - DAY};
    const helio_row_spent_t spent = {
        HELIO_TEXT("acme"), HELIO_TEXT("standard"), NOON - NOON % DAY, 3600000, 1000000, 100000};
    const helio_row_usage_t usage = {HELIO_TEXT("acme"), HELIO_TEXT("H100"), NOON - 5 * HOUR, 7200000};
    const helio_row_overflow_t overflow = {.name = HELIO_TEXT("first-north"),
                                           .queue = HELIO_TEXT("batch"),
                                           .steps = HELIO_TEXT("north; south after 1h"),
                                           .at_ms = NOON - DAY};
    const helio_row_data_t data = {HELIO_TEXT("s3://corpus/"), HELIO_TEXT("north south"), NOON - DAY, {0}};
    const helio_row_link_t link = {HELIO_TEXT("north"), HELIO_TEXT("south"), false, 1000, 20000, 30, NOON - DAY};
    const helio_row_curtailment_t curtailment = {.site = HELIO_TEXT("north"),
                                                 .set_ms = NOON - HOUR,
                                                 .from_ms = NOON - HOUR,
                                                 .until_ms = NOON + HOUR,
                                                 .percent = 60,
                                                 .actor = HELIO_TEXT("user:ops/ada")};
    put(HELIO_BROKER_EV_LOAD_CURTAILMENT, &curtailment);
    put(HELIO_BROKER_EV_LOAD_QUEUE_RULE, &rule);
    put(HELIO_BROKER_EV_LOAD_QUOTA, &quota);
    put(HELIO_BROKER_EV_LOAD_QUOTA, &own);
    put(HELIO_BROKER_EV_LOAD_BUDGET, &budget);
    put(HELIO_BROKER_EV_LOAD_SPENT, &spent);
    put(HELIO_BROKER_EV_LOAD_USAGE, &usage);
    put(HELIO_BROKER_EV_LOAD_OVERFLOW, &overflow);
    put(HELIO_BROKER_EV_LOAD_DATA, &data);
    put(HELIO_BROKER_EV_LOAD_LINK, &link);
}

static void add_series_parts(void)
{
    static double prices[] = {0.05, 0.06, 0.07, 0.05, 0.04, 0.09, 0.1, 0.08};
    const helio_row_actual_t actual = {.site = HELIO_TEXT("north"),
                                       .signal = HELIO_SIGNAL_ELECTRICITY,
                                       .hour_ms = NOON - 2 * HOUR,
                                       .value = 0.06,
                                       .source = HELIO_TEXT("feed"),
                                       .issued_ms = NOON - 2 * HOUR};
    const helio_row_series_t series = {.site = HELIO_TEXT("north"),
                                       .signal = HELIO_SIGNAL_ELECTRICITY,
                                       .source = HELIO_TEXT("feed"),
                                       .issued_ms = NOON,
                                       .start_ms = NOON,
                                       .step_s = 3600,
                                       .values = {prices, 8},
                                       .p10 = {prices, 8},
                                       .p90 = {prices, 8}};
    put(HELIO_BROKER_EV_LOAD_ACTUAL, &actual);
    put(HELIO_BROKER_EV_LOAD_SERIES, &series);
    put(HELIO_SNAPSHOT_SERIES, &series);
}

/*  An array of three tasks, the first of which is over and the second runs; a job waits for it, and one for that task. */
static void add_array(helio_job_key_t *ret_array)
{
    static uint32_t tasks[] = {0, 1, 2};
    helio_gpu_ask_t gpu = {.model = HELIO_TEXT("H100"), .count = 1};
    helio_job_key_t key = {.job = {.bytes = {[0] = 3}}, .task = 0};
    const helio_ev_load_job_t job = {.row = {.job = key.job,
                                             .tenant = HELIO_TEXT("acme"),
                                             .user = HELIO_TEXT("ada"),
                                             .name = HELIO_TEXT("sweep"),
                                             .queue = HELIO_TEXT("standard"),
                                             .tier = HELIO_TIER_STANDARD,
                                             .gpus = 1,
                                             .nodes = 1,
                                             .time_limit_ms = HOUR,
                                             .class_id = 77,
                                             .tasks = {tasks, 3},
                                             .tasks_at_once = 2,
                                             .submitted_ms = NOON - 2 * HOUR},
                                     .spec = {.name = HELIO_TEXT("sweep"),
                                              .queue = HELIO_TEXT("standard"),
                                              .gpus = {&gpu, 1},
                                              .nodes = 1,
                                              .time_limit_ms = HOUR,
                                              .tasks = {tasks, 3},
                                              .tasks_at_once = 2}};
    helio_row_state_t state = {.key = key,
                               .state = HELIO_JOB_SUCCEEDED,
                               .epoch = 1,
                               .attempts = 1,
                               .site = HELIO_TEXT("south"),
                               .pool = HELIO_TEXT("h100"),
                               .started_ms = NOON - 2 * HOUR,
                               .finished_ms = NOON - HOUR,
                               .gpu_ms = HOUR,
                               .at_ms = NOON - HOUR};
    put_part(&parts.jobs, HELIO_BROKER_EV_LOAD_JOB, &job);
    put_part(&parts.states, HELIO_BROKER_EV_LOAD_STATE, &state);
    state.key.task = 1;
    state.state = HELIO_JOB_SUSPECT;
    state.before = HELIO_JOB_RUNNING;
    state.finished_ms = 0;
    put_part(&parts.states, HELIO_BROKER_EV_LOAD_STATE, &state);
    *ret_array = (helio_job_key_t){key.job, HELIO_NO_TASK};
}

static void add_job_parts(helio_job_key_t runs, helio_job_key_t waits)
{
    helio_job_key_t array;
    add_array(&array);
    const helio_row_waiting_t first = {waits.job, HELIO_AFTER_OK, array, HELIO_FOUND_OPEN},
                              second = {waits.job, HELIO_AFTER_ANY, runs, HELIO_FOUND_OPEN},
                              third = {waits.job, HELIO_AFTER_OK, {array.job, 0}, HELIO_FOUND_OK};
    const helio_row_earliest_start_t earliest = {runs, HELIO_TEXT("south"), HELIO_TEXT("h100"), NOON - HOUR};
    const helio_row_transfer_t transfer = {runs, 1, 60000, 1000, 5000, 800};
    const helio_row_run_t run = {.tenant = HELIO_TEXT("acme"),
                                 .user = HELIO_TEXT("ada"),
                                 .name = HELIO_TEXT("job"),
                                 .gpu_model = HELIO_TEXT("H100"),
                                 .run_ms = HOUR / 2,
                                 .whole = true,
                                 .gpus = 4,
                                 .time_limit_ms = HOUR};
    const helio_row_edit_t edit = {.job = waits.job,
                                   .priority = 5,
                                   .queue = HELIO_TEXT("express"),
                                   .tier = HELIO_TIER_CRITICAL,
                                   .class_id = 500,
                                   .at_ms = NOON - HOUR};
    put_part(&parts.jobs, HELIO_BROKER_EV_LOAD_EDIT, &edit);
    put(HELIO_BROKER_EV_LOAD_WAITING, &first);
    put(HELIO_BROKER_EV_LOAD_WAITING, &second);
    put(HELIO_BROKER_EV_LOAD_WAITING, &third);
    put(HELIO_BROKER_EV_LOAD_EARLIEST_START, &earliest);
    put(HELIO_BROKER_EV_LOAD_TRANSFER, &transfer);
    put(HELIO_BROKER_EV_LOAD_RUN, &run);
}

static void add_class_parts(helio_job_key_t flexible, helio_job_key_t begun)
{
    helio_arena_t *arena = helio_arena_new();
    const helio_row_ended_hold_t ended = {begun.job};
    helio_row_class_t class = {.class_id = 100 + (uint64_t)flexible.job.bytes[15],
                               .tenant = HELIO_TEXT("globex"),
                               .queue = HELIO_TEXT("standard"),
                               .at_ms = NOON - HOUR,
                               .expected_ms = NOON + 3 * HOUR};
    helio_details_add(&class.details, arena,
                      HELIO_DETAIL(arena, HELIO_DETAIL_WINDOW_AT, helio_value_string("north"),
                                   helio_value_string("h100"), helio_value_number(NOON + 3 * HOUR)));
    put(HELIO_BROKER_EV_LOAD_ENDED_HOLD, &ended);
    put(HELIO_BROKER_EV_LOAD_CLASS, &class);
    helio_arena_destroy(&arena);
}

static helio_text_t whole_snapshot(void)
{
    const helio_snapshot_options_t options = {.release = HELIO_TEXT("1"),
                                              .lease_ms = 900000,
                                              .renew_ms = 90000,
                                              .silent_after_ms = 60000,
                                              .offers_unanswered_max = 8};
    put_part(&bytes, HELIO_SNAPSHOT_OPTIONS, &options);
    add_site("north", 1, 2);
    add_site("south", 2, 0);
    helio_job_key_t runs = add_job("acme", (job_ask_t){.gpus = 4, .hours = 2, .runs_at = "north", .ran_min = 30});
    (void)add_job("globex", (job_ask_t){.queue = "batch",
                                        .gpus = 6,
                                        .hours = 3,
                                        .runs_at = "south",
                                        .ran_min = 10,
                                        .checkpoint_min = 5,
                                        .on_site_loss = HELIO_SITE_LOSS_EAGER});
    helio_job_key_t waits = add_job("globex", (job_ask_t){.gpus = 8, .hours = 1, .deadline_ms = NOON + 9 * HOUR});
    helio_job_key_t flexible = add_job("globex", (job_ask_t){.gpus = 2, .hours = 1});
    helio_job_key_t begun = add_job("acme", (job_ask_t){.queue = "express", .gpus = 8, .hours = 1});
    add_account_parts();
    add_series_parts();
    add_job_parts(runs, waits);
    add_class_parts(flexible, begun);
    return snapshot();
}

/*  ---- parts of a snapshot, which are changed and written again ---- */

typedef struct part {
    uint32_t kind;
    helio_record_type_t type;
    void *record;
} part_t;

typedef struct mutation {
    helio_rng_t rng;
    helio_arena_t *arena;
    part_t parts[2 * PARTS_MAX];
    uint32_t part_count;
    helio_text_t texts[TEXTS_MAX]; /* of all parts */
    uint32_t text_count;
    char what[512];
} mutation_t;

static uint64_t below(mutation_t *self, uint64_t bound)
{
    return helio_rng_below(&self->rng, bound);
}

static void collect_texts(mutation_t *self, const helio_record_type_t *type, const void *record)
{
    for (size_t i = 0; i < type->field_count; i++)
        if (type->fields[i].kind == HELIO_KIND_TEXT && self->text_count < TEXTS_MAX)
            self->texts[self->text_count++] = *(const helio_text_t *)((const char *)record + type->fields[i].offset);
}

static helio_rc take(void *arg, uint32_t kind, void *record, helio_error_t *ret_err)
{
    mutation_t *self = arg;
    (void)ret_err;
    assert_true(self->part_count < PARTS_MAX);
    self->parts[self->part_count++] = (part_t){kind, *helio_snapshot_part(kind).type, record};
    collect_texts(self, helio_snapshot_part(kind).type, record);
    return HELIO_OK;
}

static uint64_t odd_number(mutation_t *self, uint64_t now)
{
    static const uint64_t odd[] = {0,
                                   1,
                                   2,
                                   63,
                                   64,
                                   65,
                                   255,
                                   256,
                                   10000,
                                   100001,
                                   INT32_MAX,
                                   UINT32_MAX,
                                   INT64_MAX,
                                   UINT64_MAX,
                                   UINT64_C(1) << 53,
                                   UINT64_C(1) << 62,
                                   (uint64_t)INT64_MIN,
                                   86400000};
    switch (below(self, 6)) {
    case 0:
        return now + 1;
    case 1:
        return now - 1;
    case 2:
        return now * (2 + below(self, 1000));
    case 3:
        return helio_rng_next(&self->rng) >> below(self, 64);
    default:
        return odd[below(self, sizeof odd / sizeof odd[0])];
    }
}

static double odd_double(mutation_t *self, double now)
{
    static const double odd[] = {0, -1, 1, 1e-300, 1e9, 1e18, 1e300, -1e300, 100000, 0.5};
    return below(self, 3) ? odd[below(self, sizeof odd / sizeof odd[0])] : now * (double)below(self, 100000);
}

static helio_job_key_t odd_key(mutation_t *self, helio_job_key_t now)
{
    if (below(self, 2))
        now.job.bytes[below(self, 2) ? 15 : 0] = (uint8_t)below(self, 8);
    if (below(self, 2))
        now.task = (int32_t)below(self, 5) - 2;
    return now;
}

static void alter(mutation_t *self, const helio_record_type_t *type, void *record);

static void alter_list(mutation_t *self, const helio_field_t *field, helio_list_t *list)
{
    uint64_t what = below(self, 3);
    if (!list->count)
        return;
    if (what == 0)
        list->count = (uint32_t)below(self, list->count);
    else if (field->kind == HELIO_KIND_LIST)
        alter(self, field->nested, (char *)list->items + below(self, list->count) * field->nested->size);
    else if (field->kind == HELIO_KIND_F64S)
        ((double *)list->items)[below(self, list->count)] = odd_double(self, 1);
    else
        ((uint32_t *)list->items)[below(self, list->count)] = (uint32_t)odd_number(self, 1);
}

static void alter(mutation_t *self, const helio_record_type_t *type, void *record)
{
    const helio_field_t *field = &type->fields[below(self, type->field_count)];
    void *at = (char *)record + field->offset;
    size_t used = strlen(self->what);
    (void)snprintf(self->what + used, sizeof self->what - used, " %s.%s", type->name, field->name);
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        *(bool *)at = !*(bool *)at;
        break;
    case HELIO_KIND_I32:
    case HELIO_KIND_U32:
        *(uint32_t *)at = (uint32_t)odd_number(self, *(uint32_t *)at);
        break;
    case HELIO_KIND_I64:
    case HELIO_KIND_U64:
        *(uint64_t *)at = odd_number(self, *(uint64_t *)at);
        used = strlen(self->what);
        (void)snprintf(self->what + used, sizeof self->what - used, " = %lld", (long long)*(uint64_t *)at);
        break;
    case HELIO_KIND_F64:
        *(double *)at = odd_double(self, *(double *)at);
        break;
    case HELIO_KIND_UUID:
        *(helio_uuid_t *)at = odd_key(self, (helio_job_key_t){*(helio_uuid_t *)at, 0}).job;
        break;
    case HELIO_KIND_KEY:
        *(helio_job_key_t *)at = odd_key(self, *(helio_job_key_t *)at);
        break;
    case HELIO_KIND_TEXT:
        *(helio_text_t *)at = below(self, 4) ? self->texts[below(self, self->text_count)] : (helio_text_t){0};
        break;
    case HELIO_KIND_BYTES:
        *(helio_text_t *)at = self->texts[below(self, self->text_count)];
        break;
    case HELIO_KIND_RECORD:
        alter(self, field->nested, at);
        break;
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
    default:
        alter_list(self, field, at);
        break;
    }
}

static void mutate_once(mutation_t *self)
{
    uint32_t i = (uint32_t)below(self, self->part_count), k = (uint32_t)below(self, self->part_count);
    part_t part = self->parts[i];
    size_t used = strlen(self->what);
    uint64_t what = below(self, 12);
    if (what > 2) {
        alter(self, &part.type, part.record);
        return;
    }
    (void)snprintf(self->what + used, sizeof self->what - used, " %s %s", part.type.name,
                   what == 0   ? "is left out"
                   : what == 1 ? "is there twice"
                               : "is elsewhere");
    if (what == 0) {
        memmove(&self->parts[i], &self->parts[i + 1], (self->part_count - i - 1) * sizeof part);
        self->part_count--;
    } else if (what == 1) {
        self->parts[self->part_count++] = part;
    } else {
        self->parts[i] = self->parts[k];
        self->parts[k] = part;
    }
}

/*  False: no writer could write it. */
static bool write_again(const mutation_t *self, helio_buffer_t *out)
{
    helio_snapshot_begin(out);
    for (uint32_t i = 0; i < self->part_count; i++)
        if (helio_snapshot_add(self->parts[i].kind, self->parts[i].record, out, &err) != HELIO_OK)
            return false;
    return true;
}

static bool is_accepted(helio_text_t taken)
{
    reh_result_t result;
    reh_change_t down;
    helio_error_t wrong = {0};
    assert_int_equal(reh_change_parse("down=north:1h", &down, &wrong), HELIO_OK);
    helio_rc rc = reh_run(taken, NULL, 0, 6 * HOUR, &result, &wrong);
    if (rc == HELIO_OK) {
        reh_result_clear(&result);
        rc = reh_run(taken, &down, 1, 6 * HOUR, &result, &wrong);
        if (rc == HELIO_OK)
            reh_result_clear(&result);
    }
    assert_true(rc == HELIO_OK || wrong.text[0]);
    return rc == HELIO_OK;
}

static void a_snapshot_of_every_part__is_rehearsed(void **state)
{
    (void)state;
    if (!is_accepted(whole_snapshot())) {
        reh_copy_t copy;
        assert_int_equal(reh_copy_read(helio_buffer_view(&bytes), &copy, &err), HELIO_OK);
        fail_msg("%s", err.text);
    }
}

static void a_snapshot_with_wrong_values__does_no_harm(void **state)
{
    (void)state;
    helio_text_t good = whole_snapshot();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bad = {0};
    uint32_t accepted = 0, refused = 0;
    const char *only = getenv("HELIO_MUTATION");
    uint64_t from = only ? strtoull(only, NULL, 10) : 1, to = from + (only ? 1 : MUTATIONS);
    const char *many = getenv("HELIO_MUTATIONS");
    to = many ? from + strtoull(many, NULL, 10) : to;
    mutation_t *self = helio_new(1, sizeof *self);
    for (uint64_t seed = from; seed < to; seed++) {
        *self = (mutation_t){.rng = {seed}, .arena = helio_arena_new()};
        assert_int_equal(helio_snapshot_each(good, self->arena, take, self, &err), HELIO_OK);
        for (uint64_t times = 1 + below(self, 3); times; times--)
            mutate_once(self);
        if (many || only)
            print_message("%llu:%s\n", (unsigned long long)seed, self->what);
        if (write_again(self, &bad)) {
            bool ok = is_accepted(helio_buffer_view(&bad));
            accepted += ok;
            refused += !ok;
        }
        helio_arena_destroy(&self->arena);
    }
    free(self);
    if (!only)
        assert_true(accepted > MUTATIONS / 20 && refused > MUTATIONS / 20);
}

static void a_damaged_snapshot__does_no_harm(void **state)
{
    (void)state;
    helio_text_t good = whole_snapshot();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bad = {0};
    helio_rng_t rng = {7};
    for (uint32_t i = 0; i < MUTATIONS; i++) {
        helio_buffer_reset(&bad);
        helio_buffer_append(&bad, good.data, i % 4 ? good.size : helio_rng_below(&rng, good.size));
        for (uint64_t times = i % 4; times && bad.size; times--)
            ((char *)bad.data)[helio_rng_below(&rng, bad.size)] = (char)helio_rng_next(&rng);
        (void)is_accepted(helio_buffer_view(&bad));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_snapshot_of_every_part__is_rehearsed),
        CASE(a_snapshot_with_wrong_values__does_no_harm),
        CASE(a_damaged_snapshot__does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
