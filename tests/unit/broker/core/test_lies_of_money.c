/*  test_lies_of_money.c -- what a run costs, by a site that must not be believed: rents that rise after the placement, and
 *  tariffs below zero. */
#include "tests/unit/broker/core/estimates_testing.h"

static const int64_t USD = 1000000;

/*  Three hours from the present one on. */
static void state_price(uint64_t peer, uint32_t signal, double first, double later)
{
    double points[] = {first, later, later};
    helio_series_t series = {.signal = signal,
                             .pool = signal == HELIO_SIGNAL_PRICE ? HELIO_TEXT("a") : (helio_text_t){0},
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) / HOUR_MS * HOUR_MS,
                             .step_s = 3600,
                             .values = {points, 3}};
    harness_series(h, peer, &series, 1);
}

static helio_job_key_t placed(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = 2 * (uint64_t)HOUR_MS;
    harness_strings(h, &spec.sites, (const char *[]){"north", NULL});
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

static int64_t charged_money(void)
{
    return harness_charged(h, "acme", HELIO_BUDGET_MONEY, 0, INT64_MAX);
}

/*  2 GPUs for half an hour at 2 USD are 2 USD. The next leader knows the offer from the placement. */
static void rent__that_rises_after_the_placement_is_charged_at_four_times_the_offer(void **state)
{
    for (int successor = 0; successor < 2; successor++) {
        helio_job_key_t key = placed();
        if (successor) {
            harness_t *former = h;
            h = harness_rebuild(former);
            harness_end(&former);
            north = harness_site(h, "north");
            harness_pool(h, north, "a", "H100", 4, 8, 2.0);
            harness_hello(h, NORTH, north);
            helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
            harness_inventory(h, NORTH, &holding, 1);
            harness_summary(h, NORTH, north, 0, 0);
        }
        state_price(NORTH, HELIO_SIGNAL_PRICE, 10000, 10000);
        pass(RAN_MS);
        harness_clear(h);
        helio_report_t report = measured(key, RAN_MS);
        report.kind = HELIO_REPORT_KIND_ENDED;
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_state(h, key), HELIO_JOB_SUCCEEDED);
        assert_in_range(charged_money(), 8 * USD - 1000, 8 * USD + 1000);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  The job was placed in an hour of 1 USD, and runs into one of 3 USD, as the site had said: so the mean was 2 USD. */
static void rent__that_was_stated_ahead_is_charged_hour_by_hour(void **state)
{
    (void)state;
    harness_advance(h, HOUR_MS - harness_wall_ms(h) % HOUR_MS);
    state_price(NORTH, HELIO_SIGNAL_PRICE, 1, 3);
    helio_job_key_t key = placed();
    pass(2 * HOUR_MS);
    helio_report_t report = measured(key, 2 * HOUR_MS);
    report.kind = HELIO_REPORT_KIND_ENDED;
    harness_report(h, NORTH, &report);
    assert_in_range(charged_money(), 8 * USD - 1000, 8 * USD + 1000);
}

/*  Its estimate and the correction of it, by the leader that placed it or by the next. */
static void rent__of_a_run_that_was_given_up_is_bound_by_its_offer(void **state)
{
    for (int successor = 0; successor < 2; successor++) {
        helio_job_key_t key = begin_run(HELIO_SITE_LOSS_EAGER);
        state_price(NORTH, HELIO_SIGNAL_PRICE, 10000, 10000);
        give_up(key);
        assert_in_range(charged_money(), 7 * USD, 8 * USD + 1000);
        if (successor)
            next_leader();
        else
            harness_join(h, BACK, north);
        state_price(BACK, HELIO_SIGNAL_PRICE, 10000, 10000);
        tell(BACK, key, RAN_MS);
        assert_in_range(charged_money(), 8 * USD - 1000, 8 * USD + 1000);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  Of an offer that was refused, the site says afterwards that it ran. */
static void rent__of_an_older_attempt_is_bound_by_the_newest_offer(void **state)
{
    (void)state;
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_STRICT);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_LOST);
    harness_tick(h);
    state_price(NORTH, HELIO_SIGNAL_PRICE, 10000, 10000);
    harness_clear(h);
    tell(NORTH, key, RAN_MS);
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));)
        assert_true(row->cost_micro_usd <= 8 * USD + 1000);
}

