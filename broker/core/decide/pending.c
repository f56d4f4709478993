/*  pending.c -- what keeps a job from a pool now though nothing forbids it there, in words. */
#include "broker/core/decide/pending.h"

#include <string.h>

#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/text.h"

/*  "3 GPUs free", with what is wrong with them where their number would do. */
static const char *short_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_requirement_t *want = &class->want;
    uint32_t free_gpus = core_pool_gpus_free(option->pool), gpus = core_option_gpus(class, option);
    if (!option->c.gpus_per_node)
        return "no room for its CPUs or memory";
    if (free_gpus < gpus)
        return core_printf(self, "%u GPUs free", free_gpus);
    if (core_room_fits(option->pool, &option->pool->free, want->nodes, option->c.gpus_per_node, 0, 0))
        return core_printf(self, "%u GPUs free, but no room for its CPUs or memory", free_gpus);
    return core_printf(self, "%u GPUs free, but not %u together%s", free_gpus, option->c.gpus_per_node,
                       want->nodes > 1 ? core_printf(self, " on each of %u nodes", want->nodes) : "");
}

static const char *until(helio_broker_core_t *self, int64_t wall_ms)
{
    return wall_ms > self->wall_ms ? core_printf(self, " until %s", core_minute_text(self, wall_ms)) : "";
}

const char *core_site_window_reason(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                           int64_t *ret_until_ms)
{
    if (core_site_window_allows(self, class, option->pool, option->c.gpus_per_node, (freed_gpus_t){0}))
        return "";
    const char *text =
        core_site_window_text(self, class, option->site, option->pool, option->c.gpus_per_node, ret_until_ms);
    if (strncmp(text, "0 GPUs ", 7) == 0) /* other work has it all: nothing is kept before its end */
        return core_printf(self, "%s has no room at present", core_place_text(self, option));
    return text;
}

helio_rejection_t core_pending_rejection(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                const char **ret_detail)
{
    const helio_requirement_t *want = &class->want;
    const pool_t *pool = option->pool;
    uint32_t gpus = core_option_gpus(class, option);
    *ret_detail = "";
    if (option->c.rejection != HELIO_REJECTION_NONE || class->judged_ms)
        return option->c.rejection;
    if (core_sites_awaited(self)) {
        *ret_detail = "the database was restored: sites say first what they run";
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (core_overflow_is_closed(class, option)) {
        *ret_detail = core_overflow_text(self, class, option);
        return HELIO_REJECTION_OVERFLOW;
    }
    if (gpus > core_quota_left(class)) {
        *ret_detail = core_quota_text(self, class, gpus);
        return HELIO_REJECTION_QUOTA;
    }
    if (!core_budget_allows(self, class, option)) {
        shortage_t shortage = core_budget_shortage(self, class, option);
        *ret_detail = core_budget_text(self, class, &shortage);
        return HELIO_REJECTION_BUDGET;
    }
    if (!core_room_fits(pool, &pool->free, want->nodes, option->c.gpus_per_node, want->cpus,
                        want->memory_bytes)) {
        int64_t at_ms =
            core_reserve_expect(self, class, option->site, option->pool, option->c.gpus_per_node, NULL);
        *ret_detail = core_printf(self, "%s%s", short_of(self, class, option), until(self, at_ms));
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (!core_preempt_holds(self, class, pool) &&
        !core_reserve_allows(self, class, pool, option->c.gpus_per_node)) {
        *ret_detail = core_printf(self, "kept for a gang that waits%s", until(self, pool->reservation.at_ms));
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (!core_preempt_allows(self, class, pool, option->c.gpus_per_node)) {
        *ret_detail = "kept for a job for which others leave";
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (!core_site_window_allows(self, class, pool, option->c.gpus_per_node, (freed_gpus_t){0})) {
        int64_t until_ms;
        *ret_detail = core_site_window_reason(self, class, option, &until_ms);
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (self->now_ms < pool->penalty_until_ms)
        *ret_detail = "it could not take what it was offered last";
    else if (option->site->unanswered >= self->options.offers_unanswered_max)
        *ret_detail = core_printf(self, "%u offers without an answer yet", option->site->unanswered);
    else
        return HELIO_REJECTION_NONE;
    return HELIO_REJECTION_NO_CAPACITY;
}
