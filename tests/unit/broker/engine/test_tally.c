/*  What rows add up to. */
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

static void ledger__rows_add_up_and_negative_prices_take_from_the_cost(void **state)
{
    (void)state;
    helio_row_ledger_t row = {.gpu_ms = 5, .energy_j = 7, .carbon_mg = 11, .cost_micro_usd = -13};
    took(HELIO_BROKER_FX_ROW_LEDGER, &row, 1);
    took(HELIO_BROKER_FX_ROW_LEDGER, &row, 1);
    assert_int_equal(tally.gpu_ms, 10);
    assert_int_equal(tally.energy_j, 14);
    assert_int_equal(tally.carbon_mg, 22);
    assert_int_equal(tally.cost_micro_usd, -26);
}

static void baseline__is_compared_in_one_kind_of_intensity_alone(void **state)
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

static void candidates__are_counted_by_the_word_that_was_written(void **state)
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
        cmocka_unit_test_setup(ledger__rows_add_up_and_negative_prices_take_from_the_cost, begin),
        cmocka_unit_test_setup(baseline__is_compared_in_one_kind_of_intensity_alone, begin),
        cmocka_unit_test_setup(candidates__are_counted_by_the_word_that_was_written, begin),
        cmocka_unit_test_setup(placing__counts_steps_that_placed_and_no_others, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
