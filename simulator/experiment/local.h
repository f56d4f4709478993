/*  local.h -- the jobs of a site's own users: they are submitted to the site, wait in its own queue, and take nodes that
 *  the federation then lacks. The broker is told of them only as a site tells it: less is free. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_LOCAL_H
#define HELIO_SIMULATOR_EXPERIMENT_LOCAL_H

#include "simulator/experiment/fleet.h"

typedef struct exp_local_job {
    int64_t submit_ms, duration_ms;
    uint32_t site, pool;
    uint32_t nodes, gpus_per_node;
} exp_local_job_t;

/*  In the order of their submission. */
typedef struct exp_local_trace {
    exp_local_job_t *jobs;
    uint32_t count;
} exp_local_trace_t;

/*  Reads site, submit_unix, duration_s, gpus and, optionally, pool and nodes. */
HELIO_MUST_CHECK helio_rc exp_local_load(const char *path, const exp_fleet_t *fleet, exp_local_trace_t *ret_trace,
                                         helio_error_t *err);
void exp_local_free(exp_local_trace_t *self);

/*  The queue of one pool: first come, first served; the first job waits for all that it needs. */
typedef struct exp_local_queue {
    uint32_t *numbers; /* of the trace */
    uint32_t first, count, capacity;
} exp_local_queue_t;

void exp_local_put(exp_local_queue_t *self, uint32_t number);
/*  The first of the queue, which must have one. */
uint32_t exp_local_first(const exp_local_queue_t *self);
void exp_local_drop_first(exp_local_queue_t *self);
void exp_local_queue_clear(exp_local_queue_t *self);

#endif
