/*  test_retention.c -- which rows retention deletes and keeps, and when it runs. */
#include "tests/unit/broker/store/store_testing.h"

#include <stdatomic.h>
#include <unistd.h>

#include "broker/store/retention.h"
#include "broker/store/session.h"

static const uint64_t day_ms = 86400000;

/*  Two pools with samples and series of a hundred hours, of which the older half is older than two days;
 * decisions 1 (of a job that ended), 2 (of one that runs), 3 (that its class waits by), 4 (young). Job n ends
 * in …000n; all but job 4 are ten days old, and job 2 is not over. */
static const char world[] =
    "insert into helio.pools select 'lulea', p, 'H100', 1, 4, 4, 8, 1, 1, 0, 0, true, 0, 0, 0, 0, 0 from "
    "unnest(array ['a', 'b']) p;"
    "insert into helio.capacity_samples select 'lulea', p, helio.utc_hour(now()) - interval '20 minutes' * "
    "i, 4, 32, 8, 24, 0, 8, 1, 0, 1"
    "  from generate_series(1, 300) i, unnest(array ['a', 'b']) p;"
    "insert into helio.series select 'lulea', '', 3, 'average', null, 't', false, helio.utc_hour(now()) - "
    "interval '1 hour' * i, now(), "
    "  3600, '{1}' from generate_series(1, 100) i;"
    "insert into helio.series_now select * from helio.series order by issued_at limit 1;"
    "insert into helio.actuals select 'lulea', '', 3, helio.utc_hour(now()) - interval '1 hour' * i, 1, "
    "now(), false, '', null, 't'"
    "  from generate_series(1, 100) i;"
    "insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, "
    "queue, spec_hash, source,"
    "  idempotency_key)"
    "  select (lpad(to_hex(helio.time_ms(now()) - case n when 4 then 0 else 864000000 end), 12, '0') || "
    "'700080000000000'"
    "  || lpad(n::text, 5, '0'))::uuid, now(), 1, n, 1, 1, 1, 0, 'acme', 'standard', 'h', 's', 'key' || n "
    "from generate_series(1, 4) n;"
    "update helio.federation set open_from = (select job_id from helio.jobs where class_id = 1);"
    "insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, "
    "site_failures, gpu_ms, cost_micro_usd,"
    "  energy_j, carbon_mg, units_done) select job_id, -1, case class_id when 2 then 4 else 8 end, 0, 0, 1, "
    "1, 0, 0, 1, 1, 1, 1, 1"
    "  from helio.jobs where class_id < 4;"
    "insert into helio.placements select job_id, -1, 1, 1, 1, class_id, 0, 0, 0, 0, now(), now() - interval "
    "'10 days', 'lulea', 'a'"
    "  from helio.jobs where class_id < 3;"
    "insert into helio.decisions select n, now() - interval '10 days' * (n < 4)::integer, n, 'v1' from "
    "generate_series(1, 4) n;"
    "insert into helio.candidates (decision_id, rank, site, score_micro_usd, cost_micro_usd, energy_j, "
    "carbon_mg)"
    "  select n, r, 'lulea', 1, 1, 1, 1 from generate_series(1, 4) n, generate_series(0, 2) r;"
    "insert into helio.classes values (3, 'acme', 'standard', '', '', '', 3, now());"
    "insert into helio.waiting_samples select now() - interval '1 day' * i, 1, 1, 'acme', 'standard', 'NoCapacity' from "
    "generate_series(1, 5) i;";

static const char *fresh(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo, world);
    return conninfo;
}

static void collect_line(void *arg, const char *line)
{
    helio_buffer_t *text = arg;
    helio_buffer_printf(text, "%s\n", line);
}

static const helio_retention_t two_days = {2 * 86400000, 2 * 86400000, 2 * 86400000, 2 * 86400000, 2 * 86400000, 100};

