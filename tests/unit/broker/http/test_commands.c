/*  test_commands.c -- what operators and administrators send reaches the core unchanged, or is refused before it: sites and their
 *  keys, tenants, data, links, budgets, tokens, users. */
#include "tests/unit/broker/http/server_testing.h"

/* ---- sites, tokens ------------------------------------------------------------------------------------------- */

static void http__site_commands_carry_their_reason(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/sites/lulea/drain", w->operator_.text, JSON, "{\"reason\": \"new switch\"}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_DRAIN);
    assert_string_equal(w->site, "lulea");
    assert_string_equal(w->reason, "new switch");
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 400);
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, JSON, "{\"dead\": false}");
    assert_int_equal(r.status, 400);
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, JSON, "{\"dead\": true}");
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "reason");
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, JSON, "{\"dead\": true, \"reason\": \"\"}");
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "reason");
    assert_int_equal(w->events, 1);
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, JSON, "{\"dead\": true, \"reason\": \"no power\"}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_ATTEST);
    assert_string_equal(w->reason, "no power");
}

static void http__a_curtailment_reaches_the_core_unchanged(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/sites/lulea/curtail", w->operator_.text, JSON,
        "{\"to_percent\": 60, \"for_s\": 7200, \"reason\": \"the grid asks\"}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_CURTAIL);
    assert_string_equal(w->site, "lulea");
    assert_string_equal(w->reason, "the grid asks");
    assert_string_equal(w->link, "to 60 0 7200000");
    ask(w, &r, "POST", "/v1/sites/lulea/curtail", w->operator_.text, JSON,
        "{\"to_percent\": 0, \"for_s\": 60, \"reason\": \"x\", \"at\": \"2026-11-22T17:00:00Z\"}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "to 0 1795366800000 60000");
    ask(w, &r, "POST", "/v1/sites/lulea/uncurtail", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "end 0 0 0");
    static const struct {
        const char *body, *says;
    } bad[] = {
        {"{\"for_s\": 60, \"reason\": \"x\"}", "'to_percent' is missing"},
        {"{\"to_percent\": 60, \"reason\": \"x\"}", "'for_s' is missing"},
        {"{\"to_percent\": 60, \"for_s\": 60}", "'reason' is missing"},
        {"{\"to_percent\": 60, \"for_s\": 60, \"reason\": \"\"}", "CurtailNoReason"},
        {"{\"to_percent\": 60, \"for_s\": 60, \"reason\": \"x\", \"at\": \"tomorrow\"}", "CurtailAtInvalid"},
        {"{\"to_percent\": -1, \"for_s\": 60, \"reason\": \"x\"}", "to_percent"},
    };
    uint32_t events = w->events;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "POST", "/v1/sites/lulea/curtail", w->operator_.text, JSON, bad[i].body);
        assert_int_equal(r.status, 400);
        assert_contains(r.body, bad[i].says);
    }
    ask(w, &r, "POST", "/v1/sites/lulea/curtail", w->user.text, JSON,
        "{\"to_percent\": 60, \"for_s\": 7200, \"reason\": \"x\"}");
    assert_int_equal(r.status, 403);
    assert_int_equal(w->events, events);
    script_read(w, "read_curtailments", HELIO_OK, "[]");
    ask(w, &r, "GET", "/v1/curtailments?site=lulea&days=3", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->last_params[0], "lulea");
    assert_string_equal(w->last_params[1], "3");
    script_read(w, "read_curtailments", HELIO_NOT_FOUND, "");
    ask(w, &r, "GET", "/v1/curtailments?site=nowhere", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 404);
    assert_non_null(strstr(r.body, "there is no site nowhere"));
    ask(w, &r, "GET", "/v1/curtailments?days=0", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 400);
}

