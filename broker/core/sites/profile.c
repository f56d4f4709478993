/*  profile.c -- what a site says that it is: its pools come with it, and go with all that points at them. */
#include "broker/core/sites/profile.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/forecast/prices.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/sites/energy.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

/*  The pools go, and with them what classes hold there and what was judged of them. */
void core_site_pools_free(helio_broker_core_t *self, site_t *site)
{
    for (job_class_t *class = self->classes; class; class = class->hh.next) {
        if (class->window.site == site)
            core_window_clear(class);
        if (class->reserved >= site->pools && class->reserved < site->pools + site->pool_count)
            core_reserve_drop(class);
    }
    core_preempt_site_drop(self, site);
    core_migrations_site_drop(self, site);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        free(site->pools[i].preemptible);
        free(site->pools[i].site_window);
        free(site->pools[i].pool_forecast);
        free(site->pools[i].priced_hour);
        free(site->pools[i].expected_ends);
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
        core_accounted_free(site);
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
        .max_nodes = pool->max_nodes,
        .gpus_per_node = pool->gpus_per_node,
        .cpus_per_node = pool->cpus_per_node,
        .memory_bytes_per_node = pool->memory_bytes_per_node,
        .interconnect = pool->interconnect,
        .sharing = pool->sharing,
        .owned = pool->owned,
        .price_usd_per_gpu_h = pool->price_usd_per_gpu_h,
        .idle_w = pool->idle_w,
        .base_w = pool->base_w,
        .slope_w = pool->slope_w,
        .host_w = pool->host_w,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_POOL, &row);
}

/*  The profile may have changed since the last session; jobs that are there keep their pool by its name. */
void core_site_take_profile(helio_broker_core_t *self, site_t *site, const helio_site_profile_t *profile)
{
    helio_arena_t *arena = helio_arena_new();
    helio_record_copy(&helio_site_profile_type, arena, profile, &site->profile);
    site->profile.name = helio_text_of(site->name); /* the principal, whatever the message says */
    core_profile_bound(&site->profile);
    helio_site_tenants_sort(&site->profile); /* whatever the order in which it told them */
    core_site_pools_free(self, site);
    site->pool_count = site->profile.pools.count;
    site->pools = helio_new(site->pool_count, sizeof *site->pools);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        site->pools[i].info = site->profile.pools.items[i];
        core_pool_bound(&site->pools[i].info);
        pool_row(self, site, &site->pools[i].info);
    }
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
