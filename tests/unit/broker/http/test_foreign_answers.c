/*  A database that another release has migrated may answer with other members than these handlers know, or with others'
 *  types. Whatever it answers, the client gets one whole answer in JSON, nothing crashes, and what cannot be read is
 *  not taken for a job, a site or an id. */
#include "tests/unit/broker/http/server_testing.h"

#include <jansson.h>

/* ---- answers that are a little different --------------------------------------------------------------- */

enum { VALUES = 8 };

/*  What stands in for a value; the last one: nothing at all. */
static json_t *stand_in(uint32_t which)
{
    switch (which) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer(-1);
    case 3:
        return json_integer(INT64_MAX);
    case 4:
        return json_real(1e300);
    case 5:
        return json_string("\xf0\x9f\x94\xa5\"\\ \x01");
    case 6:
        return json_pack("[[{}]]");
    default:
        return json_pack("{s:[]}", "ambiguous");
    }
}

/*  Puts the stand-in where the nth value of the tree is, in depth first; how many values it passed. */
static uint32_t replace(json_t *tree, uint32_t n, uint32_t which)
{
    uint32_t passed = 0;
    const char *key;
    json_t *value;
    void *next;
    size_t i;
    json_object_foreach_safe(tree, next, key, value)
    {
        if (passed++ == n) {
            if (which < VALUES)
                assert_int_equal(json_object_set_new(tree, key, stand_in(which)), 0);
            else
                assert_int_equal(json_object_del(tree, key), 0);
            return passed;
        }
        passed += replace(value, n - passed, which);
        if (passed > n)
            return passed;
    }
    json_array_foreach(tree, i, value)
    {
        if (passed++ == n) {
            if (which < VALUES)
                assert_int_equal(json_array_set_new(tree, i, stand_in(which)), 0);
            else
                assert_int_equal(json_array_remove(tree, i), 0);
            return passed;
        }
        passed += replace(value, n - passed, which);
        if (passed > n)
            return passed;
    }
    return passed;
}

/*  The answer that a handler reads, and the request that makes it read. */
typedef struct route {
    const char *method, *target, *query, *answer, *body;
} route_t;

static const char gated[] = "run: echo\ndepends: {after_ok: [01j9a0000000000000000000aa]}\n";

static const route_t routes[] = {
    {"GET", "/v1/jobs/abcdef/explain", "read_explain",
     "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"queued\",\"candidates\":[{\"site\":\"lulea\"}]}", NULL},
    {"GET", "/v1/jobs/abcdef/logs", "read_job_where",
     "{\"id\":\"01j9a0000000000000000000aa\",\"array\":false,\"site\":\"lulea\",\"epoch\":3,\"state\":\"running\"}",
     NULL},
    {"GET", "/v1/jobs/abcdef/logs?epoch=2", "read_attempt_where",
     "{\"id\":\"01j9a0000000000000000000aa\",\"site\":\"lulea\",\"epoch\":2,\"state\":\"succeeded\",\"newest\":3}",
     NULL},
    {"DELETE", "/v1/jobs/abcdef", "read_job_where", "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"queued\"}",
     NULL},
    {"PATCH", "/v1/jobs/abcdef", "read_job_where", "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"queued\"}",
     "{\"priority\": 5}"},
    {"POST", "/v1/jobs", "read_dependencies", "[{\"found\":0,\"id\":\"01j9a0000000000000000000aa\"}]", gated},
    {"POST", "/v1/plans", "read_dependencies", "[{\"found\":0,\"id\":\"01j9a0000000000000000000aa\"}]", gated},
};

/*  Of any answer: it is whole, it is JSON where it says so, and it repeats nothing of the database's own words. */
static void check_answer(const route_t *route, const char *text)
{
    const char *type = reply_header(&r, "Content-Type");
    assert_non_null(type);
    bool is_json = strstr(type, "json") != NULL;
    json_t *answer = is_json ? json_loadb(r.body, r.body_size, 0, NULL) : NULL;
    if (is_json != (answer != NULL))
        fail_msg("%s %s, of %s: no JSON: %s", route->method, route->target, text, r.body);
    if (r.status >= 400 && !json_object_get(answer, "detail"))
        fail_msg("%s %s, of %s: %d without a detail: %s", route->method, route->target, text, r.status, r.body);
    if (r.status == 500)
        assert_null(strstr(r.body, "lulea"));
    json_decref(answer);
}

static void ask_over(const route_t *route, const char *text)
{
    script_read(w, route->query, HELIO_OK, text);
    w->events = w->log_next = 0;
    ask(w, &r, route->method, route->target, w->user.text, route->body == gated ? YAML : "", route->body);
    check_answer(route, text);
}

static void http__any_answer_of_a_foreign_database_is_answered_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        ask_over(&routes[i], routes[i].answer);
        uint32_t count = 0;
        for (uint32_t which = 0; which <= VALUES; which++)
            for (uint32_t n = 0;; n++) {
                json_t *tree = json_loads(routes[i].answer, 0, NULL);
                assert_non_null(tree);
                bool there = replace(tree, n, which) > n;
                char *text = json_dumps(tree, JSON_COMPACT);
                if (there)
                    ask_over(&routes[i], text);
                free(text);
                json_decref(tree);
                if (!there)
                    break;
                count++;
            }
        assert_true(count >= 2 * (VALUES + 1));
    }
    ask(w, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
}

