/*  place_testing.h -- two sites, and jobs that are placed there; what counts as free between summaries. */
#ifndef HELIO_TESTS_BROKER_CORE_PLACE_TESTING_H
#define HELIO_TESTS_BROKER_CORE_PLACE_TESTING_H

#include "tests/unit/broker/core/two_sites_testing.h"

enum { WEST = 3 };

static inline void assert_placed(helio_job_key_t key, const char *site, const char *pool)
{
    const helio_row_state_t *row = harness_row(h, key);
    assert_non_null(row);
    assert_int_equal(row->state, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(row->site, site));
    assert_true(helio_text_is(row->pool, pool));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_apart, end)

#endif
