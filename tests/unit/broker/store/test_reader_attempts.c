/*  test_reader_attempts.c -- reads of a job's attempts and document, and of what sites were hours ago. */
#include "tests/unit/broker/store/reader_testing.h"

/*  By the ledger and as the view has it; of nobody else's job. */
static void read_attempts__says_what_each_used_and_what_the_job_saved(void **state)
{
    (void)state;
    const char *job1 = id_of(1), *job4 = id_of(4);
    assert_json(
        ASK("read_attempts", job1, "acme"),
        "(select concat_ws(' ', jsonb_array_length(j->'attempts'), a->>'epoch', a->>'site', a->>'end', a->>'exit_code', "
        "a->>'completes', a->>'run_seconds', a->>'gpu_seconds', a->>'cost_usd', a->>'carbon_g', "
        "a->>'energy_measured', a->>'planned_cost_usd') from (select j->'attempts'->0 as a) l)",
        "1 1 lulea ended 0 true 1800 3600 1.5 2.5 false 4");
    assert_json(
        ASK("read_attempts", job1, NULL),
        "(select string_agg((concat_ws(' ', s->>'baseline', s->>'site', s->>'carbon_kind', s->>'used_cost_usd', "
        "s->>'saved_carbon_g', s->>'saved_cost_usd', s->>'saved_wait_seconds') = (select concat_ws(' ', v.baseline, "
        "v.baseline_site, v.carbon_kind, v.used_cost_usd, v.carbon_g_saved, v.cost_usd_saved, v.wait_seconds_saved) "
        "from helio_report.savings v where v.job_id = j->>'id' and v.baseline = s->>'baseline'))::text || (s->>'baseline'), ' ') "
        "from jsonb_array_elements(j->'savings') s)",
        "truehome trueleast-wait");
    assert_rc(ASK("read_attempts", job1, "other"), HELIO_NOT_FOUND);
    assert_json(ASK("read_attempts", job4, "acme"), "concat(j->'attempts', j->'savings')", "[][]");
    assert_json(ASK("read_job_source", job1, NULL), "concat_ws(' ', j->>'tenant', j->>'user', j->>'queue', j->'asked')",
                "acme ada standard {\"edit\": null, \"source\": \"s\"}");
    assert_rc(ASK("read_job_source", job1, "other"), HELIO_NOT_FOUND);
}

/*  As the views have it at that minute. What leaves home is shown to its own tenant. */
static void read_history__has_each_site_step_by_step(void **state)
{
    (void)state;
    helio_pg_exec(
        conninfo,
        "insert into helio.placements select job_id, -1, 9, 1, 8, 6, 1, 1, 1, 1, now(), now() - interval '16 min', "
        "'oregon', 'a' from helio.jobs where name = 'job2'");
    assert_json(
        ASK("read_history", NULL, "24", NULL),
        "(select concat_ws(' ', j->>'step_s', jsonb_array_length(j->'times'), s->>'site', jsonb_array_length(s->'gpus_free'), "
        "s->'gpus_free'->-1, s->'gpus_total'->-1, s->'jobs_running'->-1, s->'power_watts'->-1, s->'gpus_free'->0) "
        "from (select j->'sites'->0 as s) l)",
        "900 96 lulea 96 12 32 2 9000 null");
    assert_json(
        ASK("read_history", NULL, "24", NULL),
        "(select bool_and(v->>(n - 1)::int is not distinct from (select e.carbon_g_per_kwh::text from helio_report.site_energy e "
        "where e.time <= t::timestamptz and e.time > t::timestamptz - interval '15 min' order by e.time desc limit 1)) "
        "from (select j->'sites'->0->'carbon_g_per_kwh' as v) s, jsonb_array_elements_text(j->'times') with ordinality as k (t, n))",
        "t");
    assert_json(ASK("read_history", NULL, "48", NULL), "concat_ws(' ', j->>'step_s', jsonb_array_length(j->'times'))",
                "3600 48");
    assert_json(
        ASK("read_history", NULL, "24", NULL),
        "(select bool_and((v->>(n - 1)::int)::float8 is not distinct from (select sum(p.price_usd_per_gpu_h * c.gpus_total) / "
        "sum(c.gpus_total) from helio_report.site_capacity c join helio_report.site_price p using (time, site, pool) "
        "where c.site = 'lulea' and c.time = (select max(e.time) from helio_report.site_capacity e where e.site = 'lulea' "
        "and e.time <= t::timestamptz and e.time > t::timestamptz - interval '15 min'))) and count(v->>(n - 1)::int) > 0 "
        "from (select j->'sites'->0->'price_usd_per_gpu_h' as v) s, "
        "jsonb_array_elements_text(j->'times') with ordinality as k (t, n))",
        "t");
    static const char *const tenants[] = {NULL, "acme", "other"}, *const away[] = {"lulea oregon 1", "lulea oregon 1",
                                                                                   ""};
    for (size_t i = 0; i < 3; i++)
        assert_json(ASK("read_history", tenants[i], "24", NULL),
                    "(select concat_ws(' ', a->>'from', a->>'to', a->>'jobs') from (select j->'away'->0 as a) l)",
                    away[i]);
    static const char *const asked[] = {"lulea", "oregon"}, *const found[] = {"1 1", "0 1"};
    for (size_t i = 0; i < 2; i++)
        assert_json(ASK("read_history", NULL, "24", asked[i]),
                    "concat_ws(' ', jsonb_array_length(j->'sites'), jsonb_array_length(j->'away'))", found[i]);
    assert_rc(ASK("read_history", NULL, "24", "paris"), HELIO_NOT_FOUND);
    helio_pg_exec(conninfo, "delete from helio.placements where epoch = 9");
}

