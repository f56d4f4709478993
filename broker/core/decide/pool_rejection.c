/*  pool_rejection.c -- what keeps a job from a pool now although nothing forbids it there. */
#include "broker/core/decide/pool_rejection.h"

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/expected_starts.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/number.h"

/*  0: unknown or past. */
static helio_value_t until_of(const helio_broker_core_t *self, int64_t wall_ms)
{
    return helio_value_number(wall_ms > self->wall_ms ? wall_ms : 0);
}

/*  How many GPUs are free, and what else is missing if their number would suffice. */
static helio_detail_t short_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_requirement_t *want = &class->want;
    uint32_t free_gpus = core_pool_gpus_free(option->pool), gpus = core_option_gpus(class, option);
    int64_t at_ms =
        core_reserve_expect(self, class, option->site, option->pool, option->c.gpus_per_node, INT64_MAX, NULL);
    helio_value_t free = helio_value_number(free_gpus), until = until_of(self, at_ms);
    if (core_pool_grows(option->pool))
        return CORE_DETAIL(self, HELIO_DETAIL_POOL_GROWS, helio_value_number(option->pool->last.nodes_up),
                           helio_value_number(option->pool->info.max_nodes),
                           helio_value_number(option->c.queue_wait_ms));
    if (!option->c.gpus_per_node)
        return CORE_DETAIL(self, HELIO_DETAIL_NO_CPUS_OR_MEMORY, until);
    if (free_gpus < gpus)
        return free_gpus ? CORE_DETAIL(self, HELIO_DETAIL_GPUS_FREE, free, until, helio_value_number(gpus))
                         : CORE_DETAIL(self, HELIO_DETAIL_NO_GPU_FREE, until);
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
typedef enum pending_cause {
    PENDING_NONE,
    PENDING_RESTORE,
    PENDING_OVERFLOW,
    PENDING_QUOTA,
    PENDING_BUDGET,
    PENDING_CURTAILED,
    PENDING_ROOM,
    PENDING_GANG,
    PENDING_PREEMPTOR,
    PENDING_SITE_WINDOW,
    PENDING_REFUSED,
    PENDING_PAUSED,
    PENDING_UNANSWERED
} pending_cause_t;

static pending_cause_t pending_cause_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_requirement_t *want = &class->want;
    const pool_t *pool = option->pool;
    uint32_t gpus_per_node = option->c.gpus_per_node;
    if (core_sites_awaited(self))
        return PENDING_RESTORE;
    if (core_overflow_is_closed(class, option))
        return PENDING_OVERFLOW;
    if (core_option_gpus(class, option) > core_quota_left(class))
        return PENDING_QUOTA;
    if (!core_budget_allows(self, class, option))
        return PENDING_BUDGET;
    if (!core_curtail_allows(self, class, option->site, pool, gpus_per_node, 0))
        return PENDING_CURTAILED;
    if (!core_room_fits(pool, &pool->free, want->nodes, gpus_per_node, want->cpus, want->memory_bytes))
        return PENDING_ROOM;
    if (!core_preempt_holds(self, class, pool) && !core_reserve_allows(self, class, pool, gpus_per_node))
        return PENDING_GANG;
    if (!core_preempt_allows(self, class, pool, gpus_per_node))
        return PENDING_PREEMPTOR;
    if (!core_site_window_allows(self, class, pool, gpus_per_node, (freed_gpus_t){0}))
        return PENDING_SITE_WINDOW;
    if (self->now_ms < pool->penalty_until_ms)
        return PENDING_REFUSED;
    if (core_is_paused(self, class, option))
        return PENDING_PAUSED;
    return option->site->unanswered >= self->options.offers_unanswered_max ? PENDING_UNANSWERED : PENDING_NONE;
}

static helio_details_t details_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                  pending_cause_t cause)
{
    int64_t until_ms;
    shortage_t shortage;
    switch (cause) {
    case PENDING_RESTORE:
        return CORE_WHY0(self, HELIO_DETAIL_RESTORE_RECONCILES);
    case PENDING_OVERFLOW:
        return core_why(self, core_overflow_detail(self, class, option));
    case PENDING_QUOTA:
        return core_quota_details(self, class, core_option_gpus(class, option));
    case PENDING_BUDGET:
        shortage = core_budget_shortage(self, class, option);
        return core_budget_details(self, class, &shortage);
    case PENDING_CURTAILED:
        return core_why(
            self, core_curtail_detail(self, class, option->site, option->pool, option->c.gpus_per_node, &until_ms));
    case PENDING_ROOM:
        return core_why(self, short_of(self, class, option));
    case PENDING_GANG:
        return CORE_WHY(self, HELIO_DETAIL_HELD_FOR_GANG, until_of(self, option->pool->reservation.at_ms));
    case PENDING_PREEMPTOR:
        return CORE_WHY0(self, HELIO_DETAIL_HELD_FOR_PREEMPTOR);
    case PENDING_SITE_WINDOW:
        return core_why(self, core_site_window_reason(self, class, option, &until_ms));
    case PENDING_REFUSED:
        return CORE_WHY0(self, HELIO_DETAIL_JUST_REFUSED);
    case PENDING_PAUSED:
        return CORE_WHY0(self, HELIO_DETAIL_FAILED_THERE);
    case PENDING_UNANSWERED:
        return CORE_WHY(self, HELIO_DETAIL_OFFERS_UNANSWERED, helio_value_number(option->site->unanswered));
    case PENDING_NONE:
    default:
        return (helio_details_t){0};
    }
}

helio_rejection_t core_pending_rejection(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                         helio_details_t *ret_details)
{
    static const helio_rejection_t rejections[] = {
        [PENDING_OVERFLOW] = HELIO_REJECTION_OVERFLOW,
        [PENDING_QUOTA] = HELIO_REJECTION_QUOTA,
        [PENDING_BUDGET] = HELIO_REJECTION_BUDGET,
        [PENDING_CURTAILED] = HELIO_REJECTION_CURTAILED,
    };
    bool asked = option->c.rejection == HELIO_REJECTION_NONE && !class->judged_ms;
    pending_cause_t cause = asked ? pending_cause_of(self, class, option) : PENDING_NONE;
    if (ret_details)
        *ret_details = details_of(self, class, option, cause);
    if (!asked || cause == PENDING_NONE)
        return option->c.rejection;
    bool listed =
        cause == PENDING_OVERFLOW || cause == PENDING_QUOTA || cause == PENDING_BUDGET || cause == PENDING_CURTAILED;
    return listed ? rejections[cause] : HELIO_REJECTION_NO_CAPACITY;
}

helio_detail_t core_pause_detail(helio_broker_core_t *self, const evaluation_t *e, int64_t *ret_until_ms)
{
    bool paused = false;
    for (uint32_t i = 0; i < e->feasible && !paused; i++)
        paused = core_is_paused(self, e->class, &e->options[i]);
    if (!paused)
        return (helio_detail_t){0};
    int64_t left_ms = core_class_paused_until_ms(e->class, self->now_ms) - self->now_ms;
    *ret_until_ms = helio_floor(self->wall_ms + left_ms + 999, 1000) * 1000; /* as it is shown */
    return CORE_DETAIL(self, HELIO_DETAIL_PAUSED_AFTER_LOSSES, helio_value_number(*ret_until_ms));
}
