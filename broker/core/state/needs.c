/*  needs.c -- what waiting classes ask of pools, each combination once. */
#include "broker/core/state/needs.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/state/core.h"

static bool is_same(const need_t *a, const need_t *b)
{
    return a->nodes == b->nodes && a->cpus == b->cpus && a->memory_bytes == b->memory_bytes && a->count == b->count &&
           memcmp(a->places, b->places, a->count * sizeof *a->places) == 0;
}

/*  Options are in order of preference; equal needs have their places in one order. */
static int by_pool(const void *a_, const void *b_)
{
    const need_place_t *a = a_, *b = b_;
    return (a->pool > b->pool) - (a->pool < b->pool);
}

static uint64_t hash_of(const helio_broker_core_t *self, const need_t *need)
{
    const uint64_t terms[] = {need->nodes, need->cpus, need->memory_bytes};
    uint64_t hash = helio_keyed_hash(&self->secret, terms, sizeof terms);
    helio_hash_key_t chained = {{self->secret.words[0] ^ hash, self->secret.words[1]}};
    return helio_keyed_hash(&chained, need->places, need->count * sizeof *need->places);
}

need_t *core_need_get(helio_broker_core_t *self, const helio_requirement_t *want, const option_t *options,
                      uint32_t feasible)
{
    need_t *need = helio_new(1, sizeof *need + feasible * sizeof *need->places), *known;
    need->nodes = want->nodes;
    need->cpus = want->cpus;
    need->memory_bytes = want->memory_bytes;
    need->count = feasible;
    need->least_gpus = UINT32_MAX;
    for (uint32_t i = 0; i < feasible; i++) {
        need_place_t *place = &need->places[i]; /* member by member: padding stays zero, and is hashed */
        place->site = options[i].site;
        place->pool = options[i].pool;
        place->gpus_per_node = options[i].c.gpus_per_node;
        uint32_t gpus = options[i].c.gpus_per_node * want->nodes;
        need->least_gpus = gpus < need->least_gpus ? gpus : need->least_gpus;
    }
    qsort(need->places, feasible, sizeof *need->places, by_pool);
    need->hash = hash_of(self, need);
    for (;; need->hash++) { /* if hashes collide, it gets the next free one */
        HASH_FIND(hh, self->needs, &need->hash, sizeof need->hash, known);
        if (!known || is_same(known, need))
            break;
    }
    if (known) {
        free(need);
        need = known;
    } else {
        HASH_ADD(hh, self->needs, hash, sizeof need->hash, need);
    }
    return need;
}

void core_need_free(helio_broker_core_t *self, need_t *need)
{
    if (need->lines)
        return;
    HASH_DEL(self->needs, need);
    free(need);
}

/*  Room grows only with the capacity's version, so a place that was full stays full until then. */
bool core_need_has_room(helio_broker_core_t *self, need_t *need)
{
    if (need->capacity_version != self->capacity_version) {
        need->capacity_version = self->capacity_version;
        need->full = 0;
    }
    for (; need->full < need->count; need->full++) {
        const need_place_t *place = &need->places[need->full];
        if (core_room_fits(place->pool, &place->pool->free, need->nodes, place->gpus_per_node, need->cpus,
                           need->memory_bytes))
            return true;
    }
    return false;
}
