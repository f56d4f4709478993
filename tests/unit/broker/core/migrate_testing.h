/*  migrate_testing.h -- two sites with given intensities, and jobs that can migrate between them. */
#ifndef HELIO_TESTS_BROKER_CORE_MIGRATE_TESTING_H
#define HELIO_TESTS_BROKER_CORE_MIGRATE_TESTING_H

#include <stdio.h>
#include <string.h>

#include "federation/policy/migration.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, MINUTE = 60000, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north, *south;
static int64_t midnight;

/*  Two owned pools of 2 nodes x 8 GPUs of 1 kW; nothing costs money; silence means nothing. North burns 100
 * g/kWh, and so it is where jobs begin; south 450. */
static inline void make_sites(void)
{
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 2, 8, 0)->base_w = 1000;
    harness_pool(h, south, "a", "H100", 2, 8, 0)->base_w = 1000;
    north->carbon_g_per_kwh = 100;
    south->carbon_g_per_kwh = 450;
}

/*  summary_ms: a site is stale after three such intervals without a word. */
static inline int begin_with(uint64_t summary_ms)
{
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    options.summary_ms = summary_ms;
    h = harness_begin(&options);
    midnight = harness_wall_ms(h);
    make_sites();
    return 0;
}

static inline int begin(void **state)
{
    (void)state;
    return begin_with(helio_broker_options_default().summary_ms);
}

/*  No site becomes stale, which would be a change of facts. */
static inline int begin_calmly(void **state)
{
    (void)state;
    return begin_with(HOUR);
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static inline void join(void)
{
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
}

/*  Reports a site's intensity from now on; the other sites stay heard of, too. */
static inline void tell(uint64_t peer, double grams)
{
    harness_renew(h, NORTH);
    harness_renew(h, SOUTH);
    static uint64_t seq = 1000;
    double *copy = helio_arena_alloc(harness_arena(h), 1, sizeof *copy);
    *copy = grams;
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) / HOUR * HOUR,
                             .step_s = 3600,
                             .values = {copy, 1}};
    helio_ev_site_summary_t event = {
        .peer = peer, .summary = {.seq = ++seq, .dispatch_seen = 1000, .series = {&series, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static inline helio_job_spec_t movable(uint32_t nodes, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.nodes = nodes;
    spec.goal = HELIO_GOAL_GREEN;
    spec.time_limit_ms = 10 * HOUR;
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.checkpoint_grace_ms = MINUTE;
    spec.on_better_site = HELIO_BETTER_SITE_CHECKPOINT;
    return spec;
}

static inline helio_job_key_t run(const helio_job_spec_t *spec)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

/*  Waits until jobs that just started can migrate, and until the next pass. */
static inline void settle(void)
{
    harness_wait(h, 2 * MINUTE);
}

static inline void assert_state(helio_job_key_t key, uint32_t state)
{
    assert_string_equal(helio_job_state_name(harness_state(h, key)), helio_job_state_name(state));
}

static inline void assert_reason(helio_job_key_t key, const char *expected)
{
    assert_string_equal(harness_facts(h, harness_row(h, key)->why), expected);
}

static inline uint64_t migrations(void)
{
    return harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_MIGRATION];
}

/*  North gets dirty: 1 kWh x 8 GPUs x 10 h, at 2000 USD/t. */
static inline helio_job_key_t told_to_migrate(void)
{
    join();
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = run(&spec);
    settle();
    tell(NORTH, 900);
    tell(SOUTH, 300);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
    return key;
}

#endif
