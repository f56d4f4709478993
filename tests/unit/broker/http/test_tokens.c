/*  Tokens as administrators issue and revoke them: what is refused and why, what the core is asked, and that a secret
 *  is said once. Then the table of tokens in force beside a model, over any run of rows. */
#include "tests/unit/broker/http/server_testing.h"

#include "federation/base/rng.h"

/* ---- issuing ------------------------------------------------------------------------------------------- */

static void token__that_is_asked_for_wrongly_is_not_issued(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *says;
    } rows[] = {
        {"{}", "the key 'tenant' is missing"},
        {"{\"tenant\": \"acme\"}", "the key 'user' is missing"},
        {"{\"tenant\": \"\", \"user\": \"bo\"}", "\"NameInvalid\""},
        {"{\"tenant\": \"a/b\", \"user\": \"bo\"}", "\"NameInvalid\""},
        {"{\"tenant\": \"acme\", \"user\": \"b o\"}", "\"NameInvalid\""},
        {"{\"tenant\": \"acme\", \"user\": \"-bo\"}", "\"NameInvalid\""},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"role\": \"root\"}", "is not one of user, operator, admin"},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"role\": \"\"}", "is not one of user, operator, admin"},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"ttl_s\": 0}", "ttl_s: must be from 1 to 316,224,000"},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"ttl_s\": 316224001}", "ttl_s: must be from 1 to 316,224,000"},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"ttl_s\": \"90d\"}", "'ttl_s' must be a whole number"},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"token\": \"hel_x_y\"}", "unknown key 'token'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, rows[i].body);
        if (r.status != 400 || !strstr(r.body, rows[i].says))
            fail_msg("%s: %d %s", rows[i].body, r.status, r.body);
    }
    assert_int_equal(w->events, 0);
}

static void token__has_the_role_and_the_end_that_were_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *body, *role;
        int64_t ttl_ms; /* 0 = no end */
    } rows[] = {
        {"{\"tenant\": \"acme\", \"user\": \"bo\"}", "user", 0},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"role\": \"admin\", \"ttl_s\": 1}", "admin", 1000},
        {"{\"tenant\": \"acme\", \"user\": \"bo\", \"role\": \"operator\", \"ttl_s\": 316224000}", "operator",
         INT64_C(316224000000)},
    };
    char first[HELIO_TOKEN_SIZE] = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char role[64];
        ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, rows[i].body);
        assert_int_equal(r.status, 201);
        (void)snprintf(role, sizeof role, "\"role\":\"%s\"", rows[i].role);
        assert_contains(r.body, role);
        int64_t ttl_ms = rows[i].ttl_ms;
        assert_true(w->token_row.expires_ms == (ttl_ms ? w->token_row.created_ms + ttl_ms : 0));
        assert_true((strstr(r.body, "\"expires_at\":null") != NULL) == !ttl_ms);
        assert_int_equal(w->token_row.revoked_ms, 0);
        const char *at = strstr(r.body, "\"token\":\"hel_");
        assert_non_null(at);
        assert_true(strncmp(at + 9, first, strlen(first)) != 0 || !first[0]); /* no two are equal */
        keep((helio_text_t){at + 9, (uint32_t)strcspn(at + 9, "\"")}, first, sizeof first);
    }
}

/*  The answer was written before the commit: if that fails, it is not sent. */
static void token__that_could_not_be_stored_is_not_said(void **state)
{
    (void)state;
    w->reply_rc = HELIO_UNAVAILABLE;
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, "{\"tenant\": \"acme\", \"user\": \"bo\"}");
    assert_int_equal(r.status, 503);
    assert_null(strstr(r.body, "hel_"));
    w->post_rc = HELIO_BUSY;
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, "{\"tenant\": \"acme\", \"user\": \"bo\"}");
    assert_int_equal(r.status, 429);
    assert_null(strstr(r.body, "hel_"));
}

static void token__is_not_issued_to_a_disabled_user_and_says_how_to_enable(void **state)
{
    (void)state;
    helio_row_principal_t row = {HELIO_TEXT("acme"), HELIO_TEXT("ana"), 77};
    w->listener.on_principal(w->listener.arg, &row);
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, "{\"tenant\": \"acme\", \"user\": \"ana\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "helio user enable ana --tenant acme");
    assert_int_equal(w->events, 0);
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, "{\"tenant\": \"globex\", \"user\": \"ana\"}");
    assert_int_equal(r.status, 201); /* of the same name, and somebody else */
}

