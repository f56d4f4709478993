/*  terms.h -- what a start costs: one number in micro-USD, and the terms that it is the sum of. Pure.
 *
 *  money     rent, and on owned pools electricity: energy × tariff, hour by hour;
 *  carbon    carbon price × carbon, hour by hour, as expected;
 *  wait      wait price × GPUs × the wait beyond what may be waited for free;
 *  risk      what a forecast's 70th percentile costs beyond its mean; an intensity that is not told; old
 * figures; shadow    price of the capacity that is taken: the scarcity price (prices.h) × GPU-hours × the
 * share of the pool that others are expected to hold then, and what a planner gives; move      checkpoint,
 * transfer and restart of a job that runs elsewhere; transfer  of its data: egress and carbon.
 *
 *  Of a run as long as is expected of it at that pool (duration.h); of the whole time limit where nothing is known.
 */
#ifndef HELIO_POLICY_TERMS_H
#define HELIO_POLICY_TERMS_H

#include "federation/policy/pool_forecast.h"
#include "federation/policy/transfer.h"

#define HELIO_TERM_TABLE(X)                                                                 \
    X(MONEY, "money")                                                                       \
    X(CARBON, "carbon") X(WAIT, "wait") X(RISK, "risk") X(SHADOW, "shadow") X(DISRUPTION, "move") \
        X(TRANSFER, "transfer")
#define HELIO_TERM_ENUMERATOR_(name, word) HELIO_TERM_##name,
typedef enum helio_term { HELIO_TERM_TABLE(HELIO_TERM_ENUMERATOR_) HELIO_TERM_COUNT } helio_term_t;
const char *helio_term_name(helio_term_t term);

/*  Of what is to run. */
typedef struct helio_work {
    uint64_t gpus; /* over all nodes */
    uint64_t run_ms;
    helio_prices_t prices;
    int64_t now_ms;
    int64_t free_until_ms; /* waiting is free until then; 0 or past = not at all */
} helio_work_t;

/*  What a pool adds to it; all zero where nothing is known. */
typedef struct helio_extras {
    bool stale;            /* the site's figures are older than HELIO_RISK_STALE_AFTER_MS */
    int64_t queue_wait_ms; /* after the start, in the site's own queue */
    int64_t shadow_micro_usd_per_gpu_h;
    int64_t disruption_micro_usd;
    helio_transfer_t transfer; /* of its data, before it begins */
    bool no_link;              /* its data cannot come there */
} helio_extras_t;

typedef struct helio_plan {
    int64_t start_ms;        /* 0 = there is no plan */
    int64_t score_micro_usd; /* the sum of the terms; lower is better */
    int64_t terms[HELIO_TERM_COUNT];
    int64_t cost_micro_usd; /* the money alone */
    uint64_t energy_j;
    uint64_t carbon_mg; /* expected; 0 where the intensity is not known */
} helio_plan_t;

/*  Every figure is cut to +-2^53, so that sums of many fit. */
helio_plan_t helio_plan_of(const helio_pool_forecast_t *pool_forecast, const helio_work_t *work,
                           const helio_extras_t *extras, int64_t start_ms);

/*  Cost, energy and carbon of a plan's run from its start until some instant: differences of successive
 * instants are the plan's hours, and add up to its figures exactly. The other fields are zero. */
helio_plan_t helio_plan_until(const helio_pool_forecast_t *pool_forecast, uint64_t gpus, int64_t start_ms,
                              int64_t until_ms);

/*  Mean intensity of a plan's energy; 0 when it needs none. */
uint64_t helio_plan_mg_per_kwh(const helio_plan_t *plan);

/*  What waiting for a later start must save against a plan that can start now (prices.h); held: it is waited
 * for already. */
int64_t helio_plan_patience(const helio_plan_t *now, int64_t wait_ms, bool held);

#endif
