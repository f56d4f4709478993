/*  test_federation.c -- two real cores of brokers over one database, and sites that find the one that leads. */
#include "simulator/daemons/federation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SITES = 2, SEEDS = 10 };

typedef struct world {
    sim_engine_t *engine;
    sim_federation_t *federation;
    helio_site_profile_t profiles[SITES];
    helio_pool_t pools[SITES];
    uint32_t takeovers;
    uint32_t decided_by_older; /* effects that were told although a newer broker leads */
} world_t;

static void on_spec(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    (void)arg, (void)source;
    *ret_spec = (helio_job_spec_t){0};
}

static sim_program_t on_program(void *arg, helio_text_t source)
{
    (void)arg, (void)source;
    return (sim_program_t){0};
}

static void on_feeds(void *arg, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary)
{
    (void)arg, (void)site, (void)wall_ms, (void)summary;
}

/*  The broker that decides is told by its clock: the two are set an hour apart. */
static void on_decided(void *arg, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms)
{
    world_t *self = arg;
    (void)event_kind, (void)effect;
    self->decided_by_older += wall_ms != sim_broker_wall_ms(sim_federation_leader(self->federation));
}

static void on_nothing(void *arg)
{
    (void)arg;
}

static void on_order(void *arg, const helio_order_t *order)
{
    (void)arg, (void)order;
}

static void on_granted(void *arg, uint32_t site, int64_t sent_boot_ms, bool newest)
{
    (void)arg, (void)site, (void)sent_boot_ms, (void)newest;
}

static void on_answered(void *arg, const helio_fx_reply_t *reply, bool newest)
{
    (void)arg, (void)reply, (void)newest;
}

static void on_takeover(void *arg)
{
    ((world_t *)arg)->takeovers++;
}

static world_t *world_of(uint64_t seed)
{
    static const sim_script_t script = {on_spec, on_program, on_feeds};
    static const sim_moments_t moments = {on_decided,  on_nothing, on_order,   on_granted,
                                          on_answered, on_nothing, on_takeover};
    static const helio_row_queue_t queues[] = {{.queue = {"standard", 8}, .tier = HELIO_TIER_STANDARD}};
    world_t *self = helio_new(1, sizeof *self);
    self->engine = sim_engine_new((sim_engine_options_t){.seed = seed, .wall_ms = INT64_C(1700000000000)});
    for (uint32_t i = 0; i < SITES; i++) {
        self->pools[i] = (helio_pool_t){.name = HELIO_TEXT("gpus"), .nodes = 1, .gpus_per_node = 4};
        self->profiles[i] = (helio_site_profile_t){.name = i ? HELIO_TEXT("site1") : HELIO_TEXT("site0"),
                                                   .pools = {&self->pools[i], 1}};
    }
    self->federation = sim_federation_new(&(sim_federation_setup_t){.engine = self->engine,
                                                                    .profiles = self->profiles,
                                                                    .site_count = SITES,
                                                                    .broker_count = 2,
                                                                    .preset = {NULL, 0, queues, 1},
                                                                    .script = &script,
                                                                    .moments = &moments,
                                                                    .arg = self});
    sim_federation_start(self->federation);
    self->federation->broker_hosts[0].clock.wall_skew_ms = 0;
    self->federation->broker_hosts[1].clock.wall_skew_ms = 3600000;
    return self;
}

static void world_end(world_t **self_p)
{
    world_t *self = *self_p;
    assert_string_equal(sim_violation(self->engine), "");
    assert_string_equal(sim_database_violation(self->federation->database), "");
    sim_federation_destroy(&self->federation);
    sim_engine_destroy(&self->engine);
    free(self);
    *self_p = NULL;
}

static void run_for(world_t *self, int64_t ms)
{
    int64_t until_ms = sim_now_ms(self->engine) + ms;
    while (sim_now_ms(self->engine) < until_ms)
        assert_true(sim_engine_step(self->engine));
}

static uint32_t sites_of(const world_t *self, uint32_t broker)
{
    helio_broker_figures_t figures = {0};
    const helio_broker_core_t *core = sim_broker_core(self->federation->brokers[broker]);
    if (core)
        helio_broker_core_figures(core, &figures);
    return (uint32_t)figures.sites_ready;
}

