/*  terms.c -- computes the terms of a start, and their sum. */
#include "federation/policy/terms.h"

#include <assert.h>

#include "federation/base/number.h"

static const char *const words[] = {
#define X(name, word) word,
    HELIO_TERM_TABLE(X)
#undef X
};

static const uint32_t counted[HELIO_OBJECTIVE_COUNT] = {
#define X(name, terms) [HELIO_OBJECTIVE_##name] = terms,
    HELIO_OBJECTIVE_TABLE(X)
#undef X
};

bool helio_objective_counts(uint32_t objective, helio_term_t term)
{
    assert(objective < HELIO_OBJECTIVE_COUNT);
    return counted[objective] >> term & 1;
}

const char *helio_term_name(helio_term_t term)
{
    return term < HELIO_TERM_COUNT ? words[term] : "unknown";
}

static const int64_t MOST = INT64_C(1) << 53;
static const int64_t UJ_PER_KWH = INT64_C(3600000000000);

static int64_t bounded(helio_i128_t value)
{
    return value > MOST ? MOST : value < -MOST ? -MOST : (int64_t)value;
}

/*  Rounds to the nearest integer, halves up. Most numerators fit in 64 bits, whose division is many times as fast. */
static int64_t ratio(helio_i128_t numerator, helio_i128_t denominator)
{
    helio_i128_t doubled = numerator * 2 + denominator, all = denominator * 2;
    if (doubled >= INT64_MIN && doubled <= INT64_MAX && all <= INT64_MAX) {
        int64_t whole = (int64_t)doubled / (int64_t)all;
        return bounded(whole - ((int64_t)doubled % (int64_t)all < 0));
    }
    helio_i128_t whole = doubled / all;
    return bounded(whole - (doubled - whole * all < 0));
}

/*  128-bit sums hold 10,000 nodes of 64 GPUs for a century: run_ms is bounded here. */
static const uint64_t RUN_MAX_MS = UINT64_C(100) * 366 * 86400000;
static const uint64_t GPUS_MAX = (uint64_t)HELIO_JOB_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX;

static void take_use(helio_plan_t *plan, const helio_pool_forecast_use_t *use, uint64_t gpus)
{
    plan->cost_micro_usd = ratio(use->money * (helio_i128_t)gpus, UJ_PER_KWH);
    plan->energy_j = (uint64_t)ratio(use->energy * (helio_i128_t)gpus, 1000000);
    plan->carbon_mg = (uint64_t)ratio(use->carbon * (helio_i128_t)gpus, UJ_PER_KWH);
}

helio_plan_t helio_plan_until(const helio_pool_forecast_t *pool_forecast, uint64_t gpus, int64_t start_ms,
                              int64_t until_ms)
{
    helio_plan_t plan = {.start_ms = start_ms};
    helio_pool_forecast_use_t use = helio_pool_forecast_use(pool_forecast, start_ms, until_ms);
    take_use(&plan, &use, helio_lesser_u64(gpus, GPUS_MAX));
    return plan;
}

/*  Cost of mg in micro-USD, at a price per tonne (10^9 mg). */
static int64_t carbon_cost(const helio_work_t *work, int64_t carbon_mg)
{
    return ratio((helio_i128_t)carbon_mg * work->prices.carbon_micro_usd_per_t, 1000000000);
}

static int64_t wait_cost(const helio_work_t *work, uint64_t gpus, int64_t wait_ms)
{
    if (wait_ms <= 0)
        return 0;
    return ratio((helio_i128_t)wait_ms * (helio_i128_t)gpus * work->prices.wait_micro_usd_per_gpu_h, HELIO_HOUR_MS);
}

/*  Of interruptions: the share that is done again, of all that the run costs. */
static int64_t spot_loss(const helio_work_t *work, const helio_plan_t *plan, uint64_t gpus, uint64_t run_ms,
                         uint64_t redo_ppm)
{
    if (!redo_ppm)
        return 0;
    int64_t money = plan->cost_micro_usd > 0 ? plan->cost_micro_usd : 0;
    helio_i128_t cost =
        (helio_i128_t)money + carbon_cost(work, (int64_t)plan->carbon_mg) + wait_cost(work, gpus, (int64_t)run_ms);
    return ratio(cost * (helio_i128_t)redo_ppm, 1000000);
}

