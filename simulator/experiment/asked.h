/*  asked.h -- what teams asked for and used, and how often runs were interrupted. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_ASKED_H
#define HELIO_SIMULATOR_EXPERIMENT_ASKED_H

#include "simulator/experiment/result.h"

/*  What a team asked for, and what its jobs used. */
typedef struct exp_asked {
    uint32_t team, jobs;
    double gpu_hours_asked; /* the limits */
    double gpu_hours_used;  /* the durations */
    double gpu_hours_busy;  /* times the utilisation */
    double limit_p90;       /* nine of ten jobs end within this share of their limit */
} exp_asked_t;

/*  Of each team, those first that left most GPU-hours unused, of time or of GPUs. For free. */
exp_asked_t *exp_asked_of(const exp_trace_t *trace);
/*  Mean hours between two interruptions of a run at a pool; INFINITY = none was seen. */
double exp_hours_between(const exp_exposure_t *exposure);

#endif
