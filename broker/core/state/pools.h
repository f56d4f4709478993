/*  pools.h -- pools: what is free there, by counts of nodes. */
#ifndef HELIO_BROKER_CORE_STATE_POOLS_H
#define HELIO_BROKER_CORE_STATE_POOLS_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/model/job.h"
#include "federation/model/site.h"
#include "federation/policy/pool_forecast.h"
#include "federation/policy/requirement.h"

/*  What is believed free now: the last summary, less what was placed since. */
typedef struct free_nodes {
    uint32_t by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1]; /* nodes with exactly k GPUs free */
    uint64_t cpus;
    uint64_t memory_bytes;
} free_nodes_t;

/*  Room that comes back: nodes by the number of GPUs that are given back on each. */
typedef struct room {
    uint32_t nodes_by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1];
    uint64_t cpus;
    uint64_t memory_bytes;
} room_t;

enum {
    PROMISE_HOURS = 128, /* the hours ahead that a window can take: its start within 48, and 48 of its run */
    WAITS_MAX = 16
};

/*  A gang at the head of its turn waits for nodes of this pool: others may pass only if they do not delay it. */
typedef struct reservation {
    job_class_t *class; /* NULL = none */
    const site_t *site;
    int64_t at_ms;      /* wall clock, when enough is expected to be free */
    bool known; /* what comes back until then suffices; else the site's own word has it, and nothing can be spared */
    uint32_t gpus_per_node;
    room_t back; /* until at_ms */
} reservation_t;

struct pool {
    helio_pool_t info;
    site_window_t *site_window; /* NULL = never was anything */
    priced_hour_t *priced_hour; /* PRICED_HOURS by hour since 1970 modulo; NULL until the first end */
    helio_pool_forecast_t *pool_forecast; /* made when first asked for; stands for pool_forecast_hour_ms */
    int64_t pool_forecast_hour_ms;  /* 0 = must be made anew */
    reservation_t reservation;
    expected_end_t *expected_ends; /* ascending; of round expected_ends_round */
    uint32_t expected_end_count, expected_end_capacity;
    uint64_t expected_ends_round;
    uint32_t preemptions; /* under way here */
    preemptible_t *preemptible;       /* of round preemptible_round */
    uint32_t preemptible_count, preemptible_capacity;
    uint64_t preemptible_round;
    uint32_t preemptible_lowest_tier; /* of those; the least of all if one leaves already */
    uint64_t waited_round; /* somebody in line could use it (migrate.c): of that round */
    bool waited_for;
    uint32_t promised_gpus[PROMISE_HOURS]; /* to windows, by hour since 1970 modulo */
    uint32_t waits_s[WAITS_MAX]; /* the site's own word: until 1, 2, 4, ... whole nodes; UINT32_MAX = not foreseeable */
    uint32_t wait_count;
    free_nodes_t figured;  /* as the site said last */
    free_nodes_t free;     /* that, less what was placed since: what decisions use */
    free_nodes_t believed; /* scratch of a rebase */
    helio_pool_capacity_t last; /* figures of the last summary, views not used */
    int64_t written_ms;
    int64_t sampled_ms;
    int64_t penalty_until_ms;
    int64_t doubtful_until_ms;
    uint32_t failures_in_row;
};

bool core_pool_take(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
void core_pool_give(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
uint32_t core_pool_gpus_free(const pool_t *pool);
/*  GPUs that windows of the site keep there at present: at most those that are up. */
uint32_t core_site_window_gpus(const helio_broker_core_t *self, const site_t *site, const pool_t *pool);
/*  The same on figures that need not be the pool's own. */
bool core_room_fits(const pool_t *pool, const free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
bool core_room_take(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
void core_room_give(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
void core_room_add(room_t *room, uint32_t nodes, uint32_t gpus, const helio_requirement_t *want);
void core_room_return(const pool_t *pool, free_nodes_t *free_now, const room_t *room); /* to the fullest nodes */
pool_t *core_pool_find(site_t *site, helio_text_t name);

#endif
