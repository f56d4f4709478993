/*  A score in money, term by term, and the start that it favours. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/choice.h"

static const int64_t NOON = INT64_C(1772366400000);
static const int64_t HOUR = HELIO_HOUR_MS;
static helio_gpu_ask_t ask;
static helio_requirement_t want;
static helio_site_profile_t site;
static helio_pool_t pool;
static helio_series_t carbon;
static double grams[HELIO_SERIES_POINTS_MAX];
static helio_pool_forecast_t pool_forecast;
static helio_site_now_t now;

/*  8 GPUs of 1 kW for an hour, owned, at 0.1 USD/kWh and 500 g/kWh; goal balanced. */
static int begin(void **state)
{
    (void)state;
    ask = (helio_gpu_ask_t){.count = 8};
    helio_prices_t prices = helio_prices_of_goal(HELIO_GOAL_BALANCED);
    want = (helio_requirement_t){.gpus = {&ask, 1},
                                 .nodes = 1,
                                 .time_limit_ms = (uint64_t)HOUR,
                                 .carbon_price_micro_usd_per_t = prices.carbon_micro_usd_per_t,
                                 .wait_price_micro_usd_per_gpu_h = prices.wait_micro_usd_per_gpu_h};
    site = (helio_site_profile_t){
        .name = HELIO_TEXT("a"), .pue = 1.25, .carbon_g_per_kwh = 500, .electricity_usd_per_kwh = 0.1};
    pool = (helio_pool_t){.name = HELIO_TEXT("p"), .owned = true, .nodes = 4, .gpus_per_node = 8, .base_w = 800};
    carbon =
        (helio_series_t){.signal = HELIO_SIGNAL_CARBON, .issued_wall_ms = 1, .start_wall_ms = NOON, .step_s = 3600};
    now = (helio_site_now_t){.ready = true, .wall_ms = NOON, .pool_forecast = &pool_forecast};
    return 0;
}

/*  Intensity hour by hour from noon on; the last one repeats. */
static void forecast(uint32_t hours, const double *values)
{
    memcpy(grams, values, hours * sizeof *values);
    carbon.values = (helio_f64s_t){grams, hours};
}

static helio_candidate_t judge(void)
{
    helio_pool_forecast_make(&pool_forecast, &site, &pool, &carbon, carbon.values.count ? 1 : 0, now.wall_ms);
    return helio_choice_judge(&want, &site, &pool, &now);
}

static helio_plan_t plan(const helio_extras_t *extras, int64_t start_ms, int64_t free_until_ms)
{
    helio_pool_forecast_make(&pool_forecast, &site, &pool, &carbon, carbon.values.count ? 1 : 0, now.wall_ms);
    helio_work_t work = {8, (uint64_t)HOUR, helio_prices_of_goal(HELIO_GOAL_BALANCED), NOON, free_until_ms, 0};
    return helio_plan_of(&pool_forecast, &work, extras, start_ms);
}

/* ---- prices -------------------------------------------------------------------------------------------- */

