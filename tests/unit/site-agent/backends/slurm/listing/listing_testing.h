/*  listing_testing.h -- lists of Slurm's as they were recorded, and as tests write them.
 *
 *  What Slurm's commands print, as values. tests/data/slurm holds what a real cluster (22.05) printed; other
 *  releases' words are written here.
 */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_LISTING_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_LISTING_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/listing/listing.h"
#include "tests/support/one_arena.h"

/*  A copy of its own size, so that a read past its end is seen by the sanitizer. */
static inline char *exact(helio_text_t text)
{
    char *copy = malloc(text.size ? text.size : 1);
    assert_non_null(copy);
    if (text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}

static inline helio_text_t read_path(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = helio_arena_alloc(arena, 1, 1 << 20);
    size_t size = fread(bytes, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return (helio_text_t){bytes, (uint32_t)size};
}

static inline helio_text_t recorded(const char *name)
{
    return read_path(
        helio_arena_string(arena, helio_arena_printf(arena, "%s/tests/data/slurm/%s", HELIO_SOURCE_DIR, name)));
}

static inline void assert_text(helio_text_t text, const char *expected)
{
    if (!helio_text_is(text, expected))
        fail_msg("'%.*s' where '%s' is expected", HELIO_TEXT_ARGS(text), expected);
}

#endif
