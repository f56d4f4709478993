/*  test_log_tail.c -- where the last lines of a log begin. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "broker/http/routes/log_tail.h"

static void log_tail__begins_with_the_last_lines(void **state)
{
    (void)state;
    static const struct {
        const char *piece;
        bool whole;
        uint32_t lines, begin;
    } cases[] = {
        {"a\nb\nc\n", true, 1, 4}, {"a\nb\nc\n", true, 2, 2},   {"a\nb\nc\n", true, 3, 0}, {"a\nb\nc\n", true, 9, 0},
        {"a\nb\nc", true, 1, 4},   {"a\nb\nc", true, 2, 2},     {"", true, 1, 0},          {"\n", true, 1, 0},
        {"\n\n\n", true, 2, 1},    {"cd\nb\nc\n", false, 9, 3}, {"long", false, 1, 0},     {"long\n", false, 1, 0},
        {"cd\nb\n", false, 1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(helio_log_tail(helio_text_of(cases[i].piece), cases[i].whole, cases[i].lines), cases[i].begin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(log_tail__begins_with_the_last_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
