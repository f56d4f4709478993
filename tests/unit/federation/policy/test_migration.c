/*  test_migration.c -- what the rest of a run costs here and elsewhere, what a migration must save, and that noise
 *  causes no migrations. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/migration.h"

static const int64_t NOON = INT64_C(1772366400000);
static const int64_t HOUR = HELIO_HOUR_MS;
static const uint64_t H = HELIO_HOUR_MS, M = 60000;

/*  A pool of 1 kW GPUs: hours of rent and intensity from noon on; the last one repeats. */
typedef struct place {
    helio_site_profile_t site;
    helio_pool_t pool;
    double rent[HELIO_POOL_FORECAST_HOURS], grams[HELIO_POOL_FORECAST_HOURS];
    uint32_t hours;
    helio_pool_forecast_t pool_forecast;
} place_t;

static place_t north, south;
static helio_migration_job_t job;

static void look(place_t *place, int64_t wall_ms)
{
    helio_series_t series[] = {{.signal = HELIO_SIGNAL_PRICE,
                                .issued_wall_ms = 1,
                                .start_wall_ms = NOON,
                                .step_s = 3600,
                                .values = {place->rent, place->hours}},
                               {.signal = HELIO_SIGNAL_CARBON,
                                .issued_wall_ms = 1,
                                .start_wall_ms = NOON,
                                .step_s = 3600,
                                .values = {place->grams, place->hours}}};
    helio_pool_forecast_make(&place->pool_forecast, &place->site, &place->pool, series, 2, wall_ms);
}

static void make(place_t *place, double rent, double grams)
{
    *place = (place_t){.site = {.name = HELIO_TEXT("a"), .pue = 1, .carbon_g_per_kwh = grams},
                       .pool = {.name = HELIO_TEXT("p"), .nodes = 4, .gpus_per_node = 8, .base_w = 1000},
                       .rent = {rent},
                       .grams = {grams},
                       .hours = 1};
    look(place, NOON);
}

/*  8 GPUs for ten hours, of which four are over; it saves when it is signalled, within a minute. */
static int begin(void **state)
{
    (void)state;
    make(&north, 2, 500);
    make(&south, 1, 500);
    job =
        (helio_migration_job_t){.now_ms = NOON, .ran_ms = 4 * H, .limit_ms = 10 * H, .leave_ms = M, .signalled = true};
    return 0;
}

static helio_migration_target_t target(const place_t *place)
{
    return (helio_migration_target_t){
        .pool_forecast = &place->pool_forecast, .gpus = 8, .run_ms = 10 * H, .run_high_ms = 10 * H};
}

static helio_migration_t compared(const helio_migration_target_t *here, const helio_migration_target_t *there)
{
    const helio_migration_stay_t stay = helio_migration_stay(&job, here);
    return helio_migration_weigh(&job, &stay, there);
}

static helio_migration_t weigh(void)
{
    helio_migration_target_t here = target(&north), there = target(&south);
    return compared(&here, &there);
}

/*  Micro-USD of 8 GPUs for so many minutes. */
static int64_t rent_of(int64_t usd, int64_t minutes)
{
    return usd * 8 * minutes * 1000000 / 60;
}

static void migration__the_rest_is_priced_at_both_pools_with_the_cost_of_migration(void **state)
{
    (void)state;
    helio_migration_t migration = weigh();
    assert_int_equal(migration.rest_ms, 6 * H);
    assert_int_equal(migration.here.score_micro_usd, rent_of(2, 360));
    assert_int_equal(migration.begin_ms, NOON + 60000);
    assert_int_equal(migration.run_ms, 6 * H + M);
    assert_int_equal(migration.there.terms[HELIO_TERM_MONEY], rent_of(1, 360));
    /* a minute of leaving here, one of starting again there */
    assert_int_equal(migration.there.terms[HELIO_TERM_DISRUPTION], 400000);
    assert_int_equal(migration.there.score_micro_usd, rent_of(1, 360) + migration.there.terms[HELIO_TERM_DISRUPTION]);
    assert_int_equal(migration.saves_micro_usd, migration.here.score_micro_usd - migration.there.score_micro_usd);
    assert_int_equal(migration.saves_money_micro_usd, migration.saves_micro_usd);
    assert_int_equal(helio_migration_saves_per_mille(&migration), 495);
    assert_true(helio_migration_is_worthwhile(&migration));
    /* the wait of 8 GPUs for two minutes, at its own price */
    job.prices.wait_micro_usd_per_gpu_h = 5000000;
    helio_migration_t waits = weigh();
    assert_int_equal(waits.there.terms[HELIO_TERM_DISRUPTION] - migration.there.terms[HELIO_TERM_DISRUPTION],
                     8 * 5000000 * 2 / 60);
    assert_int_equal(waits.here.score_micro_usd, migration.here.score_micro_usd);
}

