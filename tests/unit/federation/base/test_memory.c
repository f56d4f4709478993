/*  Views, buffers with a bound, arenas; error texts; the log's last line of defence. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/log.h"
#include "federation/base/memory.h"

static void text__compares_by_size_and_bytes(void **state)
{
    (void)state;
    assert_true(helio_text_equal((helio_text_t){0}, HELIO_TEXT("")));
    assert_true(helio_text_equal(helio_text_of(NULL), helio_text_of("")));
    assert_true(helio_text_is(HELIO_TEXT("ab"), "ab"));
    assert_false(helio_text_is(HELIO_TEXT("ab"), "abc"));
    assert_false(helio_text_equal(HELIO_TEXT("a\0b"), HELIO_TEXT("a\0c")));
    assert_false(helio_text_is((helio_text_t){"abc", 2}, "abc"));
}

static void text__copies_what_fits_and_reports_truncation(void **state)
{
    (void)state;
    char to[4];
    assert_true(helio_text_copy(HELIO_TEXT("abc"), to, sizeof to));
    assert_string_equal(to, "abc");
    assert_false(helio_text_copy(HELIO_TEXT("abcd"), to, sizeof to));
    assert_string_equal(to, "abc");
    assert_true(helio_text_copy((helio_text_t){0}, to, 1));
    assert_string_equal(to, "");
    assert_false(helio_text_copy(HELIO_TEXT("a"), to, 1));
}

static void buffer__grows_and_is_always_terminated(void **state)
{
    (void)state;
    helio_buffer_t buffer = {0};
    for (int i = 0; i < 1000; i++) {
        helio_buffer_printf(&buffer, "%03d,", i);
        assert_int_equal(buffer.data[buffer.size], '\0');
    }
    assert_int_equal(buffer.size, 4000);
    assert_memory_equal(buffer.data, "000,001,", 8);
    helio_buffer_reset(&buffer);
    assert_string_equal(buffer.data, "");
    helio_buffer_append(&buffer, NULL, 0);
    helio_buffer_text(&buffer, "x");
    assert_true(helio_text_is(helio_buffer_view(&buffer), "x"));
    helio_buffer_clear(&buffer);
    assert_null(buffer.data);
    assert_int_equal(helio_buffer_view(&buffer).size, 0);
}

static void buffer__appends_nothing_after_the_first_overflow(void **state)
{
    (void)state;
    helio_buffer_t buffer = {.max = 10};
    helio_buffer_text(&buffer, "0123456789");
    assert_false(buffer.overflow);
    helio_buffer_append(&buffer, "", 0);
    assert_false(buffer.overflow);
    helio_buffer_text(&buffer, "x");
    assert_true(buffer.overflow);
    assert_int_equal(buffer.size, 10);
    helio_buffer_reset(&buffer);
    assert_false(buffer.overflow);
    helio_buffer_text(&buffer, "01234");
    helio_buffer_printf(&buffer, "%s", "567890"); /* 11 in all */
    assert_true(buffer.overflow);
    helio_buffer_text(&buffer, "5"); /* would fit, but the chain is broken */
    assert_true(helio_text_is(helio_buffer_view(&buffer), "01234"));
    helio_buffer_clear(&buffer);
    assert_int_equal(buffer.max, 10);
    helio_buffer_append(&buffer, "x", SIZE_MAX); /* no wrap-around */
    assert_true(buffer.overflow);
    helio_buffer_clear(&buffer);
}

static void arena__gives_zeroed_aligned_memory_that_does_not_overlap(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    enum { N = 300 };
    static unsigned char *pieces[N];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            size_t size = i * i % 5000;
            pieces[i] = helio_arena_alloc(arena, size, 1);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            for (size_t k = 0; k < size; k++)
                assert_int_equal(pieces[i][k], 0);
            memset(pieces[i], (int)(i % 255) + 1, size);
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < i * i % 5000; k++)
                assert_int_equal(pieces[i][k], (i % 255) + 1);
        helio_arena_reset(arena);
    }
    helio_arena_destroy(&arena);
    assert_null(arena);
    helio_arena_destroy(&arena);
}

static void arena__texts_are_copies_with_a_terminator(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new_sized(0);
    char origin[] = "abcdef";
    helio_text_t copy = helio_arena_text(arena, (helio_text_t){origin, 3});
    origin[0] = 'x';
    assert_true(helio_text_is(copy, "abc"));
    assert_string_equal(copy.data, "abc");
    assert_string_equal(helio_arena_string(arena, (helio_text_t){0}), "");
    helio_text_t made = helio_arena_printf(arena, "%s-%d", "n", 17);
    assert_true(helio_text_is(made, "n-17"));
    helio_text_t large = helio_arena_printf(arena, "%0100000d", 1); /* more than a block */
    assert_int_equal(large.size, 100000);
    helio_arena_destroy(&arena);
}

