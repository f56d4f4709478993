/*  victim_set.h -- which jobs can preempt which, and which set of victims loses least. Pure.
 *
 *      preempting   takes from best-effort   from standard        from critical
 *      critical     yes                      yes                  never
 *      standard     yes                      reclaim only         never
 *      best-effort  reclaim only             never                never
 *
 *  Reclaim: the start takes its tenant (or the tenant's part of a queue) no further than its guarantee, and the victims
 *  belong to other tenants, which hold more than their guarantee and keep at least their guarantee. Priority within a
 *  tier never preempts. A preempted job can therefore never preempt the job that took its place.
 */
#ifndef HELIO_POLICY_VICTIM_SET_H
#define HELIO_POLICY_VICTIM_SET_H

#include "federation/model/job.h"

/*  Why a job is preempted. The order is that of the metric. */
#define HELIO_PREEMPT_CAUSE_TABLE(X)                                         \
    X(TIER, "tier")               /* for a job of a higher tier */           \
    X(GUARANTEE, "guarantee")     /* for a tenant below its guarantee */     \
    X(WINDOW, "window")           /* for a reservation window of the site */ \
    X(MIGRATION, "migration")     /* it migrates to a better site */         \
    X(REQUEUE, "requeue")         /* people send it back to its queue */     \
    X(CURTAILMENT, "curtailment") /* its site is curtailed */
#define HELIO_PREEMPT_CAUSE_ENUMERATOR(name, word) HELIO_PREEMPT_CAUSE_##name,
HELIO_ENUM_DECLARE(helio_preempt_cause, HELIO_PREEMPT_CAUSE, HELIO_PREEMPT_CAUSE_TABLE)

enum {
    HELIO_PREEMPT_TIMES_MAX = 5, /* a standard job preempted this often for other tenants is not preempted again */
    /* A reasonable job has saved by then. No more counts as lost, so that a job gains nothing by declaring no
     * checkpoints. */
    HELIO_PREEMPT_LOST_MAX_MS = 1800000,
    /* The longest that the last job of a class waits for capacity that becomes free by itself instead of preempting: to
     * reclaim; by tier. */
    HELIO_PREEMPT_PATIENCE_RECLAIM_MS = 60000,
    HELIO_PREEMPT_PATIENCE_TIER_MS = 10000,
    /* Minimum run time before a job can be preempted: other jobs have just waited for its place. */
    HELIO_PREEMPT_PROTECTION_STANDARD_MS = 20000,
    HELIO_PREEMPT_PROTECTION_BEST_EFFORT_MS = 1000,
    HELIO_PREEMPT_GRACE_MS = 30000, /* of a job without `checkpoint.grace`; sites may set another */
    HELIO_PREEMPT_SET_MAX = 128,    /* jobs that are preempted for one */
    HELIO_PREEMPT_CONSIDERED_MAX = 512
};

/*  Whether a job of one tier may preempt a job of the other. reclaims: its start is within the guarantee; the caller
 *  ensures that the victim's tenant is another one and keeps its guarantee. */
bool helio_preempt_allowed(uint32_t preempting_tier, uint32_t victim_tier, bool reclaims);

/*  The job was preempted for other tenants so often that it is immune. Best-effort work never is. Preemptions for
 *  its own tenant's work do not count: otherwise tenants could make their jobs immune by preempting them. */
bool helio_preempt_is_immune(uint32_t tier, uint32_t times);

/*  Run time that is lost if the job is stopped now: at most the time since its last checkpoint, and at most
 *  HELIO_PREEMPT_LOST_MAX_MS, regardless of what the job declares. A job that is signalled (and given grace) saves
 *  then. */
uint64_t helio_preempt_lost_ms(uint64_t ran_ms, uint64_t checkpoint_every_ms, bool signalled, uint64_t grace_ms);

/*  How long to wait for capacity that becomes free by itself after the victims would have left: the time to redo the
 *  lost work on the preempting job's GPUs, within bounds. */
int64_t helio_preempt_patience_ms(uint64_t lost_gpu_ms, uint64_t gpus, bool reclaims);

/*  Minimum run time before a job of this tier can be preempted. */
int64_t helio_preempt_protection_ms(uint32_t tier);

enum { HELIO_VICTIM_OWNERS = 2 };
#define HELIO_VICTIM_NO_OWNER UINT32_MAX

typedef struct helio_victim {
    uint32_t tier;
    uint32_t gpus;        /* on all its nodes */
    uint64_t lost_gpu_ms; /* lost work over all its GPUs */
    uint64_t share;       /* of its tenant: tenants with the highest share give first */
    uint32_t age;         /* ordinal, the oldest has the least: the youngest job gives first */
    bool leaves;          /* already being stopped: costs nothing */
    /* Reclaim: the accounts whose spare GPUs it uses (indices into `spare`); NO_OWNER = none. */
    uint32_t owners[HELIO_VICTIM_OWNERS];
} helio_victim_t;

/*  Would the job fit if these had left? Monotone: more victims never free less capacity. */
typedef bool (*helio_victims_fit_fn)(void *arg, const uint32_t *chosen, uint32_t count);

typedef struct helio_victims {
    uint32_t chosen[HELIO_PREEMPT_SET_MAX]; /* indices */
    uint32_t count;                         /* 0 = no such set exists, or none is needed */
    uint32_t leaving;                       /* of those, already leaving */
    uint32_t worst_tier;                    /* of those that are not */
    uint64_t gpus;
    uint64_t lost_gpu_ms;
} helio_victims_t;

/*  The least set of victims: by the highest tier in it, then GPUs, then lost work. The set is minimal: without any
 *  one victim the job would not fit. Tried are the cheapest first, the smallest first, and each victim alone; not
 *  every subset. Jobs are preempted as a whole. At most HELIO_PREEMPT_CONSIDERED_MAX victims are considered. */
helio_victims_t helio_victims_choose(const helio_victim_t *victims, uint32_t count, const uint64_t *spare,
                                     uint32_t spare_count, helio_victims_fit_fn fits, void *arg);

#endif