static void migration__each_hour_ahead_counts_with_its_own_price(void **state)
{
    (void)state;
    static const double falls[] = {2, 2, 2, 0.1};
    memcpy(north.rent, falls, sizeof falls);
    north.hours = 4;
    north.grams[1] = north.grams[2] = north.grams[3] = 500;
    look(&north, NOON);
    helio_migration_t migration = weigh(); /* here it gets cheap in three hours */
    assert_int_equal(migration.here.score_micro_usd, rent_of(2, 180) + rent_of(1, 18));
    assert_int_equal(helio_migration_saves_per_mille(&migration), 39); /* 50.4 USD, and 48.4 there */
    assert_false(helio_migration_is_worthwhile(&migration));
}

static void migration__carbon_and_its_risk_count_at_the_job_s_own_price(void **state)
{
    (void)state;
    make(&south, 2, 100);
    assert_false(weigh().saves_micro_usd > 0);
    job.prices.carbon_micro_usd_per_t = INT64_C(2000000000);
    helio_migration_t migration = weigh();
    assert_int_equal(migration.here.terms[HELIO_TERM_CARBON], 48 * 1000000); /* 8 kW x 6 h x 500 g at 2000 USD/t */
    assert_true(migration.saves_mg > 19000000 && migration.saves_mg < 19200000);
    assert_true(migration.saves_money_micro_usd < 0); /* it pays for two minutes more */
    assert_true(helio_migration_is_worthwhile(&migration));
    south.site.carbon_g_per_kwh = -1; /* a site without figures does not count as clean */
    south.hours = 0;
    south.pool.price_usd_per_gpu_h = 2;
    look(&south, NOON);
    migration = weigh();
    assert_true(migration.there.terms[HELIO_TERM_CARBON] > migration.here.terms[HELIO_TERM_CARBON]);
    assert_false(helio_migration_is_worthwhile(&migration));
}

static void migration__the_rest_follows_the_predicted_run_time(void **state)
{
    (void)state;
    helio_migration_target_t here = target(&north), there = target(&south);
    job.limit_ms = 20 * H;
    here.run_ms = there.run_ms = 10 * H;
    here.run_high_ms = there.run_high_ms = 14 * H;
    helio_migration_t migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, 6 * H);
    assert_int_equal(migration.run_high_ms, 10 * H + M);
    job.before_ms = 3 * H; /* attempts before it count, but not for what it may take */
    migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, 3 * H);
    assert_int_equal(migration.run_high_ms, 10 * H + M);
    job.ran_ms = 12 * H; /* longer than foreseen: a tenth of it is left */
    migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, H);
    assert_int_equal(migration.run_high_ms, 2 * H + M);
    job.ran_ms = 15 * H; /* beyond p90 nothing is known but the limit */
    migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, H);
    assert_int_equal(migration.run_high_ms, 5 * H + M);
    job.ran_ms = 20 * H - M; /* never beyond the limit of this attempt */
    migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, M);
    job.ran_ms = 30 * H;
    migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, 0);
    assert_false(helio_migration_is_worthwhile(&migration));
}

static void migration__the_rest_is_shorter_on_a_faster_gpu(void **state)
{
    (void)state;
    helio_migration_target_t here = target(&north), there = target(&south);
    there.run_ms = there.run_high_ms = 5 * H;
    there.gpus = 4;
    helio_migration_t migration = compared(&here, &there);
    assert_int_equal(migration.rest_ms, 6 * H);
    assert_int_equal(migration.run_ms, 3 * H + M);
    assert_int_equal(migration.there.terms[HELIO_TERM_MONEY], rent_of(1, 180) / 2);
    /* half of what runs twice, since it takes half of the time there */
    job.signalled = false;
    job.every_ms = H;
    job.ran_ms = 4 * H + 12 * M;
    migration = compared(&here, &there);
    assert_int_equal(migration.run_ms, 3 * H - 6 * M + M + 6 * M);
}

