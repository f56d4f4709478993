/*  pools.h -- pools: what is free there, as counts of nodes. */
#ifndef HELIO_BROKER_CORE_STATE_POOLS_H
#define HELIO_BROKER_CORE_STATE_POOLS_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/model/job.h"
#include "federation/model/site.h"
#include "federation/policy/pool_forecast.h"
#include "federation/policy/requirement.h"

/*  What counts as free now: the last summary, less what was placed since. */
typedef struct free_nodes {
    uint32_t by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1]; /* nodes with exactly k free GPUs */
    uint64_t cpus;
    uint64_t memory_bytes;
} free_nodes_t;

/*  Capacity that comes back: nodes by the number of GPUs that each gives back. */
typedef struct room {
    uint32_t nodes_by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1];
    uint64_t cpus;
    uint64_t memory_bytes;
} room_t;

enum {
    PROMISE_HOURS = 160, /* the hours ahead that a window can take: its start within 96, and 48 of its run */
    WAITS_MAX = 16
};

/*  A gang that is the head of its class waits for nodes of this pool. Other jobs can start there only if they do not
 *  delay it. */
typedef struct reservation {
    job_class_t *class; /* NULL = none */
    const site_t *site;
    int64_t at_ms; /* wall clock: when enough is expected to be free */
    bool known;    /* back suffices at at_ms; false: at_ms is the site's own figure, nothing can be spared */
    uint32_t gpus_per_node;
    room_t back; /* until at_ms */
} reservation_t;

struct pool {
    helio_pool_t info;
    helio_arena_t *options_arena;         /* of info.options, if a summary gave them; NULL = the profile did */
    site_window_t *site_window;           /* NULL = never had one */
    priced_hour_t *priced_hour;           /* PRICED_HOURS, index: hour since 1970 modulo; NULL before the first end */
    helio_pool_forecast_t *pool_forecast; /* computed on demand; valid for pool_forecast_hour_ms */
    int64_t pool_forecast_hour_ms;        /* 0 = must be computed again */
    reservation_t reservation;
    expected_ends_t *expected_ends;     /* holds/expected_ends.c; NULL = never asked for */
    expected_starts_t *expected_starts; /* holds/expected_starts.c; likewise */
    uint32_t preemptions;               /* under way here */
    preemptible_t *preemptible;         /* of round preemptible_round */
    uint32_t preemptible_count, preemptible_capacity;
    uint64_t preemptible_round;
    uint32_t preemptible_lowest_tier; /* of these jobs; the lowest tier of all if one leaves already */
    uint64_t waited_round; /* the round for which waited_for holds: a waiting class could use the pool (targets.c) */
    bool waited_for;
    uint32_t promised_gpus[PROMISE_HOURS]; /* to windows; index: hour since 1970 modulo */
    uint32_t waits_s[WAITS_MAX]; /* the site's own figures: until 1, 2, 4, ... nodes are free; UINT32_MAX = unknown */
    uint32_t wait_count;
    int64_t waits_told_ms;      /* when they came (wall clock) */
    uint32_t demand_told;       /* of an elastic pool: the nodes that its site was last told to be wanted */
    wanted_t *wanted;           /* scratch of holds/wanted_nodes.c, of a step; NULL = not elastic */
    free_nodes_t figured;       /* as in the site's last summary */
    free_nodes_t free;          /* that, less what was placed since: decisions use it */
    free_nodes_t believed;      /* scratch of a rebase */
    helio_pool_capacity_t last; /* figures of the last summary; its views are not used */
    int64_t written_ms;
    int64_t sampled_ms;
    int64_t penalty_until_ms;
    int64_t doubtful_until_ms;
    uint32_t failures_in_row;
};

/*  Take from and return to what is free; gpus, cpus and memory are for each node. take: all or nothing; false if it
 *  does not fit. */
bool core_pool_take(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
void core_pool_give(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
uint32_t core_pool_gpus_free(const pool_t *pool);
/*  Whether it is elastic, and has fewer nodes than it can have. */
bool core_pool_grows(const pool_t *pool);
/*  GPUs that the site reserves there now, at most those that are up. */
uint32_t core_site_window_gpus(const helio_broker_core_t *self, const site_t *site, const pool_t *pool);
/*  The same on given figures, which need not be the pool's own. */
bool core_room_fits(const pool_t *pool, const free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
bool core_room_take(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
void core_room_give(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
/*  Adds what a job returns: nodes with that many GPUs each, and the CPUs and memory of the requirement. */
void core_room_add(room_t *room, uint32_t nodes, uint32_t gpus, const helio_requirement_t *want);
void core_room_return(const pool_t *pool, free_nodes_t *free_now, const room_t *room); /* to the fullest nodes */
pool_t *core_pool_find(site_t *site, helio_text_t name);
/*  By its address, which is not followed: it may be that of a pool that was freed, or NULL. */
bool core_pool_is_of(const pool_t *pool, const site_t *site);

#endif
