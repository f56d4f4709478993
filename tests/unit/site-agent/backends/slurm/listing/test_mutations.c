/*  test_mutations.c -- what a real cluster printed, cut off, garbled, and as a newer Slurm may print it: a
 * list is whole or none, and nothing outside of the text is ever read. */
#include <ctype.h>

#include "federation/base/id.h"
#include "tests/unit/site-agent/backends/slurm/listing/listing_testing.h"

enum { UNTOUCHED = 7777 };

/*  What a reader made of a text: how many entries, and a digest of every field. */
typedef struct outcome {
    helio_rc rc;
    uint32_t count;
    uint64_t digest;
    helio_text_t from; /* every text must be a view into this */
    char complaint[600];
} outcome_t;

static void add_text(outcome_t *outcome, helio_text_t text)
{
    if (text.size &&
        (text.data < outcome->from.data || text.data + text.size > outcome->from.data + outcome->from.size))
        fail_msg("a text of %u bytes is not of what was read", text.size);
    outcome->digest = helio_hash(outcome->digest, &text.size, sizeof text.size);
    outcome->digest = helio_hash(outcome->digest, text.data, text.size);
}

static void add_number(outcome_t *outcome, uint64_t number)
{
    outcome->digest = helio_hash(outcome->digest, &number, sizeof number);
}

static outcome_t begin_outcome(helio_text_t from)
{
    return (outcome_t){.from = from, .digest = HELIO_HASH_SEED};
}

static void end_outcome(outcome_t *outcome, helio_rc rc, uint32_t count, const helio_error_t *err)
{
    outcome->rc = rc;
    outcome->count = count;
    (void)snprintf(outcome->complaint, sizeof outcome->complaint, "%s", rc ? err->text : "");
    if (rc != HELIO_OK && (rc != HELIO_INVALID || count != UNTOUCHED))
        fail_msg("rc %d, %u entries", (int)rc, count);
}

/* ---- the readers --------------------------------------------------------------------------------------- */

static outcome_t read_nodes(helio_text_t text)
{
    helio_slurm_nodes_t nodes = {.count = UNTOUCHED};
    helio_error_t err = {0};
    outcome_t outcome = begin_outcome(text);
    helio_rc rc = helio_slurm_read_nodes(text, arena, &nodes, &err);
    for (uint32_t i = 0; rc == HELIO_OK && i < nodes.count; i++) {
        const helio_slurm_node_t *node = &nodes.items[i];
        add_text(&outcome, node->name);
        add_text(&outcome, node->partitions);
        add_text(&outcome, node->features);
        add_text(&outcome, node->reason);
        assert_true(node->gpu_kinds <= HELIO_SLURM_GRES_MAX);
        for (uint32_t g = 0; g < node->gpu_kinds; g++) {
            add_text(&outcome, node->gpus[g].type);
            add_number(&outcome, node->gpus[g].count);
            add_number(&outcome, node->gpus[g].used);
        }
        add_number(&outcome, node->cpus);
        add_number(&outcome, node->cpus_allocated);
        add_number(&outcome, node->memory_bytes);
        add_number(&outcome, node->memory_allocated_bytes);
        add_number(&outcome, node->up + 2u * node->closed + 4u * node->reserved + 8u * node->idle_off);
    }
    end_outcome(&outcome, rc, nodes.count, &err);
    return outcome;
}

static outcome_t read_partitions(helio_text_t text)
{
    helio_slurm_partitions_t partitions = {.count = UNTOUCHED};
    helio_error_t err = {0};
    outcome_t outcome = begin_outcome(text);
    helio_rc rc = helio_slurm_read_partitions(text, arena, &partitions, &err);
    for (uint32_t i = 0; rc == HELIO_OK && i < partitions.count; i++) {
        const helio_slurm_partition_t *partition = &partitions.items[i];
        add_text(&outcome, partition->name);
        add_text(&outcome, partition->nodes);
        add_number(&outcome, partition->is_default + 2u * partition->up);
        add_number(&outcome, partition->max_time_ms);
        add_number(&outcome, partition->max_nodes);
        add_number(&outcome, partition->priority_tier);
    }
    end_outcome(&outcome, rc, partitions.count, &err);
    return outcome;
}

