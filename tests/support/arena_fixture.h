/*  arena_fixture.h -- an arena for each test, as its state. */
#ifndef HELIO_TESTS_ARENA_FIXTURE_H
#define HELIO_TESTS_ARENA_FIXTURE_H

#include "federation/base/memory.h"

static inline int arena_setup(void **state)
{
    *state = helio_arena_new();
    return 0;
}

static inline int arena_teardown(void **state)
{
    helio_arena_t *arena = *state;
    helio_arena_destroy(&arena);
    return 0;
}

#endif
