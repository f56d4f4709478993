/*  victims.h -- who may preempt whom, and which running jobs are the least loss. Pure.
 *
 *      preemptor      takes from best-effort   from standard        from critical
 *      critical     yes                      yes                  never
 *      standard     yes                      reclaim only         never
 *      best-effort  reclaim only             never                never
 *
 *  Reclaim: the preemptor's start brings its tenant (or the tenant's part of a queue) no further than what it is
 * guaranteed, and the victims are of other tenants, who hold more than they are guaranteed and keep that much.
 * Priority within a tier preempts nobody. So nobody who was preempted can preempt who took his place.
 */
#ifndef HELIO_POLICY_VICTIMS_H
#define HELIO_POLICY_VICTIMS_H

#include "federation/model/job.h"

/*  Why a job is made to leave. The order is the metric's. */
#define HELIO_PREEMPT_CAUSE_TABLE(X)                                                                             \
    X(TIER, "tier")           /* for one of a higher tier */                                                 \
    X(GUARANTEE, "guarantee") /* for a tenant that has less than it is guaranteed */                         \
    X(WINDOW, "window")       /* for a reserve window of the site */                                         \
    X(MIGRATION, "move")           /* it does better elsewhere */
#define HELIO_PREEMPT_CAUSE_ENUMERATOR(name, word) HELIO_PREEMPT_CAUSE_##name,
HELIO_ENUM_DECLARE(helio_preempt_cause, HELIO_PREEMPT_CAUSE, HELIO_PREEMPT_CAUSE_TABLE)

enum {
    HELIO_PREEMPT_TIMES_MAX = 5, /* a standard job that others preempted so often is left alone from then on */
    /* What a reasonable job has saved by then: no more is counted as lost, so that silence protects nobody. */
    HELIO_PREEMPT_LOST_MAX_MS = 1800000,
    /* So long the last of a class waits at most for room that comes by itself, rather than preempt: to reclaim; by
     * tier. */
    HELIO_PREEMPT_PATIENCE_RECLAIM_MS = 60000,
    HELIO_PREEMPT_PATIENCE_TIER_MS = 10000,
    /* So long after its begin a job is left alone: its place was just paid for with somebody's wait. */
    HELIO_PREEMPT_PROTECTION_STANDARD_MS = 20000,
    HELIO_PREEMPT_PROTECTION_BEST_EFFORT_MS = 1000,
    HELIO_PREEMPT_GRACE_MS = 30000, /* of a job that says no `checkpoint.grace`; sites may set another */
    HELIO_PREEMPT_SET_MAX = 128,    /* jobs that are preempted for one */
    HELIO_PREEMPT_CONSIDERED_MAX = 512
};

/*  Whether an preemptor of a tier may take the place of one of the other. reclaims: its start is within what it is
 *  guaranteed; the caller sees to it that the victim's tenant is another one and keeps its own. */
bool helio_preempt_allowed(uint32_t evictor_tier, uint32_t victim_tier, bool reclaims);

/*  Was preempted for others so often that it is left alone. Best-effort work never is. Preemptions for its tenant's own
 *  work are not of those times: else tenants would make their jobs immune by preempting them. */
bool helio_preempt_is_immune(uint32_t tier, uint32_t times);

/*  Run time that counts as gone when the job is stopped now: since its last checkpoint at the latest, and at most
 *  HELIO_PREEMPT_LOST_MAX_MS whatever it tells. One that is signalled (and given grace) saves then. */
uint64_t helio_preempt_lost_ms(uint64_t ran_ms, uint64_t checkpoint_every_ms, bool signalled, uint64_t grace_ms);

/*  Room that comes by itself so soon after the victims would have left is waited for: as long as the work lost would
 *  take on the preemptor's GPUs, within bounds. */
int64_t helio_preempt_patience_ms(uint64_t lost_gpu_ms, uint64_t gpus, bool reclaims);

/*  So long after its begin it is left alone. */
int64_t helio_preempt_protection_ms(uint32_t tier);

enum { HELIO_VICTIM_OWNERS = 2 };
#define HELIO_VICTIM_NO_OWNER UINT32_MAX

typedef struct helio_victim {
    uint32_t tier;
    uint32_t gpus;        /* on all its nodes */
    uint64_t lost_gpu_ms; /* what it ran in vain, on all its GPUs */
    uint64_t share;       /* its tenant's: who has had much gives first */
    uint32_t age;         /* ordinal, the oldest is the least: the youngest gives first */
    bool leaves;          /* is being stopped already: costs nothing */
    /* Reclaimed: whose spare GPUs it is taken out of (indices into `spare`); NO_OWNER = nobody's. */
    uint32_t owners[HELIO_VICTIM_OWNERS];
} helio_victim_t;

/*  Would there be room if these had left? Monotone: more of them never make less room. */
typedef bool (*helio_victims_fit_fn)(void *arg, const uint32_t *chosen, uint32_t count);

typedef struct helio_victims {
    uint32_t chosen[HELIO_PREEMPT_SET_MAX]; /* indices */
    uint32_t count;                       /* 0 = there is no such set, or no need of one */
    uint32_t leaving;                     /* of those, that leave already */
    uint32_t worst_tier;                  /* of those that do not */
    uint64_t gpus;
    uint64_t lost_gpu_ms;
} helio_victims_t;

/*  The set that is least: by the highest tier in it, GPUs, work lost. None of it can be spared, so none of it would
 *  find its place again beside the preemptor. Tried: the cheapest first, the smallest first, and each one alone; not
 *  every subset. Whole jobs. At most HELIO_PREEMPT_CONSIDERED_MAX victims are looked at. */
helio_victims_t helio_victims_choose(const helio_victim_t *victims, uint32_t count, const uint64_t *spare,
                                     uint32_t spare_count, helio_victims_fit_fn fits, void *arg);

#endif
