/*  checks_testing.h -- a virtual federation in which nothing happens by itself: tests tell the checks what a leader
 *  would have decided, and write what would have become durable. */
#ifndef HELIO_TESTS_SIMULATOR_CHECKS_TESTING_H
#define HELIO_TESTS_SIMULATOR_CHECKS_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "simulator/checks/checks.h"
#include "simulator/workload/hours.h"

enum { SITES = 2, DAY_MS = 86400000, HOUR_MS = 3600000, SEEDS_MAX = 3000 };

typedef struct stage {
    sim_engine_t *engine;
    helio_site_profile_t profiles[SITES];
    helio_pool_t pools[SITES];
    sim_federation_t *federation;
    sim_workload_t *workload;
    sim_checks_t *checks;
} stage_t;

static inline void stage_spec(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    sim_workload_spec(((stage_t *)arg)->workload, source, ret_spec);
}

static inline sim_program_t stage_program(void *arg, helio_text_t source)
{
    return sim_workload_program(((stage_t *)arg)->workload, source);
}

static inline void stage_feeds(void *arg, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary)
{
    (void)arg, (void)site, (void)wall_ms, (void)summary;
}

static inline void stage_decided(void *arg, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms)
{
    (void)arg, (void)event_kind, (void)effect, (void)wall_ms;
}

static inline void stage_nothing(void *arg)
{
    (void)arg;
}

static inline void stage_order(void *arg, const helio_order_t *order)
{
    (void)arg, (void)order;
}

static inline void stage_granted(void *arg, uint32_t site, int64_t sent_boot_ms, bool newest)
{
    (void)arg, (void)site, (void)sent_boot_ms, (void)newest;
}

static inline void stage_answered(void *arg, const helio_fx_reply_t *reply, bool newest)
{
    (void)arg, (void)reply, (void)newest;
}

static inline stage_t *stage_new(uint64_t seed, uint32_t jobs)
{
    static const sim_script_t script = {stage_spec, stage_program, stage_feeds};
    static const sim_moments_t moments = {stage_decided,  stage_nothing, stage_order,  stage_granted,
                                          stage_answered, stage_nothing, stage_nothing};
    static const helio_row_tenant_t tenants[] = {{.tenant = {"red", 3}}, {.tenant = {"blue", 4}}};
    static const helio_row_queue_t queues[] = {{.queue = {"standard", 8}, .tier = HELIO_TIER_STANDARD},
                                               {.queue = {"batch", 5}, .tier = HELIO_TIER_STANDARD},
                                               {.queue = {"urgent", 6}, .tier = HELIO_TIER_CRITICAL},
                                               {.queue = {"spare", 5}, .tier = HELIO_TIER_BEST_EFFORT}};
    stage_t *self = helio_new(1, sizeof *self);
    self->engine = sim_engine_new((sim_engine_options_t){.seed = seed, .wall_ms = sim_hours_begin_wall_ms(seed)});
    for (uint32_t i = 0; i < SITES; i++) {
        self->pools[i] = (helio_pool_t){.name = HELIO_TEXT("gpus"), .nodes = 3, .gpus_per_node = 4};
        self->profiles[i] = (helio_site_profile_t){.name = i ? HELIO_TEXT("site1") : HELIO_TEXT("site0"),
                                                   .pools = {&self->pools[i], 1}};
    }
    self->federation = sim_federation_new(&(sim_federation_setup_t){.engine = self->engine,
                                                                    .profiles = self->profiles,
                                                                    .site_count = SITES,
                                                                    .preset = {tenants, 2, queues, 4},
                                                                    .script = &script,
                                                                    .moments = &moments,
                                                                    .arg = self});
    self->workload = sim_workload_new(self->federation, jobs, HOUR_MS);
    self->checks = sim_checks_new(self->federation, self->workload);
    sim_workload_begin(self->workload);
    return self;
}

static inline void stage_destroy(stage_t **self_p)
{
    stage_t *self = *self_p;
    if (!self)
        return;
    sim_checks_destroy(&self->checks);
    sim_workload_destroy(&self->workload);
    sim_federation_destroy(&self->federation);
    sim_engine_destroy(&self->engine);
    free(self);
    *self_p = NULL;
}

typedef bool fits_fn(const stage_t *self);

/*  The stage of the first seed whose jobs fit. */
static inline stage_t *stage_of(uint32_t jobs, fits_fn *fits)
{
    for (uint64_t seed = 1; seed <= SEEDS_MAX; seed++) {
        stage_t *self = stage_new(seed, jobs);
        if (fits(self))
            return self;
        stage_destroy(&self);
    }
    fail_msg("no seed up to %d fits", SEEDS_MAX);
    return NULL;
}

