/*  test_openapi_reads.c -- responses of the database are as docs/openapi.yaml describes them: the real queries over
 *  rows of the real core, through the real server. Lists have at least one row, or a reason here. */
#include "tests/unit/broker/http/federation_testing.h"
#include "tests/unit/broker/http/openapi_testing.h"

#include "broker/snapshot/snapshot.h"
#include "broker/store/reader.h"
#include "tests/support/pg_fixture.h"

static helio_pg_t *pg;
static helio_reader_t *reader;

static helio_rc real_read(void *arg, helio_read_t *read)
{
    (void)arg;
    return helio_reader_post(reader, read);
}

/*  One of each thing that can be listed. Returns a job that waits. */
static helio_job_key_t arrange(const char *conninfo)
{
    helio_error_t err = {.text = ""};
    helio_row_token_t token = {.token_id = HELIO_TEXT("abcdefghijkl"),
                               .hash = HELIO_TEXT("0123456789abcdef0123456789abcdef"),
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("user"),
                               .created_ms = 1};
    helio_row_site_key_t key_of_north = {.public_key = HELIO_TEXT("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"),
                                         .site = HELIO_TEXT("north"),
                                         .created_ms = 1};
    double hours[30];
    for (int i = 0; i < 30; i++)
        hours[i] = 300 + i;
    tell_carbon(NORTH, hours, 30);
    fill();
    (void)harness_queue(h, "night", 5, HELIO_TIER_STANDARD);
    (void)harness_rule(h, "night", "eu", "Mon..Fri 20:00-08:00", 0, 9);
    (void)harness_overflow(h, "out", "night", "acme", "north; *,after=10m");
    (void)harness_budget(h, "acme", "", "500 USD/month");
    (void)harness_data(h, "s3://corpus/", (const char *[]){"north", "elsewhere", NULL});
    (void)harness_link(h, "north", "south", 10000, 20000);
    helio_job_spec_t spec = spec_of("waits", 2);
    helio_job_key_t key = job_of("acme", &spec);
    commit(conninfo);
    helio_pg_exec(
        conninfo,
        "insert into helio.curtailments values ('north', now(), now(), now() + interval '1 hour', 60, 'grid', "
        "'user:ops/ada', null, now(), 16000, 9000, 0, 2, 4000)");
    assert_int_equal(helio_store_put_token(conninfo, &token, &err), HELIO_OK);
    assert_int_equal(helio_store_put_site_key(conninfo, &key_of_north, &err), HELIO_OK);
    return key;
}

static void openapi__the_database_answers_as_described(void **state)
{
    (void)state;
    const char *conninfo = helio_pg_database(pg);
    char id[HELIO_KEY_SIZE], job[96], explain[96], attempts[96];
    helio_job_key_text(arrange(conninfo), id);
    (void)snprintf(job, sizeof job, "/v1/jobs/%s", id);
    (void)snprintf(attempts, sizeof attempts, "/v1/jobs/%s/attempts", id);
    (void)snprintf(explain, sizeof explain, "/v1/jobs/%s/explain", id);
    const struct {
        const char *pattern, *target;
        bool may_be_empty;
    } reads[] = {
        {"/v1/jobs", "/v1/jobs?limit=2", false},
        {"/v1/jobs/{id}", job, false},
        {"/v1/jobs/{id}/explain", explain, false},
        {"/v1/jobs/{id}/attempts", attempts, false},
        {"/v1/broker", "/v1/broker", false},
        {"/v1/sites", "/v1/sites", false},
        {"/v1/sites/{site}/forecast", "/v1/sites/north/forecast", false},
        {"/v1/gpus", "/v1/gpus", false},
        {"/v1/queues", "/v1/queues", false},
        {"/v1/overflows", "/v1/overflows", false},
        {"/v1/quotas", "/v1/quotas", false},
        {"/v1/tenants", "/v1/tenants", false},
        {"/v1/data", "/v1/data", false},
        {"/v1/links", "/v1/links", false},
        {"/v1/curtailments", "/v1/curtailments?site=north", false},
        {"/v1/report", "/v1/report", false},
        {"/v1/balance", "/v1/balance", true}, /* needs a site with a meter */
        {"/v1/history", "/v1/history?hours=25", false},
        {"/v1/tokens", "/v1/tokens", false},
        {"/v1/keys", "/v1/keys", false},
        {"/v1/principals", "/v1/principals", false},
        {"/v1/audit", "/v1/audit", false},
        {"/v1/audit/verify", "/v1/audit/verify", false},
    };
    reader = helio_reader_new(conninfo, 1);
    w = world_up_over(real_read);
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        ask(w, &r, "GET", reads[i].target, w->admin.text, "", NULL);
        if (r.status != 200)
            fail_msg("%s: %d %s", reads[i].target, r.status, r.body);
        if (!reads[i].may_be_empty && strcmp(r.body, "[]\n") == 0)
            fail_msg("%s is empty: nothing was tested", reads[i].target);
        check_answer(route_of("GET", reads[i].pattern));
    }
    world_down(w);
    helio_reader_destroy(&reader);
}