static void http__a_tenant_reaches_the_core_unchanged(void **state)
{
    (void)state;
    static const struct {
        const char *body, *event;
    } rows[] = {
        {"{\"tenant\": \"acme\"}", "acme home 0 '' weight 0 0"},
        {"{\"tenant\": \"acme\", \"home\": \"lulea\", \"weight\": 2.5}", "acme home 1 'lulea' weight 1 2500"},
        {"{\"tenant\": \"acme\", \"home\": null}", "acme home 1 '' weight 0 0"},
        {"{\"tenant\": \"acme\", \"weight\": 1e9}", "acme home 0 '' weight 1 4294967295"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(w, &r, "POST", "/v1/tenants", w->operator_.text, JSON, rows[i].body);
        assert_int_equal(r.status, 200);
        assert_int_equal(w->event, HELIO_BROKER_EV_TENANT);
        assert_string_equal(w->link, rows[i].event);
        assert_contains(r.body, "\"tenant\":\"acme\"");
    }
    static const struct {
        const char *body, *says;
    } bad[] = {
        {"{\"home\": \"lulea\"}", "'tenant' is missing"},
        {"{\"tenant\": \"-a\"}", "letters, digits"},
        {"{\"tenant\": \"a\", \"home\": \"../x\"}", "\"NameInvalid\",\"params\":{\"key\":\"home\""},
        {"{\"tenant\": \"a\", \"home\": 3}", "or null for none"},
        {"{\"tenant\": \"a\", \"hoem\": \"b\"}", "did you mean 'home'?"},
        {"{\"tenant\": \"a\", \"weight\": -1}", "a number, not negative"},
    };
    uint32_t events = w->events;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "POST", "/v1/tenants", w->operator_.text, JSON, bad[i].body);
        if (r.status != 400 || !strstr(r.body, bad[i].says))
            fail_msg("%s: %d %s", bad[i].body, r.status, r.body);
    }
    assert_int_equal(w->events, events);
}

static void http__data_and_links_reach_the_core_unchanged(void **state)
{
    (void)state;
    ask(w, &r, "PUT", "/v1/data", w->operator_.text, JSON,
        "{\"prefix\": \"s3://acme/x\", \"sites\": [\"lulea\", \"aws\"]}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_DATA);
    assert_string_equal(w->prefix, "s3://acme/x lulea aws");
    ask(w, &r, "PUT", "/v1/data", w->operator_.text, JSON,
        "{\"prefix\": \"s3://acme/x\", \"sites\": [\"aws\"], \"tenant\": \"acme\"}");
    assert_string_equal(w->prefix, "s3://acme/x aws of acme");
    ask(w, &r, "DELETE", "/v1/data?prefix=s3%3A%2F%2Facme%2Fx", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->prefix, "s3://acme/x");
    ask(w, &r, "PUT", "/v1/links", w->operator_.text, JSON,
        "{\"from\": \"lulea\", \"to\": \"*\", \"gbps\": 2.5, \"egress_usd_per_gb\": 0.0875, \"rtt_ms\": 90}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "lulea * 0 2500 87500 90");
    ask(w, &r, "DELETE", "/v1/links?from=lulea&to=%2A", w->operator_.text, "", NULL);
    assert_string_equal(w->link, "lulea * 1 0 0 0");
    static const struct {
        const char *path, *body;
    } bad[] = {
        {"/v1/data", "{\"prefix\": \"s3://a\"}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": []}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": \"lulea\"}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": [3]}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": [\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}"},
        {"/v1/data", "{\"prefix\": 3, \"sites\": [\"lulea\"]}"},
        {"/v1/links", "{\"from\": \"a\", \"to\": \"b\"}"},
        {"/v1/links", "{\"from\": \"a\", \"to\": \"b\", \"gbps\": -1}"},
        {"/v1/links", "{\"from\": \"a\", \"to\": \"b\", \"gbps\": \"5\"}"},
    };
    uint32_t events = w->events;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "PUT", bad[i].path, w->operator_.text, JSON, bad[i].body);
        assert_int_equal(r.status, 400);
    }
    ask(w, &r, "DELETE", "/v1/links?from=lulea", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, events);
}

static void http__budgets_reach_the_core_unchanged(void **state)
{
    (void)state;
    ask(w, &r, "PUT", "/v1/quotas/acme", w->operator_.text, JSON,
        "{\"queue\": \"batch\", \"budgets\": [\"5000 gpu-h/month\", \"none USD\"]}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_QUOTA);
    assert_string_equal(w->budgets, "acme/batch 0 5000 gpu-h/month;none USD;");
    uint32_t events = w->events;
    static const char *const bad[] = {"{\"budgets\": []}", "{\"budgets\": \"5 USD/day\"}", "{\"budgets\": [5]}",
                                      "{\"budgets\": [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"]}",
                                      "{\"budgets\": [\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "PUT", "/v1/quotas/acme", w->operator_.text, JSON, bad[i]);
        assert_int_equal(r.status, 400);
    }
    assert_int_equal(w->events, events);
}

