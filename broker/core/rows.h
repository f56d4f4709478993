/*  rows.h -- what the broker makes durable, and what it rebuilds itself from. One record = one kind of row.
 *
 *  The store writes a ROW effect through the named query "put_<name>" (schema/queries/put.sql): field i is array
 *  parameter $i (a KEY is two: job, task), unnested; it reads "load_<name>" back, column by column in field order.
 *  Conventions: times are Unix ms (0 = null), text "" = null, enums are their stored value.
 */
#ifndef HELIO_BROKER_CORE_ROWS_H
#define HELIO_BROKER_CORE_ROWS_H

#include "federation/model/attempt.h"
#include "federation/model/site.h"
#include "federation/policy/duration.h"

/*  How another job must end so that one may start; the number is stored. */
typedef enum helio_after { HELIO_AFTER_OK, HELIO_AFTER_ANY, HELIO_AFTER_NOT_OK, HELIO_AFTER_COUNT } helio_after_t;

/*  What the database knows of a job that another one names: that there is no such job of the tenant, that the name fits
 *  several, that it is not over, that it succeeded (an array: every task), that it ended otherwise. */
typedef enum helio_found {
    HELIO_FOUND_UNKNOWN,
    HELIO_FOUND_AMBIGUOUS,
    HELIO_FOUND_OPEN,
    HELIO_FOUND_OK,
    HELIO_FOUND_NOT_OK,
    HELIO_FOUND_COUNT
} helio_found_t;

/*  Immutable once written; one row for an array, however many tasks. */
#define HELIO_ROW_JOB_FIELDS(F, R)                                                                           \
    F(R, UUID, job, 0, _)                                                                                    \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, TEXT, idempotency_key, 128, _)                                                                      \
    F(R, BYTES, spec_hash, 32, _) /* SHA-256 of source; empty without a key */                               \
    F(R, BYTES, source, HELIO_JOB_SOURCE_MAX, _)                                                             \
    F(R, TEXT, name, 64, _)                                                                                  \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, U32, tier, 0, _)                                                                                    \
    F(R, U32, kind, 0, _)                                                                                    \
    F(R, TEXT, home_site, 32, _)                                                                             \
    F(R, TEXT, gpu_model, 64, _) /* as asked; "" = any or none */                                            \
    F(R, U32, gpus, 0, _)        /* total over nodes, one task */                                            \
    F(R, U32, nodes, 0, _)                                                                                   \
    F(R, U64, time_limit_ms, 0, _)                                                                           \
    F(R, U64, class_id, 0, _)                                                                                \
    F(R, U32S, tasks, HELIO_JOB_ARRAY_MAX, _)                                                                \
    F(R, I64, submitted_ms, 0, _)                                                                            \
    F(R, U64, expected_ms, 0, _)      /* of its run as on an A100, when it was submitted; 0 = not known */   \
    F(R, U64, expected_high_ms, 0, _) /* nine in ten are no longer */                                        \
    F(R, U32, expected_runs, 0, _)    /* that it rests on */                                                 \
    F(R, U32, expected_failed, 0, _)  /* of the last 32 like it */                                           \
    F(R, U32, expected_basis, HELIO_DURATION_BASIS_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_row_job, HELIO_ROW_JOB_FIELDS)

/*  Narrow and hot; absent = queued at epoch 0. Upserted, at most once per job and batch (the last one counts). */
#define HELIO_ROW_STATE_FIELDS(F, R)                                                                         \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, U32, state, HELIO_JOB_STATE_COUNT - 1, _)                                                           \
    F(R, U32, before, HELIO_JOB_STATE_COUNT - 1, _) /* SUSPECT: the state to come back to */                 \
    F(R, U32, intent, 0, _)                         /* helio_intent_t: why it is being stopped */            \
    F(R, U32, epoch, 0, _)                                                                                   \
    F(R, U32, attempts, 0, _)                                                                                \
    F(R, U32, failures, 0, _)      /* own failures, counted against retries */                               \
    F(R, U32, site_failures, 0, _) /* attempts that a site could not run or failed within a minute */        \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, TEXT, reason, 256, _)                                                                               \
    F(R, I64, started_ms, 0, _)                                                                              \
    F(R, I64, finished_ms, 0, _)                                                                             \
    F(R, I32, exit_code, 0, _) /* -1 = none */                                                               \
    F(R, U64, gpu_ms, 0, _)                                                                                  \
    F(R, U64, cost_micro_usd, 0, _)                                                                          \
    F(R, U64, energy_j, 0, _)                                                                                \
    F(R, U64, carbon_mg, 0, _)                                                                               \
    F(R, U64, units_done, 0, _)                                                                              \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, U32, evictions, 0, _) /* how often it was told to leave */                                          \
    F(R, U64, saved_ms, 0, _)  /* of its run over all attempts, what is saved as far as known */
