/*  migration.h -- whether the rest of a run would be better at another pool: the cost of continuing here, the cost of
 *  continuing there including the migration, and the saving that a migration requires. Pure.
 *
 *  here     money, carbon and risk of the next hours of the rest, hour by hour from now;
 *  there    the same from the time when the job runs again, plus the migration:
 *             the GPUs here while it leaves (its grace; the work of that time is assumed to be lost),
 *             the GPUs there while it restarts, and for the work since its last checkpoint, which runs twice,
 *             the transfer of its data: egress and carbon,
 *             its wait price × GPUs × the time until it runs again.
 *
 *  Only the terms of the objective count (terms.h): where money does not count, no job migrates for it.
 *
 *  The rest is the predicted duration (p50, duration.h) less what all attempts have run so far. A new attempt has the
 *  whole time limit, so deadline and caps are checked against more: p90 less what this attempt has run.
 */
#ifndef HELIO_POLICY_MIGRATION_H
#define HELIO_POLICY_MIGRATION_H

#include "federation/policy/choice.h"

enum {
    /* Saving required of a migration, in thousandths of the cost of the rest here. Day-ahead forecasts of price and
     * intensity are commonly off by about half as much, and what a smaller saving takes, a larger one lacks. */
    HELIO_MIGRATION_SAVES_PER_MILLE = 100,
    /* After the first migration: the second of two thresholds, so that a job does not go back and forth between two
     * sites. */
    HELIO_MIGRATION_SAVES_AGAIN_PER_MILLE = 200,
    /* The same in micro-USD: a saving below three cents does not matter, and every migration can fail. */
    HELIO_MIGRATION_SAVES_LEAST_MICRO_USD = 30000,
    /* Minimum stay after a migration: prices and intensities, on which it was decided, change by the hour. */
    HELIO_MIGRATION_RESIDENCE_MS = 3600000,
    /* Compared are so many hours of the rest, from its next checkpoint on: after them it can migrate again, and forecasts
     * of prices for the hours beyond are often wrong (decisions/0015-moves-by-the-hour.md). */
    HELIO_MIGRATION_LOOK_MS = 3 * HELIO_HOUR_MS,
    /* Per job: four migrations a day in a run of two weeks. A program that does not get further ends its migrations. */
    HELIO_MIGRATION_TIMES_MAX = 56,
    /* From the order until a program computes again: starting processes, from images that are present, and reading a
     * checkpoint. */
    HELIO_MIGRATION_RESTART_MS = 60000,
    /* A checkpoint that is due is counted on so much later: the work began after a restart, and writing takes time. */
    HELIO_MIGRATION_CHECKPOINT_MS = 120000,
    /* Minimum rest of a run, in thousandths of its predicted run time: a run that exceeds its prediction will not end
     * immediately, and its end is unknown. */
    HELIO_MIGRATION_FLOOR_PER_MILLE = 100
};

typedef struct helio_migration_job {
    helio_prices_t prices;
    uint32_t objective; /* helio_objective_t: which terms count */
    int64_t now_ms;
    uint64_t ran_ms;    /* this attempt */
    uint64_t before_ms; /* the attempts before it */
    uint64_t limit_ms;
    uint64_t leave_ms;        /* time to leave: its grace; 0 if it is ended immediately */
    uint64_t every_ms;        /* checkpoint interval; 0 = not declared */
    uint64_t look_ms;         /* of the rest, so much is compared from its next checkpoint on; 0 = all of it */
    bool signalled;           /* it saves when told to leave */
    uint32_t times;           /* migrations so far */
    int64_t deadline_wall_ms; /* 0 = none, as below */
    uint64_t max_cost_micro_usd;
    uint64_t max_carbon_mg_per_kwh;
} helio_migration_job_t;

/*  A pool where the job runs or could run. */
typedef struct helio_migration_target {
    const helio_pool_forecast_t *pool_forecast;
    uint64_t gpus;             /* over all nodes */
    uint64_t run_ms;           /* predicted run time there, p50; the time limit without a prediction */
    uint64_t run_high_ms;      /* p90 */
    uint64_t redo_ppm;         /* of spot capacity: the share of the run that is done again (spot.h) */
    helio_transfer_t transfer; /* of its data; ignored for the current pool */
    bool price_unknown;
} helio_migration_target_t;

typedef struct helio_migration {
    helio_rejection_t rejection; /* DEADLINE, COST_CAP, CARBON_CAP, regardless of the saving */
    uint64_t rest_ms;            /* here */
    uint64_t run_ms;             /* there, with repeated work and the restart */
    uint64_t run_high_ms;        /* the same at p90 */
    int64_t begin_ms;            /* its processes start there */
    helio_plan_t here;
    helio_plan_t there;      /* money, carbon, risk, cost and energy of the rest; `disruption` is everything else */
    helio_plan_t run;        /* all use there, with repeated work and the restart; the score is that of `there` */
    int64_t saves_micro_usd; /* of the score */
    int64_t saves_money_micro_usd;
    int64_t saves_mg;
    int64_t needs_micro_usd; /* required saving */
    uint64_t saved_in_ms; /* until its next checkpoint, if staying until then costs less than doing the work since the
                                last one again; 0 = it does not pay to wait for that */
} helio_migration_t;

/*  What a job's targets are compared with, the same for all of them. */
typedef struct helio_migration_stay {
    helio_migration_target_t here;
    uint64_t rest_ms, high_ms; /* of the run, p50 and p90 */
    uint64_t look_ms;          /* the part of rest_ms that is compared */
    helio_plan_t rest;         /* of look_ms */
    helio_plan_t leaving;      /* the GPUs here while it leaves */
} helio_migration_stay_t;
helio_migration_stay_t helio_migration_stay(const helio_migration_job_t *job, const helio_migration_target_t *here);
helio_migration_t helio_migration_weigh(const helio_migration_job_t *job, const helio_migration_stay_t *stay,
                                        const helio_migration_target_t *there);
/*  The saving is sufficient, and no cap of the job forbids the migration. */
bool helio_migration_is_worthwhile(const helio_migration_t *migration);
/*  The saving in thousandths of the cost of the rest here; bounded, and 0 if that cost is 0. */
int64_t helio_migration_saves_per_mille(const helio_migration_t *migration);
uint32_t helio_migration_needs_per_mille(uint32_t times);

/*  How long the job still has to stay: since its last migration, or since its start (protection_ms). */
uint64_t helio_migration_residence_ms(uint32_t times, uint64_t ran_ms, uint64_t protection_ms);
/*  Work that runs twice: the time since the last checkpoint that is counted on. They follow each other from the beginning
 *  of the attempt. A signalled job saves when it leaves. */
uint64_t helio_migration_lost_ms(uint64_t ran_ms, uint64_t every_ms, bool signalled);

#endif
