/*  experiment_testing.h -- files of a test's own folder, and an arena. */
#ifndef HELIO_TESTS_SIMULATOR_EXPERIMENT_TESTING_H
#define HELIO_TESTS_SIMULATOR_EXPERIMENT_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "federation/base/memory.h"
#include "tests/support/folder.h"

static helio_arena_t *arena;
static char folder[64];
static helio_error_t err;

static inline int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    err = (helio_error_t){0};
    return folder_make(folder, sizeof folder, "helio-experiment") ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return folder_remove(folder);
}

static inline const char *path_of(const char *name)
{
    return helio_arena_string(arena, helio_arena_printf(arena, "%s/%s", folder, name));
}

static inline const char *put(const char *name, const char *text)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

/*  The error names the file and ends like this. */
static inline void assert_error(const char *name, const char *rest)
{
    const char *expected = helio_arena_string(arena, helio_arena_printf(arena, "%s%s", path_of(name), rest));
    assert_string_equal(err.text, expected);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
