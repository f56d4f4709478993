/*  summary.c -- a site's summary: its free capacity, its power and its pending reports. */
#include "broker/core/sites/summary.h"

#include <math.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/sites/clocks.h"
#include "broker/core/sites/demand.h"
#include "broker/core/sites/pool_options.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/sites/series.h"
#include "broker/core/sites/sessions.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum {
    REPORTS_PENDING_MAX = 1000000000, /* a larger figure counts as this one */
    CAPACITY_SAMPLE_MS = 60000
};

/*  What a local scheduler reserves and what windows reserve can be the same GPUs. */
static uint32_t reserved_gpus(const helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    uint32_t kept = core_site_window_gpus(self, site, pool), told = core_count_bound(pool->last.gpus_reserved);
    return core_count_bound(kept > told ? kept : told);
}

/*  The reasons for which a site offers nothing of a pool: WITHHELD_* of the catalogue. */
static bool is_withheld(uint32_t code)
{
    static const uint32_t codes[] = {
        HELIO_DETAIL_WITHHELD_SURVEY,     HELIO_DETAIL_WITHHELD_UNKNOWN_RUN, HELIO_DETAIL_WITHHELD_SCHEDULER,
        HELIO_DETAIL_WITHHELD_NODES,      HELIO_DETAIL_WITHHELD_RESERVED,    HELIO_DETAIL_WITHHELD_OTHERS,
        HELIO_DETAIL_WITHHELD_STATE_GONE, HELIO_DETAIL_WITHHELD_PARTITION,   HELIO_DETAIL_WITHHELD_LIMITS,
        HELIO_DETAIL_WITHHELD_SHARED,     HELIO_DETAIL_WITHHELD_GONE};
    bool found = false;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        found = found || codes[i] == code;
    return found;
}

/*  What the agent says, if it is such a reason; a newer agent may have others. Windows are not among them: its series
 *  say what they reserve, and until when. */
static helio_details_t why_withheld(helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    if (is_withheld(pool->last.withheld))
        return CORE_WHY0(self, (helio_detail_code_t)pool->last.withheld);
    if (core_pool_gpus_free(pool) && core_site_window_gpus(self, site, pool) >= pool->last.gpus_total)
        return CORE_WHY0(self, HELIO_DETAIL_WITHHELD_RESERVED);
    return (helio_details_t){0};
}

/*  Sites also offer what will be free within moments. */
static uint32_t free_gpus(const pool_t *pool)
{
    uint32_t offered = core_pool_gpus_free(pool), used = pool->last.gpus_allocated, total = pool->last.gpus_total;
    uint32_t unused = used < total ? total - used : 0;
    return core_count_bound(offered < unused ? offered : unused);
}

static uint32_t largest_block(const pool_t *pool)
{
    uint32_t best = 0, nodes = 0, unused = free_gpus(pool);
    for (uint32_t k = pool->info.gpus_per_node; k > 0; k--) {
        nodes += pool->free.by_gpus[k];
        best = k * nodes > best ? k * nodes : best;
    }
    return best < unused ? best : unused;
}

static void write_capacity(helio_broker_core_t *self, const site_t *site, pool_t *pool, double power_w)
{
    bool sample = !pool->sampled_ms || self->now_ms - pool->sampled_ms >= CAPACITY_SAMPLE_MS;
    helio_row_capacity_t row = {
        .site = helio_text_of(site->name),
        .pool = pool->info.name,
        .at_ms = self->wall_ms,
        .sample = sample,
        .nodes_up = core_count_bound(pool->last.nodes_up),
        .gpus_total = core_count_bound(pool->last.gpus_total),
        .gpus_allocated = core_count_bound(pool->last.gpus_allocated),
        .gpus_free = free_gpus(pool),
        .gpus_reserved = reserved_gpus(self, site, pool),
        .largest_block_gpus = core_count_bound(largest_block(pool)),
        .jobs_running = core_count_bound(pool->last.jobs_running),
        .jobs_queued = core_count_bound(pool->last.jobs_queued),
        .site_power_w = power_w < 0 ? -1 : fmin(power_w, helio_signal_range(HELIO_SIGNAL_POWER).most),
        .withheld = why_withheld(self, site, pool),
    };
    core_emit(self, HELIO_BROKER_FX_ROW_CAPACITY, &row);
    pool->written_ms = self->now_ms;
    if (sample)
        pool->sampled_ms = self->now_ms;
}

