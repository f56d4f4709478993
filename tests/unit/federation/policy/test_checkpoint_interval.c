/*  test_checkpoint_interval.c -- how often a job should save: against Young's formula, and against the least expected
 *  time of whole runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#include "federation/policy/checkpoint_interval.h"

enum { MINUTE = 60000, HOUR = 60 * MINUTE };

/*  Daly's complete model, equation 20: the time that an hour of work takes, with a restart of no time. */
static double slowdown(double takes, double interval, double mean)
{
    return mean * (exp((interval + takes) / mean) - 1) / interval;
}

static void interval__is_youngs_for_rare_interruptions(void **state)
{
    (void)state;
    double young = sqrt(2.0 * MINUTE * 1000 * HOUR);
    double found = (double)helio_checkpoint_interval_ms(MINUTE, UINT64_C(1000) * HOUR);
    assert_true(fabs(found / young - 1) < .02);
}

static void interval__takes_the_least_time(void **state)
{
    (void)state;
    for (uint64_t takes = MINUTE / 6; takes <= 30 * MINUTE; takes *= 3) {
        for (uint64_t mean = 2 * takes; mean <= UINT64_C(10000) * HOUR; mean *= 4) {
            double found = (double)helio_checkpoint_interval_ms(takes, mean), least = HUGE_VAL;
            for (double tried = found / 8; tried < found * 8; tried *= 1.02)
                least = fmin(least, slowdown((double)takes, tried, (double)mean));
            assert_true(slowdown((double)takes, found, (double)mean) < 1.002 * least);
        }
    }
}

static void interval__is_the_mean_where_checkpoints_take_longer(void **state)
{
    (void)state;
    assert_int_equal(helio_checkpoint_interval_ms(HOUR, HOUR / 2), HOUR / 2);
    assert_int_equal(helio_checkpoint_interval_ms(3 * HOUR, HOUR), HOUR);
    assert_int_equal(helio_checkpoint_interval_ms(MINUTE, 0), 0);
}

static void loss__is_what_checkpoints_and_interruptions_take(void **state)
{
    (void)state;
    double ratio = helio_checkpoint_loss_ratio(MINUTE, HOUR, UINT64_C(100) * HOUR);
    assert_true(fabs(ratio - (1 / 60.0 + 61 / 60.0 / 200)) < 1e-9);
    assert_true(helio_checkpoint_loss_ratio(HOUR, HOUR, HOUR) == 1 && helio_checkpoint_loss_ratio(1, 0, 1) == 1 &&
                helio_checkpoint_loss_ratio(1, 1, 0) == 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval__is_youngs_for_rare_interruptions),
        cmocka_unit_test(interval__takes_the_least_time),
        cmocka_unit_test(interval__is_the_mean_where_checkpoints_take_longer),
        cmocka_unit_test(loss__is_what_checkpoints_and_interruptions_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
