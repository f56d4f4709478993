/*  result.h -- what a policy did with the jobs, by the true series. Decisions never read this. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_RESULT_H
#define HELIO_SIMULATOR_EXPERIMENT_RESULT_H

#include "simulator/experiment/classes.h"
#include "simulator/experiment/detail.h"
#include "simulator/experiment/forecast.h"
#include "simulator/experiment/local.h"
#include "simulator/experiment/reserves.h"
#include "simulator/experiment/series.h"
#include "simulator/experiment/trace.h"

/*  The inputs of an experiment, the same for all policies. */
typedef struct exp_world {
    const exp_fleet_t *fleet;
    const exp_trace_t *trace;
    exp_series_set_t carbon;           /* g/kWh */
    exp_series_set_t price;            /* USD/kWh; NULL = none given */
    exp_series_set_t rent;             /* USD per GPU-hour of rented pools; a pool may have none. NULL = none given */
    exp_forecast_set_t forecast;       /* of the carbon intensity, as issued; NULL = none given */
    exp_forecast_set_t price_forecast; /* of the price, as published; NULL = none given. A region may have none */
    uint64_t seed;
    const exp_reserves_t *reserves;            /* NULL = nothing is reserved */
    const exp_local_trace_t *local;            /* of the sites' own users; NULL = they have none */
    helio_site_loss_t site_loss;               /* of all jobs */
    bool carbon_price_given, wait_price_given; /* of `balanced`; otherwise the goal's own */
    int64_t carbon_price_micro_usd_per_t, wait_price_micro_usd_per_gpu_h;
    bool detailed;                /* the hours of each site are wanted */
    const exp_classes_t *classes; /* NULL = bounds are not wanted */
} exp_world_t;

/*  One run of a job, from its start to its end, on GPUs of one pool. */
typedef struct exp_use {
    uint32_t site, pool;
    uint32_t gpus;         /* on all nodes */
    uint32_t ordered_gpus; /* of them, those of instances that were ordered for what waits */
    uint32_t team;
    uint32_t job; /* of the trace, or of the sites' own users */
    double util;
    int64_t from_ms, to_ms;
} exp_use_t;

/*  The runs of jobs of the federation at one pool. */
typedef struct exp_exposure {
    double run_hours;     /* of jobs, however many GPUs they have */
    uint32_t interrupted; /* runs that an outage ended, or a provider that took a node away */
} exp_exposure_t;

typedef struct exp_advice exp_advice_t;

/*  What instances of providers were paid for, and what their interruptions lost. Ordered: for jobs that waited; first nodes of
 *  a pool are always there, and paid by what jobs use of them. */
typedef struct exp_cloud_sum {
    double hours;             /* of ordered instances, from the order to the end */
    double gpu_hours;         /* the GPUs of them, times that */
    double in_span_gpu_hours; /* within the span of the submissions */
    double used_gpu_hours;    /* by jobs */
    double usd, used_usd;     /* rent of both */
    uint32_t taken;           /* nodes that providers took away */
    uint32_t interruptions;   /* runs that ended so */
    double lost_gpu_hours;    /* work of them that is done again */
} exp_cloud_sum_t;

/*  bound.h says of what. usd is NAN where money means nothing. */
typedef struct exp_bound {
    double grams, usd;
} exp_bound_t;

typedef struct exp_result {
    const char *policy;
    uint32_t jobs, finished;
    uint32_t refused;  /* at submission: no site can ever run them */
    char refusal[256]; /* why the first one was */
    uint32_t deadline_misses;
    uint64_t moves, placements;
    double kwh, grams, usd;
    double gpu_hours_in_span; /* allocated within the span of the submissions */
    double idle_kwh;
    exp_cloud_sum_t cloud;
    double served_gpu_hours; /* that inference has of what is reserved, within that span */
    double short_gpu_hours;  /* reserved, but held by jobs that may not */
    int64_t *waits_ms;       /* of the finished jobs; sorted by exp_result_print */
    double wait_sum_s, jct_sum_s, slowdown_sum, slowdown_most;
    double wait_gpu_s;      /* the GPUs of the finished jobs, times their waits */
    uint32_t local_started; /* jobs of the sites' own users */
    double local_wait_sum_s;
    double capacity_ratio; /* NAN = not looked for */
    exp_demand_t demand;   /* what ran when, if bounds are wanted */
    exp_bound_t least, same_hours;
    int64_t bound_until_ms; /* 0 = they were not looked for */
    exp_detail_t detail;
    exp_exposure_t *exposures;  /* by site and pool, as exp_fleet_pool_number */
    const exp_advice_t *advice; /* NULL = it is not wanted; the caller's */
    double wall_s;
} exp_result_t;

void exp_result_init(exp_result_t *self, const exp_world_t *world, const char *policy);
void exp_result_clear(exp_result_t *self);
void exp_result_add_use(exp_result_t *self, const exp_world_t *world, const exp_use_t *use);
/*  The run is over because its site is gone, or a node of it. */
void exp_result_add_interruption(exp_result_t *self, const exp_world_t *world, uint32_t site, uint32_t pool);
/*  Ordered, and ended. */
void exp_result_add_instance(exp_result_t *self, const exp_world_t *world, uint32_t site, uint32_t pool,
                             int64_t from_ms, int64_t to_ms);
/*  A run that ended since the provider took a node away, and so much of its work is done again. */
void exp_result_add_taken(exp_result_t *self, uint32_t gpus, int64_t lost_ms);
/*  Data that was brought to a site. */
void exp_result_add_egress(exp_result_t *self, int64_t micro_usd);
/*  A job of a site's own users: its energy is not the federation's, but its GPUs are not idle. */
void exp_result_add_local(exp_result_t *self, const exp_world_t *world, const exp_use_t *use);
/*  What is reserved of a pool from one time to another: inference had so many GPUs, and lacked others. */
void exp_result_add_reserve(exp_result_t *self, const exp_world_t *world, uint32_t site, uint32_t pool, uint32_t served,
                            uint32_t shortfall, int64_t from_ms, int64_t to_ms);
void exp_result_add_end(exp_result_t *self, const exp_job_t *job, int64_t started_ms, int64_t ended_ms);
/*  The wait that `share` of the finished jobs do not exceed; 0 without jobs. After exp_result_close. */
double exp_result_wait_s(const exp_result_t *self, double share);
/*  With what inference has of it. */
double exp_result_utilization_with_inference(const exp_result_t *self, const exp_world_t *world);
double exp_result_utilization(const exp_result_t *self, const exp_world_t *world);
/*  Money has no meaning if neither electricity nor a GPU has a price. */
bool exp_world_has_cost(const exp_world_t *world);
/*  The series of a rented pool's rent; NULL: it has none. */
const exp_series_t *exp_world_rent(const exp_world_t *world, uint32_t site, uint32_t pool);
/*  After the last end: what depends on all of them. */
void exp_result_close(exp_result_t *self, const exp_world_t *world);

void exp_results_json(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);
void exp_results_table(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);

#endif