static outcome_t read_reservations(helio_text_t text)
{
    helio_slurm_reservations_t all = {.count = UNTOUCHED};
    helio_error_t err = {0};
    outcome_t outcome = begin_outcome(text);
    helio_rc rc = helio_slurm_read_reservations(text, arena, &all, &err);
    for (uint32_t i = 0; rc == HELIO_OK && i < all.count; i++) {
        const helio_slurm_reservation_t *one = &all.items[i];
        add_text(&outcome, one->name);
        add_text(&outcome, one->nodes);
        assert_true(one->start_s >= 0 && one->end_s >= 0);
        add_number(&outcome, (uint64_t)one->start_s);
        add_number(&outcome, (uint64_t)one->end_s);
        add_number(&outcome, one->maintenance);
        add_number(&outcome, one->cpus);
        add_number(&outcome, one->gpus);
    }
    end_outcome(&outcome, rc, all.count, &err);
    return outcome;
}

static outcome_t read_ends(helio_text_t text)
{
    helio_slurm_ends_t ends = {.count = UNTOUCHED};
    helio_error_t err = {0};
    outcome_t outcome = begin_outcome(text);
    helio_rc rc = helio_slurm_read_ends(text, arena, &ends, &err);
    for (uint32_t i = 0; rc == HELIO_OK && i < ends.count; i++) {
        const helio_slurm_end_t *end = &ends.items[i];
        add_text(&outcome, end->id);
        add_text(&outcome, end->name);
        assert_true(end->id.size > 0 && isdigit((unsigned char)end->id.data[0]));
        assert_true((unsigned)end->state < HELIO_SLURM_STATE_COUNT);
        assert_true(end->submit_s >= 0 && end->start_s >= 0 && end->end_s >= 0 && end->cancelled_by >= -1);
        add_number(&outcome, end->state);
        add_number(&outcome, (uint64_t)end->start_s);
        add_number(&outcome, (uint64_t)end->end_s);
        add_number(&outcome, end->exit_code);
        add_number(&outcome, end->exit_signal);
        add_number(&outcome, (uint64_t)end->cancelled_by);
        add_number(&outcome, end->uid);
    }
    end_outcome(&outcome, rc, ends.count, &err);
    return outcome;
}

static outcome_t read_jobs(helio_text_t text)
{
    helio_slurm_jobs_t jobs = {.count = UNTOUCHED};
    helio_error_t err = {0};
    outcome_t outcome = begin_outcome(text);
    helio_rc rc = helio_slurm_read_jobs(text, arena, &jobs, &err);
    for (uint32_t i = 0; rc == HELIO_OK && i < jobs.count; i++) {
        const helio_slurm_job_t *job = &jobs.items[i];
        const helio_text_t texts[] = {job->id,        job->reason,  job->partition, job->gpu_type,
                                      job->node_list, job->planned, job->name};
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            add_text(&outcome, texts[t]);
        assert_true((unsigned)job->state < HELIO_SLURM_STATE_COUNT && job->start_s >= 0 && job->end_s >= 0);
        add_number(&outcome, job->gpus);
        add_number(&outcome, job->nodes);
        add_number(&outcome, job->uid);
    }
    end_outcome(&outcome, rc, jobs.count, &err);
    return outcome;
}

static outcome_t read_detail(helio_text_t text)
{
    helio_slurm_detail_t detail = {.exit_code = UNTOUCHED};
    helio_error_t err = {0};
    outcome_t outcome = begin_outcome(text);
    helio_rc rc = helio_slurm_read_detail(text, &detail, &err);
    if (rc == HELIO_OK) {
        add_text(&outcome, detail.id);
        add_text(&outcome, detail.name);
        add_text(&outcome, detail.reason);
        add_number(&outcome, detail.state);
        add_number(&outcome, detail.exit_code);
        add_number(&outcome, detail.exit_signal);
        add_number(&outcome, (uint64_t)detail.start_s);
        add_number(&outcome, (uint64_t)detail.end_s);
        add_number(&outcome, detail.uid);
    }
    end_outcome(&outcome, rc, rc ? detail.exit_code : 1, &err);
    return outcome;
}

