/*  test_hostile.c -- peers that are not who they should be, never read, or send too much. */
#include "tests/unit/federation/net/net_testing.h"

/* ---- the dialer's side --------------------------------------------------------------------------------- */

/*  A client of plain libzmq, with whatever a hostile one would set. */
static void *raw_client(world_t *world, void *context, int key, const char *routing_id)
{
    void *socket = zmq_socket(context, ZMQ_DEALER);
    int zero = 0, one = 1;
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, world->server_pair.public_key, 40), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, world->pairs[key].public_key, 40), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, world->pairs[key].secret_key, 40), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_RCVHWM, &one, sizeof one), 0);
    if (routing_id)
        assert_int_equal(zmq_setsockopt(socket, ZMQ_ROUTING_ID, routing_id, strlen(routing_id)), 0);
    assert_int_equal(zmq_connect(socket, helio_server_endpoint(world->server)), 0);
    return socket;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void net__an_unknown_key_gets_nothing(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t known = {0}, stranger = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    dial(world, &stranger, 1);
    UNTIL(world, stranger.failed >= 2); /* it tries again, in vain */
    assert_non_null(strstr(stranger.why, "does not know this key"));
    assert_int_equal(stranger.connected, 0);
    assert_int_equal(helio_dialer_send(stranger.dialer, HELIO_TEXT("x")), HELIO_UNAVAILABLE);
    connect_as(world, &known, 0); /* while it keeps trying, others are served */
    say(&known, "hello");
    UNTIL(world, world->heard_count);
    assert_string_equal(last_heard(world)->principal, "site:lulea");
    assert_true(counters(world).handshakes_refused >= 2);
    assert_int_equal(counters(world).handshakes_accepted, 1);
    allow(world, 1, "site:oregon"); /* let in at run time */
    UNTIL(world, stranger.connected);
}

static void net__a_revoked_key_is_cut_off_on_its_live_connection(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    connect_as(world, &a, 0);
    connect_as(world, &b, 1);
    say(&a, "before");
    UNTIL(world, world->heard_count == 1);
    uint64_t peer = last_heard(world)->peer;
    helio_server_revoke(world->server, helio_text_of(world->pairs[0].public_key));
    assert_int_equal(helio_server_send(world->server, peer, HELIO_TEXT("x")), HELIO_UNAVAILABLE);
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_peer, peer);
    assert_int_equal(world->gone_why, HELIO_GONE_REVOKED);
    assert_true(helio_dialer_is_connected(a.dialer)); /* the wire still is there … */
    say(&a, "after");
    UNTIL(world, counters(world).dropped_unknown == 1); /* … and leads nowhere */
    say(&b, "b");
    UNTIL(world, world->heard_count == 2);
    assert_string_equal(last_heard(world)->frame, "b");
    assert_int_equal(a.received, 0);
}

static void net__a_key_may_be_revoked_while_its_message_is_handled(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    world->revoke_on_message = true;
    say(&a, "one");
    say(&a, "two");
    UNTIL(world, world->gone_count && counters(world).dropped_unknown == 1);
    assert_int_equal(world->heard_count, 1);
}

static void net__another_principal_for_a_key_ends_its_peers(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    allow(world, 0, "site:lulea"); /* the same again: no change */
    connect_as(world, &a, 0);
    connect_as(world, &b, 1);
    say(&a, "1");
    say(&b, "1");
    UNTIL(world, world->heard_count == 2);
    helio_grant_t grants[] = {
        {helio_text_of(world->pairs[0].public_key), HELIO_TEXT("site:kiruna")},
        {helio_text_of(world->pairs[1].public_key), HELIO_TEXT("site:oregon")},
        {helio_text_of(world->pairs[2].public_key), HELIO_TEXT("")},
    };
    assert_int_equal(helio_server_replace(world->server, grants, 3, NULL), HELIO_INVALID);
    turn(world, 0);
    assert_int_equal(world->gone_count, 0); /* a bad table changes nothing */
    assert_int_equal(helio_server_replace(world->server, grants, 2, NULL), HELIO_OK);
    UNTIL(world, world->gone_count);
    say(&a, "2");
    UNTIL(world, world->heard_count == 3);
    assert_string_equal(last_heard(world)->principal, "site:kiruna");
    assert_true(last_heard(world)->peer != world->gone_peer);
    assert_int_equal(helio_server_replace(world->server, grants, 1, NULL), HELIO_OK); /* b is not named */
    UNTIL(world, world->gone_count == 2);
    say(&b, "3");
    UNTIL(world, counters(world).dropped_unknown == 1);
}

