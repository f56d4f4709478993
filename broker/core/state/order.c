/*  order.c -- in which order classes are asked in a round.
 *
 *  A line for each tenant and queue, in which classes stand by the priority that their jobs were given, then by age:
 * what else the order depends on is the same for all of them, and moves with every placement. So a round looks at the
 * lines before each turn, never at jobs, and a class keeps its turn until its tenant has got more than the next one:
 * two tenants that ask for everything at once get the same, job by job.
 *
 *  Where a queue's priority differs by region, its lines go over their classes once for each level, from the highest
 * down. A class is placed in a turn only where its queue has that level or more.
 */
#include "broker/core/state/order.h"

#include <stdlib.h>

#include "broker/core/state/core.h"
#include "broker/core/state/queues.h"

bool core_is_below_guarantee(const job_class_t *class)
{
    const account_t *account = class->account;
    return helio_quota_is_below_guarantee(&account->holds) || helio_quota_is_below_guarantee(&account->tenant->holds);
}

static int compare(const job_class_t *a, uint32_t priority_level_a, const job_class_t *b, uint32_t priority_level_b)
{
    if (a->queue->tier != b->queue->tier)
        return a->queue->tier > b->queue->tier ? -1 : 1;
    if (priority_level_a != priority_level_b)
        return priority_level_a > priority_level_b ? -1 : 1;
    if (a->account == b->account)
        return 0;
    bool below_a = core_is_below_guarantee(a), below_b = core_is_below_guarantee(b);
    if (below_a != below_b)
        return below_a ? -1 : 1;
#ifdef HELIO_MUTANT_shares_ignored
    return 0;
#endif
    const tenant_t *of_a = a->account->tenant, *of_b = b->account->tenant;
    if (of_a == of_b)
        return 0;
    uint64_t rank_a = helio_share_rank(&of_a->share, of_a->holds.quota.weight_milli),
             rank_b = helio_share_rank(&of_b->share, of_b->holds.quota.weight_milli);
    return (rank_a > rank_b) - (rank_a < rank_b);
}

int core_class_compare_share(const job_class_t *a, const job_class_t *b)
{
    return compare(a, a->priority_level, b, b->priority_level);
}

static int by_age(const job_class_t *a, const job_class_t *b)
{
    int age = helio_uuid_compare(a->waiting->key.job, b->waiting->key.job);
    return age ? age : (a->id > b->id) - (a->id < b->id);
}

/*  A tenant says which of its own jobs of a queue go first; what others have is not its to say. */
static int by_place(const job_class_t *a, const job_class_t *b)
{
    if (a->account == b->account && a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return by_age(a, b);
}

int core_class_compare(const job_class_t *a, const job_class_t *b)
{
    int order = core_class_compare_share(a, b);
    return order ? order : by_place(a, b);
}

int core_class_compare_at(const job_class_t *a, const job_class_t *b, const site_t *site)
{
    helio_text_t region = site->profile.region;
    int order = compare(a, core_queue_priority_at(a->queue, region), b, core_queue_priority_at(b->queue, region));
    return order ? order : by_place(a, b);
}

/*  Which account comes first does not matter: lines are compared by turn. */
static int by_account_and_place(const void *a_, const void *b_)
{
    const job_class_t *a = *(job_class_t *const *)a_, *b = *(job_class_t *const *)b_;
    if (a->account != b->account)
        return (uintptr_t)a->account < (uintptr_t)b->account ? -1 : 1;
    return by_place(a, b);
}

scheduling_order_t core_scheduling_order(helio_broker_core_t *self)
{
    scheduling_order_t scheduling_order = {0};
    uint32_t count = 0;
    job_class_t **classes =
        helio_arena_alloc(self->effects->arena, HASH_COUNT(self->classes), sizeof(job_class_t *));
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->waiting && class->blocked_at != self->capacity_version)
            classes[count++] = class;
    if (!count)
        return scheduling_order;
    qsort(classes, count, sizeof *classes, by_account_and_place);
    scheduling_order.tenant_queues =
        helio_arena_alloc(self->effects->arena, count, sizeof *scheduling_order.tenant_queues);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || classes[i]->account != classes[i - 1]->account) {
            scheduling_order.tenant_queues[scheduling_order.count++] = (tenant_queue_t){.classes = &classes[i]};
            helio_share_advance(&classes[i]->account->tenant->share, self->now_ms);
        }
        classes[i]->priority_level = core_queue_top(classes[i]->queue);
        scheduling_order.tenant_queues[scheduling_order.count - 1].count++;
    }
    return scheduling_order;
}

static job_class_t *head_of(const tenant_queue_t *tenant_queue)
{
    return tenant_queue->classes[tenant_queue->at];
}

job_class_t *core_scheduling_next(scheduling_order_t *scheduling_order, job_class_t **ret_rival)
{
    tenant_queue_t *first = NULL;
    *ret_rival = NULL;
    for (uint32_t i = 0; i < scheduling_order->count; i++) {
        tenant_queue_t *tenant_queue = &scheduling_order->tenant_queues[i];
        if (!first || core_class_compare(head_of(tenant_queue), head_of(first)) < 0) {
            *ret_rival = first ? head_of(first) : NULL;
            first = tenant_queue;
        } else if (!*ret_rival || core_class_compare(head_of(tenant_queue), *ret_rival) < 0) {
            *ret_rival = head_of(tenant_queue);
        }
    }
    scheduling_order->named = first;
    return first ? head_of(first) : NULL;
}

/*  All of a line that want another turn have the same queue, so the same next level. */
static bool restart_at_lower_level(tenant_queue_t *tenant_queue)
{
    uint32_t priority_level;
    if (!tenant_queue->again ||
        !core_queue_below(head_of(tenant_queue)->queue, tenant_queue->classes[0]->priority_level, &priority_level))
        return false;
    tenant_queue->count = tenant_queue->again;
    tenant_queue->at = tenant_queue->again = 0;
    for (uint32_t i = 0; i < tenant_queue->count; i++)
        tenant_queue->classes[i]->priority_level = priority_level;
    return true;
}

void core_scheduling_done(scheduling_order_t *scheduling_order, bool lower)
{
    tenant_queue_t *tenant_queue = scheduling_order->named;
    if (lower)
        tenant_queue->classes[tenant_queue->again++] = head_of(tenant_queue);
    if (tenant_queue->at + 1 < tenant_queue->count)
        tenant_queue->at++;
    else if (!restart_at_lower_level(tenant_queue))
        *tenant_queue = scheduling_order->tenant_queues[--scheduling_order->count];
}
