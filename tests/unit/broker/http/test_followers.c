/*  test_followers.c -- a server whose broker does not lead: what it answers itself, what it forwards, and what it
 *  refuses. */
#include "tests/unit/broker/http/follower_testing.h"

#include "broker/http/request/leadership.h"

/*  Everything that changes something, and what only the core knows, goes to the leader; nothing else does. */
static void follower__forwards_what_only_the_leader_can_do(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    uint32_t forwarded = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        char text[128];
        const char *target = some_target_of(route, text), *body = route->body == HELIO_BODY_NONE ? NULL : "{\"a\": 1}";
        const char *type = route->body == HELIO_BODY_BYTES ? "Content-Type: application/octet-stream\r\n" : JSON;
        bool wanted = strcmp(route->method, "GET") != 0 || strstr(route->pattern, "/explain") ||
                      strstr(route->pattern, "/plan") || strstr(route->pattern, "/desired") ||
                      strstr(route->pattern, "/output");
        w->forwarded = (forwarded_t){.status = 202, .answer = "{\"of\": \"the leader\"}"};
        w->events = 0;
        ask(w, &r, route->method, target, w->admin.text, body ? type : "", body);
        if (w->forwarded.count != wanted || w->events)
            fail_msg("%s %s: %u forwards, %u events", route->method, target, w->forwarded.count, w->events);
        if (!wanted)
            continue;
        forwarded++;
        assert_int_equal(r.status, 202);
        assert_non_null(strstr(r.head, "Heliostat-Broker: leader\r\n"));
        assert_string_equal(r.body, w->forwarded.answer);
        assert_string_equal(w->forwarded.method, route->method);
        assert_string_equal(w->forwarded.base, LEADER);
        assert_string_equal(w->forwarded.target, target);
        bool of_channel = strstr(target, "/v1/channels/") != NULL;
        assert_int_equal(w->forwarded.kind, of_channel ? HELIO_FORWARD_CHANNEL : HELIO_FORWARD_REQUEST);
        assert_string_equal(w->forwarded.credential, w->admin.text);
        assert_string_equal(w->forwarded.body, body ? body : "");
    }
    assert_true(forwarded > 20);
}

static void follower__forwards_query_key_and_type_as_received(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML "Idempotency-Key: k-1\r\n", "run: echo\n");
    assert_string_equal(w->forwarded.key, "k-1");
    assert_string_equal(w->forwarded.content_type, "application/yaml");
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON "Idempotency-Key: k-1\r\n", "{}");
    assert_string_equal(w->forwarded.target, "/v1/tokens");
    assert_string_equal(w->forwarded.key, ""); /* there a key prevents no second token: nothing is sent twice for it */
    ask(w, &r, "DELETE", "/v1/links?from=a%20b&to=c", w->operator_.text, "", NULL);
    assert_string_equal(w->forwarded.target, "/v1/links?from=a%20b&to=c");
    ask(w, &r, "GET", "/v1/jobs/abcdef/plan?carbon=9&wait=0.1", w->user.text, "", NULL);
    assert_string_equal(w->forwarded.target, "/v1/jobs/abcdef/plan?carbon=9&wait=0.1");
    assert_string_equal(w->forwarded.key, "");
}

/*  It is no way around the leader's door, nor to anything but what the table of routes has. */
static void follower__forwards_nothing_of_a_caller_who_may_not(void **state)
{
    (void)state;
    char wrong[sizeof w->user.text];
    memcpy(wrong, w->user.text, sizeof wrong);
    wrong[sizeof wrong - 2] = wrong[sizeof wrong - 2] == 'a' ? 'b' : 'a';
    const struct {
        const char *method, *target, *token;
        int status;
    } cases[] = {
        {"POST", "/v1/jobs", "", 401},
        {"POST", "/v1/jobs", wrong, 401},
        {"POST", "/v1/tokens", w->user.text, 403},
        {"POST", "/v2/jobs", w->admin.text, 404},
        {"POST", "/v1/jobs?x=1", w->admin.text, 400},
        {"POST", "/v1/../jobs", w->admin.text, 400},
    };
    pthread_t looks = looks_begin();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask(w, &r, cases[i].method, cases[i].target, cases[i].token, JSON, "{}");
        assert_int_equal(r.status, cases[i].status);
        assert_non_null(strstr(r.head, "Heliostat-Broker: follower\r\n"));
    }
    assert_int_equal(w->forwarded.count, 0);
    world_put_token(w, &w->user, "acme", "user", 0, 7); /* revoked: the follower's look told so */
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, "{}");
    assert_int_equal(r.status, 401);
    assert_int_equal(w->forwarded.count, 0);
    looks_stop(looks);
}

