/*  accounts.h -- accounts: what a tenant holds in one queue, its quota and its share. */
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

/*  What a tenant holds in one queue. Created with the first job or quota there. */
struct account {
    struct tenant *tenant;
    struct queue *queue;
    helio_holdings_t holds;
    uint64_t leaving_gpus;                    /* part of holds: of preempted jobs that have not left yet */
    uint64_t expected_gpus[HELIO_TIER_COUNT]; /* of starts for which other jobs are being preempted, by their tier */
    helio_uuid_t eldest;         /* scratch of core_scheduling_sort: the eldest head of its waiting classes */
    helio_holdings_t holds_then; /* scratch of requests/queue_order.c */
    struct contender *contender; /* likewise */
    claims_t claims;             /* scratch of holds/wanted_nodes.c: of waiting jobs that want new nodes */
    bool own;                    /* the quota was set for this tenant, not for each tenant */
    spending_t spends;
    line_t *lines;                      /* of its classes that wait for nothing but room */
    uint32_t most_gpus;                 /* the most that a need of these lines takes at least */
    account_t *lined_prev, *lined_next; /* of the core, while it has lines */
    UT_hash_handle hh;                  /* in the tenant, by queue */
};

account_t *core_account_get(tenant_t *tenant, queue_t *queue); /* created when new */
void core_accounts_free(tenant_t *tenant);
/*  GPUs that the class can still get by the quotas of its tenant and its account. Expected starts of other classes of
 *  its tier or a higher one, for which jobs are being preempted, are subtracted. */
uint32_t core_quota_left(const job_class_t *class);
/*  The same, less the claims on both. */
uint32_t core_quota_left_unclaimed(const job_class_t *class);
/*  The tenant is charged with the job's GPUs from its placement until it leaves the site. */
void core_quota_take(helio_broker_core_t *self, job_t *job);
void core_quota_give(helio_broker_core_t *self, job_t *job);
/*  Sets what each tenant can hold in a queue of its tier, unless an operator has set that. */
void core_quota_of_tier(helio_broker_core_t *self, queue_t *queue);
void core_quota_load(helio_broker_core_t *self, const helio_row_quota_t *row);
void core_usage_load(helio_broker_core_t *self, const helio_row_usage_t *row);
void core_usage_load_live(helio_broker_core_t *self, const job_t *job); /* what it has used until now */
/*  Frees the tenants with their accounts. */
void core_tenants_free(helio_broker_core_t *self);
bool core_quota_is_each(helio_text_t tenant); /* "*": each tenant without a quota of its own in the queue */
/*  Sets the quota of each such tenant. */
void core_quota_set_each(helio_broker_core_t *self, queue_t *queue, const helio_quota_t *quota);

#endif
