/*  test_connections.c -- connections: many requests, garbage, bodies beyond the bound. */
#include "tests/unit/broker/http/server_testing.h"

/* ---- connections --------------------------------------------------------------------------------------- */

static void http__a_connection_carries_many_requests_even_pipelined(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML, "run: echo one");
    client_ask(c, "GET", "/nowhere", "", "", NULL);
    const int expected[] = {200, 200, 201, 404};
    for (size_t i = 0; i < 4; i++) {
        assert_true(client_reply(c, &r));
        assert_int_equal(r.status, expected[i]);
    }
    client_down(c);
}

static void http__a_head_has_no_body(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "HEAD", "/healthz", "", "", NULL);
    assert_true(client_reply_to(c, &r, true));
    assert_int_equal(r.status, 200);
    client_ask(c, "HEAD", "/v1/events", w->user.text, "", NULL);
    assert_true(client_reply_to(c, &r, true));
    assert_int_equal(r.status, 405);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    assert_true(client_reply(c, &r)); /* bytes of a body would come first */
    assert_int_equal(r.status, 200);
    client_down(c);
}

static void http__garbage_affects_only_its_sender(void **state)
{
    (void)state;
    world_t *hasty = world_up_with((helio_http_options_t){.idle_timeout_ms = 1000}); /* some only end by it */
    char endless[100 << 10];
    memset(endless, 'a', sizeof endless);
    static const char tls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n";
    static const char *const texts[] = {
        "\r\n\r\n\r\n\r\nx", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] + 2; i++) {
        client_t *c = client_up(hasty);
        if (i == 0)
            client_send(c, tls, sizeof tls - 1);
        else if (i == 1)
            client_send(c, endless, sizeof endless);
        else
            client_send(c, texts[i - 2], strlen(texts[i - 2]));
        (void)shutdown(c->fd, SHUT_WR);
        while (client_receive(c)) /* whatever it says, it ends */
            c->size = 0;
        client_down(c);
    }
    ask(hasty, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(hasty->events, 0);
    world_down(hasty);
}

static void http__a_client_that_leaves_while_it_waits_leaks_nothing(void **state)
{
    (void)state;
    w->hold = true;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    world_await_held(w);
    client_down(c);
    world_reply(w);
    w->hold = false;
    ask(w, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
}

static void http__a_body_beyond_the_bound_is_not_read(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML "Content-Length: 99999999\r\n", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 413);
    assert_string_equal(reply_header(&r, "Connection"), "close");
    client_down(c);
}

static void http__a_chunked_body_beyond_the_bound_is_refused(void **state)
{
    (void)state;
    world_t *small = world_up_with((helio_http_options_t){.body_max = 1000});
    client_t *c = client_up(small);
    char piece[600 + 32];
    memset(piece, '#', sizeof piece);
    client_ask(c, "POST", "/v1/jobs", small->user.text, YAML "Transfer-Encoding: chunked\r\n", NULL);
    for (int i = 0; i < 4; i++) {
        client_send(c, "258\r\n", 5);
        client_send(c, piece, 600);
        client_send(c, "\r\n", 2);
    }
    client_send(c, "0\r\n\r\n", 5);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 413);
    client_down(c);
    world_down(small);
}

static void http__a_refused_body_of_moderate_size_keeps_the_connection(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", "", YAML, "run: GET /evil HTTP/1.1\r\n\r\n");
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 401);
    client_ask(c, "DELETE", "/v1/nowhere", "", JSON, "GET /evil HTTP/1.1\r\n\r\n");
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 404);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    assert_true(client_is_silent(c)); /* the bodies were not taken for requests */
    client_down(c);
}

static void http__bodies_of_all_requests_together_are_bounded(void **state)
{
    (void)state;
    world_t *small = world_up_with((helio_http_options_t){.bodies_max = 100});
    char body[300];
    memset(body, '#', sizeof body);
    body[sizeof body - 1] = '\0';
    ask(small, &r, "POST", "/v1/jobs", small->user.text, YAML, body);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "\"reason\":\"Busy\"");
    ask(small, &r, "POST", "/v1/jobs", small->user.text, YAML, "run: echo");
    assert_int_equal(r.status, 201); /* the refused ones were given back */
    world_down(small);
}

/* ---- the head of a request ------------------------------------------------------------------------------- */

/*  Sends the bytes on a connection of its own. False: it was closed without an answer. */
static bool answered(const char *bytes, size_t size, bool *ret_closed)
{
    client_t *c = client_up(w);
    client_send(c, bytes, size);
    bool said = client_reply(c, &r);
    *ret_closed = !said || !client_receive(c);
    client_down(c);
    return said;
}

#define SENT(text)            \
    {                         \
        text, sizeof text - 1 \
    }

