/*  test_leader_tokens.c -- a broker that leads, and tokens that were put into the database beside it; and what the holder
 *  of a token that is over is told. */
#include "tests/unit/broker/http/server_testing.h"

static helio_token_fresh_t fresh;
static char row[600];

static int up_leading(void **state)
{
    (void)up(state);
    w->listener.on_leading(w->listener.arg);
    memset(&fresh, 0, sizeof fresh);
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    return 0;
}

static void script_row(const helio_token_fresh_t *token, const char *tenant, int64_t revoked_ms)
{
    char hex[65];
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", token->hash[i]);
    (void)snprintf(
        row, sizeof row,
        "{\"token_id\": \"%s\", \"hash\": \"%s\", \"tenant\": \"%s\", \"user\": \"eve\", \"role\": \"user\", "
        "\"created_ms\": 1, \"expires_ms\": 0, \"revoked_ms\": %lld}",
        token->id, hex, tenant, (long long)revoked_ms);
    script_read(w, "read_token", HELIO_OK, row);
}

static void assert_refused(const char *token, const char *word)
{
    ask(w, &r, "GET", "/v1/whoami", token, "", NULL);
    assert_int_equal(r.status, 401);
    assert_contains(r.body, word);
}

static void leader__looks_up_a_token_that_it_does_not_know(void **state)
{
    (void)state;
    script_row(&fresh, "acme", 0);
    ask(w, &r, "POST", "/v1/jobs", fresh.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 201);
    assert_string_equal(w->tenant, "acme");
    assert_string_equal(w->user_name, "eve");
    assert_string_equal(w->last_params[0], fresh.id);
    assert_int_equal(strlen(w->last_params[1]), 64);
    uint32_t reads = w->read_calls;
    ask(w, &r, "GET", "/v1/whoami", fresh.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(w->read_calls, reads); /* it knows it now */
    ask(w, &r, "GET", "/metrics", w->user.text, "", NULL);
    assert_contains(r.body, "\nhelio_http_tokens_refused_total 0\n");
}

/*  A body of more than a stranger may send: nothing of it is read before the token is proved. */
static void leader__proves_a_token_before_it_reads_a_large_body(void **state)
{
    (void)state;
    static char document[100000] = "run: echo\n#";
    static char chunked[sizeof document + 64];
    memset(document + strlen(document), 'x', sizeof document - 1 - strlen(document));
    (void)snprintf(chunked, sizeof chunked, "%zx\r\n%s\r\n0\r\n\r\n", strlen(document), document);
    const struct {
        const char *headers, *body, *bytes;
    } ways[] = {{YAML, document, ""},
                {YAML "Expect: 100-continue\r\n", document, ""},
                {YAML "Transfer-Encoding: chunked\r\n", NULL, chunked}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        memset(&fresh, 0, sizeof fresh);
        assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
        script_row(&fresh, "acme", 0);
        client_t *c = client_up(w);
        client_ask(c, "POST", "/v1/jobs", fresh.text, ways[i].headers, ways[i].body);
        client_send(c, ways[i].bytes, strlen(ways[i].bytes));
        assert_true(client_reply(c, &r));
        if (r.status != 201)
            fail_msg("way %zu: %d: %s", i, r.status, r.body);
        client_ask(c, "GET", "/v1/whoami", fresh.text, "", NULL);
        assert_true(client_reply(c, &r)); /* the connection goes on */
        assert_int_equal(r.status, 200);
        client_down(c);
    }
    memset(&fresh, 0, sizeof fresh);
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    script_read(w, "read_token", HELIO_UNAVAILABLE, "");
    ask(w, &r, "POST", "/v1/jobs", fresh.text, YAML, document);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "TokenNotLookedUp");
    script_read(w, "read_token", HELIO_NOT_FOUND, "");
    ask(w, &r, "POST", "/v1/jobs", fresh.text, YAML, document);
    assert_int_equal(r.status, 401);
    ask(w, &r, "POST", "/v1/jobs", fresh.text, YAML "Content-Length: 70000\r\nExpect: 100-continue\r\n", NULL);
    assert_int_equal(r.status, 401); /* who is refused is not asked for the body */
    assert_non_null(reply_header(&r, "Connection"));
}

static void leader__refuses_a_token_that_is_not_in_the_database(void **state)
{
    (void)state;
    assert_refused(fresh.text, "TokenInvalid");
    assert_string_equal(w->last_query, "read_token");
    script_read(w, "read_token", HELIO_UNAVAILABLE, "");
    ask(w, &r, "GET", "/v1/whoami", fresh.text, "", NULL);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "TokenNotLookedUp");
    script_read(w, "read_token", HELIO_OK, "{\"token_id\": \"x\"}");
    assert_refused(fresh.text, "TokenInvalid"); /* a row that grants nothing */
}

/*  Only a token that is whole and not known is worth a question, and an address has only so many. */
static void leader__does_not_ask_for_guesses(void **state)
{
    (void)state;
    char wrong[sizeof fresh.text];
    memcpy(wrong, w->user.text, sizeof wrong);
    wrong[strlen(wrong) - 1] ^= 1;
    assert_refused(wrong, "TokenInvalid"); /* a known id with another secret */
    assert_refused("hel_", "TokenInvalid");
    assert_int_equal(w->read_calls, 0);
    uint32_t limited = 0;
    for (uint32_t i = 0; i < 60; i++) {
        ask(w, &r, "GET", "/v1/whoami", fresh.text, "", NULL);
        limited += r.status == 429;
    }
    assert_in_range(limited, 1, 59);
    assert_int_equal(w->read_calls, 60 - limited);
    ask(w, &r, "GET", "/v1/whoami", "hel_\xff\xfe_secret", "", NULL);
    assert_true(r.status == 401 || r.status == 429);
    assert_true(w->read_calls <= 61 - limited && !strchr(w->last_params[0], '\xff'));
}

