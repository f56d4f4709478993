/*  The writer against a real PostgreSQL: what goes in comes out equal, batches are whole, and nothing is lost
 * or doubled when connection, server or leadership go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/store.h"
#include "federation/base/clock.h"
#include "tests/support/pg_fixture.h"

enum { PATIENCE_MS = 30000 };

static const char source_text[] = "name: hello\nrun: echo hello\n";
static const helio_uuid_t mark; /* from the first job on, unless a test says otherwise */
static char hash_a[32] = {1, 2, 3}, hash_b[32] = {9};

/* ---- arranging -------------------------------------------------------------------------------------------
 */

static helio_uuid_t job_id(uint32_t number)
{
    uint8_t random[10] = {0};
    memcpy(random + 6, &number, sizeof number);
    return helio_uuid_v7(INT64_C(1795000000000) + number, random);
}

static helio_row_job_t job_row(uint32_t number)
{
    return (helio_row_job_t){.job = job_id(number),
                             .tenant = HELIO_TEXT("acme"),
                             .user = HELIO_TEXT("ada"),
                             .spec_hash = {hash_a, sizeof hash_a},
                             .source = HELIO_TEXT(source_text),
                             .name = HELIO_TEXT("hello"),
                             .queue = HELIO_TEXT("standard"),
                             .tier = 1,
                             .kind = 2,
                             .home_site = HELIO_TEXT("lulea"),
                             .gpu_model = HELIO_TEXT("H100"),
                             .gpus = 16,
                             .nodes = 2,
                             .time_limit_ms = 86400000,
                             .class_id = UINT64_C(0xfedcba9876543210),
                             .submitted_ms = INT64_C(1795000000123)};
}

static helio_row_state_t state_row(uint32_t number, int32_t task, uint32_t state)
{
    return (helio_row_state_t){.key = {job_id(number), task},
                               .state = state,
                               .before = HELIO_JOB_RUNNING,
                               .intent = 1,
                               .epoch = 3,
                               .attempts = 2,
                               .failures = 1,
                               .site_failures = 1,
                               .site = HELIO_TEXT("lulea"),
                               .pool = HELIO_TEXT("h100"),
                               .reason = HELIO_TEXT("because"),
                               .started_ms = INT64_C(1795000001001),
                               .finished_ms = 0,
                               .exit_code = -1,
                               .gpu_ms = UINT64_C(123456789012),
                               .cost_micro_usd = 42,
                               .energy_j = 43,
                               .carbon_mg = 44,
                               .units_done = 45,
                               .at_ms = INT64_C(1795000002999),
                               .evictions = 4,
                               .saved_ms = 46,
                               .moves = 3};
}

static void append(helio_store_t *store, uint32_t kind, const void *record)
{
    const helio_effect_t effect = {.kind = kind,
                                   .release = HELIO_RELEASE_ROW,
                                   .batch = helio_store_open_batch(store),
                                   .payload = (void *)(uintptr_t)record};
    helio_store_append(store, &effect);
}

static helio_store_t *opened(const char *conninfo)
{
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    helio_error_t err = {.text = ""};
    helio_rc rc = helio_store_open(store, &err);
    if (rc != HELIO_OK)
        fail_msg("open: %s", err.text);
    return store;
}

/*  As the engine's loop: waits for the socket, moves on. Until `batch` is committed, or process says
 * otherwise. */
static helio_rc drive(helio_store_t *store, uint64_t batch, helio_error_t *err)
{
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (helio_store_committed(store) < batch) {
        if (helio_clock_boot_ms() > give_up_ms)
            fail_msg("batch %" PRIu64 " was not committed in time: %s", batch, helio_store_trouble(store));
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        helio_rc rc = helio_store_process(store, helio_clock_boot_ms(), err);
        if (rc != HELIO_OK)
            return rc;
    }
    return HELIO_OK;
}

static void commit(helio_store_t *store)
{
    helio_error_t err = {.text = ""};
    uint64_t batch = helio_store_open_batch(store);
    assert_true(helio_store_can_seal(store));
    helio_store_seal(store, mark);
    if (drive(store, batch, &err) != HELIO_OK)
        fail_msg("commit: %s", err.text);
}

static void assert_value(const char *conninfo, const char *sql, const char *expected)
{
    char *value = helio_pg_value(conninfo, sql);
    assert_string_equal(value, expected);
    free(value);
}

/* ---- what goes in comes out ------------------------------------------------------------------------------
 */

typedef struct loaded {
    helio_arena_t *arena;
    uint32_t kinds[512];
    void *records[512];
    uint32_t count;
} loaded_t;

static void collect(void *arg, uint32_t kind, const void *payload)
{
    loaded_t *self = arg;
    const helio_record_type_t *type = helio_broker_events[kind].type;
    assert_true(self->count < 512);
    self->kinds[self->count] = kind;
    self->records[self->count] = helio_arena_alloc(self->arena, 1, type->size);
    helio_record_copy(type, self->arena, payload, self->records[self->count++]);
}

static loaded_t load(helio_store_t *store)
{
    loaded_t all = {.arena = helio_arena_new()};
    helio_error_t err = {.text = ""};
    if (helio_store_load(store, collect, &all, &err) != HELIO_OK)
        fail_msg("load: %s", err.text);
    return all;
}

/*  The nth record of a kind; NULL when there are fewer. */
static const void *nth(const loaded_t *all, uint32_t kind, uint32_t n)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->kinds[i] == kind && n-- == 0)
            return all->records[i];
    return NULL;
}

/*  The same, and it is there. */
static const void *the(const loaded_t *all, uint32_t kind, uint32_t n)
{
    const void *record = nth(all, kind, n);
    if (!record) {
        fail_msg("no %s %u was loaded", helio_broker_events[kind].name, n);
        abort();
    }
    return record;
}