static void one_broker_leads_and_has_all_sites(void **state)
{
    (void)state;
    world_t *self = world_of(1);
    run_for(self, 60000);
    assert_true(sim_broker_leads(self->federation->brokers[0]));
    assert_false(sim_broker_leads(self->federation->brokers[1]));
    assert_ptr_equal(sim_federation_door(self->federation), self->federation->brokers[0]);
    assert_int_equal(sites_of(self, 0), SITES);
    assert_int_equal(self->takeovers, 1);
    world_end(&self);
}

static void all_sites_follow_to_the_broker_that_takes_over(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = world_of(seed);
        run_for(self, 30000);
        sim_broker_crash(self->federation->brokers[0], false);
        run_for(self, 90000);
        assert_ptr_equal(sim_federation_leader(self->federation), self->federation->brokers[1]);
        assert_int_equal(sites_of(self, 1), SITES);
        sim_broker_start(self->federation->brokers[0]);
        run_for(self, 30000);
        assert_false(sim_broker_leads(self->federation->brokers[0])); /* it stands by */
        assert_int_equal(sites_of(self, 1), SITES);
        assert_int_equal(self->takeovers, 2);
        world_end(&self);
    }
}

static void a_leader_that_was_paused_is_replaced_and_stands_by_after_it_woke(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = world_of(seed);
        run_for(self, 30000);
        uint64_t life = self->federation->broker_hosts[0].life;
        assert_true(sim_broker_pause(self->federation->brokers[0], sim_now_ms(self->engine) + 60000));
        run_for(self, 59000);
        assert_true(sim_broker_leads(self->federation->brokers[0])); /* as it believes */
        assert_false(sim_broker_is_newest(self->federation->brokers[0]));
        assert_ptr_equal(sim_federation_door(self->federation), self->federation->brokers[1]);
        run_for(self, 30000);
        assert_int_equal(self->federation->broker_hosts[0].life, life + 1);
        assert_false(sim_broker_leads(self->federation->brokers[0]));
        assert_int_equal(sites_of(self, 1), SITES);
        world_end(&self);
    }
}

/*  A leader without its database goes on deciding until it is fenced. Nobody is told of that. */
static void what_a_leader_decides_after_it_was_replaced_is_told_to_nobody(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = world_of(seed);
        run_for(self, 30000);
        sim_store_cut(sim_broker_store(self->federation->brokers[0]), SIM_TO_SERVER | SIM_FROM_SERVER,
                      sim_now_ms(self->engine) + 50000);
        run_for(self, 20000);
        assert_true(sim_broker_leads(self->federation->brokers[0]));
        assert_true(sim_broker_is_newest(self->federation->brokers[1]));
        run_for(self, 100000);
        assert_int_equal(self->decided_by_older, 0);
        assert_int_equal(sites_of(self, 1), SITES);
        world_end(&self);
    }
}

/*  Without the database no session can open, whichever broker the sites dial. */
static void all_sites_come_back_after_the_database_was_away(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t *self = world_of(seed);
        for (uint32_t i = 0; i < self->federation->broker_count; i++)
            sim_store_restart(sim_broker_store(self->federation->brokers[i]), false, 100000);
        run_for(self, 80000);
        assert_int_equal(sites_of(self, 0) + sites_of(self, 1), 0);
        assert_true(sim_network_streams(self->federation->network) > SITES); /* they went on trying */
        run_for(self, 120000);
        assert_int_equal(sites_of(self, 0) + sites_of(self, 1), SITES);
        world_end(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_broker_leads_and_has_all_sites),
        cmocka_unit_test(all_sites_follow_to_the_broker_that_takes_over),
        cmocka_unit_test(a_leader_that_was_paused_is_replaced_and_stands_by_after_it_woke),
        cmocka_unit_test(what_a_leader_decides_after_it_was_replaced_is_told_to_nobody),
        cmocka_unit_test(all_sites_come_back_after_the_database_was_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
