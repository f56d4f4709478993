/*  growth.c -- which elastic pool grows for a class that finds no capacity. */
#include "broker/core/decide/growth.h"

#include "broker/core/decide/overflow.h"
#include "broker/core/forecast/queue_wait.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/expected_starts.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

/*  Whether capacity is all that it lacks there. */
static bool lacks_capacity_alone(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    return !core_overflow_is_closed(class, option) && !core_is_paused(self, class, option) &&
           !core_is_doubtful(self, class, option) && core_option_gpus(class, option) <= core_quota_left(class) &&
           core_budget_allows(self, class, option) && core_is_at_priority_level(class, option) &&
           !core_site_window_excludes(class, option->pool, option->c.gpus_per_node) &&
           core_curtail_allows(self, class, option->site, option->pool, option->c.gpus_per_node, 0);
}

/*  What waiting until then costs, beyond what the score of the option has of it. */
static int64_t wait_micro_usd(const helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                              int64_t at_ms)
{
    int64_t from_ms = self->wall_ms + option->c.queue_wait_ms;
    from_ms = class->want.free_until_ms > from_ms ? class->want.free_until_ms : from_ms;
    if (at_ms <= from_ms)
        return 0;
    int64_t most = at_ms - from_ms < QUEUE_WAIT_MAX_MS ? at_ms - from_ms : QUEUE_WAIT_MAX_MS;
    double cost = (double)most * core_option_gpus(class, option) * (double)class->want.wait_price_micro_usd_per_gpu_h;
    return (int64_t)(cost / HELIO_HOUR_MS);
}

/*  The score of a start there as soon as capacity comes free by itself; INT64_MAX: nobody knows when. */
static int64_t score_if_it_waits(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    int64_t at_ms =
        core_reserve_expect(self, class, option->site, option->pool, option->c.gpus_per_node, INT64_MAX, NULL);
    if (!at_ms)
        return INT64_MAX;
    return option->c.now.score_micro_usd + wait_micro_usd(self, class, option, at_ms);
}

static bool is_before(const option_t *option, const option_t *best, int64_t score, int64_t best_score)
{
    return !best || option->step < best->step ||
           (option->step == best->step &&
            (option->c.ask < best->c.ask || (option->c.ask == best->c.ask && score < best_score)));
}

void core_growth_choose(helio_broker_core_t *self, const evaluation_t *e)
{
    job_class_t *class = e->class;
    const option_t *best = NULL;
    int64_t best_score = INT64_MAX;
    bool any = false;
    class->grows = (growth_t){0};
    for (uint32_t i = 0; i < e->feasible && !any; i++)
        any = e->options[i].pool->info.elastic;
    if (!any || e->waits || core_is_capped(e) || core_class_misses(self, class))
        return;
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *option = &e->options[i];
        bool grows = core_pool_grows(option->pool);
        if (!lacks_capacity_alone(self, class, option))
            continue;
        int64_t score = grows ? option->c.now.score_micro_usd : score_if_it_waits(self, class, option);
        if (score != INT64_MAX && is_before(option, best, score, best_score)) {
            best = option;
            best_score = score;
        }
    }
    if (best && best->pool->info.elastic)
        class->grows = (growth_t){best->site, best->pool, best->c.gpus_per_node, core_budget_spend(self, class, best)};
}