static void prune__deletes_what_is_old_and_keeps_what_is_needed(void **state)
{
    const char *conninfo = fresh(state);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    helio_error_t err = {.text = ""};
    char *before = helio_pg_value(
        conninfo, "select string_agg(u::text, ' ' order by u.time) from helio_report.utilization_hourly u");
    if (helio_retention_prune(conninfo, &two_days, collect_line, &said, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    assert_value(conninfo,
                 "select count(*) > 0 and min(at) >= helio.utc_hour(now() - interval '2 days') from "
                 "helio.capacity_samples",
                 "t");
    assert_value(conninfo, "select min(issued_at) >= now() - interval '2 days' and count(*) >= 47 from helio.series",
                 "t");
    assert_value(conninfo, "select min(hour) >= now() - interval '2 days' and count(*) >= 47 from helio.actuals", "t");
    assert_value(conninfo, "select count(*) from helio_report.queue_waiting", "1");
    assert_value(conninfo, "select count(*) from helio.series_now", "1"); /* what holds, however old */
    assert_value(conninfo, "select string_agg(decision_id::text, ' ' order by decision_id) from helio.decisions",
                 "2 3 4");
    assert_value(conninfo, "select string_agg(distinct decision_id::text, ' ') from helio.candidates", "2 3 4");
    assert_value(conninfo, "select string_agg(coalesce(idempotency_key, '-'), ' ' order by job_id) from helio.jobs",
                 "- key2 - key4");
    char *after = helio_pg_value(
        conninfo, "select string_agg(u::text, ' ' order by u.time) from helio_report.utilization_hourly u");
    assert_string_equal(before, after); /* a figure of an hour is the same when its samples are gone */
    free(before);
    free(after);
    assert_non_null(strstr(said.data, "keys       deleted 2 rows"));
    assert_value(conninfo, "select deleted from helio.retention where what = 'decisions'", "4");
    assert_value(conninfo, "select bool_and(oldest_at > now() - interval '11 days') from helio.retention", "t");
    helio_buffer_reset(&said);
    assert_int_equal(helio_retention_prune(conninfo, &two_days, collect_line, &said, &err), HELIO_OK);
    assert_string_equal(
        said.data,
        "samples    deleted 0 rows\nwaiting    deleted 0 rows\nforecasts  deleted 0 rows\nactuals    deleted 0 rows\n"
        "decisions  deleted 0 rows\nkeys       deleted 0 rows\n");
}

static void prune__keeps_kinds_without_a_period_for_ever(void **state)
{
    const char *conninfo = fresh(state);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    const helio_retention_t samples_only = {.samples_ms = 2 * day_ms, .rows_per_second = 1};
    assert_int_equal(helio_retention_prune(conninfo, &samples_only, collect_line, &said, NULL), HELIO_OK);
    assert_value(conninfo, "select count(*) < 600 from helio.capacity_samples", "t");
    assert_value(conninfo,
                 "select (select count(*) from helio.series) || ' ' || (select count(*) from helio.actuals) || ' ' ||"
                 "  (select count(*) from helio.decisions) || ' ' || (select count(idempotency_key) from helio.jobs)",
                 "100 100 4 4");
}

static void retention_preview__counts_and_deletes_nothing(void **state)
{
    const char *conninfo = fresh(state);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    helio_error_t err = {.text = ""};
    if (helio_retention_preview(conninfo, &two_days, collect_line, &said, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    assert_non_null(strstr(said.data, "decisions  would delete 12 rows"));
    assert_value(conninfo,
                 "select (select count(*) from helio.capacity_samples) || ' ' || (select count(*) from "
                 "helio.candidates)",
                 "600 12");
}

static void compacted_keys__can_be_used_again_and_are_not_loaded(void **state)
{
    const char *conninfo = fresh(state);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    assert_int_equal(helio_retention_prune(conninfo, &two_days, collect_line, &said, NULL), HELIO_OK);
    helio_pg_exec(conninfo, "delete from helio.jobs where class_id in (2, 4)"); /* whose documents are none */
    helio_store_t *store = opened(conninfo);
    loaded_t all = load(store);
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_KEY, 0));
    helio_arena_destroy(&all.arena);
    helio_row_job_t again = job_row(1);
    again.idempotency_key = HELIO_TEXT("key1");
    append(store, HELIO_BROKER_FX_ROW_JOB, &again);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.jobs where idempotency_key = 'key1'", "1");
    helio_store_destroy(&store);
}

static void retention__works_only_while_this_process_leads(void **state)
{
    const char *conninfo = fresh(state);
    helio_pg_exec(conninfo, "update helio.federation set holder = 'elsewhere/1'");
    helio_pg_exec(conninfo, "insert into helio.retention values ('samples', 0, null, now())");
    helio_retention_worker_t *retention_worker = helio_retention_new(conninfo, &two_days, NULL, NULL);
    const int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    char *seen = NULL;
    do { /* it has looked: its statement is the last of a session that waits */
        free(seen);
        seen = helio_pg_value(conninfo,
                              "select count(*) from pg_stat_activity where application_name = 'helio-broker retention'"
                              "  and datname = current_database() and state = 'idle' and query like '%holder%'");
    } while (strcmp(seen, "1") != 0 && helio_clock_boot_ms() < give_up_ms);
    assert_string_equal(seen, "1");
    free(seen);
    assert_value(conninfo, "select count(*) from helio.retention", "1");
    char name[HELIO_SESSION_HOLDER_SIZE], sql[HELIO_SESSION_HOLDER_SIZE + 64];
    helio_session_holder(name);
    (void)snprintf(sql, sizeof sql, "update helio.federation set holder = '%s'", name);
    helio_pg_exec(conninfo, sql);
    for (bool done = false; !done;) {
        char *left = helio_pg_value(conninfo, "select count(*) from helio.decisions");
        done = strcmp(left, "3") == 0;
        free(left);
        if (!done && helio_clock_boot_ms() > give_up_ms)
            fail_msg("retention did nothing");
    }
    helio_retention_destroy(&retention_worker);
    assert_null(retention_worker);
}

/*  Job 4 waits, and four tasks of an array. A second leader does not count at once what the first has counted. */
static void retention__samples_what_waits_once_in_a_while(void **state)
{
    const char *conninfo = fresh(state);
    char name[HELIO_SESSION_HOLDER_SIZE], sql[HELIO_SESSION_HOLDER_SIZE + 64];
    helio_session_holder(name);
    (void)snprintf(sql, sizeof sql, "update helio.federation set holder = '%s'", name);
    helio_pg_exec(conninfo, sql);
    helio_pg_exec(
        conninfo,
        "delete from helio.waiting_samples;"
        "update helio.classes set reason = 'NoCapacity', class_id = 4;"
        "insert into helio.jobs select (left(job_id::text, 35) || '9')::uuid, submitted_at, time_limit_ms, 9, 2, "
        "nodes, tier, kind, 'other', user_name, 'batch', name, home_site, gpu_model, null, spec_hash, source, "
        "'{0,1,2,3}' from helio.jobs where class_id = 4");
    const int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    for (int leader = 0; leader < 2; leader++) {
        helio_pg_exec(conninfo, "update helio.retention set ran_at = now() - interval '1 hour'");
        helio_retention_worker_t *retention_worker = helio_retention_new(conninfo, &two_days, NULL, NULL);
        for (bool done = false; !done;) { /* its statement is the last of a turn */
            char *seen = helio_pg_value(
                conninfo,
                "select count(*) from pg_stat_activity where application_name = 'helio-broker retention'"
                "  and datname = current_database() and state = 'idle' and query like '%waiting_samples (at%'");
            done = strcmp(seen, "1") == 0;
            free(seen);
            if (!done && helio_clock_boot_ms() > give_up_ms)
                fail_msg("nothing was sampled");
        }
        helio_retention_destroy(&retention_worker);
        assert_value(conninfo,
                     "select string_agg(concat_ws(' ', tenant, queue, reason, jobs, gpus), ', ' order by tenant) from "
                     "helio_report.queue_waiting where time > now() - interval '1 minute'",
                     "acme standard NoCapacity 1 1, other batch Queued 4 8");
    }
}

static void say_and_count(void *arg, const char *line)
{
    if (strstr(line, "nothing is deleted for an hour")) /* else: a step that its end broke off */
        (void)atomic_fetch_add((atomic_uint *)arg, 1);
}

static void say_to(PGconn *writer, const char *sql)
{
    PGresult *result = PQexec(writer, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s", PQerrorMessage(writer));
    PQclear(result);
}

/*  Whoever writes a row for an hour while the hour is summed up leaves a mark, or is waited for. */
static void hours__are_summed_up_with_the_rows_of_transactions_that_end_meanwhile(void **state)
{
    static const char roll_up[] = "select helio.roll_up(24)";
    static const char changes[] = "select coalesce(sum(changes), 0) from helio_report.job_transitions_hourly where "
                                  "to_state = 'offered'";
    static const char late[] =
        "insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at) select "
        "count(*) + 1, '0199aaaa-0000-7000-8000-000000000001', -1, 1, 0, 1, now() - interval '3 "
        "hours' from helio.transitions";
    const char *conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo,
                  "update helio.rolled set rolled_to = helio.utc_hour(now()) - interval '5 hours', "
                  "  announced_to = helio.utc_hour(now()) - interval '5 hours';"
                  "insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, "
                  "tenant, queue, spec_hash, source) values ('0199aaaa-0000-7000-8000-000000000001', now() - interval "
                  "'3 hours', 1, 1, 1, 1, 1, 0, 'acme', 'standard', 'h', 's')");
    PGconn *writer = PQconnectdb(conninfo);
    say_to(writer, "begin");
    say_to(writer, late); /* nothing is announced: it leaves no mark */
    assert_value(conninfo, roll_up, "1");
    assert_value(conninfo, roll_up, "1");
    assert_value(conninfo, roll_up, "0"); /* it may not have seen the announcement */
    assert_value(conninfo, roll_up, "0");
    assert_value(conninfo, changes, "0");
    say_to(writer, "commit");
    assert_value(conninfo, changes, "1");
    assert_value(conninfo, roll_up, "24");
    assert_value(conninfo, "select rolled_to = announced_to from helio.rolled", "t");
    assert_value(conninfo, "select sum(changes) from helio.change_hours where to_state = 1", "1");
    assert_value(conninfo, changes, "1");

    say_to(writer, "begin");
    say_to(writer, late);
    assert_value(conninfo, roll_up, "0"); /* nobody waits for it, and its mark is not to be seen */
    say_to(writer, "commit");
    assert_value(conninfo, changes, "2");
    assert_value(conninfo, "select count(*) from helio.stale_hours", "1");
    assert_value(conninfo, roll_up, "1");
    assert_value(conninfo, "select count(*) from helio.stale_hours", "0");
    assert_value(conninfo, changes, "2");
    assert_value(conninfo, roll_up, "0");
    PQfinish(writer);
}

/*  As when both clocks of one machine jump: the last round was long ago. */
static void retention__deletes_nothing_after_a_gap_until_the_doubt_is_over(void **state)
{
    const char *conninfo = fresh(state);
    char name[HELIO_SESSION_HOLDER_SIZE], sql[HELIO_SESSION_HOLDER_SIZE + 64];
    helio_session_holder(name);
    (void)snprintf(sql, sizeof sql, "update helio.federation set holder = '%s'", name);
    helio_pg_exec(conninfo, sql);
    helio_pg_exec(conninfo, "insert into helio.retention values ('keys', 0, null, now() - interval '200 days')");
    atomic_uint said = 0;
    helio_retention_worker_t *retention_worker = helio_retention_new(conninfo, &two_days, say_and_count, &said);
    const int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    for (bool done = false; !done;) { /* its turns end with this step: those that delete come after it */
        char *seen = helio_pg_value(
            conninfo, "select count(*) from pg_stat_activity where application_name = 'helio-broker retention'"
                      "  and datname = current_database() and state = 'idle' and query like '%helio.roll_up(%'"
                      "  and now() - state_change > interval '100 milliseconds'");
        done = strcmp(seen, "1") == 0;
        free(seen);
        if (!done && helio_clock_boot_ms() > give_up_ms)
            fail_msg("retention did nothing");
    }
    helio_retention_destroy(&retention_worker);
    assert_int_equal(atomic_load(&said), 1);
    assert_value(conninfo,
                 "select (select count(*) from helio.decisions) || ' ' || (select count(idempotency_key) from "
                 "helio.jobs) || ' ' || (select count(*) from helio.retention)",
                 "4 4 1");
    helio_pg_exec(conninfo, "update helio.retention set ran_at = now() - interval '23 hours'");
    retention_worker = helio_retention_new(conninfo, &two_days, say_and_count, &said);
    for (bool done = false; !done;) {
        char *left = helio_pg_value(conninfo, "select count(idempotency_key) from helio.jobs");
        done = strcmp(left, "2") == 0;
        free(left);
        if (!done && helio_clock_boot_ms() > give_up_ms)
            fail_msg("retention did nothing");
    }
    helio_retention_destroy(&retention_worker);
    assert_int_equal(atomic_load(&said), 1);
}

static void retention__doubts_a_gap_of_more_than_a_day_for_an_hour(void **state)
{
    (void)state;
    const int64_t hour_ms = 3600000, day = (int64_t)day_ms, boot_ms = 7 * hour_ms;
    int64_t since_ms = 0;
    assert_false(helio_retention_doubts(100 * day, 99 * day, boot_ms, &since_ms));
    assert_int_equal(since_ms, 0);
    assert_false(helio_retention_doubts(100 * day, 300 * day, boot_ms, &since_ms)); /* set back: deletes less */
    assert_true(helio_retention_doubts(100 * day + 1, 99 * day, boot_ms, &since_ms));
    assert_true(helio_retention_doubts(101 * day, 99 * day, boot_ms + hour_ms - 1, &since_ms));
    assert_false(helio_retention_doubts(101 * day, 99 * day, boot_ms + hour_ms, &since_ms));
    assert_false(helio_retention_doubts(101 * day, 101 * day, boot_ms + hour_ms, &since_ms));    /* it has run */
    assert_true(helio_retention_doubts(301 * day, 101 * day, boot_ms + 9 * hour_ms, &since_ms)); /* a jump */
    since_ms = 0;
    assert_true(helio_retention_doubts(100 * day, 0, boot_ms, &since_ms)); /* never ran */
    assert_false(helio_retention_doubts(100 * day, 0, boot_ms + hour_ms, &since_ms));
}

static void say_once(void *arg, const char *line)
{
    helio_buffer_printf(arg, "%s\n", line);
}

static void retention__can_be_stopped_without_a_database(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    helio_retention_worker_t *retention_worker =
        helio_retention_new("host=/nowhere port=1", &two_days, say_once, &said);
    helio_retention_destroy(&retention_worker);
    assert_null(retention_worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prune__deletes_what_is_old_and_keeps_what_is_needed),
        cmocka_unit_test(prune__keeps_kinds_without_a_period_for_ever),
        cmocka_unit_test(retention_preview__counts_and_deletes_nothing),
        cmocka_unit_test(compacted_keys__can_be_used_again_and_are_not_loaded),
        cmocka_unit_test(retention__works_only_while_this_process_leads),
        cmocka_unit_test(retention__samples_what_waits_once_in_a_while),
        cmocka_unit_test(retention__deletes_nothing_after_a_gap_until_the_doubt_is_over),
        cmocka_unit_test(hours__are_summed_up_with_the_rows_of_transactions_that_end_meanwhile),
        cmocka_unit_test(retention__doubts_a_gap_of_more_than_a_day_for_an_hour),
        cmocka_unit_test(retention__can_be_stopped_without_a_database),
    };
    return cmocka_run_group_tests(tests, up, down);
}