static void store__rows_that_a_new_leader_needs_load_back_equal(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    uint32_t tasks[] = {0, 1, 7};
    helio_row_job_t job = job_row(1), array = job_row(2);
    job.idempotency_key = HELIO_TEXT("key-1");
    array.tasks = (helio_u32s_t){tasks, 3};
    helio_row_state_t running = state_row(1, HELIO_NO_TASK, HELIO_JOB_RUNNING);
    helio_row_state_t task = state_row(2, 7, HELIO_JOB_SUSPECT);
    helio_row_site_t site = {.site = HELIO_TEXT("lulea"),
                             .state = HELIO_SITE_STATE_READY,
                             .draining = true,
                             .drain_reason = HELIO_TEXT("söder \"quoted\""),
                             .backend = HELIO_TEXT("slurm"),
                             .region = HELIO_TEXT("SE-SE1"),
                             .latitude = 65.58,
                             .longitude = 22.15,
                             .timezone = HELIO_TEXT("Europe/Stockholm"),
                             .pue = 1.07,
                             .carbon_g_per_kwh = -1,
                             .electricity_usd_per_kwh = -0.01,
                             .containers = true,
                             .agent_version = HELIO_TEXT("0.1.0"),
                             .seen_ms = INT64_C(1795000000007),
                             .refused = HELIO_TEXT("no protocol version in common"),
                             .refused_ms = INT64_C(1795000000003)};
    helio_row_pool_t pool = {.site = HELIO_TEXT("lulea"),
                             .pool = HELIO_TEXT("h100"),
                             .gpu = HELIO_TEXT("H100"),
                             .gpu_memory_bytes = UINT64_C(80) << 30,
                             .nodes = 16,
                             .max_nodes = 16,
                             .gpus_per_node = 8,
                             .cpus_per_node = 96,
                             .memory_bytes_per_node = UINT64_C(1) << 40,
                             .interconnect = 2,
                             .sharing = 1,
                             .owned = true,
                             .price_usd_per_gpu_h = 0.1,
                             .idle_w = 60,
                             .base_w = 86,
                             .slope_w = 243,
                             .host_w = 100};
    append(store, HELIO_BROKER_FX_ROW_STATE,
           &running); /* before its job: the batch has an order of its own */
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    append(store, HELIO_BROKER_FX_ROW_JOB, &array);
    append(store, HELIO_BROKER_FX_ROW_STATE, &task);
    append(store, HELIO_BROKER_FX_ROW_SITE, &site);
    append(store, HELIO_BROKER_FX_ROW_POOL, &pool);
    assert_int_equal(helio_store_open_rows(store), 6);
    commit(store);

    loaded_t all = load(store);
    const helio_ev_load_job_t *back = the(&all, HELIO_BROKER_EV_LOAD_JOB, 0);
    assert_true(helio_record_equal(&helio_row_job_type, &back->row, &job));
    assert_true(helio_text_is(back->spec.name, "hello"));
    back = the(&all, HELIO_BROKER_EV_LOAD_JOB, 1);
    assert_true(helio_record_equal(&helio_row_job_type, &back->row, &array));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_JOB, 2));
    assert_true(
        helio_record_equal(&helio_row_state_type, the(&all, HELIO_BROKER_EV_LOAD_STATE, 0), &running));
    assert_true(helio_record_equal(&helio_row_state_type, the(&all, HELIO_BROKER_EV_LOAD_STATE, 1), &task));
    assert_true(helio_record_equal(&helio_row_site_type, the(&all, HELIO_BROKER_EV_LOAD_SITE, 0), &site));
    assert_true(helio_record_equal(&helio_row_pool_type, the(&all, HELIO_BROKER_EV_LOAD_POOL, 0), &pool));
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_int_equal(federation->incarnation, 1);
    assert_int_equal(federation->broker_epoch, 1);
    assert_true(federation->seed != 0);
    assert_non_null(the(&all, HELIO_BROKER_EV_LOAD_QUEUE, 4));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__dependencies_load_back_with_what_became_of_each(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    uint32_t tasks[] = {0, 7};
    for (uint32_t n = 1; n <= 5; n++) {
        helio_row_job_t job = job_row(n);
        if (n == 4)
            job.tasks = (helio_u32s_t){tasks, 2};
        append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    }
    helio_row_state_t states[] = {state_row(1, HELIO_NO_TASK, HELIO_JOB_SUCCEEDED),
                                  state_row(2, HELIO_NO_TASK, HELIO_JOB_LOST), state_row(4, 0, HELIO_JOB_SUCCEEDED)};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_STATE, &states[i]);
    helio_uuid_t last = job_row(5).job;
    const struct {
        helio_job_key_t on;
        uint32_t after, found;
    } rows[] = {{{job_row(1).job, HELIO_NO_TASK}, HELIO_AFTER_OK, HELIO_FOUND_OK},
                {{job_row(2).job, HELIO_NO_TASK}, HELIO_AFTER_ANY, HELIO_FOUND_NOT_OK},
                {{job_row(3).job, HELIO_NO_TASK}, HELIO_AFTER_NOT_OK, HELIO_FOUND_OPEN},
                {{job_row(4).job, HELIO_NO_TASK}, HELIO_AFTER_OK, HELIO_FOUND_OPEN},
                {{job_row(4).job, 0}, HELIO_AFTER_OK, HELIO_FOUND_OK},
                {{job_row(4).job, 7}, HELIO_AFTER_OK, HELIO_FOUND_OPEN}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_row_dependency_t row = {last, i, rows[i].after, rows[i].on};
        append(store, HELIO_BROKER_FX_ROW_DEPENDENCY, &row);
    }
    helio_row_dependency_t forgotten = {job_row(1).job, 0, HELIO_AFTER_OK, {job_row(3).job, HELIO_NO_TASK}};
    append(store, HELIO_BROKER_FX_ROW_DEPENDENCY, &forgotten); /* of a job that is over */
    commit(store);
    loaded_t all = load(store);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const helio_row_waiting_t *row = the(&all, HELIO_BROKER_EV_LOAD_WAITING, i);
        assert_true(helio_uuid_equal(row->job, last));
        assert_true(helio_job_key_equal(row->on, rows[i].on));
        assert_int_equal(row->after, rows[i].after);
        assert_int_equal(row->found, rows[i].found);
    }
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_WAITING, sizeof rows / sizeof rows[0]));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static int64_t now_hour_ms(void)
{
    int64_t wall_ms = helio_clock_wall_ms();
    return wall_ms - wall_ms % 3600000;
}

static void store__what_hours_were_priced_by_comes_back_as_it_was_written(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    int64_t hour_ms = now_hour_ms();
    double values[] = {1.5, 2.5};
    helio_row_site_t site = {.site = HELIO_TEXT("lulea"), .pue = 1};
    helio_row_job_t job = job_row(1);
    helio_row_placement_t placement = {.key = {job.job, HELIO_NO_TASK},
                                       .epoch = 1,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .at_ms = 1,
                                       .least_site = HELIO_TEXT("oslo"),
                                       .least_pool = HELIO_TEXT("a"),
                                       .least_ms = 77};
    helio_row_actual_t actual = {.site = HELIO_TEXT("lulea"),
                                 .pool = HELIO_TEXT(""),
                                 .signal = HELIO_SIGNAL_CARBON,
                                 .hour_ms = hour_ms,
                                 .value = 1.0 / 3,
                                 .kind = HELIO_TEXT("average"),
                                 .factor = HELIO_TEXT("lifecycle"),
                                 .source = HELIO_TEXT("grid"),
                                 .estimated = true,
                                 .issued_ms = hour_ms + 1};
    helio_row_actual_t old = actual;
    old.hour_ms -= INT64_C(200) * 3600000;
    helio_row_actual_t first = actual;
    first.value = 99;
    helio_row_series_t series = {.site = HELIO_TEXT("lulea"),
                                 .signal = HELIO_SIGNAL_PUE,
                                 .issued_ms = hour_ms,
                                 .start_ms = hour_ms,
                                 .step_s = 3600,
                                 .values = {values, 2}};
    helio_row_rates_t rates = {.rates_id = 5, .site = HELIO_TEXT("lulea"), .hour_ms = hour_ms, .pue = 1.25};
    helio_row_baseline_t baseline = {.key = placement.key,
                                     .tenant = HELIO_TEXT("acme"),
                                     .ended_ms = hour_ms,
                                     .home_site = HELIO_TEXT("lulea"),
                                     .home_carbon_mg = 7,
                                     .cost_micro_usd = -3};
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    append(store, HELIO_BROKER_FX_ROW_SITE, &site);
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    append(store, HELIO_BROKER_FX_ROW_ACTUAL, &first); /* twice in a batch: the last counts */
    append(store, HELIO_BROKER_FX_ROW_ACTUAL, &actual);
    append(store, HELIO_BROKER_FX_ROW_ACTUAL, &old);
    append(store, HELIO_BROKER_FX_ROW_SERIES, &series);
    append(store, HELIO_BROKER_FX_ROW_RATES, &rates);
    append(store, HELIO_BROKER_FX_ROW_BASELINE, &baseline);
    commit(store);
    append(store, HELIO_BROKER_FX_ROW_RATES, &rates); /* a new leader writes them again */
    append(store, HELIO_BROKER_FX_ROW_BASELINE, &baseline);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_actual_type, the(&all, HELIO_BROKER_EV_LOAD_ACTUAL, 0), &actual));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_ACTUAL, 1)); /* longer ago than hours are kept */
    assert_true(helio_record_equal(&helio_row_series_type, the(&all, HELIO_BROKER_EV_LOAD_SERIES, 0), &series));
    const helio_row_least_t *least = the(&all, HELIO_BROKER_EV_LOAD_LEAST, 0);
    assert_true(helio_job_key_equal(least->key, placement.key) && helio_text_is(least->site, "oslo"));
    assert_true(helio_text_is(least->pool, "a") && least->at_ms == 77);
    assert_value(conninfo, "select row(rates_id, pue, carbon_g_per_kwh, carbon_source) from helio.rates", "(5,1.25,,)");
    assert_value(conninfo,
                 "select row(home_carbon_mg, cost_micro_usd, least_site, home_carbon_kind) from helio.baselines",
                 "(7,-3,,)");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

