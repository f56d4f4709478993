/*  rows_account.h -- what was used, how it was priced, and the baselines that it is compared with. Conventions:
 *  rows.h. */
#ifndef HELIO_BROKER_MODEL_ROWS_ACCOUNT_H
#define HELIO_BROKER_MODEL_ROWS_ACCOUNT_H

#include "federation/model/site.h"

/*  Rows of an attempt that can be in one hour: one of each. A correction adds the last two, so that the sum is what the
 *  site measured. */
typedef enum helio_ledger_part {
    HELIO_LEDGER_USE,
    HELIO_LEDGER_TRANSFER, /* bringing its data */
    HELIO_LEDGER_ESTIMATE, /* the use of an attempt that the broker gave up */
    HELIO_LEDGER_REVERSAL, /* that amount counts as negative */
    HELIO_LEDGER_MEASURED  /* what its site reported later */
} helio_ledger_part_t;

/*  Append-only account: what one attempt used within one hour, [hour, hour + 1 h). */
#define HELIO_ROW_LEDGER_FIELDS(F, R)                                                                         \
    F(R, KEY, key, 0, _)                                                                                      \
    F(R, U32, epoch, 0, _)                                                                                    \
    F(R, TEXT, tenant, 32, _)                                                                                 \
    F(R, TEXT, site, 32, _)                                                                                   \
    F(R, TEXT, pool, 32, _)                                                                                   \
    F(R, TEXT, gpu_model, 64, _)                                                                              \
    F(R, TEXT, queue, 32, _)                                                                                  \
    F(R, I64, hour_ms, 0, _)                                                                                  \
    F(R, U64, gpu_ms, 0, _)                                                                                   \
    F(R, U64, energy_j, 0, _)                                                                                 \
    F(R, U64, carbon_mg, 0, _)                                                                                \
    F(R, I64, cost_micro_usd, 0, _)                                                                           \
    F(R, TEXT, provenance, 64, _) /* of energy: "model" | "measured" | "assumed" (the site gives no power); \
                                   * "transfer" = for bringing its data */ \
    F(R, BOOL, fenced, 0, _)                                                                                  \
    F(R, U64, hourly_price_id, 0, _) /* the price that applied: column rates_id */                            \
    F(R, BOOL, estimated, 0, _)      /* the time is an estimate: the attempt's end was not seen */            \
    F(R, U32, part, 0, _)            /* helio_ledger_part_t */
HELIO_RECORD_DECLARE(helio_row_ledger, HELIO_ROW_LEDGER_FIELDS)

/*  Read at takeover only, the oldest first, before the hours of their estimates: what an attempt that was given up can
 *  have used at most, by its placement and its job. Of the open jobs also those that nobody saw run, which have no
 *  estimate. */
#define HELIO_ROW_GIVEN_UP_FIELDS(F, R)                                             \
    F(R, KEY, key, 0, _)                                                            \
    F(R, U32, epoch, 0, _)                                                          \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                        \
    F(R, U32, nodes, 0, _)                                                          \
    F(R, U32, gpus, 0, _) /* on all of them */                                      \
    F(R, U64, time_limit_ms, 0, _)                                                  \
    F(R, I64, placed_ms, 0, _)                                                      \
    F(R, TEXT, tenant, 32, _)                                                       \
    F(R, TEXT, queue, 32, _)                                                        \
    F(R, TEXT, pool, 32, _)                                                         \
    F(R, TEXT, gpu_model, 64, _)                                                    \
    F(R, I64, planned_micro_usd, 0, _) /* of its placement, without the transfer */ \
    F(R, U64, expected_ms, 0, _)       /* on which that rests */
HELIO_RECORD_DECLARE(helio_row_given_up, HELIO_ROW_GIVEN_UP_FIELDS)

/*  The prices of one hour at a pool. Each figure has its source ("static" = the site file), its time of issue (0 =
 *  static), and whether it is an estimate: one by its source, an unconfirmed forecast, or a stand-in for a dead feed.
 *  Immutable: hourly_price_id follows from the content. */
#define HELIO_ROW_HOURLY_PRICE_FIELDS(F, R)                                                 \
    F(R, U64, hourly_price_id, 0, _)                                                        \
    F(R, TEXT, site, 32, _)                                                                 \
    F(R, TEXT, pool, 32, _)                                                                 \
    F(R, I64, hour_ms, 0, _)                                                                \
    F(R, F64, watts_per_gpu, 0, _) /* at full use, without PUE */                           \
    F(R, F64, pue, 0, _)                                                                    \
    F(R, TEXT, pue_source, 64, _)                                                           \
    F(R, I64, pue_issued_ms, 0, _)                                                          \
    F(R, BOOL, pue_estimated, 0, _)                                                         \
    F(R, F64, price_usd_per_gpu_h, 0, _)                                                    \
    F(R, TEXT, price_source, 64, _)                                                         \
    F(R, I64, price_issued_ms, 0, _)                                                        \
    F(R, BOOL, price_estimated, 0, _)                                                       \
    F(R, F64, electricity_usd_per_kwh, 0, _) /* 0 without a source: included in the rent */ \
    F(R, TEXT, electricity_source, 64, _)                                                   \
    F(R, I64, electricity_issued_ms, 0, _)                                                  \
    F(R, BOOL, electricity_estimated, 0, _)                                                 \
    F(R, F64, carbon_g_per_kwh, 0, _) /* source "assumed": the site gives none */           \
    F(R, TEXT, carbon_kind, 16, _)                                                          \
    F(R, TEXT, carbon_factor, 16, _)                                                        \
    F(R, TEXT, carbon_source, 64, _)                                                        \
    F(R, I64, carbon_issued_ms, 0, _)                                                       \
    F(R, BOOL, carbon_estimated, 0, _)                                                      \
    F(R, U32, pue_feed_state, 0, _) /* as of helio_series */                                \
    F(R, I64, pue_last_value_ms, 0, _)                                                      \
    F(R, U32, price_feed_state, 0, _)                                                       \
    F(R, I64, price_last_value_ms, 0, _)                                                    \
    F(R, U32, electricity_feed_state, 0, _)                                                 \
    F(R, I64, electricity_last_value_ms, 0, _)                                              \
    F(R, U32, carbon_feed_state, 0, _)                                                      \
    F(R, I64, carbon_last_value_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_hourly_price, HELIO_ROW_HOURLY_PRICE_FIELDS)

