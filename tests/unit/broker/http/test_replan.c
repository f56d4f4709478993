/*  test_replan.c -- plans of stored jobs and of documents at other prices. */
#include "tests/unit/broker/http/server_testing.h"

#define STORED(edit)                                                                                                 \
    ("{\"tenant\":\"acme\",\"user\":\"ada\",\"queue\":\"night\",\"asked\":{\"source\":\"run: true\\nqueue: batch\\n" \
     "placement: {goal: green}\\ndepends: {after_ok: [abcdef]}\\n\",\"edit\":" edit "}}")

/*  In its queue of today, with what was edited, as its tenant and user; what it depended on is left out. */
static void replan__judges_the_stored_document_for_its_own_tenant(void **state)
{
    (void)state;
    static const struct {
        const char *query, *stored, *planned;
    } rows[] = {
        {"", STORED("null"), "night green 0 0 0"},
        {"?carbon=90&wait=0.1", STORED("null"), "night prices 90000000 100000 0"},
        {"?carbon=0&wait=0", STORED("null"), "night prices 0 0 0"},
        {"?carbon=1000000&wait=0.000001", STORED("null"), "night prices 1000000000000 1 0"},
        {"", STORED("{\"goal\":0,\"prices_set\":false}"), "night fast 0 0 0"},
        {"?carbon=1&wait=2", STORED("{\"goal\":0,\"prices_set\":false}"), "night prices 1000000 2000000 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char target[96];
        (void)snprintf(target, sizeof target, "/v1/jobs/abcdef/plan%s", rows[i].query);
        w->read_count = 0;
        script_read(w, "read_job_source", HELIO_OK, rows[i].stored);
        ask(w, &r, "GET", target, w->operator_.text, "", NULL);
        assert_int_equal(r.status, 200);
        assert_int_equal(w->event, HELIO_BROKER_EV_PLAN);
        assert_string_equal(w->last_params[1], "<null>");
        assert_string_equal(w->tenant, "acme");
        assert_string_equal(w->user_name, "ada");
        assert_string_equal(w->link, rows[i].planned);
        assert_contains(r.body, "\"candidates\":[{\"site\":\"lulea\"");
    }
    script_read(w, "read_job_source", HELIO_OK, STORED("null"));
    ask(w, &r, "GET", "/v1/jobs/abcdef/plan", w->other.text, "", NULL);
    assert_string_equal(w->last_params[1], "globex");
}

static void replan__prices_are_two_numbers_or_none(void **state)
{
    (void)state;
    static const char *const queries[] = {"carbon=1",
                                          "wait=1",
                                          "carbon=-1&wait=1",
                                          "carbon=1&wait=1e3",
                                          "carbon=&wait=1",
                                          "carbon=1&wait=0.0000001",
                                          "carbon=x&wait=1",
                                          "carbon=1&wait=NaN",
                                          "carbon=1000001&wait=1"};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        char target[96];
        w->events = w->read_calls = 0;
        (void)snprintf(target, sizeof target, "/v1/jobs/abcdef/plan?%s", queries[i]);
        ask(w, &r, "GET", target, w->user.text, "", NULL);
        assert_int_equal(r.status, 400);
        (void)snprintf(target, sizeof target, "/v1/plans?%s", queries[i]);
        ask(w, &r, "POST", target, w->user.text, YAML, "run: true\n");
        assert_int_equal(r.status, 400);
        assert_contains(r.body, "QueryPrices");
        assert_int_equal(w->events + w->read_calls, 0);
    }
}

static void replan__prices_replace_those_of_a_document(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/plans?carbon=250&wait=1.5", w->user.text, YAML,
        "run: true\nqueue: batch\nplacement: {prices: {carbon: 1 USD/t, wait: 1 USD/gpu-h}}\n");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "batch prices 250000000 1500000 0");
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "run: true\nqueue: batch\n");
    assert_string_equal(w->link, "batch balanced 0 0 0");
}

