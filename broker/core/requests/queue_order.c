/*  queue_order.c -- the scheduling order of the jobs that wait for room, job by job, and what decides it.
 *
 *  A round compares the heads of its tenant queues anew after each placement (state/order.c). So who comes third depends
 *  on what the first two get. Here the same is played on copies: each job is placed when its turn comes, its tenant and
 *  its account hold its GPUs from then on, and the next one is chosen. What pools have free plays no part.
 *
 *  A turn makes its tenant's place only worse: its share grows, and its guarantee is used up. So a contender whose key is
 *  stale can only be too far ahead in the heap, and is put back when it comes up. */
#include "broker/core/requests/queue_order.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/order.h"
#include "broker/core/state/queues.h"
#include "federation/base/heap.h"

/*  A waiting class, and the next of its jobs whose turn has not come. */
typedef struct candidate {
    const job_class_t *class;
    const job_t *next;
    helio_heap_item_t in_account;
} candidate_t;

/*  An account with waiting jobs in a queue of the tier and priority whose turn it is. */
typedef struct contender {
    account_t *account;
    helio_heap_t classes;
    bool below_guarantee; /* these three when it was put into the heap */
    uint64_t rank;
    helio_uuid_t eldest;
    helio_heap_item_t in_group;
} contender_t;

static candidate_t *candidate_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, candidate_t, in_account);
}

static contender_t *contender_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, contender_t, in_group);
}

static bool is_before(helio_heap_item_t *a_, helio_heap_item_t *b_)
{
    const candidate_t *a = candidate_of(a_), *b = candidate_of(b_);
    if (a->class->priority != b->class->priority)
        return a->class->priority > b->class->priority;
    int age = helio_uuid_compare(a->next->key.job, b->next->key.job);
    return age ? age < 0 : a->class->id < b->class->id;
}

/*  What puts `a` before `b`, of one tier and priority; *ret_order < 0: it does. */
static helio_turn_reason_t compare(const contender_t *a, const contender_t *b, int *ret_order)
{
    if (a->below_guarantee != b->below_guarantee) {
        *ret_order = a->below_guarantee ? -1 : 1;
        return HELIO_TURN_REASON_GUARANTEE;
    }
    if (a->account->tenant != b->account->tenant && a->rank != b->rank) {
        *ret_order = a->rank < b->rank ? -1 : 1;
        return HELIO_TURN_REASON_SHARE;
    }
    *ret_order = helio_uuid_compare(a->eldest, b->eldest);
    return HELIO_TURN_REASON_AGE;
}

static bool goes_first(helio_heap_item_t *a, helio_heap_item_t *b)
{
    int order;
    (void)compare(contender_of(a), contender_of(b), &order);
    return order < 0;
}

/*  Reads its key. False: it is the one that it had. */
static bool refresh(contender_t *self)
{
    const account_t *account = self->account;
    const tenant_t *tenant = account->tenant;
    contender_t before = *self;
    self->below_guarantee =
        helio_quota_is_below_guarantee(&account->holds_then) || helio_quota_is_below_guarantee(&tenant->holds_then);
    self->rank = helio_share_rank(&tenant->share_then, tenant->holds.quota.weight_milli);
    self->eldest = candidate_of(helio_heap_first(&self->classes))->next->key.job;
    return before.below_guarantee != self->below_guarantee || before.rank != self->rank ||
           helio_uuid_compare(before.eldest, self->eldest) != 0;
}

/*  NULL: no account is left. */
static contender_t *first_of(helio_heap_t *group)
{
    while (group->count) {
        contender_t *first = contender_of(helio_heap_first(group));
        if (!refresh(first))
            return first;
        helio_heap_reorder(group, &first->in_group);
    }
    return NULL;
}

/* ---- who waits --------------------------------------------------------------------------------------------- */

/*  By tier and priority of the queues; it is 0 within a group. */
static int by_group(const void *a_, const void *b_)
{
    const queue_t *a = ((const candidate_t *)a_)->class->queue, *b = ((const candidate_t *)b_)->class->queue;
    if (a->tier != b->tier)
        return a->tier > b->tier ? -1 : 1;
    uint32_t of_a = core_queue_top(a), of_b = core_queue_top(b);
    return (of_a < of_b) - (of_a > of_b);
}

static candidate_t *candidates_of(helio_broker_core_t *self, helio_queue_order_t *ret_order, uint32_t *ret_count)
{
    uint32_t count = 0;
    for (const job_class_t *class = self->classes; class; class = class->hh.next)
        count += core_class_wants_room(class);
    candidate_t *candidates = helio_arena_alloc(self->effects->arena, count, sizeof *candidates);
    *ret_count = 0;
    for (const job_class_t *class = self->classes; class; class = class->hh.next) {
        if (!core_class_wants_room(class))
            continue;
        tenant_t *tenant = class->account->tenant;
        candidates[(*ret_count)++] = (candidate_t){.class = class, .next = class->waiting};
        tenant->waiting_jobs = 0;
        tenant->holds_then = tenant->holds;
        tenant->share_then = tenant->share;
        helio_share_advance(&tenant->share_then, self->now_ms);
        class->account->holds_then = class->account->holds;
        class->account->contender = NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        candidates[i].class->account->tenant->waiting_jobs += candidates[i].class->waiting_count;
        ret_order->jobs += candidates[i].class->waiting_count;
    }
    if (count)
        qsort(candidates, count, sizeof *candidates, by_group);
    return candidates;
}

