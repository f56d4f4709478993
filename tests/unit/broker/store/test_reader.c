/*  test_reader.c -- the named queries, and the reader that runs them. */
#include "tests/unit/broker/store/reader_testing.h"

static void read_dependencies__resolves_each_name_and_its_outcome(void **state)
{
    (void)state;
    char words[1024], two[2 * HELIO_ID_SIZE], expected[1024];
    (void)snprintf(two, sizeof two, "%.8s", id_of(1)); /* the beginning of all of them */
    (void)snprintf(words, sizeof words,
                   "[\"%s\",\"%s\",\"%s\",\"%s\",\"%s.0\",\"%s.1\",\"%s.9\",\"%s.x\",\"%s.0\",\"%s\",\"%s\"]", id_of(1),
                   id_of(2) + 18, id_of(3), id_of(4), id_of(4), id_of(4), id_of(4), id_of(4), id_of(1), id_of(5), two);
    assert_json(
        ASK("read_dependencies", words, "acme"),
        "(select string_agg(e->>'found', ' ' order by n) from jsonb_array_elements(j) with ordinality as x (e, n))",
        "3 2 2 2 4 2 0 0 0 0 1");
    (void)snprintf(expected, sizeof expected, "%s %s.0", id_of(2), id_of(4));
    assert_json(ASK("read_dependencies", words, "acme"), "(j->1->>'id') || ' ' || (j->4->>'id')", expected);
    assert_json(ASK("read_dependencies", "[]", "acme"), "j", "[]");
}

/*  The other filters: schema/tests/lists.sql. */
static asked_t ask_jobs(const char *tenant, const char *state, const char *queue, const char *name, const char *cursor,
                        const char *limit)
{
    return ASK("read_jobs", tenant, state, queue, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, cursor, limit);
}

static void read_jobs__shows_what_a_job_with_a_dependency_hold_waits_for(void **state)
{
    (void)state;
    helio_pg_exec(conninfo,
                  "insert into helio.gates values ('0199aaaa-0000-7000-8000-000000000003', 'waits for something')");
    assert_json(ASK("read_job", id_of(3), NULL), "(j->>'reason') || ': ' || (j->>'detail')",
                "Gated: waits for something");
    assert_json(ASK("read_explain", id_of(3), NULL), "(j->>'reason') || ': ' || (j->>'detail') || (j->>'candidates')",
                "Gated: waits for something[]");
    helio_pg_exec(conninfo, "update helio.gates set detail = null, opened_at = now()");
    assert_json(ASK("read_job", id_of(3), NULL), "(j->>'reason') || ': ' || (j->>'detail')",
                "WaitingForCapacity: no 16 free");
    helio_pg_exec(conninfo, "delete from helio.gates");
}

static void read_job__has_every_documented_member(void **state)
{
    (void)state;
    static const char *const keys[] = {"id",          "name",      "tenant",     "user",         "queue",
                                       "kind",        "tier",      "state",      "site",         "pool",
                                       "home_site",   "epoch",     "attempts",   "submitted_at", "started_at",
                                       "finished_at", "exit_code", "gpus",       "nodes",        "gpu_model",
                                       "gpu_seconds", "cost_usd",  "energy_kwh", "carbon_g",     "wait_seconds",
                                       "run_seconds", "reason",    "history",    "saved_seconds"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "j ? '%s'", keys[i]);
        assert_json(ASK("read_job", id_of(1), NULL), path, "t");
    }
    assert_json(ASK("read_job", id_of(1), NULL),
                "concat_ws(' ', j->>'state', j->>'exit_code', j->>'gpu_seconds', j->>'cost_usd', j->>'energy_kwh', "
                "j->>'carbon_g', j->>'wait_seconds', j->>'run_seconds')",
                "succeeded 0 3600 1.5 2 2.5 600 1800");
    assert_json(ASK("read_job", id_of(1), NULL), "j->>'saved_seconds' is null", "t"); /* not known */
    helio_pg_exec(conninfo, "update helio.job_state set saved_ms = 11400500");
    assert_json(ASK("read_job", id_of(1), NULL), "j->>'saved_seconds'", "11400.5");
    helio_pg_exec(conninfo, "update helio.job_state set saved_ms = 0");
    assert_json(ASK("read_job", id_of(1), NULL), "j->>'submitted_at' ~ '^\\d{4}-\\d\\d-\\d\\dT[0-9:.]{12}Z$'", "t");
    assert_json(ASK("read_job", id_of(1), NULL),
                "(select string_agg(h->>'to', ' ') from jsonb_array_elements(j->'history') h)",
                "queued offered running");
}

