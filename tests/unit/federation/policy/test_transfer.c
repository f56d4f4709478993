/*  What bringing data takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/base/rng.h"
#include "federation/policy/transfer.h"

static const uint64_t TB = UINT64_C(1000000000000);

static void transfer__follows_its_formula(void **state)
{
    (void)state;
    helio_link_t link = {.mbps = 5000, .egress_micro_usd_per_gb = 20000};
    helio_transfer_t t = helio_transfer_of(2 * TB, &link, 300000);
    assert_int_equal(t.ms, 3200000);                /* 16e12 bits at 5e9 a second */
    assert_int_equal(t.egress_micro_usd, 40000000); /* 2000 GB at 0.02 USD */
    assert_int_equal(t.energy_j, 14400000);         /* 4 kWh: 0.002 a GB */
    assert_int_equal(t.carbon_mg, 1200000);         /* 4 kWh at 300 g */
    helio_prices_t prices = {.carbon_micro_usd_per_t = 200000000, .wait_micro_usd_per_gpu_h = 500000};
    /* 40 USD, 1.2 kg at 200 USD/t, 8 GPUs for 3200 s at 0.50 USD an hour */
    assert_int_equal(helio_transfer_score(&t, prices, 8), 40000000 + 240000 + 3555556);
    t = helio_transfer_of(0, &link, 300000);
    assert_true(!t.ms && !t.egress_micro_usd && !t.energy_j && !t.carbon_mg);
}

static void transfer__the_intensity_is_the_mean_of_both_ends_or_the_only_known_one(void **state)
{
    (void)state;
    assert_true(helio_transfer_intensity(100, 300) == 200);
    assert_true(helio_transfer_intensity(-1, 300) == 300);
    assert_true(helio_transfer_intensity(100, -1) == 100);
    assert_true(helio_transfer_intensity(-1, -1) < 0);
}

static void transfer__figures_of_any_size_are_bounded_and_sums_are_too(void **state)
{
    (void)state;
    helio_link_t link = {.mbps = 1, .egress_micro_usd_per_gb = HELIO_LINK_EGRESS_MAX_MICRO_USD};
    helio_transfer_t t = helio_transfer_of(UINT64_MAX, &link, UINT64_MAX);
    const int64_t most = INT64_C(1) << 53;
    for (int i = 0; i < 1000; i++)
        t = helio_transfer_sum(t, t);
    assert_int_equal(t.egress_micro_usd, most);
    assert_true(t.ms <= UINT64_C(10) * 366 * 86400000);
    assert_true(t.carbon_mg <= (uint64_t)most && t.energy_j <= (uint64_t)most);
    helio_prices_t dear = {.carbon_micro_usd_per_t = HELIO_PRICE_MAX_MICRO_USD,
                           .wait_micro_usd_per_gpu_h = HELIO_PRICE_MAX_MICRO_USD};
    assert_int_equal(helio_transfer_score(&t, dear, UINT64_MAX), most);
    link.mbps = 0; /* no such link is kept; it does not divide by it */
    assert_true(helio_transfer_of(1, &link, 0).ms == 0);
}

/*  Less of anything is never worth more. */
static void transfer__what_is_cheaper_in_every_figure_never_scores_worse(void **state)
{
    (void)state;

    helio_rng_t rng = {7};
    for (int i = 0; i < 20000; i++) {
        uint64_t bytes = helio_rng_next(&rng) % (100 * TB), mg = helio_rng_next(&rng) % 1000000;
        helio_link_t a = {1 + helio_rng_next(&rng) % 100000, (int64_t)(helio_rng_next(&rng) % 200000), 0}, b = a;
        b.mbps += helio_rng_next(&rng) % 1000;
        b.egress_micro_usd_per_gb -= (int64_t)(helio_rng_next(&rng) % (uint64_t)(b.egress_micro_usd_per_gb + 1));
        helio_prices_t prices = {.carbon_micro_usd_per_t = (int64_t)(helio_rng_next(&rng) % 2000000000),
                                 .wait_micro_usd_per_gpu_h = (int64_t)(helio_rng_next(&rng) % 5000000)};
        helio_transfer_t dear = helio_transfer_of(bytes, &a, mg), cheap = helio_transfer_of(bytes, &b, mg / 2);
        uint64_t gpus = helio_rng_next(&rng) % 100;
        assert_true(helio_transfer_score(&cheap, prices, gpus) <= helio_transfer_score(&dear, prices, gpus));
    }
}

static void prefix__candidates_are_cut_at_slashes_the_longest_first(void **state)
{
    (void)state;
    static const char *const all[] = {"s3://a/b", "s3://a/", "s3://a", "s3://", "s3:/", "s3:"};
    helio_text_t uri = HELIO_TEXT("s3://a/b");
    uint32_t size = uri.size + 1, i = 0;
    for (; helio_prefix_next(uri, &size); i++) {
        assert_true(i < sizeof all / sizeof all[0]);
        assert_true(helio_text_is((helio_text_t){uri.data, size}, all[i]));
    }
    assert_int_equal(i, sizeof all / sizeof all[0]);
    size = 1;
    assert_false(helio_prefix_next((helio_text_t){0}, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfer__follows_its_formula),
        cmocka_unit_test(transfer__the_intensity_is_the_mean_of_both_ends_or_the_only_known_one),
        cmocka_unit_test(transfer__figures_of_any_size_are_bounded_and_sums_are_too),
        cmocka_unit_test(transfer__what_is_cheaper_in_every_figure_never_scores_worse),
        cmocka_unit_test(prefix__candidates_are_cut_at_slashes_the_longest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