static void follower__passes_every_answer_and_names_each_failure(void **state)
{
    (void)state;
    const struct {
        helio_rc rc;
        uint32_t status, said_s;
        int wanted;
        const char *says, *retry;
    } cases[] = {
        {HELIO_OK, 409, 0, 409, "of the leader", NULL},
        {HELIO_OK, 503, 0, 503, "of the leader", "2"},
        {HELIO_OK, 429, 42, 429, "of the leader", "42"},
        {HELIO_UNAVAILABLE, 0, 0, 503, "BrokerUnavailable", "2"}, /* nothing was sent: safe to ask again */
        {HELIO_TIMEOUT, 0, 0, 504, "ReplyLate", NULL},            /* whether it was done is unknown */
        {HELIO_BUSY, 0, 0, 429, "BrokerBusy", "1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        w->forwarded = (forwarded_t){.rc = cases[i].rc,
                                     .status = cases[i].status,
                                     .retry_after_s = cases[i].said_s,
                                     .type = "application/problem+json",
                                     .answer = "{\"detail\": \"of the leader\"}"};
        ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
        assert_int_equal(r.status, cases[i].wanted);
        assert_non_null(strstr(r.body, cases[i].says));
        assert_non_null(strstr(r.head, "Content-Type: application/problem+json\r\n"));
        const char *retry = reply_header(&r, "Retry-After");
        assert_int_equal(retry != NULL, cases[i].retry != NULL);
        if (retry)
            assert_string_equal(retry, cases[i].retry);
    }
}

/*  Two brokers that take each other for the leader do not send a request to and fro. */
static void follower__forwards_no_request_that_was_forwarded(void **state)
{
    (void)state;
    w->reply_rc = HELIO_UNAVAILABLE; /* as the engine of a broker that does not lead */
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML "Heliostat-Forwarded: 1\r\n", "run: echo\n");
    assert_int_equal(r.status, 503);
    assert_int_equal(w->forwarded.count, 0);
    world_follow(w, "", 0); /* a leader that does not say where it is */
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 503);
    assert_int_equal(w->forwarded.count, 0);
}

static void follower__that_takes_over_forwards_no_more(void **state)
{
    (void)state;
    w->listener.on_following(w->listener.arg, NULL); /* about to lead: the engine answers when it has loaded */
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 201);
    w->listener.on_leading(w->listener.arg);
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    assert_int_equal(r.status, 201);
    assert_non_null(strstr(r.head, "Heliostat-Broker: leader\r\n"));
    assert_int_equal(w->forwarded.count, 0);
    assert_int_equal(w->events, 2);
}

static void follower__says_that_it_is_ready_to_forward(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/readyz", "", "", NULL);
    assert_int_equal(r.status, 503); /* exactly one broker is ready */
    ask(w, &r, "GET", "/readyz?role=leader", "", "", NULL);
    assert_int_equal(r.status, 503);
    await_readiness(200);
    assert_string_equal(r.body, "following\n");
    ask(w, &r, "GET", "/readyz?role=none", "", "", NULL);
    assert_int_equal(r.status, 400);
    world_follow(w, "", 0);
    ask(w, &r, "GET", "/readyz?role=any", "", "", NULL);
    assert_int_equal(r.status, 503);
}