static void replan__something_is_supposed_of_one_site(void **state)
{
    (void)state;
    static const struct {
        const char *query, *supposed; /* NULL: it is refused */
    } rows[] = {
        {"", " 0 1000"},
        {"drain=lulea", "lulea 1 1000"},
        {"price=lulea:1.5", "lulea 0 1500"},
        {"price=lulea:0", "lulea 0 0"},
        {"price=lulea:1000", "lulea 0 1000000"},
        {"carbon=1&wait=2&price=lulea:0.001", "lulea 0 1"},
        {"curtail=lulea:60%25:2h", "lulea 0 1000 60 7200000"},
        {"curtail=lulea:0:1m", "lulea 0 1000 0 60000"},
        {"curtail=lulea:100:7d", "lulea 0 1000 100 604800000"},
        {"curtail=lulea:60:2h&price=lulea:2", NULL},
        {"curtail=lulea:60:2h&drain=lulea", NULL},
        {"curtail=lulea", NULL},
        {"curtail=lulea:60", NULL},
        {"curtail=lulea:101:2h", NULL},
        {"curtail=lulea::2h", NULL},
        {"curtail=lulea:60:", NULL},
        {"curtail=lulea:60:59s", NULL},
        {"curtail=lulea:60:8d", NULL},
        {"curtail=:60:2h", NULL},
        {"drain=lulea&price=lulea:2", NULL},
        {"drain=", NULL},
        {"drain=lulea:2", NULL},
        {"drain=a23456789012345678901234567890123", NULL},
        {"price=lulea", NULL},
        {"price=lulea:", NULL},
        {"price=:2", NULL},
        {"price=lulea:-1", NULL},
        {"price=lulea:1000.001", NULL},
        {"price=lulea:1e2", NULL},
        {"price=lulea:0.0001", NULL},
        {"price=lulea:2:2", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char target[128];
        w->events = w->read_count = w->read_calls = 0;
        script_read(w, "read_job_source", HELIO_OK, STORED("null"));
        (void)snprintf(target, sizeof target, "/v1/jobs/abcdef/plan?%s", rows[i].query);
        ask(w, &r, "GET", target, w->user.text, "", NULL);
        assert_int_equal(r.status, rows[i].supposed ? 200 : 400);
        if (rows[i].supposed)
            assert_string_equal(w->supposed, rows[i].supposed);
        (void)snprintf(target, sizeof target, "/v1/plans?%s", rows[i].query);
        ask(w, &r, "POST", target, w->user.text, YAML, "run: true\n");
        assert_int_equal(r.status, rows[i].supposed ? 200 : 400);
        if (rows[i].supposed)
            assert_string_equal(w->supposed, rows[i].supposed);
        else
            assert_contains(r.body, "QuerySupposed");
        assert_int_equal(w->events, rows[i].supposed ? 2 : 0);
    }
}

static void replan__says_what_it_cannot_plan(void **state)
{
    (void)state;
    static const struct {
        const char *stored;
        int status;
    } rows[] = {{"{\"ambiguous\":[\"a\",\"b\"]}", 409},
                {"{\"tenant\":\"acme\",\"user\":null,\"queue\":null,\"asked\":{\"source\":\"rnu: x\"}}", 409},
                {"{\"tenant\":\"acme\",\"asked\":{}}", 409},
                {"{\"tenant\":null}", 500},
                {"[", 500}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        w->read_count = w->events = 0;
        script_read(w, "read_job_source", HELIO_OK, rows[i].stored);
        ask(w, &r, "GET", "/v1/jobs/abcdef/plan", w->user.text, "", NULL);
        assert_int_equal(r.status, rows[i].status);
        assert_int_equal(w->events, 0);
    }
    ask(w, &r, "GET", "/v1/jobs/abc/plan", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(replan__judges_the_stored_document_for_its_own_tenant),
        TEST(replan__prices_are_two_numbers_or_none),
        TEST(replan__prices_replace_those_of_a_document),
        TEST(replan__something_is_supposed_of_one_site),
        TEST(replan__says_what_it_cannot_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
