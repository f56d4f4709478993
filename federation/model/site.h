/*  site.h -- the static profile of a site and the dynamic summary of what it can offer.
 *
 *  The same description serves the agent's site file, the fleet file of the simulator and the wire.
 *  GPUs are counted as whole devices. Fragmentation travels as counts: free_nodes[k] = nodes with exactly k GPUs free.
 */
#ifndef HELIO_MODEL_SITE_H
#define HELIO_MODEL_SITE_H

#include "federation/base/record.h"
#include "federation/model/job.h"

enum {
    HELIO_SITE_NAME_MAX = 32,
    HELIO_SITE_POOLS_MAX = 64,
    HELIO_SITE_TENANTS_MAX = 1000,
    HELIO_SERIES_POINTS_MAX = 192,
    HELIO_SERIES_MAX = 512,
    HELIO_POOL_OPTIONS_MAX = 8,
    HELIO_POOL_INTERRUPTIONS_MAX = 60 /* of one node in an hour */
};

/*  A pool's `gpu` is a model, or a MIG slice of a model: "H100", "H100/1g.10gb". In a pool of slices, the slice is
 *  the GPU everywhere: gpus_per_node, memory, power and price are those of a slice. Views into the text; slice "" =
 *  whole GPUs. */
helio_text_t helio_gpu_model(helio_text_t gpu);
helio_text_t helio_gpu_slice(helio_text_t gpu);
/*  Size in sevenths of a GPU's processors: 1 for "1g.10gb", 7 for a whole GPU. */
uint32_t helio_gpu_sevenths(helio_text_t gpu);

/*  The values that an option of the local scheduler can have at a pool, as the job file's `slurm` part writes them. An
 *  option that a pool does not list was not reported, and any value of it may be known there; one with an empty list has
 *  no value there. */
#define HELIO_POOL_OPTION_FIELDS(F, R)                       \
    F(R, TEXT, option, 32, _)   /* partition | constraint */ \
    F(R, TEXT, values, 2000, _) /* separated by commas: "main,urgent" */
HELIO_RECORD_DECLARE(helio_pool_option, HELIO_POOL_OPTION_FIELDS)

/*  Power of one allocated GPU at utilisation u in 0..1: host_w + base_w + slope_w * u, times PUE. */
#define HELIO_POOL_FIELDS(F, R)                                                                                      \
    F(R, TEXT, name, 32, _)                                                                                          \
    F(R, TEXT, gpu, 32, _)            /* model or slice, "" for a CPU pool */                                        \
    F(R, U64, gpu_memory_bytes, 0, _) /* of one GPU */                                                               \
    F(R, U32, nodes, 100000, _)                                                                                      \
    F(R, U32, max_nodes, 100000, _) /* elastic pools; >= nodes */                                                    \
    F(R, U32, gpus_per_node, HELIO_JOB_GPUS_PER_NODE_MAX, _)                                                         \
    F(R, U32, cpus_per_node, 4096, _)                                                                                \
    F(R, U64, memory_bytes_per_node, 0, _)                                                                           \
    F(R, U32, interconnect, HELIO_INTERCONNECT_COUNT - 1, _)                                                         \
    F(R, U32, sharing, HELIO_SHARING_COUNT - 1, _)                                                                   \
    F(R, BOOL, owned, 0, _) /* costs electricity; otherwise rent */                                                  \
    F(R, F64, price_usd_per_gpu_h, 0, _)                                                                             \
    F(R, F64, spot_usd_per_gpu_h, 0, _)                                                                              \
    F(R, U64, provision_ms, 0, _)                                                                                    \
    F(R, F64, idle_w, 0, _)                                                                                          \
    F(R, F64, base_w, 0, _)                                                                                          \
    F(R, F64, slope_w, 0, _)                                                                                         \
    F(R, F64, host_w, 0, _)                                                                                          \
    F(R, LIST, options, HELIO_POOL_OPTIONS_MAX, helio_pool_option, 6) /* at the agent's start; summaries follow */   \
    F(R, BOOL, elastic, 0, _,                                                                                        \
      7) /* its agent adds nodes on demand, up to max_nodes; otherwise max_nodes counts nowhere */                   \
    F(R, BOOL, spot, 0, _, 8)               /* its nodes can be taken away at any time; then its rent is spot_usd */ \
    F(R, F64, interruptions_per_h, 0, _, 8) /* of a spot pool: how often that happens to one node, on average */
HELIO_RECORD_DECLARE(helio_pool, HELIO_POOL_FIELDS)

/*  Nodes that the pool can have. */
uint32_t helio_pool_nodes_most(const helio_pool_t *pool);
/*  USD per GPU-hour where no series gives a price: of a spot pool the spot price; 0 = not given. */
double helio_pool_rent_usd(const helio_pool_t *pool);

