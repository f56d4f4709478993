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
    sim_host_t brokers[2], site;
    bool admits[2];
    uint32_t last_broker; /* that heard the site, or noticed the end of its stream */
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

static void on_gone(void *arg, uint32_t broker, uint64_t peer)
{
    world_t *self = arg;
    (void)peer;
    self->last_broker = broker;
    self->gones++;
}

static bool on_admits(void *arg, uint32_t broker)
{
    return ((world_t *)arg)->admits[broker];
}

static void on_up(void *arg, uint32_t broker, uint32_t kind, const void *message)
{
    world_t *self = arg;
    (void)kind;
    self->last_broker = broker;
    self->up[self->up_count++] = ((const message_t *)message)->seq;
}

static void on_down(void *arg, uint32_t site, uint32_t kind, const void *message)
{
    world_t *self = arg;
    (void)site;
    (void)kind;
    self->down[self->down_count++] = ((const message_t *)message)->seq;
}

static const sim_ends_t ends = {on_connected, on_disconnected, on_gone, on_admits, on_up, on_down};

static world_t *begin_with(uint32_t brokers)
{
    world_t *self = helio_new(1, sizeof *self);
    self->engine = sim_engine_new((sim_engine_options_t){.seed = 3});
    self->brokers[0] = self->brokers[1] = self->site = (sim_host_t){.clock = {.rate = 1}, .up = true, .life = 1};
    self->admits[0] = true;
    const sim_host_t **hosts = helio_arena_alloc(sim_arena(self->engine), 3, sizeof *hosts);
    hosts[0] = &self->brokers[0];
    hosts[1] = &self->brokers[1];
    hosts[2] = &self->site;
    self->network = sim_network_new(&(sim_network_setup_t){.engine = self->engine,
                                                           .brokers = hosts,
                                                           .sites = hosts + 2,
                                                           .broker_count = brokers,
                                                           .site_count = 1,
                                                           .redial_least_ms = brokers > 1 ? 1000 : 0,
                                                           .redial_most_ms = brokers > 1 ? 30000 : 0,
                                                           .ends = &ends,
                                                           .arg = self});
    return self;
}

static int begin(void **state)
{
    *state = begin_with(1);
    return 0;
}

