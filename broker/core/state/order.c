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

bool core_is_owed(const job_class_t *class)
{
    const account_t *account = class->account;
    return helio_quota_owed(&account->holds) || helio_quota_owed(&account->tenant->holds);
}

static int turn(const job_class_t *a, uint32_t level_a, const job_class_t *b, uint32_t level_b)
{
    if (a->queue->tier != b->queue->tier)
        return a->queue->tier > b->queue->tier ? -1 : 1;
    if (level_a != level_b)
        return level_a > level_b ? -1 : 1;
    if (a->account == b->account)
        return 0;
    bool owed_a = core_is_owed(a), owed_b = core_is_owed(b);
    if (owed_a != owed_b)
        return owed_a ? -1 : 1;
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

int core_share_turn(const job_class_t *a, const job_class_t *b)
{
    return turn(a, a->level, b, b->level);
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

int core_class_turn(const job_class_t *a, const job_class_t *b)
{
    int order = core_share_turn(a, b);
    return order ? order : by_place(a, b);
}

int core_class_turn_at(const job_class_t *a, const job_class_t *b, const site_t *site)
{
    helio_text_t region = site->profile.region;
    int order = turn(a, core_queue_level(a->queue, region), b, core_queue_level(b->queue, region));
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

turns_t core_turns(helio_broker_core_t *self)
{
    turns_t turns = {0};
    uint32_t count = 0;
    job_class_t **classes =
        helio_arena_alloc(self->effects->arena, HASH_COUNT(self->classes), sizeof(job_class_t *));
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->waiting && class->blocked_at != self->capacity_version)
            classes[count++] = class;
    if (!count)
        return turns;
    qsort(classes, count, sizeof *classes, by_account_and_place);
    turns.lines = helio_arena_alloc(self->effects->arena, count, sizeof *turns.lines);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || classes[i]->account != classes[i - 1]->account) {
            turns.lines[turns.count++] = (line_t){.classes = &classes[i]};
            helio_share_advance(&classes[i]->account->tenant->share, self->now_ms);
        }
        classes[i]->level = core_queue_top(classes[i]->queue);
        turns.lines[turns.count - 1].count++;
    }
    return turns;
}

static job_class_t *head_of(const line_t *line)
{
    return line->classes[line->at];
}

job_class_t *core_turns_next(turns_t *turns, job_class_t **ret_rival)
{
    line_t *first = NULL;
    *ret_rival = NULL;
    for (uint32_t i = 0; i < turns->count; i++) {
        line_t *line = &turns->lines[i];
        if (!first || core_class_turn(head_of(line), head_of(first)) < 0) {
            *ret_rival = first ? head_of(first) : NULL;
            first = line;
        } else if (!*ret_rival || core_class_turn(head_of(line), *ret_rival) < 0) {
            *ret_rival = head_of(line);
        }
    }
    turns->named = first;
    return first ? head_of(first) : NULL;
}

/*  All of a line that want another turn have the same queue, so the same next level. */
static bool begins_again(line_t *line)
{
    uint32_t level;
    if (!line->again || !core_queue_below(head_of(line)->queue, line->classes[0]->level, &level))
        return false;
    line->count = line->again;
    line->at = line->again = 0;
    for (uint32_t i = 0; i < line->count; i++)
        line->classes[i]->level = level;
    return true;
}

void core_turns_done(turns_t *turns, bool lower)
{
    line_t *line = turns->named;
    if (lower)
        line->classes[line->again++] = head_of(line);
    if (line->at + 1 < line->count)
        line->at++;
    else if (!begins_again(line))
        *line = turns->lines[--turns->count];
}