static void prices__a_goal_is_two_prices_and_a_job_can_set_its_own(void **state)
{
    (void)state;
    static const struct {
        uint32_t goal;
        int64_t carbon, wait;
    } rows[] = {{HELIO_GOAL_FAST, 0, 5000000},
                {HELIO_GOAL_CHEAP, 0, 50000},
                {HELIO_GOAL_BALANCED, 200000000, 500000},
                {HELIO_GOAL_GREEN, 2000000000, 50000},
                {99, 200000000, 500000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_job_spec_t spec = {.goal = rows[i].goal};
        assert_int_equal(helio_prices_of(&spec).carbon_micro_usd_per_t, rows[i].carbon);
        assert_int_equal(helio_prices_of(&spec).wait_micro_usd_per_gpu_h, rows[i].wait);
    }
    helio_job_spec_t own = {
        .prices_set = true, .carbon_price_micro_usd_per_t = 7, .wait_price_micro_usd_per_gpu_h = -1};
    assert_int_equal(helio_prices_of(&own).carbon_micro_usd_per_t, 7);
    assert_int_equal(helio_prices_of(&own).wait_micro_usd_per_gpu_h, 0);
    own.carbon_price_micro_usd_per_t = INT64_MAX;
    assert_true(helio_prices_of(&own).carbon_micro_usd_per_t == HELIO_PRICE_MAX_MICRO_USD);
}

/* ---- terms --------------------------------------------------------------------------------------------- */

static void terms__each_is_in_dollars(void **state)
{
    (void)state;
    pool.price_usd_per_gpu_h = 2;
    helio_extras_t extras = {.stale = true,
                             .queue_wait_ms = HOUR / 2,
                             .shadow_micro_usd_per_gpu_h = 1000,
                             .disruption_micro_usd = 77,
                             .transfer = {.ms = (uint64_t)HOUR / 2, .egress_micro_usd = 11, .carbon_mg = 1000000000}};
    helio_plan_t p = plan(&extras, NOON, 0);
    assert_int_equal(p.energy_j, 28800000); /* 8 kWh */
    assert_int_equal(p.carbon_mg, 4000000); /* 4 kg */
    assert_int_equal(p.cost_micro_usd, 16800000);
    assert_int_equal(p.terms[HELIO_TERM_MONEY], 16800000); /* 8 x 2 USD and 8 x 0.1 USD */
    assert_int_equal(p.terms[HELIO_TERM_CARBON], 800000);  /* 4 kg at 200 USD/t */
    assert_int_equal(p.terms[HELIO_TERM_WAIT], 4000000);   /* an hour x 8 x 0.5 USD */
    assert_int_equal(p.terms[HELIO_TERM_RISK], 66667);     /* a minute of the same */
    assert_int_equal(p.terms[HELIO_TERM_SHADOW], 8000);
    assert_int_equal(p.terms[HELIO_TERM_DISRUPTION], 77);
    assert_int_equal(p.terms[HELIO_TERM_TRANSFER], 200000000 + 11); /* a tonne is transferred, too */
    int64_t sum = 0;
    for (uint32_t i = 0; i < HELIO_TERM_COUNT; i++)
        sum += p.terms[i];
    assert_true(p.score_micro_usd == sum);
    assert_int_equal(helio_plan_mg_per_kwh(&p), 500000);
}

static void terms__waiting_costs_only_after_the_free_time(void **state)
{
    (void)state;
    helio_extras_t none = {0};
    assert_int_equal(plan(&none, NOON + 3 * HOUR, NOON + 3 * HOUR).terms[HELIO_TERM_WAIT], 0);
    assert_int_equal(plan(&none, NOON + 3 * HOUR, NOON + 2 * HOUR).terms[HELIO_TERM_WAIT], 4000000);
    assert_int_equal(plan(&none, NOON + 3 * HOUR, NOON - 9 * HOUR).terms[HELIO_TERM_WAIT], 12000000); /* past is past */
}

static void terms__the_hours_of_a_run_add_up_to_it(void **state)
{
    (void)state;
    helio_rng_t rng = {17};
    for (int round = 0; round < 500; round++) {
        double values[HELIO_POOL_FORECAST_HOURS];
        for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++)
            values[h] = 900 * helio_rng_unit(&rng);
        forecast(HELIO_POOL_FORECAST_HOURS, values);
        pool.price_usd_per_gpu_h = helio_rng_unit(&rng);
        pool.base_w = 999 * helio_rng_unit(&rng);
        helio_pool_forecast_make(&pool_forecast, &site, &pool, &carbon, 1, NOON);
        int64_t start = NOON + (int64_t)helio_rng_below(&rng, 50 * (uint64_t)HOUR);
        helio_work_t work = {
            1 + helio_rng_below(&rng, 64), helio_rng_below(&rng, 40 * (uint64_t)HOUR), {0}, NOON, 0, 0};
        helio_extras_t none = {0};
        helio_plan_t whole = helio_plan_of(&pool_forecast, &work, &none, start), before = {0};
        int64_t cost = 0, end = start + (int64_t)work.run_ms;
        uint64_t energy = 0, mg = 0;
        for (int64_t t = start; t < end;) {
            t = t - t % HOUR + HOUR < end ? t - t % HOUR + HOUR : end;
            helio_plan_t until = helio_plan_until(&pool_forecast, work.gpus, start, t);
            assert_true(until.energy_j >= before.energy_j && until.carbon_mg >= before.carbon_mg);
            cost += until.cost_micro_usd - before.cost_micro_usd;
            energy += until.energy_j - before.energy_j;
            mg += until.carbon_mg - before.carbon_mg;
            before = until;
        }
        assert_true(cost == whole.cost_micro_usd && energy == whole.energy_j && mg == whole.carbon_mg);
    }
}