helio_plan_t helio_plan_of(const helio_pool_forecast_t *pool_forecast, const helio_work_t *work,
                           const helio_extras_t *extras, int64_t start_ms)
{
    uint64_t gpus = helio_lesser_u64(work->gpus, GPUS_MAX), run_ms = helio_lesser_u64(work->run_ms, RUN_MAX_MS);
    helio_plan_t plan = {.start_ms = start_ms};
    int64_t queued_ms = work->now_ms + extras->queue_wait_ms;
    int64_t begin_ms = (start_ms > queued_ms ? start_ms : queued_ms) + (int64_t)extras->transfer.ms;
    helio_pool_forecast_use_t use = helio_pool_forecast_use(pool_forecast, begin_ms, begin_ms + (int64_t)run_ms);
    take_use(&plan, &use, gpus);
    int64_t free_until = work->free_until_ms > work->now_ms ? work->free_until_ms : work->now_ms;
    int64_t high_mg = ratio((use.carbon_high - use.carbon) * (helio_i128_t)gpus, UJ_PER_KWH);
    plan.terms[HELIO_TERM_MONEY] = plan.cost_micro_usd;
    plan.terms[HELIO_TERM_CARBON] = carbon_cost(work, (int64_t)plan.carbon_mg);
    plan.terms[HELIO_TERM_WAIT] = wait_cost(work, gpus, begin_ms - free_until);
    plan.spot_micro_usd = spot_loss(work, &plan, gpus, run_ms, extras->redo_ppm);
    plan.terms[HELIO_TERM_RISK] = carbon_cost(work, high_mg) + plan.spot_micro_usd +
                                  (extras->stale ? wait_cost(work, gpus, HELIO_RISK_STALE_WAIT_MS) : 0);
    plan.terms[HELIO_TERM_SHADOW] =
        ratio((helio_i128_t)(gpus * run_ms) * extras->shadow_micro_usd_per_gpu_h * 1000 +
                  use.taken * (helio_i128_t)gpus * work->prices.scarcity_micro_usd_per_gpu_h,
              (helio_i128_t)1000 * HELIO_HOUR_MS);
    plan.terms[HELIO_TERM_DISRUPTION] = ratio(extras->disruption_micro_usd, 1);
    plan.terms[HELIO_TERM_TRANSFER] =
        ratio((helio_i128_t)extras->transfer.egress_micro_usd +
                  carbon_cost(work, (int64_t)helio_lesser_u64(extras->transfer.carbon_mg, (uint64_t)MOST)),
              1);
    for (uint32_t i = 0; i < HELIO_TERM_COUNT; i++) {
        plan.terms[i] = helio_objective_counts(work->objective, i) ? plan.terms[i] : 0;
        plan.score_micro_usd += plan.terms[i];
    }
    return plan;
}

uint64_t helio_plan_mg_per_kwh(const helio_plan_t *plan)
{
    return plan->energy_j ? (uint64_t)ratio((helio_i128_t)plan->carbon_mg * 3600000, (helio_i128_t)plan->energy_j) : 0;
}

/*  What starting now costs, in money and carbon. */
static helio_i128_t cost_of(const helio_plan_t *plan)
{
    int64_t money = plan->terms[HELIO_TERM_MONEY];
    return (helio_i128_t)(money < 0 ? -money : money) + plan->terms[HELIO_TERM_CARBON];
}

/*  Whether the later start emits so much less that it needs not save a cent; where carbon has no price, it never does. */
static bool saves_carbon(const helio_plan_t *now, const helio_plan_t *later, bool held)
{
    int64_t least_mg = held ? HELIO_DEFER_LEAST_MG / 2 : HELIO_DEFER_LEAST_MG;
    return now->terms[HELIO_TERM_CARBON] > 0 && (int64_t)now->carbon_mg - (int64_t)later->carbon_mg >= least_mg;
}

int64_t helio_plan_patience(const helio_plan_t *now, const helio_plan_t *later, int64_t wait_ms, bool held)
{
    if (wait_ms <= 0)
        return 0;
    int64_t rate = held ? HELIO_DEFER_HELD_PPM_AND_H : HELIO_DEFER_PPM_AND_H;
    int64_t least = held ? HELIO_DEFER_LEAST_MICRO_USD / 2 : HELIO_DEFER_LEAST_MICRO_USD;
    int64_t share = ratio(cost_of(now) * rate * wait_ms, (helio_i128_t)1000000 * HELIO_HOUR_MS);
#ifdef HELIO_MUTANT_waits_for_nothing
    least = 0;
#endif
    return share < least && !saves_carbon(now, later, held) ? least : share;
}

int64_t helio_plan_switch_margin(const helio_plan_t *now)
{
    return ratio(cost_of(now) * HELIO_DEFER_SWITCH_PER_MILLE, 1000);
}