HELIO_RECORD_DECLARE(helio_row_state, HELIO_ROW_STATE_FIELDS)

/*  The outbox: an offer is instructed only after this row is durable. UNIQUE (job, task, epoch). */
#define HELIO_ROW_PLACEMENT_FIELDS(F, R)                                                                     \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, U32, epoch, 0, _)                                                                                   \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, U64, decision_id, 0, _)                                                                             \
    F(R, U32, nodes, 0, _)                                                                                   \
    F(R, U32, gpus, 0, _)                                                                                    \
    F(R, I64, score_micro_usd, 0, _)                                                                         \
    F(R, I64, planned_cost_micro_usd, 0, _)                                                                  \
    F(R, U64, planned_energy_j, 0, _)                                                                        \
    F(R, U64, planned_carbon_mg, 0, _)                                                                       \
    F(R, I64, start_ms, 0, _)                                                                                \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, TEXT, least_site, 32, _) /* a job's first placement: where it could have started first, and when */ \
    F(R, TEXT, least_pool, 32, _)                                                                            \
    F(R, I64, least_ms, 0, _)                                                                                \
    F(R, U64, transfer_ms, 0, _) /* of its data; the planned figures contain the next three */               \
    F(R, I64, transfer_micro_usd, 0, _)                                                                      \
    F(R, U64, transfer_j, 0, _)                                                                              \
    F(R, U64, transfer_carbon_mg, 0, _)                                                                      \
    F(R, TEXT, gpu_model, 64, _) /* of the pool */                                                           \
    F(R, U64, expected_ms, 0, _) /* of its run there: what planned_* are of; the time limit where nothing is known */ \
    F(R, U64, expected_high_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_placement, HELIO_ROW_PLACEMENT_FIELDS)

/*  The end of one attempt, immutable. UNIQUE (job, task, epoch); UNIQUE (job, task) where completes. */
#define HELIO_ROW_ATTEMPT_FIELDS(F, R)                                                                       \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, U32, epoch, 0, _)                                                                                   \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, U32, kind, 0, _)       /* helio_report_kind_t */                                                    \
    F(R, BOOL, completes, 0, _) /* this end is the job's end */                                              \
    F(R, BOOL, fenced, 0, _)    /* the epoch was no longer current: evidence and cost only */                \
    F(R, I32, exit_code, 0, _)                                                                               \
    F(R, I64, started_ms, 0, _)                                                                              \
    F(R, I64, ended_ms, 0, _)                                                                                \
    F(R, U64, run_ms, 0, _)                                                                                  \
    F(R, U64, gpu_ms, 0, _)                                                                                  \
    F(R, U64, energy_j, 0, _)                                                                                \
    F(R, U64, units_done, 0, _)                                                                              \
    F(R, TEXT, reason, 256, _)                                                                               \
    F(R, TEXT, local_id, 64, _)                                                                              \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_attempt, HELIO_ROW_ATTEMPT_FIELDS)

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
    F(R, TEXT, provenance, 64, _) /* "model" | "measured"; of energy; "transfer": bringing its data */                                    \
    F(R, BOOL, fenced, 0, _)                                                                                 \
    F(R, U64, rates_id, 0, _) /* what it was priced by */
HELIO_RECORD_DECLARE(helio_row_ledger, HELIO_ROW_LEDGER_FIELDS)

