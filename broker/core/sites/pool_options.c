/*  pool_options.c -- partitions and features come and go while a session lasts. Each change has every class judged again,
 *  so a site may not change them as often as it likes. */
#include "broker/core/sites/pool_options.h"

#include "broker/core/sites/refused.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

enum {
    /* Of one pool in five minutes. Operators change partitions and features by hand, and nodes that go down or come back
     * change those of their pool. */
    CHANGES_OF_POOL = 4,
    /* Names and values of a site. An agent sends at most two options of 2000 bytes for each of 64 pools. */
    BYTES_OF_SITE = 262144
};

static uint32_t changes_of_site(const site_t *site)
{
    return CHANGES_OF_POOL * site->pool_count;
}

static void drop(helio_broker_core_t *self, site_t *site, const char *why)
{
    self->figures.pool_options_dropped_total++;
    core_site_refuse(self, site, HELIO_BUSY, helio_text_of(why));
}

/*  How many of the options, from the first on, fit into what other pools leave. */
static uint32_t fitting(uint64_t left_bytes, const helio_pool_option_t *options, uint32_t count)
{
#ifdef HELIO_MUTANT_options_of_any_size
    return count;
#endif
    uint32_t fit = 0;
    for (; fit < count; fit++) {
        uint64_t bytes = (uint64_t)options[fit].option.size + options[fit].values.size;
        if (bytes > left_bytes)
            break;
        left_bytes -= bytes;
    }
    return fit;
}

static uint64_t bytes_of(const pool_t *pool)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pool->info.options.count; i++)
        bytes += (uint64_t)pool->info.options.items[i].option.size + pool->info.options.items[i].values.size;
    return bytes;
}

/*  Of what the site may have, beside the options of its pools before end, less one. */
static uint64_t left_bytes(const site_t *site, const pool_t *end, const pool_t *less)
{
    uint64_t taken = 0;
    for (const pool_t *pool = site->pools; pool < end; pool++)
        taken += pool == less ? 0 : bytes_of(pool);
    return taken < BYTES_OF_SITE ? BYTES_OF_SITE - taken : 0;
}

static bool has(const pool_t *pool, const helio_pool_option_t *options, uint32_t count)
{
    bool same = pool->info.options.count == count;
    for (uint32_t i = 0; same && i < count; i++)
        same = helio_record_equal(&helio_pool_option_type, &pool->info.options.items[i], &options[i]);
    return same;
}

static bool is_affordable(helio_broker_core_t *self, site_t *site)
{
#ifdef HELIO_MUTANT_options_unbounded
    return true;
#endif
    return core_allowance_take(&site->options_allowance, self->now_ms, changes_of_site(site));
}

static void keep(pool_t *pool, const helio_pool_option_t *options, uint32_t count)
{
    helio_arena_t *arena = helio_arena_new();
    pool->info.options.items = helio_arena_alloc(arena, count + 1, sizeof *pool->info.options.items);
    pool->info.options.count = count;
    for (uint32_t i = 0; i < count; i++)
        helio_record_copy(&helio_pool_option_type, arena, &options[i], &pool->info.options.items[i]);
    helio_arena_destroy(&pool->options_arena);
    pool->options_arena = arena;
}

void core_pool_options_take(helio_broker_core_t *self, site_t *site, pool_t *pool, const helio_pool_capacity_t *figures)
{
    const helio_pool_option_t *options = figures->options.items;
    uint32_t said = figures->options.count;
    uint32_t count = fitting(left_bytes(site, site->pools + site->pool_count, pool), options, said);
    if (count < said)
        drop(self, site, "it names more partitions and features than a site may have; the rest is left out");
    if (has(pool, options, count))
        return;
    if (!is_affordable(self, site)) {
        drop(self, site, "its partitions and features change oftener than the broker takes them; some are left out");
        return;
    }
    keep(pool, options, count);
    core_facts_changed(self, site);
}

void core_pool_options_bound(site_t *site)
{
    for (pool_t *pool = site->pools; pool < site->pools + site->pool_count; pool++)
        pool->info.options.count =
            fitting(left_bytes(site, pool, NULL), pool->info.options.items, pool->info.options.count);
}

bool core_pool_options_are_wanted(helio_broker_core_t *self, site_t *site)
{
    return core_allowance_is_back(&site->options_allowance, self->now_ms, changes_of_site(site));
}
