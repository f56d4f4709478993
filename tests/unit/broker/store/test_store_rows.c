/*  test_store_rows.c -- the rows of jobs load back as they were stored. */
#include "tests/unit/broker/store/store_testing.h"

/* ---- what goes in comes out ---------------------------------------------------------------------------- */

static helio_row_site_t site_row(void)
{
    return (helio_row_site_t){.site = HELIO_TEXT("lulea"),
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
}

static helio_row_pool_t pool_row(void)
{
    return (helio_row_pool_t){.site = HELIO_TEXT("lulea"),
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
}

static void store__rows_that_a_new_leader_needs_load_back_equal(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    uint32_t tasks[] = {0, 1, 7};
    helio_row_job_t job = job_row(1), array = job_row(2);
    job.idempotency_key = HELIO_TEXT("key-1");
    job.goal = HELIO_GOAL_GREEN;
    job.flexible_ms = 21600000;
    job.deadline_wall_ms = INT64_C(1795000000000);
    array.tasks = (helio_u32s_t){tasks, 3};
    array.tasks_at_once = 2;
    helio_row_state_t running = state_row(1, HELIO_NO_TASK, HELIO_JOB_RUNNING);
    helio_row_state_t task = state_row(2, 7, HELIO_JOB_SUSPECT);
    helio_row_site_t site = site_row();
    helio_row_pool_t pool = pool_row();
    append(store, HELIO_BROKER_FX_ROW_STATE, &running); /* before its job: the batch has an order of its own */
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    append(store, HELIO_BROKER_FX_ROW_JOB, &array);
    append(store, HELIO_BROKER_FX_ROW_STATE, &task);
    append(store, HELIO_BROKER_FX_ROW_SITE, &site);
    append(store, HELIO_BROKER_FX_ROW_POOL, &pool);
    assert_int_equal(helio_store_open_rows(store), 6);
    commit(store);
    assert_value(
        conninfo,
        "select string_agg(concat_ws(' ', goal, flexible_seconds, helio.time_ms(deadline), time_limit_seconds), ', ' "
        "order by job_id) from helio_report.jobs where job_id !~ '[.][01]$'",
        "green 21600 1795000000000 86400, fast 0 0 86400");
    assert_value(conninfo, "select string_agg((id_text = helio.job_text(job_id, -1))::text, ' ') from helio.jobs",
                 "true true"); /* of an array, too */

    loaded_t all = load(store);
    const helio_ev_load_job_t *back = the(&all, HELIO_BROKER_EV_LOAD_JOB, 0);
    assert_true(helio_record_equal(&helio_row_job_type, &back->row, &job));
    assert_true(helio_text_is(back->spec.name, "hello"));
    back = the(&all, HELIO_BROKER_EV_LOAD_JOB, 1);
    assert_true(helio_record_equal(&helio_row_job_type, &back->row, &array));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_JOB, 2));
    assert_true(helio_record_equal(&helio_row_state_type, the(&all, HELIO_BROKER_EV_LOAD_STATE, 0), &running));
    assert_true(helio_record_equal(&helio_row_state_type, the(&all, HELIO_BROKER_EV_LOAD_STATE, 1), &task));
    assert_true(helio_record_equal(&helio_row_site_type, the(&all, HELIO_BROKER_EV_LOAD_SITE, 0), &site));
    assert_true(helio_record_equal(&helio_row_pool_type, the(&all, HELIO_BROKER_EV_LOAD_POOL, 0), &pool));
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_true(federation->incarnation > 0 && federation->restored_ms == 0);
    assert_int_equal(federation->broker_epoch, 1);
    assert_true(federation->seed != 0);
    assert_non_null(the(&all, HELIO_BROKER_EV_LOAD_QUEUE, 4));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__dependencies_load_back_with_their_outcomes(void **state)
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
    helio_row_dependency_hold_t holds[] = {{.job = job_row(1).job, .opened_ms = 1795000000000},
                                           {.job = job_row(3).job, .opened_ms = 1795000000000},
                                           {.job = last}};
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &holds[i]);
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
    const helio_row_ended_hold_t *ended = the(&all, HELIO_BROKER_EV_LOAD_ENDED_HOLD, 0);
    assert_true(helio_uuid_equal(ended->job, job_row(3).job)); /* of the open jobs, the only one whose hold has ended */
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_ENDED_HOLD, 1));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static int64_t now_hour_ms(void)
{
    int64_t wall_ms = helio_clock_wall_ms();
    return wall_ms - wall_ms % 3600000;
}

