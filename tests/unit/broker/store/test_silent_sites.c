/*  test_silent_sites.c -- what reads and reports say of jobs at a site that was not heard from for a while. */
#include "tests/unit/broker/store/reader_testing.h"

static void heard(const char *ago)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql, "update helio.sites set seen_at = now() - interval '%s' where site = 'lulea'", ago);
    helio_pg_exec(conninfo, sql);
}

static void set_state(int job, int state)
{
    char sql[160];
    (void)snprintf(sql, sizeof sql,
                   "update helio.job_state set state = %d where job_id = '0199aaaa-0000-7000-8000-00000000000%d'",
                   state, job);
    helio_pg_exec(conninfo, sql);
}

#define SILENCE "coalesce(j->'silence_details'->0->>'code', '-')"

/*  15 s without a message: the connection is closed then, and what is known of the job may be out of date. */
static void reads__of_a_job_at_a_silent_site_say_for_how_long(void **state)
{
    (void)state;
    static const struct {
        const char *ago;
        bool silent;
        double least_s, most_s;
    } cases[] = {{"0 s", false, 0, 0},
                 {"14 s", false, 0, 0},
                 {"16 s", true, 16, 40},
                 {"90 s", true, 90, 120},
                 {"2 days", true, 172800, 172840},
                 {"-5 s", false, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char range[200];
        heard(cases[i].ago);
        assert_json(ASK("read_job", id_of(2), NULL), SILENCE, cases[i].silent ? "SiteSilentFor" : "-");
        assert_json(ASK("read_explain", id_of(2), "acme"), SILENCE, cases[i].silent ? "SiteSilentFor" : "-");
        assert_json(ASK("read_job_where", id_of(2), NULL), "j->>'silent_s' is not null", cases[i].silent ? "t" : "f");
        if (!cases[i].silent)
            continue;
        (void)snprintf(range, sizeof range,
                       "(j->'silence_details'->0->'params'->>'silent_s')::float8 between %g and %g", cases[i].least_s,
                       cases[i].most_s);
        assert_json(ASK("read_job", id_of(2), NULL), range, "t");
        assert_json(ASK("read_explain", id_of(2), "acme"), range, "t");
        assert_json(ASK("read_job", id_of(2), NULL), "j->'silence_details'->0->'params'->>'site'", "lulea");
        assert_json(ASK("read_job", id_of(2), NULL), "(j->'silence_details'->0->'params'->>'silent_s') ~ '^[0-9]+$'",
                    "t"); /* whole seconds */
    }
    heard("3 s");
}

/*  Of a job that waits or has ended nothing is out of date, wherever it was last. */
static void reads__of_a_job_that_is_not_at_a_site_say_nothing_of_silence(void **state)
{
    (void)state;
    heard("1 hour");
    assert_json(ASK("read_job", id_of(1), NULL), SILENCE, "-"); /* it succeeded there */
    assert_json(ASK("read_job", id_of(3), NULL), SILENCE, "-"); /* it waits */
    assert_json(ASK("read_explain", id_of(3), "acme"), SILENCE, "-");
    static const struct {
        int state;
        bool live;
    } states[] = {{0, false}, {1, true},  {4, true},   {6, true},  {7, true},
                  {8, false}, {9, false}, {12, false}, {13, false}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        set_state(2, states[i].state);
        assert_json(ASK("read_job", id_of(2), NULL), SILENCE, states[i].live ? "SiteSilentFor" : "-");
    }
    set_state(2, 4);
    heard("3 s");
}

/*  One word for the state of the site: in its list, and in the views. A drained site says so first. */
static void reads__of_the_site_call_it_silent(void **state)
{
    (void)state;
    static const struct {
        const char *ago;
        int state;
        bool draining;
        const char *shown;
    } cases[] = {
        {"3 s", 1, false, "ready"},   {"14 s", 1, false, "ready"},  {"16 s", 1, false, "silent"},
        {"16 s", 2, false, "silent"}, {"3 s", 2, false, "silent"},  {"16 s", 1, true, "draining"},
        {"16 s", 0, false, "new"},    {"1 hour", 4, false, "lost"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char sql[160];
        heard(cases[i].ago);
        (void)snprintf(sql, sizeof sql, "update helio.sites set state = %d, draining = %s where site = 'lulea'",
                       cases[i].state, cases[i].draining ? "true" : "false");
        helio_pg_exec(conninfo, sql);
        assert_json(ask_of(reader, "read_sites", NULL, 0),
                    "(select e->>'state' from jsonb_array_elements(j) e where e->>'site' = 'lulea')", cases[i].shown);
        char *value =
            helio_pg_value(conninfo, "select distinct state from helio_report.fleet_now where site = 'lulea'");
        assert_string_equal(value, cases[i].shown);
        free(value);
    }
    helio_pg_exec(conninfo, "update helio.sites set state = 1, draining = false where site = 'lulea'");
    heard("3 s");
}

/*  A name that was mistyped when a key was added, until it is more than that. */
static void reads__of_sites_leave_out_one_that_never_joined_and_has_no_key(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *shown;
    } steps[] = {
        {"insert into helio.sites (site, state, draining, latitude, longitude, pue, carbon_g_per_kwh, "
         "electricity_usd_per_kwh, containers, leases) values ('luela', 0, false, 0, 0, 1, 0, 0, false, true)",
         "f"},
        {"insert into helio.site_keys (public_key, site, created_at) values ('k-luela', 'luela', now())", "t"},
        {"update helio.site_keys set revoked_at = now() where site = 'luela'", "f"},
        {"update helio.sites set draining = true where site = 'luela'", "t"},
        {"update helio.sites set draining = false, unreconciled_at = now() where site = 'luela'", "t"},
        {"update helio.sites set unreconciled_at = null, seen_at = now(), state = 1 where site = 'luela'", "t"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        helio_pg_exec(conninfo, steps[i].sql);
        assert_json(ask_of(reader, "read_sites", NULL, 0),
                    "exists (select from jsonb_array_elements(j) e where e->>'site' = 'luela')", steps[i].shown);
    }
}

#define POOL "(select p from jsonb_array_elements(j) e, jsonb_array_elements(e->'pools') p where p->>'pool' = 'h100')"

static void reads__of_sites_say_why_a_pool_offers_nothing(void **state)
{
    (void)state;
    assert_json(ask_of(reader, "read_sites", NULL, 0), POOL "->>'withheld' is null", "t");
    helio_pg_exec(conninfo, "update helio.capacity_now set withheld = 'others use it', "
                            "withheld_details = '[{\"code\": \"WithheldOthers\", \"params\": {}}]'");
    assert_json(ask_of(reader, "read_sites", NULL, 0), POOL "->>'withheld'", "others use it");
    assert_json(ask_of(reader, "read_sites", NULL, 0), POOL "->'withheld_details'->0->>'code'", "WithheldOthers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads__of_a_job_at_a_silent_site_say_for_how_long),
        cmocka_unit_test(reads__of_a_job_that_is_not_at_a_site_say_nothing_of_silence),
        cmocka_unit_test(reads__of_the_site_call_it_silent),
        cmocka_unit_test(reads__of_sites_leave_out_one_that_never_joined_and_has_no_key),
        cmocka_unit_test(reads__of_sites_say_why_a_pool_offers_nothing),
    };
    return cmocka_run_group_tests(tests, up, down);
}
