/*  effects.h -- what the core tells the shells to do. Each kind of effect is one record; the records of rows are in
 *  rows.h.
 *
 *  Effects own nothing: texts, lists and bytes in a record are views that are valid until the step's effects are
 *  carried out. */
#ifndef HELIO_BROKER_MODEL_EFFECTS_H
#define HELIO_BROKER_MODEL_EFFECTS_H

#include "broker/model/rows.h"
#include "federation/base/step.h"
#include "federation/reason/detail.h"

#define HELIO_PLANNED_CANDIDATE_FIELDS(F, R)  \
    F(R, RECORD, row, 0, helio_row_candidate) \
    F(R, TEXT, backend, 16, _)
HELIO_RECORD_DECLARE(helio_planned_candidate, HELIO_PLANNED_CANDIDATE_FIELDS)

/*  The result of PLAN: the decision as it would be written (rows.h) if the job were submitted now. Energy is in J,
 *  carbon in mg. */
#define HELIO_PLANNED_FIELDS(F, R)                                                                                     \
    F(R, TEXT, name, HELIO_JOB_NAME_MAX, _)                                                                            \
    F(R, U32, goal, HELIO_GOAL_COUNT - 1, _)                                                                           \
    F(R, BOOL, prices_set, 0, _) /* the document's own prices, not a goal's */                                         \
    F(R, U64, flexible_ms, 0, _)                                                                                       \
    F(R, I64, deadline_wall_ms, 0, _)                                                                                  \
    F(R, RECORD, decision, 0, helio_row_decision) /* decision_id and class_id are 0; reason "" = it would start now */ \
    F(R, I64, expected_ms, 0, _)                  /* of its start (wall clock); 0 = unknown */                         \
    F(R, U64, run_ms, 0, _) /* at the chosen candidate, else at the best; without any history the time limit */        \
    F(R, U32, gpus, 0, _)   /* at the chosen candidate, else the first alternative; sum over all nodes */              \
    F(R, U32, nodes, 0, _)                                                                                             \
    F(R, I64, carbon_price_micro_usd_per_t, 0, _)                                                                      \
    F(R, I64, wait_price_micro_usd_per_gpu_h, 0, _)                                                                    \
    F(R, LIST, candidates, 65536, helio_planned_candidate)                                                             \
    F(R, U64, run_high_ms, 0, _)                                                                                       \
    F(R, U64, time_limit_ms, 0, _)                                                                                     \
    F(R, U32, expected_runs, 0, _) /* like the fields of a job's row */                                                \
    F(R, U32, expected_failed, 0, _)                                                                                   \
    F(R, U32, expected_basis, HELIO_DURATION_BASIS_COUNT - 1, _)                                                       \
    F(R, TEXT, expected_of, 64, _)                /* the name, user or kind whose runs the estimate rests on */        \
    F(R, U32, tasks, HELIO_JOB_ARRAY_MAX, _)      /* tasks of an array, else 0; all figures are of one task */         \
    F(R, U32, tasks_now, HELIO_JOB_ARRAY_MAX, _)  /* tasks that would start at once, at most */                        \
    F(R, RECORD, tasks_details, 0, helio_details) /* and what holds the other tasks */                                 \
    F(R, BOOL, stops, 0, _) /* it runs where it is supposed to be curtailed, and would be stopped for that */
HELIO_RECORD_DECLARE(helio_planned, HELIO_PLANNED_FIELDS)

/*  Jobs that are ahead in the scheduling order: neighbours of one tenant and queue, summed up. tenant "" = a tenant
 *  that the caller may not see. */
#define HELIO_AHEAD_FIELDS(F, R) \
    F(R, TEXT, tenant, 32, _)    \
    F(R, TEXT, queue, 32, _)     \
    F(R, U64, jobs, 0, _)        \
    F(R, U64, gpus, 0, _)
HELIO_RECORD_DECLARE(helio_ahead, HELIO_AHEAD_FIELDS)