static void read_job__a_job_without_a_state_row_waits_for_its_class_reason(void **state)
{
    (void)state;
    assert_json(ASK("read_job", id_of(3), NULL), "concat_ws(' ', j->>'state', j->>'reason', j->>'epoch')",
                "queued WaitingForCapacity 0");
    assert_json(ASK("read_job", id_of(5), NULL), "concat_ws(' ', j->>'state', j->>'reason')", "queued Queued");
}

static void read_job__finds_by_prefix_suffix_hex_and_task(void **state)
{
    (void)state;
    const char *id = id_of(2);
    assert_json(ASK("read_job", id + 20, NULL), "j->>'name'", "job2"); /* the last six */
    assert_json(ASK("read_job", id + 10, NULL), "j->>'name'", "job2");
    assert_json(ASK("read_job", id_of(1) + 18, NULL), "j->>'name'", "job1"); /* over: looked up another way */
    assert_json(ASK("read_job", "0199aaaa-0000-7000-8000-000000000002", NULL), "j->>'name'", "job2");
    char upper[HELIO_ID_SIZE], prefix[32], task[HELIO_KEY_SIZE];
    for (size_t i = 0; i <= strlen(id); i++)
        upper[i] = (char)(id[i] >= 'a' && id[i] <= 'z' ? id[i] - 32 : id[i]);
    assert_json(ASK("read_job", upper, NULL), "j->>'name'", "job2");
    (void)snprintf(prefix, sizeof prefix, "%.12s", id);
    assert_json(ASK("read_job", prefix, NULL), "jsonb_array_length(j->'ambiguous')", "5");
    assert_json(ASK("read_job", prefix, "other"), "j->>'name'", "job5"); /* another tenant's are not there at all */
    (void)snprintf(task, sizeof task, "%.26s.1", id_of(4));
    assert_json(ASK("read_job", task, NULL), "concat_ws(' ', j->>'id' = '' , j->>'state', j->>'attempts')",
                "f running 1");
    (void)snprintf(task, sizeof task, "%.26s.2", id_of(4) + 20);
    assert_json(ASK("read_job", task, NULL), "j->>'state'", "queued");
    (void)snprintf(task, sizeof task, "%.26s.9", id_of(4));
    assert_rc(ASK("read_job", task, NULL), HELIO_NOT_FOUND);
    (void)snprintf(task, sizeof task, "%.26s.0", id_of(1));
    assert_rc(ASK("read_job", task, NULL), HELIO_NOT_FOUND);
}

