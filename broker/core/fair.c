/*  fair.c -- what tenants hold, may hold and have had: quotas and shares.
 *
 *  A job's GPUs are charged in the step that places it and given back in the step in which it leaves its site,
 * so no batch of rows can show more than a limit allows: whatever was committed was allowed by what was
 * committed before it. A suspect job is charged: nobody knows that it has stopped.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/core/internal.h"

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
                        const uint64_t expected_gpus[HELIO_TIER_COUNT])
{
    uint32_t left = helio_quota_left(holds);
    if (left == HELIO_QUOTA_UNLIMITED)
        return left;
    uint64_t spoken_for = 0;
    for (uint32_t tier = class->queue->tier; tier < HELIO_TIER_COUNT; tier++)
        spoken_for += expected_gpus[tier];
    spoken_for = spoken_for > class->expected_gpus ? spoken_for - class->expected_gpus : 0;
    return left > spoken_for ? left - (uint32_t)spoken_for : 0;
}

uint32_t core_quota_left(const job_class_t *class)
{
#ifdef HELIO_MUTANT_quota_ignored
    return HELIO_QUOTA_UNLIMITED;
#endif
    const account_t *account = class->account;
    uint32_t all = left_of(class, &account->tenant->holds, account->tenant->expected_gpus),
             queue = left_of(class, &account->holds, account->expected_gpus);
    return all < queue ? all : queue;
}

/*  Which quota leaves the least: of the tenant in the queue, or of the tenant. */
static bool is_of_queue(const account_t *account)
{
    return helio_quota_left(&account->holds) < helio_quota_left(&account->tenant->holds);
}

const char *core_quota_remedy(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
    bool of_queue = is_of_queue(account);
    const helio_holdings_t *holds = of_queue ? &account->holds : &account->tenant->holds;
    return core_printf(self, "a larger quota, by an operator: `helio quota set %s%s%s --burst %llu`",
                       account->tenant->name, of_queue ? " --queue " : "", of_queue ? account->queue->name : "",
                       (unsigned long long)holds->gpus + gpus);
}


const char *core_quota_text(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
    bool of_queue = is_of_queue(account);
    const helio_holdings_t *holds = of_queue ? &account->holds : &account->tenant->holds;
    const char *whose = of_queue
                            ? core_printf(self, "quota of %s in %s", account->tenant->name, account->queue->name)
                            : core_printf(self, "quota of %s", account->tenant->name);
    bool of_tier = of_queue && !account->own && !account->queue->each_given;
    const char *remedy =
        of_tier ? core_printf(self,
                              "; an operator grants more critical work: `helio quota set %s --queue %s --burst N`",
                              account->tenant->name, account->queue->name)
                : "";
    if (gpus > holds->quota.burst_gpus)
        return core_printf(self, "%s: at most %u GPUs at once, it needs %u%s", whose, holds->quota.burst_gpus, gpus,
                           remedy);
    return core_printf(self, "%s: %llu of %u GPUs in use, it needs %u%s", whose, (unsigned long long)holds->gpus,
                       holds->quota.burst_gpus, gpus, remedy);
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
    if (job->last->gpus && is_limited(account)) { /* who waits for the quota looks again */
        self->capacity_version++;
        self->round_wanted = true;
    }
    job->last->gpus = 0;
}

/* ---- setting them ----------------------------------------------------------------------------------------
 */

/*  The reason why not, or NULL. */
static const char *fault_of(helio_broker_core_t *self, const helio_ev_quota_t *event, const helio_quota_t *quota)
{
    if (event->queue.size && event->weight_given)
        return "weight: it is a tenant's, not that of one of its queues";
    if (quota->guaranteed_gpus > HELIO_QUOTA_GPUS_MAX ||
        (quota->burst_gpus > HELIO_QUOTA_GPUS_MAX && quota->burst_gpus != HELIO_QUOTA_UNLIMITED))
        return core_printf(self, "a quota is at most %d GPUs", HELIO_QUOTA_GPUS_MAX);
    if (!quota->weight_milli || quota->weight_milli > HELIO_QUOTA_WEIGHT_MAX)
        return core_printf(self, "weight: must be 0.001 to %d", HELIO_QUOTA_WEIGHT_MAX / 1000);
    if (quota->guaranteed_gpus > quota->burst_gpus)
        return core_printf(self, "guaranteed: %u GPUs are more than the burst limit of %u",
                           quota->guaranteed_gpus, quota->burst_gpus);
    return NULL;
}