/*  Runs come in the order of their ends, those of a second attempt not at all; an open job keeps what it was told. */
static void store__runs_are_loaded_as_they_ended_and_what_was_foreseen_is_kept(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    static const struct {
        uint32_t epoch, state;
        uint64_t run_ms;
        bool completes, fenced;
    } ends[] = {{1, HELIO_JOB_TIMEOUT, 3000, true, false},
                {1, HELIO_JOB_SUCCEEDED, 1000, true, false},
                {2, HELIO_JOB_SUCCEEDED, 7000, true, false},
                {1, HELIO_JOB_CANCELLED, 500, true, false},
                {1, HELIO_JOB_FAILED, 0, true, false}};
    uint64_t seq = 0;
    for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        helio_row_job_t job = job_row(i + 1);
        job.expected_ms = 2000 + i;
        job.expected_high_ms = 4000;
        job.expected_runs = 5;
        job.expected_basis = HELIO_DURATION_BASIS_NAME;
        helio_job_key_t key = {job.job, HELIO_NO_TASK};
        helio_row_placement_t placement = {.key = key,
                                           .epoch = ends[i].epoch,
                                           .site = HELIO_TEXT("lulea"),
                                           .pool = HELIO_TEXT("h100"),
                                           .at_ms = 1,
                                           .gpu_model = HELIO_TEXT("H100"),
                                           .expected_ms = 2000,
                                           .expected_high_ms = 2500};
        helio_row_attempt_t attempt = {.key = key,
                                       .epoch = ends[i].epoch,
                                       .site = HELIO_TEXT("lulea"),
                                       .completes = true,
                                       .ended_ms = 1000,
                                       .run_ms = ends[i].run_ms,
                                       .at_ms = 1};
        helio_row_state_t over = {.key = key, .state = ends[i].state, .epoch = ends[i].epoch, .at_ms = 1};
        helio_row_transition_t move = {.seq = ++seq,
                                       .at_ms = 1,
                                       .key = key,
                                       .epoch = ends[i].epoch,
                                       .from = ends[i].state == HELIO_JOB_CANCELLED ? HELIO_JOB_STOPPING
                                                                                    : HELIO_JOB_RUNNING,
                                       .to = ends[i].state};
        append(store, HELIO_BROKER_FX_ROW_JOB, &job);
        append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
        append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
        append(store, HELIO_BROKER_FX_ROW_STATE, &over);
        append(store, HELIO_BROKER_FX_ROW_TRANSITION, &move);
    }
    helio_row_job_t open = job_row(9);
    open.expected_ms = 77;
    open.expected_high_ms = 99;
    open.expected_runs = 4;
    open.expected_failed = 3;
    open.expected_basis = HELIO_DURATION_BASIS_USER;
    append(store, HELIO_BROKER_FX_ROW_JOB, &open);
    commit(store);
    loaded_t all = load(store);
    static const struct {
        uint64_t run_ms;
        bool whole;
    } expected[] = {{3000, true}, {1000, true}, {500, false}};
    for (uint32_t i = 0; i < 3; i++) {
        const helio_row_run_t *run = the(&all, HELIO_BROKER_EV_LOAD_RUN, i);
        assert_int_equal(run->run_ms, expected[i].run_ms);
        assert_int_equal(run->whole, expected[i].whole);
        assert_true(helio_text_is(run->gpu_model, "H100") && helio_text_equal(run->tenant, open.tenant) &&
                    helio_text_equal(run->name, open.name) && run->kind == open.kind && run->gpus == open.gpus &&
                    run->time_limit_ms == open.time_limit_ms);
    }
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_RUN, 3));
    const helio_ev_load_job_t *job = the(&all, HELIO_BROKER_EV_LOAD_JOB, 0);
    assert_true(job->row.expected_ms == 77 && job->row.expected_high_ms == 99);
    assert_int_equal(job->row.expected_runs, 4);
    assert_int_equal(job->row.expected_failed, 3);
    assert_int_equal(job->row.expected_basis, HELIO_DURATION_BASIS_USER);
    assert_value(conninfo, "select row(basis, runs, median_ratio, within_p90_ratio) from helio_report.duration_error",
                 "(name,2,1,0.5)");
    assert_value(conninfo,
                 "select helio.explain_json(job_id, -1)::json ->> 'run' from helio.jobs where expected_ms = 2001",
                 "{\"duration_s\" : 2, \"duration_p90_s\" : 2.5, \"runs\" : 5, \"failed\" : 0, \"basis\" : \"name\", "
                 "\"of\" : \"hello\"}");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__a_gate_that_opened_stays_open(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_uuid_t job = job_row(1).job;
    helio_row_gate_t said[] = {{job, HELIO_TEXT("waits for two"), 0}, {job, HELIO_TEXT("waits for one"), 0}};
    append(store, HELIO_BROKER_FX_ROW_GATE, &said[0]);
    append(store, HELIO_BROKER_FX_ROW_GATE, &said[1]);
    commit(store);
    assert_value(conninfo, "select detail || (opened_at is null)::text from helio.gates", "waits for onetrue");
    helio_row_gate_t opened_row = {job, {0}, INT64_C(1795000000007)}, again = {job, {0}, INT64_C(1796000000000)};
    append(store, HELIO_BROKER_FX_ROW_GATE, &opened_row);
    commit(store);
    append(store, HELIO_BROKER_FX_ROW_GATE, &again);
    append(store, HELIO_BROKER_FX_ROW_GATE, &said[0]);
    commit(store);
    assert_value(conninfo, "select coalesce(detail, '-') || helio.time_ms(opened_at) from helio.gates",
                 "-1795000000007");
    helio_store_destroy(&store);
}