static void store__hourly_prices_load_back_as_written(void **state)
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
                                       .earliest_site = HELIO_TEXT("oslo"),
                                       .earliest_pool = HELIO_TEXT("a"),
                                       .earliest_ms = 77};
    helio_row_actual_t actual = {.site = HELIO_TEXT("lulea"),
                                 .pool = HELIO_TEXT(""),
                                 .signal = HELIO_SIGNAL_CARBON,
                                 .hour_ms = hour_ms,
                                 .value = 1.0 / 3,
                                 .kind = HELIO_TEXT("average"),
                                 .factor = HELIO_TEXT("lifecycle"),
                                 .source = HELIO_TEXT("grid"),
                                 .estimated = true,
                                 .issued_ms = hour_ms + 1,
                                 .feed_state = HELIO_FEED_STATE_LAST_GOOD,
                                 .last_value_ms = hour_ms - 7};
    helio_row_actual_t old = actual;
    old.hour_ms -= INT64_C(200) * 3600000;
    helio_row_actual_t first = actual;
    first.value = 99;
    helio_row_series_t series = {.site = HELIO_TEXT("lulea"),
                                 .signal = HELIO_SIGNAL_PUE,
                                 .issued_ms = hour_ms,
                                 .start_ms = hour_ms,
                                 .step_s = 3600,
                                 .values = {values, 2},
                                 .feed_state = HELIO_FEED_STATE_NO_DATA,
                                 .last_value_ms = hour_ms - 9};
    helio_row_hourly_price_t rates = {.hourly_price_id = 5,
                                      .site = HELIO_TEXT("lulea"),
                                      .hour_ms = hour_ms,
                                      .pue = 1.25,
                                      .pue_feed_state = HELIO_FEED_STATE_LAST_GOOD,
                                      .pue_last_value_ms = 1,
                                      .price_feed_state = HELIO_FEED_STATE_NO_DATA,
                                      .price_last_value_ms = 2,
                                      .electricity_feed_state = HELIO_FEED_STATE_CURRENT,
                                      .electricity_last_value_ms = 3,
                                      .carbon_last_value_ms = 4};
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
    append(store, HELIO_BROKER_FX_ROW_HOURLY_PRICE, &rates);
    append(store, HELIO_BROKER_FX_ROW_BASELINE, &baseline);
    commit(store);
    append(store, HELIO_BROKER_FX_ROW_HOURLY_PRICE, &rates); /* a new leader writes them again */
    append(store, HELIO_BROKER_FX_ROW_BASELINE, &baseline);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_actual_type, the(&all, HELIO_BROKER_EV_LOAD_ACTUAL, 0), &actual));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_ACTUAL, 1)); /* beyond the retention of hours */
    assert_true(helio_record_equal(&helio_row_series_type, the(&all, HELIO_BROKER_EV_LOAD_SERIES, 0), &series));
    const helio_row_earliest_start_t *least = the(&all, HELIO_BROKER_EV_LOAD_EARLIEST_START, 0);
    assert_true(helio_job_key_equal(least->key, placement.key) && helio_text_is(least->site, "oslo"));
    assert_true(helio_text_is(least->pool, "a") && least->at_ms == 77);
    assert_value(conninfo, "select row(rates_id, pue, carbon_g_per_kwh, carbon_source) from helio.rates", "(5,1.25,,)");
    assert_value(
        conninfo,
        "select row(pue_feed_state, helio.time_ms(pue_last_value_at), price_feed_state, "
        "helio.time_ms(price_last_value_at), electricity_feed_state, helio.time_ms(electricity_last_value_at), "
        "carbon_feed_state, helio.time_ms(carbon_last_value_at)) from helio.rates",
        "(2,1,3,2,1,3,,4)");
    assert_value(conninfo,
                 "select row(home_carbon_mg, cost_micro_usd, least_site, home_carbon_kind) from helio.baselines",
                 "(7,-3,,)");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

/*  Runs load in the order of their ends, without those of second attempts; an open job keeps its expectation. */
typedef struct run_end {
    uint32_t epoch, state;
    uint64_t run_ms;
    bool completes, fenced;
} run_end_t;