static void migration__unsaved_work_runs_twice(void **state)
{
    (void)state;
    assert_int_equal(helio_migration_lost_ms(H / 2, H, false), H / 2);
    assert_int_equal(helio_migration_lost_ms(H + M, H, false), H + M); /* it may not be written yet */
    assert_int_equal(helio_migration_lost_ms(H + 2 * M, H, false), 2 * M);
    assert_int_equal(helio_migration_lost_ms(4 * H + 30 * M, H, false), 30 * M);
    assert_int_equal(helio_migration_lost_ms(4 * H, 3 * H, false), H); /* the loss of its own decision counts in full */
    assert_int_equal(helio_migration_lost_ms(4 * H, 0, false), 4 * H);
    assert_int_equal(helio_migration_lost_ms(4 * H, H, true), 0);
    int64_t signalled = weigh().there.terms[HELIO_TERM_DISRUPTION];
    job.signalled = false;
    job.every_ms = 8 * H; /* the next one is as far as the end */
    helio_migration_t migration = weigh();
    assert_true(migration.there.terms[HELIO_TERM_DISRUPTION] - signalled == rent_of(1, 240));
    assert_int_equal(migration.run_ms, 10 * H); /* a new attempt has the whole limit, and no more */
}

static void migration__waits_for_a_checkpoint_that_costs_less_than_doing_the_work_again(void **state)
{
    (void)state;
    job.signalled = false;
    job.every_ms = H;
    job.leave_ms = 0;
    job.ran_ms = 3 * H + 50 * M; /* 12 minutes at twice the price, or 50 minutes again */
    helio_migration_t migration = weigh();
    assert_int_equal(migration.saved_in_ms, 12 * M);
    assert_int_equal(migration.begin_ms, NOON + (int64_t)(12 * M));
    /* until then here, then the rest, two minutes of work that may not be saved, and the restart */
    assert_int_equal(migration.there.score_micro_usd, rent_of(2, 12) + rent_of(1, 370 - 12 + 2 + 1));
    assert_int_equal(migration.saves_micro_usd, migration.here.score_micro_usd - migration.there.score_micro_usd);
    assert_int_equal(migration.saves_money_micro_usd, migration.saves_micro_usd);
    assert_int_equal(migration.run_ms, 361 * M);
    job.ran_ms = 3 * H + 10 * M; /* 52 minutes at twice the price, or ten minutes again */
    assert_int_equal(weigh().saved_in_ms, 0);
    job.ran_ms = 4 * H + 2 * M; /* it has just saved */
    migration = weigh();
    assert_int_equal(migration.saved_in_ms, 0);
    assert_int_equal(migration.run_ms, 358 * M + M + 2 * M);
    job.ran_ms = 10 * H - 5 * M; /* the end comes before the checkpoint */
    assert_int_equal(weigh().saved_in_ms, 0);
    job.every_ms = 0;
    assert_int_equal(weigh().saved_in_ms, 0);
}

static void migration__data_takes_time_money_and_carbon(void **state)
{
    (void)state;
    helio_migration_target_t here = target(&north), there = target(&south);
    job.prices = (helio_prices_t){.carbon_micro_usd_per_t = 200000000, .wait_micro_usd_per_gpu_h = 500000};
    helio_migration_t without = compared(&here, &there);
    there.transfer = (helio_transfer_t){.ms = H, .egress_micro_usd = 7000000, .energy_j = 1, .carbon_mg = 5000000};
    helio_migration_t with = compared(&here, &there);
    assert_int_equal(with.begin_ms, without.begin_ms + HOUR);
    int64_t more = 7000000 + 1000000 + 8 * 500000; /* egress; 5 kg at 200 USD/t; 8 GPUs wait for an hour */
    assert_int_equal(with.there.terms[HELIO_TERM_DISRUPTION] - without.there.terms[HELIO_TERM_DISRUPTION], more);
    assert_int_equal(without.saves_money_micro_usd - with.saves_money_micro_usd, 7000000);
    assert_int_equal(without.saves_mg - with.saves_mg, 5000000);
}

