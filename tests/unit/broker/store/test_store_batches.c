/*  test_store_batches.c -- batches: rows that collapse, the open mark, and batches that are refused as a whole. */
#include "tests/unit/broker/store/store_testing.h"

/* ---- batches ------------------------------------------------------------------------------------------- */

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

static void store__an_empty_field_is_null_beside_rows_that_have_it(void **state)
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
    const helio_row_key_t expected = {HELIO_TEXT("acme"), HELIO_TEXT("once"), {hash_a, sizeof hash_a}, job.job};
    assert_true(helio_record_equal(&helio_row_key_type, key, &expected));
    assert_non_null(the(&all, HELIO_BROKER_EV_LOAD_STATE, 1)); /* also of the task that is over: its job is not */
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
    commit_from(store, job_id(3)); /* what stands below the mark is not looked at: the core must not say too much */
    all = load(store);
    fourth = the(&all, HELIO_BROKER_EV_LOAD_JOB, 0);
    assert_true(helio_uuid_equal(fourth->row.job, job_id(4)));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_JOB, 1));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

/*  A refused row is a bug of ours: fatal, named, and nothing of its batch stays. */
static void assert_refused(helio_store_t *store, const char *conninfo, const char *statement, const char *constraint)
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
                                   .gpu_ms = 60000,
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

static void store__evidence_counts_once_and_only_for_attempts_placed_at_that_site(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    const int64_t start_ms = INT64_C(1795000002999);
    helio_store_t *store = opened(conninfo);
    helio_row_placement_t placement = {.key = {job_id(1), HELIO_NO_TASK},
                                       .epoch = 1,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .at_ms = 1};
    const helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__state_rows_of_one_key_collapse_to_the_last),
        cmocka_unit_test(store__an_empty_field_is_null_beside_rows_that_have_it),
        cmocka_unit_test(store__a_batch_larger_than_one_statement_arrives_whole),
        cmocka_unit_test(store__jobs_are_open_until_their_last_task_is_over),
        cmocka_unit_test(store__a_new_leader_reads_jobs_from_the_mark_of_the_last_batch_on),
        cmocka_unit_test(store__a_second_completion_is_refused_with_its_whole_batch),
        cmocka_unit_test(store__evidence_counts_once_and_only_for_attempts_placed_at_that_site),
        cmocka_unit_test(store__a_second_use_of_an_idempotency_key_is_refused),
        cmocka_unit_test(store__a_transition_that_is_not_listed_is_refused),
    };
    return cmocka_run_group_tests(tests, up, down);
}