static void append_run(helio_store_t *store, uint32_t number, const run_end_t *end)
{
    helio_row_job_t job = job_row(number);
    job.expected_ms = 1999 + number;
    job.expected_high_ms = 4000;
    job.expected_runs = 5;
    job.expected_basis = HELIO_DURATION_BASIS_NAME;
    helio_job_key_t key = {job.job, HELIO_NO_TASK};
    helio_row_placement_t placement = {.key = key,
                                       .epoch = end->epoch,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .at_ms = 1,
                                       .gpu_model = HELIO_TEXT("H100"),
                                       .expected_ms = 2000,
                                       .expected_high_ms = 2500};
    helio_row_attempt_t attempt = {.key = key,
                                   .epoch = end->epoch,
                                   .site = HELIO_TEXT("lulea"),
                                   .completes = true,
                                   .ended_ms = 1000,
                                   .run_ms = end->run_ms,
                                   .at_ms = 1};
    helio_row_state_t over = {.key = key, .state = end->state, .epoch = end->epoch, .at_ms = 1};
    helio_row_transition_t move = {.seq = number,
                                   .at_ms = 1,
                                   .key = key,
                                   .epoch = end->epoch,
                                   .from = end->state == HELIO_JOB_CANCELLED ? HELIO_JOB_STOPPING : HELIO_JOB_RUNNING,
                                   .to = end->state};
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    append(store, HELIO_BROKER_FX_ROW_STATE, &over);
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &move);
}

static void store__runs_load_in_the_order_of_their_ends_with_their_expectations(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    static const run_end_t ends[] = {{1, HELIO_JOB_TIMEOUT, 3000, true, false},
                                     {1, HELIO_JOB_SUCCEEDED, 1000, true, false},
                                     {2, HELIO_JOB_SUCCEEDED, 7000, true, false},
                                     {1, HELIO_JOB_CANCELLED, 500, true, false},
                                     {1, HELIO_JOB_FAILED, 0, true, false}};
    for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        append_run(store, i + 1, &ends[i]);
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

static void store__an_ended_dependency_hold_stays_ended(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_uuid_t job = job_row(1).job;
    helio_value_t two = {.text = HELIO_TEXT("waits for two")}, one = {.text = HELIO_TEXT("waits for one")};
    helio_row_dependency_hold_t said[] = {{job, details_of(&two), 0}, {job, details_of(&one), 0}};
    append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &said[0]);
    append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &said[1]);
    commit(store);
    assert_value(conninfo, "select detail || (opened_at is null)::text from helio.gates", "waits for onetrue");
    assert_value(conninfo, "select details from helio.gates",
                 "[{\"code\": \"StateReported\", \"params\": {\"why\": \"waits for one\"}}]");
    helio_row_dependency_hold_t opened_row = {.job = job, .opened_ms = INT64_C(1795000000007)},
                                again = {.job = job, .opened_ms = INT64_C(1796000000000)};
    append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &opened_row);
    commit(store);
    append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &again);
    append(store, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &said[0]);
    commit(store);
    assert_value(conninfo, "select coalesce(detail || details, '-') || helio.time_ms(opened_at) from helio.gates",
                 "-1795000000007");
    helio_store_destroy(&store);
}

static void append_history(helio_store_t *store)
{
    helio_job_key_t key = {job_id(1), HELIO_NO_TASK};
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
                                 .provenance = HELIO_TEXT("model"),
                                 .estimated = true};
    helio_row_ledger_t bringing = ledger;
    bringing.provenance = HELIO_TEXT("transfer"); /* of the same hour */
    bringing.part = HELIO_LEDGER_TRANSFER;
    bringing.gpu_ms = 0;
    helio_row_transition_t transition = {.seq = 9,
                                         .at_ms = 1000,
                                         .key = key,
                                         .epoch = 1,
                                         .from = HELIO_JOB_QUEUED,
                                         .to = HELIO_JOB_OFFERED,
                                         .actor = HELIO_TEXT("broker")};
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &ledger);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &bringing);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &bringing); /* once an attempt */
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
}

/*  The class twice in a batch: the last one counts. */
static void append_decision(helio_store_t *store)
{
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
                                       .disruption_micro_usd = 5,
                                       .transfer_micro_usd = INT64_MAX,
                                       .transfer_ms = 6,
                                       .egress_micro_usd = 7,
                                       .transfer_j = 8,
                                       .transfer_carbon_mg = 9};
    helio_row_class_t class = {
        .class_id = UINT64_MAX, .summary = HELIO_TEXT("8×H100"), .reason = HELIO_TEXT("Queued"), .expected_ms = 3000};
    append(store, HELIO_BROKER_FX_ROW_DECISION, &decision);
    append(store, HELIO_BROKER_FX_ROW_CANDIDATE, &candidate);
    append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
    class.reason = HELIO_TEXT("WaitingForCapacity");
    append(store, HELIO_BROKER_FX_ROW_CLASS, &class);
}