/*  A change to the job or its account. The core has tried each: it lets the job start sooner. */
/* clang-format off */
#define HELIO_HINT_KIND_TABLE(X) \
    X(FLEXIBLE, "flexible")      \
    X(MAX_COST, "max_cost")      \
    X(MAX_CARBON, "max_carbon")  \
    X(DEADLINE, "deadline")      \
    X(TIME, "time")              \
    X(GPU, "gpu")                \
    X(SITES, "sites")            \
    X(REGIONS, "regions")        \
    X(QUEUE, "queue")            \
    X(QUOTA, "quota")            \
    X(BUDGET, "budget")          \
    X(PRIORITY, "priority")
/* clang-format on */
#define HELIO_HINT_KIND_ENUMERATOR(name, word) HELIO_HINT_KIND_##name,
typedef enum helio_hint_kind {
    HELIO_HINT_KIND_TABLE(HELIO_HINT_KIND_ENUMERATOR) HELIO_HINT_KIND_COUNT
} helio_hint_kind_t;
const char *helio_hint_kind_name(uint32_t value);
#define HELIO_HINT_FIELDS(F, R)                   \
    F(R, U32, kind, HELIO_HINT_KIND_COUNT - 1, _) \
    F(R, RECORD, change, 0, helio_details)        \
    F(R, RECORD, effect, 0, helio_details)
HELIO_RECORD_DECLARE(helio_hint, HELIO_HINT_FIELDS)

/*  For a job that has not started: all fields. For a running job: better_site alone. Times are wall clock in ms, 0 =
 *  unknown. basis: what the times rest on. */
#define HELIO_START_ESTIMATE_FIELDS(F, R)                                               \
    F(R, I64, earliest_ms, 0, _)                                                        \
    F(R, I64, latest_ms, 0, _)                                                          \
    F(R, RECORD, basis, 0, helio_details)                                               \
    F(R, U64, ahead_jobs, 0, _)                                                         \
    F(R, U64, ahead_gpus, 0, _)        /* each job counts with its first alternative */ \
    F(R, LIST, ahead, 16, helio_ahead) /* the first three entries */                    \
    F(R, LIST, hints, 16, helio_hint)                                                   \
    F(R, I64, at_ms, 0, _) /* when the estimate was made */                             \
    F(R, RECORD, better_site, 0,                                                        \
      helio_details) /* of a running job: whether another site would be better, and why the job is not migrated */
HELIO_RECORD_DECLARE(helio_start_estimate, HELIO_START_ESTIMATE_FIELDS)

/*  GPUs that a pool should have at a time (wall clock; the first is now, the others begin hours), in whole nodes, and why:
 *  running: of jobs that are there now, until their limits. waiting: the nodes that waiting jobs want of an elastic pool.
 *  planned: of starts that are set for a later time. */
enum { HELIO_DESIRED_HOURS = 24 };
#define HELIO_DESIRED_HOUR_FIELDS(F, R) \
    F(R, I64, at_ms, 0, _)              \
    F(R, U64, running_gpus, 0, _)       \
    F(R, U64, waiting_gpus, 0, _)       \
    F(R, U64, planned_gpus, 0, _)       \
    F(R, U64, desired_gpus, 0, _)
HELIO_RECORD_DECLARE(helio_desired_hour, HELIO_DESIRED_HOUR_FIELDS)
#define HELIO_DESIRED_POOL_FIELDS(F, R)                           \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                      \
    F(R, TEXT, pool, 32, _)                                       \
    F(R, BOOL, elastic, 0, _)                                     \
    F(R, U32, nodes, 0, _) /* that are up, by the last summary */ \
    F(R, U32, nodes_most, 0, _)                                   \
    F(R, U32, gpus_per_node, 0, _)                                \
    F(R, LIST, hours, HELIO_DESIRED_HOURS + 1, helio_desired_hour)
HELIO_RECORD_DECLARE(helio_desired_pool, HELIO_DESIRED_POOL_FIELDS)

/*  The scheduling order of jobs that wait for room, as if each were placed when its turn comes. A turn: neighbours of one
 *  tenant and queue. why: what puts the first of them before the first of the next other account. */
/* clang-format off */
#define HELIO_TURN_REASON_TABLE(X) \
    X(LAST, "last")           /* nobody is behind it */ \
    X(TIER, "tier") \
    X(PRIORITY, "priority")   /* of the queue */ \
    X(GUARANTEE, "guarantee") \
    X(SHARE, "share") \
    X(AGE, "age")