static const char *words_of(helio_broker_core_t *self, const helio_quota_t *quota,
                            const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    const char *burst =
        quota->burst_gpus == HELIO_QUOTA_UNLIMITED ? "none" : core_printf(self, "%u", quota->burst_gpus);
    return core_printf(self, "guaranteed %u, burst %s, weight %u.%03u%s", quota->guaranteed_gpus, burst,
                       quota->weight_milli / 1000, quota->weight_milli % 1000, core_budget_words(self, budgets));
}

static void keep(helio_broker_core_t *self, helio_text_t tenant, helio_text_t queue, helio_holdings_t *holds,
                 const helio_quota_t *quota)
{
    holds->quota = *quota;
    self->capacity_version++;
    self->round_wanted = true;
    helio_row_quota_t row = {
        .tenant = tenant,
        .queue = queue,
        .guaranteed_gpus = quota->guaranteed_gpus,
        .burst_gpus = quota->burst_gpus,
        .weight_milli = quota->weight_milli,
        .at_ms = self->wall_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_QUOTA, &row);
}

void core_quota_weigh(helio_broker_core_t *self, tenant_t *tenant, uint32_t weight_milli)
{
    helio_quota_t quota = tenant->holds.quota;
    quota.weight_milli = weight_milli;
    keep(self, helio_text_of(tenant->name), (helio_text_t){0}, &tenant->holds, &quota);
}

static void answer_set(helio_broker_core_t *self, const helio_ev_quota_t *event, const helio_quota_t *quota,
                       const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    const char *object = event->queue.size ? core_printf(self, "%.*s/%.*s", HELIO_TEXT_ARGS(event->tenant),
                                                         HELIO_TEXT_ARGS(event->queue))
                                           : core_printf(self, "%.*s", HELIO_TEXT_ARGS(event->tenant));
    const char *words = words_of(self, quota, budgets);
    core_audit(self, event->user, "quota-set", helio_text_of(object), helio_text_of(words));
    core_answer(self, event->call, HELIO_OK, HELIO_REASON_NONE, "%s", words);
}

static bool gives_quota(const helio_ev_quota_t *event)
{
    return event->guaranteed_given || event->burst_given || event->weight_given;
}

/*  Tenant "*": each that has no quota of its own in the queue. */
static bool is_each(helio_text_t tenant)
{
    return helio_text_is(tenant, "*");
}

static void set_each(helio_broker_core_t *self, queue_t *queue, const helio_quota_t *quota)
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
        set_each(self, queue, &quota);
}

static void on_quota_of_each(helio_broker_core_t *self, const helio_ev_quota_t *event, queue_t *queue)
{
    helio_budget_ask_t asks[HELIO_BUDGETS_GIVEN_MAX];
    uint32_t count = 0;
    if (!queue || event->guaranteed_given || event->weight_given || (!event->burst_given && !event->budgets.count)) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "of each tenant ('*') only the burst limit and budgets in one queue can be set: "
                    "`helio quota set '*' --queue express --burst 16`");
        return;
    }
    helio_holdings_t holds = {0};
    helio_quota_t quota = queue->each;
    if (event->burst_given) {
        quota = helio_quota_default();
        quota.burst_gpus = event->burst_gpus;
    }
    const char *fault = fault_of(self, event, &quota);
    if (fault) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, "%s", fault);
        return;
    }
    if (!core_budget_read(self, event, asks, &count))
        return;
    if (event->burst_given) {
        keep(self, event->tenant, event->queue, &holds, &quota);
        queue->each_given = true;
        set_each(self, queue, &quota);
    }
    if (count)
        core_budget_set(self, event, NULL, queue, asks, count);
    answer_set(self, event, &quota, queue->each_budgets);
}

