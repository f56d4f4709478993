/*  test_follower_tokens.c -- a broker that follows, and tokens that it does not know yet or no longer has. */
#include "tests/unit/broker/http/follower_testing.h"

/*  One look later it is known; nobody is told meanwhile that it is wrong, and nobody is asked. */
static void follower__waits_for_its_next_look_before_it_refuses_a_token(void **state)
{
    (void)state;
    helio_token_fresh_t fresh = {0};
    client_t *c = client_up(w);
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    client_ask(c, "POST", "/v1/jobs", fresh.text, YAML, "run: echo\n");
    (void)poll(NULL, 0, 100);
    assert_int_equal(w->forwarded.count, 0);
    world_put_user(w, &fresh, "acme", "new");
    world_follow(w, LEADER, 0);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200); /* the stand-in's */
    assert_string_equal(w->forwarded.credential, fresh.text);
    assert_string_equal(w->forwarded.body, "run: echo\n");
    client_down(c);
    int64_t began_ms = helio_clock_boot_ms();
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    ask(w, &r, "POST", "/v1/jobs", fresh.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 503); /* no look came: it cannot know */
    assert_contains(r.body, "TokensNotLoaded");
    assert_in_range(helio_clock_boot_ms() - began_ms, 900, 5000);
    pthread_t looks = looks_begin();
    ask(w, &r, "GET", "/v1/whoami", fresh.text, "", NULL);
    assert_int_equal(r.status, 401);
    ask(w, &r, "POST", "/v1/jobs", fresh.text, YAML "Content-Length: 70000\r\nExpect: 100-continue\r\n", NULL);
    assert_int_equal(r.status, 401); /* of a stranger nothing is read */
    looks_stop(looks);
    assert_int_equal(w->forwarded.count, 1);
}

/*  However large its body is, which waits with it. */
static void follower__reads_a_large_body_once_its_token_is_proved(void **state)
{
    (void)state;
    helio_token_fresh_t fresh = {0};
    static char document[100000] = "run: echo\n#";
    memset(document + strlen(document), 'x', sizeof document - 1 - strlen(document));
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", fresh.text, YAML, document);
    (void)poll(NULL, 0, 100);
    assert_true(client_is_silent(c));
    world_put_user(w, &fresh, "acme", "new");
    world_follow(w, LEADER, 0);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200); /* the stand-in's */
    assert_string_equal(w->forwarded.credential, fresh.text);
    client_down(c);
}

/*  A guess costs what it cost before: some at once, and then few each second. */
static void follower__waits_for_no_more_guesses_than_it_answers(void **state)
{
    (void)state;
    uint32_t refused = 0, limited = 0;
    client_t *clients[60];
    helio_token_fresh_t fresh = {0};
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    pthread_t looks = looks_begin();
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 60; i++) {
            if (round == 0) {
                clients[i] = client_up(w);
                client_ask(clients[i], "GET", "/v1/whoami", fresh.text, "", NULL);
                continue;
            }
            assert_true(client_reply(clients[i], &r));
            refused += r.status == 401;
            limited += r.status == 429;
            client_down(clients[i]);
        }
    assert_int_equal(refused + limited, 60);
    assert_in_range(refused, 1, 30);
    int64_t began_ms = helio_clock_boot_ms();
    ask(w, &r, "GET", "/v1/whoami", "no-token", "", NULL);
    assert_in_range(helio_clock_boot_ms() - began_ms, 0, 5000);
    looks_stop(looks);
}

/*  The database went back to a time before it: a restore, or a promotion that lost commits. */
static void follower__forgets_a_token_that_the_database_has_no_more(void **state)
{
    (void)state;
    pthread_t looks = looks_begin();
    ask(w, &r, "GET", "/v1/whoami", w->other.text, "", NULL);
    assert_int_equal(r.status, 200);
    w->listener.on_access_begin(w->listener.arg);
    world_put_token(w, &w->user, "acme", "user", 0, 0);
    ask(w, &r, "GET", "/v1/whoami", w->other.text, "", NULL);
    assert_int_equal(r.status, 200); /* perhaps it comes yet */
    w->listener.on_access_end(w->listener.arg);
    ask(w, &r, "GET", "/v1/whoami", w->other.text, "", NULL);
    assert_int_equal(r.status, 401);
    ask(w, &r, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    world_put_token(w, &w->other, "globex", "user", 0, 0); /* the right copy came back after all */
    ask(w, &r, "GET", "/v1/whoami", w->other.text, "", NULL);
    assert_int_equal(r.status, 200);
    looks_stop(looks);
}

int main(void)
{
#define FOLLOWS(test) cmocka_unit_test_setup_teardown(test, up_following, down)
    const struct CMUnitTest tests[] = {
        FOLLOWS(follower__waits_for_its_next_look_before_it_refuses_a_token),
        FOLLOWS(follower__reads_a_large_body_once_its_token_is_proved),
        FOLLOWS(follower__waits_for_no_more_guesses_than_it_answers),
        FOLLOWS(follower__forgets_a_token_that_the_database_has_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
