/*  accounts.h -- what a tenant holds in one queue: its quota, its share. */
#ifndef HELIO_BROKER_CORE_STATE_ACCOUNTS_H
#define HELIO_BROKER_CORE_STATE_ACCOUNTS_H

#include <uthash.h>

#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"
#include "broker/model/rows_account.h"
#include "broker/model/rows_policy.h"
#include "federation/base/id.h"
#include "federation/base/memory.h"
#include "federation/policy/quota.h"

/*  What a tenant holds in one queue. Made with the first job or quota there. */
typedef struct account {
    struct tenant *tenant;
    struct queue *queue;
    helio_holdings_t holds;
    uint64_t leaving_gpus;  /* of holds: of jobs that were preempted and have not left yet */
    uint64_t expected_gpus[HELIO_TIER_COUNT]; /* of starts that others are preempted for, by their tier */
    helio_uuid_t eldest; /* of its jobs that stand before another; while that one's start estimate is looked for */
    bool own; /* the quota was set for this tenant, not for each */
    spending_t spends;
    UT_hash_handle hh; /* of the tenant, by queue */
} account_t;

account_t *core_account_get(tenant_t *tenant, queue_t *queue); /* made when new */
void core_accounts_free(tenant_t *tenant);
/*  GPUs that the class may still be given, by the quotas of its tenant and of its queue; less those of other
 *  classes' starts that somebody was preempted for, of its tier or a higher one. */
uint32_t core_quota_left(const job_class_t *class);
/*  The tenant is charged with the job's GPUs from its placement until it leaves the site. */
void core_quota_take(helio_broker_core_t *self, job_t *job);
void core_quota_give(helio_broker_core_t *self, job_t *job);
/*  What each tenant may hold in a queue of its tier, unless an operator has set that. */
void core_quota_of_tier(helio_broker_core_t *self, queue_t *queue);
void core_quota_load(helio_broker_core_t *self, const helio_row_quota_t *row);
void core_usage_load(helio_broker_core_t *self, const helio_row_usage_t *row);
void core_usage_load_live(helio_broker_core_t *self, const job_t *job); /* what it has used until now */
/*  With all that their accounts hold. */
void core_tenants_free(helio_broker_core_t *self);
bool core_quota_is_each(helio_text_t tenant); /* "*": each tenant that has no quota of its own in the queue */
/*  Of each such tenant. */
void core_quota_set_each(helio_broker_core_t *self, queue_t *queue, const helio_quota_t *quota);

#endif
