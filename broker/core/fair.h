/*  fair.h -- tenants (tenants.c), what they hold, their quotas and shares (fair.c), and whose turn it is (turns.c). */
#ifndef HELIO_BROKER_CORE_FAIR_H
#define HELIO_BROKER_CORE_FAIR_H

#include <uthash.h>

#include "broker/core/budget.h"
#include "broker/core/nouns.h"
#include "federation/policy/fair_share.h"
#include "federation/policy/quota.h"

/*  What a tenant holds in one queue. Made with the first job or quota there. */
typedef struct account {
    struct tenant *tenant;
    struct queue *queue;
    helio_holdings_t holds;
    uint64_t leaving_gpus;  /* of holds: of jobs that were evicted and have not left yet */
    uint64_t expected_gpus[HELIO_TIER_COUNT]; /* of starts that others are evicted for, by their tier */
    helio_uuid_t eldest; /* of its jobs that stand before another; while that one's prospect is looked for */
    bool own; /* the quota was set for this tenant, not for each */
    spending_t spends;
    UT_hash_handle hh; /* of the tenant, by queue */
} account_t;

typedef struct tenant {
    char name[33];
    char home_site[33];
    uint32_t open_jobs;
    helio_holdings_t holds; /* in all queues */
    uint64_t leaving_gpus, expected_gpus[HELIO_TIER_COUNT]; /* the same */
    helio_share_t share;
    spending_t spends; /* in all queues */
    account_t *accounts;
    UT_hash_handle hh;
} tenant_t;

account_t *core_account_get(tenant_t *tenant, queue_t *queue); /* made when new */
void core_accounts_free(tenant_t *tenant);
/*  GPUs that the class may still be given, by the quotas of its tenant and of its queue; less those of other
 *  classes' starts that somebody was evicted for, of its tier or a higher one. */
uint32_t core_quota_left(const job_class_t *class);
/*  Why one that needs so many gets none: "quota of acme: 12 of 12 GPUs in use". */
/*  What an operator would set so that it may hold so many more. */
const char *core_quota_remedy(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);
const char *core_quota_text(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);
/*  The tenant is charged with the job's GPUs from its placement until it leaves the site. */
void core_quota_take(helio_broker_core_t *self, job_t *job);
void core_quota_give(helio_broker_core_t *self, job_t *job);
/*  What each tenant may hold in a queue of its tier, unless an operator has set that. */
void core_quota_of_tier(helio_broker_core_t *self, queue_t *queue);
bool core_is_owed(const job_class_t *class); /* its tenant has less than it is guaranteed, in all or in its queue */
/*  < 0: a goes first. By tier, level of the turn, whose tenant is owed something, shares: 0 = equal so far. */
int core_share_turn(const job_class_t *a, const job_class_t *b);
/*  The same, then by age; both have a job that waits. */
int core_class_turn(const job_class_t *a, const job_class_t *b);
/*  The same, by the levels that both have at one site. */
int core_class_turn_at(const job_class_t *a, const job_class_t *b, const site_t *site);
/*  All classes that wait and may find something, in lines: one an account, each in order of age. In the arena of
 *  the step's effects. Brings the shares of their tenants up to date. */
typedef struct line {
    job_class_t **classes;
    uint32_t count, at;
    uint32_t again; /* of those before at, first in line: they get another turn, at a lower level */
} line_t;
typedef struct turns {
    line_t *lines;
    uint32_t count;
    line_t *named; /* last */
} turns_t;
turns_t core_turns(helio_broker_core_t *self);
/*  Whose turn it is, and who would be next (NULL = nobody), of another account. NULL: nobody is left. */
job_class_t *core_turns_next(turns_t *turns, job_class_t **ret_rival);
/*  The class that was named last is through, or (lower) through at this level and asked again at the next lower one
 *  that its queue has somewhere. Else it is asked again. */
void core_turns_done(turns_t *turns, bool lower);
void core_on_quota(helio_broker_core_t *self, const helio_ev_quota_t *event);
void core_quota_weigh(helio_broker_core_t *self, tenant_t *tenant, uint32_t weight_milli); /* of good bounds */
void core_on_tenant(helio_broker_core_t *self, const helio_ev_tenant_t *event); /* tenants.c */
void core_quota_load(helio_broker_core_t *self, const helio_row_quota_t *row);
void core_usage_load(helio_broker_core_t *self, const helio_row_usage_t *row);
void core_usage_load_live(helio_broker_core_t *self, const job_t *job); /* what it has used until now */

#endif