/*  By the commands of operators; before the first that is known, what it changed; without any, what is so now. */
static void read_history__says_when_a_site_was_drained(void **state)
{
    (void)state;
    static const char drained[] =
        "(select string_agg(c, '' order by k) from (select min(n) as k, left(v, 1) as c from (select n, v, "
        "sum(case when v = w then 0 else 1 end) over (order by n) as run from (select n, v, lag(v) over (order by n) as w "
        "from jsonb_array_elements_text(j->'sites'->0->'draining') with ordinality as e (v, n)) e) r group by run, v) r)";
    assert_json(ASK("read_history", NULL, "24", "lulea"), drained, "f");
    helio_pg_exec(conninfo, "insert into helio.audit (at, actor, action, object) values "
                            "(now() - interval '20 hours', 'operator', 'undrain', 'lulea'), "
                            "(now() - interval '10 hours', 'operator', 'drain', 'oregon'), "
                            "(now() - interval '5 hours', 'operator', 'drain', 'lulea'), "
                            "(now() - interval '4 hours', 'operator', 'drain', 'lulea'), "
                            "(now() - interval '2 hours', 'operator', 'undrain', 'lulea')");
    assert_json(ASK("read_history", NULL, "24", "lulea"), drained, "tftf");
    assert_json(ASK("read_history", NULL, "3", "lulea"), drained, "tf");
    assert_json(ASK("read_history", NULL, "1", "lulea"), drained, "f");
}