static void append_figures(helio_store_t *store)
{
    double values[] = {0.1, -2.5, 1e300}, band[] = {1, 2, 3};
    helio_detail_t others = HELIO_DETAIL0(HELIO_DETAIL_WITHHELD_OTHERS);
    const helio_details_t withheld = {.items = {&others, 1}};
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
    append(store, HELIO_BROKER_FX_ROW_CAPACITY, &capacity);
    append(store, HELIO_BROKER_FX_ROW_SERIES, &series);
    capacity.withheld = withheld;
    append(store, HELIO_BROKER_FX_ROW_CAPACITY, &capacity);
    append(store, HELIO_BROKER_FX_ROW_SERIES, &series);
    capacity.pool = HELIO_TEXT("offered");
    capacity.sample = false;
    append(store, HELIO_BROKER_FX_ROW_CAPACITY, &capacity);
    capacity.withheld = (helio_details_t){0};
    append(store, HELIO_BROKER_FX_ROW_CAPACITY, &capacity);
}

static const struct {
    const char *sql, *expected;
} stored[] = {
    {"select row(site, pool, decision_id, nodes, gpus, score_micro_usd, at) from helio.placements",
     "(lulea,h100,5,2,16,-3,\"1970-01-01 00:00:01+00\")"},
    {"select row(kind, completes, fenced, exit_code, started_at) from helio.attempts", "(5,t,f,0,)"},
    {"select row(hour, gpu_ms, cost_micro_usd, pool, provenance, estimated) from helio.ledger where part = 0",
     "(\"1970-01-01 01:00:00+00\",7,-8,,model,t)"},
    {"select string_agg(provenance || part, ' ' order by part) from helio.ledger", "model0 transfer1"},
    {"select row(transfer_ms, transfer_micro_usd, transfer_j, transfer_carbon_mg) from helio.placements", "(1,2,3,4)"},
    {"select row(transfer_ms, egress_micro_usd, transfer_j, transfer_carbon_mg) from helio.candidates", "(6,7,8,9)"},
    {"select row(seq, from_state, to_state, reason, actor) from helio.transitions", "(9,0,1,,broker)"},
    {"select row(class_id, policy_version, reason, chosen_site) from helio.decisions", "(-1,v1,,lulea)"},
    {"select row(rank, site, pool, rejected_reason) from helio.candidates", "(0,lulea,,)"},
    {"select row(carbon_micro_usd, wait_micro_usd, risk_micro_usd, shadow_micro_usd, move_micro_usd, "
     "transfer_micro_usd) from helio.candidates",
     "(1,2,-3,4,5,9223372036854775807)"},
    {"select row(forecast_at) from helio.decisions", "(\"1970-01-01 00:00:02+00\")"},
    {"select row(expected_at) from helio.classes where class_id = -1", "(\"1970-01-01 00:00:03+00\")"},
    {"select row(summary, reason) from helio.classes", "(8×H100,WaitingForCapacity)"},
    {"select row(gpus_total, gpus_free, site_power_w) from helio.capacity_now where pool = 'h100'",
     "(2147483647,5,-1)"},
    {"select row(pool, withheld, withheld_details) from helio.capacity_now where pool = 'h100'",
     "(h100,\"others use all of it that the federation does not use\","
     "\"[{\"\"code\"\": \"\"WithheldOthers\"\", \"\"params\"\": {}}]\")"},
    {"select row(withheld, withheld_details) from helio.capacity_now where pool = 'offered'", "(,)"},
    {"select count(*) from helio.capacity_samples", "1"},
    {"select row(signal, kind, factor, \"values\", p10, p90) from helio.series_now",
     "(3,average,,\"{0.1,-2.5,1e+300}\",\"{1,2,3}\",)"},
    {"select count(*) from helio.series", "1"},
};

static void store__all_other_rows_are_stored_unchanged(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_history(store);
    append_decision(store);
    append_figures(store);
    commit(store);
    helio_pg_exec(conninfo,
                  "do $$ begin execute format('alter database %I set timezone = ''UTC''', current_database()); end $$");
    for (size_t i = 0; i < sizeof stored / sizeof stored[0]; i++)
        assert_value(conninfo, stored[i].sql, stored[i].expected);
    loaded_t all = load(store);
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_int_equal(federation->last_transition_seq, 9);
    assert_int_equal(federation->last_decision_id, 5);
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__rows_that_a_new_leader_needs_load_back_equal),
        cmocka_unit_test(store__dependencies_load_back_with_their_outcomes),
        cmocka_unit_test(store__hourly_prices_load_back_as_written),
        cmocka_unit_test(store__runs_load_in_the_order_of_their_ends_with_their_expectations),
        cmocka_unit_test(store__an_ended_dependency_hold_stays_ended),
        cmocka_unit_test(store__all_other_rows_are_stored_unchanged),
    };
    return cmocka_run_group_tests(tests, up, down);
}
