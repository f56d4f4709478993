/*  summary.c -- what the site offers now: everything at first, then the differences from the summary before. An empty
 *  change is sent too: it is the sign of life, and carries the last dispatch that the figures contain. */
#include "site-agent/core/summary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "federation/reason/detail.h"
#include "site-agent/core/reports.h"

/*  A frame holds 1 MiB; a series of 192 points with its band takes about 5 KiB. The rest follows with the next
 *  summary. */
enum { SERIES_PER_SUMMARY = 64 };

struct helio_summary {
    uint64_t seq;
    bool full; /* the next summary is a full one */
    helio_arena_t *sent_arena, *spare_arena;
    helio_pool_capacity_t *sent_pools; /* as last sent in this session */
    uint32_t sent_count;
    helio_arena_t *series_arena;
    helio_aev_series_t series;
    bool *series_sent;
    helio_arena_t *reported_arena; /* CAPACITY of a backend with a scheduler of its own */
    helio_aev_capacity_t reported;
};

helio_summary_t *helio_summary_new(void)
{
    helio_summary_t *self = helio_new(1, sizeof *self);
    self->sent_arena = helio_arena_new();
    self->spare_arena = helio_arena_new();
    self->reported_arena = helio_arena_new();
    self->series.power_w = -1;
    self->full = true;
    return self;
}

void helio_summary_destroy(helio_summary_t **self_p)
{
    helio_summary_t *self = *self_p;
    if (!self)
        return;
    helio_arena_destroy(&self->sent_arena);
    helio_arena_destroy(&self->spare_arena);
    helio_arena_destroy(&self->reported_arena);
    helio_arena_destroy(&self->series_arena);
    free(self->series_sent);
    free(self);
    *self_p = NULL;
}

static void count_jobs(const helio_agent_core_t *self, helio_pool_capacity_t *pools)
{
    for (const helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next) {
        if (attempt->over || attempt->start_due)
            continue;
        uint32_t p = helio_site_pool_index(&self->profile, attempt->order.pool);
        if (p != UINT32_MAX)
            pools[p].jobs_running++;
    }
}

/*  An attempt of unknown size runs here, or what runs here is unknown, or will be: so is which GPUs, CPUs and memory are
 *  in use. No node is offered. */
static void offer_nothing(helio_pool_capacity_t *pool)
{
    pool->gpus_allocated = pool->gpus_total;
    pool->cpus_free = 0;
    pool->memory_free_bytes = 0;
    for (uint32_t k = 0; k < pool->free_nodes.count; k++)
        pool->free_nodes.items[k] = 0;
}

static bool offers(const helio_pool_capacity_t *pool, const helio_pool_t *profile)
{
    for (uint32_t k = profile->gpus_per_node > 0; k < pool->free_nodes.count; k++)
        if (pool->free_nodes.items[k] && (k || pool->cpus_free))
            return true;
    return false;
}

/*  Why nothing of a pool is offered, where it is not the federation that uses all of it. */
static uint32_t withheld(const helio_agent_core_t *self, const helio_pool_capacity_t *pool)
{
    helio_pool_use_t use = {0};
    uint32_t p = helio_site_pool_index(&self->profile, pool->pool);
    if (self->state_gone)
        return HELIO_DETAIL_WITHHELD_STATE_GONE;
    if (!self->surveyed)
        return HELIO_DETAIL_WITHHELD_SURVEY;
    if (self->capacity && self->attempts.found)
        return HELIO_DETAIL_WITHHELD_UNKNOWN_RUN;
    if (pool->withheld || p == UINT32_MAX || offers(pool, &self->profile.pools.items[p]))
        return pool->withheld; /* the backend knows */
    if (!pool->nodes_up)
        return HELIO_DETAIL_WITHHELD_NODES;
    if (pool->gpus_reserved)
        return HELIO_DETAIL_WITHHELD_RESERVED;
    if (self->capacity && self->gpus_gone[p])
        return HELIO_DETAIL_WITHHELD_GONE;
    (void)helio_agent_core_pool_use(self, p, &use);
    return use.others || (self->capacity && helio_capacity_of_others(self->capacity, p)) ? HELIO_DETAIL_WITHHELD_OTHERS
                                                                                         : HELIO_DETAIL_NONE;
}

/*  As the backend has reported them last, whose lists they share. Until all that it holds is known, and when it will be
 *  forgotten, none is taken as it says: an entry without figures says why. */
static uint32_t reported_pools(const helio_agent_core_t *self, helio_pool_capacity_t **ret_pools)
{
    const helio_aev_capacity_t *reported = &self->summary->reported;
    bool counts = self->surveyed && !self->state_gone;
    uint32_t count = counts ? reported->pools.count : self->profile.pools.count;
    helio_pool_capacity_t *pools = helio_arena_alloc(self->effects->arena, count, sizeof *pools);
    for (uint32_t i = 0; i < count; i++)
        pools[i] =
            counts ? reported->pools.items[i] : (helio_pool_capacity_t){.pool = self->profile.pools.items[i].name};
    *ret_pools = pools;
    return count;
}

