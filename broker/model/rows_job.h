/*  rows_job.h -- a job from its document to its end: what it is, its state, what it waits for, and its attempts.
 *  Conventions: rows.h. */
#ifndef HELIO_BROKER_MODEL_ROWS_JOB_H
#define HELIO_BROKER_MODEL_ROWS_JOB_H

#include "federation/model/attempt.h"
#include "federation/model/label.h"
#include "federation/policy/duration.h"
#include "federation/reason/detail.h"

/*  Who did something, in audits and histories: "user:TENANT/NAME", "site:NAME", "broker", "bootstrap". */
enum { HELIO_ACTOR_MAX = 5 + 32 + 1 + 64 };

/*  Why a job is being stopped. The number is stored: append only. */
typedef enum helio_intent {
    HELIO_INTENT_NONE,
    HELIO_INTENT_CANCEL,
    HELIO_INTENT_REQUEUE,
    HELIO_INTENT_PREEMPT /* by a preemption: the job keeps its place in the queue */
} helio_intent_t;

/*  What people ask of a job's stop, beyond its intent: nothing more; an operator cancelled it, and once more ends the
 *  grace; it has no grace. The number is stored: append only. */
typedef enum helio_haste { HELIO_HASTE_NONE, HELIO_HASTE_OPERATOR, HELIO_HASTE_NOW, HELIO_HASTE_COUNT } helio_haste_t;

/*  What must become of another job so that this one can start; START: it runs, or is over; TASK: it
 *  succeeds, and only the task of the same index waits for it. The number is stored: append only. */
typedef enum helio_after {
    HELIO_AFTER_OK,
    HELIO_AFTER_ANY,
    HELIO_AFTER_NOT_OK,
    HELIO_AFTER_START,
    HELIO_AFTER_TASK,
    HELIO_AFTER_COUNT
} helio_after_t;

/*  What the database knows of a job that another one names: the tenant has no such job; the name fits several; it is
 *  not over; it succeeded (an array: every task); it ended otherwise. */
typedef enum helio_found {
    HELIO_FOUND_UNKNOWN,
    HELIO_FOUND_AMBIGUOUS,
    HELIO_FOUND_OPEN,
    HELIO_FOUND_OK,
    HELIO_FOUND_NOT_OK,
    HELIO_FOUND_COUNT
} helio_found_t;

/*  Immutable once written. An array has one row for all of its tasks. */
#define HELIO_ROW_JOB_FIELDS(F, R)                                                                       \
    F(R, UUID, job, 0, _)                                                                                \
    F(R, TEXT, tenant, 32, _)                                                                            \
    F(R, TEXT, user, 64, _)                                                                              \
    F(R, TEXT, idempotency_key, 128, _)                                                                  \
    F(R, BYTES, spec_hash, 32, _) /* SHA-256 of source; empty without a key */                           \
    F(R, BYTES, source, HELIO_JOB_SOURCE_MAX, _)                                                         \
    F(R, TEXT, name, 64, _)                                                                              \
    F(R, TEXT, queue, 32, _)                                                                             \
    F(R, U32, tier, 0, _)                                                                                \
    F(R, U32, kind, 0, _)                                                                                \
    F(R, TEXT, home_site, 32, _)                                                                         \
    F(R, TEXT, gpu_model, 64, _) /* as asked for; "" = any or none */                                    \
    F(R, U32, gpus, 0, _)        /* of one task, over all nodes */                                       \
    F(R, U32, nodes, 0, _)                                                                               \
    F(R, U64, time_limit_ms, 0, _)                                                                       \
    F(R, U64, class_id, 0, _)                                                                            \
    F(R, U32S, tasks, HELIO_JOB_ARRAY_MAX, _)                                                            \
    F(R, I64, submitted_ms, 0, _)                                                                        \
    F(R, U64, expected_ms, 0, _)      /* run time as on an A100, estimated at submission; 0 = unknown */ \
    F(R, U64, expected_high_ms, 0, _) /* nine runs in ten are not longer */                              \
    F(R, U32, expected_runs, 0, _)    /* runs that the estimate rests on */                              \
    F(R, U32, expected_failed, 0, _)  /* of the last 32 jobs like it */                                  \
    F(R, U32, expected_basis, HELIO_DURATION_BASIS_COUNT - 1, _)                                         \
    F(R, U32, tasks_at_once, HELIO_JOB_ARRAY_MAX, _) /* of an array; 0 = no limit */                     \
    F(R, U32, on_site_loss, HELIO_SITE_LOSS_COUNT - 1, _)                                                \
    F(R, U32, goal, HELIO_GOAL_COUNT - 1, _)                                                             \
    F(R, U64, flexible_ms, 0, _)                                                                         \
    F(R, I64, deadline_wall_ms, 0, _) /* 0 = none */