static void token__that_there_is_not_cannot_be_revoked(void **state)
{
    (void)state;
    static const char *const ids[] = {"none", "hel_", "%20",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char target[128];
        (void)snprintf(target, sizeof target, "/v1/tokens/%s", ids[i]);
        ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
        assert_int_equal(r.status, 404);
        assert_contains(r.body, "there is no token");
    }
    assert_int_equal(w->events, 0);
    char target[128];
    (void)snprintf(target, sizeof target, "/v1/tokens/%s", w->other.id);
    w->reply_rc = HELIO_UNAVAILABLE;
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 503);
    ask(w, &r, "GET", "/v1/whoami", w->other.text, "", NULL);
    assert_int_equal(r.status, 200); /* it is in force until the row is durable */
}

/* ---- the table ----------------------------------------------------------------------------------------- */

enum { TOKENS = 8, USERS = 3, STEPS = 4000 };

/*  What is known of one id: the row that came last. */
typedef struct known {
    helio_token_fresh_t fresh[2]; /* an id that was issued again has another secret */
    bool there;
    uint32_t secret, user, role;
    int64_t expires_ms, revoked_ms;
} known_t;

static const char *const users[USERS] = {"ana", "bo", "eva"}, *const roles[] = {"user", "operator", "admin", "king"};

static void put(helio_token_table_t *table, known_t *token, helio_rng_t *rng)
{
    uint32_t role = (uint32_t)helio_rng_below(rng, 12);
    known_t next = *token;
    next.there = true;
    next.secret = helio_rng_below(rng, 4) ? token->secret : 1 - token->secret;
    next.user = helio_rng_below(rng, 4) ? token->user : (uint32_t)helio_rng_below(rng, USERS);
    next.role = role < 3 ? role : role < 11 ? token->role : 3;
    next.expires_ms = helio_rng_below(rng, 2) ? token->expires_ms : (int64_t)helio_rng_below(rng, 100);
    next.revoked_ms = helio_rng_below(rng, 3) ? 0 : 1 + (int64_t)helio_rng_below(rng, 100);
    helio_row_token_t row = {.token_id = helio_text_of(token->fresh[0].id),
                             .hash = {(const char *)next.fresh[next.secret].hash, HELIO_TOKEN_HASH_SIZE},
                             .tenant = HELIO_TEXT("acme"),
                             .user = helio_text_of(users[next.user]),
                             .role = helio_text_of(roles[next.role]),
                             .created_ms = 1,
                             .expires_ms = next.expires_ms,
                             .revoked_ms = next.revoked_ms};
    helio_token_table_put(table, &row);
    if (next.role == 3) { /* not understood: whatever was in force is not any more */
        token->revoked_ms = token->there ? 1 : 0;
        return;
    }
    *token = next;
}

static void check_token(const helio_token_table_t *table, const known_t *token, const int64_t *disabled, int64_t now_ms)
{
    for (uint32_t secret = 0; secret < 2; secret++) {
        char text[HELIO_TOKEN_SIZE];
        const char *of = strrchr(token->fresh[secret].text, '_');
        (void)snprintf(text, sizeof text, "hel_%.*s%.*s", HELIO_TOKEN_ID_CHARS, token->fresh[0].id,
                       1 + HELIO_TOKEN_SECRET_CHARS, of);
        bool opens = token->there && !token->revoked_ms && !disabled[token->user] && secret == token->secret &&
                     (!token->expires_ms || now_ms < token->expires_ms);
        const helio_token_t *found = helio_token_table_check(table, helio_text_of(text), now_ms);
        if ((found != NULL) != opens)
            fail_msg("it opens: %d, and not %d; revoked at %d, ends at %d, now %d", found != NULL, opens,
                     (int)token->revoked_ms, (int)token->expires_ms, (int)now_ms);
        if (!found)
            continue;
        assert_int_equal(found->role, token->role);
        assert_string_equal(found->user, users[token->user]);
    }
}