static void http__a_head_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(void **state)
{
    (void)state;
#define BODY "run: echo one"
#define POST "POST /v1/jobs HTTP/1.1\r\nHost: a\r\n"
    static const helio_text_t texts[] = {
        SENT(POST "Content-Length: 13\r\nContent-Length: 13\r\n\r\n" BODY),
        SENT(POST "Content-Length: 13\r\nContent-Length: 5\r\n\r\n" BODY),
        SENT(POST "Content-Length: 13, 13\r\n\r\n" BODY),
        SENT(POST "Content-Length: +13\r\n\r\n" BODY),
        SENT(POST "Content-Length: 0x0d\r\n\r\n" BODY),
        SENT(POST "Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SENT(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        SENT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SENT(POST "Transfer-Encoding: identity\r\n\r\n" BODY),
        SENT(POST "Transfer-Encoding: xchunked\r\n\r\n" BODY),
        SENT("POST /v1/jobs HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: a\x01"
             "b\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: a\0b\r\nX-B: c\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: a\0b\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nX-\0A: a\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost: \0\r\nX-A: a\r\n\r\n"),
        SENT("GET /healthz\0/v1/jobs HTTP/1.1\r\nHost: a\r\n\r\n"),
        SENT("GET /healthz\x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
        SENT("GET /healthz\x7f HTTP/1.1\r\nHost: a\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool closed;
        if (answered(texts[i].data, texts[i].size, &closed) && r.status != 400)
            fail_msg("case %zu is answered with %d", i, r.status);
        if (!closed)
            fail_msg("case %zu keeps its connection", i);
    }
    assert_int_equal(w->events, 0);
}

static void http__a_head_of_any_ordinary_client_is_taken(void **state)
{
    (void)state;
    static const helio_text_t texts[] = {
        SENT("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\r\nHost:a\r\nAccept: */*  \r\nX-Empty:\r\nConnection: close\r\n\r\n"),
        SENT("GET /v1/jobs?limit=3&state=RUNNING HTTP/1.0\r\n\r\n"),
        SENT("GET /healthz HTTP/1.0\r\n\r\n"),
        SENT("GET /healthz HTTP/1.1\nHost: a\nConnection: close\n\n"),
        SENT(
            "GET /healthz HTTP/1.1\r\nHost: a\r\nCookie: a=b; c=\"d\"\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool closed;
        if (!answered(texts[i].data, texts[i].size, &closed) || (r.status != 200 && r.status != 401))
            fail_msg("case %zu is answered with %d", i, r.status);
    }
}

static void http__headers_that_never_end_are_not_waited_for(void **state)
{
    (void)state;
    world_t *hasty = world_up_with((helio_http_options_t){.headers_timeout_ms = 600, .idle_timeout_ms = 5000});
    client_t *slow = client_up(hasty), *mute = client_up(hasty), *fine = client_up(hasty);
    client_ask(fine, "GET", "/healthz", "", "", NULL);
    assert_true(client_reply(fine, &r));
    client_send(slow, "GET /healthz HTTP/1.1\r\n", 23);
    int64_t began_ms = helio_clock_boot_ms();
    struct pollfd fd = {.fd = slow->fd, .events = POLLIN};
    while (poll(&fd, 1, 100) == 0 && helio_clock_boot_ms() - began_ms < 10000)
        client_send(slow, "X", 1);
    assert_false(client_receive(slow));
    assert_false(client_receive(mute));
    assert_true(helio_clock_boot_ms() - began_ms < 4000);
    client_ask(fine, "GET", "/healthz", "", "", NULL); /* idle, and not late */
    assert_true(client_reply(fine, &r));
    assert_int_equal(r.status, 200);
    client_down(slow);
    client_down(mute);
    client_down(fine);
    world_down(hasty);
}

static void http__connections_without_a_request_make_room_for_others(void **state)
{
    (void)state;
    enum { PLACES = 16, HALF_OPEN = 40 };
    world_t *small =
        world_up_with((helio_http_options_t){.connections_max = PLACES, .per_address_max = PLACES, .threads = 1});
    client_t *half[HALF_OPEN];
    for (int i = 0; i < HALF_OPEN; i++) {
        half[i] = client_up(small);
        client_send(half[i], "GET /hea", 8);
    }
    client_t *c = client_up(small);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    client_down(c);
    for (int i = 0; i < HALF_OPEN; i++)
        client_down(half[i]);
    world_down(small);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__a_connection_carries_many_requests_even_pipelined),
        TEST(http__a_head_has_no_body),
        TEST(http__garbage_affects_only_its_sender),
        TEST(http__a_client_that_leaves_while_it_waits_leaks_nothing),
        TEST(http__a_body_beyond_the_bound_is_not_read),
        TEST(http__a_chunked_body_beyond_the_bound_is_refused),
        TEST(http__a_refused_body_of_moderate_size_keeps_the_connection),
        TEST(http__bodies_of_all_requests_together_are_bounded),
        TEST(http__a_head_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed),
        TEST(http__a_head_of_any_ordinary_client_is_taken),
        TEST(http__headers_that_never_end_are_not_waited_for),
        TEST(http__connections_without_a_request_make_room_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