/*  What an hour at a pool was priced by, figure by figure: where it comes from ("static" = the site file), when it was
 *  issued (0 = static), and whether it is an estimate: by its source, a forecast that nothing later confirmed, or a
 *  stand-in for a feed that was dead. Never changed: rates_id follows from the content. */
#define HELIO_ROW_RATES_FIELDS(F, R)                                                                         \
    F(R, U64, rates_id, 0, _)                                                                                \
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
HELIO_RECORD_DECLARE(helio_row_rates, HELIO_ROW_RATES_FIELDS)

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

/*  Energy of one hour of a site that no job is charged for, or what its meter says. Append-only: the first word on an hour
 *  stands. UNIQUE (site, hour, pool, part). */
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
    F(R, TEXT, least_site, 32, _)                                                                            \
    F(R, U64, least_wait_ms, 0, _)                                                                           \
    F(R, U64, least_energy_j, 0, _)                                                                          \
    F(R, U64, least_carbon_mg, 0, _)                                                                         \
    F(R, I64, least_cost_micro_usd, 0, _)                                                                    \
    F(R, TEXT, least_carbon_kind, 40, _)                                                                     \
    F(R, BOOL, estimated, 0, _) /* some figure of it is */
HELIO_RECORD_DECLARE(helio_row_baseline, HELIO_ROW_BASELINE_FIELDS)

#define HELIO_ROW_TRANSITION_FIELDS(F, R)                                                                    \
    F(R, U64, seq, 0, _)                                                                                     \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, U32, epoch, 0, _)                                                                                   \
    F(R, U32, from, 0, _)                                                                                    \
    F(R, U32, to, 0, _)                                                                                      \
    F(R, TEXT, reason, 256, _)                                                                               \
    F(R, TEXT, actor, 96, _) /* broker | site:NAME | user:NAME */
HELIO_RECORD_DECLARE(helio_row_transition, HELIO_ROW_TRANSITION_FIELDS)

/*  One evaluation of a class of equal jobs: many placements may rest on it. */
#define HELIO_ROW_DECISION_FIELDS(F, R)                                                                      \
    F(R, U64, decision_id, 0, _)                                                                             \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, U64, class_id, 0, _)                                                                                \
    F(R, TEXT, policy_version, 32, _)                                                                        \
    F(R, TEXT, reason, 64, _)  /* "" = placed; else the dominant reason of waiting */                        \
    F(R, TEXT, detail, 256, _)                                                                               \
    F(R, TEXT, chosen_site, 32, _) /* also of a start that is waited for */                                  \
    F(R, TEXT, chosen_pool, 32, _)                                                                           \
    F(R, I64, forecast_ms, 0, _) /* issue of the carbon series that it rests on; 0 = none */
HELIO_RECORD_DECLARE(helio_row_decision, HELIO_ROW_DECISION_FIELDS)

#define HELIO_ROW_CANDIDATE_FIELDS(F, R)                                                                     \
    F(R, U64, decision_id, 0, _)                                                                             \
    F(R, U32, rank, 0, _) /* 0 = chosen or best; order of preference */                                      \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, I64, start_ms, 0, _)                                                                                \
    F(R, I64, score_micro_usd, 0, _)                                                                         \
    F(R, I64, cost_micro_usd, 0, _)                                                                          \
    F(R, U64, energy_j, 0, _)                                                                                \
    F(R, U64, carbon_mg, 0, _)                                                                               \
    F(R, TEXT, rejected_reason, 64, _) /* "" = feasible */                                                   \
    F(R, TEXT, detail, 256, _)                                                                               \
    F(R, I64, carbon_micro_usd, 0, _) /* the score's terms beside the cost */                                \
    F(R, I64, wait_micro_usd, 0, _)                                                                          \
    F(R, I64, risk_micro_usd, 0, _)                                                                          \
    F(R, I64, shadow_micro_usd, 0, _)                                                                        \
    F(R, I64, move_micro_usd, 0, _)                                                                          \
    F(R, I64, transfer_micro_usd, 0, _)                                                                      \
    F(R, U64, transfer_ms, 0, _) /* bringing its data, and what that costs beside cost, energy and carbon */ \
    F(R, I64, egress_micro_usd, 0, _)                                                                        \
    F(R, U64, transfer_j, 0, _)                                                                              \
    F(R, U64, transfer_carbon_mg, 0, _)                                                                      \
    F(R, U64, run_ms, 0, _) /* expected there; the time limit where nothing is known */                      \
    F(R, U64, run_high_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_candidate, HELIO_ROW_CANDIDATE_FIELDS)

