/*  Shares and quotas, as arithmetic. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "federation/base/rng.h"
#include "federation/policy/fair_share.h"
#include "federation/policy/quota.h"

static const int64_t HOUR = 3600000;

static void share__weights_follow_the_model(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint32_t weight;
    } cases[] = {{"A100", 1000},
                 {"A100-80GB", 1000},
                 {"A10", 401},
                 {"A10G", 401},
                 {"H100", 3170},
                 {"H100-SXM5", 3170},
                 {"L4", 388},
                 {"L40S", 1160},
                 {"T4", 208},
                 {"P100", 68},
                 {"", 1000},
                 {"Trident", 1000},
                 {"H100/1g.10gb", 452},
                 {"A100/7g.80gb", 1000},
                 {"L40", 1000},
                 {"A1000", 1000},
                 {"A", 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (helio_gpu_weight_milli(helio_text_of(cases[i].model)) != cases[i].weight)
            fail_msg("%s: %u", cases[i].model, helio_gpu_weight_milli(helio_text_of(cases[i].model)));
}

static void share__use_counts_half_after_a_half_life(void **state)
{
    (void)state;
    helio_share_t share = {0};
    helio_share_take(&share, 0, 10, 1000);
    assert_int_equal(helio_share_rank(&share, 1000), 10000000);
    helio_share_advance(&share, HELIO_SHARE_HALF_LIFE_MS); /* half of the way to ten */
    assert_int_equal(share.mean_micro, 5000000);
    assert_int_equal(helio_share_rank(&share, 1000), 15000000);
    assert_int_equal(helio_share_rank(&share, 3000), 5000000);
    helio_share_give(&share, HELIO_SHARE_HALF_LIFE_MS, 10, 1000);
    helio_share_advance(&share, INT64_C(3) * HELIO_SHARE_HALF_LIFE_MS);
    assert_int_equal(helio_share_rank(&share, 1000), 1250000);
    helio_share_advance(&share, INT64_C(100) * HELIO_SHARE_HALF_LIFE_MS);
    assert_int_equal(helio_share_rank(&share, 1000), 0);
}

static void share__a_clock_that_goes_back_changes_nothing(void **state)
{
    (void)state;
    helio_share_t share = {0};
    helio_share_take(&share, 50 * HOUR, 4, 1000);
    helio_share_advance(&share, 60 * HOUR);
    helio_share_t before = share;
    helio_share_advance(&share, 10 * HOUR);
    assert_memory_equal(&share, &before, sizeof share);
}

/*  Whatever comes and goes, in small steps or large: within a thousandth of what real numbers say. */
static void share__agrees_with_the_formula(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        helio_rng_t rng = {seed};
        helio_share_t share = {0};
        double mean = 0;
        int64_t step = 0;
        uint32_t held = 0;
        for (uint32_t i = 0; i < 500; i++) {
            step += (int64_t)(helio_rng_next(&rng) % 3000);
            int64_t now = (step * HELIO_SHARE_HALF_LIFE_MS + HELIO_SHARE_STEPS - 1) / HELIO_SHARE_STEPS;
            double decay = exp2(-(double)(step - share.step) / HELIO_SHARE_STEPS);
            mean = held + (mean - held) * decay;
            uint32_t gpus = (uint32_t)(helio_rng_next(&rng) % 100);
            if (held >= gpus && helio_rng_next(&rng) % 2) {
                helio_share_give(&share, now, gpus, 1000);
                held -= gpus;
            } else {
                helio_share_take(&share, now, gpus, 1000);
                held += gpus;
            }
            assert_true(fabs((double)share.mean_micro / 1e6 - mean) <= 0.001 * (mean + 1));
        }
    }
}

static void share__restored_use_equals_observed_use(void **state)
{
    (void)state;
    helio_share_t lived = {0}, recalled = {0};
    helio_share_take(&lived, 0, 8, 3170);
    helio_share_give(&lived, 10 * HOUR, 8, 3170);
    helio_share_advance(&lived, 30 * HOUR);
    helio_share_advance(&recalled, 30 * HOUR);
    for (int64_t hour = 0; hour < 10; hour++)
        helio_share_recall(&recalled, (uint64_t)(8 * HOUR), 3170, 30 * HOUR - hour * HOUR - HOUR / 2);
    double error = fabs((double)recalled.mean_micro - (double)lived.mean_micro) / (double)lived.mean_micro;
    assert_true(lived.mean_micro > 1000000 && error < 0.001);
    helio_share_recall(&recalled, UINT64_MAX, UINT32_MAX / 1000, -5); /* nonsense is bounded */
    assert_true(helio_share_rank(&recalled, 1) > 0);
}

static void quota__rest_and_guarantee_follow_the_holdings(void **state)
{
    (void)state;
    helio_holdings_t holds = {helio_quota_default(), 0};
    assert_int_equal(helio_quota_left(&holds), HELIO_QUOTA_UNLIMITED);
    assert_false(helio_quota_is_below_guarantee(&holds));
    holds.quota.burst_gpus = 12;
    holds.quota.guaranteed_gpus = 4;
    assert_true(helio_quota_is_below_guarantee(&holds));
    helio_quota_take(&holds, 8);
    assert_false(helio_quota_is_below_guarantee(&holds));
    assert_int_equal(helio_quota_left(&holds), 4);
    holds.quota.burst_gpus = 6; /* lowered */
    assert_int_equal(helio_quota_left(&holds), 0);
    helio_quota_give(&holds, 5);
    assert_int_equal(helio_quota_left(&holds), 3);
    assert_true(helio_quota_is_below_guarantee(&holds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(share__weights_follow_the_model),
        cmocka_unit_test(share__use_counts_half_after_a_half_life),
        cmocka_unit_test(share__a_clock_that_goes_back_changes_nothing),
        cmocka_unit_test(share__agrees_with_the_formula),
        cmocka_unit_test(share__restored_use_equals_observed_use),
        cmocka_unit_test(quota__rest_and_guarantee_follow_the_holdings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