static void follower__says_who_leads(void **state)
{
    (void)state;
    script_read(w, "read_leader", HELIO_OK, "{\"leader\": \"north/7\", \"epoch\": 3, \"since\": null}");
    await_readiness(200);
    ask(w, &r, "GET", "/v1/broker", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "\"role\":\"follower\""));
    assert_non_null(strstr(r.body, "\"forwards\":true"));
    assert_non_null(strstr(r.body, "north/7"));
    w->listener.on_leading(w->listener.arg);
    ask(w, &r, "GET", "/v1/broker", w->user.text, "", NULL);
    assert_non_null(strstr(r.body, "\"role\":\"leader\""));
    assert_non_null(strstr(r.body, "\"forwards\":false"));
}

/* ---- logs: a follower does everything itself but ask the site ------------------------------------------------ */

#define WHERE                                                                                                         \
    "{\"id\": \"01hwaw0000e008000000000001\", \"array\": false, \"first\": null, \"site\": \"lulea\", \"epoch\": 2, " \
    "\"state\": \"succeeded\"}"

static void follower__reads_a_log_piece_by_piece_through_the_leader(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, WHERE);
    w->forwarded = (forwarded_t){.piece = "7 1", .type = "text/plain; charset=utf-8", .answer = "the end\n"};
    ask(w, &r, "GET", "/v1/jobs/abcdef/logs?offset=7", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "the end\n"));
    assert_non_null(strstr(r.head, "Heliostat-Broker: follower\r\n"));
    assert_string_equal(w->forwarded.target, "/v1/jobs/01hwaw0000e008000000000001/logs?epoch=2&offset=7");
    assert_int_equal(w->forwarded.count, 1);
    assert_int_equal(w->forwarded.kind, HELIO_FORWARD_LOG); /* so that it takes no place of a submission */
    const struct {
        uint32_t leaders;
        int wanted;
    } cases[] = {{404, 404}, {503, 503}, {401, 503}, {429, 429}, {504, 504}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        w->forwarded = (forwarded_t){.status = cases[i].leaders};
        ask(w, &r, "GET", "/v1/jobs/abcdef/logs", w->user.text, "", NULL);
        assert_int_equal(r.status, cases[i].wanted);
    }
}

static void leader__sends_a_follower_one_piece_of_a_log(void **state)
{
    (void)state;
    w->listener.on_leading(w->listener.arg);
    script_read(w, "read_attempt_where", HELIO_OK, WHERE);
    for (int ends = 0; ends < 2; ends++) {
        w->log_pieces[0] = "first\n";
        w->log_pieces[1] = "second\n";
        w->log_ends[0] = ends;
        w->log_count = 2;
        w->log_next = 0;
        ask(w, &r, "GET", "/v1/jobs/abcdef/logs?epoch=2&offset=9", w->user.text, "Heliostat-Forwarded: 1\r\n", NULL);
        assert_int_equal(r.status, 200);
        assert_non_null(strstr(r.body, "first\n"));
        assert_null(strstr(r.body, "second\n"));
        assert_non_null(strstr(r.head, ends ? "Heliostat-Log-Piece: 9 1\r\n" : "Heliostat-Log-Piece: 9 0\r\n"));
    }
}

/* ---- where the leader is, and whether it is there ------------------------------------------------------------- */

/*  Two brokers with one address, a proxy for all of them, a leader that stands still: what does not arrive is not
 *  sent, and whoever watches learns why. */
