/*  accounts.c -- what tenants hold, can hold and have held: quotas and shares.
 *
 *  A job's GPUs are charged in the step that places it and given back in the step in which it leaves its site. So no
 *  batch of rows exceeds a limit: what it commits was allowed by what was committed before it. A suspect job stays
 *  charged, because it can still be running. */
#include "broker/core/state/accounts.h"

#include <stdlib.h>

#include "broker/core/state/budget_limits.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/queues.h"

account_t *core_account_get(tenant_t *tenant, queue_t *queue)
{
    account_t *account;
    HASH_FIND_PTR(tenant->accounts, &queue, account);
    if (account)
        return account;
    account = helio_new(1, sizeof *account);
    account->tenant = tenant;
    account->queue = queue;
    account->holds.quota = queue->each;
    core_budget_each(queue, &account->spends);
    HASH_ADD_PTR(tenant->accounts, queue, account);
    return account;
}

void core_accounts_free(tenant_t *tenant)
{
    account_t *account, *next;
    HASH_ITER(hh, tenant->accounts, account, next)
    {
        HASH_DEL(tenant->accounts, account);
        free(account);
    }
}

static uint32_t left_of(const job_class_t *class, const helio_holdings_t *holds,
                        const uint64_t expected_gpus[HELIO_TIER_COUNT], uint64_t claimed)
{
    uint32_t left = helio_quota_left(holds);
    if (left == HELIO_QUOTA_UNLIMITED)
        return left;
    uint64_t spoken_for = 0;
    for (uint32_t tier = class->queue->tier; tier < HELIO_TIER_COUNT; tier++)
        spoken_for += expected_gpus[tier];
    spoken_for = spoken_for > class->expected_gpus ? spoken_for - class->expected_gpus : 0;
    spoken_for += claimed;
    return left > spoken_for ? left - (uint32_t)spoken_for : 0;
}

static uint32_t left_beside(const job_class_t *class, uint64_t claimed_of_tenant, uint64_t claimed)
{
#ifdef HELIO_MUTANT_quota_ignored
    return HELIO_QUOTA_UNLIMITED;
#endif
    const account_t *account = class->account;
    uint32_t all = left_of(class, &account->tenant->holds, account->tenant->expected_gpus, claimed_of_tenant),
             queue = left_of(class, &account->holds, account->expected_gpus, claimed);
    return all < queue ? all : queue;
}

uint32_t core_quota_left(const job_class_t *class)
{
    return left_beside(class, 0, 0);
}

uint32_t core_quota_left_unclaimed(const job_class_t *class)
{
    return left_beside(class, class->account->tenant->claims.gpus, class->account->claims.gpus);
}

static bool is_limited(const account_t *account)
{
    return account->holds.quota.burst_gpus != HELIO_QUOTA_UNLIMITED ||
           account->tenant->holds.quota.burst_gpus != HELIO_QUOTA_UNLIMITED;
}

void core_quota_take(helio_broker_core_t *self, job_t *job)
{
    const job_class_t *class = job->submission->class;
    account_t *account = class->account;
    job->last->gpus = job->gpus_per_node * class->want.nodes;
    job->last->weight_milli = helio_gpu_weight_milli(job->pool ? job->pool->info.gpu : (helio_text_t){0});
    helio_quota_take(&account->holds, job->last->gpus);
    helio_quota_take(&account->tenant->holds, job->last->gpus);
    helio_share_take(&account->tenant->share, self->now_ms, job->last->gpus, job->last->weight_milli);
}

void core_quota_give(helio_broker_core_t *self, job_t *job)
{
    account_t *account = job->submission->class->account;
    helio_quota_give(&account->holds, job->last->gpus);
    helio_quota_give(&account->tenant->holds, job->last->gpus);
    helio_share_give(&account->tenant->share, self->now_ms, job->last->gpus, job->last->weight_milli);
    if (job->last->gpus && is_limited(account)) { /* classes that wait for the quota are asked again */
        core_capacity_changed(self);
    }
    job->last->gpus = 0;
}

/* ---- setting quotas ---------------------------------------------------------------------------------------- */

/*  Tenant "*": each tenant without a quota of its own in the queue. */
bool core_quota_is_each(helio_text_t tenant)
{
    return helio_text_is(tenant, "*");
}

void core_quota_set_each(helio_broker_core_t *self, queue_t *queue, const helio_quota_t *quota)
{
    queue->each = *quota;
    for (tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        for (account_t *account = tenant->accounts; account; account = account->hh.next)
            if (account->queue == queue && !account->own)
                account->holds.quota = *quota;
}

void core_quota_of_tier(helio_broker_core_t *self, queue_t *queue)
{
    helio_quota_t quota = helio_quota_default_in(queue->tier == HELIO_TIER_CRITICAL);
    if (!queue->each_given)
        core_quota_set_each(self, queue, &quota);
}

/* ---- a new leader ------------------------------------------------------------------------------------------ */

/*  A row of a removed tenant or queue is ignored. */
void core_quota_load(helio_broker_core_t *self, const helio_row_quota_t *row)
{
    tenant_t *tenant;
    queue_t *queue = row->queue.size ? core_queue_find(self, row->queue) : NULL;
    helio_quota_t quota = {row->guaranteed_gpus, row->burst_gpus, row->weight_milli};
    HASH_FIND(hh, self->tenants, row->tenant.data, row->tenant.size, tenant);
    if (queue && core_quota_is_each(row->tenant)) {
        queue->each_given = true;
        core_quota_set_each(self, queue, &quota);
    }
    if (!tenant || (row->queue.size && !queue))
        return;
    if (queue) {
        account_t *account = core_account_get(tenant, queue);
        account->holds.quota = quota;
        account->own = true;
    } else {
        tenant->holds.quota = quota;
    }
}

void core_usage_load(helio_broker_core_t *self, const helio_row_usage_t *row)
{
    tenant_t *tenant;
    HASH_FIND(hh, self->tenants, row->tenant.data, row->tenant.size, tenant);
    if (!tenant)
        return;
    helio_share_advance(&tenant->share, self->now_ms);
    helio_share_recall(&tenant->share, row->gpu_ms, helio_gpu_weight_milli(row->gpu_model),
                       self->wall_ms - row->hour_ms - HELIO_HOUR_MS / 2);
}

/*  A running job is not in the ledger yet. The middle of its run stands for all of it. */
void core_usage_load_live(helio_broker_core_t *self, const job_t *job)
{
    int64_t ran_ms = job->started_ms && job->state >= HELIO_JOB_RUNNING ? self->wall_ms - job->started_ms : 0;
    ran_ms = ran_ms < 0 ? 0 : ran_ms < HELIO_SHARE_MEMORY_MS ? ran_ms : HELIO_SHARE_MEMORY_MS;
    helio_share_recall(&job->submission->tenant->share, (uint64_t)ran_ms * job->last->gpus, job->last->weight_milli,
                       ran_ms / 2);
}

void core_tenants_free(helio_broker_core_t *self)
{
    tenant_t *tenant, *next;
    HASH_ITER(hh, self->tenants, tenant, next)
    {
        HASH_DEL(self->tenants, tenant);
        core_accounts_free(tenant);
        free(tenant);
    }
}