static void net__a_key_with_too_many_connections_loses_the_most_silent_one(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t clients[3] = {0};
    options.peers_per_key = 2;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    for (int i = 0; i < 3; i++) {
        connect_as(world, &clients[i], 0);
        say(&clients[i], "x");
        UNTIL(world, world->heard_count == (size_t)i + 1);
    }
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_why, HELIO_GONE_CROWDED);
    assert_int_equal(world->gone_peer, world->heard[0].peer);
    assert_int_equal(counters(world).peers, 2);
}

static void net__a_silent_peer_is_declared_gone(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    options.idle_ms = 20;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    say(&a, "x");
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_why, HELIO_GONE_IDLE);
    uint64_t former = world->gone_peer;
    say(&a, "y"); /* speaks again: as a new peer */
    UNTIL(world, world->heard_count == 2);
    assert_true(last_heard(world)->peer > former);
}

static void net__frames_beyond_the_maximum_do_not_pass(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    enum { HUGE_FRAME = 80 << 10 };
    char *big = helio_new(HUGE_FRAME, 1);
    helio_text_t most = {big, 64 << 10}, more = {big, (64 << 10) + 1};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    connect_as(world, &a, 0);
    assert_int_equal(helio_dialer_send(a.dialer, more), HELIO_TOO_BIG);
    assert_int_equal(helio_dialer_send(a.dialer, HELIO_TEXT("")), HELIO_INVALID);
    assert_int_equal(helio_dialer_send(a.dialer, most), HELIO_OK);
    UNTIL(world, world->heard_count);
    assert_int_equal(last_heard(world)->size, most.size);
    assert_int_equal(helio_server_send(world->server, last_heard(world)->peer, more), HELIO_TOO_BIG);
    assert_int_equal(helio_server_send(world->server, last_heard(world)->peer, HELIO_TEXT("")),
                     HELIO_INVALID);
    /* A client without such manners. A little too much is dropped … */
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 1, NULL);
    assert_int_equal(zmq_send(raw, big, more.size, 0), more.size);
    assert_int_equal(zmq_send(raw, "first", 5, 0), 5);
    UNTIL(world, world->heard_count == 2);
    assert_int_equal(counters(world).dropped_big, 1);
    /* … and much too much is not even read: it has to connect anew. */
    uint64_t former = last_heard(world)->peer;
    assert_int_equal(zmq_send(raw, big, HUGE_FRAME, 0), HUGE_FRAME);
    char text[16];
    for (int i = 0; world->heard_count < 3; i++) {
        int size = snprintf(text, sizeof text, "next %d", i);
        (void)zmq_send(raw, text, (size_t)size, ZMQ_DONTWAIT);
        turn(world, 20);
        assert_true(i < LIMIT_MS / 20);
    }
    assert_true(last_heard(world)->peer != former);
    for (size_t i = 0; i < world->heard_count; i++)
        assert_true(world->heard[i].size <= most.size);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
    free(big);
}

static void net__a_peer_that_never_reads_is_declared_gone_while_others_are_served(void **state)
{
    enum { FRAME = 16 << 10 };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t good = {0};
    char *data = helio_new(FRAME, 1);
    options.queue_messages = 4;
    options.outbox_max_messages = 64;
    start_server(world, &options);
    allow(world, 0, "site:deaf");
    allow(world, 1, "site:good");
    connect_as(world, &good, 1);
    say(&good, "hello");
    UNTIL(world, world->heard_count == 1);
    uint64_t good_peer = last_heard(world)->peer;
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 0, NULL);
    assert_int_equal(zmq_send(raw, "hello", 5, 0), 5);
    UNTIL(world, world->heard_count == 2);
    uint64_t deaf = last_heard(world)->peer;
    helio_rc rc = HELIO_OK;
    int sent = 0;
    for (; !rc && sent < 100000; sent++) {
        rc = helio_server_send(world->server, deaf, (helio_text_t){data, FRAME});
        assert_true(counters(world).outbox_messages <= 64);
        if (sent % 16 == 0) {
            size_t received = good.received;
            assert_int_equal(helio_server_send(world->server, good_peer, HELIO_TEXT("ping")), HELIO_OK);
            UNTIL(world, good.received == received + 1);
        }
    }
    assert_int_equal(rc, HELIO_UNAVAILABLE);
    assert_true(sent > 64);
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_peer, deaf);
    assert_int_equal(world->gone_why, HELIO_GONE_OVERFLOW);
    assert_int_equal(counters(world).outbox_messages, 0);
    assert_int_equal(counters(world).outbox_bytes, 0);
    assert_true(counters(world).queued >= 64);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
    free(data);
}