/*  A stream holds on to the token that it began with: that one never opens again once another row has replaced it. */
static void table__admits_whom_the_last_row_of_a_token_admits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        helio_rng_t rng = {seed};
        helio_token_table_t *table = helio_token_table_new();
        known_t tokens[TOKENS] = {0};
        int64_t disabled[USERS] = {0}, now_ms = 0;
        for (uint32_t i = 0; i < 2 * TOKENS; i++)
            assert_int_equal(helio_token_issue(&tokens[i / 2].fresh[i % 2]), HELIO_OK);
        for (uint32_t step = 0; step < STEPS; step++) {
            known_t *token = &tokens[helio_rng_below(&rng, TOKENS)];
            if (helio_rng_below(&rng, 3)) {
                put(table, token, &rng);
            } else {
                uint32_t user = (uint32_t)helio_rng_below(&rng, USERS);
                disabled[user] = helio_rng_below(&rng, 2) ? 0 : 5;
                helio_row_principal_t row = {HELIO_TEXT("acme"), helio_text_of(users[user]), disabled[user]};
                helio_token_table_disable(table, &row);
            }
            now_ms = (int64_t)helio_rng_below(&rng, 120);
            for (uint32_t i = 0; i < TOKENS; i++)
                check_token(table, &tokens[i], disabled, now_ms);
        }
        helio_token_table_destroy(&table);
    }
}

/* ---- strangers ----------------------------------------------------------------------------------------- */

static void tokens__guesses_are_limited_and_a_valid_token_still_passes(void **state)
{
    (void)state;
    world_t *strict = world_up_with((helio_http_options_t){.refusals_burst = 3});
    strict->listener.on_leading(strict->listener.arg);
    int limited = 0;
    for (int i = 0; i < 50; i++) {
        ask(strict, &r, "GET", "/v1/whoami", i % 2 ? "hel_aaaaaaaaaaaa_wrong" : "", "", NULL);
        assert_true(r.status == 401 || r.status == 429);
        if (r.status == 429) {
            assert_string_equal(reply_header(&r, "Connection"), "close");
            assert_contains(r.body, "TokensRefusedOften");
            limited++;
        } else {
            assert_true(limited < 47);
        }
    }
    assert_true(limited > 30);
    ask(strict, &r, "GET", "/v1/whoami", strict->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    ask(strict, &r, "GET", "/metrics", strict->user.text, "", NULL);
    assert_contains(r.body, "\nhelio_http_tokens_refused_total 50\n");
    world_down(strict);
}

static void tokens__metrics_are_open_to_whom_the_setting_says(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/metrics", "", "", NULL);
    assert_int_equal(r.status, 401);
    ask(w, &r, "GET", "/metrics", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    world_t *local = world_up_with((helio_http_options_t){.metrics = HELIO_METRICS_LOOPBACK});
    ask(local, &r, "GET", "/metrics", "", "", NULL);
    assert_int_equal(r.status, 200);
    ask(local, &r, "GET", "/metrics", "", "X-Forwarded-For: 192.0.2.1\r\n", NULL);
    assert_int_equal(r.status, 401);
    ask(local, &r, "GET", "/v1/sites", "", "", NULL);
    assert_int_equal(r.status, 401);
    world_down(local);
    world_t *open = world_up_with((helio_http_options_t){.metrics = HELIO_METRICS_ANYONE});
    ask(open, &r, "GET", "/metrics", "", "X-Forwarded-For: 192.0.2.1\r\n", NULL);
    assert_int_equal(r.status, 200);
    world_down(open);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(token__that_is_asked_for_wrongly_is_not_issued),
        TEST(token__has_the_role_and_the_end_that_were_asked_for),
        TEST(token__that_could_not_be_stored_is_not_said),
        TEST(token__is_not_issued_to_a_disabled_user_and_says_how_to_enable),
        TEST(token__that_there_is_not_cannot_be_revoked),
        TEST(tokens__guesses_are_limited_and_a_valid_token_still_passes),
        TEST(tokens__metrics_are_open_to_whom_the_setting_says),
        cmocka_unit_test(table__admits_whom_the_last_row_of_a_token_admits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
