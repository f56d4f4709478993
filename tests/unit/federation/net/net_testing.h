/*  net_testing.h -- a server and dialers in one loop, each with keys.
 *
 *  Server and dialer against each other over loopback TCP with real CURVE, and the server against hostile clients
 *  made of plain libzmq. One thread and one loop drive both sides; waiting means turning the loop until a condition
 *  holds, with a limit that only a failure reaches.
 */
#ifndef HELIO_TESTS_FEDERATION_NET_NET_TESTING_H
#define HELIO_TESTS_FEDERATION_NET_NET_TESTING_H

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

static inline void on_server_message(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
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

static inline void on_server_gone(void *arg, uint64_t peer, helio_gone_t why)
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

static inline helio_server_options_t server_options(world_t *world)
{
    return (helio_server_options_t){.endpoint = "tcp://127.0.0.1:*",
                                    .secret_key = world->server_pair.secret_key,
                                    .frame_max_bytes = 64 << 10,
                                    .on_message = on_server_message,
                                    .on_gone = on_server_gone,
                                    .arg = world};
}

static inline void start_server(world_t *world, const helio_server_options_t *options)
{
    helio_error_t err = {0};
    if (!world->net)
        assert_int_equal(helio_net_new(0, &world->net, NULL), HELIO_OK);
    if (helio_server_new(world->net, world->loop, options, &world->server, &err))
        fail_msg("%s", err.text);
}

static inline void allow(world_t *world, int key, const char *principal)
{
    assert_int_equal(
        helio_server_allow(world->server, helio_text_of(world->pairs[key].public_key), helio_text_of(principal), NULL),
        HELIO_OK);
}

static inline helio_server_counters_t counters(const world_t *world)
{
    helio_server_counters_t counters;
    helio_server_counters(world->server, &counters);
    return counters;
}

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
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

static inline void turn(world_t *world, int64_t timeout_ms)
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

typedef struct client {
    helio_dialer_t *dialer;
    size_t connected, disconnected, failed, received;
    char endpoint[256], left[256], why[256], frame[64]; /* left: the endpoint of the last connection that ended */
    bool redial_on_message, hello;
    uint32_t redials;   /* as many in a row */
    int64_t connect_ms; /* 0 = the default */
} client_t;

static inline void on_message(void *arg, helio_text_t frame)
{
    client_t *client = arg;
    assert_true(client->connected > client->disconnected);
    client->received++;
    (void)helio_text_copy(frame, client->frame, sizeof client->frame);
    if (client->redial_on_message)
        helio_dialer_redial(client->dialer, "not the leader", client->redials);
}

static inline void on_connected(void *arg, const char *endpoint)
{
    client_t *client = arg;
    client->connected++;
    (void)helio_text_copy(helio_text_of(endpoint), client->endpoint, sizeof client->endpoint);
    if (client->hello)
        assert_int_equal(helio_dialer_send(client->dialer, HELIO_TEXT("hello")), HELIO_OK);
}

static inline void on_disconnected(void *arg, const char *endpoint, const char *why)
{
    client_t *client = arg;
    (void)helio_text_copy(helio_text_of(endpoint), client->left, sizeof client->left);
    client->disconnected++;
    (void)helio_text_copy(helio_text_of(why), client->why, sizeof client->why);
}

static inline void on_failed(void *arg, const char *endpoint, const char *why)
{
    client_t *client = arg;
    client->failed++;
    (void)helio_text_copy(helio_text_of(endpoint), client->endpoint, sizeof client->endpoint);
    (void)helio_text_copy(helio_text_of(why), client->why, sizeof client->why);
}

static inline void dial_targets(world_t *world, client_t *client, int key, const helio_dialer_target_t *targets,
                                size_t count)
{
    helio_dialer_options_t options = {.targets = targets,
                                      .target_count = count,
                                      .secret_key = world->pairs[key].secret_key,
                                      .frame_max_bytes = 64 << 10,
                                      .connect_ms = client->connect_ms,
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

static inline void dial(world_t *world, client_t *client, int key)
{
    helio_dialer_target_t target = {helio_server_endpoint(world->server), world->server_pair.public_key};
    dial_targets(world, client, key, &target, 1);
}

static inline void connect_as(world_t *world, client_t *client, int key)
{
    dial(world, client, key);
    UNTIL(world, client->connected);
}

static inline void hang_up(world_t *world, client_t *client)
{
    for (size_t i = 0; i < world->dialer_count; i++)
        if (world->dialers[i] == client->dialer)
            world->dialers[i] = NULL;
    helio_dialer_destroy(&client->dialer);
}

static inline void say(client_t *client, const char *text)
{
    assert_int_equal(helio_dialer_send(client->dialer, helio_text_of(text)), HELIO_OK);
}

#endif
