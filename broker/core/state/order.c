/*  order.c -- the order in which a round asks classes.
 *
 *  Each tenant and queue has a tenant queue, ordered by the priority that jobs were given, then by age. Everything else
 *  that the order depends on is the same for all its classes, and changes with every placement. So a round compares the
 *  heads of the tenant queues before each choice, and never walks jobs. A class stays first until its tenant has got
 *  more than the next one: two tenants that ask for everything at once get the same, job by job.
 *
 *  Classes that only room can help stand in lines (lines.h). Each line that has room is one more tenant queue, until its
 *  room is used up. So classes that nothing can help take no part in the order.
 *
 *  Where a queue's priority differs by region, its tenant queues go over their classes once for each priority level,
 *  from the highest down. At a level, a class is placed only where its queue has that priority or more. */
#include "broker/core/state/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/lines.h"
#include "broker/core/state/needs.h"
#include "broker/core/state/queues.h"

bool core_is_below_guarantee(const job_class_t *class)
{
    const account_t *account = class->account;
    return helio_quota_is_below_guarantee(&account->holds) || helio_quota_is_below_guarantee(&account->tenant->holds);
}

bool core_class_wants_room(const job_class_t *class)
{
    return class->waiting && (class->reason == HELIO_REASON_WAITING_FOR_CAPACITY ||
                              class->reason == HELIO_REASON_NONE || class->reason == HELIO_REASON_QUEUED);
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

int core_class_compare(const job_class_t *a, const job_class_t *b)
{
    int order = core_class_compare_share(a, b);
    return order ? order : core_class_by_place(a, b);
}

int core_class_compare_at(const job_class_t *a, const job_class_t *b, const site_t *site)
{
    helio_text_t region = site->profile.region;
    int order = compare(a, core_queue_priority_at(a->queue, region), b, core_queue_priority_at(b->queue, region));
    return order ? order : core_class_by_place(a, b);
}

/*  The scheduling order as it is, without the effect of placements. Of two accounts with equal shares, the one with the
 *  eldest job is first. The priority of jobs orders the jobs of one account only, so using it here would give no total
 *  order. */
static int by_order(const void *a_, const void *b_)
{
    const job_class_t *a = *(const job_class_t *const *)a_, *b = *(const job_class_t *const *)b_;
    int order = core_class_compare_share(a, b);
    if (!order && a->account != b->account)
        order = helio_uuid_compare(a->account->eldest, b->account->eldest);
    return order ? order : core_class_compare(a, b);
}

void core_scheduling_sort(const job_class_t **classes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        memset(&classes[i]->account->eldest, 0xff, sizeof classes[i]->account->eldest);
    for (uint32_t i = 0; i < count; i++) {
        helio_uuid_t *eldest = &classes[i]->account->eldest;
        if (helio_uuid_compare(classes[i]->waiting->key.job, *eldest) < 0)
            *eldest = classes[i]->waiting->key.job;
    }
    if (count)
        qsort(classes, count, sizeof *classes, by_order);
}

/*  The order of accounts does not matter here: their heads are compared later. */
static int by_account_and_place(const void *a_, const void *b_)
{
    const job_class_t *a = *(job_class_t *const *)a_, *b = *(job_class_t *const *)b_;
    if (a->account != b->account)
        return (uintptr_t)a->account < (uintptr_t)b->account ? -1 : 1;
    return core_class_by_place(a, b);
}

/*  Of the classes that each round judges: one queue for each account. */
static void add_judged(helio_broker_core_t *self, scheduling_order_t *scheduling_order, job_class_t **classes,
                       uint32_t count)
{
    if (count)
        qsort(classes, count, sizeof *classes, by_account_and_place);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || classes[i]->account != classes[i - 1]->account) {
            scheduling_order->tenant_queues[scheduling_order->count++] = (tenant_queue_t){.classes = &classes[i]};
            helio_share_advance(&classes[i]->account->tenant->share, self->now_ms);
        }
        classes[i]->priority_level = core_queue_top(classes[i]->queue);
        scheduling_order->tenant_queues[scheduling_order->count - 1].count++;
    }
}