HELIO_RECORD_DECLARE(helio_row_job, HELIO_ROW_JOB_FIELDS)

/*  A label of a job or array. Immutable. UNIQUE (job, name). */
#define HELIO_ROW_LABEL_FIELDS(F, R)     \
    F(R, UUID, job, 0, _)                \
    F(R, TEXT, name, HELIO_LABEL_MAX, _) \
    F(R, TEXT, value, HELIO_LABEL_MAX, _)
HELIO_RECORD_DECLARE(helio_row_label, HELIO_ROW_LABEL_FIELDS)

/*  Narrow and hot; no row = queued at epoch 0. Upserted at most once per job and batch: the last row of a batch
 *  counts. */
#define HELIO_ROW_STATE_FIELDS(F, R)                                                                              \
    F(R, KEY, key, 0, _)                                                                                          \
    F(R, U32, state, HELIO_JOB_STATE_COUNT - 1, _)                                                                \
    F(R, U32, before, HELIO_JOB_STATE_COUNT - 1, _) /* SUSPECT: the state to return to */                         \
    F(R, U32, intent, 0, _)                         /* helio_intent_t: why it is being stopped */                 \
    F(R, U32, epoch, 0, _)                                                                                        \
    F(R, U32, attempts, 0, _)                                                                                     \
    F(R, U32, failures, 0, _)      /* the job's own failures, counted against retries */                          \
    F(R, U32, site_failures, 0, _) /* attempts that a site could not run, or that failed within a minute */       \
    F(R, TEXT, site, 32, _)                                                                                       \
    F(R, TEXT, pool, 32, _)                                                                                       \
    F(R, RECORD, why, 0, helio_details)                                                                           \
    F(R, I64, started_ms, 0, _)                                                                                   \
    F(R, I64, finished_ms, 0, _)                                                                                  \
    F(R, I32, exit_code, 0, _) /* -1 = none */                                                                    \
    F(R, U64, gpu_ms, 0, _)                                                                                       \
    F(R, U64, cost_micro_usd, 0, _)                                                                               \
    F(R, U64, energy_j, 0, _)                                                                                     \
    F(R, U64, carbon_mg, 0, _)                                                                                    \
    F(R, U64, units_done, 0, _)                                                                                   \
    F(R, I64, at_ms, 0, _)                                                                                        \
    F(R, U32, preemptions, 0, _) /* how often it was told to stop for a preemption */                             \
    F(R, U64, saved_ms, 0, _)    /* run time over all attempts whose work is saved, as far as known */            \
    F(R, U32, migrations, 0, _)  /* how often it was told to stop for a migration */                              \
    F(R, U32, losses, 0, _)      /* attempts that their sites lost, or stopped unasked, since it made progress */ \
    F(R, U32, haste, HELIO_HASTE_COUNT - 1, _) /* helio_haste_t: of the stop of its latest attempt */
HELIO_RECORD_DECLARE(helio_row_state, HELIO_ROW_STATE_FIELDS)

/*  The outbox: an order is sent only after this row is durable. UNIQUE (job, task, epoch). */
#define HELIO_ROW_PLACEMENT_FIELDS(F, R)                                                                  \
    F(R, KEY, key, 0, _)                                                                                  \
    F(R, U32, epoch, 0, _)                                                                                \
    F(R, TEXT, site, 32, _)                                                                               \
    F(R, TEXT, pool, 32, _)                                                                               \
    F(R, U64, decision_id, 0, _)                                                                          \
    F(R, U32, nodes, 0, _)                                                                                \
    F(R, U32, gpus, 0, _)                                                                                 \
    F(R, I64, score_micro_usd, 0, _)                                                                      \
    F(R, I64, planned_cost_micro_usd, 0, _)                                                               \
    F(R, U64, planned_energy_j, 0, _)                                                                     \
    F(R, U64, planned_carbon_mg, 0, _)                                                                    \
    F(R, I64, start_ms, 0, _)                                                                             \
    F(R, I64, at_ms, 0, _)                                                                                \
    F(R, TEXT, earliest_site, 32, _) /* first placement only: the earliest-start baseline */              \
    F(R, TEXT, earliest_pool, 32, _)                                                                      \
    F(R, I64, earliest_ms, 0, _)                                                                          \
    F(R, U64, transfer_ms, 0, _) /* of its data; the planned figures contain the next three */            \
    F(R, I64, transfer_micro_usd, 0, _)                                                                   \
    F(R, U64, transfer_j, 0, _)                                                                           \
    F(R, U64, transfer_carbon_mg, 0, _)                                                                   \
    F(R, TEXT, gpu_model, 64, _) /* of the pool */                                                        \
    F(R, U64, expected_ms, 0, _) /* run time there, which planned_* rest on; the time limit if unknown */ \
    F(R, U64, expected_high_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_placement, HELIO_ROW_PLACEMENT_FIELDS)

