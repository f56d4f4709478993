/*  victims.h -- the victim search at one pool. */
#ifndef HELIO_BROKER_CORE_PREEMPT_VICTIMS_H
#define HELIO_BROKER_CORE_PREEMPT_VICTIMS_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "federation/policy/victims.h"

/*  A job that may be preempted: of a pool, in one round. */
typedef struct preemptible {
    job_t *job;
    int64_t protected_until_ms; /* wall clock */
    uint64_t lost_gpu_ms;
} preemptible_t;

enum { VICTIM_OWNERS_MAX = 256 }; /* tenants and their queues that are reclaimed from at once */

/*  A pool, and what the choice among those there is made of. */
typedef struct search {
    helio_broker_core_t *core;
    job_class_t *class;
    const option_t *option;
    bool reclaims;
    helio_victim_t victims[HELIO_PREEMPT_CONSIDERED_MAX];
    job_t *jobs[HELIO_PREEMPT_CONSIDERED_MAX];
    uint32_t count;
    uint64_t spare[VICTIM_OWNERS_MAX];
    const void *owners[VICTIM_OWNERS_MAX]; /* tenants and accounts */
    uint32_t owner_count;
    free_nodes_t others; /* free, once all preemptions under way there are over */
    bool others_fit;
    bool protected_too;         /* as if those were old enough: of a plan */
    int64_t protected_until_ms; /* the first that may be preempted later; 0 = none */
    int64_t patient_until_ms; /* it waits for room that comes by itself, so long at most; 0 = it does not */
} victim_search_t;

/*  Who would leave hunt->option's pool for one more of the class; count 0 = nobody may, or it would not help. Fills in
 *  jobs and victims, which the set's choice are places in. */
helio_victims_t core_victims_at(victim_search_t *search);
/*  A gang that goes before it has the pool: what came back would be that one's. */
bool core_pool_is_claimed(const job_class_t *class, const pool_t *pool);
/*  It would not be offered anything. */
bool core_victims_suspended(const victim_search_t *search, const option_t *option);

#endif
