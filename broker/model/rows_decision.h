/*  rows_decision.h -- why jobs are where they are, and why others wait. Conventions: rows.h. */
#ifndef HELIO_BROKER_MODEL_ROWS_DECISION_H
#define HELIO_BROKER_MODEL_ROWS_DECISION_H

#include "federation/base/record.h"
#include "federation/policy/choice.h" /* the rejections that rows name */
#include "federation/reason/detail.h"

/*  One evaluation of a class of equal jobs. Many placements can rest on it. */
#define HELIO_ROW_DECISION_FIELDS(F, R)                                           \
    F(R, U64, decision_id, 0, _)                                                  \
    F(R, I64, at_ms, 0, _)                                                        \
    F(R, U64, class_id, 0, _)                                                     \
    F(R, TEXT, policy_version, 32, _)                                             \
    F(R, TEXT, reason, 64, _) /* "" = placed; else the dominant pending reason */ \
    F(R, RECORD, details, 0, helio_details)                                       \
    F(R, TEXT, chosen_site, 32, _) /* also of a start that is waited for */       \
    F(R, TEXT, chosen_pool, 32, _)                                                \
    F(R, I64, forecast_ms, 0, _) /* issue of the carbon series that it rests on; 0 = none */
HELIO_RECORD_DECLARE(helio_row_decision, HELIO_ROW_DECISION_FIELDS)

#define HELIO_ROW_CANDIDATE_FIELDS(F, R)                                                            \
    F(R, U64, decision_id, 0, _)                                                                    \
    F(R, U32, rank, 0, _) /* 0 = chosen or best; order of preference */                             \
    F(R, TEXT, site, 32, _)                                                                         \
    F(R, TEXT, pool, 32, _)                                                                         \
    F(R, I64, start_ms, 0, _)                                                                       \
    F(R, I64, score_micro_usd, 0, _)                                                                \
    F(R, I64, cost_micro_usd, 0, _)                                                                 \
    F(R, U64, energy_j, 0, _)                                                                       \
    F(R, U64, carbon_mg, 0, _)                                                                      \
    F(R, TEXT, rejected_reason, 64, _) /* "" = feasible */                                          \
    F(R, RECORD, details, 0, helio_details)                                                         \
    F(R, I64, carbon_micro_usd, 0, _) /* with the next ones: the score's terms besides the cost */  \
    F(R, I64, wait_micro_usd, 0, _)                                                                 \
    F(R, I64, risk_micro_usd, 0, _)                                                                 \
    F(R, I64, shadow_micro_usd, 0, _)                                                               \
    F(R, I64, disruption_micro_usd, 0, _)                                                           \
    F(R, I64, transfer_micro_usd, 0, _)                                                             \
    F(R, U64, transfer_ms, 0, _) /* of its data; cost, energy and carbon above do not include it */ \
    F(R, I64, egress_micro_usd, 0, _)                                                               \
    F(R, U64, transfer_j, 0, _)                                                                     \
    F(R, U64, transfer_carbon_mg, 0, _)                                                             \
    F(R, U64, run_ms, 0, _) /* expected there; without any history the time limit */                \
    F(R, U64, run_high_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_candidate, HELIO_ROW_CANDIDATE_FIELDS)

/*  Jobs that ask for the same. Upserted when the pending reason changes. */
#define HELIO_ROW_CLASS_FIELDS(F, R)                      \
    F(R, U64, class_id, 0, _)                             \
    F(R, TEXT, tenant, 32, _)                             \
    F(R, TEXT, queue, 32, _)                              \
    F(R, TEXT, summary, 256, _) /* "8×H100 ×2 nodes" */ \
    F(R, TEXT, reason, 64, _)                             \
    F(R, RECORD, details, 0, helio_details)               \
    F(R, U64, decision_id, 0, _)                          \
    F(R, I64, at_ms, 0, _)                                \
    F(R, I64, expected_ms, 0, _) /* when the first of them is expected to start; 0 = unknown */
HELIO_RECORD_DECLARE(helio_row_class, HELIO_ROW_CLASS_FIELDS)

#endif