/*  By the newest issue that is a day old, or else by the first within the day; only the hours of that day, and of sites alone. */
static void read_forecast__has_what_was_expected_of_the_last_day(void **state)
{
    (void)state;
    static const char earlier[] =
        "(select string_agg(concat_ws(' ', s->>'pool', (extract(epoch from date_trunc('hour', now(), 'UTC') - "
        "(s->'earlier'->>'issued_at')::timestamptz) / 3600)::int8, jsonb_array_length(s->'earlier'->'points'), "
        "s->'earlier'->'points'->0->>'value', s->'earlier'->'points'->0->>'p90'), ',') "
        "from jsonb_array_elements(j) s where s->>'kind' = 'probe')";
    static const char issue[] =
        "insert into helio.series (site, pool, signal, kind, factor, source, estimated, issued_at, start_at, step_s, \"values\", p90) "
        "select 'lulea', pool, 3, 'probe', null, 's', false, h, h, 3600, array_fill(n::float8, array[72]), "
        "array_fill(n + 1::float8, array[72]) from unnest(array[%s]) n, "
        "lateral (select date_trunc('hour', now(), 'UTC') - n * interval '1 hour' as h) t, unnest(array['', 'a']) pool; "
        "delete from helio.series_now where kind = 'probe'; insert into helio.series_now (site, pool, signal, kind, factor, "
        "source, estimated, issued_at, start_at, step_s, \"values\", p90) select distinct on (pool) site, pool, signal, kind, "
        "factor, source, estimated, issued_at, start_at, step_s, \"values\", p90 from helio.series where kind = 'probe' "
        "order by pool, issued_at desc";
    const struct {
        const char *ages, *expected;
    } cases[] = {{"1", ",a"}, {"5,3", "5 6 5 6,a"}, {"25,27,49", "25 25 25 26,a"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char sql[1024];
        (void)snprintf(sql, sizeof sql, issue, cases[i].ages);
        helio_pg_exec(conninfo, sql);
        assert_json(ASK("read_forecast", "lulea", NULL), earlier, cases[i].expected);
    }
    helio_pg_exec(conninfo,
                  "delete from helio.series_now where kind = 'probe'; delete from helio.series where kind = 'probe'");
}

/*  The least of those that hold at the end of a step; one that was ended holds no longer, one that is to come not yet. */
static void read_history__says_to_what_a_site_was_curtailed(void **state)
{
    (void)state;
    static const char curtailed[] =
        "(select string_agg(coalesce(v, '-'), ' ' order by n) from (select n, v, lag(v) over (order by n) as w "
        "from jsonb_array_elements_text(j->'sites'->0->'curtailed_to_percent') with ordinality as e (v, n)) l "
        "where n = 1 or v is distinct from w)";
    assert_json(ASK("read_history", NULL, "24", "lulea"), curtailed, "-");
    helio_pg_exec(
        conninfo,
        "insert into helio.curtailments select site, now() - n * interval '1 s', now() + a * interval '1 hour', "
        "now() + b * interval '1 hour', percent, 'grid', 'operator', now() + ended * interval '1 hour', null, 0, 0, 0, 0, 0 "
        "from (values (1, 'lulea', -20, -16, 60, null), (2, 'lulea', -18, -17, 80, null), (3, 'lulea', -17, -10, 40, -15), "
        "(4, 'lulea', 1, 2, 10, null), (5, 'oregon', -5, 5, 20, null)) c (n, site, a, b, percent, ended)");
    assert_json(ASK("read_history", NULL, "24", "lulea"), curtailed, "- 60 40 -");
    helio_pg_exec(conninfo, "delete from helio.curtailments");
}

/*  Whether or not it is in the last two minutes of its step, and only if it is in the step: by the samples themselves. */
static void read_history__has_the_last_sample_of_each_step(void **state)
{
    (void)state;
    helio_pg_exec(
        conninfo,
        "insert into helio.sites select 'kiruna', state, draining, drain_reason, backend, region, latitude, longitude, "
        "timezone, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, agent_version, seen_at "
        "from helio.sites where site = 'lulea';"
        "insert into helio.pools select 'kiruna', p, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, "
        "cpus_per_node, memory_bytes_per_node, interconnect, sharing, owned, price_usd_per_gpu_h, idle_w, base_w, "
        "slope_w, host_w from helio.pools, unnest(array ['a', 'b']) p where site = 'lulea';"
        "insert into helio.capacity_samples select 'kiruna', case when n % 3 = 0 then 'a' else 'b' end, t, 4, 32, 16, n, 4, "
        "8, 2, 1, 9000 from (select n, date_bin('15 min', now(), 'epoch') + v as t, v from generate_series(1, 300) n, "
        "lateral (select make_interval(secs => -n * 277 - (n * n) % 90) as v) v) s where n not between 100 and 140;"
        "insert into helio.capacity_samples select 'kiruna', 'a', date_bin('15 min', now(), 'epoch') + v, 4, 32, 16, 500, "
        "4, 8, 2, 1, 9000 from unnest(array ['-15 min', '-45 min', '-60 min 0.000001 s', '-75 min']::interval[]) v;");
    static const char *const hours[] = {"24", "1", "25", "168"};
    for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++)
        assert_json(
            ASK("read_history", NULL, hours[i], "kiruna"),
            "(select bool_and((v->>(n - 1)::int)::int is not distinct from (select sum(x.gpus_free) from (select distinct on (c.pool) "
            "c.gpus_free from helio.capacity_samples c where c.site = 'kiruna' and c.at <= t::timestamptz and c.at > t::timestamptz "
            "- make_interval(secs => (j->>'step_s')::int) order by c.pool, c.at desc) x)) and count(v->>(n - 1)::int) >= 3 "
            "from (select j->'sites'->0->'gpus_free' as v) s, jsonb_array_elements_text(j->'times') with ordinality as k (t, n))",
            "t");
    helio_pg_exec(
        conninfo,
        "delete from helio.capacity_samples where site = 'kiruna'; delete from helio.pools where site = 'kiruna'; "
        "delete from helio.sites where site = 'kiruna'");
}