static void put_shares(helio_broker_core_t *self, helio_queue_order_t *order)
{
    uint32_t count = 0;
    for (const tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        count += tenant->waiting_jobs > 0;
    order->shares.items = helio_arena_alloc(self->effects->arena, count, sizeof *order->shares.items);
    for (const tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        if (tenant->waiting_jobs && order->shares.count < HELIO_QUEUE_ORDER_SHARES)
            order->shares.items[order->shares.count++] =
                (helio_queue_share_t){.tenant = helio_text_of(tenant->name),
                                      .weight_milli = tenant->holds.quota.weight_milli,
                                      .gpus = tenant->holds.gpus,
                                      .guaranteed_gpus = tenant->holds.quota.guaranteed_gpus,
                                      .used_micro = tenant->share_then.held_micro + tenant->share_then.mean_micro,
                                      .jobs = tenant->waiting_jobs};
}

/* ---- turns ------------------------------------------------------------------------------------------------- */

/*  The account holds the GPUs of the next job of the class from now on, by its first alternative. Returns the job. */
static const job_t *take_turn(helio_broker_core_t *self, contender_t *contender, candidate_t *candidate)
{
    const helio_requirement_t *want = &candidate->class->want;
    const job_t *job = candidate->next;
    account_t *account = contender->account;
    uint32_t gpus = helio_requirement_gpus(want);
    if (gpus) {
        helio_quota_take(&account->holds_then, gpus);
        helio_quota_take(&account->tenant->holds_then, gpus);
        helio_share_take(&account->tenant->share_then, self->now_ms, gpus,
                         helio_gpu_weight_milli(want->gpus.items[0].model));
    }
    candidate->next = job->next;
    if (candidate->next)
        helio_heap_reorder(&contender->classes, &candidate->in_account);
    else
        helio_heap_remove(&contender->classes, &candidate->in_account);
    return job;
}

/*  A class stays first until its account is behind the rival by more than age, as in a round. */
static bool stays_first(helio_heap_t *group, contender_t *contender, const candidate_t *candidate, contender_t *rival)
{
    int order;
    if (!candidate->next)
        return false;
    (void)refresh(contender);
    if (!rival)
        return true;
    if (refresh(rival)) /* another account of the same tenant */
        helio_heap_reorder(group, &rival->in_group);
    return compare(contender, rival, &order) == HELIO_TURN_REASON_AGE || order < 0;
}

static void note_turn(helio_queue_order_t *order, const account_t *account, const job_t *job, helio_turn_reason_t why,
                      helio_queue_job_t *at)
{
    helio_text_t tenant = helio_text_of(account->tenant->name), queue = helio_text_of(account->queue->name);
    helio_queue_turn_t *last = order->turns.count ? &order->turns.items[order->turns.count - 1] : NULL;
    *at = (helio_queue_job_t){.key = job->key};
    if (!last || !helio_text_equal(last->tenant, tenant) || !helio_text_equal(last->queue, queue)) {
        last = &order->turns.items[order->turns.count++];
        *last = (helio_queue_turn_t){.tenant = tenant, .queue = queue, .why = why};
        last->jobs.items = at;
    }
    last->jobs.count = ++last->count;
}

static void gather(helio_broker_core_t *self, candidate_t *candidates, uint32_t count, helio_heap_t *group)
{
    for (uint32_t i = 0; i < count; i++) {
        account_t *account = candidates[i].class->account;
        if (!account->contender) {
            account->contender = helio_arena_alloc(self->effects->arena, 1, sizeof *account->contender);
            *account->contender = (contender_t){.account = account, .classes.before = is_before};
        }
        helio_heap_put(&account->contender->classes, &candidates[i].in_account);
    }
    for (uint32_t i = 0; i < count; i++) {
        contender_t *contender = candidates[i].class->account->contender;
        if (contender->in_group.slot)
            continue;
        (void)refresh(contender);
        helio_heap_put(group, &contender->in_group);
    }
}

/*  The turns of classes of one tier and priority. behind: what the next group lacks. */
static void play(helio_broker_core_t *self, candidate_t *candidates, uint32_t count, helio_turn_reason_t behind,
                 helio_queue_order_t *order, helio_queue_job_t *jobs, uint32_t *job_count)
{
    helio_heap_t group = {.before = goes_first};
    gather(self, candidates, count, &group);
    contender_t *first;
    while (*job_count < HELIO_QUEUE_ORDER_JOBS && (first = first_of(&group))) {
        helio_heap_remove(&group, &first->in_group);
        contender_t *rival = first_of(&group);
        candidate_t *candidate = candidate_of(helio_heap_first(&first->classes));
        int before;
        helio_turn_reason_t why = rival ? compare(first, rival, &before) : behind;
        do {
            note_turn(order, first->account, take_turn(self, first, candidate), why, &jobs[(*job_count)++]);
        } while (*job_count < HELIO_QUEUE_ORDER_JOBS && stays_first(&group, first, candidate, rival));
        if (!first->classes.count)
            continue;
        (void)refresh(first);
        helio_heap_put(&group, &first->in_group);
    }
    for (uint32_t i = 0; i < count; i++)
        helio_heap_clear(&candidates[i].class->account->contender->classes);
    helio_heap_clear(&group);
}

static void put_turns(helio_broker_core_t *self, candidate_t *candidates, uint32_t count, helio_queue_order_t *order)
{
    uint32_t most = order->jobs < HELIO_QUEUE_ORDER_JOBS ? (uint32_t)order->jobs : HELIO_QUEUE_ORDER_JOBS, listed = 0;
    helio_queue_job_t *jobs = helio_arena_alloc(self->effects->arena, most, sizeof *jobs);
    order->turns.items = helio_arena_alloc(self->effects->arena, most, sizeof *order->turns.items);
    for (uint32_t from = 0, to = 0; from < count && listed < HELIO_QUEUE_ORDER_JOBS; from = to) {
        while (to < count && by_group(&candidates[from], &candidates[to]) == 0)
            to++;
        helio_turn_reason_t behind = to == count ? HELIO_TURN_REASON_LAST
                                     : candidates[from].class->queue->tier != candidates[to].class->queue->tier
                                         ? HELIO_TURN_REASON_TIER
                                         : HELIO_TURN_REASON_PRIORITY;
        play(self, &candidates[from], to - from, behind, order, jobs, &listed);
    }
}

/* ---- the order, of at most a second ago: it looks at every class, and can be asked for in a loop ------------- */

struct queue_order_table {
    helio_arena_t *arena;
    int64_t at_ms; /* monotonic */
    helio_queue_order_t order;
};

static const helio_queue_order_t *order_of(helio_broker_core_t *self)
{
    enum { VALID_MS = 1000 };
    queue_order_table_t *table = self->queue_order;
    if (table && self->now_ms - table->at_ms < VALID_MS)
        return &table->order;
    core_queue_order_forget(self);
    helio_queue_order_t order = {.at_ms = self->wall_ms};
    uint32_t count;
    for (tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        tenant->waiting_jobs = 0;
    candidate_t *candidates = candidates_of(self, &order, &count);
    put_shares(self, &order);
    put_turns(self, candidates, count, &order);
    table = self->queue_order = helio_new(1, sizeof *table);
    table->arena = helio_arena_new();
    table->at_ms = self->now_ms;
    helio_record_copy(&helio_queue_order_type, table->arena, &order, &table->order);
    return &table->order;
}

void core_queue_order_forget(helio_broker_core_t *self)
{
    if (!self->queue_order)
        return;
    helio_arena_destroy(&self->queue_order->arena);
    free(self->queue_order);
    self->queue_order = NULL;
}

/*  Turns of others, with no name and no job; of neighbours in one queue one. */
static void add_others(helio_queue_order_t *answer, const helio_queue_turn_t *turn)
{
    helio_queue_turn_t *last = answer->turns.count ? &answer->turns.items[answer->turns.count - 1] : NULL;
    if (last && !last->tenant.size && helio_text_equal(last->queue, turn->queue))
        last->count += turn->count;
    else
        answer->turns.items[answer->turns.count++] =
            (helio_queue_turn_t){.queue = turn->queue, .why = turn->why, .count = turn->count};
}

static void put_answer(helio_broker_core_t *self, const helio_ev_queue_order_t *event, const helio_queue_order_t *order,
                       helio_queue_order_t *answer)
{
    bool all = event->role >= HELIO_ROLE_OPERATOR;
    *answer = (helio_queue_order_t){.at_ms = order->at_ms, .jobs = order->jobs};
    answer->turns.items = helio_arena_alloc(self->effects->arena, order->turns.count, sizeof *answer->turns.items);
    for (uint32_t i = 0; i < order->turns.count; i++) {
        const helio_queue_turn_t *turn = &order->turns.items[i];
        if (all || helio_text_equal(turn->tenant, event->tenant))
            answer->turns.items[answer->turns.count++] = *turn;
        else
            add_others(answer, turn);
    }
    answer->shares.items = helio_arena_alloc(self->effects->arena, order->shares.count, sizeof *answer->shares.items);
    for (uint32_t i = 0; i < order->shares.count; i++)
        if (all || helio_text_equal(order->shares.items[i].tenant, event->tenant))
            answer->shares.items[answer->shares.count++] = order->shares.items[i];
}

void core_on_queue_order(helio_broker_core_t *self, const helio_ev_queue_order_t *event)
{
    helio_fx_reply_t answer = {.call = event->call, .rc = HELIO_OK};
    put_answer(self, event, order_of(self), &answer.queue_order);
    core_emit(self, HELIO_BROKER_FX_ANSWER, &answer);
}