static void store__a_quota_is_the_last_one_that_was_set_and_is_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_quota_t rows[] = {{HELIO_TEXT("acme"), HELIO_TEXT("batch"), 0, 4, 1000, 1},
                                {HELIO_TEXT("acme"), {0}, 16, 64, 1000, 2},
                                {HELIO_TEXT("acme"), {0}, 16, HELIO_QUOTA_UNLIMITED, 2500, INT64_C(1795000000007)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_QUOTA, &rows[i]);
    commit(store);
    assert_value(
        conninfo,
        "select string_agg(format('%s/%s %s %s %s', tenant, queue, guaranteed_gpus, burst_gpus, weight_milli), "
        "'; ' order by queue) from helio.quotas",
        "acme/ 16  2500; acme/batch 0 4 1000");
    loaded_t all = load(store);
    for (size_t i = 0; i < 2; i++)
        assert_true(helio_record_equal(&helio_row_quota_type, nth(&all, HELIO_BROKER_EV_LOAD_QUOTA, (uint32_t)i),
                                       &rows[2 - 2 * i]));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__data_and_links_are_the_last_word_on_each_and_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_data_t data[] = {
        {HELIO_TEXT("s3://a"), HELIO_TEXT("lulea"), 1, {0}},
        {HELIO_TEXT("s3://b"), HELIO_TEXT("oregon"), 2, HELIO_TEXT("acme")},
        {HELIO_TEXT("s3://a"), HELIO_TEXT("oregon lulea"), INT64_C(1795000000007), HELIO_TEXT("acme")},
        {HELIO_TEXT("s3://c"), HELIO_TEXT("lulea"), 3, {0}},
        {HELIO_TEXT("s3://c"), {0}, 4, {0}}};
    helio_row_link_t links[] = {{HELIO_TEXT("*"), HELIO_TEXT("*"), false, 1000, 1, 1, 1},
                                {HELIO_TEXT("oregon"), HELIO_TEXT("*"), false, 5000, 20000, 90, 2},
                                {HELIO_TEXT("*"), HELIO_TEXT("*"), false, 2000, 3, 4, INT64_C(1795000000007)}};
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_DATA, &data[i]);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_LINK, &links[i]);
    commit(store);
    helio_row_data_t gone = {HELIO_TEXT("s3://b"), {0}, 5, {0}};
    helio_row_link_t cut = {.from = HELIO_TEXT("oregon"), .to = HELIO_TEXT("*"), .removed = true, .at_ms = 6};
    append(store, HELIO_BROKER_FX_ROW_DATA, &gone);
    append(store, HELIO_BROKER_FX_ROW_LINK, &cut);
    commit(store);
    assert_value(conninfo, "select string_agg(prefix || sites::text, ' ') from helio.data", "s3://a{oregon,lulea}");
    assert_value(conninfo, "select string_agg(concat_ws(' ', from_site, to_site, mbps, rtt_ms), ';') from helio.links",
                 "* * 2000 4");
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_data_type, nth(&all, HELIO_BROKER_EV_LOAD_DATA, 0), &data[2]));
    assert_true(helio_record_equal(&helio_row_link_type, nth(&all, HELIO_BROKER_EV_LOAD_LINK, 0), &links[2]));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__queues_and_their_rules_are_the_last_ones_that_were_set_and_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_queue_t queues[] = {{HELIO_TEXT("batch"), 150, HELIO_TIER_STANDARD, 7200000, false},
                                  {HELIO_TEXT("a-new"), 5, HELIO_TIER_CRITICAL, 1000, true},
                                  {HELIO_TEXT("a-new"), 6, HELIO_TIER_BEST_EFFORT, 2000, false},
                                  {HELIO_TEXT("reserved"), 800, HELIO_TIER_CRITICAL, 1000, true}};
    helio_row_queue_rule_t rules[] = {
        {.queue = HELIO_TEXT("batch"),
         .region = HELIO_TEXT("EU"),
         .priority = 900,
         .until_ms = INT64_C(1795000000007),
         .at_ms = 7,
         .holds = true},
        {.queue = HELIO_TEXT("batch"),
         .region = HELIO_TEXT("EU"),
         .schedule = HELIO_TEXT("20:00-08:00"),
         .zone = HELIO_TEXT("Europe/Berlin"),
         .zone_data = {"TZif\0\1", 6},
         .priority = 800,
         .at_ms = 8},
        {.queue = HELIO_TEXT("standard"), .schedule = HELIO_TEXT("20:00-08:00"), .priority = 1, .at_ms = 9},
        {.queue = HELIO_TEXT("standard"),
         .schedule = HELIO_TEXT("20:00-08:00"),
         .priority = 1,
         .at_ms = 9,
         .removed = true}};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_QUEUE, &queues[i]);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_QUEUE_RULE, &rules[i]);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_queue_type, nth(&all, HELIO_BROKER_EV_LOAD_QUEUE, 0), &queues[2]));
    assert_true(helio_record_equal(&helio_row_queue_type, nth(&all, HELIO_BROKER_EV_LOAD_QUEUE, 1), &queues[0]));
    for (uint32_t i = 0; i < 2; i++)
        assert_true(
            helio_record_equal(&helio_row_queue_rule_type, nth(&all, HELIO_BROKER_EV_LOAD_QUEUE_RULE, i), &rules[i]));
    assert_value(conninfo, "select count(*) || ' ' || string_agg(queue, ' ' order by queue) from helio.queues",
                 "5 a-new batch express preemptible standard");
    assert_value(conninfo, "select count(*) from helio.queue_rules", "2");
    queues[0].removed = true; /* its rules go with it */
    append(store, HELIO_BROKER_FX_ROW_QUEUE, &queues[0]);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.queue_rules", "0");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__overflow_groups_are_the_last_ones_that_were_set_and_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_overflow_t rows[] = {
        {HELIO_TEXT("out"), HELIO_TEXT("batch"), {0}, HELIO_TEXT("a; b,after=10m"), 1, false},
        {HELIO_TEXT("gone"), {0}, HELIO_TEXT("acme"), HELIO_TEXT("a"), 2, false},
        {HELIO_TEXT("gone"), {0}, HELIO_TEXT("acme"), HELIO_TEXT("a"), 3, true},
        {HELIO_TEXT("out"), HELIO_TEXT("batch"), HELIO_TEXT("acme"), HELIO_TEXT("a; c"), INT64_C(1795000000007),
         false}};
    append(store, HELIO_BROKER_FX_ROW_OVERFLOW, &rows[1]);
    commit(store);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_OVERFLOW, &rows[i]);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_overflow_type, nth(&all, HELIO_BROKER_EV_LOAD_OVERFLOW, 0), &rows[3]));
    assert_value(conninfo, "select count(*) from helio.overflows", "1");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__what_open_jobs_were_edited_to_is_loaded_and_who_did_it_is_kept(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_row_edit_t rows[] = {
        {job.job, -3, HELIO_GOAL_FAST, false, 0, 0, 0, 0, HELIO_TEXT("batch"), HELIO_TIER_STANDARD, 7, 1},
        {job.job, 9, HELIO_GOAL_GREEN, true, INT64_C(1795000000001), 3600000, 5000000, 250000, HELIO_TEXT("express"),
         HELIO_TIER_CRITICAL, 8, INT64_C(1795000000007)},
        {job_id(2), 1, HELIO_GOAL_GREEN, false, 0, 0, 0, 0, HELIO_TEXT("batch"), HELIO_TIER_STANDARD, 9, 1}, /* over, or lost */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_EDIT, &rows[i]);
    helio_row_edited_t edited = {4, 0, job.job, 1, HELIO_TEXT("user:ada"), HELIO_TEXT("goal"), HELIO_TEXT("fast"), HELIO_TEXT("green")};
    append(store, HELIO_BROKER_FX_ROW_EDITED, &edited);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_edit_type, nth(&all, HELIO_BROKER_EV_LOAD_EDIT, 0), &rows[1]));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_EDIT, 1));
    assert_value(conninfo, "select actor || ' ' || field || ' ' || before || ' ' || after from helio.edited",
                 "user:ada goal fast green");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__everything_else_is_stored_as_it_was_given(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_job_key_t key = {job_id(1), HELIO_NO_TASK};
    double values[] = {0.1, -2.5, 1e300}, band[] = {1, 2, 3};
    helio_row_placement_t placement = {.key = key,
                                       .epoch = 1,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .decision_id = 5,
                                       .nodes = 2,
                                       .gpus = 16,
                                       .score_micro_usd = -3,
                                       .at_ms = 1000,
                                       .transfer_ms = 1,
                                       .transfer_micro_usd = 2,
                                       .transfer_j = 3,
                                       .transfer_carbon_mg = 4};
    helio_row_attempt_t attempt = {.key = key,
                                   .epoch = 1,
                                   .site = HELIO_TEXT("lulea"),
                                   .kind = HELIO_REPORT_KIND_ENDED,
                                   .completes = true,
                                   .exit_code = 0,
                                   .at_ms = 2000};
    helio_row_ledger_t ledger = {.key = key,
                                 .epoch = 1,
                                 .tenant = HELIO_TEXT("acme"),
                                 .site = HELIO_TEXT("lulea"),
                                 .hour_ms = 3600000,
                                 .gpu_ms = 7,
                                 .cost_micro_usd = -8,
                                 .provenance = HELIO_TEXT("model")};
    helio_row_transition_t transition = {.seq = 9,
                                         .at_ms = 1000,
                                         .key = key,
                                         .epoch = 1,
                                         .from = HELIO_JOB_QUEUED,
                                         .to = HELIO_JOB_OFFERED,
                                         .actor = HELIO_TEXT("broker")};
    helio_row_decision_t decision = {.decision_id = 5,
                                     .at_ms = 1000,
                                     .class_id = UINT64_MAX,
                                     .policy_version = HELIO_TEXT("v1"),
                                     .chosen_site = HELIO_TEXT("lulea"),
                                     .forecast_ms = 2000};
    helio_row_candidate_t candidate = {.decision_id = 5,
                                       .rank = 0,
                                       .site = HELIO_TEXT("lulea"),
                                       .carbon_micro_usd = 1,
                                       .wait_micro_usd = 2,
                                       .risk_micro_usd = -3,
                                       .shadow_micro_usd = 4,
                                       .move_micro_usd = 5,
                                       .transfer_micro_usd = INT64_MAX,
                                       .transfer_ms = 6,
                                       .egress_micro_usd = 7,
                                       .transfer_j = 8,
                                       .transfer_carbon_mg = 9};
    helio_row_ledger_t bringing = ledger;
    bringing.provenance = HELIO_TEXT("transfer"); /* of the same hour */
    bringing.gpu_ms = 0;
    helio_row_class_t class = {.class_id = UINT64_MAX,
                               .summary = HELIO_TEXT("8×H100"),
                               .reason = HELIO_TEXT("Queued"),
                               .expected_ms = 3000};
    helio_row_capacity_t capacity = {.site = HELIO_TEXT("lulea"),
                                     .pool = HELIO_TEXT("h100"),
                                     .at_ms = 1000,
                                     .sample = true,
                                     .gpus_total = UINT32_MAX,
                                     .gpus_free = 5,
                                     .site_power_w = -1};
    helio_row_series_t series = {.site = HELIO_TEXT("lulea"),
                                 .signal = HELIO_SIGNAL_CARBON,
                                 .kind = HELIO_TEXT("average"),
                                 .issued_ms = 1000,
                                 .start_ms = 1000,
                                 .step_s = 3600,
                                 .values = {values, 3},
                                 .p10 = {band, 3}};
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &ledger);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &bringing);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &bringing); /* once an attempt */
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
    append(store, HELIO_BROKER_FX_ROW_DECISION, &decision);
    append(store, HELIO_BROKER_FX_ROW_CANDIDATE, &candidate);
    append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
    append(store, HELIO_BROKER_FX_ROW_CAPACITY, &capacity);
    append(store, HELIO_BROKER_FX_ROW_SERIES, &series);
    class.reason = HELIO_TEXT("WaitingForCapacity"); /* twice in a batch: the last counts */
    append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
    append(store, HELIO_BROKER_FX_ROW_CAPACITY, &capacity);
    append(store, HELIO_BROKER_FX_ROW_SERIES, &series);
    commit(store);
    static const struct {
        const char *sql, *expected;
    } checks[] = {
        {"select row(site, pool, decision_id, nodes, gpus, score_micro_usd, at) from helio.placements",
         "(lulea,h100,5,2,16,-3,\"1970-01-01 00:00:01+00\")"},
        {"select row(kind, completes, fenced, exit_code, started_at) from helio.attempts", "(5,t,f,0,)"},
        {"select row(hour, gpu_ms, cost_micro_usd, pool, provenance) from helio.ledger where part = 0",
         "(\"1970-01-01 01:00:00+00\",7,-8,,model)"},
        {"select string_agg(provenance || part, ' ' order by part) from helio.ledger", "model0 transfer1"},
        {"select row(transfer_ms, transfer_micro_usd, transfer_j, transfer_carbon_mg) from helio.placements",
         "(1,2,3,4)"},
        {"select row(transfer_ms, egress_micro_usd, transfer_j, transfer_carbon_mg) from helio.candidates",
         "(6,7,8,9)"},
        {"select row(seq, from_state, to_state, reason, actor) from helio.transitions", "(9,0,1,,broker)"},
        {"select row(class_id, policy_version, reason, chosen_site) from helio.decisions", "(-1,v1,,lulea)"},
        {"select row(rank, site, pool, rejected_reason) from helio.candidates", "(0,lulea,,)"},
        {"select row(carbon_micro_usd, wait_micro_usd, risk_micro_usd, shadow_micro_usd, move_micro_usd, "
         "transfer_micro_usd) from helio.candidates",
         "(1,2,-3,4,5,9223372036854775807)"},
        {"select row(forecast_at) from helio.decisions", "(\"1970-01-01 00:00:02+00\")"},
        {"select row(expected_at) from helio.classes where class_id = -1", "(\"1970-01-01 00:00:03+00\")"},
        {"select row(summary, reason) from helio.classes", "(8×H100,WaitingForCapacity)"},
        {"select row(gpus_total, gpus_free, site_power_w) from helio.capacity_now", "(2147483647,5,-1)"},
        {"select count(*) from helio.capacity_samples", "1"},
        {"select row(signal, kind, factor, \"values\", p10, p90) from helio.series_now",
         "(3,average,,\"{0.1,-2.5,1e+300}\",\"{1,2,3}\",)"},
        {"select count(*) from helio.series", "1"},
    };
    helio_pg_exec(
        conninfo,
        "do $$ begin execute format('alter database %I set timezone = ''UTC''', current_database()); end $$");
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        assert_value(conninfo, checks[i].sql, checks[i].expected);
    loaded_t all = load(store);
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_int_equal(federation->last_transition_seq, 9);
    assert_int_equal(federation->last_decision_id, 5);
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__texts_that_postgresql_refuses_are_mended(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    static const struct {
        const char *given;
        uint32_t size;
        const char *expected;
    } texts[] = {
        {"a\0b", 3, "a?b"},
        {"\xff\xfe", 2, "??"},
        {"\xc3", 1, "?"},
        {"\xc0\xaf", 2, "??"},
        {"\xed\xa0\x80", 3, "???"},
        {"\xf4\x90\x80\x80", 4, "????"},
        {"s\xc3\xb6\x01", 4, "s\xc3\xb6\x01"},
        {"\xf0\x9f\x8c\x9e", 4, "\xf0\x9f\x8c\x9e"},
    };
    enum { COUNT = sizeof texts / sizeof texts[0] };
    for (uint32_t i = 0; i < COUNT; i++) {
        helio_row_state_t row = state_row(i, HELIO_NO_TASK, HELIO_JOB_HELD);
        row.reason = (helio_text_t){texts[i].given, texts[i].size};
        append(store, HELIO_BROKER_FX_ROW_STATE, &row);
    }
    commit(store);
    for (uint32_t i = 0; i < COUNT; i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql,
                       "select reason from helio.job_state order by job_id offset %u limit 1", i);
        assert_value(conninfo, sql, texts[i].expected);
    }
    helio_store_destroy(&store);
}

