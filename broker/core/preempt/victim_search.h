/*  victim_search.h -- the victim search at one pool. */
#ifndef HELIO_BROKER_CORE_PREEMPT_VICTIM_SEARCH_H
#define HELIO_BROKER_CORE_PREEMPT_VICTIM_SEARCH_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "federation/policy/victim_set.h"

enum { VICTIM_OWNERS_MAX = 256 }; /* tenants and their queues in one search */

/*  A search: the pool, and what the choice of victims needs. */
typedef struct victim_search {
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
    free_nodes_t others; /* free once all preemptions under way there are over */
    bool others_fit;
    bool protected_too;         /* ignores minimum-runtime protection: for a plan */
    int64_t protected_until_ms; /* the first protected job can be preempted then; 0 = none is protected */
    int64_t patient_until_ms;   /* end of its wait for capacity that frees itself; 0 = it does not wait */
} victim_search_t;

/*  The victims at search->option's pool for one more job of the class. count 0: no job can be preempted, or it would
 *  not help. Fills in jobs and victims; the indices in the result's `chosen` refer to them. */
helio_victims_t core_victims_at(victim_search_t *search);
/*  Whether a gang that goes before the class has reserved the pool: it would get the freed capacity. */
bool core_pool_is_claimed(const job_class_t *class, const pool_t *pool);
/*  Whether no offer is sent to the option's pool now: it refused one recently, or too many offers of its site are
 *  unanswered. */
bool core_option_takes_no_offers(const victim_search_t *search, const option_t *option);

#endif