static bool take_figures(pool_t *pool, const helio_pool_capacity_t *figures, int64_t wall_ms)
{
    pool->figured = (free_nodes_t){.cpus = figures->cpus_free, .memory_bytes = figures->memory_free_bytes};
    for (uint32_t k = 0; k < figures->free_nodes.count && k <= HELIO_JOB_GPUS_PER_NODE_MAX; k++)
        pool->figured.by_gpus[k] = figures->free_nodes.items[k];
    bool changed = pool->last.gpus_allocated != figures->gpus_allocated || pool->last.nodes_up != figures->nodes_up ||
                   pool->last.jobs_running != figures->jobs_running || pool->last.jobs_queued != figures->jobs_queued ||
                   pool->last.gpus_reserved != figures->gpus_reserved || pool->last.withheld != figures->withheld;
    pool->last = *figures;
    pool->last.pool = (helio_text_t){0};
    pool->last.free_nodes = (helio_u32s_t){0};
    pool->last.expected_wait_s = (helio_u32s_t){0};
    pool->last.options.items = NULL;
    pool->last.options.count = 0;
    pool->wait_count = figures->expected_wait_s.count < WAITS_MAX ? figures->expected_wait_s.count : WAITS_MAX;
    for (uint32_t i = 0; i < pool->wait_count; i++)
        pool->waits_s[i] = figures->expected_wait_s.items[i];
    pool->waits_told_ms = wall_ms;
    return changed;
}

/*  Sets every pool to the site's own figures, less the jobs whose orders they do not include. Jobs that they include
 *  are counted by the site. Returns whether anything differs from what was assumed. */
static bool rebase(helio_broker_core_t *self, site_t *site, uint64_t dispatch_seen)
{
    bool differs = false;
    for (uint32_t i = 0; i < site->pool_count; i++) {
        site->pools[i].believed = site->pools[i].free;
        site->pools[i].free = site->pools[i].figured;
        differs = differs || site->pools[i].penalty_until_ms; /* after a refusal it can be offered jobs again */
        site->pools[i].penalty_until_ms = 0;
    }
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        const helio_requirement_t *want = &job->submission->class->want;
        if (job->pool)
            job->counted = job->dispatch_seq <= dispatch_seen ||
                           core_pool_take(job->pool, want->nodes, job->gpus_per_node, want->cpus, want->memory_bytes);
    }
    core_migrations_rebase(self, site);
    for (uint32_t i = 0; i < site->pool_count; i++)
        differs = differs || memcmp(&site->pools[i].believed, &site->pools[i].free, sizeof(free_nodes_t)) != 0;
    return differs;
}

static void ask_again(helio_broker_core_t *self, uint64_t peer, uint32_t rc, helio_text_t why)
{
    helio_fx_peer_t resync = {peer, rc, why};
    core_emit(self, HELIO_BROKER_FX_RESYNC, &resync);
}

void core_on_summary(helio_broker_core_t *self, const helio_ev_site_summary_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    const helio_site_summary_t *summary = &event->summary;
    if (!site || !site->inventory_closed)
        return;
    core_site_heard(self, site);
    if (summary->base_seq && summary->base_seq != site->summary_seq) {
        ask_again(self, event->peer, HELIO_PROTOCOL, HELIO_TEXT("a change did not follow its base"));
        return;
    }
    if (summary->base_seq && core_series_are_wanted(self, site)) {
        ask_again(self, event->peer, HELIO_BUSY, HELIO_TEXT("series came too often and were left out"));
        return;
    }
    if (summary->base_seq && core_pool_options_are_wanted(self, site)) {
        ask_again(self, event->peer, HELIO_BUSY,
                  HELIO_TEXT("partitions and features came too often and were left out"));
        return;
    }
    site->summary_seq = summary->seq;
    bool sane = summary->reports_pending < REPORTS_PENDING_MAX;
    site->reports_pending = sane ? summary->reports_pending : REPORTS_PENDING_MAX;
    site->clock_ahead_ms = core_clock_ahead_ms(self, summary->wall_ms);
    bool first = !site->capacity_known;
    for (uint32_t i = 0; i < summary->pools.count; i++) {
        pool_t *pool = core_pool_find(site, summary->pools.items[i].pool);
        if (!pool)
            continue;
        core_pool_options_take(self, site, pool, &summary->pools.items[i]);
        self->queues_told = self->queues_told || summary->pools.items[i].expected_wait_s.count;
        if (take_figures(pool, &summary->pools.items[i], self->wall_ms))
            pool->written_ms = 0;
    }
    if (rebase(self, site, summary->dispatch_seen) || first) {
        core_capacity_changed(self);
    }
    if (first)
        core_facts_changed(self, site);
    for (uint32_t i = 0; i < site->pool_count; i++)
        if (first || !site->pools[i].written_ms || self->now_ms - site->pools[i].written_ms >= CAPACITY_ROW_MS)
            write_capacity(self, site, &site->pools[i], summary->power_w);
    core_demand_tell(self, site);
    site->capacity_known = true;
    core_site_found(self, site);
    for (uint32_t i = 0; i < summary->series.count; i++)
        core_series_take(self, site, &summary->series.items[i]);
}