/*  Of 32 GPUs 8 are free in the first hour, 32 in the second, and more than there are in the third. */
static void terms__follow_the_sun_pays_for_gpus_that_others_will_hold(void **state)
{
    (void)state;
    double left[] = {8, 32, 99};
    helio_series_t told = {
        .signal = HELIO_SIGNAL_FREE_GPUS, .start_wall_ms = NOON, .step_s = 3600, .values = {left, 3}};
    helio_work_t work = {8, (uint64_t)HOUR, helio_prices_of_goal(HELIO_GOAL_FOLLOW_THE_SUN), NOON, 0, 0};
    helio_extras_t none = {0};
    helio_pool_forecast_make(&pool_forecast, &site, &pool, &told, 1, NOON);
    assert_true(helio_plan_of(&pool_forecast, &work, &none, NOON).terms[HELIO_TERM_SHADOW] == 6000000);
    assert_true(helio_plan_of(&pool_forecast, &work, &none, NOON + HOUR).terms[HELIO_TERM_SHADOW] == 0);
    assert_true(helio_plan_of(&pool_forecast, &work, &none, NOON + 2 * HOUR).terms[HELIO_TERM_SHADOW] == 0);
    assert_true(helio_plan_of(&pool_forecast, &work, &none, NOON + HOUR / 4).terms[HELIO_TERM_SHADOW] == 4500000);
    work.prices = helio_prices_of_goal(HELIO_GOAL_BALANCED);
    assert_true(helio_plan_of(&pool_forecast, &work, &none, NOON).terms[HELIO_TERM_SHADOW] == 0);
    work.prices = helio_prices_of_goal(HELIO_GOAL_FOLLOW_THE_SUN);
    helio_pool_forecast_make(&pool_forecast, &site, &pool, NULL, 0, NOON); /* told nothing: half */
    assert_true(helio_plan_of(&pool_forecast, &work, &none, NOON).terms[HELIO_TERM_SHADOW] == 4000000);
}

/*  What does not count costs nothing in the score, and is still in the plan's figures. */
static void objective__only_its_terms_count(void **state)
{
    (void)state;
    static const struct {
        uint32_t objective;
        uint32_t counted;
    } rows[] = {
        {HELIO_OBJECTIVE_ALL, (UINT32_C(1) << HELIO_TERM_COUNT) - 1},
        {HELIO_OBJECTIVE_EARLIEST, 0},
        {HELIO_OBJECTIVE_CHEAPEST, HELIO_TERM_BIT(MONEY)},
        {HELIO_OBJECTIVE_GREENEST, HELIO_TERM_BIT(CARBON) | HELIO_TERM_BIT(RISK)},
        {HELIO_OBJECTIVE_NEAREST, HELIO_TERM_BIT(TRANSFER)},
    };
    assert_int_equal(sizeof rows / sizeof rows[0], HELIO_OBJECTIVE_COUNT);
    helio_extras_t extras = {true, HOUR, 1000, 77, {(uint64_t)HOUR / 2, 11, 0, 1000000000}, false, 0};
    helio_plan_t all = plan(&extras, NOON, 0);
    for (size_t r = 0; r < HELIO_OBJECTIVE_COUNT; r++) {
        helio_work_t work = {8, (uint64_t)HOUR, helio_prices_of_goal(HELIO_GOAL_BALANCED), NOON, 0, rows[r].objective};
        helio_plan_t p = helio_plan_of(&pool_forecast, &work, &extras, NOON);
        int64_t sum = 0;
        for (uint32_t i = 0; i < HELIO_TERM_COUNT; i++) {
            assert_true(all.terms[i] > 0);
            assert_true(p.terms[i] == (rows[r].counted >> i & 1 ? all.terms[i] : 0));
            sum += p.terms[i];
        }
        assert_true(p.score_micro_usd == sum);
        assert_true(p.cost_micro_usd == all.cost_micro_usd && p.energy_j == all.energy_j &&
                    p.carbon_mg == all.carbon_mg);
    }
}

