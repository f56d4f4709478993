/*  result.h -- what a policy did with the jobs, by the true series. Decisions never read this. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_RESULT_H
#define HELIO_SIMULATOR_EXPERIMENT_RESULT_H

#include "simulator/experiment/forecast.h"
#include "simulator/experiment/series.h"
#include "simulator/experiment/trace.h"

/*  The inputs of an experiment, the same for all policies. */
typedef struct exp_world {
    const exp_fleet_t *fleet;
    const exp_trace_t *trace;
    exp_series_set_t carbon;     /* g/kWh */
    exp_series_set_t price;      /* USD/kWh; NULL = none given */
    exp_forecast_set_t forecast; /* of the carbon intensity, as issued; NULL = none given */
    uint64_t seed;
} exp_world_t;

/*  One run of a job, from its start to its end, on GPUs of one pool. */
typedef struct exp_use {
    uint32_t site, pool;
    uint32_t gpus; /* on all nodes */
    double util;
    int64_t from_ms, to_ms;
} exp_use_t;

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
    int64_t *waits_ms; /* of the finished jobs; sorted by exp_result_print */
    double wait_sum_s, jct_sum_s, slowdown_sum;
    double wall_s;
} exp_result_t;

void exp_result_init(exp_result_t *self, const exp_world_t *world, const char *policy);
void exp_result_clear(exp_result_t *self);
void exp_result_add_use(exp_result_t *self, const exp_world_t *world, const exp_use_t *use);
void exp_result_add_end(exp_result_t *self, const exp_job_t *job, int64_t started_ms, int64_t ended_ms);
/*  After the last end: what depends on all of them. */
void exp_result_close(exp_result_t *self, const exp_world_t *world);

void exp_results_json(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);
void exp_results_table(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);

#endif
