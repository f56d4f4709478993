/*  profile.c -- the profile of a site. Its pools are created from it, and freed with everything that points at them. */
#include "broker/core/sites/profile.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/forecast/prices.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/holds/expected_starts.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/sites/energy.h"
#include "broker/core/sites/pool_options.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/curtailments.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

/*  Frees the pools, and clears what classes hold there, what was judged of them, and where jobs failed. */
void core_site_pools_free(helio_broker_core_t *self, site_t *site)
{
    for (job_class_t *class = self->classes; class; class = class->hh.next) {
        if (class->window.site == site)
            core_window_clear(class);
        if (core_pool_is_of(class->reserved, site))
            core_reserve_drop(class);
        core_class_forget_doubts(class, site);
    }
    core_preempt_site_drop(self, site);
    core_migrations_site_drop(self, site);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        free(site->pools[i].preemptible);
        free(site->pools[i].site_window);
        free(site->pools[i].pool_forecast);
        free(site->pools[i].priced_hour);
        helio_arena_destroy(&site->pools[i].options_arena);
        core_expected_ends_destroy(&site->pools[i].expected_ends);
        core_expected_starts_destroy(&site->pools[i].expected_starts);
    }
    free(site->pools);
    site->pools = NULL;
    site->pool_count = 0;
    core_pools_changed(self);
    core_facts_changed(self, site);
}

void core_sites_free(helio_broker_core_t *self)
{
    site_t *site, *next;
    HASH_CLEAR(hh_peer, self->peers);
    HASH_ITER(hh, self->sites, site, next)
    {
        HASH_DEL(self->sites, site);
        core_site_pools_free(self, site);
        core_site_series_free(site);
        core_histories_free(site);
        core_energy_issues_free(site);
        core_curtailments_free(self, site);
        helio_arena_destroy(&site->arena);
        free(site);
    }
}

static void pool_row(helio_broker_core_t *self, const site_t *site, const helio_pool_t *pool)
{
    helio_row_pool_t row = {
        .site = helio_text_of(site->name),
        .pool = pool->name,
        .gpu = pool->gpu,
        .gpu_memory_bytes = pool->gpu_memory_bytes,
        .nodes = pool->nodes,
        .max_nodes = helio_pool_nodes_most(pool),
        .gpus_per_node = pool->gpus_per_node,
        .cpus_per_node = pool->cpus_per_node,
        .memory_bytes_per_node = pool->memory_bytes_per_node,
        .interconnect = pool->interconnect,
        .sharing = pool->sharing,
        .owned = pool->owned,
        .price_usd_per_gpu_h = helio_pool_rent_usd(pool),
        .idle_w = pool->idle_w,
        .base_w = pool->base_w,
        .slope_w = pool->slope_w,
        .host_w = pool->host_w,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_POOL, &row);
}

static bool has_pool(const helio_site_profile_t *profile, helio_text_t name)
{
    for (uint32_t i = 0; i < profile->pools.count; i++)
        if (helio_text_equal(profile->pools.items[i].name, name))
            return true;
    return false;
}

/*  A pool that is no longer in the site file stays as a row, to which past attempts and samples refer, without nodes:
 *  so it is no pool of today. */
static void close_rows(helio_broker_core_t *self, const site_t *site)
{
    for (uint32_t i = 0; i < site->pool_count; i++) {
        helio_pool_t gone = site->pools[i].info;
        if (has_pool(&site->profile, gone.name))
            continue;
        gone.nodes = gone.max_nodes = 0;
        gone.name = helio_arena_text(self->effects->arena, gone.name); /* the former profile is freed in this step */
        gone.gpu = helio_arena_text(self->effects->arena, gone.gpu);
        pool_row(self, site, &gone);
    }
}

/*  Whether the pools are those of the last session, so that what is held there still is. Their prices can differ. */
static bool has_same_pools(const site_t *site)
{
    const helio_site_profile_t *profile = &site->profile;
    bool same = site->pool_count == profile->pools.count;
    for (uint32_t i = 0; same && i < site->pool_count; i++)
        same = helio_text_equal(site->pools[i].info.name, profile->pools.items[i].name) &&
               site->pools[i].info.gpus_per_node == profile->pools.items[i].gpus_per_node;
    return same;
}

typedef struct kept_window {
    job_class_t *class;
    helio_text_t pool; /* a view of the former profile */
    int64_t start_ms;
    uint32_t gpus;
} kept_window_t;

/*  A new leader loads pools in another order than that of the profile, which decides between equally good ones. So what
 *  classes wait for is found again by name. */
static void replace_pools(helio_broker_core_t *self, site_t *site)
{
    uint32_t count = 0;
    kept_window_t *kept = helio_new(HASH_COUNT(self->classes) + 1, sizeof *kept);
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->window.site == site)
            kept[count++] =
                (kept_window_t){class, class->window.pool->info.name, class->window.start_ms, class->window.gpus};
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->grows.site == site)
            class->grows = (growth_t){0};
    core_site_pools_free(self, site);
    site->pool_count = site->profile.pools.count;
    site->pools = helio_new(site->pool_count, sizeof *site->pools);
    for (uint32_t i = 0; i < site->pool_count; i++)
        for (uint32_t k = 0; k < count; k++)
            if (helio_text_equal(site->profile.pools.items[i].name, kept[k].pool))
                core_window_set(kept[k].class, site, &site->pools[i], kept[k].start_ms, kept[k].gpus);
    free(kept);
}

/*  The profile can differ from that of the last session. Jobs at the site keep their pool by its name. */
void core_site_take_profile(helio_broker_core_t *self, site_t *site, const helio_site_profile_t *profile)
{
    helio_arena_t *arena = helio_arena_new();
    helio_record_copy(&helio_site_profile_type, arena, profile, &site->profile);
    site->profile.name = helio_text_of(site->name); /* the principal, whatever the message contains */
    core_profile_bound(&site->profile);
    helio_site_tenants_sort(&site->profile); /* so that the order in the message does not matter */
    close_rows(self, site);
    if (!has_same_pools(site))
        replace_pools(self, site);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        site->pools[i].info = site->profile.pools.items[i];
        site->pools[i].penalty_until_ms = 0; /* a new session is offered jobs at once */
        core_pool_bound(&site->pools[i].info);
        self->queues_told = self->queues_told || site->pools[i].info.elastic;
        pool_row(self, site, &site->pools[i].info);
    }
    core_pool_options_bound(site);
    core_pool_forecasts_drop(site);
    core_pools_changed(self);
    core_facts_changed(self, site);
    helio_arena_destroy(&site->arena);
    site->arena = arena;
    site->history_version++;
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        job->pool = core_pool_find(site, helio_text_of(core_job_pool(job)));
        job->counted = false;
        job->dispatch_seq = 0;
    }
}