static int begin_two(void **state)
{
    *state = begin_with(2);
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
    self->up_count = self->down_count = 0;
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

static void on_until(void *arg, sim_happening_t *item)
{
    (void)arg;
    (void)item;
}

static void run_until(world_t *self, int64_t until_ms)
{
    (void)sim_later(self->engine, until_ms - sim_now_ms(self->engine), on_until, NULL);
    while (sim_now_ms(self->engine) < until_ms)
        assert_true(sim_engine_step(self->engine));
}

static void no_stream_is_made_while_the_site_is_cut_off(void **state)
{
    world_t *self = *state;
    sim_network_cut(self->network, 0, SIM_EVERY_BROKER, SIM_WAY_BOTH, 60001);
    sim_network_dial(self->network, 0, 10);
    run_until(self, 60000);
    assert_int_equal(self->connects, 0);
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
    self->brokers[0].life++;
    while (sim_engine_step(self->engine))
        ;
    assert_int_equal(self->disconnects, 0);
    assert_int_equal(self->gones, 0);
}

static void a_site_finds_the_broker_that_admits_it(void **state)
{
    world_t *self = *state;
    self->admits[0] = false;
    self->admits[1] = true;
    dial(self);
    send_both(self);
    while (self->up_count < MESSAGES)
        assert_true(sim_engine_step(self->engine));
    assert_int_equal(self->last_broker, 1);
    self->admits[0] = true; /* the other one leads now */
    self->admits[1] = false;
    sim_network_break_all(self->network, 0);
    assert_int_equal(self->disconnects, 0); /* that was another broker's stream */
    sim_network_give_up(self->network, 0);
    while (self->connects < 2)
        assert_true(sim_engine_step(self->engine));
    send_both(self);
    while (self->up_count < MESSAGES)
        assert_true(sim_engine_step(self->engine));
    assert_int_equal(self->last_broker, 0);
}

static void a_cut_from_one_broker_leaves_the_other(void **state)
{
    world_t *self = *state;
    self->admits[1] = true;
    sim_network_cut(self->network, 0, 0, SIM_WAY_BOTH, 600000);
    dial(self);
    assert_true(sim_now_ms(self->engine) < 60000);
    send_both(self);
    while (self->up_count < MESSAGES)
        assert_true(sim_engine_step(self->engine));
    assert_int_equal(self->last_broker, 1);
}

static void one_direction_stands_still_and_goes_on_in_order(void **state)
{
    for (int up = 0; up < 2; up++) {
        world_t *self = *state;
        self->admits[1] = true;
        self->connects = 0;
        dial(self);
        int64_t until_ms = sim_now_ms(self->engine) + 5000;
        sim_network_cut(self->network, 0, SIM_EVERY_BROKER, up ? SIM_WAY_UP : SIM_WAY_DOWN, until_ms);
        send_both(self);
        run_until(self, until_ms - 1);
        assert_int_equal(self->up_count, up ? 0 : MESSAGES);
        assert_int_equal(self->down_count, up ? MESSAGES : 0);
        while (self->up_count < MESSAGES || self->down_count < MESSAGES)
            assert_true(sim_engine_step(self->engine));
        for (uint64_t i = 0; i < MESSAGES; i++)
            assert_true(self->up[i] == i + 1 && self->down[i] == i + 1);
        assert_int_equal(self->connects, 1);
        sim_network_give_up(self->network, 0);
        while (self->connects < 2)
            assert_true(sim_engine_step(self->engine));
        sim_network_give_up(self->network, 0);
        run_until(self, sim_now_ms(self->engine) + 1);
    }
}

static void a_stream_breaks_when_one_direction_stands_still_for_long(void **state)
{
    world_t *self = *state;
    self->admits[1] = true;
    dial(self);
    sim_network_cut(self->network, 0, SIM_EVERY_BROKER, SIM_WAY_UP, sim_now_ms(self->engine) + 60000);
    run_until(self, sim_now_ms(self->engine) + 9000);
    assert_int_equal(self->disconnects, 0);
    run_until(self, sim_now_ms(self->engine) + 16000);
    assert_int_equal(self->disconnects, 1);
    assert_int_equal(self->connects, 1);
}

static void a_site_leaves_a_broker_that_stands_still(void **state)
{
    world_t *self = *state;
    self->admits[1] = true;
    dial(self);
    self->brokers[0].paused_until_ms = sim_now_ms(self->engine) + 60000;
    sim_network_paused(self->network, 0);
    while (self->connects < 2)
        assert_true(sim_engine_step(self->engine));
    assert_true(sim_now_ms(self->engine) < 40000);
    send_both(self);
    while (self->up_count < MESSAGES)
        assert_true(sim_engine_step(self->engine));
    assert_int_equal(self->last_broker, 1);
    run_until(self, 120000);
    assert_true(self->gones == 0 || self->last_broker == 0);
}

static int64_t refused_after_ms(world_t *self, bool lasting)
{
    uint32_t before = self->connects;
    while (self->connects == before)
        assert_true(sim_engine_step(self->engine));
    int64_t began_ms = sim_now_ms(self->engine);
    sim_network_refuse(self->network, sim_network_peer(self->network, 0), lasting);
    while (self->connects == before + 1)
        assert_true(sim_engine_step(self->engine));
    return sim_now_ms(self->engine) - began_ms;
}

static void a_site_that_is_refused_for_good_waits_longer_each_time(void **state)
{
    world_t *self = *state;
    self->admits[1] = true;
    sim_network_dial(self->network, 0, 10);
    int64_t longest_ms = 0;
    for (int i = 0; i < 8; i++) {
        int64_t ms = refused_after_ms(self, true);
        longest_ms = ms > longest_ms ? ms : longest_ms;
        sim_network_refuse(self->network, sim_network_peer(self->network, 0), true);
    }
    assert_true(longest_ms > 15000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_arrive_in_the_order_in_which_they_were_sent, begin, end),
        cmocka_unit_test_setup_teardown(messages_of_a_stream_that_broke_never_arrive, begin, end),
        cmocka_unit_test_setup_teardown(a_site_that_stands_still_reads_later_and_in_order, begin, end),
        cmocka_unit_test_setup_teardown(no_stream_is_made_while_the_site_is_cut_off, begin, end),
        cmocka_unit_test_setup_teardown(a_site_finds_the_broker_that_admits_it, begin_two, end),
        cmocka_unit_test_setup_teardown(a_cut_from_one_broker_leaves_the_other, begin_two, end),
        cmocka_unit_test_setup_teardown(one_direction_stands_still_and_goes_on_in_order, begin_two, end),
        cmocka_unit_test_setup_teardown(a_stream_breaks_when_one_direction_stands_still_for_long, begin_two, end),
        cmocka_unit_test_setup_teardown(a_site_leaves_a_broker_that_stands_still, begin_two, end),
        cmocka_unit_test_setup_teardown(a_site_that_is_refused_for_good_waits_longer_each_time, begin_two, end),
        cmocka_unit_test_setup_teardown(who_died_since_is_told_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