/* ---- what is decided, and what is durable ----------------------------------------------------------------- */

static inline const sim_job_t *job_at(const stage_t *self, uint32_t index)
{
    return sim_workload_job(self->workload, index);
}

static inline helio_job_key_t key_at(uint32_t index)
{
    return (helio_job_key_t){{.bytes = {[0] = 1, [15] = (uint8_t)index}}, HELIO_NO_TASK};
}

static inline void decided_at(stage_t *self, uint32_t event, uint32_t kind, const void *row, int64_t wall_ms)
{
    const helio_effect_t effect = {.kind = kind, .payload = (void *)(uintptr_t)row};
    sim_workload_decided(self->workload, &effect);
    sim_checks_decided(self->checks, event, &effect, wall_ms);
}

/*  In a round that ticks long after every time that a job waits for. */
static inline void decided(stage_t *self, uint32_t kind, const void *row)
{
    decided_at(self, HELIO_BROKER_EV_TICK, kind, row, sim_true_wall_ms(self->engine) + 10 * HOUR_MS);
}

static inline void write_row(sim_writer_t *writer, uint32_t kind, const void *row)
{
    const helio_effect_t effect = {.kind = kind, .payload = (void *)(uintptr_t)row};
    sim_writer_append(writer, &effect);
    sim_writer_seal(writer, (helio_uuid_t){{0}});
    assert_int_equal(sim_writer_commit(writer), SIM_WRITTEN);
    sim_writer_answered(writer);
}

/*  By the leader, or by one that leads for this row only. */
static inline void durable(stage_t *self, uint32_t kind, const void *row)
{
    const sim_broker_t *broker = self->federation->brokers[0];
    if (sim_broker_leads(broker)) {
        write_row(sim_store_writer(sim_broker_store(broker)), kind, row);
        return;
    }
    sim_writer_t *writer = sim_writer_new(self->federation->database);
    assert_true(sim_writer_lead(writer, 0, 0));
    write_row(writer, kind, row);
    sim_writer_destroy(&writer);
}

/*  The job is stored, and its submission is answered. */
static inline void accept_job(stage_t *self, uint32_t index)
{
    const sim_job_t *job = job_at(self, index);
    helio_row_job_t row = {.job = key_at(index).job,
                           .tenant = helio_text_of(job->tenant),
                           .queue = job->queue,
                           .idempotency_key = helio_text_of(job->key),
                           .source = helio_text_of(job->source),
                           .tasks = job->submission.spec.tasks};
    decided(self, HELIO_BROKER_FX_ROW_JOB, &row);
    durable(self, HELIO_BROKER_FX_ROW_JOB, &row);
    helio_accepted_job_t accepted = {.job = row.job};
    helio_fx_reply_t reply = {.call = 1 + index, .rc = HELIO_OK, .jobs = {&accepted, 1}}; /* calls count from 1 */
    sim_workload_answered(self->workload, &reply, true);
    assert_string_equal(sim_violation(self->engine), "");
}

static inline helio_row_placement_t placement_of(const stage_t *self, uint32_t index, uint32_t epoch, const char *site)
{
    return (helio_row_placement_t){.key = key_at(index),
                                   .epoch = epoch,
                                   .site = helio_text_of(site),
                                   .gpus = 8,
                                   .start_ms = SIM_HOUR_WALL_MS - SIM_HOUR_WALL_MS % DAY_MS + 12 * HOUR_MS,
                                   .expected_ms = 1,
                                   .expected_high_ms = job_at(self, index)->limit_ms};
}

static inline void expect_kept(const stage_t *self)
{
    assert_string_equal(sim_violation(self->engine), "");
}

/*  Its clock has shown nothing yet. */
static inline void new_leader(stage_t *self)
{
    sim_broker_start(self->federation->brokers[0]);
    assert_non_null(sim_broker_core(self->federation->brokers[0]));
    sim_checks_taken_over(self->checks);
}

/*  The promise is seen broken, in these words; the stage has no further use. */
static inline void expect_broken(stage_t **self_p, const char *words)
{
    if (!strstr(sim_violation((*self_p)->engine), words))
        fail_msg("seed %llu: '%s' instead of '%s'", (unsigned long long)sim_seed((*self_p)->engine),
                 sim_violation((*self_p)->engine), words);
    stage_destroy(self_p);
}

#endif