static void read_job__does_not_find_unknown_jobs_and_those_of_other_tenants(void **state)
{
    (void)state;
    static const char *const ids[] = {"",
                                      "abc",
                                      "zzzzzz",
                                      "01hw000000e008000000000009",
                                      "' or 1=1 --",
                                      "%%%%%%",
                                      "......",
                                      "0199aaaa-0000-7000-8000-00000000000x"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        assert_rc(ASK("read_job", ids[i], NULL), HELIO_NOT_FOUND);
    assert_rc(ASK("read_job", id_of(1), "other"), HELIO_NOT_FOUND);
    assert_rc(ASK("read_explain", id_of(1), "other"), HELIO_NOT_FOUND);
    assert_rc(ASK("read_job_where", id_of(1), "other"), HELIO_NOT_FOUND);
}

static void read_job__adds_an_array_up(void **state)
{
    (void)state;
    assert_json(ASK("read_job", id_of(4), NULL),
                "concat_ws(' ', j->>'state', j->>'tasks_total', j->'tasks'->>'failed', j->'tasks'->>'running', "
                "j->'tasks'->>'queued', j->>'cost_usd', j->>'finished_at')",
                "running 3 1 1 1 3");
}

static void read_explain__of_an_array_prefers_a_waiting_then_a_running_then_a_failed_task(void **state)
{
    (void)state;
    static const char array[] = "'0199aaaa-0000-7000-8000-000000000004'";
    static const struct {
        int first, second, third;  /* states */
        const char *shown, *whole; /* the task, and the state of the array */
    } cases[] = {{9, 4, 0, "2", "running"},
                 {9, 4, 8, "1", "running"},
                 {8, 11, 9, "2", "failed"},
                 {8, 11, 8, "1", "cancelled"},
                 {8, 8, 8, "0", "succeeded"}};
    char sql[512];
    (void)snprintf(sql, sizeof sql, "create table kept as select * from helio.job_state where job_id = %s", array);
    helio_pg_exec(conninfo, sql);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(sql, sizeof sql,
                       "delete from helio.job_state where job_id = %s; insert into helio.job_state select "
                       "(jsonb_populate_record(k, jsonb_build_object('task', t.n, 'state', t.s))).* from kept k, "
                       "(values (0, %d), (1, %d), (2, %d)) t (n, s) where k.task = 0",
                       array, cases[i].first, cases[i].second, cases[i].third);
        helio_pg_exec(conninfo, sql);
        assert_json(ASK("read_explain", id_of(4), NULL), "split_part(j->>'id', '.', 2)", cases[i].shown);
        assert_json(ASK("read_job_where", id_of(4), NULL), "j->>'state'", cases[i].whole);
    }
    (void)snprintf(sql, sizeof sql,
                   "delete from helio.job_state where job_id = %s; insert into helio.job_state select * from kept; "
                   "drop table kept",
                   array);
    helio_pg_exec(conninfo, sql);
    assert_json(ASK("read_job_where", id_of(4), NULL), "concat_ws(' ', j->>'array', j->>'first')", "true 0");
}