static void terms__nothing_overflows(void **state)
{
    (void)state;
    site.pue = 1e9;
    site.electricity_usd_per_kwh = 1e9;
    site.carbon_g_per_kwh = 1e9;
    pool.base_w = 1e300;
    pool.price_usd_per_gpu_h = 1e300;
    helio_pool_forecast_make(&pool_forecast, &site, &pool, NULL, 0, NOON);
    helio_work_t work = {
        UINT64_MAX, UINT64_MAX, {HELIO_PRICE_MAX_MICRO_USD, HELIO_PRICE_MAX_MICRO_USD, HELIO_PRICE_MAX_MICRO_USD},
        NOON,       0,          0};
    helio_extras_t extras = {true,  HOUR, INT64_C(1000000000000), INT64_MAX, {(uint64_t)HOUR, INT64_MAX, 0, UINT64_MAX},
                             false, 0};
    helio_plan_t p = helio_plan_of(&pool_forecast, &work, &extras, NOON + 48 * HOUR);
    for (uint32_t i = 0; i < HELIO_TERM_COUNT; i++)
        assert_true(p.terms[i] >= 0 && p.terms[i] <= INT64_C(1) << 53);
    assert_true(p.score_micro_usd > 0);
    assert_true(helio_plan_patience(&p, &p, 48 * HOUR, false) > 0);
}

static void patience__is_a_share_and_at_least_a_cent(void **state)
{
    (void)state;
    helio_plan_t large = {.terms = {[HELIO_TERM_MONEY] = 100000000, [HELIO_TERM_CARBON] = 50000000}}, small = {0};
    small.terms[HELIO_TERM_CARBON] = 20000; /* two cents: a hundredth of that each hour would pay for nothing */
    assert_int_equal(helio_plan_patience(&large, &large, 2 * HOUR, false), 60000);
    assert_int_equal(helio_plan_patience(&large, &large, 2 * HOUR, true), 30000);
    assert_int_equal(helio_plan_patience(&small, &small, 2 * HOUR, false), 10000);
    assert_int_equal(helio_plan_patience(&small, &small, 2 * HOUR, true), 5000);
    assert_int_equal(helio_plan_patience(&small, &small, 0, false), 0);
    assert_int_equal(helio_plan_switch_margin(&large), 1500000);
}

/*  100 g at 200 USD/t are two cents: 5 g would never be a cent, but are worth the wait. */
static void patience__of_a_start_that_saves_five_grams_needs_no_cent(void **state)
{
    (void)state;
    helio_plan_t first = {.terms = {[HELIO_TERM_CARBON] = 20000}, .carbon_mg = 100000}, later = first;
    later.carbon_mg = 95000;
    assert_int_equal(helio_plan_patience(&first, &later, 10 * HOUR, false), 40);
    later.carbon_mg = 95001;
    assert_int_equal(helio_plan_patience(&first, &later, 10 * HOUR, false), 10000);
    assert_int_equal(helio_plan_patience(&first, &later, 10 * HOUR, true), 20); /* half of 5 g is enough to go on */
    later.carbon_mg = 97501;
    assert_int_equal(helio_plan_patience(&first, &later, 10 * HOUR, true), 5000);
    first.terms[HELIO_TERM_CARBON] = 0; /* carbon has no price */
    later.carbon_mg = 0;
    assert_int_equal(helio_plan_patience(&first, &later, 10 * HOUR, false), 10000);
}

