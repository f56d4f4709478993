/*  silence_testing.h -- two sites, one of which goes silent and returns: sessions, leases, inventories, attestations
 *  (docs/architecture.md, "When a site is silent"). */
#ifndef HELIO_TESTS_BROKER_CORE_SILENCE_TESTING_H
#define HELIO_TESTS_BROKER_CORE_SILENCE_TESTING_H

#include "tests/unit/broker/core/two_sites_testing.h"

enum { NORTH_AGAIN = 11 };

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

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

#endif
