/*  difference.h -- two runs of one copy: what a change does to each job, and to each tenant's account. */
#ifndef HELIO_SIMULATOR_REHEARSAL_DIFFERENCE_H
#define HELIO_SIMULATOR_REHEARSAL_DIFFERENCE_H

#include "simulator/rehearsal/run.h"

/*  What can become of a job with the change and would not without. NAME, word in tables. The worst first. */
#define REH_EFFECT_TABLE(X)          \
    X(LATE, "misses its deadline")   \
    X(NEVER, "does not start")       \
    X(INTERRUPTED, "is interrupted") \
    X(PREEMPTED, "is preempted")     \
    X(STOPPED, "is stopped")         \
    X(MOVES, "moves")                \
    X(WAITS, "waits longer")         \
    X(ELSEWHERE, "starts elsewhere") \
    X(DEARER, "costs more")          \
    X(SOONER, "waits less")          \
    X(CHEAPER, "costs less")         \
    X(IN_TIME, "keeps its deadline")
typedef enum reh_effect {
#define X(NAME, word) REH_EFFECT_##NAME,
    REH_EFFECT_TABLE(X)
#undef X
        REH_EFFECT_COUNT
} reh_effect_t;

typedef struct reh_changed_job {
    const reh_life_t *before, *after;
    uint32_t effects; /* bit e: reh_effect_t e */
    helio_text_t why; /* it waits when the rehearsal ends; "" = it does not */
} reh_changed_job_t;

/*  What one run books for a tenant. */
typedef struct reh_account {
    uint32_t late; /* jobs that miss their deadline */
    double waited_gpu_h, gpu_h, kwh, carbon_kg, cost_usd;
} reh_account_t;

/*  Of one tenant, or of all. */
typedef struct reh_changed_tenant {
    helio_text_t tenant;
    uint32_t jobs; /* that anything becomes of */
    reh_account_t before, after;
} reh_changed_tenant_t;

typedef struct reh_difference {
    const reh_result_t *before, *after;
    reh_changed_job_t *jobs;                     /* the worst first, then the oldest */
    uint32_t job_count, open_before, open_after; /* open: not over when the rehearsals end */
    reh_changed_tenant_t *tenants;               /* by name; the last one is all of them */
    uint32_t tenant_count;
} reh_difference_t;

void reh_difference_init(reh_difference_t *self, const reh_result_t *before, const reh_result_t *after);
void reh_difference_clear(reh_difference_t *self);

void reh_difference_table(const reh_difference_t *self, helio_buffer_t *out);
void reh_difference_json(const reh_difference_t *self, const reh_change_t *changes, uint32_t count,
                         helio_buffer_t *out);

#endif