static void http__an_answer_that_is_no_object_is_a_failure_and_reaches_no_core(void **state)
{
    (void)state;
    static const char *const texts[] = {"null",     "[]",   "7",    "\"id\"", "",    "{",
                                        "{\"id\":", "\xff", "[{}]", "[null]", "[[]]"};
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            ask_over(&routes[i], texts[k]);
            if (r.status != 500 && r.status != 503)
                fail_msg("%s %s, of %s: %d %s", routes[i].method, routes[i].target, texts[k], r.status, r.body);
            assert_int_equal(w->events, 0);
        }
}

static void http__a_command_goes_to_the_job_that_the_database_names_and_to_no_other(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *key;
    } rows[] = {
        {"{\"id\":\"01j9a0000000000000000000aa\"}", "01j9a0000000000000000000aa"},
        {"{\"id\":\"01j9a0000000000000000000aa.17\"}", "01j9a0000000000000000000aa.17"},
        {"{\"id\":\"01j9a0000000000000000000a\"}", NULL},
        {"{\"id\":\"01j9a0000000000000000000aa.\"}", NULL},
        {"{\"id\":\"01j9a0000000000000000000aa.-1\"}", NULL},
        {"{\"id\":\"01j9a0000000000000000000aa.99999999999\"}", NULL},
        {"{\"id\":null}", NULL},
        {"{\"ID\":\"01j9a0000000000000000000aa\"}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        script_read(w, "read_job_where", HELIO_OK, rows[i].answer);
        w->events = 0;
        ask(w, &r, "DELETE", "/v1/jobs/abcdef", w->user.text, "", NULL);
        assert_int_equal(r.status, rows[i].key ? 202 : 500);
        assert_int_equal(w->events, rows[i].key ? 1 : 0);
        if (rows[i].key)
            assert_string_equal(w->key_text, rows[i].key);
    }
}

/* ---- failures ------------------------------------------------------------------------------------------ */

/*  Every way in which a read can fail, on every route that reads: its status, and Retry-After where it may heal. */
static void http__a_read_that_fails_has_its_status_and_keeps_the_databases_words(void **state)
{
    (void)state;
    static const struct {
        helio_rc rc;
        int status;
    } rows[] = {
        {HELIO_UNAVAILABLE, 503}, {HELIO_TIMEOUT, 504}, {HELIO_NOT_FOUND, 404}, {HELIO_INVALID, 400}, {HELIO_IO, 503}};
    static const struct {
        const char *target, *query;
    } reads[] = {
        {"/v1/jobs", "read_jobs"},
        {"/v1/jobs/abcdef", "read_job"},
        {"/v1/jobs/abcdef/explain", "read_explain"},
        {"/v1/jobs/abcdef/attempts", "read_attempts"},
        {"/v1/jobs/abcdef/plan", "read_job_source"},
        {"/v1/jobs/abcdef/logs", "read_job_where"},
        {"/v1/sites", "read_sites"},
        {"/v1/sites/lulea/forecast", "read_forecast"},
        {"/v1/gpus", "read_gpus"},
        {"/v1/queues", "read_queues"},
        {"/v1/overflows", "read_overflows"},
        {"/v1/quotas", "read_quotas"},
        {"/v1/tenants", "read_tenants"},
        {"/v1/data", "read_data"},
        {"/v1/links", "read_links"},
        {"/v1/curtailments", "read_curtailments"},
        {"/v1/report", "read_report"},
        {"/v1/balance", "read_balance"},
        {"/v1/history", "read_history"},
        {"/v1/snapshot", "snapshot"},
        {"/v1/events", "read_last_event"},
        {"/v1/tokens", "read_tokens"},
        {"/v1/keys", "read_site_keys"},
        {"/v1/principals", "read_principals"},
        {"/v1/audit", "read_audit"},
        {"/v1/audit/verify", "read_audit_verify"},
    };
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            w->read_count = 0; /* there is room for a few scripts */
            script_read(w, reads[i].query, rows[k].rc, NULL);
            ask(w, &r, "GET", reads[i].target, w->admin.text, "", NULL);
            bool told = strstr(r.body, "of the database") != NULL;
            bool retry = reply_header(&r, "Retry-After") != NULL;
            if (r.status != rows[k].status || retry != (r.status == 503) || told ||
                strcmp(w->last_query, reads[i].query) != 0)
                fail_msg("%s after %s: %d, retry %d: %s", reads[i].target, helio_rc_text(rows[k].rc), r.status, retry,
                         r.body);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__any_answer_of_a_foreign_database_is_answered_whole),
        TEST(http__an_answer_that_is_no_object_is_a_failure_and_reaches_no_core),
        TEST(http__a_command_goes_to_the_job_that_the_database_names_and_to_no_other),
        TEST(http__a_read_that_fails_has_its_status_and_keeps_the_databases_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