static void http__commands_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {"[]",
                                      "{",
                                      "{\"reason\": 3}",
                                      "{\"reasn\": \"x\"}",
                                      "{\"reason\": \"a\\u0007b\"}",
                                      "{\"reason\": \"x\", \"reason\": \"y\"}",
                                      "null",
                                      "\xff\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "POST", "/v1/sites/lulea/drain", w->operator_.text, JSON, bad[i]);
        if (r.status != 400)
            fail_msg("%s: %d", bad[i], r.status);
    }
    assert_int_equal(w->events, 0);
}

static void http__only_a_well_formed_site_key_is_enrolled(void **state)
{
    (void)state;
    script_read(w, "read_key", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON,
        "{\"site\": \"lulea\", \"public_key\": \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"}");
    assert_int_equal(r.status, 201);
    assert_string_equal(w->site, "lulea");
    assert_string_equal(w->public_key, "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
    ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON, "{\"site\": \"lulea\", \"public_key\": \"short\"}");
    assert_int_equal(r.status, 400);
    ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON,
        "{\"site\": \"-x\", \"public_key\": \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"}");
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, 1);
}

/*  What is stored of the key, what is asked, and what follows. */
static const struct {
    const char *stored, *more;
    int status;
    const char *says;
} enrolments[] = {
    {"{\"site\": \"lulea\", \"revoked_ms\": 0}", "", 201, "enrolled"},
    {"{\"site\": \"virginia\", \"revoked_ms\": 0}", "", 409, "in force for site virginia"},
    {"{\"site\": \"virginia\", \"revoked_ms\": 0}", ", \"again\": true", 409, "in force for site virginia"},
    {"{\"site\": \"lulea\", \"revoked_ms\": 1772373600000}", "", 409, "revoked at 2026-03-01T14:00:00Z"},
    {"{\"site\": \"lulea\", \"revoked_ms\": 1772373600000}", ", \"again\": false", 409, "--again"},
    {"{\"site\": \"lulea\", \"revoked_ms\": 1772373600000}", ", \"again\": true", 201, "enrolled"},
    {"{\"site\": \"virginia\", \"revoked_ms\": 7}", "", 409, "revoked at"},
    {"{\"site\": \"virginia\", \"revoked_ms\": 7}", ", \"again\": true", 201, "enrolled"},
    {"{\"site\": 5}", "", 500, ""},
};

static void http__a_key_of_another_site_and_a_revoked_one_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof enrolments / sizeof enrolments[0]; i++) {
        char body[200];
        uint32_t before = w->events;
        (void)snprintf(body, sizeof body,
                       "{\"site\": \"lulea\", \"public_key\": \"rq:rM>}U?@Lns47E1%%kR.o@n%%FcmmsL/@{H8]yf7\"%s}",
                       enrolments[i].more);
        w->read_count = 0;
        script_read(w, "read_key", HELIO_OK, enrolments[i].stored);
        ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON, body);
        if (r.status != enrolments[i].status || !strstr(r.body, enrolments[i].says) ||
            w->events != before + (enrolments[i].status == 201))
            fail_msg("case %zu: %d %s", i, r.status, r.body);
    }
}

