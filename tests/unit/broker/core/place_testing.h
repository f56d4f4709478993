/*  place_testing.h -- two sites, and jobs that are placed there.
 *
 *  Where a job goes, and what the core believes to be free while it waits to be told.
 */
#ifndef HELIO_TESTS_BROKER_CORE_PLACE_TESTING_H
#define HELIO_TESTS_BROKER_CORE_PLACE_TESTING_H

#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, WEST = 3 };

static harness_t *h;
static helio_site_profile_t *north, *south;

static inline int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static inline void assert_placed(helio_job_key_t key, const char *site, const char *pool)
{
    const helio_row_state_t *row = harness_row(h, key);
    assert_non_null(row);
    assert_int_equal(row->state, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(row->site, site));
    assert_true(helio_text_is(row->pool, pool));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
