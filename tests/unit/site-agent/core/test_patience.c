/*  test_patience.c -- three renewals without an answer, within bounds. */
#include "site-agent/core/patience.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_broker_may_miss_two_renewals_and_not_three(void **state)
{
    (void)state;
    assert_int_equal(helio_patience_silence_ms(90000), 270000);
    assert_int_equal(helio_patience_silence_ms(20001), 60003);
}

static void the_wait_is_bounded_whatever_the_broker_says(void **state)
{
    (void)state;
    assert_int_equal(helio_patience_silence_ms(0), 60000);
    assert_int_equal(helio_patience_silence_ms(20000), 60000);
    assert_int_equal(helio_patience_silence_ms(UINT64_MAX), INT64_C(3) * 3600 * 1000);
}

static void one_of_several_brokers_is_dialled_again_sooner(void **state)
{
    (void)state;
    assert_int_equal(helio_patience_redial_most_ms(1), 30000);
    assert_int_equal(helio_patience_redial_most_ms(2), 5000);
    assert_int_equal(helio_patience_redial_most_ms(9), 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broker_may_miss_two_renewals_and_not_three),
        cmocka_unit_test(the_wait_is_bounded_whatever_the_broker_says),
        cmocka_unit_test(one_of_several_brokers_is_dialled_again_sooner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