/*  The latest value of one hour of a signal that has begun. A new leader prices by it, and forecasts are compared with
 *  it. Upserted. */
#define HELIO_ROW_ACTUAL_FIELDS(F, R)                                                      \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                               \
    F(R, TEXT, pool, 32, _)                                                                \
    F(R, U32, signal, 0, _)                                                                \
    F(R, I64, hour_ms, 0, _)                                                               \
    F(R, F64, value, 0, _)                                                                 \
    F(R, TEXT, kind, 16, _)                                                                \
    F(R, TEXT, factor, 16, _)                                                              \
    F(R, TEXT, source, 64, _)                                                              \
    F(R, BOOL, estimated, 0, _) /* also set for a forecast that nothing later confirmed */ \
    F(R, I64, issued_ms, 0, _)                                                             \
    F(R, U32, feed_state, 0, _)                                                            \
    F(R, I64, last_value_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_actual, HELIO_ROW_ACTUAL_FIELDS)

/*  Energy of one hour of a site that no job is charged for, or the reading of its meter. Append-only: the first value
 *  of an hour stands. UNIQUE (site, hour, pool, part). */
#define HELIO_ROW_SITE_ENERGY_FIELDS(F, R)                         \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                       \
    F(R, TEXT, pool, 32, _) /* "" = the whole site: the meter */   \
    F(R, I64, hour_ms, 0, _)                                       \
    F(R, U32, part, 0, _) /* as helio.energy_part_word names it */ \
    F(R, U64, energy_j, 0, _)                                      \
    F(R, TEXT, source, 64, _)                                      \
    F(R, BOOL, estimated, 0, _)                                    \
    F(R, I64, issued_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_site_energy, HELIO_ROW_SITE_ENERGY_FIELDS)

/*  What a finished job used, and what it would have used by two baselines: at its home site at once ("home"), and where
 *  it could have started first when it was first decided ("least-wait"). A baseline runs as long as the job's last
 *  attempt, and is priced like the ledger, by the hours in which it would have run. A site "" = no site could hold the
 *  job. *_carbon_kind: kind and factor if used and baseline share them, "mixed" if not, "" = one is unknown. */
#define HELIO_ROW_BASELINE_FIELDS(F, R)                                                       \
    F(R, KEY, key, 0, _)                                                                      \
    F(R, TEXT, tenant, 32, _)                                                                 \
    F(R, I64, ended_ms, 0, _)                                                                 \
    F(R, U64, run_ms, 0, _)   /* of the last attempt */                                       \
    F(R, U64, wait_ms, 0, _)  /* from submission to the start of the last attempt */          \
    F(R, U64, energy_j, 0, _) /* of all attempts that were not fenced; so are the next two */ \
    F(R, U64, carbon_mg, 0, _)                                                                \
    F(R, I64, cost_micro_usd, 0, _)                                                           \
    F(R, TEXT, home_site, 32, _)                                                              \
    F(R, U64, home_energy_j, 0, _)                                                            \
    F(R, U64, home_carbon_mg, 0, _)                                                           \
    F(R, I64, home_cost_micro_usd, 0, _)                                                      \
    F(R, TEXT, home_carbon_kind, 40, _)                                                       \
    F(R, TEXT, earliest_site, 32, _)                                                          \
    F(R, U64, earliest_wait_ms, 0, _)                                                         \
    F(R, U64, earliest_energy_j, 0, _)                                                        \
    F(R, U64, earliest_carbon_mg, 0, _)                                                       \
    F(R, I64, earliest_cost_micro_usd, 0, _)                                                  \
    F(R, TEXT, earliest_carbon_kind, 40, _)                                                   \
    F(R, BOOL, estimated, 0, _) /* at least one figure is an estimate */
HELIO_RECORD_DECLARE(helio_row_baseline, HELIO_ROW_BASELINE_FIELDS)

/*  Read at takeover only: what a tenant used within one hour of the past days. */
#define HELIO_ROW_USAGE_FIELDS(F, R) \
    F(R, TEXT, tenant, 32, _)        \
    F(R, TEXT, gpu_model, 64, _)     \
    F(R, I64, hour_ms, 0, _)         \
    F(R, U64, gpu_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_usage, HELIO_ROW_USAGE_FIELDS)

#endif