/*  Jobs that want the same: upserted when the reason they wait for changes. */
#define HELIO_ROW_CLASS_FIELDS(F, R)                                                                         \
    F(R, U64, class_id, 0, _)                                                                                \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, TEXT, summary, 256, _) /* "8×H100 ×2 nodes" */                                                      \
    F(R, TEXT, reason, 64, _)                                                                                \
    F(R, TEXT, detail, 256, _)                                                                               \
    F(R, U64, decision_id, 0, _)                                                                             \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, I64, expected_ms, 0, _) /* when the first of them is expected to start; 0 = not foreseen */
HELIO_RECORD_DECLARE(helio_row_class, HELIO_ROW_CLASS_FIELDS)

#define HELIO_ROW_SITE_FIELDS(F, R)                                                                          \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, U32, state, HELIO_SITE_STATE_COUNT - 1, _)                                                          \
    F(R, BOOL, draining, 0, _)                                                                               \
    F(R, TEXT, drain_reason, 256, _)                                                                         \
    F(R, TEXT, backend, 16, _)                                                                               \
    F(R, TEXT, region, 32, _)                                                                                \
    F(R, F64, latitude, 0, _)                                                                                \
    F(R, F64, longitude, 0, _)                                                                               \
    F(R, TEXT, timezone, 64, _)                                                                              \
    F(R, F64, pue, 0, _)                                                                                     \
    F(R, F64, carbon_g_per_kwh, 0, _)                                                                        \
    F(R, F64, electricity_usd_per_kwh, 0, _)                                                                 \
    F(R, BOOL, containers, 0, _)                                                                             \
    F(R, BOOL, leases, 0, _)                                                                                 \
    F(R, TEXT, agent_version, 32, _)                                                                         \
    F(R, I64, seen_ms, 0, _)                                                                                 \
    F(R, TEXT, refused, 256, _)  /* why its agent was refused last; "" = it was not of late */ \
    F(R, I64, refused_ms, 0, _)  /* since when */
HELIO_RECORD_DECLARE(helio_row_site, HELIO_ROW_SITE_FIELDS)

#define HELIO_ROW_POOL_FIELDS(F, R)                                                                          \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, TEXT, gpu, 32, _)                                                                                   \
    F(R, U64, gpu_memory_bytes, 0, _)                                                                        \
    F(R, U32, nodes, 0, _)                                                                                   \
    F(R, U32, max_nodes, 0, _)                                                                               \
    F(R, U32, gpus_per_node, 0, _)                                                                           \
    F(R, U32, cpus_per_node, 0, _)                                                                           \
    F(R, U64, memory_bytes_per_node, 0, _)                                                                   \
    F(R, U32, interconnect, 0, _)                                                                            \
    F(R, U32, sharing, 0, _)                                                                                 \
    F(R, BOOL, owned, 0, _)                                                                                  \
    F(R, F64, price_usd_per_gpu_h, 0, _)                                                                     \
    F(R, F64, idle_w, 0, _)                                                                                  \
    F(R, F64, base_w, 0, _)                                                                                  \
    F(R, F64, slope_w, 0, _)                                                                                 \
    F(R, F64, host_w, 0, _)
HELIO_RECORD_DECLARE(helio_row_pool, HELIO_ROW_POOL_FIELDS)

/*  The newest figures of a pool; `sample` also keeps it in the history (one a minute). */
#define HELIO_ROW_CAPACITY_FIELDS(F, R)                                                                      \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, BOOL, sample, 0, _)                                                                                 \
    F(R, U32, nodes_up, 0, _)                                                                                \
    F(R, U32, gpus_total, 0, _)                                                                              \
    F(R, U32, gpus_allocated, 0, _)                                                                          \
    F(R, U32, gpus_free, 0, _)                                                                               \
    F(R, U32, gpus_reserved, 0, _)                                                                           \
    F(R, U32, largest_block_gpus, 0, _) /* largest gang that fits now */                                     \
    F(R, U32, jobs_running, 0, _)                                                                            \
    F(R, U32, jobs_queued, 0, _)                                                                             \
    F(R, F64, site_power_w, 0, _) /* < 0 = not known */