/* ---- which start --------------------------------------------------------------------------------------- */

static void start__is_the_cleanest_hour_that_the_job_can_wait_for(void **state)
{
    (void)state;
    forecast(6, (double[]){500, 500, 480, 50, 500, 10});
    want.free_until_ms = NOON + 4 * HOUR;
    helio_candidate_t c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_NONE);
    assert_true(c.later.start_ms == NOON + 3 * HOUR);
    assert_true(helio_choice_worth(&c.later, &c.now, NOON, false) < c.now.score_micro_usd);
    want.free_until_ms = NOON + 5 * HOUR;
    assert_true(judge().later.start_ms == NOON + 5 * HOUR);
    want.deadline_wall_ms = NOON + 6 * HOUR - 1; /* the last start would end a millisecond late */
    assert_true(judge().later.start_ms == NOON + 3 * HOUR);
}

static void start__a_job_that_may_not_wait_gets_no_later_start(void **state)
{
    (void)state;
    forecast(2, (double[]){900, 0});
    assert_true(judge().later.start_ms == 0);
    want.free_until_ms = NOON; /* it was until now */
    assert_true(judge().later.start_ms == 0);
}

static void start__of_equal_hours_is_the_first_and_saves_nothing_over_now(void **state)
{
    (void)state;
    want.free_until_ms = NOON + 40 * HOUR;
    helio_candidate_t c = judge();
    assert_true(c.later.start_ms == NOON + HOUR);
    assert_true(helio_choice_worth(&c.later, &c.now, NOON, false) > c.now.score_micro_usd);
}

/*  Two ten-thousandths of money and carbon for every hour: of 500 g, 1 g in ten hours. Held: half of that. */
static void start__waiting_must_save_enough_for_every_hour(void **state)
{
    (void)state;
    static const struct {
        double grams;
        bool waits, goes_on;
    } rows[] = {{499.6, false, false}, {499.4, false, true}, {499.1, false, true}, {498.9, true, true}};
    site.electricity_usd_per_kwh = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double values[11] = {500, 500, 500, 500, 500, 500, 500, 500, 500, 500, rows[i].grams};
        forecast(11, values);
        helio_extras_t none = {0};
        helio_plan_t first = plan(&none, NOON, 0), tenth = plan(&none, NOON + 10 * HOUR, NOON + 10 * HOUR);
        bool waits = helio_choice_worth(&tenth, &first, NOON, false) < first.score_micro_usd;
        bool goes_on = helio_choice_worth(&tenth, &first, NOON, true) < first.score_micro_usd;
        if (waits != rows[i].waits || goes_on != rows[i].goes_on)
            fail_msg("%g g: waits %d, goes on %d", rows[i].grams, waits, goes_on);
    }
}

static void start__a_held_window_is_not_left_for_a_small_saving(void **state)
{
    (void)state;
    want.free_until_ms = NOON + 8 * HOUR;
    forecast(8, (double[]){500, 500, 100, 500, 500, 98, 500, 500});
    now.held_start_ms = NOON + 5 * HOUR;
    assert_true(judge().later.start_ms == NOON + 5 * HOUR);
    now.held_start_ms = NOON + 2 * HOUR;
    assert_true(judge().later.start_ms == NOON + 2 * HOUR);
    grams[5] = 20; /* that is no noise */
    assert_true(judge().later.start_ms == NOON + 5 * HOUR);
}