static void migration__caps_of_the_job_are_checked_at_p90(void **state)
{
    (void)state;
    helio_migration_target_t here = target(&north), there = target(&south);
    here.run_ms = there.run_ms = 8 * H;
    job.deadline_wall_ms = NOON + 6 * HOUR + 2 * 60000; /* p90: six hours, and two minutes of the way */
    assert_int_equal(compared(&here, &there).rejection, HELIO_REJECTION_NONE);
    job.deadline_wall_ms--;
    helio_migration_t migration = compared(&here, &there);
    assert_int_equal(migration.rejection, HELIO_REJECTION_DEADLINE);
    assert_false(helio_migration_is_worthwhile(&migration));
    job.deadline_wall_ms = 0;
    job.max_cost_micro_usd = (uint64_t)rent_of(1, 361);
    assert_int_equal(compared(&here, &there).rejection, HELIO_REJECTION_NONE);
    job.max_cost_micro_usd -= 1000;
    assert_int_equal(compared(&here, &there).rejection, HELIO_REJECTION_COST_CAP);
    job.max_cost_micro_usd = 0;
    job.max_carbon_mg_per_kwh = 500000;
    assert_int_equal(compared(&here, &there).rejection, HELIO_REJECTION_NONE);
    job.max_carbon_mg_per_kwh = 499999;
    assert_int_equal(compared(&here, &there).rejection, HELIO_REJECTION_CARBON_CAP);
}