/* ---- batches ---------------------------------------------------------------------------------------------
 */

static void store__state_rows_of_one_key_collapse_to_the_last(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 1000; i++) {
            helio_row_state_t row = state_row(i, (int32_t)(i % 2) - 1, HELIO_JOB_OFFERED + round);
            append(store, HELIO_BROKER_FX_ROW_STATE, &row);
        }
    assert_int_equal(helio_store_open_rows(store), 1000);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.job_state where state = 3", "1000");
    helio_store_destroy(&store);
}

static void store__what_a_job_does_not_say_is_null_beside_jobs_that_say_it(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    uint32_t tasks[] = {3, 1};
    for (uint32_t i = 0; i < 6; i++) { /* a null first, a null last, and two in a row */
        helio_row_job_t job = job_row(i);
        if (i == 1 || i == 4) {
            job.idempotency_key = i == 1 ? HELIO_TEXT("one") : HELIO_TEXT("four");
            job.tasks = (helio_u32s_t){tasks, 2};
        } else {
            job.user = job.name = job.home_site = job.gpu_model = job.spec_hash = (helio_text_t){0};
        }
        append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    }
    commit(store);
    assert_value(conninfo,
                 "select string_agg(num_nulls(user_name, idempotency_key, name, home_site, gpu_model, tasks) || ':' || "
                 "length(spec_hash), ' ' order by job_id) from helio.jobs",
                 "6:0 0:32 6:0 6:0 0:32 6:0");
    assert_value(conninfo,
                 "select string_agg(concat_ws(',', user_name, idempotency_key, name, home_site, gpu_model, tasks), ' ' "
                 "order by job_id) from helio.jobs where tasks is not null",
                 "ada,one,hello,lulea,H100,{3,1} ada,four,hello,lulea,H100,{3,1}");
    helio_store_destroy(&store);
}

static void store__a_batch_larger_than_one_statement_arrives_whole(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    enum { JOBS = 50, BIG = 250 << 10 };
    char *big = helio_new(BIG, 1);
    memset(big, 'x', BIG);
    for (uint32_t i = 0; i < JOBS; i++) { /* 12 MB: over the bytes of a statement */
        helio_row_job_t job = job_row(i);
        job.source = (helio_text_t){big, BIG};
        append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    }
    for (uint32_t i = 0; i < 45000; i++) { /* over the rows of two */
        helio_row_state_t row = state_row(i, HELIO_NO_TASK, HELIO_JOB_RUNNING);
        append(store, HELIO_BROKER_FX_ROW_STATE, &row);
    }
    commit(store);
    free(big);
    assert_value(conninfo, "select count(*) from helio.jobs where length(source) = 256000", "50");
    assert_value(conninfo, "select count(*) from helio.job_state", "45000");
    helio_store_figures_t figures;
    helio_store_figures(store, &figures);
    assert_int_equal(figures.rows_total, 45050);
    assert_int_equal(figures.batches_total, 1);
    assert_true(figures.commit_us_last > 0);
    helio_store_destroy(&store);
}

static void commit_from(helio_store_t *store, helio_uuid_t open_from)
{
    helio_error_t err = {.text = ""};
    uint64_t batch = helio_store_open_batch(store);
    helio_store_seal(store, open_from);
    if (drive(store, batch, &err) != HELIO_OK)
        fail_msg("commit: %s", err.text);
}

