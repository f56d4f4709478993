/*  migration.h -- would the rest of a run do better at another pool? What it costs to go on here, and there with
 * all that the way costs; and what a move must save. Pure.
 *
 *  here     money, carbon and risk of the rest, hour by hour from now;
 *  there    the same from when it runs again; and the move, which is
 *             the GPUs here while it leaves (its grace; the work of that time is taken to be lost),
 *             the GPUs there while it starts again, and for the work since its last checkpoint, which runs
 * twice, bringing its data: egress and carbon, its wait price × GPUs × the time until it runs again.
 *
 *  The rest is what is foreseen of the run (p50, duration.h) less what it ran, over all attempts. What a new
 * attempt may take is the whole time limit, and so are bounds held against more: p90 less what this attempt
 * ran.
 */
#ifndef HELIO_POLICY_MIGRATION_H
#define HELIO_POLICY_MIGRATION_H

#include "federation/policy/choice.h"

enum {
    /* What a move must save, in thousandths of what the rest costs here. Day-ahead forecasts of price and
     * intensity are commonly off by about as much, so less than that may be noise. */
    HELIO_MIGRATION_SAVES_PER_MILLE = 100,
    /* Once it was moved: the second of two thresholds, so that two sites that take turns do not send it
       about. */
    HELIO_MIGRATION_SAVES_AGAIN_PER_MILLE = 200,
    /* And in micro-USD: below ten cents nobody notices, and something may go wrong on every way. */
    HELIO_MIGRATION_SAVES_LEAST_MICRO_USD = 100000,
    /* A job that was moved stays: prices and intensities come by the hour, and so does what a move was
       decided on. */
    HELIO_MIGRATION_RESIDENCE_MS = 3600000,
    /* Of one job. A move each day and night of a two days' run, which is as far as forecasts reach. */
    HELIO_MIGRATION_TIMES_MAX = 4,
    /* From the order until a program computes again: processes, images that are there, reading a checkpoint.
     */
    HELIO_MIGRATION_RESTART_MS = 60000,
    /* A run that is longer than foreseen has this part of that before it, in thousandths: it will not end at
     * once, and nothing tells when. */
    HELIO_MIGRATION_FLOOR_PER_MILLE = 100
};

typedef struct helio_migration_job {
    helio_prices_t prices;
    int64_t now_ms;
    uint64_t ran_ms;    /* this attempt */
    uint64_t before_ms; /* the attempts before it */
    uint64_t limit_ms;
    uint64_t leave_ms;        /* until it has gone: its grace; 0 where it is ended at once */
    uint64_t every_ms;        /* it saves so often; 0 = it does not say */
    bool signalled;           /* it saves when it is told to leave */
    uint32_t times;           /* that it was moved */
    int64_t deadline_wall_ms; /* 0 = none, as below */
    uint64_t max_cost_micro_usd;
    uint64_t max_carbon_mg_per_kwh;
} helio_migration_job_t;

/*  Where it runs, or could. */
typedef struct helio_migration_target {
    const helio_pool_forecast_t *pool_forecast;
    uint64_t gpus;        /* over all nodes */
    uint64_t run_ms;      /* foreseen of the whole run there, p50; the time limit where nothing is known */
    uint64_t run_high_ms; /* p90 */
    helio_transfer_t transfer; /* of its data; of where it runs not looked at */
} helio_migration_target_t;

typedef struct helio_migration {
    helio_rejection_t rejection; /* DEADLINE, COST_CAP, CARBON_CAP: whatever it saves */
    uint64_t rest_ms;            /* here */
    uint64_t run_ms;             /* there, with what runs twice and the restart */
    uint64_t run_high_ms;        /* the same, if nine in ten of such runs are no longer */
    int64_t begin_ms;            /* its processes start there */
    helio_plan_t here;
    helio_plan_t there; /* money, carbon, risk, cost and energy are those of the rest; MOVE is all else */
    helio_plan_t run; /* all that is used there, with what runs twice and the restart; of `there` the score */
    int64_t saves_micro_usd; /* of the score */
    int64_t saves_money_micro_usd;
    int64_t saves_mg;
    int64_t needs_micro_usd; /* it must save so much */
} helio_migration_t;

helio_migration_t helio_migration_weigh(const helio_migration_job_t *job, const helio_migration_target_t *here,
                                        const helio_migration_target_t *there);
/*  It saves what it must, and no bound of the job forbids it. */
bool helio_migration_is_worthwhile(const helio_migration_t *migration);
/*  Thousandths of what the rest costs here; bounded, and 0 where that costs nothing. */
int64_t helio_migration_saves_per_mille(const helio_migration_t *migration);
uint32_t helio_migration_needs_per_mille(uint32_t times);

/*  So long it stays yet, whatever may be gained: since it was moved, or since its place was taken (protection_ms).
 */
uint64_t helio_migration_residence_ms(uint32_t times, uint64_t ran_ms, uint64_t protection_ms);
/*  Work that runs twice: since its last checkpoint at the latest. One that is signalled saves then. */
uint64_t helio_migration_lost_ms(uint64_t ran_ms, uint64_t every_ms, bool signalled);

#endif