/* clang-format on */
#define HELIO_TURN_REASON_ENUMERATOR(name, word) HELIO_TURN_REASON_##name,
typedef enum helio_turn_reason {
    HELIO_TURN_REASON_TABLE(HELIO_TURN_REASON_ENUMERATOR) HELIO_TURN_REASON_COUNT
} helio_turn_reason_t;
const char *helio_turn_reason_name(uint32_t value);

enum { HELIO_QUEUE_ORDER_JOBS = 10000, HELIO_QUEUE_ORDER_SHARES = 65536 }; /* listed at most: the first ones */
#define HELIO_QUEUE_JOB_FIELDS(F, R) F(R, KEY, key, 0, _)
HELIO_RECORD_DECLARE(helio_queue_job, HELIO_QUEUE_JOB_FIELDS)

/*  tenant "": one that the caller may not see; its jobs are counted, and not listed. */
#define HELIO_QUEUE_TURN_FIELDS(F, R)              \
    F(R, TEXT, tenant, 32, _)                      \
    F(R, TEXT, queue, 32, _)                       \
    F(R, U32, why, HELIO_TURN_REASON_COUNT - 1, _) \
    F(R, U32, count, HELIO_QUEUE_ORDER_JOBS, _)    \
    F(R, LIST, jobs, HELIO_QUEUE_ORDER_JOBS, helio_queue_job)
HELIO_RECORD_DECLARE(helio_queue_turn, HELIO_QUEUE_TURN_FIELDS)

/*  What the order knows of a tenant that waits: what it holds now, and its use, held and recent, in millionths of an A100. */
#define HELIO_QUEUE_SHARE_FIELDS(F, R) \
    F(R, TEXT, tenant, 32, _)          \
    F(R, U32, weight_milli, 0, _)      \
    F(R, U64, gpus, 0, _)              \
    F(R, U32, guaranteed_gpus, 0, _)   \
    F(R, U64, used_micro, 0, _)        \
    F(R, U64, jobs, 0, _)
HELIO_RECORD_DECLARE(helio_queue_share, HELIO_QUEUE_SHARE_FIELDS)

#define HELIO_QUEUE_ORDER_FIELDS(F, R)                          \
    F(R, I64, at_ms, 0, _)                                      \
    F(R, U64, jobs, 0, _) /* listed or not */                   \
    F(R, LIST, turns, HELIO_QUEUE_ORDER_JOBS, helio_queue_turn) \
    F(R, LIST, shares, HELIO_QUEUE_ORDER_SHARES, helio_queue_share)
HELIO_RECORD_DECLARE(helio_queue_order, HELIO_QUEUE_ORDER_FIELDS)

/*  The reply to SUBMIT, CANCEL and the other calls: one for each call. jobs: the ids of SUBMIT, in order. reason: a
 *  name of helio_reason_t, "" when rc is HELIO_OK. details: what was done; or what is wrong, where, and the remedy. */
#define HELIO_ACCEPTED_JOB_FIELDS(F, R) \
    F(R, UUID, job, 0, _)               \
    F(R, BOOL, existed, 0, _) /* the idempotency key was in use with the same document */
HELIO_RECORD_DECLARE(helio_accepted_job, HELIO_ACCEPTED_JOB_FIELDS)

#define HELIO_FX_REPLY_FIELDS(F, R)                                                          \
    F(R, U64, call, 0, _)                                                                    \
    F(R, U32, rc, 0, _) /* helio_rc */                                                       \
    F(R, TEXT, reason, 64, _)                                                                \
    F(R, RECORD, details, 0, helio_details)                                                  \
    F(R, LIST, jobs, 10000, helio_accepted_job)                                              \
    F(R, RECORD, plan, 0, helio_planned)                                                     \
    F(R, RECORD, start_estimate, 0, helio_start_estimate) /* for EXPLAIN and PLAN */         \
    F(R, LIST, desired, 65536, helio_desired_pool)        /* for DESIRED: pools with GPUs */ \
    F(R, RECORD, queue_order, 0, helio_queue_order)       /* for QUEUE_ORDER */
HELIO_RECORD_DECLARE(helio_fx_reply, HELIO_FX_REPLY_FIELDS)

