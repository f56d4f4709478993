/*  world.c -- builds a world from its parts, answers the federation's questions, and runs it until every job is
 *  over. */
#include "simulator/world.h"

#include <stdlib.h>

#include "simulator/faults/faults.h"
#include "simulator/workload/hours.h"

enum {
    STEPS_MAX = 400000,
    /* The tasks of an array that run one at a time, each of which fails after some minutes, again and again, take more
     * than three hours. */
    REST_MS = 5 * 3600 * 1000,
    DAY_MS = 86400000
};

struct world {
    world_options_t options;
    sim_engine_t *engine;
    helio_site_profile_t profiles[SIM_SITES_MAX];
    sim_federation_t *federation;
    sim_workload_t *workload;
    sim_storm_t *storm;
    sim_checks_t *checks;
};

/* ---- what the federation asks, and what it tells ------------------------------------------------------- */

static void on_spec(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    const world_t *self = arg;
    sim_workload_spec(self->workload, source, ret_spec);
}

static sim_program_t on_program(void *arg, helio_text_t source)
{
    const world_t *self = arg;
    return sim_workload_program(self->workload, source);
}

static void on_feeds(void *arg, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary)
{
    const world_t *self = arg;
    sim_hours_feed(self->engine, site, wall_ms, summary);
}

static const sim_script_t script = {on_spec, on_program, on_feeds};

static void on_decided(void *arg, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms)
{
    world_t *self = arg;
    sim_workload_decided(self->workload, effect);
    sim_checks_decided(self->checks, event_kind, effect, wall_ms);
    sim_storm_decided(self->storm, effect);
}

static void on_committed(void *arg)
{
    world_t *self = arg;
    sim_checks_committed(self->checks);
}

static void on_order_left(void *arg, const helio_order_t *order)
{
    world_t *self = arg;
    sim_checks_order_left(self->checks, order);
}

static void on_granted(void *arg, uint32_t site, int64_t sent_boot_ms, bool newest)
{
    world_t *self = arg;
    sim_checks_granted(self->checks, site, sent_boot_ms, newest);
}

static void on_answered(void *arg, const helio_fx_reply_t *reply, bool newest)
{
    world_t *self = arg;
    sim_workload_answered(self->workload, reply, newest);
}

static void on_takeover_began(void *arg)
{
    world_t *self = arg;
    sim_workload_takeover(self->workload);
}

static void on_takeover_ended(void *arg)
{
    world_t *self = arg;
    sim_checks_taken_over(self->checks);
    sim_workload_taken_over(self->workload);
}

static const sim_moments_t moments = {.decided = on_decided,
                                      .committed = on_committed,
                                      .order_left = on_order_left,
                                      .granted = on_granted,
                                      .answered = on_answered,
                                      .takeover_began = on_takeover_began,
                                      .takeover_ended = on_takeover_ended};

/* ---- the world ----------------------------------------------------------------------------------------- */

static void make_profile(world_t *self, uint32_t site)
{
    static const char *const names[SIM_SITES_MAX] = {"site0", "site1", "site2", "site3"};
    helio_site_profile_t *profile = &self->profiles[site];
    profile->name = helio_text_of(names[site]);
    profile->backend = HELIO_TEXT("local");
    profile->region = site % 2 ? HELIO_TEXT("US-CAL") : HELIO_TEXT("EU-SE");
    profile->pue = 1.2;
    profile->carbon_g_per_kwh = 50;
    profile->leases = true;
    profile->pools.items = helio_arena_alloc(sim_arena(self->engine), 1, sizeof(helio_pool_t));
    profile->pools.count = 1;
    profile->pools.items[0] = (helio_pool_t){
        .name = HELIO_TEXT("gpus"),
        .gpu = HELIO_TEXT("H100"),
        .gpu_memory_bytes = UINT64_C(80000000000),
        .nodes = SIM_NODES_PER_SITE,
        .gpus_per_node = SIM_GPUS_PER_NODE,
        .owned = true,
        .price_usd_per_gpu_h = 1 + site * 0.5,
        .base_w = 100,
        .slope_w = 300,
    };
}

/*  Leaders need not have equal settings: the lease of a former one can be longer. */
static void draw_brokers(const world_t *self, sim_federation_setup_t *setup)
{
    enum { SETTINGS_DRAW = 63, RENEWALS = 10 };
    static const uint64_t leases_ms[] = {20000, 60000, 300000, 900000}, silences_ms[] = {20000, 45000, 60000, 60000};
    setup->broker_count = SIM_BROKERS_MAX;
    uint64_t lease = sim_draw(self->engine, SETTINGS_DRAW, 0) >> 16, silence = sim_draw(self->engine, SETTINGS_DRAW, 1);
    for (uint32_t i = 0; i < SIM_BROKERS_MAX; i++) {
        helio_broker_options_t *options = &setup->options[i];
        *options = helio_broker_options_default();
        bool differs = sim_draw(self->engine, SETTINGS_DRAW, 2 + i) >> 20 & 1;
        options->lease_ms = leases_ms[(lease + differs) % 4];
        options->renew_ms = options->lease_ms / RENEWALS;
        options->silent_after_ms = silences_ms[(silence >> 16) % 4];
    }
}

