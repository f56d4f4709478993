/*  offer.c -- what is free, for the broker. */
#include "federation/reason/detail.h"
#include "site-agent/backends/kubernetes/capacity.h"
#include "site-agent/backends/kubernetes/shell.h"

enum { OFFER_MS = 500 };

/*  What has no nodes yet, by the list that the figures are made of: what another answer has shown since is not in them. */
static const helio_kube_waiting_t *waiting_of(helio_kube_t *self, helio_arena_t *arena, uint32_t *ret_count)
{
    helio_kube_waiting_t *all = helio_arena_alloc(arena, HASH_COUNT(self->attempts) + 1, sizeof *all);
    for (const helio_kube_attempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next) {
        uint32_t bound = helio_kube_fleet_bound(self->fleet, helio_text_of(attempt->name));
        if (!attempt->over && !attempt->deleted && attempt->pool[0] && bound < attempt->nodes)
            all[(*ret_count)++] = (helio_kube_waiting_t){.pool = helio_text_of(attempt->pool),
                                                         .nodes = attempt->nodes - bound,
                                                         .gpus_per_node = attempt->gpus_per_node,
                                                         .cpus_per_node = attempt->cpus_per_node,
                                                         .memory_bytes_per_node = attempt->memory_bytes_per_node};
    }
    return all;
}

static void nothing(const helio_kube_t *self, helio_arena_t *arena, helio_aev_capacity_t *capacity)
{
    capacity->pools.count = self->site->pools.count;
    capacity->pools.items = helio_arena_alloc(arena, capacity->pools.count + 1, sizeof *capacity->pools.items);
    for (uint32_t i = 0; i < capacity->pools.count; i++) {
        helio_pool_capacity_t *one = &capacity->pools.items[i];
        one->pool = self->site->pools.items[i].name;
        one->withheld = HELIO_DETAIL_WITHHELD_SCHEDULER;
        one->free_nodes.count = self->site->pools.items[i].gpus_per_node + 1;
        one->free_nodes.items = helio_arena_alloc(arena, one->free_nodes.count, sizeof(uint32_t));
    }
}

static void compute(helio_kube_t *self, helio_arena_t *arena, helio_aev_capacity_t *capacity)
{
    uint32_t count = 0;
    const helio_kube_waiting_t *waiting = waiting_of(self, arena, &count);
    helio_kube_capacity(self->fleet, waiting, count, arena, capacity);
    for (uint32_t p = 0; p < capacity->pools.count && self->quota.known; p++) {
        helio_kube_quota_limit(&self->quota.pools[p], helio_kube_queue_waiting(self, capacity->pools.items[p].pool),
                               &capacity->pools.items[p]);
        helio_kube_expect(self, p, arena, &capacity->pools.items[p]);
    }
}

/*  Nothing before all lists are there, since others' use is not known, nor before the queue was asked for; and nothing
 *  while the API is silent. */
int64_t helio_kube_offer_due_ms(const helio_kube_t *self)
{
    bool listed = self->nodes.synced && self->pods.synced && self->jobs.synced;
    bool ready = self->silent || (listed && (self->quota_tried || !self->settings->queue.size));
    return self->offer && ready && self->sink.on_capacity ? self->offer_ms : INT64_MAX;
}

void helio_kube_offer(helio_kube_t *self)
{
    if (self->now_ms < helio_kube_offer_due_ms(self))
        return;
    helio_arena_t *arena = helio_arena_new();
    helio_aev_capacity_t capacity = {0};
    self->offer = false;
    self->offer_ms = self->now_ms + OFFER_MS;
    if (self->silent)
        nothing(self, arena, &capacity);
    else
        compute(self, arena, &capacity);
    self->sink.on_capacity(self->sink.arg, &capacity);
    helio_arena_destroy(&arena);
}
