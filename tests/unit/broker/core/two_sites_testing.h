/*  two_sites_testing.h -- a core with two sites, north and south. */
#ifndef HELIO_TESTS_BROKER_CORE_TWO_SITES_TESTING_H
#define HELIO_TESTS_BROKER_CORE_TWO_SITES_TESTING_H

#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2 };

static harness_t *h;
static helio_site_profile_t *north, *south;

/*  Their profiles, without pools; the test lets them join. */
static inline int begin_apart(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    return 0;
}

/*  Both have joined with four nodes of eight GPUs; north is the cheaper one. */
static inline int begin_joined(void **state)
{
    (void)begin_apart(state);
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

#endif
