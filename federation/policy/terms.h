/*  terms.h -- the cost of a start: one score in micro-USD and the terms of which it is the sum. Pure.
 *
 *  money       rent, and on owned pools electricity: energy × tariff, hour by hour;
 *  carbon      carbon price × expected carbon, hour by hour;
 *  wait        wait price × GPUs × the time waited beyond the free waiting time;
 *  risk        extra cost at the forecast's 70th percentile over its mean; unreported intensities; old figures; on spot
 *              capacity the expected loss by interruptions (spot.h);
 *  shadow      price of scarce capacity: the scarcity price (prices.h) × GPU-hours × the share of the pool that others
 *              are expected to hold, and a planner's surcharge;
 *  disruption  of a migration: checkpoint, transfer and restart; of a preemption: the work that the victims lose;
 *  transfer    transfer of the job's data: egress and carbon.
 *
 *  The run lasts as long as predicted at that pool (duration.h), or the whole time limit without a prediction.
 */
#ifndef HELIO_POLICY_TERMS_H
#define HELIO_POLICY_TERMS_H

#include "federation/policy/pool_forecast.h"
#include "federation/policy/transfer.h"

/* clang-format off */
#define HELIO_TERM_TABLE(X)     \
    X(MONEY, "money")           \
    X(CARBON, "carbon")         \
    X(WAIT, "wait")             \
    X(RISK, "risk")             \
    X(SHADOW, "shadow")         \
    X(DISRUPTION, "disruption") \
    X(TRANSFER, "transfer")
/* clang-format on */
#define HELIO_TERM_ENUMERATOR_(name, word) HELIO_TERM_##name,
typedef enum helio_term { HELIO_TERM_TABLE(HELIO_TERM_ENUMERATOR_) HELIO_TERM_COUNT } helio_term_t;
const char *helio_term_name(helio_term_t term);

/*  What a decision minimises: which terms count. The terms of other rows are 0 in a plan; its cost, energy and carbon
 *  are not. The service runs with ALL. The other rows are simple rules to compare it with (decisions/0007-simulate.md):
 *  where no term counts, every start costs the same, and ties go to the home site, then to the largest free share. */
#define HELIO_TERM_BIT(term) (UINT32_C(1) << HELIO_TERM_##term)
/* clang-format off */
#define HELIO_OBJECTIVE_TABLE(X)                               \
    X(ALL, UINT32_MAX)                                         \
    X(EARLIEST, 0)                                             \
    X(CHEAPEST, HELIO_TERM_BIT(MONEY))                         \
    X(GREENEST, HELIO_TERM_BIT(CARBON) | HELIO_TERM_BIT(RISK)) \
    X(NEAREST, HELIO_TERM_BIT(TRANSFER))
/* clang-format on */
#define HELIO_OBJECTIVE_ENUMERATOR_(name, terms) HELIO_OBJECTIVE_##name,
typedef enum helio_objective {
    HELIO_OBJECTIVE_TABLE(HELIO_OBJECTIVE_ENUMERATOR_) HELIO_OBJECTIVE_COUNT
} helio_objective_t;
bool helio_objective_counts(uint32_t objective, helio_term_t term);

/*  The work to be scored. */
typedef struct helio_work {
    uint64_t gpus; /* over all nodes */
    uint64_t run_ms;
    helio_prices_t prices;
    int64_t now_ms;
    int64_t free_until_ms; /* waiting is free until then; 0 or in the past = never */
    uint32_t objective;    /* helio_objective_t */
} helio_work_t;

/*  Additional costs at a pool; all zero if unknown. */
typedef struct helio_extras {
    bool stale;            /* the site's figures are old (broker/core/sites/silence.c) */
    int64_t queue_wait_ms; /* from now on, in the site's own queue: a later start does not begin before */
    int64_t shadow_micro_usd_per_gpu_h;
    int64_t disruption_micro_usd;
    helio_transfer_t transfer; /* of its data, before it begins */
    bool no_link;              /* its data cannot reach the site */
    uint64_t redo_ppm;         /* of spot capacity: the share of the run that is done again (spot.h) */
} helio_extras_t;

typedef struct helio_plan {
    int64_t start_ms;        /* 0 = no plan */
    int64_t score_micro_usd; /* the sum of the terms; lower is better */
    int64_t terms[HELIO_TERM_COUNT];
    int64_t cost_micro_usd; /* the money alone */
    int64_t spot_micro_usd; /* of the risk: the expected loss by interruptions */
    uint64_t energy_j;
    uint64_t carbon_mg; /* expected; 0 if the intensity is unknown */
} helio_plan_t;

/*  Every figure is clamped to +-2^53, so that many can be summed. */
helio_plan_t helio_plan_of(const helio_pool_forecast_t *pool_forecast, const helio_work_t *work,
                           const helio_extras_t *extras, int64_t start_ms);

/*  Cost, energy and carbon of a plan's run from its start until a time. The differences between consecutive times
 *  are the plan's hours, and add up to its figures exactly. The other fields are zero. */
helio_plan_t helio_plan_until(const helio_pool_forecast_t *pool_forecast, uint64_t gpus, int64_t start_ms,
                              int64_t until_ms);

/*  Mean intensity of a plan's energy; 0 if it uses none. */
uint64_t helio_plan_mg_per_kwh(const helio_plan_t *plan);

/*  The saving that waiting for a later start requires over a plan that can start now (prices.h). held: the class
 *  already waits for it. */
int64_t helio_plan_patience(const helio_plan_t *now, const helio_plan_t *later, int64_t wait_ms, bool held);
/*  By how much another later start must be better than the one that is waited for. */
int64_t helio_plan_switch_margin(const helio_plan_t *now);

#endif
