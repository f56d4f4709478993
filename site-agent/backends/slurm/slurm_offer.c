/*  slurm_offer.c -- what the cluster's figures let the site offer: its capacity and the series of free GPUs. Nothing is
 *  offered while the controller is silent. */
#include "federation/reason/detail.h"
#include "site-agent/backends/slurm/slurm_internal.h"
#include "site-agent/core/capacity.h"

enum {
    CLUSTER_FAILURES = 3,
    SILENT_MS = 12000,         /* since the first query without an answer; squeue itself gives up after 9 s */
    CLUSTER_SILENT_MS = 30000, /* for figures of nodes */
    SERIES_LEAST_MS = 60000,
    SERIES_MOST_MS = 600000,
    SERIES_HOURS = 48
};

/*  Submitted, and not contained in what the nodes' figures show as in use. */
static bool is_waiting(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_poll_t *poll = &attempt->backend->poll;
    if (attempt->phase >= HELIO_SLURM_AT_LEAVING || attempt->closed || attempt->noticed_ms || attempt->nodes == 0 ||
        (attempt->phase == HELIO_SLURM_AT_LOOKING && !attempt->to_start))
        return false;
    return attempt->holds_list == 0 || attempt->holds_list > poll->nodes_after;
}

static void say_series(helio_slurm_t *self, const helio_slurm_view_t *view, helio_arena_t *arena)
{
    helio_slurm_poll_t *poll = &self->poll;
    int64_t age_ms = self->now_boot_ms - poll->series_ms;
    if (!self->sink.on_series || (poll->series_ms && age_ms < SERIES_LEAST_MS))
        return;
    helio_aev_series_t all;
    uint64_t hash = HELIO_HASH_SEED;
    helio_slurm_free_series(view, SERIES_HOURS, arena, &all);
    for (uint32_t i = 0; i < all.series.count; i++)
        hash = helio_hash(hash, all.series.items[i].values.items,
                          all.series.items[i].values.count * sizeof *all.series.items[i].values.items);
    if (poll->series_ms && hash == poll->series_hash && age_ms < SERIES_MOST_MS)
        return;
    poll->series_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    poll->series_hash = hash;
    self->sink.on_series(self->sink.arg, &all);
}

/*  The oldest first, as Slurm will start them. */
static const helio_slurm_waiting_t *waiting_of(const helio_slurm_t *self, helio_arena_t *arena, uint32_t *ret_count)
{
    helio_slurm_waiting_t *all = helio_arena_alloc(arena, self->attempts.count + 1, sizeof *all);
    uint32_t at = self->attempts.count; /* the list has the newest first */
    for (const helio_slurm_attempt_t *attempt = helio_slurm_first(self); attempt; attempt = helio_slurm_after(attempt))
        if (is_waiting(attempt))
            all[--at] = (helio_slurm_waiting_t){.pool = helio_text_of(attempt->pool),
                                                .nodes = attempt->nodes,
                                                .gpus_per_node = attempt->gpus_per_node,
                                                .cpus_per_node = attempt->cpus_per_node,
                                                .memory_bytes_per_node = attempt->memory_bytes_per_node};
    *ret_count = self->attempts.count - at;
    return all + at;
}

/*  Logs once when the controller stops answering, and once when it answers again. */
static void say_silence(helio_slurm_t *self, bool silent)
{
    helio_silence_report(&self->poll.silence, &self->sink, silent, self->poll.unanswered_ms, self->now_boot_ms);
}

static void say_capacity(helio_slurm_t *self)
{
    helio_slurm_poll_t *poll = &self->poll;
    helio_arena_t *arena = helio_arena_new();
    uint32_t count;
    const helio_slurm_waiting_t *waiting = waiting_of(self, arena, &count);
    helio_slurm_view_t view = {.site = &self->site,
                               .settings = &self->settings,
                               .nodes = &poll->nodes,
                               .partitions = &poll->partitions,
                               .reservations = &poll->reservations,
                               .jobs = &poll->jobs,
                               .waiting = waiting,
                               .waiting_count = count,
                               .wall_ms = self->now_wall_ms};
    if (poll->cluster[HELIO_SLURM_ASK_QOS].have && poll->enforced && poll->users) {
        view.rules = &self->rules;
        view.associations = &poll->associations;
        view.qos = &poll->qos;
    }
    view.ahead = helio_slurm_ahead(self, arena, &view.ahead_count);
    poll->ahead_hash = helio_slurm_ahead_hash(view.ahead, view.ahead_count);
    poll->ahead_pools = 0;
    for (uint32_t i = 0; i < view.ahead_count; i++)
        if (view.ahead[i].nodes)
            poll->ahead_pools |= UINT64_C(1) << helio_site_pool_index(&self->site, view.ahead[i].pool) % 64;
    helio_aev_capacity_t capacity;
    helio_slurm_capacity(&view, arena, &capacity);
    say_silence(self, false);
    if (self->sink.on_capacity)
        self->sink.on_capacity(self->sink.arg, &capacity);
    say_series(self, &view, arena);
    helio_arena_destroy(&arena);
}

/*  The free capacity is unknown, so none is offered. */
static void say_nothing_free(helio_slurm_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_aev_capacity_t capacity = {0};
    capacity.pools.count = self->site.pools.count;
    capacity.pools.items = helio_arena_alloc(arena, capacity.pools.count + 1, sizeof *capacity.pools.items);
    for (uint32_t i = 0; i < capacity.pools.count; i++) {
        const helio_pool_t *pool = &self->site.pools.items[i];
        helio_pool_capacity_t *one = &capacity.pools.items[i];
        one->pool = pool->name;
        one->withheld = HELIO_DETAIL_WITHHELD_SCHEDULER;
        one->free_nodes.count = pool->gpus_per_node + 1;
        one->free_nodes.items = helio_arena_alloc(arena, one->free_nodes.count, sizeof(uint32_t));
    }
    say_silence(self, true);
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        self->poll.cluster[i].have = false; /* old figures are not offered when it answers again */
    if (self->sink.on_capacity)
        self->sink.on_capacity(self->sink.arg, &capacity);
    helio_arena_destroy(&arena);
}

/*  squeue alone is not enough: figures of nodes that are not renewed would be offered for ever. */
static bool is_silent(const helio_slurm_t *self)
{
    const helio_slurm_poll_t *poll = &self->poll;
    return (poll->unanswered_ms && self->now_boot_ms - poll->unanswered_ms >= SILENT_MS) ||
           (poll->cluster_failures >= CLUSTER_FAILURES &&
            self->now_boot_ms - poll->cluster[HELIO_SLURM_ASK_NODES].at_ms >= CLUSTER_SILENT_MS);
}

void helio_slurm_offer_serve(helio_slurm_t *self)
{
    helio_slurm_poll_t *poll = &self->poll;
    bool known = true;
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        known = known && (poll->cluster[i].have || helio_slurm_is_optional((helio_slurm_asked_t)i));
    if (is_silent(self)) {
        if (poll->capacity_due || !poll->silence.silent) {
            poll->capacity_due = false;
            say_nothing_free(self);
        }
    } else if (poll->capacity_due && known && poll->jobs_answer.have) {
        poll->capacity_due = false;
        say_capacity(self);
    }
}

int64_t helio_slurm_offer_next_ms(const helio_slurm_t *self)
{
    const helio_slurm_poll_t *poll = &self->poll;
    return !poll->silence.silent && poll->unanswered_ms ? poll->unanswered_ms + SILENT_MS : INT64_MAX;
}