static void error__has_a_name_and_a_text_for_every_code(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(name, text, retryable) #name,
        HELIO_RC_TABLE(X)
#undef X
    };
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_string_equal(helio_rc_name((helio_rc)i), names[i]);
        assert_true(helio_rc_text((helio_rc)i)[0]);
    }
    assert_string_equal(helio_rc_name((helio_rc)(sizeof names / sizeof names[0])), "UNKNOWN");
    assert_non_null(helio_rc_text((helio_rc)9999));
}

static void error__a_failure_is_returned_with_its_text_and_a_long_one_is_truncated(void **state)
{
    (void)state;
    helio_error_t err;
    assert_int_equal(helio_fail(&err, HELIO_IO, "no %s", "luck"), HELIO_IO);
    assert_int_equal(err.code, HELIO_IO);
    assert_string_equal(err.text, "no luck");
    assert_int_equal(helio_fail(NULL, HELIO_BUSY, "nobody listens"), HELIO_BUSY);
    (void)helio_fail(&err, HELIO_IO, "%01000d", 1);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void log__a_hostile_value_cannot_forge_a_line(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    helio_log_t *log = helio_log_new(fds[1], HELIO_INFO, "test");
    char quoted[200];
    helio_log(log, HELIO_INFO, "event", "a=%s b=%s",
              helio_log_quote(HELIO_TEXT("x\n2026-01-01 forged \"\\\x1b[31m\xff"), quoted, sizeof quoted),
              "raw\nbreak");
    helio_log(log, HELIO_DEBUG, "event", "below the level");
    helio_log(NULL, HELIO_ERROR, "event", "no log is fine");
    char line[4096];
    ssize_t size = read(fds[0], line, sizeof line - 1);
    assert_true(size > 0);
    line[size] = '\0';
    assert_ptr_equal(strchr(line, '\n'), line + size - 1);
    assert_non_null(
        strstr(line, "Z test info event a=\"x\\x0a2026-01-01 forged \\\"\\\\\\x1b[31m\\xff\" b=raw?break\n"));
    static char large[5000];
    memset(large, 'y', sizeof large - 1);
    helio_log(log, HELIO_ERROR, "event", "%s", large);
    size = read(fds[0], line, sizeof line - 1);
    assert_true(size > 1000 && size <= 2048 && line[size - 1] == '\n');
    helio_log_destroy(&log);
    assert_null(log);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void log__a_quoted_value_fits_its_buffer(void **state)
{
    (void)state;
    char value[100];
    memset(value, '\n', sizeof value);
    for (size_t capacity = 8; capacity < 64; capacity++) {
        char *to = helio_new(capacity, 1);
        helio_log_quote((helio_text_t){value, sizeof value}, to, capacity);
        size_t size = strlen(to);
        assert_true(size < capacity && to[0] == '"' && to[size - 1] == '"');
        free(to);
    }
}

static void log__a_limit_counts_dropped_lines(void **state)
{
    (void)state;
    helio_log_limit_t limit = {0};
    uint32_t dropped = 0;
    assert_true(helio_log_allowed(&limit, 2, &dropped));
    limit.used = 2; /* as if the burst were spent */
    int64_t second = limit.second;
    bool allowed = helio_log_allowed(&limit, 2, &dropped);
    if (limit.second == second) { /* else the second has just turned */
        assert_false(allowed);
        assert_int_equal(limit.dropped, 1);
    }
    limit.second = 0; /* as if long ago */
    limit.dropped = 5;
    assert_true(helio_log_allowed(&limit, 2, &dropped));
    assert_int_equal(dropped, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text__compares_by_size_and_bytes),
        cmocka_unit_test(text__copies_what_fits_and_reports_truncation),
        cmocka_unit_test(buffer__grows_and_is_always_terminated),
        cmocka_unit_test(buffer__appends_nothing_after_the_first_overflow),
        cmocka_unit_test(arena__gives_zeroed_aligned_memory_that_does_not_overlap),
        cmocka_unit_test(arena__texts_are_copies_with_a_terminator),
        cmocka_unit_test(error__has_a_name_and_a_text_for_every_code),
        cmocka_unit_test(error__a_failure_is_returned_with_its_text_and_a_long_one_is_truncated),
        cmocka_unit_test(log__a_hostile_value_cannot_forge_a_line),
        cmocka_unit_test(log__a_quoted_value_fits_its_buffer),
        cmocka_unit_test(log__a_limit_counts_dropped_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
