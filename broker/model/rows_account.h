/*  rows_account.h -- what was used, what it was priced by, and what it is held against. Conventions: rows.h. */
#ifndef HELIO_BROKER_MODEL_ROWS_ACCOUNT_H
#define HELIO_BROKER_MODEL_ROWS_ACCOUNT_H

#include "federation/model/site.h"

/*  Append-only account: use within one hour of one attempt, [hour, hour + 1 h). */
#define HELIO_ROW_LEDGER_FIELDS(F, R)                                                                        \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, U32, epoch, 0, _)                                                                                   \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, TEXT, gpu_model, 64, _)                                                                             \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, I64, hour_ms, 0, _)                                                                                 \
    F(R, U64, gpu_ms, 0, _)                                                                                  \
    F(R, U64, energy_j, 0, _)                                                                                \
    F(R, U64, carbon_mg, 0, _)                                                                               \
    F(R, I64, cost_micro_usd, 0, _)                                                                          \
    F(R, TEXT, provenance, 64, _) /* "model" | "measured"; of energy; "transfer": bringing its data */       \
    F(R, BOOL, fenced, 0, _)                                                                                 \
    F(R, U64, hourly_price_id, 0, _) /* what it was priced by */
HELIO_RECORD_DECLARE(helio_row_ledger, HELIO_ROW_LEDGER_FIELDS)

/*  What an hour at a pool was priced by, figure by figure: where it comes from ("static" = the site file), when it was
 *  issued (0 = static), and whether it is an estimate: by its source, a forecast that nothing later confirmed, or a
 *  stand-in for a feed that was dead. Never changed: hourly_price_id follows from the content. */
#define HELIO_ROW_HOURLY_PRICE_FIELDS(F, R)                                                                         \
    F(R, U64, hourly_price_id, 0, _)                                                                                \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, I64, hour_ms, 0, _)                                                                                 \
    F(R, F64, watts_per_gpu, 0, _) /* at full use, without PUE */                                            \
    F(R, F64, pue, 0, _)                                                                                     \
    F(R, TEXT, pue_source, 64, _)                                                                            \
    F(R, I64, pue_issued_ms, 0, _)                                                                           \
    F(R, BOOL, pue_estimated, 0, _)                                                                          \
    F(R, F64, price_usd_per_gpu_h, 0, _)                                                                     \
    F(R, TEXT, price_source, 64, _)                                                                          \
    F(R, I64, price_issued_ms, 0, _)                                                                         \
    F(R, BOOL, price_estimated, 0, _)                                                                        \
    F(R, F64, electricity_usd_per_kwh, 0, _) /* 0, without a source: part of the rent */                     \
    F(R, TEXT, electricity_source, 64, _)                                                                    \
    F(R, I64, electricity_issued_ms, 0, _)                                                                   \
    F(R, BOOL, electricity_estimated, 0, _)                                                                  \
    F(R, F64, carbon_g_per_kwh, 0, _) /* 0, without a source: not known */                                   \
    F(R, TEXT, carbon_kind, 16, _)                                                                           \
    F(R, TEXT, carbon_factor, 16, _)                                                                         \
    F(R, TEXT, carbon_source, 64, _)                                                                         \
    F(R, I64, carbon_issued_ms, 0, _)                                                                        \
    F(R, BOOL, carbon_estimated, 0, _)
HELIO_RECORD_DECLARE(helio_row_hourly_price, HELIO_ROW_HOURLY_PRICE_FIELDS)

/*  The latest word on one hour of a signal that has begun: what a new leader prices by, and what forecasts are held
 *  against. Upserted. */
#define HELIO_ROW_ACTUAL_FIELDS(F, R)                                                                        \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, U32, signal, 0, _)                                                                                  \
    F(R, I64, hour_ms, 0, _)                                                                                 \
    F(R, F64, value, 0, _)                                                                                   \
    F(R, TEXT, kind, 16, _)                                                                                  \
    F(R, TEXT, factor, 16, _)                                                                                \
    F(R, TEXT, source, 64, _)                                                                                \
    F(R, BOOL, estimated, 0, _) /* also: a forecast, which nothing later confirmed */                        \
    F(R, I64, issued_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_actual, HELIO_ROW_ACTUAL_FIELDS)

/*  Energy of one hour of a site that no job is charged for, or what its meter says. Append-only: the first word on an
 *  hour stands. UNIQUE (site, hour, pool, part). */
#define HELIO_ROW_SITE_ENERGY_FIELDS(F, R)                                                                   \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, pool, 32, _) /* "" = the whole site's: the meter */                                           \
    F(R, I64, hour_ms, 0, _)                                                                                 \
    F(R, U32, part, 0, _) /* helio.energy_part_word */                                                       \
    F(R, U64, energy_j, 0, _)                                                                                \
    F(R, TEXT, source, 64, _)                                                                                \
    F(R, BOOL, estimated, 0, _)                                                                              \
    F(R, I64, issued_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_site_energy, HELIO_ROW_SITE_ENERGY_FIELDS)

/*  What a job used that ran to its end, and what it would have by two baselines: at its home site at once ("home"), and
 *  where it could have started first when it was first decided ("least-wait"). Both run as long as its last attempt
 *  did, and are priced like the ledger, by the hours in which they would have run. A site "" = none could hold it.
 *  *_carbon_kind: kind and factor where used and baseline share them, "mixed", or "" = not known of one. */
#define HELIO_ROW_BASELINE_FIELDS(F, R)                                                                      \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, I64, ended_ms, 0, _)                                                                                \
    F(R, U64, run_ms, 0, _) /* of the last attempt */                                                        \
    F(R, U64, wait_ms, 0, _) /* from its submission to the start of that */                                  \
    F(R, U64, energy_j, 0, _) /* of all attempts that were not fenced, as are the next two */                \
    F(R, U64, carbon_mg, 0, _)                                                                               \
    F(R, I64, cost_micro_usd, 0, _)                                                                          \
    F(R, TEXT, home_site, 32, _)                                                                             \
    F(R, U64, home_energy_j, 0, _)                                                                           \
    F(R, U64, home_carbon_mg, 0, _)                                                                          \
    F(R, I64, home_cost_micro_usd, 0, _)                                                                     \
    F(R, TEXT, home_carbon_kind, 40, _)                                                                      \
    F(R, TEXT, earliest_site, 32, _)                                                                            \
    F(R, U64, earliest_wait_ms, 0, _)                                                                           \
    F(R, U64, earliest_energy_j, 0, _)                                                                          \
    F(R, U64, earliest_carbon_mg, 0, _)                                                                         \
    F(R, I64, earliest_cost_micro_usd, 0, _)                                                                    \
    F(R, TEXT, earliest_carbon_kind, 40, _)                                                                     \
    F(R, BOOL, estimated, 0, _) /* some figure of it is */
HELIO_RECORD_DECLARE(helio_row_baseline, HELIO_ROW_BASELINE_FIELDS)

/*  Read at takeover only: what a tenant used within one hour of the past days. */
#define HELIO_ROW_USAGE_FIELDS(F, R)                                                                         \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, gpu_model, 64, _)                                                                             \
    F(R, I64, hour_ms, 0, _)                                                                                 \
    F(R, U64, gpu_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_usage, HELIO_ROW_USAGE_FIELDS)

#endif