static void net__a_slow_reader_gets_everything_in_order_from_its_outbox(void **state)
{
    enum { FRAME = 16 << 10, COUNT = 1500 };
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    options.queue_messages = 4;
    options.outbox_max_bytes = 64 << 20;
    start_server(world, &options);
    allow(world, 0, "site:slow");
    void *context = zmq_ctx_new(), *raw = raw_client(world, context, 0, NULL);
    assert_int_equal(zmq_send(raw, "hello", 5, 0), 5);
    UNTIL(world, world->heard_count);
    uint32_t *data = helio_new(FRAME / 4, 4);
    for (uint32_t i = 0; i < COUNT; i++) {
        data[0] = i;
        assert_int_equal(
            helio_server_send(world->server, last_heard(world)->peer, (helio_text_t){(char *)data, FRAME}),
            HELIO_OK);
    }
    assert_true(counters(world).outbox_messages > 0);
    int64_t end_ms = helio_clock_boot_ms() + LIMIT_MS;
    for (uint32_t expected = 0; expected < COUNT;) {
        assert_true(helio_clock_boot_ms() < end_ms);
        if (zmq_recv(raw, data, FRAME, ZMQ_DONTWAIT) == FRAME)
            assert_int_equal(data[0], expected++);
        else
            turn(world, 5);
    }
    UNTIL(world, counters(world).outbox_messages == 0);
    assert_int_equal(counters(world).sent, COUNT);
    assert_int_equal(world->gone_count, 0);
    (void)zmq_close(raw);
    (void)zmq_ctx_term(context);
    free(data);
}

static void net__multi_part_messages_and_chosen_routing_ids_are_dropped(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    void *context = zmq_ctx_new(), *parts = raw_client(world, context, 0, NULL);
    void *named = raw_client(world, context, 0, "site-b");
    assert_int_equal(zmq_send(parts, "a", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(parts, "b", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(parts, "c", 1, 0), 1);
    assert_int_equal(zmq_send(parts, "single", 6, 0), 6);
    assert_int_equal(zmq_send(named, "x", 1, 0), 1);
    UNTIL(world, world->heard_count && counters(world).dropped_named);
    assert_string_equal(last_heard(world)->frame, "single");
    assert_int_equal(world->heard_count, 1);
    assert_int_equal(counters(world).dropped_multipart, 1);
    assert_int_equal(counters(world).dropped_named, 1);
    (void)zmq_close(parts);
    (void)zmq_close(named);
    (void)zmq_ctx_term(context);
}

static void net__a_client_without_curve_gets_nothing(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    int zero = 0;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    void *context = zmq_ctx_new(), *plain = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(plain, ZMQ_LINGER, &zero, sizeof zero), 0);
    assert_int_equal(zmq_connect(plain, helio_server_endpoint(world->server)), 0);
    assert_int_equal(zmq_send(plain, "x", 1, 0), 1);
    connect_as(world, &a, 0);
    for (int i = 0; i < 10; i++) {
        say(&a, "y");
        UNTIL(world, world->heard_count == (size_t)i + 1);
        assert_string_equal(last_heard(world)->frame, "y");
    }
    (void)zmq_close(plain);
    (void)zmq_ctx_term(context);
}

/*  An argument is a pattern of test names. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(net__an_unknown_key_gets_nothing),
        TEST(net__a_revoked_key_is_cut_off_on_its_live_connection),
        TEST(net__a_key_may_be_revoked_while_its_message_is_handled),
        TEST(net__another_principal_for_a_key_ends_its_peers),
        TEST(net__a_key_with_too_many_connections_loses_the_most_silent_one),
        TEST(net__a_silent_peer_is_declared_gone),
        TEST(net__frames_beyond_the_maximum_do_not_pass),
        TEST(net__a_peer_that_never_reads_is_declared_gone_while_others_are_served),
        TEST(net__a_slow_reader_gets_everything_in_order_from_its_outbox),
        TEST(net__multi_part_messages_and_chosen_routing_ids_are_dropped),
        TEST(net__a_client_without_curve_gets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