/*  Of an elastic pool: nodes that waiting jobs need there, beyond those that run. */
#define HELIO_POOL_DEMAND_FIELDS(F, R) \
    F(R, TEXT, pool, 32, _)            \
    F(R, U32, nodes, 0, _)
HELIO_RECORD_DECLARE(helio_pool_demand, HELIO_POOL_DEMAND_FIELDS)

#define HELIO_SITE_PROFILE_FIELDS(F, R)                                                                               \
    F(R, TEXT, name, HELIO_SITE_NAME_MAX, _)                                                                          \
    F(R, TEXT, backend, 16, _) /* local | slurm | kubernetes | exec */                                                \
    F(R, TEXT, region, 32, _)  /* key into carbon, price and forecast data; residency */                              \
    F(R, F64, latitude, 0, _)                                                                                         \
    F(R, F64, longitude, 0, _)                                                                                        \
    F(R, TEXT, timezone, 64, _)              /* IANA name */                                                          \
    F(R, F64, pue, 0, _)                     /* >= 1 */                                                               \
    F(R, F64, carbon_g_per_kwh, 0, _)        /* static figure; < 0 = unknown */                                       \
    F(R, F64, electricity_usd_per_kwh, 0, _) /* static figure; may be negative */                                     \
    F(R, BOOL, containers, 0, _)             /* a container runtime is declared */                                    \
    F(R, BOOL, leases, 0, _)                 /* lease and eager jobs can be stopped while the agent is down */        \
    F(R, LIST, pools, HELIO_SITE_POOLS_MAX, helio_pool)                                                               \
    F(R, BOOL, tenants_reported, 0, _, 3)                        /* false: the site has not reported its tenants */   \
    F(R, LIST, tenants, HELIO_SITE_TENANTS_MAX, helio_string, 3) /* tenants with a Unix user; "*" = all. Ascending */ \
    F(R, U32, channels, 0, _, 10)                                /* channels it allows: a bit 1 << kind each */
HELIO_RECORD_DECLARE(helio_site_profile, HELIO_SITE_PROFILE_FIELDS)

/*  The option by which the agent of a site with the backend `exec` says that its engine runs jobs on several nodes. */
#define HELIO_POOL_OPTION_GANGS "gangs"
/*  Whether the pool runs jobs on several nodes: with the backend `exec` only if its adapter says so. */
bool helio_site_runs_gangs(const helio_site_profile_t *site, const helio_pool_t *pool);

/*  Sorts the tenants, as helio_site_maps requires. */
void helio_site_tenants_sort(helio_site_profile_t *profile);
/*  Whether the tenant has a Unix user at the site, as far as the site has reported. */
bool helio_site_maps(const helio_site_profile_t *profile, helio_text_t tenant);

#define HELIO_POOL_CAPACITY_FIELDS(F, R)                                                                              \
    F(R, TEXT, pool, 32, _)                                                                                           \
    F(R, U32, nodes_up, 0, _)                                                                                         \
    F(R, U32, gpus_total, 0, _) /* of nodes that are up */                                                            \
    F(R, U32, gpus_allocated, 0, _)                                                                                   \
    F(R, U32, gpus_reserved, 0, _)                                                                                    \
    F(R, U32S, free_nodes, HELIO_JOB_GPUS_PER_NODE_MAX + 1, _)                                                        \
    F(R, U32, cpus_free, 0, _) /* summed over nodes that are up */                                                    \
    F(R, U64, memory_free_bytes, 0, _)                                                                                \
    F(R, U32, jobs_running, 0, _)         /* including jobs from outside the federation */                            \
    F(R, U32, jobs_queued, 0, _)          /* in the local queue */                                                    \
    F(R, U32S, expected_wait_s, 16, _, 2) /* until a gang of 1, 2, 4, … whole nodes could start, as the local     \
                                        * scheduler expects; none = not reported, UINT32_MAX = unknown */ \
    F(R, U32, withheld, 0, _, 5) /* why nothing of it is offered, beside the federation's own use: the number of a \
                                        * detail (federation/reason/details.def); 0 = something is, or not known */  \
    F(R, LIST, options, HELIO_POOL_OPTIONS_MAX, helio_pool_option, 6) /* as they are now; none = not reported */
HELIO_RECORD_DECLARE(helio_pool_capacity, HELIO_POOL_CAPACITY_FIELDS)

/* clang-format off */
#define HELIO_SIGNAL_TABLE(X)                 \
    X(FREE_GPUS, "free_gpus")                 \
    X(PRICE, "price_usd_per_gpu_h")           \
    X(ELECTRICITY, "electricity_usd_per_kwh") \
    X(CARBON, "carbon_g_per_kwh")             \
    X(PUE, "pue")                             \
    X(POWER, "power_watts")                   \
    X(RESERVED, "reserved_gpus")