static void start__a_cap_is_checked_for_every_start(void **state)
{
    (void)state;
    forecast(4, (double[]){412, 400, 200, 100});
    want.max_carbon_mg_per_kwh = 250000;
    helio_candidate_t c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_CARBON_CAP);
    assert_true(c.later.start_ms == 0); /* it may not wait of its own will */
    assert_true(c.not_before_ms == NOON + 2 * HOUR);
    want.free_until_ms = NOON + 2 * HOUR;
    c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_CARBON_CAP);
    assert_true(c.later.start_ms == NOON + 2 * HOUR);
    want.deadline_wall_ms = NOON + 3 * HOUR - 1;
    c = judge();
    assert_true(c.later.start_ms == 0 && c.not_before_ms == 0);
    want.deadline_wall_ms = 0;
    want.max_carbon_mg_per_kwh = 1000;
    assert_true(judge().not_before_ms == 0); /* not in sight */
}

static void start__a_drained_or_silent_site_offers_no_later_start(void **state)
{
    (void)state;
    forecast(3, (double[]){500, 100, 100});
    want.free_until_ms = NOON + 2 * HOUR;
    now.draining = true;
    assert_true(judge().later.start_ms == 0);
    now.draining = false;
    now.ready = false;
    assert_true(judge().later.start_ms == 0);
}

/* ---- properties ---------------------------------------------------------------------------------------- */

typedef struct world {
    double values[HELIO_POOL_FORECAST_HOURS], p90[HELIO_POOL_FORECAST_HOURS];
} world_t;

static void draw(helio_rng_t *rng, world_t *world)
{
    begin(NULL);
    helio_prices_t prices = helio_prices_of_goal((uint32_t)helio_rng_below(rng, HELIO_GOAL_COUNT));
    want.carbon_price_micro_usd_per_t = prices.carbon_micro_usd_per_t;
    want.wait_price_micro_usd_per_gpu_h = prices.wait_micro_usd_per_gpu_h;
    want.scarcity_price_micro_usd_per_gpu_h = prices.scarcity_micro_usd_per_gpu_h;
    now.wall_ms = NOON + (int64_t)helio_rng_below(rng, (uint64_t)HOUR);
    want.time_limit_ms = 60000 + helio_rng_below(rng, 30 * (uint64_t)HOUR);
    int64_t flexible = (int64_t)helio_rng_below(rng, 60 * (uint64_t)HOUR);
    want.free_until_ms = helio_rng_below(rng, 4) ? (now.wall_ms + flexible) - (now.wall_ms + flexible) % HOUR : 0;
    if (!helio_rng_below(rng, 3))
        want.deadline_wall_ms = now.wall_ms + (int64_t)helio_rng_below(rng, 60 * (uint64_t)HOUR);
    if (!helio_rng_below(rng, 3))
        want.max_carbon_mg_per_kwh = 1 + helio_rng_below(rng, 600000);
    if (!helio_rng_below(rng, 3))
        want.max_cost_micro_usd = 1 + helio_rng_below(rng, 40000000);
    pool.price_usd_per_gpu_h = helio_rng_unit(rng);
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++) {
        world->values[h] = 900 * helio_rng_unit(rng);
        world->p90[h] = world->values[h] * (1 + helio_rng_unit(rng));
    }
    carbon.values = (helio_f64s_t){world->values, HELIO_POOL_FORECAST_HOURS};
    carbon.p90 = (helio_f64s_t){world->p90, HELIO_POOL_FORECAST_HOURS};
}

/*  A later start is the begin of an hour, ahead, allowed by `flexible` and the deadline, and meets every cap.
 */
