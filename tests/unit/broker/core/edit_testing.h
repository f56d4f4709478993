/*  edit_testing.h -- two drained sites, whose jobs wait and are edited. */
#ifndef HELIO_TESTS_EDIT_TESTING_H
#define HELIO_TESTS_EDIT_TESTING_H

#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north, *south;

/*  North is cheap and dirty, south expensive and clean; each has a node of 8 GPUs. Both are drained, so jobs wait. */
static inline int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 1, 8, 1.0)->base_w = 1000;
    harness_pool(h, south, "a", "H100", 1, 8, 1.5)->base_w = 1000;
    north->carbon_g_per_kwh = 900;
    south->carbon_g_per_kwh = 1;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    for (int i = 0; i < 2; i++)
        assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, i ? "south" : "north")->rc,
                         HELIO_OK);
    harness_clear(h);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static inline void open_site(harness_t *at, const char *name)
{
    assert_int_equal(harness_site_command(at, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_ADMIN, name)->rc, HELIO_OK);
    harness_tick(at);
}

static inline helio_job_key_t waiting(const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    spec.goal = HELIO_GOAL_CHEAP;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_clear(h);
    return key;
}

static inline helio_job_key_t waiting_array(uint32_t count, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    static uint32_t tasks[16];
    for (uint32_t i = 0; i < count; i++)
        tasks[i] = i;
    spec.tasks.items = tasks;
    spec.tasks.count = count;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_clear(h);
    return key;
}

static inline helio_rc edit(helio_job_key_t key, helio_ev_edit_t wish)
{
    return (helio_rc)harness_edit(h, "acme", HELIO_ROLE_USER, key, wish)->rc;
}

static inline bool says(const helio_fx_reply_t *reply, const char *part)
{
    return harness_says(h, &reply->details, part);
}

#endif
