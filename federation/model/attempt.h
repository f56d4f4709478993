/*  attempt.h -- one attempt of a job at a site: the order that starts it, the reports about it, and the states of a job
 *  (job_state.def).
 *
 *  An attempt is identified by (key, epoch) under an incarnation of the federation; no epoch is ever issued twice.
 */
#ifndef HELIO_MODEL_ATTEMPT_H
#define HELIO_MODEL_ATTEMPT_H

#include "federation/base/record.h"
#include "federation/model/job.h"

typedef enum helio_job_state {
#define STATE(name, word, live, terminal) HELIO_JOB_##name,
#include "federation/model/job_state.def"
    HELIO_JOB_STATE_COUNT
} helio_job_state_t;

const char *helio_job_state_name(uint32_t state); /* "queued"; "unknown" outside the table */
HELIO_MUST_CHECK helio_rc helio_job_state_of(helio_text_t word, uint32_t *ret_state);
bool helio_job_state_is_live(uint32_t state);
bool helio_job_state_is_terminal(uint32_t state);
bool helio_job_state_edge(uint32_t from, uint32_t to);            /* is the transition listed? */
const char *helio_job_state_edge_why(uint32_t from, uint32_t to); /* NULL when not listed */
uint32_t helio_job_state_edge_mask(uint32_t from);                /* bit t set: from -> t is listed */

/*  An instruction of the broker to run an attempt. `source` is the job's document, byte for byte as received. */
#define HELIO_ORDER_FIELDS(F, R)                                        \
    F(R, U64, dispatch_seq, 0, _) /* per site and session, ascending */ \
    F(R, KEY, key, 0, _)                                                \
    F(R, U32, epoch, 0, _)                                              \
    F(R, TEXT, tenant, 32, _)                                           \
    F(R, TEXT, user, 64, _)                                             \
    F(R, TEXT, pool, 32, _)                                             \
    F(R, U32, nodes, HELIO_JOB_NODES_MAX, _)                            \
    F(R, U32, gpus_per_node, HELIO_JOB_GPUS_PER_NODE_MAX, _)            \
    F(R, U32, cpus_per_node, 4096, _)                                   \
    F(R, U64, memory_bytes_per_node, 0, _)                              \
    F(R, U64, time_limit_ms, 0, _)                                      \
    F(R, U32, on_site_loss, HELIO_SITE_LOSS_COUNT - 1, _)               \
    F(R, BOOL, resume, 0, _) /* an earlier epoch ran: HELIO_RESUME=1 */ \
    F(R, BYTES, source, HELIO_JOB_SOURCE_MAX, _)
HELIO_RECORD_DECLARE(helio_order, HELIO_ORDER_FIELDS)

/*  A report of an agent about an attempt. The order is the stored value. */
#define HELIO_REPORT_KIND_TABLE(X)                                                                        \
    X(ACCEPTED, "accepted") /* journalled */                                                              \
    X(REFUSED, "refused")   /* never started; cause says why; the epoch is dead at this site */           \
    X(STARTING, "starting") /* the backend was called */                                                  \
    X(RUNNING, "running")                                                                                 \
    X(SUSPENDED, "suspended")                                                                             \
    X(ENDED, "ended")     /* by itself or at its limit; exit_code is the job's, 124 for the limit */      \
    X(STOPPED, "stopped") /* on the broker's order, or at the end of the lease; may never have started */ \
    X(LOST, "lost")       /* the backend lost it (node failure, start failure): not the job's fault */
#define HELIO_REPORT_KIND_ENUMERATOR(name, word) HELIO_REPORT_KIND_##name,
HELIO_ENUM_DECLARE(helio_report_kind, HELIO_REPORT_KIND, HELIO_REPORT_KIND_TABLE)

/*  Durable at the agent until acknowledged; `seq` ascends per agent journal and is never reused. Run times are
 *  measured where the processes run: run_ms on a monotonic clock, gpu_ms = run_ms * allocated GPUs. */
#define HELIO_REPORT_FIELDS(F, R)                                                                                \
    F(R, U64, seq, 0, _)                                                                                         \
    F(R, KEY, key, 0, _)                                                                                         \
    F(R, U32, epoch, 0, _)                                                                                       \
    F(R, U32, kind, HELIO_REPORT_KIND_COUNT - 1, _)                                                              \
    F(R, I64, wall_ms, 0, _)                                                                                     \
    F(R, I32, exit_code, 0, _) /* ENDED: 0..255, 128+n for signal n, 124 for the limit */                        \
    F(R, BOOL, limit_reached, 0, _)                                                                              \
    F(R, I64, started_wall_ms, 0, _) /* 0 = never started */                                                     \
    F(R, I64, ended_wall_ms, 0, _)                                                                               \
    F(R, U64, run_ms, 0, _)                                                                                      \
    F(R, U64, gpu_ms, 0, _)                                                                                      \
    F(R, U64, energy_j, 0, _)                                                                                    \
    F(R, U64, units_done, 0, _)                                                                                  \
    F(R, TEXT, reason, 256, _)         /* cause and explanation as one text, for brokers before version 4 */     \
    F(R, TEXT, local_id, 64, _)        /* the backend's own name for it */                                       \
    F(R, U64, saved_run_ms, 0, _, 3)   /* of run_ms, what a later attempt need not run again; 0 = unknown */     \
    F(R, U32, cause, 0, _, 4)          /* helio_cause_t, or one of a newer release: why it was refused, lost   \
                                      * or stopped, or what it waits for at the site */ \
    F(R, TEXT, explanation, 256, _, 4) /* what the system or the scheduler said, for people */                   \
    F(R, BOOL, estimated, 0, _, 5)     /* run_ms and gpu_ms follow from the last proof of life: no end was seen */
