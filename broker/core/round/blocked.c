/*  blocked.c -- which classes wait for nothing but room, and for how long that is all that can help them. */
#include "broker/core/round/blocked.h"

#include <utlist.h>

#include "broker/core/decide/gangs.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/needs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/tenants.h"
#include "broker/core/state/why.h"

static int64_t score_step(const helio_broker_core_t *self)
{
    return self->wall_ms / HELIO_SCORE_STEP_MS;
}

/*  Whether the verdicts stand on which all lines rest. */
static bool lines_stand(const helio_broker_core_t *self)
{
    return self->lines_facts == self->facts_version && self->lines_pools == self->pools_version &&
           self->lines_step == score_step(self);
}

/*  Whether classes of the account can wait for room alone: nothing is reserved for them, and no
 *  budget, overflow group or priority level decides where they go. */
static bool is_simple(const job_class_t *class)
{
    const account_t *account = class->account;
    return !account->queue->rules && !account->spends.any && !account->tenant->spends.any &&
           !core_is_below_guarantee(class);
}

static bool is_simple_at(const job_class_t *class, const option_t *option)
{
    return !option->pool->site_window && !option->site->curtailments && !core_is_gang(class, option);
}

/*  Jobs of a lower tier can make room for it, now or when they are no longer protected. */
static bool can_preempt(helio_broker_core_t *self, const job_class_t *class, need_t *need)
{
    uint32_t tier = class->queue->tier;
    if (tier == HELIO_TIER_BEST_EFFORT)
        return false;
    if (need->tiers_version != self->tiers_version) {
        need->lowest_tier = HELIO_TIER_COUNT;
        for (uint32_t i = 0; i < need->count; i++) {
            uint32_t lowest = core_pool_lowest_tier(self, need->places[i].site, need->places[i].pool);
            need->lowest_tier = lowest < need->lowest_tier ? lowest : need->lowest_tier;
        }
        need->tiers_version = self->tiers_version;
    }
    return helio_preempt_allowed(tier, need->lowest_tier, false);
}

static bool waits_for_room(const helio_broker_core_t *self, const evaluation_t *e)
{
    const job_class_t *class = e->class;
    bool simple = e->feasible && !e->waits && !e->capped_gpus && !e->over_budget && !e->reserved &&
                  !class->preemptions && !class->next_check_ms && !class->overflow && !class->want.deadline_wall_ms &&
                  class->want.free_until_ms <= self->wall_ms && is_simple(class) &&
                  class->reason == HELIO_REASON_WAITING_FOR_CAPACITY &&
                  core_why_has(class->why, HELIO_DETAIL_POOLS_FULL);
    for (uint32_t i = 0; i < e->feasible && simple; i++)
        simple = is_simple_at(class, &e->options[i]);
    return simple;
}

void core_blocked_note(helio_broker_core_t *self, const evaluation_t *e)
{
    job_class_t *class = e->class;
    if (class->line)
        core_line_leave(self, class);
    if (!lines_stand(self) || !waits_for_room(self, e))
        return;
    need_t *need = core_need_get(self, &class->want, e->options, e->feasible);
    if (core_need_has_room(self, need) || can_preempt(self, class, need))
        core_need_free(self, need); /* something else keeps it from that room, or helps it */
    else
        core_line_enter(self, class, need);
}

static void wake(helio_broker_core_t *self, line_t *line)
{
    for (size_t i = 0; i < line->classes.count; i++)
        HELIO_HEAP_OWNER(line->classes.items[i], job_class_t, in_line)->blocked_at = 0;
    core_line_dissolve(self, line);
}

/*  Any class in a line of the account; what is asked of it is the same for all of them. */
static const job_class_t *any_of(const account_t *account)
{
    const line_t *line = account->lines;
    while (line && !core_line_first(line))
        line = line->next;
    return line ? core_line_first(line) : NULL;
}

/*  Most accounts have no quota, and nothing of theirs changed: their lines are not walked. */
static bool review(helio_broker_core_t *self, const account_t *account, bool tiers_changed)
{
    const job_class_t *class = any_of(account);
    bool any = false, simple = !class || is_simple(class);
    uint32_t left = class ? core_quota_left(class) : HELIO_QUOTA_UNLIMITED;
    bool may_preempt = tiers_changed && account->queue->tier > HELIO_TIER_BEST_EFFORT;
    line_t *line, *next;
    if (simple && left >= account->most_gpus && !may_preempt)
        return false;
    DL_FOREACH_SAFE(account->lines, line, next)
    {
        const job_class_t *first = core_line_first(line);
        if (!first || (simple && left >= line->need->least_gpus && !can_preempt(self, first, line->need)))
            continue;
        wake(self, line);
        any = true;
    }
    return any;
}

bool core_blocked_review(helio_broker_core_t *self)
{
    bool any = false, tiers_changed = self->lines_tiers != self->tiers_version;
    account_t *account, *next;
    if (!lines_stand(self))
        core_lines_dissolve(self);
    self->lines_facts = self->facts_version;
    self->lines_pools = self->pools_version;
    self->lines_step = score_step(self);
    self->lines_tiers = self->tiers_version;
    DL_FOREACH_SAFE2(self->lined, account, next, lined_next)
    {
        any = review(self, account, tiers_changed) || any;
    }
    return any;
}
