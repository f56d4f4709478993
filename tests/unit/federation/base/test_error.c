/*  test_error.c -- an error says whether the database caused it, and nothing of an earlier error remains in it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/error.h"

static void error__of_the_database_has_its_state_and_another_one_clears_it(void **state)
{
    (void)state;
    helio_error_t err = {0};
    assert_int_equal(helio_fail_sql(&err, HELIO_INVALID, "42501", "%s of %s", "no right", "x"), HELIO_INVALID);
    assert_int_equal(err.code, HELIO_INVALID);
    assert_string_equal(err.sqlstate, "42501");
    assert_string_equal(err.text, "no right of x");
    assert_int_equal(helio_fail(&err, HELIO_IO, "database: (42501)"), HELIO_IO);
    assert_int_equal(err.code, HELIO_IO);
    assert_string_equal(err.sqlstate, "");
    assert_int_equal(helio_fail_sql(NULL, HELIO_FENCED, "HE001", "x"), HELIO_FENCED);
    assert_int_equal(helio_fail(NULL, HELIO_IO, "x"), HELIO_IO);
}

/*  A server can send anything. */
static void error__keeps_five_characters_of_a_state(void **state)
{
    (void)state;
    helio_error_t err = {0};
    (void)!helio_fail_sql(&err, HELIO_INVALID, "42501 and more", "x");
    assert_string_equal(err.sqlstate, "42501");
    (void)!helio_fail_sql(&err, HELIO_INVALID, "", "x");
    assert_string_equal(err.sqlstate, "");
}

static void errors__are_equal_if_all_that_they_say_is(void **state)
{
    (void)state;
    helio_error_t one = {0}, other;
    (void)!helio_fail_sql(&one, HELIO_UNAVAILABLE, "08006", "lost");
    other = one;
    other.text[sizeof other.text - 1] = 'x'; /* behind the end of the text */
    assert_true(helio_error_equal(&one, &other));
    (void)!helio_fail_sql(&other, HELIO_UNAVAILABLE, "08001", "lost");
    assert_false(helio_error_equal(&one, &other));
    (void)!helio_fail_sql(&other, HELIO_TIMEOUT, "08006", "lost");
    assert_false(helio_error_equal(&one, &other));
    (void)!helio_fail_sql(&other, HELIO_UNAVAILABLE, "08006", "lost again");
    assert_false(helio_error_equal(&one, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error__of_the_database_has_its_state_and_another_one_clears_it),
        cmocka_unit_test(error__keeps_five_characters_of_a_state),
        cmocka_unit_test(errors__are_equal_if_all_that_they_say_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
