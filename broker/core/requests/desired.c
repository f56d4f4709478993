/*  desired.c -- how many GPUs each pool should have now and in the hours ahead, and why. */
#include "broker/core/requests/desired.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/holds/expected_ends.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/wanted_nodes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/number.h"

enum { TIMES = HELIO_DESIRED_HOURS + 1 };

/*  Of jobs that run there then, or that will start by what is set today. */
static helio_desired_hour_t known_gpus(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t at_ms)
{
    return (helio_desired_hour_t){.at_ms = at_ms,
                                  .running_gpus = core_expected_gpus(self, site, pool, at_ms).held,
                                  .planned_gpus = core_reserved_gpus(pool, at_ms)};
}

/*  At most what the pool can have. */
static uint64_t nodes_of(const pool_t *pool, uint64_t gpus)
{
    uint64_t each = pool->info.gpus_per_node ? pool->info.gpus_per_node : 1;
    return helio_lesser_u64((gpus + each - 1) / each, helio_pool_nodes_most(&pool->info));
}

static uint32_t room(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t at_ms)
{
    const helio_desired_hour_t known = known_gpus(self, site, pool, at_ms);
    return helio_pool_nodes_most(&pool->info) - (uint32_t)nodes_of(pool, known.running_gpus + known.planned_gpus);
}

static helio_desired_pool_t row_of(helio_broker_core_t *self, const site_t *site, pool_t *pool,
                                   const int64_t times_ms[TIMES])
{
    const helio_pool_t *info = &pool->info;
    helio_desired_pool_t row = {.site = helio_text_of(site->name),
                                .pool = info->name,
                                .elastic = info->elastic,
                                .nodes = pool->last.nodes_up,
                                .nodes_most = helio_pool_nodes_most(info),
                                .gpus_per_node = info->gpus_per_node};
    row.hours.items = helio_arena_alloc(self->effects->arena, TIMES, sizeof *row.hours.items);
    for (uint32_t i = 0; i < TIMES; i++) {
        helio_desired_hour_t hour = known_gpus(self, site, pool, times_ms[i]);
        hour.waiting_gpus = (uint64_t)core_wanted_nodes(pool, i) * info->gpus_per_node;
        hour.desired_gpus = nodes_of(pool, hour.running_gpus + hour.planned_gpus) * info->gpus_per_node;
        hour.desired_gpus =
            helio_lesser_u64(hour.desired_gpus + hour.waiting_gpus, (uint64_t)row.nodes_most * info->gpus_per_node);
        row.hours.items[row.hours.count++] = hour;
    }
    return row;
}

/* ---- the table, of at most a second ago: it looks at every class that waits, and can be asked for in a loop ---- */

struct desired_table {
    helio_arena_t *arena;
    int64_t at_ms; /* monotonic */
    helio_fx_reply_t rows;
};

static int order_of(helio_text_t a, helio_text_t b)
{
    int order = memcmp(a.data, b.data, helio_lesser_u64(a.size, b.size)); /* no name is empty */
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/*  Sites are kept in no order. */
static int by_name(const void *a_, const void *b_)
{
    const helio_desired_pool_t *a = a_, *b = b_;
    int order = order_of(a->site, b->site);
    return order ? order : order_of(a->pool, b->pool);
}

static void count_all(helio_broker_core_t *self, helio_fx_reply_t *ret_rows)
{
    int64_t times_ms[TIMES] = {self->wall_ms};
    uint32_t pools = 0;
    for (uint32_t i = 1; i < TIMES; i++)
        times_ms[i] = (self->wall_ms / HELIO_HOUR_MS + i) * HELIO_HOUR_MS;
    core_wanted_ahead(self, times_ms, TIMES, room);
    for (const site_t *site = self->sites; site; site = site->hh.next)
        pools += site->pool_count;
    *ret_rows = (helio_fx_reply_t){.rc = HELIO_OK};
    ret_rows->desired.items = helio_arena_alloc(self->effects->arena, pools, sizeof *ret_rows->desired.items);
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++)
            if (site->pools[i].info.gpus_per_node)
                ret_rows->desired.items[ret_rows->desired.count++] = row_of(self, site, &site->pools[i], times_ms);
    if (ret_rows->desired.count)
        qsort(ret_rows->desired.items, ret_rows->desired.count, sizeof *ret_rows->desired.items, by_name);
}

static const helio_fx_reply_t *table_of(helio_broker_core_t *self)
{
    enum { VALID_MS = 1000 };
    desired_table_t *table = self->desired;
    if (table && self->now_ms - table->at_ms < VALID_MS)
        return &table->rows;
    core_desired_forget(self);
    helio_fx_reply_t rows;
    count_all(self, &rows);
    table = self->desired = helio_new(1, sizeof *table);
    table->arena = helio_arena_new();
    table->at_ms = self->now_ms;
    helio_record_copy(&helio_fx_reply_type, table->arena, &rows, &table->rows);
    return &table->rows;
}

void core_desired_forget(helio_broker_core_t *self)
{
    if (!self->desired)
        return;
    helio_arena_destroy(&self->desired->arena);
    free(self->desired);
    self->desired = NULL;
}

static bool is_asked(helio_text_t asked, helio_text_t name)
{
    return !asked.size || helio_text_equal(asked, name);
}

/*  An empty list would say that nothing is wanted there. */
static void refuse(helio_broker_core_t *self, const helio_ev_desired_t *event, helio_details_t why)
{
    helio_fx_reply_t answer = {.call = event->call, .rc = HELIO_NOT_FOUND, .details = why};
    core_emit(self, HELIO_BROKER_FX_ANSWER, &answer);
}

void core_on_desired(helio_broker_core_t *self, const helio_ev_desired_t *event)
{
    if (event->site.size && !core_site_find(self, event->site)) {
        refuse(self, event,
               CORE_WHY(self, HELIO_DETAIL_UNKNOWN_SITE, helio_value_text(event->site),
                        helio_value_string(core_site_meant(self, event->site))));
        return;
    }
    const helio_fx_reply_t *rows = table_of(self);
    helio_fx_reply_t answer = {.call = event->call, .rc = HELIO_OK};
    answer.desired.items = helio_arena_alloc(self->effects->arena, rows->desired.count, sizeof *answer.desired.items);
    for (uint32_t i = 0; i < rows->desired.count; i++) {
        const helio_desired_pool_t *row = &rows->desired.items[i];
        if (is_asked(event->site, row->site) && is_asked(event->pool, row->pool))
            helio_record_copy(&helio_desired_pool_type, self->effects->arena, row,
                              &answer.desired.items[answer.desired.count++]);
    }
    if (event->pool.size && !answer.desired.count)
        refuse(self, event,
               CORE_WHY(self, HELIO_DETAIL_NO_SUCH_THING, helio_value_string("pool"), helio_value_text(event->pool)));
    else
        core_emit(self, HELIO_BROKER_FX_ANSWER, &answer);
}