#define HELIO_FX_WELCOME_FIELDS(F, R) \
    F(R, U64, peer, 0, _)             \
    F(R, U64, incarnation, 0, _)      \
    F(R, U64, broker_epoch, 0, _)     \
    F(R, U64, lease_ms, 0, _)         \
    F(R, U64, renew_ms, 0, _)         \
    F(R, U64, summary_ms, 0, _)       \
    F(R, U64, memory_mark, 0, _) /* the agent's numbers go on above it; 0 = as they are */
HELIO_RECORD_DECLARE(helio_fx_welcome, HELIO_FX_WELCOME_FIELDS)

#define HELIO_FX_VERDICT_FIELDS(F, R) \
    F(R, U64, peer, 0, _)             \
    F(R, RECORD, attempt_verdict, 0, helio_attempt_verdict)
HELIO_RECORD_DECLARE(helio_fx_verdict, HELIO_FX_VERDICT_FIELDS)

#define HELIO_FX_DEMAND_FIELDS(F, R) \
    F(R, U64, peer, 0, _)            \
    F(R, LIST, pools, HELIO_SITE_POOLS_MAX, helio_pool_demand)
HELIO_RECORD_DECLARE(helio_fx_demand, HELIO_FX_DEMAND_FIELDS)

#define HELIO_FX_PEER_FIELDS(F, R) \
    F(R, U64, peer, 0, _)          \
    F(R, U32, rc, 0, _)            \
    F(R, TEXT, text, 512, _)
HELIO_RECORD_DECLARE(helio_fx_peer, HELIO_FX_PEER_FIELDS)

#define HELIO_FX_ORDER_FIELDS(F, R) \
    F(R, U64, peer, 0, _)           \
    F(R, U64, incarnation, 0, _)    \
    F(R, RECORD, order, 0, helio_order)
HELIO_RECORD_DECLARE(helio_fx_order, HELIO_FX_ORDER_FIELDS)

#define HELIO_FX_STOP_FIELDS(F, R) \
    F(R, U64, peer, 0, _)          \
    F(R, RECORD, stop, 0, helio_stop)
HELIO_RECORD_DECLARE(helio_fx_stop, HELIO_FX_STOP_FIELDS)

#define HELIO_FX_SIGNAL_FIELDS(F, R) \
    F(R, U64, peer, 0, _)            \
    F(R, RECORD, signal, 0, helio_attempt_signal)
HELIO_RECORD_DECLARE(helio_fx_signal, HELIO_FX_SIGNAL_FIELDS)

/*  Open the channel that the gateway keeps ready under this number. */
#define HELIO_FX_CHANNEL_FIELDS(F, R) \
    F(R, U64, peer, 0, _)             \
    F(R, U64, channel, 0, _)          \
    F(R, KEY, key, 0, _)              \
    F(R, U32, epoch, 0, _)            \
    F(R, U64, limit_ms, 0, _)         \
    F(R, U64, idle_ms, 0, _)
HELIO_RECORD_DECLARE(helio_fx_channel, HELIO_FX_CHANNEL_FIELDS)

#define HELIO_FX_REPORTS_ACK_FIELDS(F, R) \
    F(R, U64, peer, 0, _)                 \
    F(R, U64, seq, 0, _)
HELIO_RECORD_DECLARE(helio_fx_reports_ack, HELIO_FX_REPORTS_ACK_FIELDS)

#define HELIO_FX_RENEWED_FIELDS(F, R) \
    F(R, U64, peer, 0, _)             \
    F(R, I64, sent_boot_ms, 0, _)     \
    F(R, U64, lease_ms, 0, _)
HELIO_RECORD_DECLARE(helio_fx_renewed, HELIO_FX_RENEWED_FIELDS)

/*  NAME, record, release class (federation/base/step.h). The ROW kinds come first. A peer's effects begin with the
 *  peer. */
