/*  needs.h -- needs: what waiting classes require of pools. Classes that fit the same pools in the same way share one
 *  need, so whether any pool has room for them is found once for all of them. */
#ifndef HELIO_BROKER_CORE_STATE_NEEDS_H
#define HELIO_BROKER_CORE_STATE_NEEDS_H

#include <uthash.h>

#include "broker/core/state/nouns.h"

typedef struct need_place {
    site_t *site;
    pool_t *pool;
    uint32_t gpus_per_node;
} need_place_t;

/*  Freed with its last line. Pools are followed only while the set of pools (pools_version) stands. */
struct need {
    uint64_t hash; /* of what follows, keyed */
    line_t *lines; /* of the accounts whose classes have it: lines.h */
    uint32_t nodes, cpus;
    uint64_t memory_bytes;
    uint32_t least_gpus;       /* over all nodes, at the place that takes the fewest */
    uint64_t capacity_version; /* of the next: */
    uint32_t full;             /* so many of its first places have no room */
    uint64_t tiers_version;    /* of the next: */
    uint32_t lowest_tier;      /* of the jobs at its places (round/blocked.c) */
    UT_hash_handle hh;
    uint32_t count;
    need_place_t places[];
};

/*  The need of a class, from its options that can start now. The caller enters the class in a line of it, or frees
 *  it. */
need_t *core_need_get(helio_broker_core_t *self, const helio_requirement_t *want, const option_t *options,
                      uint32_t feasible);
void core_need_free(helio_broker_core_t *self, need_t *need); /* unless it has lines */
/*  Whether one of its pools has free nodes for it, even if only other jobs can have them. */
bool core_need_has_room(helio_broker_core_t *self, need_t *need);

#endif