HELIO_RECORD_DECLARE(helio_row_capacity, HELIO_ROW_CAPACITY_FIELDS)

#define HELIO_ROW_SERIES_FIELDS(F, R)                                                                        \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, U32, signal, 0, _)                                                                                  \
    F(R, TEXT, kind, 16, _)                                                                                  \
    F(R, TEXT, factor, 16, _)                                                                                \
    F(R, TEXT, source, 64, _)                                                                                \
    F(R, BOOL, estimated, 0, _)                                                                              \
    F(R, I64, issued_ms, 0, _)                                                                               \
    F(R, I64, start_ms, 0, _)                                                                                \
    F(R, U32, step_s, 0, _)                                                                                  \
    F(R, F64S, values, 0, _)                                                                                 \
    F(R, F64S, p10, 0, _)                                                                                    \
    F(R, F64S, p90, 0, _)
HELIO_RECORD_DECLARE(helio_row_series, HELIO_ROW_SERIES_FIELDS)

#define HELIO_ROW_AUDIT_FIELDS(F, R)                                                                         \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, TEXT, actor, 96, _)                                                                                 \
    F(R, TEXT, action, 32, _)                                                                                \
    F(R, TEXT, object, 96, _)                                                                                \
    F(R, TEXT, detail, 512, _)
HELIO_RECORD_DECLARE(helio_row_audit, HELIO_ROW_AUDIT_FIELDS)

/*  Tokens, site keys: public part and hash only. revoked_ms 0 = in force. */
#define HELIO_ROW_TOKEN_FIELDS(F, R)                                                                         \
    F(R, TEXT, token_id, 32, _)                                                                              \
    F(R, BYTES, hash, 32, _) /* SHA-256 of the secret part */                                                \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, TEXT, role, 16, _) /* user | operator | admin */                                                    \
    F(R, I64, created_ms, 0, _)                                                                              \
    F(R, I64, expires_ms, 0, _)                                                                              \
    F(R, I64, revoked_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_token, HELIO_ROW_TOKEN_FIELDS)

#define HELIO_ROW_SITE_KEY_FIELDS(F, R)                                                                      \
    F(R, TEXT, public_key, 40, _) /* Z85 */                                                                  \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, I64, created_ms, 0, _)                                                                              \
    F(R, I64, revoked_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_site_key, HELIO_ROW_SITE_KEY_FIELDS)

/*  What a job waits for before it may start: one row a job, array or task that it names, immutable. on.task NO_TASK = the
 *  whole of an array. UNIQUE (job, place). */
#define HELIO_ROW_DEPENDENCY_FIELDS(F, R)                                                                    \
    F(R, UUID, job, 0, _)                                                                                    \
    F(R, U32, place, 0, _) /* as the document lists them, from 0 */                                          \
    F(R, U32, after, HELIO_AFTER_COUNT - 1, _)                                                               \
    F(R, KEY, on, 0, _)
HELIO_RECORD_DECLARE(helio_row_dependency, HELIO_ROW_DEPENDENCY_FIELDS)

/*  A job whose gate was closed when it came; upserted when what it waits for changes, and when the gate opens. */
#define HELIO_ROW_GATE_FIELDS(F, R)                                                                          \
    F(R, UUID, job, 0, _)                                                                                    \
    F(R, TEXT, detail, 256, _) /* "waits for 01k9… to succeed" */                                            \
    F(R, I64, opened_ms, 0, _) /* 0 = closed */
HELIO_RECORD_DECLARE(helio_row_gate, HELIO_ROW_GATE_FIELDS)

/*  Read at takeover only: a dependency of an open job, and how it ended if the job waited for is over. */
#define HELIO_ROW_WAITING_FIELDS(F, R)                                                                       \
    F(R, UUID, job, 0, _)                                                                                    \
    F(R, U32, after, HELIO_AFTER_COUNT - 1, _)                                                               \
    F(R, KEY, on, 0, _)                                                                                      \
    F(R, U32, found, HELIO_FOUND_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_row_waiting, HELIO_ROW_WAITING_FIELDS)