/* clang-format on */
#define HELIO_SIGNAL_ENUMERATOR(name, word) HELIO_SIGNAL_##name,
HELIO_ENUM_DECLARE(helio_signal, HELIO_SIGNAL, HELIO_SIGNAL_TABLE)

/*  What a point of a signal, or the static figure in its place, can be. Everything outside is an error or a lie. */
typedef struct helio_signal_range {
    double least, most;
    /*  what is below is no value at all, as -1 g/kWh is an unknown intensity; else it counts as `least` */
    bool gap_below;
} helio_signal_range_t;
helio_signal_range_t helio_signal_range(uint32_t signal);

/*  What the feed of a series gave when the series was made, or does not give any more. Order is the stored value, and
 *  appended values need a row in HELIO_WIRE_LATER_TABLE. */
/* clang-format off */
#define HELIO_FEED_STATE_TABLE(X) \
    X(UNKNOWN, "unknown") /* the agent does not report it */            \
    X(CURRENT, "current") /* the feed gives data, or no feed is used */ \
    X(LAST_GOOD, "last_good") /* it failed: its last good values are repeated */ \
    X(NO_DATA, "no_data") /* it failed: the figure of the site file is used */
/* clang-format on */
#define HELIO_FEED_STATE_ENUMERATOR(name, word) HELIO_FEED_STATE_##name,
HELIO_ENUM_DECLARE(helio_feed_state, HELIO_FEED_STATE, HELIO_FEED_STATE_TABLE)

/*  A series as issued: values for [start + i*step, start + (i+1)*step). Each series carries its kind, because kinds
 *  never mix. */
#define HELIO_SERIES_FIELDS(F, R)                                                 \
    F(R, U32, signal, HELIO_SIGNAL_COUNT - 1, _)                                  \
    F(R, TEXT, pool, 32, _)   /* "" = the whole site */                           \
    F(R, TEXT, kind, 16, _)   /* carbon: average | marginal */                    \
    F(R, TEXT, factor, 16, _) /* carbon: lifecycle | direct */                    \
    F(R, TEXT, source, 64, _)                                                     \
    F(R, BOOL, estimated, 0, _)                                                   \
    F(R, I64, issued_wall_ms, 0, _)                                               \
    F(R, I64, start_wall_ms, 0, _)                                                \
    F(R, U32, step_s, 0, _)                                                       \
    F(R, F64S, values, HELIO_SERIES_POINTS_MAX, _)                                \
    F(R, F64S, p10, HELIO_SERIES_POINTS_MAX, _) /* empty, or as many as values */ \
    F(R, F64S, p90, HELIO_SERIES_POINTS_MAX, _)                                   \
    F(R, U32, feed_state, HELIO_FEED_STATE_COUNT - 1, _, 9)                       \
    F(R, I64, last_value_ms, 0, _, 9) /* of a failed feed: its last value, or when it was first asked; 0 = not set */
HELIO_RECORD_DECLARE(helio_series, HELIO_SERIES_FIELDS)

/*  A full summary (base_seq 0), or the pools and series that changed since summary base_seq of the same session. */
#define HELIO_SITE_SUMMARY_FIELDS(F, R)                                                                    \
    F(R, U64, seq, 0, _)                                                                                   \
    F(R, U64, base_seq, 0, _)                                                                              \
    F(R, I64, wall_ms, 0, _)                                                                               \
    F(R, U64, dispatch_seen, 0, _) /* the last dispatch included in these figures */                       \
    F(R, LIST, pools, HELIO_SITE_POOLS_MAX, helio_pool_capacity)                                           \
    F(R, LIST, series, HELIO_SERIES_MAX, helio_series)                                                     \
    F(R, F64, power_w, 0, _)            /* measured or modelled power of the site's GPUs; < 0 = unknown */ \
    F(R, U64, reports_pending, 0, _, 3) /* held by the agent, not yet acknowledged by the broker */
HELIO_RECORD_DECLARE(helio_site_summary, HELIO_SITE_SUMMARY_FIELDS)

/*  A site as the broker sees it. Order is the stored value. */
/* clang-format off */
#define HELIO_SITE_STATE_TABLE(X) \
    X(NEW, "new")                 \
    X(READY, "ready")             \
    X(SILENT, "silent")           \
    X(DRAINING, "draining")       \
    X(LOST, "lost")
/* clang-format on */
#define HELIO_SITE_STATE_ENUMERATOR(name, word) HELIO_SITE_STATE_##name,
HELIO_ENUM_DECLARE(helio_site_state, HELIO_SITE_STATE, HELIO_SITE_STATE_TABLE)

#endif
