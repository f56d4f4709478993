/*  test_tally.c -- the totals of emitted rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "broker/engine/tally.h"

static helio_tally_t tally;

static int begin(void **state)
{
    (void)state;
    tally = (helio_tally_t){0};
    return 0;
}

/*  A step of one effect. */
static void took(uint32_t kind, void *payload, uint64_t step_us)
{
    helio_effect_t effect = {.kind = kind, .payload = payload};
    helio_effects_t effects = {.items = &effect, .count = 1};
    helio_tally_step(&tally, &effects, step_us);
}

static void ledger__rows_add_up_and_negative_prices_reduce_the_cost(void **state)
{
    (void)state;
    helio_row_ledger_t row = {.gpu_ms = 5, .energy_j = 7, .carbon_mg = 11, .cost_micro_usd = -13};
    took(HELIO_BROKER_FX_ROW_LEDGER, &row, 1);
    took(HELIO_BROKER_FX_ROW_LEDGER, &row, 1);
    assert_int_equal(tally.gpu_ms.total, 10);
    assert_int_equal(tally.energy_j.total, 14);
    assert_int_equal(tally.carbon_mg.total, 22);
    assert_int_equal(tally.cost_micro_usd, -26);
}

/*  Prometheus takes a counter that falls for one that began again. */
static void ledger__reversal_is_taken_back_by_what_follows_it(void **state)
{
    (void)state;
    helio_row_ledger_t row = {.gpu_ms = 100, .energy_j = 100, .carbon_mg = 100, .cost_micro_usd = 100};
    static const struct {
        uint32_t part;
        uint64_t amount, total;
        int64_t cost;
    } steps[] = {
        {HELIO_LEDGER_ESTIMATE, 100, 100, 100}, {HELIO_LEDGER_REVERSAL, 100, 100, 0},
        {HELIO_LEDGER_MEASURED, 130, 130, 130}, /* more than the estimate */
        {HELIO_LEDGER_ESTIMATE, 50, 180, 180},  {HELIO_LEDGER_REVERSAL, 50, 180, 130},
        {HELIO_LEDGER_MEASURED, 20, 180, 150}, /* less: 30 are still to be used up */
        {HELIO_LEDGER_USE, 29, 180, 179},       {HELIO_LEDGER_USE, 2, 181, 181},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        row.part = steps[i].part;
        row.gpu_ms = row.energy_j = row.carbon_mg = steps[i].amount;
        row.cost_micro_usd = (int64_t)steps[i].amount;
        took(HELIO_BROKER_FX_ROW_LEDGER, &row, 1);
        assert_int_equal(tally.gpu_ms.total, steps[i].total);
        assert_int_equal(tally.energy_j.total, steps[i].total);
        assert_int_equal(tally.carbon_mg.total, steps[i].total);
        assert_int_equal(tally.cost_micro_usd, steps[i].cost);
    }
}

static void baseline__is_compared_only_within_one_kind_of_intensity(void **state)
{
    (void)state;
    helio_row_baseline_t row = {.carbon_mg = 100,
                                .cost_micro_usd = 10,
                                .home_site = HELIO_TEXT("lulea"),
                                .home_carbon_mg = 70,
                                .home_cost_micro_usd = 25,
                                .home_carbon_kind = HELIO_TEXT("average lifecycle"),
                                .earliest_site = HELIO_TEXT("oregon"),
                                .earliest_carbon_mg = 900,
                                .earliest_cost_micro_usd = 30,
                                .earliest_carbon_kind = HELIO_TEXT("mixed")};
    took(HELIO_BROKER_FX_ROW_BASELINE, &row, 1);
    assert_int_equal(tally.home.carbon_mg_saved, -30);
    assert_int_equal(tally.home.micro_usd_saved, 15);
    assert_int_equal(tally.earliest_start.carbon_mg_saved, 0);
    assert_int_equal(tally.earliest_start.micro_usd_saved, 20);
    row.home_site = (helio_text_t){0}; /* none that fits: nothing to compare with */
    took(HELIO_BROKER_FX_ROW_BASELINE, &row, 1);
    assert_int_equal(tally.home.micro_usd_saved, 15);
}

static void candidates__are_counted_by_their_stored_rejection(void **state)
{
    (void)state;
    for (uint32_t why = HELIO_REJECTION_NONE; why < HELIO_REJECTION_COUNT; why++) {
        helio_row_candidate_t row = {.rejected_reason = helio_text_of(helio_rejection_name(why))};
        took(HELIO_BROKER_FX_ROW_CANDIDATE, &row, 1);
        assert_int_equal(tally.rejected[why], why != HELIO_REJECTION_NONE);
    }
}

static void placing__counts_steps_that_placed_and_no_others(void **state)
{
    (void)state;
    helio_row_transition_t transition = {0};
    helio_row_placement_t placement = {0};
    took(HELIO_BROKER_FX_ROW_TRANSITION, &transition, 700);
    assert_int_equal(tally.placing_us.sum, 0);
    took(HELIO_BROKER_FX_ROW_PLACEMENT, &placement, 100);
    took(HELIO_BROKER_FX_ROW_PLACEMENT, &placement, 101);
    took(HELIO_BROKER_FX_ROW_PLACEMENT, &placement, 9000000);
    assert_int_equal(tally.placing_us.counts[0], 1); /* a bound belongs to its bucket */
    assert_int_equal(tally.placing_us.counts[1], 1);
    assert_int_equal(tally.placing_us.counts[helio_tally_placing_bounds.count], 1);
    assert_int_equal(tally.placing_us.sum, 9000201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ledger__rows_add_up_and_negative_prices_reduce_the_cost, begin),
        cmocka_unit_test_setup(ledger__reversal_is_taken_back_by_what_follows_it, begin),
        cmocka_unit_test_setup(baseline__is_compared_only_within_one_kind_of_intensity, begin),
        cmocka_unit_test_setup(candidates__are_counted_by_their_stored_rejection, begin),
        cmocka_unit_test_setup(placing__counts_steps_that_placed_and_no_others, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