static const struct list {
    const char *file;
    outcome_t (*read)(helio_text_t text);
    uint32_t entries;
    const char *required; /* keys without which an entry says nothing */
} lists[] = {
    {"nodes.txt", read_nodes, 3, "NodeName CPUAlloc CPUEfctv RealMemory State "},
    {"nodes-mixed.txt", read_nodes, 3, "NodeName CPUAlloc RealMemory State "},
    {"partitions.txt", read_partitions, 3, "PartitionName Nodes State "},
    {"reservations.txt", read_reservations, 3, "ReservationName StartTime EndTime Nodes "},
    {"job.txt", read_detail, 1, "JobId JobName UserId JobState ExitCode StartTime EndTime "},
    {"sacct.txt", read_ends, 0, ""},
    {"squeue.txt", read_jobs, 0, ""},
};
enum { LISTS = sizeof lists / sizeof lists[0] };

/*  By a copy of its own size, and an arena of its own. */
static outcome_t read_copy(const struct list *list, helio_text_t text)
{
    char *copy = exact(text);
    helio_arena_t *kept = arena;
    arena = helio_arena_new();
    outcome_t outcome = list->read((helio_text_t){copy, text.size});
    helio_arena_destroy(&arena);
    arena = kept;
    free(copy);
    outcome.from = (helio_text_t){0};
    return outcome;
}

/* ---- cut off and garbled ------------------------------------------------------------------------------- */

static void a_list_that_was_cut_off_within_a_line_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < LISTS; i++) {
        helio_text_t text = recorded(lists[i].file);
        uint32_t most = 0;
        for (uint32_t size = 0; size <= text.size; size++) {
            bool at_end = size == 0 || text.data[size - 1] == '\n';
            if (text.size > 3000 && !at_end && size % 4) /* of long lists every fourth */
                continue;
            outcome_t outcome = read_copy(&lists[i], (helio_text_t){text.data, size});
            if (outcome.rc == HELIO_OK && !at_end)
                fail_msg("%s: %u of %u bytes were a list", lists[i].file, size, text.size);
            if (outcome.rc == HELIO_OK && outcome.count < most)
                fail_msg("%s: %u bytes have %u entries, fewer bytes %u", lists[i].file, size, outcome.count, most);
            if (outcome.rc == HELIO_OK)
                most = outcome.count;
        }
        assert_true(most > 0 && (!lists[i].entries || most == lists[i].entries));
    }
}

