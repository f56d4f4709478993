/*  broker_core.h -- the state machine of the federation: one step function, no I/O, no clock, no randomness of its own.
 *
 *  Thread: one owner. The shells (broker/engine, store, gateway, http) turn the world into events and carry out
 *  effects. The same core runs in production, in the what-if simulator and in the fault tests.
 *
 *  Order of life: LOAD_* … LOADED, then everything else. The core never waits and never fails: bad input from outside
 *  is answered (ANSWER, REFUSAL) or counted; a broken promise of a shell is an assert.
 */
#ifndef HELIO_BROKER_CORE_H
#define HELIO_BROKER_CORE_H

#include "broker/core/effects.h"
#include "broker/core/events.h"
#include "broker/core/rows.h"
#include "federation/base/histogram.h"
#include "federation/base/step.h"
#include "federation/policy/choice.h"
#include "federation/policy/quota.h"
#include "federation/policy/victims.h"

typedef struct helio_broker_options {
    uint64_t lease_ms;         /* 15 min; granted to a site at each renewal */
    uint64_t renew_ms;         /* lease / 10 */
    uint64_t summary_ms;       /* 1 s */
    uint64_t silent_after_ms;  /* no word from a site for so long: its jobs are suspect; 60 s */
    uint32_t queued_max;       /* jobs not terminal, over all tenants: more is BUSY (429) */
    uint32_t queued_per_tenant_max;
    uint32_t offers_unanswered_max; /* per site: no more offers until some are accepted or refused */
} helio_broker_options_t;

/*  The defaults, each as written above (bounds: 2,000,000 jobs, 1,000,000 a tenant, 20,000 offers). */
helio_broker_options_t helio_broker_options_default(void);

typedef struct helio_broker_core helio_broker_core_t;

helio_broker_core_t *helio_broker_core_new(helio_broker_options_t options);
void helio_broker_core_destroy(helio_broker_core_t **self_p);
void helio_broker_core_step(helio_broker_core_t *self, const helio_event_t *event, helio_effects_t *effects);

/*  The mark: no open job has a smaller id, and none ever will. Read between steps by the owner, when a batch
 *  is sealed, and committed with that batch; a new leader reads the jobs from the mark on.
 *
 *  Why nothing is lost below it. After a step the core's jobs are exactly those that are open by the rows of
 *  all batches up to the open one: a job enters with its row and leaves with the row that says it is over. So
 *  a job that falls below the mark of batch n is over in batch n or before, and if n is lost its mark is lost
 *  with it. A job that is not stored yet has no id yet: the core gives ids in the order of the rows, each
 *  larger than every one before it, whatever the clock does and whoever led before (LOAD_FEDERATION brings
 *  the largest there is). */
helio_uuid_t helio_broker_core_open_from(const helio_broker_core_t *self);

/*  Figures for /metrics and tests; cheap, read between steps by the owner. */
typedef struct helio_broker_figures {
    uint64_t jobs[HELIO_JOB_STATE_COUNT]; /* not terminal: now; terminal: since start */
    uint64_t classes;
    uint64_t sites_ready;
    uint64_t sites;
    uint64_t placements_total;
    uint64_t refusals_total;
    uint64_t stale_reports_total;   /* of an epoch that is not current */
    uint64_t illegal_reports_total; /* would be a transition that is not listed */
    uint64_t preemptions_total[HELIO_EVICT_WHY_COUNT];
    uint64_t reserve_shortfall_gpu_ms; /* kept by a window of a site, and still held by work that it is not kept for */
    helio_histogram_t wait_ms[HELIO_TIER_COUNT]; /* from submission to the first start; by tier of the queue */
    uint64_t reports_pending; /* at agents, as they said last */
    uint64_t budgets[HELIO_BUDGET_KINDS][HELIO_BUDGET_LEVELS];
    uint64_t open_batch;
} helio_broker_figures_t;
extern const helio_bounds_t helio_broker_wait_bounds; /* ms */
void helio_broker_core_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);

/*  Walks all jobs that are not terminal, for invariant checks. */
typedef struct helio_broker_job_view {
    helio_job_key_t key;
    uint32_t state;
    uint32_t epoch;
    const char *site; /* "" = none */
    int32_t priority; /* what it asks for now, edited or not */
    uint32_t goal;
    int64_t deadline_wall_ms;
    const char *queue;
} helio_broker_job_view_t;
void helio_broker_core_each(const helio_broker_core_t *self,
                            void (*visit)(void *arg, const helio_broker_job_view_t *job), void *arg);

#endif