static void follower__says_why_it_does_not_reach_the_leader(void **state)
{
    (void)state;
    const struct {
        const char *found;
        helio_rc rc;
        const char *says;
    } cases[] = {
        {"itself", HELIO_OK, "LeaderIsItself"},
        {"", HELIO_OK, "LeaderNoBroker"},
        {"", HELIO_UNAVAILABLE, "LeaderSilent"},
        {"", HELIO_TIMEOUT, "LeaderSilent"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world_down(w);
        (void)up(state);
        w->found = cases[i].found;
        w->probe_rc = cases[i].rc;
        world_follow(w, LEADER, 0);
        ask(w, &r, "GET", "/readyz?role=any", "", "", NULL);
        assert_int_equal(r.status, 503); /* also before the first answer */
        for (int tries = 0; tries < 500 && !strstr(r.body, cases[i].says); tries++) {
            await_readiness(503);
            (void)poll(NULL, 0, 10);
        }
        assert_contains(r.body, cases[i].says);
        assert_contains(r.body, LEADER);
        ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
        assert_int_equal(r.status, 503);
        assert_contains(r.head, "Retry-After: ");
        assert_contains(r.body, cases[i].says);
        assert_int_equal(w->forwarded.count, 0);
        script_read(w, "read_leader", HELIO_OK, "{\"leader\": \"north/7\"}");
        ask(w, &r, "GET", "/v1/broker", w->user.text, "", NULL); /* what the database answers does not wait */
        assert_int_equal(r.status, 200);
        assert_contains(r.body, "\"forwards\":false");
    }
    w->probe_rc = HELIO_OK;
    w->found = "leader";
    await_readiness(200);
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    assert_int_equal(w->forwarded.count, 1);
}

/*  It has the lock and loads: it answers as a follower, and holds what is forwarded to it. */
static void follower__waits_for_a_leader_that_takes_over(void **state)
{
    (void)state;
    w->found = "follower";
    await_readiness(200);
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    assert_int_equal(w->forwarded.count, 1);
}

static void follower__asks_again_and_again_whether_the_leader_is_there(void **state)
{
    (void)state;
    await_readiness(200);
    uint32_t probes = w->probes;
    w->probe_rc = HELIO_BUSY; /* the forwarder takes no more: the leader is there all the same */
    for (int64_t until_ms = helio_clock_boot_ms() + CLIENT_TIMEOUT_MS;
         w->probes == probes && helio_clock_boot_ms() < until_ms; (void)poll(NULL, 0, 20))
        world_follow(w, LEADER, 0);
    assert_true(w->probes > probes);
    await_readiness(200);
    w->probe_rc = HELIO_OK;
    probes = w->probes;
    pthread_t looks = looks_begin();
    (void)poll(NULL, 0, 3000);
    looks_stop(looks);
    assert_in_range(w->probes - probes, 2, 4);
    w->listener.on_following(w->listener.arg, NULL); /* about to lead: nobody is asked any more */
    probes = w->probes;
    (void)poll(NULL, 0, 1500);
    assert_in_range(w->probes - probes, 0, 1);
}

/*  What a broker answers that gets its own request back. */
static void broker__knows_its_own_requests(void **state)
{
    (void)state;
    char mine[80];
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    assert_int_equal(strlen(w->forwarded.instance), 16);
    assert_string_equal(w->forwarded.tenant, "acme");
    (void)snprintf(mine, sizeof mine, "Heliostat-Forwarded: %s\r\n", w->forwarded.instance);
    ask(w, &r, "GET", "/healthz", "", mine, NULL);
    assert_contains(r.head, "Heliostat-Broker: itself\r\n");
    ask(w, &r, "GET", "/healthz", "", "Heliostat-Forwarded: 0123456789abcdef\r\n", NULL);
    assert_contains(r.head, "Heliostat-Broker: follower\r\n");
    w->listener.on_leading(w->listener.arg);
    ask(w, &r, "GET", "/healthz", "", mine, NULL);
    assert_contains(r.head, "Heliostat-Broker: leader\r\n");
}

/* ---- who leads, and for how long that is believed ------------------------------------------------------------ */

static void leadership__is_believed_for_a_few_seconds(void **state)
{
    (void)state;
    enum { NOW = 1000000 };
    helio_leadership_t *self = helio_leadership_new();
    assert_null(helio_leadership_other(self, NOW));
    assert_false(helio_leadership_is_blind(self, NOW)); /* it is starting: no token is known */
    helio_leader_t leader = {.name = "north/7", .http = LEADER "//", .epoch = 3};
    helio_leadership_follow(self, &leader, NOW);
    const helio_leader_view_t *first = helio_leadership_other(self, NOW + HELIO_FOLLOWING_FRESH_MS);
    assert_non_null(first);
    assert_string_equal(first->http, LEADER);
    assert_null(helio_leadership_other(self, NOW + HELIO_FOLLOWING_FRESH_MS + 1));
    assert_true(helio_leadership_is_blind(self, NOW + HELIO_FOLLOWING_FRESH_MS + 1));
    helio_leadership_follow(self, &leader, NOW + 9000);
    assert_ptr_equal(helio_leadership_other(self, NOW + 9000), first); /* no memory for each look */
    leader.epoch = 4;
    helio_leadership_follow(self, &leader, NOW + 9000);
    assert_int_equal(helio_leadership_other(self, NOW + 9000)->epoch, 4);
    assert_int_equal(first->epoch, 3); /* whoever holds it can go on reading */
    helio_leadership_follow(self, NULL, NOW + 9000);
    assert_null(helio_leadership_other(self, NOW + 9000));
    assert_false(helio_leadership_leads(self));
    helio_leadership_lead(self);
    assert_true(helio_leadership_leads(self));
    assert_false(helio_leadership_is_blind(self, INT64_MAX));
    helio_leadership_destroy(&self);
}

static void leadership__half_an_address_is_none(void **state)
{
    (void)state;
    char http[400] = "http://";
    memset(http + 7, 'x', sizeof http - 8);
    helio_leadership_t *self = helio_leadership_new();
    helio_leadership_follow(self, &(helio_leader_t){.name = "n", .http = http, .epoch = 1}, 5);
    assert_string_equal(helio_leadership_other(self, 5)->http, "");
    helio_leadership_destroy(&self);
}

static void follower__whose_look_is_old_opens_nothing(void **state)
{
    (void)state;
    helio_leader_t leader = {.name = "north/7", .http = LEADER, .epoch = 3};
    helio_leadership_follow(((struct helio_http *)w->http)->leadership, &leader,
                            helio_clock_boot_ms() - HELIO_FOLLOWING_FRESH_MS - 1);
    ask(w, &r, "GET", "/v1/whoami", w->user.text, "", NULL); /* it could have been revoked since */
    assert_int_equal(r.status, 503);
    assert_non_null(strstr(r.body, "TokensNotLoaded"));
    ask(w, &r, "GET", "/v1/whoami", "hel_a_b", "", NULL); /* and this one issued */
    assert_int_equal(r.status, 503);
    ask(w, &r, "GET", "/readyz?role=any", "", "", NULL);
    assert_int_equal(r.status, 503);
    world_follow(w, LEADER, 0);
    ask(w, &r, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
}

int main(void)
{
#define FOLLOWS(test) cmocka_unit_test_setup_teardown(test, up_following, down)
#define STARTS(test) cmocka_unit_test_setup_teardown(test, up, down)
    const struct CMUnitTest tests[] = {
        FOLLOWS(follower__forwards_what_only_the_leader_can_do),
        FOLLOWS(follower__forwards_query_key_and_type_as_received),
        FOLLOWS(follower__forwards_nothing_of_a_caller_who_may_not),
        FOLLOWS(follower__passes_every_answer_and_names_each_failure),
        FOLLOWS(follower__forwards_no_request_that_was_forwarded),
        FOLLOWS(follower__that_takes_over_forwards_no_more),
        FOLLOWS(follower__says_that_it_is_ready_to_forward),
        FOLLOWS(follower__says_who_leads),
        FOLLOWS(follower__reads_a_log_piece_by_piece_through_the_leader),
        STARTS(leader__sends_a_follower_one_piece_of_a_log),
        cmocka_unit_test(leadership__is_believed_for_a_few_seconds),
        cmocka_unit_test(leadership__half_an_address_is_none),
        FOLLOWS(follower__whose_look_is_old_opens_nothing),
        FOLLOWS(follower__says_why_it_does_not_reach_the_leader),
        FOLLOWS(follower__waits_for_a_leader_that_takes_over),
        FOLLOWS(follower__asks_again_and_again_whether_the_leader_is_there),
        FOLLOWS(broker__knows_its_own_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