/*  Whose word the end of an attempt is. */
typedef enum helio_attempt_basis {
    HELIO_ATTEMPT_REPORTED,  /* its site's */
    HELIO_ATTEMPT_GIVEN_UP,  /* the broker's: what it saw of the run, until the site reports the end */
    HELIO_ATTEMPT_CORRECTED, /* its site's, after the broker had given it up */
} helio_attempt_basis_t;

/*  The end of one attempt. Immutable, but for one given up, which its site's report replaces. UNIQUE (job, task, epoch);
 *  UNIQUE (job, task) where completes. */
#define HELIO_ROW_ATTEMPT_FIELDS(F, R)                                                        \
    F(R, KEY, key, 0, _)                                                                      \
    F(R, U32, epoch, 0, _)                                                                    \
    F(R, TEXT, site, 32, _)                                                                   \
    F(R, U32, kind, 0, _)       /* helio_report_kind_t */                                     \
    F(R, BOOL, completes, 0, _) /* this end is the job's end */                               \
    F(R, BOOL, fenced, 0, _)    /* its epoch was no longer current: evidence and cost only */ \
    F(R, I32, exit_code, 0, _)                                                                \
    F(R, I64, started_ms, 0, _)                                                               \
    F(R, I64, ended_ms, 0, _)                                                                 \
    F(R, U64, run_ms, 0, _)                                                                   \
    F(R, U64, gpu_ms, 0, _)                                                                   \
    F(R, U64, energy_j, 0, _)                                                                 \
    F(R, U64, units_done, 0, _)                                                               \
    F(R, TEXT, reason, 256, _)                                                                \
    F(R, TEXT, local_id, 64, _)                                                               \
    F(R, I64, at_ms, 0, _)                                                                    \
    F(R, U32, basis, 0, _) /* helio_attempt_basis_t */
HELIO_RECORD_DECLARE(helio_row_attempt, HELIO_ROW_ATTEMPT_FIELDS)

#define HELIO_ROW_TRANSITION_FIELDS(F, R) \
    F(R, U64, seq, 0, _)                  \
    F(R, I64, at_ms, 0, _)                \
    F(R, KEY, key, 0, _)                  \
    F(R, U32, epoch, 0, _)                \
    F(R, U32, from, 0, _)                 \
    F(R, U32, to, 0, _)                   \
    F(R, RECORD, why, 0, helio_details)   \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _) /* broker | site:NAME | user:TENANT/NAME */
HELIO_RECORD_DECLARE(helio_row_transition, HELIO_ROW_TRANSITION_FIELDS)

/*  What a job waits for before it can start: one row for each job, array or task that it names. Immutable. on.task
 *  NO_TASK = the whole array. UNIQUE (job, place). */
#define HELIO_ROW_DEPENDENCY_FIELDS(F, R)                                \
    F(R, UUID, job, 0, _)                                                \
    F(R, U32, place, 0, _) /* position in the document's list, from 0 */ \
    F(R, U32, after, HELIO_AFTER_COUNT - 1, _)                           \
    F(R, KEY, on, 0, _)
HELIO_RECORD_DECLARE(helio_row_dependency, HELIO_ROW_DEPENDENCY_FIELDS)

/*  The dependency hold of a job that could not enter its queue when it was submitted. Upserted when what it waits for
 *  changes, and when the hold ends. One that has ended also stands for a begin that was past at the submission: another
 *  leader's clock can be behind. */
#define HELIO_ROW_DEPENDENCY_HOLD_FIELDS(F, R)                                       \
    F(R, UUID, job, 0, _)                                                            \
    F(R, RECORD, details, 0, helio_details) /* "waits for job 01k9… to succeed" */ \
    F(R, I64, opened_ms, 0, _)              /* when the hold ended; 0 = it has not */
HELIO_RECORD_DECLARE(helio_row_dependency_hold, HELIO_ROW_DEPENDENCY_HOLD_FIELDS)

/*  Read at takeover only: a dependency of an open job, and how the job that it names ended if that is over. */
#define HELIO_ROW_WAITING_FIELDS(F, R)         \
    F(R, UUID, job, 0, _)                      \
    F(R, U32, after, HELIO_AFTER_COUNT - 1, _) \
    F(R, KEY, on, 0, _)                        \
    F(R, U32, found, HELIO_FOUND_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_row_waiting, HELIO_ROW_WAITING_FIELDS)

