/*  pending.c -- what keeps a job from a pool now though nothing forbids it there. */
#include "broker/core/decide/pending.h"

#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

/*  0: it is not known, or past. */
static helio_value_t until_of(const helio_broker_core_t *self, int64_t wall_ms)
{
    return helio_value_number(wall_ms > self->wall_ms ? wall_ms : 0);
}

/*  How many GPUs are free, and what is wrong with them where their number would do. */
static helio_detail_t short_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_requirement_t *want = &class->want;
    uint32_t free_gpus = core_pool_gpus_free(option->pool), gpus = core_option_gpus(class, option);
    int64_t at_ms = core_reserve_expect(self, class, option->site, option->pool, option->c.gpus_per_node, NULL);
    helio_value_t free = helio_value_number(free_gpus), until = until_of(self, at_ms);
    if (!option->c.gpus_per_node)
        return CORE_DETAIL(self, HELIO_DETAIL_NO_CPUS_OR_MEMORY, until);
    if (free_gpus < gpus)
        return CORE_DETAIL(self, HELIO_DETAIL_GPUS_FREE, free, until);
    if (core_room_fits(option->pool, &option->pool->free, want->nodes, option->c.gpus_per_node, 0, 0))
        return CORE_DETAIL(self, HELIO_DETAIL_GPUS_FREE_BUT_CPUS, free, until);
    return CORE_DETAIL(self, HELIO_DETAIL_GPUS_FRAGMENTED, free, helio_value_number(option->c.gpus_per_node),
                       helio_value_number(want->nodes > 1 ? want->nodes : 0), until);
}

helio_detail_t core_site_window_reason(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                       int64_t *ret_until_ms)
{
    if (core_site_window_allows(self, class, option->pool, option->c.gpus_per_node, (freed_gpus_t){0}))
        return (helio_detail_t){0};
    return core_site_window_detail(self, class, option->site, option->pool, option->c.gpus_per_node, ret_until_ms);
}

/*  What keeps the head from the pool. NONE: nothing. */
typedef enum obstacle {
    OBSTACLE_NONE,
    OBSTACLE_RESTORE,
    OBSTACLE_OVERFLOW,
    OBSTACLE_QUOTA,
    OBSTACLE_BUDGET,
    OBSTACLE_ROOM,
    OBSTACLE_GANG,
    OBSTACLE_PREEMPTOR,
    OBSTACLE_SITE_WINDOW,
    OBSTACLE_REFUSED,
    OBSTACLE_UNANSWERED
} obstacle_t;

static obstacle_t find_obstacle(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_requirement_t *want = &class->want;
    const pool_t *pool = option->pool;
    uint32_t gpus_per_node = option->c.gpus_per_node;
    if (core_sites_awaited(self))
        return OBSTACLE_RESTORE;
    if (core_overflow_is_closed(class, option))
        return OBSTACLE_OVERFLOW;
    if (core_option_gpus(class, option) > core_quota_left(class))
        return OBSTACLE_QUOTA;
    if (!core_budget_allows(self, class, option))
        return OBSTACLE_BUDGET;
    if (!core_room_fits(pool, &pool->free, want->nodes, gpus_per_node, want->cpus, want->memory_bytes))
        return OBSTACLE_ROOM;
    if (!core_preempt_holds(self, class, pool) && !core_reserve_allows(self, class, pool, gpus_per_node))
        return OBSTACLE_GANG;
    if (!core_preempt_allows(self, class, pool, gpus_per_node))
        return OBSTACLE_PREEMPTOR;
    if (!core_site_window_allows(self, class, pool, gpus_per_node, (freed_gpus_t){0}))
        return OBSTACLE_SITE_WINDOW;
    if (self->now_ms < pool->penalty_until_ms)
        return OBSTACLE_REFUSED;
    return option->site->unanswered >= self->options.offers_unanswered_max ? OBSTACLE_UNANSWERED : OBSTACLE_NONE;
}

static helio_details_t details_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                  obstacle_t obstacle)
{
    int64_t until_ms;
    shortage_t shortage;
    switch (obstacle) {
    case OBSTACLE_RESTORE:
        return CORE_WHY0(self, HELIO_DETAIL_RESTORE_RECONCILES);
    case OBSTACLE_OVERFLOW:
        return core_why(self, core_overflow_detail(self, class, option));
    case OBSTACLE_QUOTA:
        return core_quota_details(self, class, core_option_gpus(class, option));
    case OBSTACLE_BUDGET:
        shortage = core_budget_shortage(self, class, option);
        return core_budget_details(self, class, &shortage);
    case OBSTACLE_ROOM:
        return core_why(self, short_of(self, class, option));
    case OBSTACLE_GANG:
        return CORE_WHY(self, HELIO_DETAIL_HELD_FOR_GANG, until_of(self, option->pool->reservation.at_ms));
    case OBSTACLE_PREEMPTOR:
        return CORE_WHY0(self, HELIO_DETAIL_HELD_FOR_PREEMPTOR);
    case OBSTACLE_SITE_WINDOW:
        return core_why(self, core_site_window_reason(self, class, option, &until_ms));
    case OBSTACLE_REFUSED:
        return CORE_WHY0(self, HELIO_DETAIL_JUST_REFUSED);
    case OBSTACLE_UNANSWERED:
        return CORE_WHY(self, HELIO_DETAIL_OFFERS_UNANSWERED, helio_value_number(option->site->unanswered));
    case OBSTACLE_NONE:
    default:
        return (helio_details_t){0};
    }
}

helio_rejection_t core_pending_rejection(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                         helio_details_t *ret_details)
{
    static const helio_rejection_t rejections[] = {
        [OBSTACLE_OVERFLOW] = HELIO_REJECTION_OVERFLOW,
        [OBSTACLE_QUOTA] = HELIO_REJECTION_QUOTA,
        [OBSTACLE_BUDGET] = HELIO_REJECTION_BUDGET,
    };
    bool asked = option->c.rejection == HELIO_REJECTION_NONE && !class->judged_ms;
    obstacle_t obstacle = asked ? find_obstacle(self, class, option) : OBSTACLE_NONE;
    if (ret_details)
        *ret_details = details_of(self, class, option, obstacle);
    if (!asked || obstacle == OBSTACLE_NONE)
        return option->c.rejection;
    bool listed = obstacle == OBSTACLE_OVERFLOW || obstacle == OBSTACLE_QUOTA || obstacle == OBSTACLE_BUDGET;
    return listed ? rejections[obstacle] : HELIO_REJECTION_NO_CAPACITY;
}