static void http__only_a_key_of_the_site_is_revoked_and_only_once(void **state)
{
    (void)state;
    static const char target[] =
        "/v1/sites/lulea/keys?public_key=rq%3ArM%3E%7DU%3F%40Lns47E1%25kR.o%40n%25FcmmsL%2F%40%7BH8%5Dyf7";
    script_read(w, "read_site_key", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 404);
    ask(w, &r, "DELETE", "/v1/sites/lulea/keys?public_key=short", w->admin.text, "", NULL);
    assert_int_equal(r.status, 400);
    ask(w, &r, "DELETE", "/v1/sites/lulea/keys", w->admin.text, "", NULL);
    assert_int_equal(r.status, 400);
    w->read_count = 0;
    script_read(w, "read_site_key", HELIO_OK,
                "{\"public_key\": \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\", \"created_ms\": 5, \"revoked_ms\": 7}");
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(w->events, 0); /* it was revoked before, and keeps its time */
    w->read_count = 0;
    script_read(w, "read_site_key", HELIO_OK,
                "{\"public_key\": \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\", \"created_ms\": 5, \"revoked_ms\": 0}");
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(w->events, 1);
    assert_string_equal(w->site, "lulea");
    assert_string_equal(w->public_key, "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
    assert_true(w->key_revoked_ms > 0);
}

static void http__an_issued_token_is_accepted_from_its_commit_until_revoked(void **state)
{
    (void)state;
    w->listener.on_leading(w->listener.arg);
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON,
        "{\"tenant\": \"acme\", \"user\": \"bo\", \"role\": \"user\", \"ttl_s\": 60}");
    assert_int_equal(r.status, 201);
    char token[HELIO_TOKEN_SIZE];
    const char *at = strstr(r.body, "\"token\":\"");
    assert_non_null(at);
    keep((helio_text_t){at + 9, (uint32_t)strcspn(at + 9, "\"")}, token, sizeof token);
    assert_true(w->token_row.expires_ms == w->token_row.created_ms + 60000);
    ask(w, &r, "GET", "/v1/whoami", token, "", NULL);
    assert_int_equal(r.status, 401); /* its row is not committed yet */
    helio_row_token_t row = {.token_id = helio_text_of(w->token_id),
                             .hash = {(const char *)w->token_hash, 32},
                             .tenant = HELIO_TEXT("acme"),
                             .user = HELIO_TEXT("bo"),
                             .role = HELIO_TEXT("user"),
                             .created_ms = w->token_row.created_ms,
                             .expires_ms = w->token_row.expires_ms};
    w->listener.on_token(w->listener.arg, &row);
    ask(w, &r, "GET", "/v1/whoami", token, "", NULL);
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "\"user\":\"bo\"");
    char target[64], id[40];
    keep(helio_text_of(w->token_id), id, sizeof id);
    (void)snprintf(target, sizeof target, "/v1/tokens/%s", id);
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_true(w->token_row.revoked_ms > 0);
    assert_string_equal(w->token_id, id);
    assert_memory_equal(w->token_hash, row.hash.data, 32);
}

static void http__disabling_a_user_stops_its_tokens_on_live_connections(void **state)
{
    (void)state;
    w->listener.on_leading(w->listener.arg);
    client_t *c = client_up(w);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    ask(w, &r, "POST", "/v1/principals", w->admin.text, JSON,
        "{\"tenant\": \"acme\", \"user\": \"ana\", \"disabled\": true}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "acme/ana disabled");
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200); /* it is not committed yet */
    helio_row_principal_t row = {HELIO_TEXT("acme"), HELIO_TEXT("ana"), 7};
    w->listener.on_principal(w->listener.arg, &row);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 401);
    uint32_t events = w->events;
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, "{\"tenant\": \"acme\", \"user\": \"ana\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "helio user enable ana --tenant acme");
    assert_int_equal(w->events, events);
    ask(w, &r, "POST", "/v1/principals", w->admin.text, JSON,
        "{\"tenant\": \"acme\", \"user\": \"ana\", \"disabled\": false}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "acme/ana enabled");
    row.disabled_ms = 0;
    w->listener.on_principal(w->listener.arg, &row);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    client_down(c);
}

static void http__an_unknown_user_or_the_caller_itself_is_not_disabled(void **state)
{
    (void)state;
    w->listener.on_leading(w->listener.arg);
    uint32_t events = w->events;
    ask(w, &r, "POST", "/v1/principals", w->admin.text, JSON,
        "{\"tenant\": \"acme\", \"user\": \"anna\", \"disabled\": true}");
    assert_int_equal(r.status, 404);
    ask(w, &r, "POST", "/v1/principals", w->admin.text, JSON,
        "{\"tenant\": \"ops\", \"user\": \"ana\", \"disabled\": true}");
    assert_int_equal(r.status, 409);
    ask(w, &r, "POST", "/v1/principals", w->admin.text, JSON, "{\"tenant\": \"acme\", \"user\": \"ana\"}");
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, events);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__site_commands_carry_their_reason),
        TEST(http__a_curtailment_reaches_the_core_unchanged),
        TEST(http__a_tenant_reaches_the_core_unchanged),
        TEST(http__data_and_links_reach_the_core_unchanged),
        TEST(http__budgets_reach_the_core_unchanged),
        TEST(http__commands_are_read_strictly),
        TEST(http__only_a_well_formed_site_key_is_enrolled),
        TEST(http__a_key_of_another_site_and_a_revoked_one_are_refused),
        TEST(http__only_a_key_of_the_site_is_revoked_and_only_once),
        TEST(http__an_issued_token_is_accepted_from_its_commit_until_revoked),
        TEST(http__disabling_a_user_stops_its_tokens_on_live_connections),
        TEST(http__an_unknown_user_or_the_caller_itself_is_not_disabled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
