/*  rows_site.h -- sites and pools, and what they report of themselves. Conventions: rows.h. */
#ifndef HELIO_BROKER_MODEL_ROWS_SITE_H
#define HELIO_BROKER_MODEL_ROWS_SITE_H

#include "federation/model/job.h"
#include "federation/model/site.h"
#include "federation/reason/detail.h"

#define HELIO_ROW_SITE_FIELDS(F, R)                                                                                \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                       \
    F(R, U32, state, HELIO_SITE_STATE_COUNT - 1, _)                                                                \
    F(R, BOOL, draining, 0, _)                                                                                     \
    F(R, TEXT, drain_reason, 256, _)                                                                               \
    F(R, TEXT, backend, 16, _)                                                                                     \
    F(R, TEXT, region, 32, _)                                                                                      \
    F(R, F64, latitude, 0, _)                                                                                      \
    F(R, F64, longitude, 0, _)                                                                                     \
    F(R, TEXT, timezone, 64, _)                                                                                    \
    F(R, F64, pue, 0, _)                                                                                           \
    F(R, F64, carbon_g_per_kwh, 0, _)                                                                              \
    F(R, F64, electricity_usd_per_kwh, 0, _)                                                                       \
    F(R, BOOL, containers, 0, _)                                                                                   \
    F(R, BOOL, leases, 0, _)                                                                                       \
    F(R, TEXT, agent_version, 32, _)                                                                               \
    F(R, I64, seen_ms, 0, _)                                                                                       \
    F(R, TEXT, refused, 256, _)      /* why its agent was refused last; "" = not refused recently */               \
    F(R, I64, refused_ms, 0, _)      /* when that began */                                                         \
    F(R, I64, memory_since_ms, 0, _) /* which journal its agent had last; 0 = not reported */                      \
    F(R, U64, memory_mark, 0, _)     /* how far that journal went */                                               \
    F(R, I64, memory_lost_ms, 0, _)  /* since when jobs are in doubt because it went back; 0 = none is */          \
    F(R, I64, unreconciled_ms, 0, _) /* since when it may run what a restored database does not know; 0 = not */   \
    F(R, TEXT, agent_process, HELIO_ID_CHARS, _)        /* of the session: the agent's boot_id; "" = no session */ \
    F(R, U32, awaited_by, HELIO_SITE_LOSS_COUNT - 1, _) /* restored jobs with a lower on_site_loss wait for it */
HELIO_RECORD_DECLARE(helio_row_site, HELIO_ROW_SITE_FIELDS)

#define HELIO_ROW_POOL_FIELDS(F, R)          \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _) \
    F(R, TEXT, pool, 32, _)                  \
    F(R, TEXT, gpu, 32, _)                   \
    F(R, U64, gpu_memory_bytes, 0, _)        \
    F(R, U32, nodes, 0, _)                   \
    F(R, U32, max_nodes, 0, _)               \
    F(R, U32, gpus_per_node, 0, _)           \
    F(R, U32, cpus_per_node, 0, _)           \
    F(R, U64, memory_bytes_per_node, 0, _)   \
    F(R, U32, interconnect, 0, _)            \
    F(R, U32, sharing, 0, _)                 \
    F(R, BOOL, owned, 0, _)                  \
    F(R, F64, price_usd_per_gpu_h, 0, _)     \
    F(R, F64, idle_w, 0, _)                  \
    F(R, F64, base_w, 0, _)                  \
    F(R, F64, slope_w, 0, _)                 \
    F(R, F64, host_w, 0, _)
HELIO_RECORD_DECLARE(helio_row_pool, HELIO_ROW_POOL_FIELDS)

/*  A limit on the GPU power of a site for a time (glossary: curtailment). Upserted. UNIQUE (site, set_ms). */
#define HELIO_ROW_CURTAILMENT_FIELDS(F, R)                                                        \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                      \
    F(R, I64, set_ms, 0, _) /* when it was ordered */                                             \
    F(R, I64, from_ms, 0, _)                                                                      \
    F(R, I64, until_ms, 0, _)  /* exclusive */                                                    \
    F(R, U32, percent, 100, _) /* of the power with all GPUs of the site in use */                \
    F(R, TEXT, reason, 256, _)                                                                    \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                                                         \
    F(R, I64, ended_ms, 0, _)  /* a command ended it before until_ms; 0 = none did */             \
    F(R, I64, judged_ms, 0, _) /* when the figures that follow were true; 0 = it has not begun */ \
    F(R, U64, full_w, 0, _)    /* with all GPUs in use */                                         \
    F(R, U64, used_w, 0, _)                                                                       \
    F(R, U64, kept_w, 0, _)       /* above the limit, of what may not be stopped */               \
    F(R, U32, jobs_stopped, 0, _) /* for it */                                                    \
    F(R, U64, lost_gpu_ms, 0, _)  /* run time of those jobs that they had not saved, times their GPUs: an estimate */
HELIO_RECORD_DECLARE(helio_row_curtailment, HELIO_ROW_CURTAILMENT_FIELDS)

/*  The newest figures of a pool. `sample`: they also become part of the history (once a minute). */
#define HELIO_ROW_CAPACITY_FIELDS(F, R)                                              \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                         \
    F(R, TEXT, pool, 32, _)                                                          \
    F(R, I64, at_ms, 0, _)                                                           \
    F(R, BOOL, sample, 0, _)                                                         \
    F(R, U32, nodes_up, 0, _)                                                        \
    F(R, U32, gpus_total, 0, _)                                                      \
    F(R, U32, gpus_allocated, 0, _)                                                  \
    F(R, U32, gpus_free, 0, _)                                                       \
    F(R, U32, gpus_reserved, 0, _)                                                   \
    F(R, U32, largest_block_gpus, 0, _) /* GPUs of the largest gang that fits now */ \
    F(R, U32, jobs_running, 0, _)                                                    \
    F(R, U32, jobs_queued, 0, _)                                                     \
    F(R, F64, site_power_w, 0, _)            /* < 0 = unknown */                     \
    F(R, RECORD, withheld, 0, helio_details) /* why nothing of it is offered; none = something is, or not known */
HELIO_RECORD_DECLARE(helio_row_capacity, HELIO_ROW_CAPACITY_FIELDS)

#define HELIO_ROW_SERIES_FIELDS(F, R)        \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _) \
    F(R, TEXT, pool, 32, _)                  \
    F(R, U32, signal, 0, _)                  \
    F(R, TEXT, kind, 16, _)                  \
    F(R, TEXT, factor, 16, _)                \
    F(R, TEXT, source, 64, _)                \
    F(R, BOOL, estimated, 0, _)              \
    F(R, I64, issued_ms, 0, _)               \
    F(R, I64, start_ms, 0, _)                \
    F(R, U32, step_s, 0, _)                  \
    F(R, F64S, values, 0, _)                 \
    F(R, F64S, p10, 0, _)                    \
    F(R, F64S, p90, 0, _)                    \
    F(R, U32, feed_state, 0, _)              \
    F(R, I64, last_value_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_series, HELIO_ROW_SERIES_FIELDS)

/*  What a row tells of the profile: views of the row. The profile has no pools, and no options. */
helio_site_profile_t helio_row_site_profile(const helio_row_site_t *self);
helio_pool_t helio_row_pool_profile(const helio_row_pool_t *self);

#endif