/*  A day of 100 sites of two pools, with as many placements and drains as it looks at: the reader ends what takes ten seconds.
 *  More often than a connection plans for the parameters of a statement that it keeps. */
static void read_history__of_many_sites_is_fast(void **state)
{
    (void)state;
    helio_pg_exec(
        conninfo,
        "insert into helio.sites select 'many' || n, state, draining, drain_reason, backend, region, latitude, longitude, timezone, "
        "pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, agent_version, seen_at from helio.sites, "
        "generate_series(1, 100) n where site = 'lulea';"
        "insert into helio.pools select s.site, p, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, "
        "memory_bytes_per_node, interconnect, sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w "
        "from helio.sites s, helio.pools l, unnest(array ['a', 'b']) p where l.site = 'lulea' and s.site like 'many%';"
        "insert into helio.capacity_samples select site, pool, now() - interval '1 min' * n, 4, 32, 16, 12, 4, 8, 2, 1, 9000 "
        "from helio.pools, generate_series(0, 1440, 5) n where site like 'many%';"
        "insert into helio.actuals select site, '', g, date_bin('1 hour', now(), 'epoch') - interval '1 hour' * n, 12, now(), false, "
        "'average', 'lifecycle', 'test' from helio.sites, generate_series(2, 3) g, generate_series(0, 30) n where site like 'many%';"
        "insert into helio.placements select job_id, -1, 1000 + n, 1, 8, 6, 1, 1, 1, 1, now(), now() - interval '4 s' * n, "
        "'many' || n % 100, 'a' from generate_series(1, 20000) n, helio.jobs where name = 'job2';"
        "insert into helio.audit (at, actor, action, object) select now() - interval '40 s' * (2000 - n), 'o', "
        "case when n % 2 = 0 then 'drain' else 'undrain' end, 'many' || n % 101 from generate_series(1, 2000) n;"
        "analyze");
    for (int i = 0; i < 12; i++)
        assert_json(ASK("read_history", NULL, "24", NULL), "jsonb_array_length(j->'sites')", "101");
    helio_pg_exec(
        conninfo,
        "delete from helio.placements where epoch >= 1000; delete from helio.capacity_samples where site like 'many%'; "
        "delete from helio.pools where site like 'many%'; delete from helio.sites where site like 'many%'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_attempts__says_what_each_used_and_what_the_job_saved),
        cmocka_unit_test(read_history__has_each_site_step_by_step),
        cmocka_unit_test(read_history__says_when_a_site_was_drained),
        cmocka_unit_test(read_forecast__has_what_was_expected_of_the_last_day),
        cmocka_unit_test(read_history__says_to_what_a_site_was_curtailed),
        cmocka_unit_test(read_history__has_the_last_sample_of_each_step),
        cmocka_unit_test(read_history__of_many_sites_is_fast),
    };
    return cmocka_run_group_tests(tests, up, down);
}