/*  Jobs use the whole grace that they have without asking for another one. */
static bool takes_long_to_leave(const world_t *self)
{
    enum { LEAVING_DRAW = 74 };
    return self->options.generation >= 6 && sim_one_in(self->engine, 3, LEAVING_DRAW);
}

static void make_federation(world_t *self)
{
    static const helio_row_tenant_t tenants[] = {{{"red", 3}, {"site0", 5}, false}, {{"blue", 4}, {"site1", 5}, false}};
    static const helio_row_queue_t queues[] = {{{"standard", 8}, 500, HELIO_TIER_STANDARD, DAY_MS, false},
                                               {{"batch", 5}, 100, HELIO_TIER_STANDARD, DAY_MS, false},
                                               {{"urgent", 6}, 1000, HELIO_TIER_CRITICAL, DAY_MS, false},
                                               {{"spare", 5}, 10, HELIO_TIER_BEST_EFFORT, DAY_MS, false}};
    uint32_t sites = (uint32_t)sim_between(self->engine, 2, SIM_SITES_MAX);
    for (uint32_t i = 0; i < sites; i++)
        make_profile(self, i);
    sim_federation_setup_t setup = {
        .engine = self->engine,
        .profiles = self->profiles,
        .site_count = sites,
        .preset = {tenants, sizeof tenants / sizeof tenants[0], queues, sizeof queues / sizeof queues[0]},
        .backend = {.slow = 0.05,
                    .no_start = 0.02,
                    .trouble_ms = self->options.faults_ms,
                    .leave_ms = takes_long_to_leave(self) ? 30000 : 3000},
        .script = &script,
        .moments = &moments,
        .arg = self};
    if (self->options.generation >= 4)
        draw_brokers(self, &setup);
    self->federation = sim_federation_new(&setup);
}

world_t *world_new(world_options_t options)
{
    world_t *self = helio_new(1, sizeof *self);
    self->options = options;
    if (!options.generation)
        self->options.generation = WORLD_GENERATION;
    self->engine = sim_engine_new((sim_engine_options_t){.seed = options.seed,
                                                         .wall_ms = sim_hours_begin_wall_ms(options.seed),
                                                         .trace = options.trace,
                                                         .hash = options.hash});
    make_federation(self);
    self->workload = sim_workload_new(self->federation, options.jobs, options.faults_ms);
    self->storm = sim_storm_new(self->federation, options.faults_ms);
    self->checks = sim_checks_new(self->federation, self->workload);
    return self;
}

void world_destroy(world_t **self_p)
{
    world_t *self = *self_p;
    if (!self)
        return;
    sim_checks_destroy(&self->checks);
    sim_storm_destroy(&self->storm);
    sim_workload_destroy(&self->workload);
    sim_federation_destroy(&self->federation);
    sim_engine_destroy(&self->engine);
    free(self);
    *self_p = NULL;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static bool is_over(const world_t *self)
{
    return sim_now_ms(self->engine) > self->options.faults_ms && sim_workload_is_over(self->workload) &&
           sim_federation_is_idle(self->federation);
}

/*  True: every job is over. */
static bool run(world_t *self)
{
    while (!sim_violation(self->engine)[0] && sim_engine_step(self->engine)) {
        sim_checks_step(self->checks);
        if (is_over(self))
            return true;
        if (sim_steps(self->engine) > STEPS_MAX || sim_now_ms(self->engine) > self->options.faults_ms + REST_MS)
            sim_violate(self->engine, "not every job is over %lld ms after the last fault",
                        (long long)(sim_now_ms(self->engine) - self->options.faults_ms));
    }
    return false;
}

world_result_t world_run(world_t *self)
{
    if (self->options.generation >= 6)
        sim_workload_harden(self->workload);
    sim_workload_begin(self->workload);
    sim_federation_start(self->federation);
    sim_storm_begin(self->storm);
    sim_workload_begin_operator(self->workload);
    if (self->options.generation >= 2) {
        sim_storm_begin_some(self->storm);
        sim_workload_begin_attests(self->workload);
    }
    if (self->options.generation >= 3)
        sim_storm_begin_losses(self->storm);
    if (self->options.generation >= 4)
        sim_storm_begin_leaders(self->storm);
    if (self->options.generation >= 5)
        sim_storm_begin_restores(self->storm);
    if (self->options.generation >= 6)
        sim_storm_begin_aimed(self->storm);
    if (self->options.generation >= 7)
        sim_workload_begin_curtails(self->workload);
    if (self->options.generation >= 8)
        sim_workload_begin_hastes(self->workload);
    if (run(self) && !sim_violation(self->engine)[0])
        sim_checks_at_rest(self->checks);
    world_result_t result = {.violation = sim_violation(self->engine),
                             .hash = sim_hash(self->engine),
                             .steps = sim_steps(self->engine),
                             .seen = sim_checks_seen(self->checks),
                             .faults = self->federation->faults,
                             .virtual_ms = sim_now_ms(self->engine)};
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        result.edges[s] = sim_database_edges_seen(self->federation->database, s);
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++)
        result.jobs_over += sim_workload_job(self->workload, i)->tasks;
    return result;
}