static void read_jobs__pages_newest_first_one_entry_per_task(void **state)
{
    (void)state;
    char cursor[64] = "", seen[256] = "";
    for (int page = 0; page < 4; page++) {
        asked_t asked = ask_jobs(NULL, NULL, NULL, NULL, page ? cursor : NULL, "2");
        assert_int_equal(asked.rc, HELIO_OK);
        helio_buffer_t sql = {0};
        helio_buffer_printf(&sql,
                            "select string_agg((e->>'name') || right(e->>'id', 2), ' ') || ' ' from "
                            "jsonb_array_elements($helio$%s$helio$::jsonb->'jobs') e",
                            asked.json);
        char *names = helio_pg_value(conninfo, sql.data);
        (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s", names);
        helio_buffer_reset(&sql);
        helio_buffer_printf(&sql, "select $helio$%s$helio$::jsonb->>'next'", asked.json);
        char *next = helio_pg_value(conninfo, sql.data);
        (void)snprintf(cursor, sizeof cursor, "%s", next);
        assert_int_equal(page == 3, cursor[0] == '\0');
        free(names);
        free(next);
        free(asked.json);
        helio_buffer_clear(&sql);
    }
    assert_string_equal(seen, "job505 job4.0 job4.1 job4.2 job303 job202 job101 ");
}

static void read_jobs__filters(void **state)
{
    (void)state;
    static const struct {
        const char *tenant, *state, *queue, *name, *expected;
    } cases[] = {
        {"acme", NULL, NULL, NULL, "6"},
        {"other", NULL, NULL, NULL, "1"},
        {NULL, "running", NULL, NULL, "2"},
        {NULL, "queued", NULL, NULL, "3"},
        {"acme", "queued", NULL, NULL, "2"},
        {NULL, "succeeded", NULL, NULL, "1"},
        {NULL, "queued,running,failed", NULL, NULL, "6"},
        {NULL, "succeeded,failed", NULL, NULL, "2"},
        {NULL, "failed", NULL, NULL, "1"},
        {NULL, NULL, "standard", "job4", "3"},
        {NULL, NULL, "batch", NULL, "0"},
        {NULL, "nonsense", NULL, NULL, "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_json(ask_jobs(cases[i].tenant, cases[i].state, cases[i].queue, cases[i].name, NULL, "100"),
                    "jsonb_array_length(j->'jobs')", cases[i].expected);
    assert_rc(ask_jobs(NULL, NULL, NULL, NULL, NULL, "many"), HELIO_INVALID);
}

static void read_explain__gives_the_candidates_and_why(void **state)
{
    (void)state;
    assert_json(ASK("read_explain", id_of(3), "acme"),
                "concat_ws(' ', j->>'state', j->>'reason', j->>'detail', j->>'expected_start' is not null, "
                "j->'candidates'->1->>'reason', j->'candidates'->0->>'cost_usd')",
                "queued WaitingForCapacity no 16 free t Forbidden 4");
    assert_json(ASK("read_explain", id_of(1), NULL), "concat_ws(' ', j->>'chosen', j->'candidates'->0->>'site')",
                "lulea lulea");
    assert_json(ASK("read_explain", id_of(1), NULL),
                "concat_ws(' ', j->'candidates'->0->'terms'->>'money', j->'candidates'->0->'terms'->>'carbon', "
                "j->>'expected_start', j->>'forecast_issued_at')",
                "4 0"); /* nothing is expected of what has started */
}

static void read_job_where__says_where_the_newest_attempt_is(void **state)
{
    (void)state;
    assert_json(ASK("read_job_where", id_of(2) + 18, NULL),
                "concat_ws(' ', j->>'tenant', j->>'site', j->>'epoch', j->>'state', j->>'task')",
                "acme lulea 1 running -1");
    assert_json(ASK("read_job_where", id_of(3), NULL), "concat_ws(' ', j->>'site', j->>'epoch', j->>'state')",
                "0 queued");
    assert_json(ASK("read_job_where", id_of(4), NULL), "concat_ws(' ', j->>'array', j->>'task')", "true -1");
}

static void read_queues(void)
{
    assert_json(ASK("read_queues", "acme"),
                "(select concat_ws(' ', q->>'queued', q->>'running', q->>'tier', q->>'time_limit_s') from "
                "jsonb_array_elements(j) q where q->>'queue' = 'standard')",
                "2 2 standard 86400");
    assert_json(ASK("read_queues", "acme"),
                "(select concat_ws(' ', q->>'priority', q->>'priority_set', q->>'regions', q->'rules'->2->>'zone', "
                "(select string_agg(r->>'priority', ' ') from jsonb_array_elements(q->'rules') r)) from "
                "jsonb_array_elements(j) q where q->>'queue' = 'batch')",
                "700 100 EU 900 UTC 900 700 650");
    static const char critical[] =
        "(select string_agg(concat(q->>'queue', ' ', coalesce(q->>'burst_gpus', 'none')), ' ' order by q->>'queue') "
        "from jsonb_array_elements(j) q where q->>'queue' in ('express', 'reserved', 'standard'))";
    assert_int_equal(HELIO_QUOTA_CRITICAL_GPUS, 8); /* as read_queues has it */
    assert_json(ASK("read_queues", "acme"), critical, "express 8 reserved 8 standard none");
    helio_pg_exec(conninfo,
                  "insert into helio.quotas (tenant, queue, guaranteed_gpus, burst_gpus, weight_milli, set_at) values "
                  "('*', 'express', 0, 16, 1000, now()), ('*', 'reserved', 0, null, 1000, now()), "
                  "('acme', 'express', 0, 24, 1000, now())");
    assert_json(ASK("read_queues", "acme"), critical, "express 24 reserved none standard none");
    assert_json(ASK("read_queues", NULL), critical, "express 16 reserved none standard none");
    helio_pg_exec(conninfo, "delete from helio.quotas");
}

static void read_data(void)
{
    static const char names[] =
        "(select string_agg(concat(d->>'prefix', ' ', d->>'tenant'), ', ') from jsonb_array_elements(j) d)";
    helio_pg_exec(conninfo,
                  "insert into helio.data (prefix, sites, set_at, tenant) values ('s3://a', '{lulea}', now(), 'acme'), "
                  "('s3://b', '{lulea}', now(), 'other'), ('s3://c', '{lulea}', now(), '')");
    assert_json(ASK("read_data", "acme"), names, "s3://a acme, s3://c ");
    assert_json(ASK("read_data", "stranger"), names, "s3://c ");
    assert_json(ASK("read_data", NULL), names, "s3://a acme, s3://b other, s3://c ");
    helio_pg_exec(conninfo, "delete from helio.data");
}

/*  What a failed feed is, and since when, is read as data by metrics and as a sentence by people. */
static void failed_feeds(void)
{
    static const struct {
        int state;
        const char *figures, *source;
    } cases[] = {{1, "false f", "test current"},
                 {2, "true t", "test, last good 2026-11-20T06Z last_good"},
                 {3, "true t", "test, no data since 2026-11-20T06Z no_data"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char sql[256];
        (void)snprintf(sql, sizeof sql,
                       "update helio.series_now set feed_state = %d, last_value_at = case when %d > 1 then "
                       "'2026-11-20T06:40:00Z'::timestamptz end",
                       cases[i].state, cases[i].state);
        helio_pg_exec(conninfo, sql);
        assert_json(ask_of(reader, "read_series_now", NULL, 0),
                    "concat_ws(' ', j->0->>'failed', round((j->0->>'age_s')::numeric) = "
                    "round(extract(epoch from now() - '2026-11-20T06:40:00Z'))) ",
                    cases[i].figures);
        assert_json(ASK("read_forecast", "lulea", NULL), "concat_ws(' ', j->0->>'source', j->0->>'feed_state')",
                    cases[i].source);
        char *shown =
            helio_pg_value(conninfo, "select distinct source || ' ' || feed_state from helio_report.forecast_latest");
        assert_string_equal(shown, cases[i].source);
        free(shown);
    }
    helio_pg_exec(conninfo, "update helio.series_now set feed_state = null, last_value_at = null");
}

static void read_forecasts(void)
{
    assert_json(ASK("read_forecast", "lulea", NULL),
                "concat_ws(' ', jsonb_array_length(j->0->'points'), j->0->>'factor')", "2 lifecycle");
    helio_pg_exec(
        conninfo,
        "insert into helio.series select site, pool, signal, kind, factor, source, estimated, "
        "date_trunc('hour', now() - interval '5 hours', 'UTC'), "
        "date_trunc('hour', now() - interval '1 minute', 'UTC'), 3600, '{15}', null, null from helio.series_now");
    assert_json(ASK("read_forecast", "lulea", "2"),
                "(select string_agg(concat_ws(' ', e->>'horizon_h_from', e->>'horizon_h_to', e->>'hours', "
                "e->>'mean_absolute_error', e->>'mean_ape_ratio', e->>'bias'), ';') from "
                "jsonb_array_elements(j->0->'errors') e where e->>'horizon_h_from' = '2')",
                "2 6 1 3 0.25 3");
    assert_rc(ASK("read_forecast", "nowhere", NULL), HELIO_NOT_FOUND);
    helio_pg_exec(
        conninfo,
        "insert into helio.series select site, pool, signal, kind, factor, source, estimated, "
        "date_trunc('hour', now(), 'UTC') - interval '26 hours', date_trunc('hour', now(), 'UTC') - interval "
        "'2 hours', 3600, '{10}', null, null from helio.series_now where site = 'lulea'; "
        "insert into helio.actuals (site, pool, signal, hour, value, kind, factor, source, estimated, "
        "issued_at) select site, pool, signal, date_trunc('hour', now(), 'UTC') - interval '2 hours', 8, kind, "
        "factor, source, false, now() from helio.series_now where site = 'lulea'");
    assert_json(ask_of(reader, "read_forecasts_now", NULL, 0),
                "concat_ws(' ', jsonb_array_length(j), j->0->>'site', j->0->>'signal', j->0->>'error_ratio')",
                "1 lulea carbon_g_per_kwh 0.25");
    assert_json(
        ask_of(reader, "read_series_now", NULL, 0),
        "concat_ws(' ', jsonb_array_length(j), j->0->>'site', j->0->>'signal', coalesce(j->0->>'failed', 'none'), "
        "(j->0->>'age_s')::float8 < 7200)",
        "1 lulea carbon_g_per_kwh none t");
    failed_feeds();
}

static void read_books(void)
{
    assert_json(ASK("read_tokens", "acme"), "concat_ws(' ', j->0->>'token_id', j->0 ? 'hash')", "t1 f");
    assert_json(ASK("read_audit", NULL, "1"), "concat_ws(' ', j->'entries'->0->>'action', j->>'next')", "b 2");
    assert_json(ASK("read_audit", "2", "1"), "concat_ws(' ', j->'entries'->0->>'action', j->>'next')", "a");
    assert_json(ask_of(reader, "read_audit_verify", NULL, 0), "concat_ws(' ', j->>'broken_at', j->>'entries')", "2");
    assert_json(ASK("read_totals", NULL),
                "concat_ws(' ', j->>'jobs_total', j->'jobs'->>'running', j->>'cost_usd', j->>'gpu_seconds')",
                "7 2 6 14400");
    assert_json(
        ASK("read_report", NULL, "7"),
        "concat_ws(' ', j->>'jobs_total', j->>'days', j->'usage'->0->>'tenant', j->'usage'->0->>'gpu_seconds', "
        "jsonb_array_length(j->'baselines'), j->'baselines'->1->>'baseline', "
        "j->'baselines'->1->>'saved_carbon_g', j->'baselines'->1->>'carbon_kind', (select bool_and("
        "(u->>'measured_ratio')::float8 is not distinct from (select sum(measured_ratio * energy_kwh) / sum(energy_kwh) "
        "from helio_report.usage_daily where time = (u->>'day')::timestamptz and tenant = u->>'tenant')) "
        "from jsonb_array_elements(j->'usage') u))",
        "7 7 acme 3600 2 least-wait 2 average lifecycle t");
    assert_json(ASK("read_report", "other", "7"),
                "concat_ws(' ', j->>'jobs_total', jsonb_array_length(j->'usage'), jsonb_array_length(j->'baselines'))",
                "1 0 0");
    assert_json(ASK("read_totals", "other"), "concat_ws(' ', j->>'jobs_total', j->'jobs'->>'queued')", "1 1");
}

/*  The world is as old as the tests before this one took; a site that was not heard for 15 s would be silent. */
static void hear_the_site(void)
{
    helio_pg_exec(conninfo, "update helio.sites set seen_at = clock_timestamp() - interval '3 s'");
}

static void reads__of_sites_queues_and_reports(void **state)
{
    (void)state;
    hear_the_site();
    assert_json(ask_of(reader, "read_sites", NULL, 0),
                "concat_ws(' ', j->0->>'site', j->0->>'state', j->0->>'gpus_free', j->0->>'carbon_g_per_kwh', "
                "round((j->0->>'price_usd_per_gpu_h')::numeric, 3), (j->0->>'seen_s')::float8 between 2.9 and 60)",
                "lulea ready 12 12 0.022 t");
    assert_json(ask_of(reader, "read_gpus", NULL, 0),
                "concat_ws(' ', j->0->>'gpu_model', j->0->>'gpus_total', j->0->>'interconnect')", "H100 32 ib");
    read_queues();
    read_data();
    assert_json(ASK("read_quotas", "acme"),
                "(select string_agg(concat_ws(' ', q->>'tenant', coalesce(q->>'queue', '*'), q->>'guaranteed_gpus', "
                "coalesce(q->>'burst_gpus', 'none'), q->>'gpus_in_use', q->>'jobs_running', q->>'weight'), '; ') "
                "from jsonb_array_elements(j) q)",
                "acme * 0 none 16 1 1");
    assert_json(ASK("read_events", "1", "acme", "2"),
                "(select string_agg(concat(e->>'seq', e->>'to'), ' ') from jsonb_array_elements(j) e)",
                "2running 3offered");
    assert_json(ASK("read_events", "0", "other", "100"), "j", "[]");
    assert_json(ask_of(reader, "read_last_event", NULL, 0), "j->>'seq'", "4");
    read_forecasts();
    read_books();
}

static void views__have_the_expected_figures(void **state)
{
    (void)state;
    hear_the_site();
    static const struct {
        const char *sql, *expected;
    } checks[] = {
        {"select row(gpus_free, carbon_g_per_kwh, state) from helio_report.fleet_now", "(12,12,ready)"},
        {"select row(count(*), max(largest_block_gpus)) from helio_report.site_capacity", "(90,8)"},
        {"select row(carbon_g_per_kwh, carbon_kind, carbon_source, power_watts) from "
         "helio_report.site_energy "
         "order by time desc limit 1",
         "(12,average,test,9000)"},
        {"select round(price_usd_per_gpu_h::numeric, 3) from helio_report.site_price order by time desc "
         "limit 1",
         "0.022"},
        {"select row(count(*), max(p10), count(p90)) from helio_report.forecast_latest", "(3,13,0)"},
        {"select row(wait_seconds, run_seconds, units_done, gpu_model) from helio_report.jobs where name = "
         "'job1'",
         "(600,1800,12,H100)"},
        {"select count(*) from helio_report.jobs", "7"},
        {"select count(*) from helio_report.job_transitions", "11"},
        {"select row(score_usd, policy_version, planned_carbon_g) from helio_report.placements limit 1", "(5,v1,0.9)"},
        {"select count(*) from helio_report.placement_candidates", "2"},
        {"select row(jobs, wait_p50_seconds) from helio_report.queue_wait", "(4,600)"},
        {"select row(jobs, gpu_seconds, energy_kwh, cost_usd, units_done) from helio_report.usage_daily",
         "(1,3600,2,1.5,12)"},
        {"select string_agg(concat_ws(' ', baseline, round(carbon_g_saved::numeric, 3), "
         "round(cost_usd_saved::numeric, 3), "
         "wait_seconds_saved, jobs, carbon_kind), ', ' order by baseline) from helio_report.savings_daily",
         "home 0.200 -0.100 -5 1 average lifecycle, least-wait 2.000 0.100 -4 1 average lifecycle"},
        {"select max(allocated_ratio) from helio_report.utilization_hourly", "0.5"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        char *value = helio_pg_value(conninfo, checks[i].sql);
        if (strcmp(value, checks[i].expected) != 0)
            fail_msg("%s: %s, not %s", checks[i].sql, value, checks[i].expected);
        free(value);
    }
}

static void read_balance__compares_accounted_and_metered_energy_by_day_and_site(void **state)
{
    (void)state;
    helio_pg_exec(
        conninfo,
        "insert into helio.site_ledger (site, pool, hour, part, energy_j, estimated, issued_at) "
        "select 'metered', case part when 3 then '' else 'a' end, date_trunc('hour', now(), 'UTC') - interval '2 "
        "hours', part, (array[900000, 0, 900000, 2000000])[part + 1], false, now() from generate_series(0, 3) part "
        "union all select 'metered', '', date_trunc('hour', now(), 'UTC') - interval '1 hour', 3, 99, false, now()");
    assert_json(ASK("read_balance", "2"),
                "(select concat_ws(' ', sum((e->>'idle_kwh')::float8), sum((e->>'overhead_kwh')::float8), "
                "round(min((e->>'difference_ratio')::numeric), 3), sum((e->>'hours_compared')::int)) "
                "from jsonb_array_elements(j) e where e->>'site' = 'metered')",
                "0.25 0.25 -0.100 1");
    assert_json(ask_of(reader, "read_balance_now", NULL, 0),
                "concat_ws(' ', jsonb_array_length(j), j->0->>'site', round((j->0->>'ratio')::numeric, 6))",
                "1 metered 0.900000");
}

static void read_report__counts_the_jobs_without_a_home_baseline(void **state)
{
    (void)state;
    assert_json(ASK("read_report", NULL, "7"), "j->>'jobs_not_at_home'", "0");
    helio_pg_exec(conninfo, "insert into helio.baselines (job_id, task, tenant, ended_at, run_ms, wait_ms, energy_j, "
                            "carbon_mg, cost_micro_usd, home_energy_j, home_carbon_mg, home_cost_micro_usd, "
                            "least_site, least_wait_ms, least_energy_j, least_carbon_mg, "
                            "least_cost_micro_usd, estimated) values ('0199aaaa-0000-7000-8000-000000000002', -1, "
                            "'roaming', now(), 1, 1, 1, 1, 1, 0, 0, 0, 'lulea', 1, 1, 1, 1, false)");
    assert_json(
        ASK("read_report", "roaming", "7"),
        "concat_ws(' ', jsonb_array_length(j->'baselines'), j->'baselines'->0->>'baseline', j->>'jobs_not_at_home')",
        "1 least-wait 1");
    assert_json(ASK("read_report", "acme", "7"), "j->>'jobs_not_at_home'", "0");
}

static void reader__many_reads_at_once_are_each_answered(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    static asked_t asked[COUNT];
    for (int i = 0; i < COUNT; i++) {
        asked[i] = (asked_t){.read = {.query = "read_sites", .done = done, .arg = &asked[i]}};
        (void)sem_init(&asked[i].answered, 0, 0);
        assert_int_equal(helio_reader_post(reader, &asked[i].read), HELIO_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        while (sem_wait(&asked[i].answered) != 0)
            ;
        (void)sem_destroy(&asked[i].answered);
        assert_rc(asked[i], HELIO_OK);
    }
}

static void reader__without_a_database_is_unavailable_and_names_its_address(void **state)
{
    (void)state;
    helio_reader_t *lost = helio_reader_new("host=/nonexistent", 1);
    asked_t asked = ask_of(lost, "read_sites", NULL, 0);
    assert_int_equal(asked.rc, HELIO_UNAVAILABLE);
    assert_non_null(strstr(asked.err.text, "/nonexistent"));
    helio_reader_destroy(&lost);
}

static void reader__answers_what_is_queued_when_it_is_destroyed(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static asked_t asked[COUNT];
    helio_reader_t *brief = helio_reader_new(conninfo, 1);
    for (int i = 0; i < COUNT; i++) {
        asked[i] = (asked_t){.read = {.query = "read_totals", .param_count = 1, .done = done, .arg = &asked[i]}};
        (void)sem_init(&asked[i].answered, 0, 0);
        assert_int_equal(helio_reader_post(brief, &asked[i].read), HELIO_OK);
    }
    helio_reader_destroy(&brief);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(sem_trywait(&asked[i].answered), 0);
        assert_true(asked[i].rc == HELIO_OK || asked[i].rc == HELIO_UNAVAILABLE);
        free(asked[i].json);
        (void)sem_destroy(&asked[i].answered);
    }
}

static void reader__survives_a_crash_of_the_server(void **state)
{
    assert_rc(ask_of(reader, "read_sites", NULL, 0), HELIO_OK);
    helio_pg_kill(*state);
    assert_rc(ask_of(reader, "read_sites", NULL, 0), HELIO_UNAVAILABLE);
    helio_pg_start(*state);
    assert_rc(ask_of(reader, "read_sites", NULL, 0), HELIO_OK);
}

static void reader__cannot_write(void **state)
{
    (void)state;
    asked_t asked = ASK("put_tenant", "sneaky", "");
    assert_int_not_equal(asked.rc, HELIO_OK);
    char *count = helio_pg_value(conninfo, "select count(*) from helio.tenants where tenant = 'sneaky'");
    assert_string_equal(count, "0");
    free(count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_dependencies__resolves_each_name_and_its_outcome),
        cmocka_unit_test(read_jobs__shows_what_a_job_with_a_dependency_hold_waits_for),
        cmocka_unit_test(read_job__has_every_documented_member),
        cmocka_unit_test(read_job__a_job_without_a_state_row_waits_for_its_class_reason),
        cmocka_unit_test(read_job__finds_by_prefix_suffix_hex_and_task),
        cmocka_unit_test(read_job__does_not_find_unknown_jobs_and_those_of_other_tenants),
        cmocka_unit_test(read_job__adds_an_array_up),
        cmocka_unit_test(read_explain__of_an_array_prefers_a_waiting_then_a_running_then_a_failed_task),
        cmocka_unit_test(read_jobs__pages_newest_first_one_entry_per_task),
        cmocka_unit_test(read_jobs__filters),
        cmocka_unit_test(read_explain__gives_the_candidates_and_why),
        cmocka_unit_test(read_job_where__says_where_the_newest_attempt_is),
        cmocka_unit_test(reads__of_sites_queues_and_reports),
        cmocka_unit_test(views__have_the_expected_figures),
        cmocka_unit_test(read_balance__compares_accounted_and_metered_energy_by_day_and_site),
        cmocka_unit_test(read_report__counts_the_jobs_without_a_home_baseline),
        cmocka_unit_test(reader__many_reads_at_once_are_each_answered),
        cmocka_unit_test(reader__without_a_database_is_unavailable_and_names_its_address),
        cmocka_unit_test(reader__answers_what_is_queued_when_it_is_destroyed),
        cmocka_unit_test(reader__survives_a_crash_of_the_server),
        cmocka_unit_test(reader__cannot_write),
    };
    return cmocka_run_group_tests(tests, up, down);
}