static void add_lines(helio_broker_core_t *self, scheduling_order_t *scheduling_order, const need_t *need)
{
    for (line_t *line = need->lines; line; line = line->hh.next) {
        scheduling_order->tenant_queues[scheduling_order->count++] = (tenant_queue_t){.line = line};
        helio_share_advance(&line->account->tenant->share, self->now_ms);
    }
}

scheduling_order_t core_scheduling_order(helio_broker_core_t *self)
{
    scheduling_order_t scheduling_order = {0};
    uint32_t judged = 0, lines = 0, count = 0;
    job_class_t *class;
    DL_FOREACH(self->judged, class)
    {
        judged += class->blocked_at != self->capacity_version;
    }
    for (need_t *need = self->needs; need; need = need->hh.next)
        lines += core_need_has_room(self, need) ? HASH_COUNT(need->lines) : 0;
    if (!judged && !lines)
        return scheduling_order;
    job_class_t **classes = helio_arena_alloc(self->effects->arena, judged, sizeof *classes);
    scheduling_order.tenant_queues =
        helio_arena_alloc(self->effects->arena, judged + lines, sizeof *scheduling_order.tenant_queues);
    DL_FOREACH(self->judged, class)
    {
        if (class->blocked_at != self->capacity_version)
            classes[count++] = class;
    }
    add_judged(self, &scheduling_order, classes, count);
    for (need_t *need = self->needs; need; need = need->hh.next)
        if (core_need_has_room(self, need))
            add_lines(self, &scheduling_order, need);
    return scheduling_order;
}

/*  NULL: nothing of it can be placed any more. */
static job_class_t *head_of(helio_broker_core_t *self, const tenant_queue_t *tenant_queue)
{
    if (!tenant_queue->line)
        return tenant_queue->classes[tenant_queue->at];
    job_class_t *head = core_need_has_room(self, tenant_queue->line->need) ? core_line_first(tenant_queue->line) : NULL;
    if (head)
        head->priority_level = core_queue_top(head->queue);
    return head;
}

job_class_t *core_scheduling_next(helio_broker_core_t *self, scheduling_order_t *scheduling_order,
                                  job_class_t **ret_rival)
{
    tenant_queue_t *first = NULL;
    *ret_rival = NULL;
    for (uint32_t i = 0; i < scheduling_order->count;) {
        tenant_queue_t *tenant_queue = &scheduling_order->tenant_queues[i];
        tenant_queue->head = head_of(self, tenant_queue);
        if (!tenant_queue->head) {
            *tenant_queue = scheduling_order->tenant_queues[--scheduling_order->count];
            continue;
        }
        if (!first || core_class_compare(tenant_queue->head, first->head) < 0)
            first = tenant_queue;
        i++;
    }
    for (uint32_t i = 0; i < scheduling_order->count; i++) {
        job_class_t *head = scheduling_order->tenant_queues[i].head;
        if (head->account != first->head->account && (!*ret_rival || core_class_compare(head, *ret_rival) < 0))
            *ret_rival = head;
    }
    scheduling_order->named = first;
    return first ? first->head : NULL;
}

/*  All classes that are asked again have the same queue, so the same next level. */
static bool restart_at_lower_level(tenant_queue_t *tenant_queue)
{
    uint32_t priority_level;
    if (!tenant_queue->again ||
        !core_queue_below(tenant_queue->head->queue, tenant_queue->classes[0]->priority_level, &priority_level))
        return false;
    tenant_queue->count = tenant_queue->again;
    tenant_queue->at = tenant_queue->again = 0;
    for (uint32_t i = 0; i < tenant_queue->count; i++)
        tenant_queue->classes[i]->priority_level = priority_level;
    return true;
}

void core_scheduling_done(helio_broker_core_t *self, scheduling_order_t *scheduling_order, bool lower)
{
    tenant_queue_t *tenant_queue = scheduling_order->named;
    if (tenant_queue->line) { /* the class has left it, unless room for it is used up */
        assert(!tenant_queue->head->line || !core_need_has_room(self, tenant_queue->head->line->need));
        return;
    }
    if (lower)
        tenant_queue->classes[tenant_queue->again++] = tenant_queue->head;
    if (tenant_queue->at + 1 < tenant_queue->count)
        tenant_queue->at++;
    else if (!restart_at_lower_level(tenant_queue))
        *tenant_queue = scheduling_order->tenant_queues[--scheduling_order->count];
}