#define HELIO_BROKER_EFFECT_TABLE(X)                                                                   \
    X(ROW_JOB, helio_row_job, ROW)                                                                     \
    X(ROW_STATE, helio_row_state, ROW)                                                                 \
    X(ROW_PLACEMENT, helio_row_placement, ROW)                                                         \
    X(ROW_ATTEMPT, helio_row_attempt, ROW)                                                             \
    X(ROW_LEDGER, helio_row_ledger, ROW)                                                               \
    X(ROW_TRANSITION, helio_row_transition, ROW) /* once committed, the event stream shows it too */   \
    X(ROW_DECISION, helio_row_decision, ROW)                                                           \
    X(ROW_CANDIDATE, helio_row_candidate, ROW)                                                         \
    X(ROW_CLASS, helio_row_class, ROW)                                                                 \
    X(ROW_SITE, helio_row_site, ROW)                                                                   \
    X(ROW_POOL, helio_row_pool, ROW)                                                                   \
    X(ROW_CAPACITY, helio_row_capacity, ROW)                                                           \
    X(ROW_SERIES, helio_row_series, ROW)                                                               \
    X(ROW_AUDIT, helio_row_audit, ROW)                                                                 \
    X(ROW_TOKEN, helio_row_token, ROW)       /* once committed, it updates the HTTP shell's table */   \
    X(ROW_SITE_KEY, helio_row_site_key, ROW) /* once committed, it updates the gateway's table */      \
    X(ROW_DEPENDENCY, helio_row_dependency, ROW)                                                       \
    X(ROW_DEPENDENCY_HOLD, helio_row_dependency_hold, ROW)                                             \
    X(ROW_QUOTA, helio_row_quota, ROW)                                                                 \
    X(ROW_HOURLY_PRICE, helio_row_hourly_price, ROW)                                                   \
    X(ROW_ACTUAL, helio_row_actual, ROW)                                                               \
    X(ROW_BASELINE, helio_row_baseline, ROW)                                                           \
    X(ROW_DATA, helio_row_data, ROW)                                                                   \
    X(ROW_LINK, helio_row_link, ROW)                                                                   \
    X(ROW_QUEUE, helio_row_queue, ROW)                                                                 \
    X(ROW_QUEUE_RULE, helio_row_queue_rule, ROW)                                                       \
    X(ROW_OVERFLOW, helio_row_overflow, ROW)                                                           \
    X(ROW_SITE_ENERGY, helio_row_site_energy, ROW)                                                     \
    X(ROW_EDIT, helio_row_edit, ROW)                                                                   \
    X(ROW_EDITED, helio_row_edited, ROW)                                                               \
    X(ROW_BUDGET, helio_row_budget, ROW)                                                               \
    X(ROW_TENANT, helio_row_tenant, ROW)                                                               \
    X(ROW_PRINCIPAL, helio_row_principal, ROW) /* once committed, it updates the HTTP shell's table */ \
    X(ROW_CURTAILMENT, helio_row_curtailment, ROW)                                                     \
    X(ROW_LABEL, helio_row_label, ROW)                                                                 \
    X(REPLY, helio_fx_reply, HELD)                                                                     \
    X(ORDER, helio_fx_order, HELD)                                                                     \
    X(STOP, helio_fx_stop, HELD)                                                                       \
    X(SIGNAL, helio_fx_signal, HELD)                                                                   \
    X(VERDICT, helio_fx_verdict, HELD)                                                                 \
    X(VERDICTS_DONE, helio_fx_peer, HELD)                                                              \
    X(REPORTS_ACK, helio_fx_reports_ack, HELD)                                                         \
    X(WELCOME, helio_fx_welcome, HELD)                                                                 \
    X(RENEWED, helio_fx_renewed, HELD)                                                                 \
    X(RESYNC, helio_fx_peer, FREE)                                                                     \
    X(DEMAND, helio_fx_demand, FREE)                                                                   \
    X(REFUSAL, helio_fx_peer, FREE)                                                                    \
    X(ANSWER, helio_fx_reply, FREE) /* to a question about the moment, which no commit could change */ \
    X(CHANNEL, helio_fx_channel, HELD)

typedef enum helio_broker_effect {
#define X(NAME, record, release) HELIO_BROKER_FX_##NAME,
    HELIO_BROKER_EFFECT_TABLE(X)
#undef X
        HELIO_BROKER_EFFECT_COUNT
} helio_broker_effect_t;

extern const helio_step_kind_t helio_broker_effects[HELIO_BROKER_EFFECT_COUNT];

#endif
