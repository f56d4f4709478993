/*  spec_testing.h -- what the tests of federation/spec share. */
#ifndef HELIO_TESTS_SPEC_TESTING_H
#define HELIO_TESTS_SPEC_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "federation/spec/spec.h"
#include "tests/support/arena_fixture.h"

/*  A heap copy of exactly the bytes, so that reading behind them is an error that the sanitizer sees. */
typedef struct exact {
    char *bytes;
    helio_spec_source_t source;
} exact_t;

static inline exact_t exact_of(const char *name, const void *bytes, size_t size)
{
    exact_t self = {.bytes = malloc(size ? size : 1)};
    assert_non_null(self.bytes);
    if (size)
        memcpy(self.bytes, bytes, size);
    self.source = (helio_spec_source_t){{self.bytes, (uint32_t)size}, name, 0};
    return self;
}

static inline helio_rc parse_job(const void *bytes, size_t size, helio_arena_t *arena, helio_job_spec_t *ret_job,
                                 helio_diagnostic_t *ret_diagnostic)
{
    exact_t exact = exact_of("job.yaml", bytes, size);
    helio_rc rc = helio_spec_parse_job(exact.source, arena, ret_job, ret_diagnostic);
    free(exact.bytes); /* before the spec is looked at: its views must be the arena's */
    return rc;
}

static inline helio_job_spec_t good_job(const char *yaml, helio_arena_t *arena)
{
    helio_job_spec_t job;
    helio_diagnostic_t diagnostic = {0};
    if (parse_job(yaml, strlen(yaml), arena, &job, &diagnostic) != HELIO_OK)
        fail_msg("refused:\n%s\n%s (%u:%u)", yaml, diagnostic.message, diagnostic.line, diagnostic.column);
    return job;
}

static inline helio_diagnostic_t bad_job(const char *yaml, helio_arena_t *arena)
{
    helio_job_spec_t job, untouched;
    helio_diagnostic_t diagnostic = {0};
    memset(&job, 0xa5, sizeof job);
    memcpy(&untouched, &job, sizeof job);
    if (parse_job(yaml, strlen(yaml), arena, &job, &diagnostic) == HELIO_OK)
        fail_msg("accepted:\n%s", yaml);
    assert_memory_equal(&job, &untouched, sizeof job);
    assert_int_not_equal(diagnostic.problem, HELIO_SPEC_NONE_PROBLEM);
    assert_string_not_equal(diagnostic.message, "");
    return diagnostic;
}

#define assert_text(text, string) assert_true(helio_text_is(text, string))

#endif