/*  Read at takeover only: an open job whose dependency hold has ended. */
#define HELIO_ROW_ENDED_HOLD_FIELDS(F, R) F(R, UUID, job, 0, _)
HELIO_RECORD_DECLARE(helio_row_ended_hold, HELIO_ROW_ENDED_HOLD_FIELDS)

/*  Read at takeover only: where an open job could have started first (from the row of its first placement). */
#define HELIO_ROW_EARLIEST_START_FIELDS(F, R) \
    F(R, KEY, key, 0, _)                      \
    F(R, TEXT, site, 32, _)                   \
    F(R, TEXT, pool, 32, _)                   \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_earliest_start, HELIO_ROW_EARLIEST_START_FIELDS)

/*  Read at takeover only: what the transfer of its data costs an open job's current attempt (from its placement's
 *  row). */
#define HELIO_ROW_TRANSFER_FIELDS(F, R) \
    F(R, KEY, key, 0, _)                \
    F(R, U32, epoch, 0, _)              \
    F(R, U64, ms, 0, _)                 \
    F(R, I64, egress_micro_usd, 0, _)   \
    F(R, U64, energy_j, 0, _)           \
    F(R, U64, carbon_mg, 0, _)
HELIO_RECORD_DECLARE(helio_row_transfer, HELIO_ROW_TRANSFER_FIELDS)

/*  What an open job asks for since it was edited, in place of what its document says; all fields, edited or not.
 *  Upserted; applies to all tasks of an array. UNIQUE (job). */
enum { HELIO_EDIT_PRIORITY_MAX = 100 };
#define HELIO_ROW_EDIT_FIELDS(F, R)                                                                     \
    F(R, UUID, job, 0, _)                                                                               \
    F(R, I32, priority, 0, _) /* among its tenant's jobs in its queue; from -HELIO_EDIT_PRIORITY_MAX */ \
    F(R, U32, goal, HELIO_GOAL_COUNT - 1, _)                                                            \
    F(R, BOOL, prices_set, 0, _) /* the document's prices count, not the goal's */                      \
    F(R, I64, deadline_wall_ms, 0, _)                                                                   \
    F(R, U64, flexible_ms, 0, _)                                                                        \
    F(R, U64, max_cost_micro_usd, 0, _)                                                                 \
    F(R, U64, max_carbon_mg_per_kwh, 0, _)                                                              \
    F(R, TEXT, queue, 32, _)                                                                            \
    F(R, U32, tier, HELIO_TIER_COUNT - 1, _)                                                            \
    F(R, U64, class_id, 0, _)                                                                           \
    F(R, I64, at_ms, 0, _)                                                                              \
    F(R, U64, time_limit_ms, 0, _) /* 0 = that of the job's row: older brokers did not edit it */
HELIO_RECORD_DECLARE(helio_row_edit, HELIO_ROW_EDIT_FIELDS)

/*  One field that an edit changed. Append-only. UNIQUE (seq, place). */
#define HELIO_ROW_EDITED_FIELDS(F, R)                                    \
    F(R, U64, seq, 0, _)   /* of the transition that records the edit */ \
    F(R, U32, place, 0, _) /* among the fields of that edit */           \
    F(R, UUID, job, 0, _)                                                \
    F(R, I64, at_ms, 0, _)                                               \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                                \
    F(R, TEXT, field, 16, _)                                             \
    F(R, TEXT, before, 64, _) /* both values as text */                  \
    F(R, TEXT, after, 64, _)
HELIO_RECORD_DECLARE(helio_row_edited, HELIO_ROW_EDITED_FIELDS)

/*  Read at takeover only, in the order in which the jobs ended: a job that was over after its first attempt. */
#define HELIO_ROW_RUN_FIELDS(F, R)                                       \
    F(R, TEXT, tenant, 32, _)                                            \
    F(R, TEXT, user, 64, _)                                              \
    F(R, TEXT, name, 64, _)                                              \
    F(R, U32, kind, 0, _)                                                \
    F(R, TEXT, gpu_model, 64, _)                                         \
    F(R, U64, run_ms, 0, _)                                              \
    F(R, BOOL, whole, 0, _) /* it succeeded or reached its time limit */ \
    F(R, U32, gpus, 0, _)   /* as asked for, over all nodes */           \
    F(R, U64, time_limit_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_run, HELIO_ROW_RUN_FIELDS)

/*  An idempotency key that a finished job still occupies. */
#define HELIO_ROW_KEY_FIELDS(F, R)      \
    F(R, TEXT, tenant, 32, _)           \
    F(R, TEXT, idempotency_key, 128, _) \
    F(R, BYTES, spec_hash, 32, _)       \
    F(R, UUID, job, 0, _)
HELIO_RECORD_DECLARE(helio_row_key, HELIO_ROW_KEY_FIELDS)

#endif
