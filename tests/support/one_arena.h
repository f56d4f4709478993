/*  one_arena.h -- an arena for each test, in a variable of its file. */
#ifndef HELIO_TESTS_ONE_ARENA_H
#define HELIO_TESTS_ONE_ARENA_H

#include "federation/base/memory.h"

static helio_arena_t *arena;

static inline int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

#endif