static helio_rc count_part(void *arg, uint32_t kind, void *record, helio_error_t *err)
{
    uint32_t *counts = arg;
    (void)err;
    if (kind < HELIO_BROKER_EV_LOADED)
        counts[kind]++;
    if (kind == HELIO_BROKER_EV_LOAD_JOB)
        assert_int_equal(((const helio_ev_load_job_t *)record)->row.source.size, 0);
    if (kind == HELIO_SNAPSHOT_OPTIONS) {
        assert_int_equal(((const helio_snapshot_options_t *)record)->lease_ms, helio_broker_options_default().lease_ms);
        counts[HELIO_BROKER_EV_LOADED]++;
    }
    return HELIO_OK;
}

/*  Every row that a new leader reads but the keys, by one read. */
static void snapshot__is_what_a_new_leader_would_read(void **state)
{
    (void)state;
    const char *conninfo = helio_pg_database(pg);
    uint32_t counts[HELIO_BROKER_EV_LOADED + 1] = {0};
    helio_error_t err = {.text = ""};
    (void)arrange(conninfo);
    helio_pg_exec(conninfo, "update helio.jobs set source = 'run: hidden'"); /* the harness writes no documents */
    reader = helio_reader_new(conninfo, 1);
    w = world_up_over(real_read);
    for (uint32_t twice = 0; twice < 2; twice++) { /* the connection is as it was before */
        ask(w, &r, "GET", "/v1/snapshot", w->admin.text, "", NULL);
        assert_int_equal(r.status, 200);
        ask(w, &r, "GET", "/v1/sites", w->admin.text, "", NULL);
        assert_int_equal(r.status, 200);
    }
    ask(w, &r, "GET", "/v1/snapshot", w->admin.text, "", NULL);
    helio_arena_t *arena = helio_arena_new();
    if (helio_snapshot_each((helio_text_t){r.body, (uint32_t)r.body_size}, arena, count_part, counts, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    static const uint32_t kinds[] = {
        HELIO_BROKER_EV_LOAD_FEDERATION, HELIO_BROKER_EV_LOAD_TENANT, HELIO_BROKER_EV_LOAD_QUEUE,
        HELIO_BROKER_EV_LOAD_QUEUE_RULE, HELIO_BROKER_EV_LOAD_BUDGET, HELIO_BROKER_EV_LOAD_OVERFLOW,
        HELIO_BROKER_EV_LOAD_DATA,       HELIO_BROKER_EV_LOAD_LINK,   HELIO_BROKER_EV_LOAD_SITE,
        HELIO_BROKER_EV_LOAD_POOL,       HELIO_BROKER_EV_LOAD_JOB,    HELIO_BROKER_EV_LOAD_CURTAILMENT,
        HELIO_BROKER_EV_LOADED};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!counts[kinds[i]])
            fail_msg("the snapshot has no %s", helio_broker_events[kinds[i]].name);
    assert_int_equal(counts[HELIO_BROKER_EV_LOAD_KEY], 0);
    helio_arena_destroy(&arena);
    world_down(w);
    helio_reader_destroy(&reader);
}

static helio_rc count_past(void *arg, uint32_t kind, void *record, helio_error_t *err)
{
    uint32_t *counts = arg;
    (void)record;
    (void)err;
    counts[0] += kind == HELIO_SNAPSHOT_PAST;
    counts[1] += kind == HELIO_SNAPSHOT_PAST_JOB;
    counts[2] += kind == HELIO_BROKER_EV_LOAD_SITE;
    counts[3] += kind == HELIO_BROKER_EV_LOAD_JOB || kind == HELIO_BROKER_EV_LOAD_STATE;
    return HELIO_OK;
}

static void snapshot__of_a_time_that_is_over_has_its_jobs(void **state)
{
    (void)state;
    const char *conninfo = helio_pg_database(pg);
    uint32_t counts[4] = {0};
    helio_error_t err = {.text = ""};
    (void)arrange(conninfo);
    helio_pg_exec(conninfo, "update helio.jobs set source = 'run: hidden'");
    reader = helio_reader_new(conninfo, 1);
    w = world_up_over(real_read);
    ask(w, &r, "GET", "/v1/snapshot?hours=745", w->admin.text, "", NULL);
    assert_int_equal(r.status, 400);
    ask(w, &r, "GET", "/v1/snapshot?hours=24", w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    helio_arena_t *arena = helio_arena_new();
    if (helio_snapshot_each((helio_text_t){r.body, (uint32_t)r.body_size}, arena, count_past, counts, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    assert_int_equal(counts[0], 1);
    assert_true(counts[1] > 0 && counts[2] > 0);
    assert_int_equal(counts[3], 0);
    helio_arena_destroy(&arena);
    world_down(w);
    helio_reader_destroy(&reader);
}

static int up_all(void **state)
{
    pg = helio_pg_up();
    return load(state);
}

static int down_all(void **state)
{
    helio_pg_down(&pg);
    return unload(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(openapi__the_database_answers_as_described, begin, end),
        cmocka_unit_test_setup_teardown(snapshot__is_what_a_new_leader_would_read, begin, end),
        cmocka_unit_test_setup_teardown(snapshot__of_a_time_that_is_over_has_its_jobs, begin, end),
    };
    return cmocka_run_group_tests(tests, up_all, down_all);
}
