#include "broker/core/decide/gangs.h"

#include "broker/core/decide/overflow.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/expected_starts.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"

bool core_is_gang(const job_class_t *class, const option_t *option)
{
    return class->want.nodes > 1 || (option->c.gpus_per_node > 1 && core_is_below_guarantee(class)) ||
           (option->c.gpus_per_node > 1 && option->c.gpus_per_node == option->pool->info.gpus_per_node);
}

void core_gang_find_reservation(helio_broker_core_t *self, evaluation_t *e)
{
    job_class_t *class = e->class;
    if (core_class_misses(self, class))
        return; /* a site that is about to come back may have the nodes */
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *option = &e->options[i];
        const reservation_t *held = &option->pool->reservation;
        bool taken = held->class && held->class->id != class->id && held->class->waiting;
        if (taken || !core_is_gang(class, option) || !core_is_at_priority_level(class, option) ||
            core_overflow_is_closed(class, option) ||
            core_site_window_excludes(class, option->pool, option->c.gpus_per_node) ||
            core_curtail_excludes(self, class, option->site, option->pool, option->c.gpus_per_node) ||
            core_option_gpus(class, option) > core_quota_left(class) || !core_budget_allows(self, class, option))
            continue;
        reservation_t found;
        int64_t before_ms = e->reserved ? e->reservation.at_ms : INT64_MAX;
        if (core_reserve_expect(self, class, option->site, option->pool, option->c.gpus_per_node, before_ms, &found)) {
            e->reserved = option;
            e->reservation = found;
        }
    }
}