/*  The row that was read can be older than the revocation. */
static void leader__does_not_let_a_row_revive_a_revoked_token(void **state)
{
    (void)state;
    world_put_token_of(w, &fresh, "acme", "eve", "user", 0, 7); /* revoked before it was ever used here */
    script_row(&fresh, "acme", 0);
    assert_refused(fresh.text, "TokenRevoked");
    helio_token_table_t *table = helio_token_table_new();
    helio_row_token_t learned = {.token_id = helio_text_of(fresh.id),
                                 .hash = {(const char *)fresh.hash, sizeof fresh.hash},
                                 .tenant = HELIO_TEXT("acme"),
                                 .user = HELIO_TEXT("eve"),
                                 .role = HELIO_TEXT("user"),
                                 .revoked_ms = 7};
    helio_token_table_put(table, &learned);
    learned.revoked_ms = 0;
    helio_token_table_learn(table, &learned);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 9));
    helio_token_table_destroy(&table);
}

static void leader__revokes_a_token_that_it_does_not_know(void **state)
{
    (void)state;
    char target[80];
    (void)snprintf(target, sizeof target, "/v1/tokens/%s", fresh.id);
    script_row(&fresh, "acme", 0);
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->token_id, fresh.id);
    assert_true(w->token_row.revoked_ms > 0);
    script_read(w, "read_token", HELIO_UNAVAILABLE, "");
    ask(w, &r, "DELETE", "/v1/tokens/other", w->admin.text, "", NULL);
    assert_int_equal(r.status, 503);
}

/* ---- what the holder of a token is told ------------------------------------------------------------------- */

static void leader__tells_the_holder_what_became_of_a_token(void **state)
{
    (void)state;
    helio_token_fresh_t expired = {0}, revoked = {0}, disabled = {0};
    world_put_token_of(w, &expired, "acme", "ana", "user", INT64_C(1772374800000), 0);
    world_put_token_of(w, &revoked, "acme", "ana", "user", 0, 7);
    world_put_token_of(w, &disabled, "acme", "eve", "user", 0, 0);
    w->listener.on_principal(w->listener.arg,
                             &(helio_row_principal_t){HELIO_TEXT("acme"), HELIO_TEXT("eve"), .disabled_ms = 7});
    assert_refused(expired.text, "the token expired at 2026-03-01T14:20:00Z");
    assert_refused(revoked.text, "the token was revoked");
    assert_refused(disabled.text, "the user of this token is disabled");
    helio_token_fresh_t *all[] = {&expired, &revoked, &disabled};
    for (size_t i = 0; i < 3; i++) { /* who knows the id alone is a stranger */
        all[i]->text[strlen(all[i]->text) - 1] ^= 1;
        assert_refused(all[i]->text, "the token is unknown, or no longer valid");
    }
}

/* ---- two threads add ---------------------------------------------------------------------------------------- */

enum { TOKENS = 2000 };

static helio_token_fresh_t many[TOKENS];

static helio_row_token_t row_at(size_t at, int64_t revoked_ms)
{
    static const char *const users[] = {"ana", "ben", "eve"};
    return (helio_row_token_t){.token_id = helio_text_of(many[at].id),
                               .hash = {(const char *)many[at].hash, sizeof many[at].hash},
                               .tenant = HELIO_TEXT("acme"),
                               .user = helio_text_of(users[at % 3]),
                               .role = HELIO_TEXT("user"),
                               .revoked_ms = revoked_ms};
}

static void *learn_all(void *arg)
{
    for (size_t i = 0; i < TOKENS; i++) {
        helio_row_token_t learned = row_at(i, 0);
        helio_token_table_learn(arg, &learned);
    }
    return NULL;
}

/*  Whichever request is faster, each token is revoked at the end, and a user is one principal. */
static void leader__revokes_what_is_learned_at_the_same_time(void **state)
{
    (void)state;
    pthread_t thread;
    helio_token_table_t *table = helio_token_table_new();
    for (size_t i = 0; i < TOKENS; i++)
        assert_int_equal(helio_token_issue(&many[i]), HELIO_OK);
    assert_int_equal(pthread_create(&thread, NULL, learn_all, table), 0);
    for (size_t i = 0; i < TOKENS; i++) {
        helio_row_token_t revoked = row_at(i, 7);
        helio_token_table_put(table, &revoked);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < TOKENS; i++) {
        helio_token_refusal_t why;
        const helio_token_t *token;
        assert_null(helio_token_table_judge(table, helio_text_of(many[i].text), 9, &why, &token));
        assert_int_equal(why, HELIO_TOKEN_REVOKED);
        assert_ptr_equal(token->principal, helio_token_table_principal(table, HELIO_TEXT("acme"), row_at(i, 0).user));
    }
    helio_token_table_destroy(&table);
}

int main(void)
{
#define LEADS(test) cmocka_unit_test_setup_teardown(test, up_leading, down)
    const struct CMUnitTest tests[] = {
        LEADS(leader__looks_up_a_token_that_it_does_not_know),
        LEADS(leader__proves_a_token_before_it_reads_a_large_body),
        LEADS(leader__refuses_a_token_that_is_not_in_the_database),
        LEADS(leader__does_not_ask_for_guesses),
        LEADS(leader__does_not_let_a_row_revive_a_revoked_token),
        LEADS(leader__revokes_a_token_that_it_does_not_know),
        LEADS(leader__tells_the_holder_what_became_of_a_token),
        cmocka_unit_test(leader__revokes_what_is_learned_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