static void store__jobs_are_open_until_their_last_task_is_over(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    static const char open_jobs[] =
        "select coalesce(string_agg(j.user_name, ',' order by o.job_id), '') from helio.open_jobs o "
        "join helio.jobs j using (job_id)";
    static const char tails[] =
        "select string_agg(j.user_name, ',' order by j.job_id) from helio.job_tails t join helio.jobs j "
        "on t.job_id = j.job_id and t.tail = helio.id_tail(j.job_id)";
    helio_store_t *store = opened(conninfo);
    uint32_t tasks[] = {0, 1, 2};
    helio_row_job_t job = job_row(1), array = job_row(2);
    job.user = HELIO_TEXT("one");
    job.idempotency_key = HELIO_TEXT("once");
    array.user = HELIO_TEXT("many");
    array.tasks = (helio_u32s_t){tasks, 3};
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    append(store, HELIO_BROKER_FX_ROW_JOB, &array);
    commit(store);
    assert_value(conninfo, open_jobs, "one,many");
    helio_row_state_t over = state_row(1, HELIO_NO_TASK, HELIO_JOB_SUCCEEDED);
    helio_row_state_t first = state_row(2, 0, HELIO_JOB_FAILED), second = state_row(2, 1, HELIO_JOB_RUNNING);
    append(store, HELIO_BROKER_FX_ROW_STATE, &over);
    append(store, HELIO_BROKER_FX_ROW_STATE, &first);
    append(store, HELIO_BROKER_FX_ROW_STATE, &second);
    commit(store);
    assert_value(conninfo, open_jobs, "many");
    assert_value(conninfo, tails, "one,many");
    /* Written again after its end (a late account): not noted twice. */
    append(store, HELIO_BROKER_FX_ROW_STATE, &first);
    append(store, HELIO_BROKER_FX_ROW_STATE, &over);
    commit(store);
    assert_value(conninfo, tails, "one,many");
    loaded_t all = load(store);
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_JOB, 1));
    const helio_row_key_t *key = the(&all, HELIO_BROKER_EV_LOAD_KEY, 0);
    const helio_row_key_t expected = {
        HELIO_TEXT("acme"), HELIO_TEXT("once"), {hash_a, sizeof hash_a}, job.job};
    assert_true(helio_record_equal(&helio_row_key_type, key, &expected));
    assert_non_null(
        the(&all, HELIO_BROKER_EV_LOAD_STATE, 1)); /* also of the task that is over: its job is not */
    helio_arena_destroy(&all.arena);
    for (int32_t i = 1; i < 3; i++) {
        helio_row_state_t last = state_row(2, i, HELIO_JOB_CANCELLED);
        append(store, HELIO_BROKER_FX_ROW_STATE, &last);
    }
    commit(store);
    assert_value(conninfo, open_jobs, "");
    assert_value(conninfo, tails, "one,many");
    helio_store_destroy(&store);
}

static void store__a_new_leader_reads_jobs_from_the_mark_of_the_last_batch_on(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    for (uint32_t i = 1; i <= 4; i++) {
        helio_row_job_t job = job_row(i);
        append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    }
    commit_from(store, job_id(1));
    helio_row_state_t over = state_row(1, HELIO_NO_TASK, HELIO_JOB_SUCCEEDED);
    append(store, HELIO_BROKER_FX_ROW_STATE, &over);
    over.key.job = job_id(3); /* within the marked range, and over */
    append(store, HELIO_BROKER_FX_ROW_STATE, &over);
    commit_from(store, job_id(2));
    loaded_t all = load(store);
    const helio_ev_load_job_t *second = the(&all, HELIO_BROKER_EV_LOAD_JOB, 0);
    const helio_ev_load_job_t *fourth = the(&all, HELIO_BROKER_EV_LOAD_JOB, 1);
    assert_true(helio_uuid_equal(second->row.job, job_id(2)));
    assert_true(helio_uuid_equal(fourth->row.job, job_id(4)));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_JOB, 2));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_STATE, 0));
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_true(helio_uuid_equal(federation->newest_job, job_id(4)));
    helio_arena_destroy(&all.arena);
    helio_row_class_t class = {.class_id = 1};
    append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
    commit_from(store,
                job_id(3)); /* what stands below the mark is not looked at: the core must not say too much */
    all = load(store);
    fourth = the(&all, HELIO_BROKER_EV_LOAD_JOB, 0);
    assert_true(helio_uuid_equal(fourth->row.job, job_id(4)));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_JOB, 1));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

/*  A refused row is a bug of ours: fatal, named, and nothing of its batch stays. */
static void assert_refused(helio_store_t *store, const char *conninfo, const char *statement,
                           const char *constraint)
{
    helio_error_t err = {.text = ""};
    uint64_t batch = helio_store_open_batch(store);
    helio_row_class_t class = {.class_id = 77};
    append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
    helio_store_seal(store, mark);
    assert_int_equal(drive(store, batch, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, statement));
    assert_non_null(strstr(err.text, constraint));
    helio_store_destroy(&store);
    assert_value(conninfo, "select count(*) from helio.classes where class_id = 77", "0");
}

static void store__a_second_completion_is_refused_with_its_whole_batch(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_attempt_t attempt = {.key = {job_id(1), HELIO_NO_TASK},
                                   .epoch = 1,
                                   .site = HELIO_TEXT("lulea"),
                                   .kind = HELIO_REPORT_KIND_ENDED,
                                   .completes = true,
                                   .at_ms = 1};
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    commit(store);
    attempt.epoch = 2;
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    assert_refused(store, conninfo, "put_attempt", "attempts_one_completion");
}

/*  What a site says of an attempt that is no longer current: (epoch, site, hour) of what it used. */
static void append_evidence(helio_store_t *store, uint32_t epoch, const char *site, int64_t started_ms)
{
    const int64_t hour_ms = 3600000;
    helio_row_attempt_t attempt = {.key = {job_id(1), HELIO_NO_TASK},
                                   .epoch = epoch,
                                   .site = helio_text_of(site),
                                   .kind = HELIO_REPORT_KIND_ENDED,
                                   .fenced = true,
                                   .started_ms = started_ms,
                                   .run_ms = 60000,
                                   .at_ms = 1};
    helio_row_ledger_t ledger = {.key = attempt.key,
                                 .epoch = epoch,
                                 .site = attempt.site,
                                 .hour_ms = started_ms - started_ms % hour_ms,
                                 .gpu_ms = 60000,
                                 .fenced = true};
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &ledger);
}

static void store__evidence_counts_once_and_of_attempts_that_were_placed_there(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    const int64_t start_ms = INT64_C(1795000002999);
    helio_store_t *store = opened(conninfo);
    helio_row_placement_t placement = {.key = {job_id(1), HELIO_NO_TASK},
                                       .epoch = 1,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .at_ms = 1};
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    append_evidence(store, 1, "lulea", start_ms); /* placed in the same batch */
    append_evidence(store, 1, "sydney", start_ms);
    append_evidence(store, 2, "lulea", start_ms); /* never issued */
    commit(store);
    append_evidence(store, 1, "lulea", start_ms + 7200000); /* another story of the same attempt */
    append_evidence(store, 1, "sydney", start_ms - 7200000);
    commit(store);
    assert_value(conninfo, "select string_agg(site || epoch, ' ') from helio.attempts", "lulea1");
    assert_value(conninfo, "select string_agg(site || epoch || ' ' || gpu_ms, ',') from helio.ledger", "lulea1 60000");
    helio_store_destroy(&store);
}

static void store__a_second_use_of_an_idempotency_key_is_refused(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    for (uint32_t i = 0; i < 2; i++) {
        helio_row_job_t job = job_row(i);
        job.idempotency_key = HELIO_TEXT("same");
        append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    }
    assert_refused(store, conninfo, "put_job", "jobs_idempotency");
    assert_value(conninfo, "select count(*) from helio.jobs", "0");
}

static void store__a_transition_that_is_not_listed_is_refused(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_transition_t transition = {
        .seq = 1, .key = {job_id(1), HELIO_NO_TASK}, .from = HELIO_JOB_SUCCEEDED, .to = HELIO_JOB_RUNNING};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
    assert_refused(store, conninfo, "put_transition", "transitions_listed");
}

/* ---- leadership ------------------------------------------------------------------------------------------
 */

static void store__one_broker_leads_and_the_next_has_a_higher_epoch(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *first = opened(conninfo);
    helio_store_t *second = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_open(second, &err), HELIO_BUSY);
    helio_store_destroy(&first);
    while (helio_store_open(second, &err) ==
           HELIO_BUSY) /* the server notices the closed socket in its own time */
        ;
    loaded_t all = load(second);
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_int_equal(federation->broker_epoch, 2);
    assert_int_equal(federation->incarnation, 1);
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&second);
}