HELIO_RECORD_DECLARE(helio_report, HELIO_REPORT_FIELDS)

/*  One entry of an agent's inventory: an attempt in its journal or backend. `state` is a job state. */
#define HELIO_HOLDING_FIELDS(F, R)                 \
    F(R, KEY, key, 0, _)                           \
    F(R, U32, epoch, 0, _)                         \
    F(R, U32, state, HELIO_JOB_STATE_COUNT - 1, _) \
    F(R, U64, dispatch_seq, 0, _)
HELIO_RECORD_DECLARE(helio_holding, HELIO_HOLDING_FIELDS)

/* clang-format off */
#define HELIO_VERDICT_TABLE(X) \
    X(KEEP, "keep")            \
    X(STOP, "stop")            \
    X(FENCED, "fenced") /* stop, and its results are evidence only */
/* clang-format on */
#define HELIO_VERDICT_ENUMERATOR(name, word) HELIO_VERDICT_##name,
HELIO_ENUM_DECLARE(helio_verdict, HELIO_VERDICT, HELIO_VERDICT_TABLE)

#define HELIO_ATTEMPT_VERDICT_FIELDS(F, R) \
    F(R, KEY, key, 0, _)                   \
    F(R, U32, epoch, 0, _)                 \
    F(R, U32, verdict, HELIO_VERDICT_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_attempt_verdict, HELIO_ATTEMPT_VERDICT_FIELDS)

/*  How to stop an attempt. */
#define HELIO_STOP_MODE_TABLE(X)                                             \
    X(GRACE, "grace") /* checkpoint signal or TERM, the job's grace, KILL */ \
    X(KILL, "kill")   /* immediately */
#define HELIO_STOP_MODE_ENUMERATOR(name, word) HELIO_STOP_MODE_##name,
HELIO_ENUM_DECLARE(helio_stop_mode, HELIO_STOP_MODE, HELIO_STOP_MODE_TABLE)

#define HELIO_STOP_FIELDS(F, R)                   \
    F(R, KEY, key, 0, _)                          \
    F(R, U32, epoch, 0, _)                        \
    F(R, U32, mode, HELIO_STOP_MODE_COUNT - 1, _) \
    F(R, TEXT, reason, 64, _) /* for people */    \
    F(R, U32, cause, 0, _, 4) /* helio_cause_t; the report of the end repeats both */
HELIO_RECORD_DECLARE(helio_stop, HELIO_STOP_FIELDS)

/*  A signal for a running job. The numbers are sent: append only. */
/* clang-format off */
#define HELIO_JOB_SIGNAL_TABLE(X) \
    X(HUP, "HUP")                 \
    X(INT, "INT")                 \
    X(QUIT, "QUIT")               \
    X(KILL, "KILL")               \
    X(USR1, "USR1")               \
    X(USR2, "USR2")               \
    X(TERM, "TERM")               \
    X(CONT, "CONT")
#define HELIO_JOB_SIGNAL_ENUMERATOR(name, word) HELIO_JOB_SIGNAL_##name,
HELIO_ENUM_DECLARE(helio_job_signal, HELIO_JOB_SIGNAL, HELIO_JOB_SIGNAL_TABLE)

#define HELIO_SIGNAL_TO_TABLE(X)                                                             \
    X(JOB, "job")       /* the processes that have a handler for it; if none has, all */    \
    X(SCRIPT, "script") /* the job's program alone, of each rank; not what it has started */ \
    X(ALL, "all")       /* all processes */
#define HELIO_SIGNAL_TO_ENUMERATOR(name, word) HELIO_SIGNAL_TO_##name,
HELIO_ENUM_DECLARE(helio_signal_to, HELIO_SIGNAL_TO, HELIO_SIGNAL_TO_TABLE)
/* clang-format on */

#define HELIO_ATTEMPT_SIGNAL_FIELDS(F, R)            \
    F(R, KEY, key, 0, _)                             \
    F(R, U32, epoch, 0, _)                           \
    F(R, U32, signal, HELIO_JOB_SIGNAL_COUNT - 1, _) \
    F(R, U32, to, HELIO_SIGNAL_TO_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_attempt_signal, HELIO_ATTEMPT_SIGNAL_FIELDS)

/*  A word of a channel's command: longer than other texts, since `sh -c` has a script in one word. */
#define HELIO_ARGUMENT_FIELDS(F, R) F(R, TEXT, text, 65536, _)
HELIO_RECORD_DECLARE(helio_argument, HELIO_ARGUMENT_FIELDS)

/*  What a channel leads to, and which stream its bytes are. The numbers are sent: append only. */
/* clang-format off */
#define HELIO_CHANNEL_KIND_TABLE(X)                               \
    X(COMMAND, "command") /* a command, with or without terminal */ \
    X(PORT, "port")       /* a connection to a port of the attempt */
#define HELIO_CHANNEL_KIND_ENUMERATOR(name, word) HELIO_CHANNEL_KIND_##name,
HELIO_ENUM_DECLARE(helio_channel_kind, HELIO_CHANNEL_KIND, HELIO_CHANNEL_KIND_TABLE)

#define HELIO_CHANNEL_STREAM_TABLE(X) \
    X(NONE, "none")                   \
    X(OUTPUT, "output")               \
    X(ERROR, "error")
#define HELIO_CHANNEL_STREAM_ENUMERATOR(name, word) HELIO_CHANNEL_STREAM_##name,
HELIO_ENUM_DECLARE(helio_channel_stream, HELIO_CHANNEL_STREAM, HELIO_CHANNEL_STREAM_TABLE)
/* clang-format on */

#endif