/*  An owned pool where electricity costs less than nothing. */
static void own_electricity(double tariff)
{
    north->pools.items[0].owned = true;
    north->pools.items[0].price_usd_per_gpu_h = 0;
    north->pue = 10;
    harness_join(h, BACK, north);
    state_price(BACK, HELIO_SIGNAL_ELECTRICITY, tariff, tariff);
}

static helio_job_key_t ran_for_less_than_nothing(uint64_t *ret_energy_j)
{
    own_electricity(-100);
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = HOUR_MS;
    harness_strings(h, &spec.sites, (const char *[]){"north", NULL});
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, BACK, key, 1, HELIO_JOB_RUNNING);
    pass(60000);
    harness_clear(h);
    helio_report_t report = measured(key, 60000);
    report.kind = HELIO_REPORT_KIND_ENDED;
    report.energy_j = 60 * 2 * UINT64_C(100000);
    harness_report(h, BACK, &report);
    int64_t cost = 0;
    *ret_energy_j = 0;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        cost += row->cost_micro_usd;
        *ret_energy_j += row->energy_j;
    }
    assert_true(cost < 0);                                                   /* the ledger has it */
    assert_true(cost >= -(int64_t)(*ret_energy_j / 3600) * USD / 100 - USD); /* at 10 USD a kWh */
    return key;
}

/*  5 kW a GPU, with the PUE: not 100. */
static void energy__of_a_run_is_what_gpus_can_take(void **state)
{
    (void)state;
    uint64_t energy_j;
    (void)ran_for_less_than_nothing(&energy_j);
    assert_in_range(energy_j, 60 * 2 * 5000 * 10, 61 * 2 * 5000 * 10);
    assert_int_equal(harness_figures(h).illegal_reports_total, 1);
}

/*  At south an hour costs 3 USD: of 4 USD, one such job can start and a second one cannot. */
static void expect_room_for_one(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.time_limit_ms = HOUR_MS;
    harness_strings(h, &spec.sites, (const char *[]){"south", NULL});
    const helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, second), HELIO_JOB_QUEUED);
}

static void tariff__below_zero_adds_to_no_budget(void **state)
{
    for (int successor = 0; successor < 2; successor++) {
        uint64_t energy_j;
        assert_int_equal(harness_budget(h, "acme", "", "4 USD/month")->rc, HELIO_OK);
        (void)ran_for_less_than_nothing(&energy_j);
        if (successor)
            next_leader();
        expect_room_for_one();
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  The estimate of such a run was charged nothing, so its reversal gives nothing back. */
static void tariff__below_zero_of_an_estimate_takes_nothing_back(void **state)
{
    for (int successor = 0; successor < 2; successor++) {
        assert_int_equal(harness_budget(h, "acme", "", "4 USD/month")->rc, HELIO_OK);
        own_electricity(-100);
        const helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_EAGER);
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        harness_run_up_to(h, BACK, key, 1, HELIO_JOB_RUNNING);
        for (int64_t ms = 0; ms < RAN_MS; ms += 30000) {
            harness_advance(h, 30000);
            harness_renew(h, BACK);
            harness_renew(h, SOUTH);
        }
        harness_gone(h, BACK);
        for (int64_t ms = 0; ms < 2 * HOUR_MS && harness_state(h, key) != HELIO_JOB_QUEUED; ms += 10000) {
            harness_renew(h, SOUTH);
            harness_wait(h, 10000);
        }
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
        if (successor)
            next_leader();
        else
            harness_join(h, BACK, north);
        harness_clear(h);
        tell(BACK, key, MEASURED_MS);
        bool reversed = false;
        for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));)
            reversed = reversed || (row->part == HELIO_LEDGER_REVERSAL && row->cost_micro_usd < 0);
        assert_true(reversed);
        expect_room_for_one();
        (void)end(state);
        (void)begin_joined(state);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rent__that_rises_after_the_placement_is_charged_at_four_times_the_offer),
        CASE(rent__that_was_stated_ahead_is_charged_hour_by_hour),
        CASE(rent__of_a_run_that_was_given_up_is_bound_by_its_offer),
        CASE(rent__of_an_older_attempt_is_bound_by_the_newest_offer),
        CASE(energy__of_a_run_is_what_gpus_can_take),
        CASE(tariff__below_zero_adds_to_no_budget),
        CASE(tariff__below_zero_of_an_estimate_takes_nothing_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