/*  A leader that grants for a second, between those that grant for an hour and a minute. */
static void store__the_longest_lease_of_former_leaders_is_remembered(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    static const uint64_t grants[] = {3600000, 1000, 60000, 7200000, 5};
    static const uint64_t left[] = {0, 3600000, 3600000, 3600000, 7200000};
    for (size_t i = 0; i < sizeof grants / sizeof grants[0]; i++) {
        helio_store_t *store =
            helio_store_new((helio_store_options_t){.conninfo = conninfo, .lease_ms = grants[i]});
        helio_error_t err;
        while (helio_store_open(store, &err) == HELIO_BUSY)
            ;
        loaded_t all = load(store);
        const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
        assert_true(federation->leases_left_ms <= left[i]);
        assert_true(federation->leases_left_ms + 60000 > left[i]); /* this test takes its time, too */
        helio_arena_destroy(&all.arena);
        helio_store_destroy(&store);
    }
}

static void store__another_timeline_or_system_raises_the_incarnation(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    static const char *const changes[] = {"update helio.federation set timeline = timeline + 1",
                                          "update helio.federation set system_identifier = 1"};
    helio_store_t *store = opened(conninfo);
    helio_store_destroy(&store);
    for (uint64_t i = 0; i < 2; i++) {
        helio_pg_exec(conninfo, changes[i]);
        store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
        helio_error_t err;
        while (helio_store_open(store, &err) == HELIO_BUSY)
            ;
        loaded_t all = load(store);
        const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
        assert_int_equal(federation->incarnation, i + 2);
        helio_arena_destroy(&all.arena);
        helio_store_destroy(&store);
    }
}

static void store__who_does_not_lead_any_more_commits_nothing(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set broker_epoch = broker_epoch + 1, last_batch = 0");
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_store_seal(store, mark);
    helio_error_t err = {.text = ""};
    assert_int_equal(drive(store, 1, &err), HELIO_FENCED);
    assert_int_equal(helio_store_committed(store), 0);
    helio_store_destroy(&store);
    assert_value(conninfo, "select count(*) from helio.jobs", "0");
}

/* ---- losing and finding the database ---------------------------------------------------------------------
 */

static void end_sessions(const char *conninfo)
{
    helio_pg_exec(conninfo, "select pg_terminate_backend(pid) from pg_stat_activity "
                            "where datname = current_database() and pid <> pg_backend_pid()");
}

static void store__a_lost_idle_connection_heals_by_itself(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    commit(store);
    end_sessions(conninfo);
    helio_error_t err = {.text = ""};
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    helio_store_figures_t figures = {0};
    while (figures.reconnects_total == 0 && helio_clock_boot_ms() < give_up_ms) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        helio_store_figures(store, &figures);
    }
    assert_true(helio_store_connected(store));
    job = job_row(2);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.jobs", "2");
    helio_store_destroy(&store);
}

/*  The answer to the commit is what gets lost: the batch is there, and must not be sent again. */
static void store__a_commit_whose_answer_was_lost_is_found_committed(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_transition_t transition = {
        .seq = 1, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
    helio_store_seal(store, mark);
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    for (char *count = NULL; helio_clock_boot_ms() < give_up_ms; free(count)) {
        count = helio_pg_value(conninfo, "select count(*) from helio.transitions");
        if (strcmp(count, "1") == 0) {
            free(count);
            break;
        }
    }
    /* Its deadline passes before the answer is read: the connection is dropped, the outcome asked for. */
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_committed(store), 0);
    assert_int_equal(helio_store_process(store, helio_clock_boot_ms() + 3600000, &err), HELIO_OK);
    assert_false(helio_store_connected(store));
    assert_int_equal(helio_store_committed(store), 0);
    assert_false(helio_store_can_seal(store));
    /* Time went an hour ahead for that call: so does the retry. */
    int64_t shift = 3600000;
    while (helio_store_committed(store) < 1 && helio_clock_boot_ms() < give_up_ms) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms() + shift, &err), HELIO_OK);
    }
    assert_int_equal(helio_store_committed(store), 1);
    assert_value(conninfo, "select count(*) from helio.transitions", "1");
    helio_store_destroy(&store);
}

/*  A cancelled wait for the synchronous standby commits with a warning: no promise, so no word of it before a
 * standby (or the operator, who does without) confirms. */
static void store__a_commit_without_its_standby_is_not_reported(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "alter system set synchronous_standby_names = 'nobody'");
    helio_pg_exec(conninfo, "select pg_reload_conf()");
    helio_error_t err = {.text = ""};
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    uint64_t batch = 0;
    while (helio_store_connected(store) && helio_clock_boot_ms() < give_up_ms) {
        if (helio_store_committed(store) ==
            batch) { /* also when the setting took hold later than the last one */
            helio_row_job_t job = job_row((uint32_t)batch);
            append(store, HELIO_BROKER_FX_ROW_JOB, &job);
            batch = helio_store_open_batch(store);
            helio_store_seal(store, mark);
        }
        helio_pg_exec(conninfo,
                      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and "
                      "datname = current_database()");
        struct pollfd fd = {.fd = helio_store_fd(store), .events = POLLIN};
        (void)poll(&fd, 1, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
    }
    assert_false(helio_store_connected(store));
    assert_non_null(strstr(helio_store_trouble(store), "standby"));
    assert_int_equal(helio_store_committed(store), batch - 1);
    char expected[24];
    (void)snprintf(expected, sizeof expected, "%" PRIu64, batch);
    assert_value(conninfo, "select count(*) from helio.jobs", expected); /* it is there all the same */
    helio_pg_exec(conninfo, "alter system reset synchronous_standby_names");
    helio_pg_exec(conninfo, "select pg_reload_conf()");
    assert_int_equal(drive(store, batch, &err), HELIO_OK);
    assert_value(conninfo, "select count(*) from helio.jobs", expected);
    helio_store_destroy(&store);
}

/*  kill -9 of the server with a batch in flight, at many moments: after the restart each is there exactly
 * once. */
static void store__a_crash_of_the_server_neither_loses_nor_doubles_a_batch(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    enum { ROUNDS = 6, JOBS = 2000 };
    helio_error_t err = {.text = ""};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < JOBS; i++) {
            helio_row_job_t job = job_row(round * JOBS + i);
            append(store, HELIO_BROKER_FX_ROW_JOB, &job);
        }
        uint64_t batch = helio_store_open_batch(store);
        helio_store_seal(store, mark);
        for (uint32_t turn = 0; turn < round * 3; turn++) { /* a little further each round */
            struct pollfd fd = {.fd = helio_store_fd(store),
                                .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
            (void)poll(&fd, 1, 2);
            assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        }
        helio_pg_kill(*state);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        helio_pg_start(*state);
        if (drive(store, batch, &err) != HELIO_OK)
            fail_msg("round %u: %s", round, err.text);
        /* Its connection may only now turn out to be gone. */
        int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
        do {
            struct pollfd fd = {.fd = helio_store_fd(store),
                                .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
            (void)poll(&fd, fd.fd >= 0, 50);
            assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        } while (!helio_store_connected(store) && helio_clock_boot_ms() < give_up_ms);
    }
    assert_value(conninfo, "select count(*) from helio.jobs", "12000");
    assert_value(conninfo, "select last_batch from helio.federation", "6");
    helio_store_destroy(&store);
}