static void migration__the_first_must_save_a_tenth_and_a_later_one_a_fifth(void **state)
{
    (void)state;
    static const struct {
        double rent;
        uint32_t times;
        bool worth;
    } rows[] = {{2, 0, false},    {1.85, 0, false}, {1.75, 0, true}, {1.75, 1, false},
                {1.65, 1, false}, {1.55, 1, true},  {1.55, 3, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make(&south, rows[i].rent, 500);
        job.times = rows[i].times;
        helio_migration_t migration = weigh();
        assert_int_equal(helio_migration_is_worthwhile(&migration), rows[i].worth);
    }
    make(&north, 0.001, 500); /* 5 cents in all: half of it is nothing */
    make(&south, 0.0005, 500);
    job.times = 0;
    helio_migration_t migration = weigh();
    assert_true(helio_migration_saves_per_mille(&migration) > 400);
    assert_false(helio_migration_is_worthwhile(&migration));
    assert_int_equal(migration.needs_micro_usd, HELIO_MIGRATION_SAVES_LEAST_MICRO_USD);
}

/*  Later hours are another day's decision; what the whole rest uses there is told all the same. */
static void migration__compares_the_next_hours_where_it_can_move_again(void **state)
{
    (void)state;
    static const double falls[] = {2, 2, 2, 0.1};
    memcpy(north.rent, falls, sizeof falls);
    north.hours = 4;
    north.grams[1] = north.grams[2] = north.grams[3] = 500;
    look(&north, NOON);
    helio_migration_t migration = weigh();
    assert_false(helio_migration_is_worthwhile(&migration));
    job.look_ms = 3 * H;
    migration = weigh();
    assert_true(helio_migration_is_worthwhile(&migration));
    assert_int_equal(migration.here.score_micro_usd, rent_of(2, 180));
    assert_int_equal(migration.there.terms[HELIO_TERM_MONEY], rent_of(1, 180));
    assert_int_equal(migration.saves_money_micro_usd, migration.saves_micro_usd);
    assert_int_equal(migration.rest_ms, 6 * H);
    assert_int_equal(migration.run_ms, 6 * H + M);
    assert_int_equal(migration.run.cost_micro_usd, rent_of(1, 361));
    job.look_ms = 20 * H; /* never more than the rest */
    assert_int_equal(weigh().here.score_micro_usd, rent_of(2, 180) + rent_of(1, 18));
    /* a checkpoint that comes after these hours delays them, and forbids nothing */
    job.signalled = false;
    job.every_ms = 5 * H;
    job.ran_ms = 4 * H + 2 * M;
    job.leave_ms = 0;
    job.look_ms = H;
    north.rent[3] = 2;
    look(&north, NOON);
    migration = weigh();
    assert_int_equal(migration.here.score_micro_usd, rent_of(2, 120));
    assert_int_equal(migration.saved_in_ms, 60 * M);
    assert_true(helio_migration_is_worthwhile(&migration));
}

static void migration__a_migrated_job_stays_for_an_hour(void **state)
{
    (void)state;
    assert_int_equal(helio_migration_residence_ms(0, 5000, 20000), 15000);
    assert_int_equal(helio_migration_residence_ms(0, 20000, 20000), 0);
    assert_int_equal(helio_migration_residence_ms(1, 20000, 20000), H - 20000);
    assert_int_equal(helio_migration_residence_ms(1, H, 20000), 0);
}

static void migration__extreme_figures_stay_within_64_bits(void **state)
{
    (void)state;
    helio_migration_target_t here = target(&north), there = target(&south);
    job.prices = (helio_prices_t){HELIO_PRICE_MAX_MICRO_USD, HELIO_PRICE_MAX_MICRO_USD, 0};
    job.limit_ms = here.run_ms = there.run_ms = here.run_high_ms = there.run_high_ms = UINT64_C(366) * 24 * H;
    here.gpus = there.gpus = 640000;
    there.transfer = (helio_transfer_t){
        .ms = UINT64_C(1) << 38, .egress_micro_usd = INT64_C(1) << 53, .carbon_mg = UINT64_C(1) << 53};
    helio_migration_t migration = compared(&here, &there);
    assert_true(migration.there.score_micro_usd > 0 && migration.saves_micro_usd < 0);
    assert_false(helio_migration_is_worthwhile(&migration));
    here.run_ms = 0;
    migration = compared(&here, &there);
    assert_false(helio_migration_is_worthwhile(&migration));
}

/* ---- a life: a job that is looked at again and again --------------------------------------------------- */

typedef struct life {
    place_t *at, *other;
    uint64_t ran_ms, done_ms;
    uint32_t times;
    int64_t now_ms, moved_ms;
    int64_t spent, stays; /* micro-USD, and had it never moved */
} life_t;

static int64_t cost(const place_t *truth, int64_t from_ms, uint64_t ms)
{
    return helio_plan_until(&truth->pool_forecast, 8, from_ms, from_ms + (int64_t)ms).cost_micro_usd;
}

static helio_migration_t weigh_life(const life_t *life, const place_t *seen_here, const place_t *seen_there,
                                    uint64_t whole)
{
    helio_migration_target_t here = target(seen_here), there = target(seen_there);
    here.run_ms = here.run_high_ms = there.run_ms = there.run_high_ms = whole;
    job.now_ms = life->now_ms;
    job.ran_ms = life->ran_ms;
    job.before_ms = life->done_ms - life->ran_ms;
    job.limit_ms = whole;
    job.times = life->times;
    return compared(&here, &there);
}

/*  Looked at every ten minutes, by what is seen of the truth; `see` may be the truth itself. */
static life_t live(place_t truth[2],
                   void (*see)(place_t *seen, const place_t *truth, int64_t wall_ms, helio_rng_t *rng),
                   helio_rng_t *rng, uint64_t whole)
{
    static place_t seen[2];
    life_t life = {.at = &truth[0], .other = &truth[1], .now_ms = NOON, .moved_ms = INT64_MIN};
    life.stays = cost(&truth[0], NOON, whole);
    while (life.done_ms < whole) {
        see(&seen[0], life.at, life.now_ms, rng);
        see(&seen[1], life.other, life.now_ms, rng);
        helio_migration_t migration = weigh_life(&life, &seen[0], &seen[1], whole);
        bool moves = life.times < HELIO_MIGRATION_TIMES_MAX &&
                     !helio_migration_residence_ms(life.times, life.ran_ms, 20000) &&
                     helio_migration_is_worthwhile(&migration);
        if (moves) {
            assert_true(life.moved_ms == INT64_MIN || life.now_ms - life.moved_ms >= HELIO_MIGRATION_RESIDENCE_MS);
            life.spent += cost(life.at, life.now_ms, M) + cost(life.other, life.now_ms + (int64_t)M, M);
            life.now_ms += (int64_t)(2 * M);
            place_t *from = life.at;
            life.at = life.other;
            life.other = from;
            life.ran_ms = 0;
            life.times++;
            life.moved_ms = life.now_ms;
        }
        uint64_t left = whole - life.done_ms, step = left < 10 * M ? left : 10 * M;
        life.spent += cost(life.at, life.now_ms, step);
        life.now_ms += (int64_t)step;
        life.ran_ms += step;
        life.done_ms += step;
    }
    return life;
}

static void see_truth(place_t *seen, const place_t *truth, int64_t wall_ms, helio_rng_t *rng)
{
    (void)wall_ms;
    (void)rng;
    *seen = *truth;
}

static double uniform(helio_rng_t *rng, double low, double high)
{
    return low + (high - low) * (double)(helio_rng_next(rng) >> 11) / 9007199254740992.0;
}

/*  Every hour ahead is off by up to 5 %, each time by something else. */
static void see_noise(place_t *seen, const place_t *truth, int64_t wall_ms, helio_rng_t *rng)
{
    *seen = *truth;
    double off = uniform(rng, 0.98, 1.02);
    for (uint32_t i = 0; i < seen->hours; i++)
        seen->rent[i] *= off * uniform(rng, 0.97, 1.03);
    look(seen, wall_ms);
}

static void walk(place_t *place, helio_rng_t *rng, double step)
{
    make(place, 2, 500);
    double rent = uniform(rng, 1, 3);
    place->hours = HELIO_POOL_FORECAST_HOURS;
    for (uint32_t i = 0; i < place->hours; i++) {
        rent *= uniform(rng, 1 - step, 1 + step);
        place->rent[i] = rent;
        place->grams[i] = 500;
    }
    look(place, NOON);
}

/*  Each hop has its threshold, so whoever foresees rightly pays less for each. */
static void migration__with_correct_forecasts_no_migration_loses_money(void **state)
{
    (void)state;
    static place_t truth[2];
    uint32_t moved = 0, times[HELIO_MIGRATION_TIMES_MAX + 1] = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        helio_rng_t rng = {.state = seed};
        walk(&truth[0], &rng, 0.3);
        walk(&truth[1], &rng, 0.3);
        life_t life = live(truth, see_truth, &rng, 24 * H);
        assert_true(life.times <= HELIO_MIGRATION_TIMES_MAX);
        assert_true(life.times ? life.spent < life.stays : llabs(life.spent - life.stays) < 1000);
        moved += life.times > 0;
        times[life.times]++;
    }
    assert_true(moved > 100); /* else nothing was tried */
    assert_true(times[2] > 0);
}

