/*  silence_testing.h -- two sites, and what passes while one of them is silent.
 *
 *  Sites that go silent and come back: sessions, leases, inventories, attestations (the table of docs/delivery.md).
 */
#ifndef HELIO_TESTS_BROKER_CORE_SILENCE_TESTING_H
#define HELIO_TESTS_BROKER_CORE_SILENCE_TESTING_H

#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, NORTH_AGAIN = 11 };

static harness_t *h;
static helio_site_profile_t *north, *south;

static inline int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 4, 8, 3.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  A job at north in the state. */
static inline helio_job_key_t job_of(helio_site_loss_t policy, uint32_t state)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = policy;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
    if (state != HELIO_JOB_OFFERED)
        harness_run_up_to(h, NORTH, key, 1, state);
    harness_clear(h);
    return key;
}

static inline uint32_t site_state(const char *name)
{
    const helio_row_site_t *row;
    uint32_t found = UINT32_MAX;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_SITE)))
        if (helio_text_is(row->site, name))
            found = row->state;
    return found;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