/*  Read at takeover only: where an open job could have started first (its first placement's row). */
#define HELIO_ROW_LEAST_FIELDS(F, R)                                                                         \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, TEXT, site, 32, _)                                                                                  \
    F(R, TEXT, pool, 32, _)                                                                                  \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_least, HELIO_ROW_LEAST_FIELDS)

/*  What lies under a URI prefix lies at these sites, parted by blanks; "" = the row is removed. Upserted. UNIQUE (prefix). */
enum { HELIO_DATA_PREFIX_MAX = 1024, HELIO_DATA_SITES_MAX = 64, HELIO_DATA_MAX = 100000, HELIO_LINKS_MAX = 10000 };
#define HELIO_ROW_DATA_FIELDS(F, R)                                                                          \
    F(R, TEXT, prefix, HELIO_DATA_PREFIX_MAX, _)                                                             \
    F(R, TEXT, sites, HELIO_DATA_SITES_MAX * (HELIO_SITE_NAME_MAX + 1), _)                                   \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, TEXT, tenant, 32, _) /* whose jobs find it there; "" = everybody's */
HELIO_RECORD_DECLARE(helio_row_data, HELIO_ROW_DATA_FIELDS)

/*  What leads from one site to another; "*" = any. Upserted, or removed. UNIQUE (from, to). */
#define HELIO_ROW_LINK_FIELDS(F, R)                                                                          \
    F(R, TEXT, from, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, to, HELIO_SITE_NAME_MAX, _)                                                                   \
    F(R, BOOL, removed, 0, _)                                                                                \
    F(R, U64, mbps, 0, _)                                                                                    \
    F(R, I64, egress_micro_usd_per_gb, 0, _)                                                                 \
    F(R, U32, rtt_ms, 0, _)                                                                                  \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_link, HELIO_ROW_LINK_FIELDS)

/*  Read at takeover only: what bringing its data costs an open job's current attempt (its placement's row). */
#define HELIO_ROW_TRANSFER_FIELDS(F, R)                                                                      \
    F(R, KEY, key, 0, _)                                                                                     \
    F(R, U32, epoch, 0, _)                                                                                   \
    F(R, U64, ms, 0, _)                                                                                      \
    F(R, I64, egress_micro_usd, 0, _)                                                                        \
    F(R, U64, energy_j, 0, _)                                                                                \
    F(R, U64, carbon_mg, 0, _)
HELIO_RECORD_DECLARE(helio_row_transfer, HELIO_ROW_TRANSFER_FIELDS)

/*  Read at takeover only. */
#define HELIO_ROW_FEDERATION_FIELDS(F, R)                                                                    \
    F(R, U64, incarnation, 0, _)                                                                             \
    F(R, U64, broker_epoch, 0, _)                                                                            \
    F(R, U64, last_transition_seq, 0, _)                                                                     \
    F(R, U64, last_decision_id, 0, _)                                                                        \
    F(R, U64, seed, 0, _)                                                                                    \
    F(R, UUID, newest_job, 0, _) /* the largest id there is; all zero when there is no job */                \
    F(R, U64, leases_left_ms, 0, _) /* for so long leases of former leaders may run yet, by their own length */
HELIO_RECORD_DECLARE(helio_row_federation, HELIO_ROW_FEDERATION_FIELDS)

#define HELIO_ROW_TENANT_FIELDS(F, R)                                                                        \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, home_site, 32, _)
HELIO_RECORD_DECLARE(helio_row_tenant, HELIO_ROW_TENANT_FIELDS)

#define HELIO_ROW_QUEUE_FIELDS(F, R)                                                                         \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, U32, priority, 0, _)                                                                                \
    F(R, U32, tier, HELIO_TIER_COUNT - 1, _)                                                                 \
    F(R, U64, time_limit_ms, 0, _) /* the default */                                                         \
    F(R, BOOL, removed, 0, _)      /* there is no such queue any more */