static void a_garbled_list_is_read_within_its_bounds_or_is_none(void **state)
{
    (void)state;
    static const char bytes[] = {'\0', '\n', ' ', '=', '9', '|', '-', (char)0xff, ',', '(', '+'};
    for (size_t i = 0; i < LISTS; i++) {
        helio_text_t text = recorded(lists[i].file);
        char *garbled = exact(text);
        uint32_t refused = 0;
        for (uint32_t at = 0; at<text.size; at += text.size> 3000 ? 3 : 1) {
            char before = garbled[at];
            garbled[at] = bytes[(at * 7 + at / 11) % sizeof bytes];
            outcome_t outcome = read_copy(&lists[i], (helio_text_t){garbled, text.size});
            refused += outcome.rc != HELIO_OK;
            for (const char *c = outcome.complaint; *c; c++)
                if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
                    fail_msg("%s: a complaint has byte %02x of the list", lists[i].file, (unsigned char)*c);
            garbled[at] = before;
        }
        free(garbled);
        assert_true(refused > text.size / 300); /* the garbling is no mere change of names */
    }
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/*  The text with `bytes` in place of those of [from, to). */
static helio_text_t replaced(helio_text_t text, uint32_t from, uint32_t to, const char *bytes)
{
    return helio_arena_printf(arena, "%.*s%s%.*s", (int)from, text.data, bytes, (int)(text.size - to), text.data + to);
}

/*  The first line of a list; without what people wrote at its end. */
static helio_text_t first_line(const struct list *list)
{
    helio_text_t text = recorded(list->file);
    const char *end = memchr(text.data, '\n', text.size);
    assert_non_null(end);
    return (helio_text_t){text.data, (uint32_t)(end - text.data) + 1};
}

static void an_entry_without_a_key_that_matters_is_invalid(void **state)
{
    (void)state;
    for (size_t i = 0; i < LISTS; i++) {
        helio_text_t line = first_line(&lists[i]);
        for (const char *key = lists[i].required; *key; key += strcspn(key, " ") + 1) {
            int size = (int)strcspn(key, " ");
            const char *word = helio_arena_string(arena, helio_arena_printf(arena, "%.*s=", size, key));
            const char *text = helio_arena_string(arena, line), *at = text;
            while ((at = strstr(at, word)) && at != text && at[-1] != ' ')
                at++;
            if (!at) /* an older Slurm has no CPUEfctv */
                continue;
            uint32_t from = (uint32_t)(at - text), to = from + (uint32_t)strcspn(at, " \n");
            outcome_t outcome = read_copy(&lists[i], replaced(line, from, to, "Other=1"));
            bool has_another = !strcmp(word, "CPUEfctv="); /* CPUTot stands in for it */
            if ((outcome.rc == HELIO_OK) != has_another)
                fail_msg("%s without %s is %s", lists[i].file, word, outcome.rc ? "invalid" : "taken");
        }
    }
}

/*  Newer releases add keys; where they put them is theirs. Nothing may come before the name. */
static void a_key_of_a_newer_release_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < LISTS; i++) {
        if (!*lists[i].required)
            continue;
        helio_text_t line = first_line(&lists[i]);
        outcome_t expected = read_copy(&lists[i], line);
        assert_int_equal(expected.rc, HELIO_OK);
        const char *text = helio_arena_string(arena, line), *own = strstr(text, "UserId=");
        uint32_t tried = 0, from = own && lists[i].read == read_detail ? (uint32_t)(own - text) : 0;
        for (uint32_t at = from; at < line.size; at++) {
            if (line.data[at] != ' ' || strncmp(text + at, " Dependency=", 12) == 0) /* a reason ends there alone */
                continue;
            outcome_t outcome = read_copy(&lists[i], replaced(line, at, at, " NewKey=State=DOWN Flags:New=9"));
            if (outcome.rc != expected.rc || outcome.digest != expected.digest)
                fail_msg("%s: a new key before '%.30s' changes what is read", lists[i].file, line.data + at);
            tried++;
        }
        assert_true(tried > 10);
    }
}

/*  The name of a job is its user's to choose; Slurm prints it before everything that matters. */
static void a_name_that_goes_on_as_slurm_would_is_invalid(void **state)
{
    (void)state;
#define FORGED                                                                                          \
    "UserId=ada(1000) GroupId=ada(1000) JobState=COMPLETED Reason=None Dependency=(null) ExitCode=0:0 " \
    "StartTime=5 EndTime=9"
#define OWN                                                                                          \
    "UserId=eve(1001) GroupId=eve(1001) JobState=FAILED Reason=None Dependency=(null) ExitCode=1:0 " \
    "StartTime=5 EndTime=9\n"
    static const struct {
        const char *text;
        helio_rc rc;
    } rows[] = {
        {"JobId=8 JobName=helio-a-1 " OWN, HELIO_OK},
        {"JobId=8 JobName=helio-a-1 " FORGED " " OWN, HELIO_INVALID},
        {"JobId=8 JobName=helio-a-1 UserId=ada(1000) " OWN, HELIO_INVALID},
        {"JobId=8 JobName=helio-a-1 HetJobIdSet=8 UserId=ada(1000) JobState=COMPLETED " OWN, HELIO_INVALID},
        {"JobId=8 JobName=helio-a-1 JobName=helio-b-1 " OWN, HELIO_INVALID},
        {"JobId=8 JobName=helio-a-1  " OWN, HELIO_INVALID},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_slurm_detail_t detail;
        if (helio_slurm_read_detail(helio_text_of(rows[i].text), &detail, NULL) != rows[i].rc)
            fail_msg("'%s' is %s", rows[i].text, rows[i].rc ? "taken" : "refused");
    }
#undef FORGED
#undef OWN
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_list_that_was_cut_off_within_a_line_is_none),  TEST(a_garbled_list_is_read_within_its_bounds_or_is_none),
        TEST(an_entry_without_a_key_that_matters_is_invalid), TEST(a_key_of_a_newer_release_changes_nothing),
        TEST(a_name_that_goes_on_as_slurm_would_is_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
