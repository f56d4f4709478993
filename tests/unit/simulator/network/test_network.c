/*  test_network.c -- streams keep order, and lose what is in flight when they break. */
#include "simulator/network/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MESSAGES = 200 };

#define MESSAGE_FIELDS(F, R) F(R, U64, seq, 0, _)
HELIO_RECORD_DECLARE(message, MESSAGE_FIELDS)
HELIO_RECORD_DEFINE(message, MESSAGE_FIELDS)

typedef struct world {
    sim_engine_t *engine;
    sim_network_t *network;
    sim_host_t broker, site;
    uint32_t connects, disconnects, gones;
    uint64_t up[MESSAGES], down[MESSAGES];
    uint32_t up_count, down_count;
} world_t;

static void on_connected(void *arg, uint32_t site)
{
    (void)site;
    ((world_t *)arg)->connects++;
}

static void on_disconnected(void *arg, uint32_t site)
{
    (void)site;
    ((world_t *)arg)->disconnects++;
}

static void on_gone(void *arg, uint64_t peer)
{
    (void)peer;
    ((world_t *)arg)->gones++;
}

static void on_up(void *arg, uint32_t kind, const void *message)
{
    world_t *self = arg;
    (void)kind;
    self->up[self->up_count++] = ((const message_t *)message)->seq;
}

static void on_down(void *arg, uint32_t site, uint32_t kind, const void *message)
{
    world_t *self = arg;
    (void)site;
    (void)kind;
    self->down[self->down_count++] = ((const message_t *)message)->seq;
}

static const sim_ends_t ends = {on_connected, on_disconnected, on_gone, on_up, on_down};

static int begin(void **state)
{
    world_t *self = helio_new(1, sizeof *self);
    self->engine = sim_engine_new((sim_engine_options_t){.seed = 3});
    self->broker = self->site = (sim_host_t){.clock = {.rate = 1}, .up = true, .life = 1};
    const sim_host_t **sites = helio_arena_alloc(sim_arena(self->engine), 1, sizeof *sites);
    sites[0] = &self->site;
    self->network = sim_network_new(self->engine, &self->broker, sites, 1, &ends, self);
    *state = self;
    return 0;
}

static int end(void **state)
{
    world_t *self = *state;
    sim_network_destroy(&self->network);
    sim_engine_destroy(&self->engine);
    free(self);
    return 0;
}

static void dial(world_t *self)
{
    uint32_t before = self->connects;
    sim_network_dial(self->network, 0, 10);
    while (self->connects == before)
        assert_true(sim_engine_step(self->engine));
}

static void send_both(world_t *self)
{
    uint64_t peer = sim_network_peer(self->network, 0);
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        message_t message = {.seq = i};
        sim_network_up(self->network, 0, 0, &message_type, &message);
        sim_network_down(self->network, peer, 0, &message_type, &message);
    }
}

static void messages_arrive_in_the_order_in_which_they_were_sent(void **state)
{
    world_t *self = *state;
    dial(self);
    send_both(self);
    while (sim_engine_step(self->engine))
        ;
    assert_int_equal(self->up_count, MESSAGES);
    assert_int_equal(self->down_count, MESSAGES);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(self->up[i], i + 1);
        assert_int_equal(self->down[i], i + 1);
    }
}

static void messages_of_a_stream_that_broke_never_arrive(void **state)
{
    world_t *self = *state;
    dial(self);
    send_both(self);
    sim_network_break(self->network, 0);
    while (self->connects < 2)
        assert_true(sim_engine_step(self->engine));
    assert_int_equal(self->disconnects, 1);
    assert_int_equal(sim_network_streams(self->network), 2);
    assert_int_equal(self->up_count, 0);
    assert_int_equal(self->down_count, 0);
}

static void a_site_that_stands_still_reads_later_and_in_order(void **state)
{
    world_t *self = *state;
    dial(self);
    self->site.paused_until_ms = sim_now_ms(self->engine) + 1000;
    send_both(self);
    while (sim_engine_step(self->engine))
        assert_true(!self->down_count || sim_now_ms(self->engine) >= self->site.paused_until_ms);
    assert_int_equal(self->down_count, MESSAGES);
    for (uint64_t i = 0; i < MESSAGES; i++)
        assert_int_equal(self->down[i], i + 1);
}

static void no_stream_is_made_while_the_site_is_cut_off(void **state)
{
    world_t *self = *state;
    sim_network_cut(self->network, 0, true);
    sim_network_dial(self->network, 0, 10);
    while (sim_now_ms(self->engine) < 60000)
        assert_true(sim_engine_step(self->engine));
    assert_int_equal(self->connects, 0);
    sim_network_cut(self->network, 0, false);
    while (!self->connects)
        assert_true(sim_engine_step(self->engine));
}

static void who_died_since_is_told_nothing(void **state)
{
    world_t *self = *state;
    dial(self);
    send_both(self);
    sim_network_break(self->network, 0);
    self->site.life++;
    self->broker.life++;
    while (sim_engine_step(self->engine))
        ;
    assert_int_equal(self->disconnects, 0);
    assert_int_equal(self->gones, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_arrive_in_the_order_in_which_they_were_sent, begin, end),
        cmocka_unit_test_setup_teardown(messages_of_a_stream_that_broke_never_arrive, begin, end),
        cmocka_unit_test_setup_teardown(a_site_that_stands_still_reads_later_and_in_order, begin, end),
        cmocka_unit_test_setup_teardown(no_stream_is_made_while_the_site_is_cut_off, begin, end),
        cmocka_unit_test_setup_teardown(who_died_since_is_told_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