HELIO_RECORD_DECLARE(helio_row_queue, HELIO_ROW_QUEUE_FIELDS)

/*  Another priority of a queue: at the hours of a schedule, or (schedule "") until a time. Upserted, also when it begins and
 *  ceases to hold; removed = deleted. UNIQUE (queue, region, schedule, zone). */
#define HELIO_ROW_QUEUE_RULE_FIELDS(F, R)                                                                    \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, TEXT, region, 32, _) /* of the sites that it is for; "" = everywhere */                             \
    F(R, TEXT, schedule, 256, _)                                                                             \
    F(R, TEXT, zone, 64, _) /* "" = UTC */                                                                   \
    F(R, BYTES, zone_data, HELIO_QUEUE_ZONE_DATA_MAX, _) /* what was known of the zone when it was set (TZif) */ \
    F(R, U32, priority, 0, _)                                                                                \
    F(R, I64, until_ms, 0, _) /* 0 = as long as nobody removes it */                                         \
    F(R, I64, at_ms, 0, _)    /* when it was set */                                                          \
    F(R, BOOL, holds, 0, _)   /* now */                                                                      \
    F(R, BOOL, removed, 0, _)
enum { HELIO_QUEUE_ZONE_DATA_MAX = 32768 };
HELIO_RECORD_DECLARE(helio_row_queue_rule, HELIO_ROW_QUEUE_RULE_FIELDS)


/*  What a tenant may hold, in one queue or (queue "") in all together (federation/policy/quota.h). Upserted. UNIQUE (tenant,
 *  queue). */
#define HELIO_ROW_QUOTA_FIELDS(F, R)                                                                         \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, U32, guaranteed_gpus, 0, _)                                                                         \
    F(R, U32, burst_gpus, 0, _) /* HELIO_QUOTA_UNLIMITED = null */                                           \
    F(R, U32, weight_milli, 0, _)                                                                            \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_quota, HELIO_ROW_QUOTA_FIELDS)

/*  An overflow group (federation/policy/overflow.h). Upserted; removed = deleted. UNIQUE (name), UNIQUE (queue, tenant). */
#define HELIO_ROW_OVERFLOW_FIELDS(F, R)                                                                      \
    F(R, TEXT, name, 32, _)                                                                                  \
    F(R, TEXT, queue, 32, _)  /* "" = of every queue */                                                      \
    F(R, TEXT, tenant, 32, _) /* "" = of every tenant */                                                     \
    F(R, TEXT, steps, 1024, _)                                                                               \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, BOOL, removed, 0, _)
HELIO_RECORD_DECLARE(helio_row_overflow, HELIO_ROW_OVERFLOW_FIELDS)

/*  Read at takeover only: what a tenant used within one hour of the past days. */
#define HELIO_ROW_USAGE_FIELDS(F, R)                                                                         \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, gpu_model, 64, _)                                                                             \
    F(R, I64, hour_ms, 0, _)                                                                                 \
    F(R, U64, gpu_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_usage, HELIO_ROW_USAGE_FIELDS)

/*  Read at takeover only, in the order in which jobs ended: a job that was over with its first attempt. */
#define HELIO_ROW_RUN_FIELDS(F, R)                                                                           \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, TEXT, name, 64, _)                                                                                  \
    F(R, U32, kind, 0, _)                                                                                    \
    F(R, TEXT, gpu_model, 64, _)                                                                             \
    F(R, U64, run_ms, 0, _)                                                                                  \
    F(R, BOOL, whole, 0, _) /* it succeeded, or ran into its limit */                                        \
    F(R, U32, gpus, 0, _)   /* as asked, over all nodes */                                                   \
    F(R, U64, time_limit_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_run, HELIO_ROW_RUN_FIELDS)

/*  An idempotency key that a finished job keeps occupied. */
#define HELIO_ROW_KEY_FIELDS(F, R)                                                                           \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, idempotency_key, 128, _)                                                                      \
    F(R, BYTES, spec_hash, 32, _)                                                                            \
    F(R, UUID, job, 0, _)
HELIO_RECORD_DECLARE(helio_row_key, HELIO_ROW_KEY_FIELDS)

#endif
