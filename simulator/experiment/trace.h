/*  trace.h -- the jobs of a trace, in the order of their submission. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_TRACE_H
#define HELIO_SIMULATOR_EXPERIMENT_TRACE_H

#include "federation/model/job.h"
#include "simulator/experiment/fleet.h"

typedef struct exp_job {
    int64_t submit_ms, duration_ms, limit_ms;
    int64_t flexible_ms;
    int64_t deadline_ms;   /* wall clock; 0 = none */
    int64_t checkpoint_ms; /* between two checkpoints; 0 = it makes none */
    uint32_t nodes, gpus_per_node;
    uint32_t home; /* a site of the fleet */
    uint32_t kind;
    uint32_t team_number; /* index into the teams of the trace */
    bool pinned;          /* to its home site */
    uint32_t data_site;   /* where its data is; a site of the fleet */
    uint64_t data_bytes;  /* 0 = none */
    double util;
    helio_text_t model, user, team, queue;
    helio_string_t *sites; /* patterns; NULL = any */
    uint32_t site_count;
} exp_job_t;

/*  What the columns leave out. */
typedef struct exp_trace_defaults {
    int64_t flexible_ms;
    int64_t limit_ms;       /* 0 = the duration itself */
    int64_t checkpoint_ms;  /* 0 = no checkpoints */
    int64_t from_ms, to_ms; /* submissions in [from, to) */
} exp_trace_defaults_t;

typedef struct exp_trace {
    exp_job_t *jobs;
    uint32_t count;
    int64_t from_ms, to_ms; /* of the submissions: as asked for, else the first and the last */
    bool has_limits;        /* of their own, or by the defaults; otherwise each is the duration */
    bool has_utils;         /* otherwise each is 1 */
    helio_text_t *teams;    /* each once */
    uint32_t team_count;
} exp_trace_t;

/*  Texts live in the arena, the jobs until exp_trace_free. */
HELIO_MUST_CHECK helio_rc exp_trace_load(const char *path, const exp_fleet_t *fleet,
                                         const exp_trace_defaults_t *defaults, helio_arena_t *arena,
                                         exp_trace_t *ret_trace, helio_error_t *err);
void exp_trace_free(exp_trace_t *self);
bool exp_trace_has_data(const exp_trace_t *self);
/*  GPUs in use on average between from_ms and to_ms, if every job began when it was submitted. */
double exp_trace_demand(const exp_trace_t *self);

#endif