static void store__a_newer_leader_is_noticed_on_the_way_back(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    end_sessions(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set broker_epoch = broker_epoch + 1, last_batch = 0");
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_store_seal(store, mark);
    helio_error_t err = {.text = ""};
    assert_int_equal(drive(store, 1, &err), HELIO_FENCED);
    assert_non_null(strstr(err.text, "newer broker"));
    helio_store_destroy(&store);
}

static void store__a_database_that_failed_over_ends_the_leader(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set timeline = timeline - 1");
    end_sessions(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_store_seal(store, mark);
    helio_error_t err = {.text = ""};
    assert_int_equal(drive(store, 1, &err), HELIO_FENCED);
    assert_non_null(strstr(err.text, "incarnation"));
    helio_store_destroy(&store);
}

/* ---- start and bootstrap ---------------------------------------------------------------------------------
 */

static void store__a_database_that_cannot_be_reached_is_unavailable(void **state)
{
    (void)state;
    helio_store_t *store =
        helio_store_new((helio_store_options_t){.conninfo = "host=/nonexistent password=hush"});
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_open(store, &err), HELIO_UNAVAILABLE);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_null(strstr(err.text, "hush"));
    helio_store_destroy(&store);
}

static void store__a_stored_job_that_no_longer_parses_names_itself(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    job.source = HELIO_TEXT("nonsense: [");
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    commit(store);
    loaded_t all = {.arena = helio_arena_new()};
    helio_error_t err = {.text = ""};
    char id[HELIO_ID_SIZE];
    helio_uuid_text(job.job, id);
    assert_int_equal(helio_store_load(store, collect, &all, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, id));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void count_token(void *arg, const helio_row_token_t *token)
{
    assert_true(helio_text_is(token->tenant, "acme"));
    assert_int_equal(token->hash.size, 32);
    assert_memory_equal(token->hash.data, hash_b, 32);
    assert_int_equal(token->created_ms, 5000);
    (*(int *)arg)++;
}

static void count_key(void *arg, const helio_row_site_key_t *key)
{
    assert_true(helio_text_is(key->site, "lulea"));
    (*(int *)arg)++;
}

static void store__bootstrap_puts_tenants_tokens_and_keys_and_audits_them(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = {hash_b, 32},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("admin"),
                               .created_ms = 5000};
    helio_row_site_key_t key = {
        .public_key = HELIO_TEXT("z85"), .site = HELIO_TEXT("lulea"), .created_ms = 1};
    bool has = true;
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_false(has); /* there is no such tenant */
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", "lulea", NULL), HELIO_OK);
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_true(has);
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL), HELIO_OK);
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_false(has);
    assert_int_equal(helio_store_put_token(conninfo, &token, NULL), HELIO_OK);
    for (int i = 0; i < 2; i++) { /* what is said again as it stands is not audited again */
        assert_int_equal(helio_store_put_site_key(conninfo, &key, NULL), HELIO_OK);
        assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL), HELIO_OK);
    }
    helio_store_t *store = opened(conninfo);
    int tokens = 0, keys = 0;
    assert_int_equal(helio_store_each_token(store, count_token, &tokens, NULL), HELIO_OK);
    assert_int_equal(helio_store_each_site_key(store, count_key, &keys, NULL), HELIO_OK);
    assert_int_equal(tokens, 1);
    assert_int_equal(keys, 1);
    token.revoked_ms = key.revoked_ms = 6000;
    append(store, HELIO_BROKER_FX_ROW_TOKEN, &token);
    append(store, HELIO_BROKER_FX_ROW_SITE_KEY, &key);
    for (int i = 0; i < 3; i++) {
        helio_row_audit_t audit = {
            .at_ms = 7000 + i, .actor = HELIO_TEXT("user:ada"), .action = HELIO_TEXT("token")};
        append(store, HELIO_BROKER_FX_ROW_AUDIT, &audit);
    }
    commit(store);
    assert_int_equal(helio_store_each_token(store, count_token, &tokens, NULL), HELIO_OK);
    assert_int_equal(helio_store_each_site_key(store, count_key, &keys, NULL), HELIO_OK);
    assert_int_equal(tokens, 1);
    assert_int_equal(keys, 1);
    assert_value(conninfo, "select count(*) || ' ' || max(audit_id) from helio.audit", "7 7");
    assert_value(conninfo, "select helio.audit_verify()", "");
    helio_pg_exec(conninfo, "alter table helio.audit disable trigger append_only; "
                            "update helio.audit set detail = 'forged' where audit_id = 4");
    assert_value(conninfo, "select helio.audit_verify()", "4");
    helio_store_destroy(&store);
}

/*  Else a new leader finds jobs of a tenant that it does not know. */
static void store__the_first_token_of_a_tenant_makes_the_tenant(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = {hash_b, 32},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("user"),
                               .created_ms = 5000};
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", "lulea", NULL), HELIO_OK);
    helio_store_t *store = opened(conninfo);
    append(store, HELIO_BROKER_FX_ROW_TOKEN, &token);
    token.token_id = HELIO_TEXT("t2");
    token.tenant = HELIO_TEXT("blue");
    append(store, HELIO_BROKER_FX_ROW_TOKEN, &token);
    commit(store);
    assert_value(
        conninfo,
        "select string_agg(tenant || ' ' || coalesce(home_site, '-'), ', ' order by tenant) from helio.tenants",
        "acme lulea, blue -");
    helio_pg_exec(conninfo, "delete from helio.tenants where tenant = 'blue'"); /* as tokens once left it */
    loaded_t all = load(store);
    const helio_row_tenant_t *home = nth(&all, HELIO_BROKER_EV_LOAD_TENANT, 0);
    const helio_row_tenant_t *blue = nth(&all, HELIO_BROKER_EV_LOAD_TENANT, 1);
    assert_true(home && helio_text_is(home->tenant, "acme") && helio_text_is(home->home_site, "lulea"));
    assert_true(blue && helio_text_is(blue->tenant, "blue") && blue->home_site.size == 0);
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static int up(void **state)
{
    *state = helio_pg_up();
    return 0;
}

static int down(void **state)
{
    helio_pg_down((helio_pg_t **)state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__rows_that_a_new_leader_needs_load_back_equal),
        cmocka_unit_test(store__dependencies_load_back_with_what_became_of_each),
        cmocka_unit_test(store__a_quota_is_the_last_one_that_was_set_and_is_loaded),
        cmocka_unit_test(store__data_and_links_are_the_last_word_on_each_and_are_loaded),
        cmocka_unit_test(store__queues_and_their_rules_are_the_last_ones_that_were_set_and_are_loaded),
        cmocka_unit_test(store__overflow_groups_are_the_last_ones_that_were_set_and_are_loaded),
        cmocka_unit_test(store__what_hours_were_priced_by_comes_back_as_it_was_written),
        cmocka_unit_test(store__runs_are_loaded_as_they_ended_and_what_was_foreseen_is_kept),
        cmocka_unit_test(store__a_gate_that_opened_stays_open),
        cmocka_unit_test(store__what_open_jobs_were_edited_to_is_loaded_and_who_did_it_is_kept),
        cmocka_unit_test(store__everything_else_is_stored_as_it_was_given),
        cmocka_unit_test(store__texts_that_postgresql_refuses_are_mended),
        cmocka_unit_test(store__state_rows_of_one_key_collapse_to_the_last),
        cmocka_unit_test(store__what_a_job_does_not_say_is_null_beside_jobs_that_say_it),
        cmocka_unit_test(store__a_batch_larger_than_one_statement_arrives_whole),
        cmocka_unit_test(store__jobs_are_open_until_their_last_task_is_over),
        cmocka_unit_test(store__a_new_leader_reads_jobs_from_the_mark_of_the_last_batch_on),
        cmocka_unit_test(store__a_second_completion_is_refused_with_its_whole_batch),
        cmocka_unit_test(store__evidence_counts_once_and_of_attempts_that_were_placed_there),
        cmocka_unit_test(store__a_second_use_of_an_idempotency_key_is_refused),
        cmocka_unit_test(store__a_transition_that_is_not_listed_is_refused),
        cmocka_unit_test(store__one_broker_leads_and_the_next_has_a_higher_epoch),
        cmocka_unit_test(store__the_longest_lease_of_former_leaders_is_remembered),
        cmocka_unit_test(store__another_timeline_or_system_raises_the_incarnation),
        cmocka_unit_test(store__who_does_not_lead_any_more_commits_nothing),
        cmocka_unit_test(store__a_lost_idle_connection_heals_by_itself),
        cmocka_unit_test(store__a_commit_whose_answer_was_lost_is_found_committed),
        cmocka_unit_test(store__a_commit_without_its_standby_is_not_reported),
        cmocka_unit_test(store__a_crash_of_the_server_neither_loses_nor_doubles_a_batch),
        cmocka_unit_test(store__a_newer_leader_is_noticed_on_the_way_back),
        cmocka_unit_test(store__a_database_that_failed_over_ends_the_leader),
        cmocka_unit_test(store__a_database_that_cannot_be_reached_is_unavailable),
        cmocka_unit_test(store__a_stored_job_that_no_longer_parses_names_itself),
        cmocka_unit_test(store__bootstrap_puts_tenants_tokens_and_keys_and_audits_them),
        cmocka_unit_test(store__the_first_token_of_a_tenant_makes_the_tenant),
    };
    return cmocka_run_group_tests(tests, up, down);
}