/*  Two sites of one price, seen through noise: no job migrates to and fro. */
static void migration__noise_around_one_price_causes_no_migration(void **state)
{
    (void)state;
    static place_t truth[2];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        helio_rng_t rng = {.state = seed * 77};
        make(&truth[0], 2, 500);
        make(&truth[1], 2, 500);
        assert_int_equal(live(truth, see_noise, &rng, 24 * H).times, 0);
    }
}

/*  Walks seen through noise: few moves, an hour apart (checked within), and the price of error is small. */
static void migration__noisy_random_walks_send_no_job_back_and_forth(void **state)
{
    (void)state;
    static place_t truth[2];
    int64_t spent = 0, stays = 0;
    uint32_t moves = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        helio_rng_t rng = {.state = seed * 1001};
        walk(&truth[0], &rng, 0.2);
        walk(&truth[1], &rng, 0.2);
        life_t life = live(truth, see_noise, &rng, 24 * H);
        assert_true(life.times <= HELIO_MIGRATION_TIMES_MAX);
        assert_true(life.spent < life.stays + life.stays / 20);
        moves += life.times;
        spent += life.spent;
        stays += life.stays;
    }
    assert_true(moves > 50 && moves < 2 * 200);
    assert_true(spent < stays);
}

/*  South is cleaner and dearer, or cheaper and dirtier; data and waiting count where everything does. */
static void objective__only_its_terms_move_a_job(void **state)
{
    (void)state;
    static const struct {
        uint32_t objective;
        double rent, grams;
        bool goes;
    } rows[] = {{HELIO_OBJECTIVE_GREENEST, 9, 100, true},  {HELIO_OBJECTIVE_GREENEST, 0.1, 600, false},
                {HELIO_OBJECTIVE_CHEAPEST, 1, 900, true},  {HELIO_OBJECTIVE_CHEAPEST, 3, 100, false},
                {HELIO_OBJECTIVE_EARLIEST, 1, 100, false}, {HELIO_OBJECTIVE_ALL, 9, 100, false}};
    job.prices = (helio_prices_t){200000000, 500000, 0}; /* 200 USD/t */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make(&south, rows[i].rent, rows[i].grams);
        job.objective = rows[i].objective;
        helio_migration_target_t here = target(&north), there = target(&south);
        there.transfer = (helio_transfer_t){.egress_micro_usd = 50000000, .carbon_mg = 50000000};
        there.price_unknown = rows[i].objective == HELIO_OBJECTIVE_GREENEST;
        helio_migration_t migration = compared(&here, &there);
        assert_int_equal(helio_migration_is_worthwhile(&migration), rows[i].goes);
        for (uint32_t term = 0; term < HELIO_TERM_COUNT; term++)
            if (!helio_objective_counts(rows[i].objective, term) && term != HELIO_TERM_DISRUPTION)
                assert_true(migration.here.terms[term] == 0 && migration.there.terms[term] == 0);
    }
    job.objective = HELIO_OBJECTIVE_ALL;
}