static void on_quota_of(helio_broker_core_t *self, const helio_ev_quota_t *event, tenant_t *tenant, queue_t *queue)
{
    account_t *account = queue ? core_account_get(tenant, queue) : NULL;
    helio_holdings_t *holds = account ? &account->holds : &tenant->holds;
    helio_budget_ask_t asks[HELIO_BUDGETS_GIVEN_MAX];
    uint32_t count = 0;
    helio_quota_t quota = holds->quota;
    if (event->guaranteed_given)
        quota.guaranteed_gpus = event->guaranteed_gpus;
    if (event->burst_given)
        quota.burst_gpus = event->burst_gpus;
    if (event->weight_given)
        quota.weight_milli = event->weight_milli;
    const char *fault = fault_of(self, event, &quota);
    if (fault) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, "%s", fault);
        return;
    }
    if (!core_budget_read(self, event, asks, &count))
        return;
    if (gives_quota(event) || !count) {
        keep(self, event->tenant, event->queue, holds, &quota);
        if (account)
            account->own = true;
    }
    if (count)
        core_budget_set(self, event, tenant, queue, asks, count);
    answer_set(self, event, &quota, (account ? &account->spends : &tenant->spends)->budgets);
}

void core_on_quota(helio_broker_core_t *self, const helio_ev_quota_t *event)
{
    tenant_t *tenant;
    queue_t *queue = event->queue.size ? core_queue_find(self, event->queue) : NULL;
    bool each = is_each(event->tenant);
    HASH_FIND(hh, self->tenants, event->tenant.data, event->tenant.size, tenant);
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_answer(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                    "setting quotas needs the role operator or admin");
        return;
    }
    if ((!tenant && !each) || (event->queue.size && !queue)) {
        core_answer(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                    tenant || each ? "there is no queue '%.*s'; `helio queues` lists them"
                           : "there is no tenant '%.*s'; `helio tenants set` makes it",
                    HELIO_TEXT_ARGS(tenant || each ? event->queue : event->tenant));
        return;
    }
    if (each) {
        on_quota_of_each(self, event, queue);
        return;
    }
    on_quota_of(self, event, tenant, queue);
}

/* ---- a new leader ----------------------------------------------------------------------------------------
 */

/*  Of a tenant or queue that is gone, nothing. */
void core_quota_load(helio_broker_core_t *self, const helio_row_quota_t *row)
{
    tenant_t *tenant;
    queue_t *queue = row->queue.size ? core_queue_find(self, row->queue) : NULL;
    helio_quota_t quota = {row->guaranteed_gpus, row->burst_gpus, row->weight_milli};
    HASH_FIND(hh, self->tenants, row->tenant.data, row->tenant.size, tenant);
    if (queue && is_each(row->tenant)) {
        queue->each_given = true;
        set_each(self, queue, &quota);
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

/*  What runs is not in the ledger yet. Its middle stands for all of it. */
void core_usage_load_live(helio_broker_core_t *self, const job_t *job)
{
    int64_t memory_ms = (int64_t)HELIO_SHARE_MEMORY_HALF_LIVES * HELIO_SHARE_HALF_LIFE_MS;
    int64_t ran_ms = job->started_ms && job->state >= HELIO_JOB_RUNNING ? self->wall_ms - job->started_ms : 0;
    ran_ms = ran_ms < 0 ? 0 : ran_ms < memory_ms ? ran_ms : memory_ms;
    helio_share_recall(&job->submission->tenant->share, (uint64_t)ran_ms * job->last->gpus, job->last->weight_milli,
                       ran_ms / 2);
}
