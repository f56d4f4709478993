/*  Server and dialer against each other over loopback TCP with real CURVE, and the server against hostile
 * clients made of plain libzmq. One thread and one loop drive both sides; waiting means turning the loop
 * until a condition holds, with a limit that only a failure reaches. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/net/dialer.h"
#include "federation/net/server.h"

enum { LIMIT_MS = 20000, LOG_SIZE = 64, KEYS = 4 };

typedef struct heard {
    uint64_t peer;
    char principal[HELIO_PRINCIPAL_MAX + 1];
    char frame[64];
    uint32_t size;
} heard_t;

typedef struct world {
    helio_loop_t *loop;
    helio_net_t *net, *client_net;
    helio_server_t *server;
    helio_keypair_t server_pair, pairs[KEYS];
    heard_t heard[LOG_SIZE];
    size_t heard_count;
    uint64_t gone_peer;
    helio_gone_t gone_why;
    size_t gone_count;
    helio_dialer_t *dialers[32]; /* ended by the tear-down, also after a failure */
    size_t dialer_count;
    bool echo, revoke_on_message;
} world_t;

/* ---- the server's side
 * ----------------------------------------------------------------------------------------- */

static void on_server_message(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
{
    world_t *world = arg;
    heard_t *heard = &world->heard[world->heard_count++ % LOG_SIZE];
    heard->peer = peer;
    heard->size = frame.size;
    (void)helio_text_copy(principal, heard->principal, sizeof heard->principal);
    (void)helio_text_copy(frame, heard->frame, sizeof heard->frame);
    if (world->echo)
        assert_int_equal(helio_server_send(world->server, peer, frame), HELIO_OK);
    if (world->revoke_on_message) { /* the views must survive this */
        helio_server_revoke(world->server, helio_text_of(world->pairs[0].public_key));
        assert_true(helio_text_is(principal, heard->principal));
    }
}

static void on_server_gone(void *arg, uint64_t peer, helio_gone_t why)
{
    world_t *world = arg;
    world->gone_peer = peer;
    world->gone_why = why;
    world->gone_count++;
}

static const heard_t *last_heard(const world_t *world)
{
    assert_true(world->heard_count > 0);
    return &world->heard[(world->heard_count - 1) % LOG_SIZE];
}

static helio_server_options_t server_options(world_t *world)
{
    return (helio_server_options_t){.endpoint = "tcp://127.0.0.1:*",
                                    .secret_key = world->server_pair.secret_key,
                                    .frame_max_bytes = 64 << 10,
                                    .on_message = on_server_message,
                                    .on_gone = on_server_gone,
                                    .arg = world};
}

static void start_server(world_t *world, const helio_server_options_t *options)
{
    helio_error_t err = {0};
    if (!world->net)
        assert_int_equal(helio_net_new(0, &world->net, NULL), HELIO_OK);
    if (helio_server_new(world->net, world->loop, options, &world->server, &err))
        fail_msg("%s", err.text);
}

static void allow(world_t *world, int key, const char *principal)
{
    assert_int_equal(helio_server_allow(world->server, helio_text_of(world->pairs[key].public_key),
                                        helio_text_of(principal), NULL),
                     HELIO_OK);
}

static helio_server_counters_t counters(const world_t *world)
{
    helio_server_counters_t counters;
    helio_server_counters(world->server, &counters);
    return counters;
}

static int set_up(void **state)
{
    world_t *world = helio_new(1, sizeof *world);
    assert_int_equal(helio_loop_new(&world->loop, NULL), HELIO_OK);
    assert_int_equal(helio_net_new(0, &world->client_net, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_new(&world->server_pair, NULL), HELIO_OK);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(helio_keypair_new(&world->pairs[i], NULL), HELIO_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_t *world = *state;
    for (size_t i = 0; i < world->dialer_count; i++)
        helio_dialer_destroy(&world->dialers[i]);
    helio_server_destroy(&world->server);
    helio_net_destroy(&world->client_net);
    helio_net_destroy(&world->net);
    helio_loop_destroy(&world->loop);
    free(world);
    return 0;
}

static void turn(world_t *world, int64_t timeout_ms)
{
    assert_int_equal(helio_loop_turn(world->loop, timeout_ms, NULL), HELIO_OK);
}

/*  Turns the loop until the condition holds. */
#define UNTIL(world, condition)                              \
    do {                                                     \
        int64_t end_ms_ = helio_clock_boot_ms() + LIMIT_MS;  \
        while (!(condition)) {                               \
            if (helio_clock_boot_ms() > end_ms_)             \
                fail_msg("never came true: %s", #condition); \
            turn(world, 20);                                 \
        }                                                    \
    } while (0)

/* ---- the dialer's side
 * ----------------------------------------------------------------------------------------- */

typedef struct client {
    helio_dialer_t *dialer;
    size_t connected, disconnected, failed, received;
    char endpoint[256], why[256], frame[64];
    bool redial_on_message, hello;
    uint32_t redials; /* as many in a row */
} client_t;

static void on_message(void *arg, helio_text_t frame)
{
    client_t *client = arg;
    assert_true(client->connected > client->disconnected);
    client->received++;
    (void)helio_text_copy(frame, client->frame, sizeof client->frame);
    if (client->redial_on_message)
        helio_dialer_redial(client->dialer, "not the leader", client->redials);
}

static void on_connected(void *arg, const char *endpoint)
{
    client_t *client = arg;
    client->connected++;
    (void)helio_text_copy(helio_text_of(endpoint), client->endpoint, sizeof client->endpoint);
    if (client->hello)
        assert_int_equal(helio_dialer_send(client->dialer, HELIO_TEXT("hello")), HELIO_OK);
}

static void on_disconnected(void *arg, const char *why)
{
    client_t *client = arg;
    client->disconnected++;
    (void)helio_text_copy(helio_text_of(why), client->why, sizeof client->why);
}

static void on_failed(void *arg, const char *endpoint, const char *why)
{
    client_t *client = arg;
    client->failed++;
    (void)helio_text_copy(helio_text_of(endpoint), client->endpoint, sizeof client->endpoint);
    (void)helio_text_copy(helio_text_of(why), client->why, sizeof client->why);
}

static void dial_targets(world_t *world, client_t *client, int key, const helio_dialer_target_t *targets,
                         size_t count)
{
    helio_dialer_options_t options = {.targets = targets,
                                      .target_count = count,
                                      .secret_key = world->pairs[key].secret_key,
                                      .frame_max_bytes = 64 << 10,
                                      .backoff_min_ms = 2,
                                      .backoff_max_ms = client->redials ? 2000 : 20,
                                      .seed = 7,
                                      .on_message = on_message,
                                      .on_connected = on_connected,
                                      .on_disconnected = on_disconnected,
                                      .on_failed = on_failed,
                                      .arg = client};
    helio_error_t err = {0};
    if (helio_dialer_new(world->client_net, world->loop, &options, &client->dialer, &err))
        fail_msg("%s", err.text);
    assert_true(world->dialer_count < 32);
    world->dialers[world->dialer_count++] = client->dialer;
}

static void dial(world_t *world, client_t *client, int key)
{
    helio_dialer_target_t target = {helio_server_endpoint(world->server), world->server_pair.public_key};
    dial_targets(world, client, key, &target, 1);
}

static void connect_as(world_t *world, client_t *client, int key)
{
    dial(world, client, key);
    UNTIL(world, client->connected);
}

static void hang_up(world_t *world, client_t *client)
{
    for (size_t i = 0; i < world->dialer_count; i++)
        if (world->dialers[i] == client->dialer)
            world->dialers[i] = NULL;
    helio_dialer_destroy(&client->dialer);
}

static void say(client_t *client, const char *text)
{
    assert_int_equal(helio_dialer_send(client->dialer, helio_text_of(text)), HELIO_OK);
}

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

/* ---- tests
 * ----------------------------------------------------------------------------------------------------- */

static void net__frames_go_both_ways_under_the_principal_of_the_key(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    allow(world, 1, "site:oregon");
    connect_as(world, &a, 0);
    say(&a, "from a");
    UNTIL(world, a.received);
    assert_string_equal(last_heard(world)->principal, "site:lulea");
    assert_string_equal(a.frame, "from a");
    connect_as(world, &b, 1);
    say(&b, "from b");
    UNTIL(world, b.received);
    assert_string_equal(last_heard(world)->principal, "site:oregon");
    assert_string_equal(b.frame, "from b");
    assert_int_equal(a.received, 1);
    assert_int_equal(counters(world).peers, 2);
    assert_int_equal(counters(world).handshakes_accepted, 2);
    assert_int_equal(counters(world).sent, 2);
}

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

static void net__a_wrong_server_key_is_noticed_by_the_dialer(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t client = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    helio_dialer_target_t target = {helio_server_endpoint(world->server), world->pairs[3].public_key};
    dial_targets(world, &client, 0, &target, 1);
    UNTIL(world, client.failed);
    assert_int_equal(client.connected, 0);
    assert_non_null(strstr(client.why, "key"));
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

static void net__two_connections_of_one_key_are_two_peers_with_their_own_answers(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0}, b = {0};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    connect_as(world, &b, 0);
    say(&a, "a");
    UNTIL(world, a.received == 1);
    uint64_t first = last_heard(world)->peer;
    say(&b, "b");
    UNTIL(world, b.received == 1);
    assert_true(last_heard(world)->peer != first);
    assert_string_equal(a.frame, "a");
    assert_string_equal(b.frame, "b");
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

static void net__a_closed_connection_is_noticed_when_sending(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    say(&a, "x");
    UNTIL(world, world->heard_count);
    hang_up(world, &a);
    UNTIL(world,
          helio_server_send(world->server, world->heard[0].peer, HELIO_TEXT("y")) == HELIO_UNAVAILABLE);
    UNTIL(world, world->gone_count);
    assert_int_equal(world->gone_why, HELIO_GONE_UNREACHABLE);
    assert_int_equal(counters(world).peers, 0);
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

static void net__a_dialer_comes_back_after_the_server_restarts(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {.hello = true};
    char endpoint[256];
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    (void)helio_text_copy(helio_text_of(helio_server_endpoint(world->server)), endpoint, sizeof endpoint);
    connect_as(world, &a, 0);
    UNTIL(world, world->heard_count == 1);
    helio_server_destroy(&world->server);
    helio_net_destroy(&world->net);
    UNTIL(world, a.disconnected);
    assert_string_equal(a.why, "connection lost");
    assert_int_equal(helio_dialer_send(a.dialer, HELIO_TEXT("stale")), HELIO_UNAVAILABLE);
    UNTIL(world, a.failed >= 2);
    options.endpoint = endpoint;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    UNTIL(world, world->heard_count == 2);
    assert_int_equal(a.connected, 2);
    assert_string_equal(last_heard(world)->frame, "hello"); /* and nothing of what was refused above */
}

/*  A server that answers each time, and each time says no: its line is good, and still it is not to be asked all the
 *  time. */
static void net__a_dialer_that_is_sent_away_again_and_again_waits_longer(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {.hello = true, .redial_on_message = true, .redials = 10};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    helio_dialer_target_t target = {helio_server_endpoint(world->server), world->server_pair.public_key};
    dial_targets(world, &a, 0, &target, 1);
    UNTIL(world, a.disconnected == 1);
    int64_t left_ms = helio_clock_boot_ms();
    UNTIL(world, a.connected == 2);
    assert_true(helio_clock_boot_ms() - left_ms >= 500); /* half of 2 ms, nine times doubled */
}

static void net__a_dialer_goes_on_to_the_next_target_and_back(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {.hello = true, .redial_on_message = true};
    world->echo = true;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    /* Port 1 is closed: refused at once. */
    helio_dialer_target_t targets[] = {{"tcp://127.0.0.1:1", world->server_pair.public_key},
                                       {helio_server_endpoint(world->server), world->server_pair.public_key}};
    dial_targets(world, &a, 0, targets, 2);
    assert_string_equal(helio_dialer_endpoint(a.dialer), targets[0].endpoint);
    UNTIL(world, a.connected == 1);
    assert_string_equal(a.endpoint, targets[1].endpoint);
    assert_int_equal(a.failed, 1);
    UNTIL(world, a.disconnected == 1); /* the answer to its hello made it leave */
    assert_string_equal(a.why, "not the leader");
    UNTIL(world, a.connected == 2);
    assert_int_equal(a.failed, 2);
}

static void net__sending_is_busy_when_the_queue_is_full_and_recovers(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    client_t a = {0};
    helio_rc rc = HELIO_OK;
    uint32_t accepted = 0;
    char *data = helio_new(64 << 10, 1);
    options.queue_messages = 4;
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    connect_as(world, &a, 0);
    /* Nobody turns the loop meanwhile, so the server does not read. */
    while (!rc && accepted < 100000)
        if (!(rc = helio_dialer_send(a.dialer, (helio_text_t){data, 64 << 10})))
            accepted++;
    assert_int_equal(rc, HELIO_BUSY);
    assert_true(helio_dialer_is_connected(a.dialer));
    UNTIL(world, counters(world).received == accepted); /* busy loses nothing */
    assert_int_equal(helio_dialer_send(a.dialer, HELIO_TEXT("again")), HELIO_OK);
    UNTIL(world, counters(world).received == accepted + 1);
    assert_string_equal(last_heard(world)->frame, "again");
    free(data);
}

static void net__the_last_words_of_a_dialer_arrive(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    start_server(world, &options);
    allow(world, 0, "site:lulea");
    for (size_t i = 0; i < 20; i++) {
        client_t a = {0};
        connect_as(world, &a, 0);
        say(&a, "bye");
        hang_up(world, &a);
        UNTIL(world, world->heard_count == i + 1);
    }
}

static void net__errors_of_binding_name_the_endpoint_and_the_remedy(void **state)
{
    world_t *world = *state;
    helio_server_options_t options = server_options(world);
    helio_net_t *net = NULL;
    helio_server_t *server = NULL;
    char taken[256];
    start_server(world, &options);
    (void)helio_text_copy(helio_text_of(helio_server_endpoint(world->server)), taken, sizeof taken);
    const struct {
        const char *endpoint;
        helio_rc rc;
        const char *text;
    } cases[] = {
        {taken, HELIO_CONFLICT, "in use"},
        {"tcp://192.0.2.1:7075", HELIO_INVALID, "no such address"},
        {"tcp://127.0.0.1:99999", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://127.0.0.1", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://127.0.0.1:0", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://:7075x", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"tcp://nowhere.invalid:7075", HELIO_INVALID, "address"},
        {"carrier-pigeon://x", HELIO_INVALID, "tcp://ADDRESS:PORT"},
        {"7075", HELIO_INVALID, "tcp://ADDRESS:PORT"},
    };
    assert_int_equal(helio_net_new(0, &net, NULL), HELIO_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_error_t err = {0};
        options.endpoint = cases[i].endpoint;
        helio_rc rc = helio_server_new(net, world->loop, &options, &server, &err);
        if (rc != cases[i].rc || !strstr(err.text, cases[i].text) || !strstr(err.text, cases[i].endpoint))
            fail_msg("%s: %s, \"%s\"", cases[i].endpoint, helio_rc_name(rc), err.text);
        assert_null(server);
    }
    helio_error_t err = {0};
    options.endpoint = "tcp://127.0.0.1:*";
    assert_int_equal(helio_server_new(world->net, world->loop, &options, &server, &err), HELIO_CONFLICT);
    assert_non_null(strstr(err.text, "has a server already"));
    options.secret_key = "nonsense";
    assert_int_equal(helio_server_new(net, world->loop, &options, &server, &err), HELIO_INVALID);
    assert_null(strstr(err.text, "nonsense"));
    helio_net_destroy(&net);
}

static void net__bad_targets_and_grants_are_refused(void **state)
{
    world_t *world = *state;
    helio_server_options_t server = server_options(world);
    const char *key = world->server_pair.public_key;
    const helio_dialer_target_t targets[] = {
        {"127.0.0.1:7075", key}, {"tcp://", key},        {"tcp://host", key},
        {"tcp://h:65537", key},  {"tcp://h:*", key},     {"ipc://", key},
        {"inproc://x", key},     {"tcp://h:1", "short"}, {"tcp://h:1", NULL}};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        helio_dialer_t *dialer = NULL;
        helio_error_t err = {0};
        helio_dialer_options_t options = {.targets = &targets[i],
                                          .target_count = 1,
                                          .secret_key = world->pairs[0].secret_key,
                                          .on_message = on_message};
        assert_int_equal(helio_dialer_new(world->client_net, world->loop, &options, &dialer, &err),
                         HELIO_INVALID);
        assert_non_null(strstr(err.text, targets[i].endpoint));
    }
    start_server(world, &server);
    char name[HELIO_PRINCIPAL_MAX + 2];
    memset(name, 'n', sizeof name);
    helio_text_t good = helio_text_of(world->pairs[0].public_key);
    assert_int_equal(helio_server_allow(world->server, HELIO_TEXT("short"), HELIO_TEXT("p"), NULL),
                     HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, HELIO_TEXT(""), NULL), HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, HELIO_TEXT("a\0b"), NULL), HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, (helio_text_t){name, sizeof name - 1}, NULL),
                     HELIO_INVALID);
    assert_int_equal(helio_server_allow(world->server, good, (helio_text_t){name, sizeof name - 2}, NULL),
                     HELIO_OK);
    helio_server_revoke(world->server, HELIO_TEXT("never heard of"));
}

/*  An argument is a pattern of test names. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(net__frames_go_both_ways_under_the_principal_of_the_key),
        TEST(net__an_unknown_key_gets_nothing),
        TEST(net__a_wrong_server_key_is_noticed_by_the_dialer),
        TEST(net__a_revoked_key_is_cut_off_on_its_live_connection),
        TEST(net__a_key_may_be_revoked_while_its_message_is_handled),
        TEST(net__another_principal_for_a_key_ends_its_peers),
        TEST(net__two_connections_of_one_key_are_two_peers_with_their_own_answers),
        TEST(net__a_key_with_too_many_connections_loses_the_most_silent_one),
        TEST(net__a_silent_peer_is_declared_gone),
        TEST(net__a_closed_connection_is_noticed_when_sending),
        TEST(net__frames_beyond_the_maximum_do_not_pass),
        TEST(net__a_peer_that_never_reads_is_declared_gone_while_others_are_served),
        TEST(net__a_slow_reader_gets_everything_in_order_from_its_outbox),
        TEST(net__multi_part_messages_and_chosen_routing_ids_are_dropped),
        TEST(net__a_client_without_curve_gets_nothing),
        TEST(net__a_dialer_comes_back_after_the_server_restarts),
        TEST(net__a_dialer_that_is_sent_away_again_and_again_waits_longer),
        TEST(net__a_dialer_goes_on_to_the_next_target_and_back),
        TEST(net__sending_is_busy_when_the_queue_is_full_and_recovers),
        TEST(net__the_last_words_of_a_dialer_arrive),
        TEST(net__errors_of_binding_name_the_endpoint_and_the_remedy),
        TEST(net__bad_targets_and_grants_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