static void property__no_start_is_outside_what_the_job_allows(void **state)
{
    (void)state;
    helio_rng_t rng = {23};
    world_t world;
    uint32_t later = 0, not_before = 0;
    for (int round = 0; round < 20000; round++) {
        draw(&rng, &world);
        helio_candidate_t c = judge();
        int64_t limit = (int64_t)want.time_limit_ms;
        if (c.rejection == HELIO_REJECTION_NONE)
            assert_true(!want.deadline_wall_ms || now.wall_ms + limit <= want.deadline_wall_ms);
        if (c.rejection == HELIO_REJECTION_NONE && want.max_cost_micro_usd)
            assert_true(c.now.cost_micro_usd <= (int64_t)want.max_cost_micro_usd);
        if (c.rejection == HELIO_REJECTION_NONE && want.max_carbon_mg_per_kwh)
            assert_true(helio_plan_mg_per_kwh(&c.now) <= want.max_carbon_mg_per_kwh);
        int64_t starts[] = {c.later.start_ms, c.not_before_ms};
        for (int i = 0; i < 2; i++) {
            assert_true(!starts[i] || (starts[i] > now.wall_ms && starts[i] % HOUR == 0));
            assert_true(!starts[i] || !want.deadline_wall_ms || starts[i] + limit <= want.deadline_wall_ms);
            assert_true(starts[i] <= now.wall_ms + HELIO_START_AHEAD_H * HOUR);
        }
        assert_true(c.later.start_ms <= want.free_until_ms);
        assert_true(!c.not_before_ms || c.rejection != HELIO_REJECTION_NONE);
        if (c.later.start_ms && want.max_carbon_mg_per_kwh)
            assert_true(helio_plan_mg_per_kwh(&c.later) <= want.max_carbon_mg_per_kwh);
        if (c.later.start_ms && want.max_cost_micro_usd)
            assert_true(c.later.cost_micro_usd <= (int64_t)want.max_cost_micro_usd);
        later += c.later.start_ms != 0;
        not_before += c.not_before_ms != 0;
    }
    assert_true(later > 5000 && not_before > 100);
}

/*  Whatever hour becomes cleaner, or the rent lower: no score gets worse, and no cap begins to hold it out.
 */
static void property__a_cleaner_or_cheaper_site_never_loses_by_it(void **state)
{
    (void)state;
    helio_rng_t rng = {29};
    world_t world;
    for (int round = 0; round < 20000; round++) {
        draw(&rng, &world);
        helio_candidate_t before = judge();
        if (helio_rng_below(&rng, 2)) {
            uint32_t h = (uint32_t)helio_rng_below(&rng, HELIO_POOL_FORECAST_HOURS);
            double less = helio_rng_unit(&rng);
            world.values[h] *= less;
            world.p90[h] *= less;
        } else {
            pool.price_usd_per_gpu_h *= helio_rng_unit(&rng);
        }
        helio_candidate_t after = judge();
        assert_true(after.now.score_micro_usd <= before.now.score_micro_usd);
        assert_true(after.rejection == HELIO_REJECTION_NONE || before.rejection != HELIO_REJECTION_NONE);
        assert_true(!before.later.start_ms || after.later.start_ms);
        assert_true(!before.not_before_ms || after.rejection == HELIO_REJECTION_NONE ||
                    (after.not_before_ms && after.not_before_ms <= before.not_before_ms));
    }
}

#define CASE(name) cmocka_unit_test_setup(name, begin)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(patience__is_a_share_and_at_least_a_cent),
        CASE(patience__of_a_start_that_saves_five_grams_needs_no_cent),
        CASE(prices__a_goal_is_two_prices_and_a_job_can_set_its_own),
        CASE(terms__each_is_in_dollars),
        CASE(terms__waiting_costs_only_after_the_free_time),
        CASE(terms__the_hours_of_a_run_add_up_to_it),
        CASE(terms__follow_the_sun_pays_for_gpus_that_others_will_hold),
        CASE(objective__only_its_terms_count),
        CASE(terms__nothing_overflows),
        CASE(start__is_the_cleanest_hour_that_the_job_can_wait_for),
        CASE(start__a_job_that_may_not_wait_gets_no_later_start),
        CASE(start__of_equal_hours_is_the_first_and_saves_nothing_over_now),
        CASE(start__waiting_must_save_enough_for_every_hour),
        CASE(start__a_held_window_is_not_left_for_a_small_saving),
        CASE(start__a_cap_is_checked_for_every_start),
        CASE(start__a_drained_or_silent_site_offers_no_later_start),
        CASE(property__no_start_is_outside_what_the_job_allows),
        CASE(property__a_cleaner_or_cheaper_site_never_loses_by_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