/*  The price of a GPU-hour there is not known: that of this site is assumed. */
static void unknown_price__is_no_reason_to_migrate(void **state)
{
    (void)state;
    make(&south, 0, 500);
    helio_migration_target_t here = target(&north), there = target(&south);
    helio_migration_t migration = compared(&here, &there);
    assert_true(helio_migration_is_worthwhile(&migration)); /* a rent of 0 that is known */
    there.price_unknown = true;
    migration = compared(&here, &there);
    assert_false(helio_migration_is_worthwhile(&migration));
    assert_true(migration.saves_money_micro_usd <= 0 && migration.saves_micro_usd <= 0);
    assert_true(migration.there.terms[HELIO_TERM_RISK] >= migration.here.cost_micro_usd);
    make(&north, 0, 500);
    here = target(&north);
    here.price_unknown = true; /* neither is known: the carbon decides */
    migration = compared(&here, &there);
    assert_int_equal(migration.there.terms[HELIO_TERM_RISK], migration.here.terms[HELIO_TERM_RISK]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(migration__the_rest_is_priced_at_both_pools_with_the_cost_of_migration, begin),
        cmocka_unit_test_setup(migration__each_hour_ahead_counts_with_its_own_price, begin),
        cmocka_unit_test_setup(migration__carbon_and_its_risk_count_at_the_job_s_own_price, begin),
        cmocka_unit_test_setup(migration__the_rest_follows_the_predicted_run_time, begin),
        cmocka_unit_test_setup(migration__the_rest_is_shorter_on_a_faster_gpu, begin),
        cmocka_unit_test_setup(migration__unsaved_work_runs_twice, begin),
        cmocka_unit_test_setup(migration__waits_for_a_checkpoint_that_costs_less_than_doing_the_work_again, begin),
        cmocka_unit_test_setup(migration__data_takes_time_money_and_carbon, begin),
        cmocka_unit_test_setup(migration__caps_of_the_job_are_checked_at_p90, begin),
        cmocka_unit_test_setup(migration__the_first_must_save_a_tenth_and_a_later_one_a_fifth, begin),
        cmocka_unit_test_setup(migration__compares_the_next_hours_where_it_can_move_again, begin),
        cmocka_unit_test_setup(migration__a_migrated_job_stays_for_an_hour, begin),
        cmocka_unit_test_setup(migration__extreme_figures_stay_within_64_bits, begin),
        cmocka_unit_test_setup(migration__with_correct_forecasts_no_migration_loses_money, begin),
        cmocka_unit_test_setup(migration__noise_around_one_price_causes_no_migration, begin),
        cmocka_unit_test_setup(migration__noisy_random_walks_send_no_job_back_and_forth, begin),
        cmocka_unit_test_setup(objective__only_its_terms_move_a_job, begin),
        cmocka_unit_test_setup(unknown_price__is_no_reason_to_migrate, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