static uint32_t allocated_pools(const helio_agent_core_t *self, helio_pool_capacity_t **ret_pools)
{
    uint32_t count = self->profile.pools.count;
    helio_pool_capacity_t *pools = helio_arena_alloc(self->effects->arena, count, sizeof *pools);
    for (uint32_t p = 0; p < count; p++) {
        helio_capacity_pool(self->capacity, p, self->effects->arena, &pools[p]);
        if (self->attempts.found || !self->surveyed || self->state_gone)
            offer_nothing(&pools[p]);
    }
    count_jobs(self, pools);
    *ret_pools = pools;
    return count;
}

static uint32_t current_pools(const helio_agent_core_t *self, helio_pool_capacity_t **ret_pools)
{
    uint32_t count = self->capacity ? allocated_pools(self, ret_pools) : reported_pools(self, ret_pools);
    for (uint32_t i = 0; i < count; i++)
        (*ret_pools)[i].withheld = withheld(self, &(*ret_pools)[i]);
    return count;
}

bool helio_agent_core_pool_use(const helio_agent_core_t *self, uint32_t pool, helio_pool_use_t *ret_use)
{
    assert(pool < self->profile.pools.count);
    helio_pool_use_t use = {0};
    uint32_t allocated = 0;
    bool known = self->capacity != NULL;
    const helio_pool_t *info = &self->profile.pools.items[pool];
    use.total = info->nodes * info->gpus_per_node;
    for (uint32_t i = 0; !self->capacity && i < self->summary->reported.pools.count; i++)
        if (helio_text_equal(self->summary->reported.pools.items[i].pool, info->name)) {
            known = true;
            use.total = self->summary->reported.pools.items[i].gpus_total;
            allocated = self->summary->reported.pools.items[i].gpus_allocated;
        }
    for (const helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next)
        if (!attempt->over && attempt->started_wall_ms && helio_text_equal(attempt->order.pool, info->name))
            use.ours += attempt->order.nodes * attempt->order.gpus_per_node;
    use.others = allocated > use.ours ? allocated - use.ours : 0;
    if (known)
        *ret_use = use;
    return known;
}

static bool was_sent(const helio_agent_core_t *self, const helio_pool_capacity_t *pool)
{
    for (uint32_t i = 0; i < self->summary->sent_count; i++)
        if (helio_record_equal(&helio_pool_capacity_type, &self->summary->sent_pools[i], pool))
            return true;
    return false;
}

static void keep_sent(helio_agent_core_t *self, const helio_pool_capacity_t *pools, uint32_t count)
{
    helio_arena_t *arena = self->summary->spare_arena;
    self->summary->spare_arena = self->summary->sent_arena;
    self->summary->sent_arena = arena;
    helio_arena_reset(arena);
    self->summary->sent_pools = helio_arena_alloc(arena, count, sizeof *self->summary->sent_pools);
    self->summary->sent_count = count;
    for (uint32_t i = 0; i < count; i++)
        helio_record_copy(&helio_pool_capacity_type, arena, &pools[i], &self->summary->sent_pools[i]);
}

/*  As measured by telemetry, or else modelled from the pools: allocated GPUs at full use, the others idle. */
static double power_w(const helio_agent_core_t *self, const helio_pool_capacity_t *pools, uint32_t count)
{
    if (self->summary->series.power_w > 0)
        return self->summary->series.power_w;
    double sum = 0;
    bool known = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = helio_site_pool_index(&self->profile, pools[i].pool);
        if (p == UINT32_MAX)
            continue;
        const helio_pool_t *pool = &self->profile.pools.items[p];
        double busy_w = pool->host_w + pool->base_w + pool->slope_w;
        known = known || busy_w > 0 || pool->idle_w > 0;
        uint32_t allocated =
            pools[i].gpus_allocated < pools[i].gpus_total ? pools[i].gpus_allocated : pools[i].gpus_total;
        sum += busy_w * allocated + pool->idle_w * (pools[i].gpus_total - allocated);
    }
    return known ? sum : -1;
}

static void add_series(helio_agent_core_t *self, helio_site_summary_t *summary)
{
    if (self->summary->full && self->summary->series.series.count)
        memset(self->summary->series_sent, 0, self->summary->series.series.count * sizeof(bool));
    uint32_t count = self->summary->series.series.count;
    summary->series.items = helio_arena_alloc(self->effects->arena, SERIES_PER_SUMMARY, sizeof *summary->series.items);
    for (uint32_t i = 0; i < count && summary->series.count < SERIES_PER_SUMMARY; i++)
        if (!self->summary->series_sent[i]) {
            summary->series.items[summary->series.count++] = self->summary->series.series.items[i];
            self->summary->series_sent[i] = true;
        }
}

void helio_summary_send(helio_agent_core_t *self)
{
    assert(helio_session_is_open(self));
    helio_pool_capacity_t *pools = NULL;
    uint32_t count = current_pools(self, &pools);
    const helio_session_t *session = &self->session;
    helio_site_summary_t summary = {
        .wall_ms = self->event->wall_ms,
        .base_seq = self->summary->full ? 0 : self->summary->seq,
        .dispatch_seen = self->capacity ? session->dispatch_seen : session->dispatch_reported,
        .power_w = power_w(self, pools, count),
        .reports_pending = helio_reports_count(self)};
    summary.seq = ++self->summary->seq;
    summary.pools.items = helio_arena_alloc(self->effects->arena, count, sizeof *pools);
    for (uint32_t i = 0; i < count; i++)
        if (self->summary->full || !was_sent(self, &pools[i]))
            summary.pools.items[summary.pools.count++] = pools[i];
    add_series(self, &summary);
    keep_sent(self, pools, count);
    self->summary->full = false;
    helio_agent_emit(self, HELIO_AGENT_FX_SEND_SUMMARY, &summary);
}

static bool same_name(const helio_series_t *a, const helio_series_t *b)
{
    return a->signal == b->signal && helio_text_equal(a->pool, b->pool) && helio_text_equal(a->kind, b->kind) &&
           helio_text_equal(a->factor, b->factor);
}

static const helio_series_t *find_series(const helio_aev_series_t *in, const helio_series_t *wanted,
                                         uint32_t *ret_index)
{
    for (uint32_t i = 0; i < in->series.count; i++)
        if (same_name(&in->series.items[i], wanted)) {
            *ret_index = i;
            return &in->series.items[i];
        }
    return NULL;
}

/*  Unchanged parts are not sent again; only a full summary can report that something vanished. */
void helio_summary_series(helio_agent_core_t *self, const helio_aev_series_t *series)
{
    helio_arena_t *arena = helio_arena_new();
    helio_aev_series_t fresh;
    helio_record_copy(&helio_aev_series_type, arena, series, &fresh);
    bool *sent = helio_new(fresh.series.count, sizeof *sent);
    uint32_t index = 0;
    for (uint32_t i = 0; i < fresh.series.count; i++) {
        const helio_series_t *old = find_series(&self->summary->series, &fresh.series.items[i], &index);
        sent[i] = old && self->summary->series_sent[index] &&
                  helio_record_equal(&helio_series_type, old, &fresh.series.items[i]);
    }
    for (uint32_t i = 0; i < self->summary->series.series.count; i++)
        if (!find_series(&fresh, &self->summary->series.series.items[i], &index))
            self->summary->full = true;
    helio_arena_destroy(&self->summary->series_arena);
    free(self->summary->series_sent);
    self->summary->series_arena = arena;
    self->summary->series = fresh;
    self->summary->series_sent = sent;
}

static bool names(const helio_aev_capacity_t *capacity, helio_text_t pool)
{
    for (uint32_t i = 0; i < capacity->pools.count; i++)
        if (helio_text_equal(capacity->pools.items[i].pool, pool))
            return true;
    return false;
}

static uint64_t free_gpus(const helio_pool_capacity_t *pool)
{
    uint64_t sum = 0;
    for (uint32_t k = 1; k < pool->free_nodes.count; k++)
        sum += (uint64_t)k * pool->free_nodes.items[k];
    return sum;
}

bool helio_summary_offers_more(const helio_agent_core_t *core)
{
    const helio_summary_t *self = core->summary;
    for (uint32_t i = 0; i < self->reported.pools.count; i++) {
        const helio_pool_capacity_t *now = &self->reported.pools.items[i];
        for (uint32_t k = 0; k < self->sent_count; k++) {
            const helio_pool_capacity_t *sent = &self->sent_pools[k];
            if (helio_text_equal(now->pool, sent->pool) && sent->free_nodes.count && free_gpus(now) > free_gpus(sent))
                return true;
        }
    }
    return false;
}

void helio_summary_capacity(helio_agent_core_t *self, const helio_aev_capacity_t *capacity)
{
    for (uint32_t i = 0; i < self->summary->reported.pools.count; i++)
        if (!names(capacity, self->summary->reported.pools.items[i].pool))
            self->summary->full = true; /* a change cannot report that a pool is gone */
    /* Effects of this step can borrow the reported pools, so the former ones live until the next event. */
    helio_arena_reset(self->summary->reported_arena);
    helio_record_copy(&helio_aev_capacity_type, self->summary->reported_arena, capacity, &self->summary->reported);
    self->session.dispatch_reported = self->session.dispatch_started;
}

void helio_summary_forget_session(helio_agent_core_t *self)
{
    self->summary->seq = 0;
    self->summary->full = true;
    self->summary->sent_count = 0;
}

void helio_summary_ask_all(helio_agent_core_t *self)
{
    self->summary->full = true;
}
