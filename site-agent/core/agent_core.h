/*  agent_core.h -- the state machine of a site: one step function, no I/O.
 *
 *  Rules: an intent is durable before the action (a row in the journal before the backend is called). Every report is
 *  durable until the broker has acknowledged it. Nothing starts twice for one (key, epoch), even if messages are
 *  repeated or restarted. Orders of a lower incarnation, or of an epoch not above the last one seen of that job, are
 *  refused. Nothing starts before the inventory of the session is closed. Until the backend has reported all that it
 *  holds, what it does not know is unknown and not absent: nothing starts, and no stop is answered with NotHere. The
 *  core allocates nodes and GPUs of pools whose backend leaves that to it (`local`); elsewhere the cluster's scheduler
 *  decides.
 *
 *  The files of this room, lowest first; each calls only those before it:
 *      records, emit, capacity, known   tables, and the state of nodes and of job keys
 *      attempts, reports                what is held, and what the broker has not acknowledged yet
 *      lease, life                      what happens to attempts
 *      orders, summary, session         the broker's side
 *      agent_core                       the step
 *
 *  Life of an attempt at a site:  ACCEPTED -> STARTING -> RUNNING (-> SUSPENDED -> RUNNING) -> ended (report pending)
 *  -> forgotten when acknowledged
 */
#ifndef HELIO_AGENT_CORE_H
#define HELIO_AGENT_CORE_H

#include "federation/base/step.h"
#include "federation/model/attempt.h"
#include "federation/model/site.h"

/*  Where an attempt runs: the GPU indexes of each node that it got. */
#define HELIO_SLOT_FIELDS(F, R) \
    F(R, U32, node, 0, _)       \
    F(R, U32S, gpus, HELIO_JOB_GPUS_PER_NODE_MAX, _)
HELIO_RECORD_DECLARE(helio_slot, HELIO_SLOT_FIELDS)

/*  What the agent knows of an attempt that the attempt's user cannot write, where a scheduler runs it: since when it was
 *  to run, since when its scheduler showed it on its nodes, and since when a shim had claimed it. Times on two clocks:
 *  the wall clock can be set, and CLOCK_BOOTTIME starts anew with the machine. 0 = not yet. */
#define HELIO_EVIDENCE_FIELDS(F, R)                                                               \
    F(R, I64, asked_wall_ms, 0, _) /* when the backend was told to start it */                    \
    F(R, I64, asked_boot_ms, 0, _)                                                                \
    F(R, I64, shown_wall_ms, 0, _) /* when its scheduler first showed it on its nodes, ... */     \
    F(R, I64, shown_boot_ms, 0, _)                                                                \
    F(R, U64, shown_for_ms, 0, _)    /* ... and how long, up to a list of which this row knows */ \
    F(R, I64, claimed_boot_ms, 0, _) /* when its claim was first seen: of its lifetime.h */
HELIO_RECORD_DECLARE(helio_evidence, HELIO_EVIDENCE_FIELDS)

/* ---- journal rows (also loaded back at start) ---------------------------------------------------------- */

#define HELIO_JROW_ATTEMPT_FIELDS(F, R)                                                                        \
    F(R, U64, incarnation, 0, _)                                                                               \
    F(R, RECORD, order, 0, helio_order)                                                                        \
    F(R, U32, state, HELIO_JOB_STATE_COUNT - 1,                                                                \
      _) /* ACCEPTED, STARTING, RUNNING, SUSPENDED, STOPPING; QUEUED = over */                                 \
    F(R, U32, stop_mode, HELIO_STOP_MODE_COUNT, _) /* STOPPING */                                              \
    F(R, BOOL, fenced, 0, _)                                                                                   \
    F(R, I64, started_wall_ms, 0, _)                                                                           \
    F(R, LIST, slots, HELIO_JOB_NODES_MAX, helio_slot)                                                         \
    F(R, TEXT, stop_reason, 64, _) /* STOPPING: both members below as one text, for agents before version 4 */ \
    F(R, U32, stop_cause, 0, _, 4) /* STOPPING: what the STOPPED report will give; helio_cause_t */            \
    F(R, TEXT, stop_explanation, 64, _, 4)                                                                     \
    F(R, RECORD, evidence, 0, helio_evidence, 9)
HELIO_RECORD_DECLARE(helio_jrow_attempt, HELIO_JROW_ATTEMPT_FIELDS)

/*  The highest epoch of a job that was ever accepted or refused here: orders of older epochs are replays. Kept 30
 *  days. */
#define HELIO_JROW_SEEN_FIELDS(F, R) \
    F(R, KEY, key, 0, _)             \
    F(R, U32, epoch, 0, _)           \
    F(R, I64, wall_ms, 0, _)
HELIO_RECORD_DECLARE(helio_jrow_seen, HELIO_JROW_SEEN_FIELDS)

#define HELIO_JROW_ACKED_FIELDS(F, R) F(R, U64, seq, 0, _) /* reports up to this number can be deleted */
HELIO_RECORD_DECLARE(helio_jrow_acked, HELIO_JROW_ACKED_FIELDS)

#define HELIO_JROW_META_FIELDS(F, R)                                                                        \
    F(R, U64, incarnation, 0, _)                                                                            \
    F(R, U64, broker_epoch, 0, _)                                                                           \
    F(R, U64, report_seq, 0, _) /* the last number used: each report and each HELLO takes one */            \
    F(R, I64, lease_boot_ms, 0,                                                                             \
      _) /* the end of the lease on both clocks, 0 = none; after a restart the earlier counts */            \
    F(R, I64, lease_wall_ms, 0, _)      /* two counts, since CLOCK_BOOTTIME starts anew with the machine */ \
    F(R, U64, lease_ms, 0, _)           /* its length when granted */                                       \
    F(R, I64, memory_since_ms, 0, _, 5) /* when this journal was made, by the wall clock: it names the journal */
HELIO_RECORD_DECLARE(helio_jrow_meta, HELIO_JROW_META_FIELDS)

/* ---- events -------------------------------------------------------------------------------------------- */

#define HELIO_AEV_NOTHING_FIELDS(F, R) F(R, U32, unused, 0, _)
HELIO_RECORD_DECLARE(helio_aev_nothing, HELIO_AEV_NOTHING_FIELDS)

#define HELIO_AEV_LOADED_FIELDS(F, R) F(R, BOOL, damaged, 0, _) /* the journal was damaged: reconcile only */
HELIO_RECORD_DECLARE(helio_aev_loaded, HELIO_AEV_LOADED_FIELDS)

#define HELIO_AEV_SEALED_FIELDS(F, R) F(R, U64, batch, 0, _)
HELIO_RECORD_DECLARE(helio_aev_sealed, HELIO_AEV_SEALED_FIELDS)

#define HELIO_AEV_WELCOME_FIELDS(F, R) \
    F(R, U64, incarnation, 0, _)       \
    F(R, U64, broker_epoch, 0, _)      \
    F(R, U64, lease_ms, 0, _)          \
    F(R, U64, renew_ms, 0, _)          \
    F(R, U64, summary_ms, 0, _)        \
    F(R, U64, memory_mark, 0, _)
HELIO_RECORD_DECLARE(helio_aev_welcome, HELIO_AEV_WELCOME_FIELDS)

#define HELIO_AEV_VERDICTS_FIELDS(F, R)               \
    F(R, LIST, verdicts, 1000, helio_attempt_verdict) \
    F(R, BOOL, last, 0, _)
HELIO_RECORD_DECLARE(helio_aev_verdicts, HELIO_AEV_VERDICTS_FIELDS)

#define HELIO_AEV_ORDERS_FIELDS(F, R) \
    F(R, U64, incarnation, 0, _)      \
    F(R, LIST, orders, 1000, helio_order)
HELIO_RECORD_DECLARE(helio_aev_orders, HELIO_AEV_ORDERS_FIELDS)

#define HELIO_AEV_STOPS_FIELDS(F, R) F(R, LIST, stops, 1000, helio_stop)
HELIO_RECORD_DECLARE(helio_aev_stops, HELIO_AEV_STOPS_FIELDS)

#define HELIO_AEV_SIGNALS_FIELDS(F, R) F(R, LIST, signals, 1000, helio_attempt_signal)
HELIO_RECORD_DECLARE(helio_aev_signals, HELIO_AEV_SIGNALS_FIELDS)

#define HELIO_AEV_ACK_FIELDS(F, R) F(R, U64, seq, 0, _)
HELIO_RECORD_DECLARE(helio_aev_ack, HELIO_AEV_ACK_FIELDS)

#define HELIO_AEV_RENEWED_FIELDS(F, R) \
    F(R, I64, sent_boot_ms, 0, _)      \
    F(R, U64, lease_ms, 0, _)
HELIO_RECORD_DECLARE(helio_aev_renewed, HELIO_AEV_RENEWED_FIELDS)

/*  What the backend reports of an attempt. FAILED_TO_START and VANISHED are the site's fault; ENDED is the job's
 *  end. */
#define HELIO_BACKEND_REPORT_TABLE(X)                                                                       \
    X(STARTED, "started")                                                                                   \
    X(ENDED, "ended")                                                                                       \
    X(FAILED_TO_START, "failed-to-start")                                                                   \
    X(VANISHED, "vanished")                                                                                 \
    X(ABSENT, "absent")       /* result of a look-up: the backend does not know it */                       \
    X(WAITING, "waiting")     /* submitted, not started; `explanation` says for what; repeated on change */ \
    X(SUSPENDED, "suspended") /* started, and suspended by the site */                                      \
    X(RESUMED, "resumed")
#define HELIO_BACKEND_REPORT_ENUMERATOR(name, word) HELIO_BACKEND_REPORT_##name,
HELIO_ENUM_DECLARE(helio_backend_report, HELIO_BACKEND_REPORT, HELIO_BACKEND_REPORT_TABLE)

#define HELIO_AEV_BACKEND_FIELDS(F, R)                                                            \
    F(R, KEY, key, 0, _)                                                                          \
    F(R, U32, epoch, 0, _)                                                                        \
    F(R, U32, word, HELIO_BACKEND_REPORT_COUNT - 1, _)                                            \
    F(R, I32, exit_code, 0, _)                                                                    \
    F(R, BOOL, limit_reached, 0, _)                                                               \
    F(R, BOOL, stopped, 0, _) /* ENDED because it was stopped (by an order or its lease) */       \
    F(R, I64, started_wall_ms, 0, _)                                                              \
    F(R, I64, ended_wall_ms, 0, _)                                                                \
    F(R, U64, run_ms, 0, _)                                                                       \
    F(R, U64, energy_j, 0, _)                                                                     \
    F(R, U64, units_done, 0, _)                                                                   \
    F(R, U32, cause, 0, _) /* helio_cause_t; NONE = the end needs none */                         \
    F(R, TEXT, explanation, 256, _)                                                               \
    F(R, TEXT, local_id, 64, _)                                                                   \
    F(R, U64, saved_run_ms, 0, _) /* of run_ms; 0 = unknown */                                    \
    F(R, BOOL, estimated, 0, _)   /* run_ms reaches to the last proof of life: no end was seen */ \
    F(R, U32, gpus, 0, _)         /* of all nodes, as far as the backend itself knows; 0 = unknown */
HELIO_RECORD_DECLARE(helio_aev_backend, HELIO_AEV_BACKEND_FIELDS)

/*  What the backend has seen of an attempt since: kept in the attempt's row. Its `asked` times are the core's own. */
#define HELIO_AEV_EVIDENCE_FIELDS(F, R) \
    F(R, KEY, key, 0, _)                \
    F(R, U32, epoch, 0, _)              \
    F(R, RECORD, evidence, 0, helio_evidence)
HELIO_RECORD_DECLARE(helio_aev_evidence, HELIO_AEV_EVIDENCE_FIELDS)

/*  Capacity as the backend reports it, for backends with a scheduler of their own; and the site's series from feeds. */
#define HELIO_AEV_DISK_FIELDS(F, R) F(R, BOOL, full, 0, _) /* of the state directory: orders are refused */
HELIO_RECORD_DECLARE(helio_aev_disk, HELIO_AEV_DISK_FIELDS)

/*  Of a site of one node whose GPUs are the core's to assign: those on which any process computes. What no attempt
 *  holds is used by others, and is neither offered nor assigned until the next such event. */
/* clang-format off */
#define HELIO_AEV_GPUS_FIELDS(F, R)                \
    F(R, U32S, busy, HELIO_JOB_GPUS_PER_NODE_MAX, _) /* slots of the only node that cannot be given out */ \
    F(R, U32, pool, 0, _) /* index in the profile */ \
    F(R, U32, gone, 0, _) /* of these, such as do not answer, whoever uses the others */
/* clang-format on */
HELIO_RECORD_DECLARE(helio_aev_gpus, HELIO_AEV_GPUS_FIELDS)

#define HELIO_AEV_CAPACITY_FIELDS(F, R) F(R, LIST, pools, HELIO_SITE_POOLS_MAX, helio_pool_capacity)
HELIO_RECORD_DECLARE(helio_aev_capacity, HELIO_AEV_CAPACITY_FIELDS)

#define HELIO_ATTEMPT_REF_FIELDS(F, R) \
    F(R, KEY, key, 0, _)               \
    F(R, U32, epoch, 0, _)
HELIO_RECORD_DECLARE(helio_attempt_ref, HELIO_ATTEMPT_REF_FIELDS)

/*  The owner of the nodes takes them away: what runs there has to stop. */
#define HELIO_AEV_TAKEN_FIELDS(F, R) \
    F(R, TEXT, explanation, 64, _)   \
    F(R, LIST, attempts, 1000, helio_attempt_ref)
HELIO_RECORD_DECLARE(helio_aev_taken, HELIO_AEV_TAKEN_FIELDS)

#define HELIO_AEV_SERIES_FIELDS(F, R)                  \
    F(R, LIST, series, HELIO_SERIES_MAX, helio_series) \
    F(R, F64, power_w, 0, _)
HELIO_RECORD_DECLARE(helio_aev_series, HELIO_AEV_SERIES_FIELDS)

/*  NAME, record */
#define HELIO_AGENT_EVENT_TABLE(X)                                                                                \
    X(LOAD_META, helio_jrow_meta)                                                                                 \
    X(LOAD_SEEN, helio_jrow_seen)                                                                                 \
    X(LOAD_ATTEMPT, helio_jrow_attempt)                                                                           \
    X(LOAD_REPORT, helio_report)                                                                                  \
    X(LOADED, helio_aev_loaded)                                                                                   \
    X(TICK, helio_aev_nothing)                                                                                    \
    X(SEALED, helio_aev_sealed)                                                                                   \
    X(CONNECTED, helio_aev_nothing) /* connected to a broker: send HELLO */                                       \
    X(DISCONNECTED, helio_aev_nothing)                                                                            \
    X(WELCOME, helio_aev_welcome)                                                                                 \
    X(VERDICTS, helio_aev_verdicts)                                                                               \
    X(ORDERS, helio_aev_orders)                                                                                   \
    X(STOPS, helio_aev_stops)                                                                                     \
    X(REPORTS_ACK, helio_aev_ack)                                                                                 \
    X(RENEWED, helio_aev_renewed)                                                                                 \
    X(RESYNC, helio_aev_nothing)                                                                                  \
    X(BACKEND, helio_aev_backend)                                                                                 \
    X(CAPACITY, helio_aev_capacity)                                                                               \
    X(SERIES, helio_aev_series)                                                                                   \
    X(DISK, helio_aev_disk)                                                                                       \
    X(SURVEYED, helio_aev_nothing) /* the backend has reported all that it holds */                               \
    X(GPUS, helio_aev_gpus)                                                                                       \
    X(STATE_GONE, helio_aev_nothing) /* the agent is about to end: its memory was removed or replaced below it */ \
    X(SIGNALS, helio_aev_signals)                                                                                 \
    X(TAKEN, helio_aev_taken)                                                                                     \
    X(EVIDENCE, helio_aev_evidence)

typedef enum helio_agent_event {
#define X(NAME, record) HELIO_AGENT_EV_##NAME,
    HELIO_AGENT_EVENT_TABLE(X)
#undef X
        HELIO_AGENT_EVENT_COUNT
} helio_agent_event_t;

/* ---- effects ------------------------------------------------------------------------------------------- */

#define HELIO_AFX_HELLO_FIELDS(F, R)   \
    F(R, U64, incarnation_seen, 0, _)  \
    F(R, U64, broker_epoch_seen, 0, _) \
    F(R, BOOL, reconcile_only, 0, _)   \
    F(R, I64, memory_since_ms, 0, _)   \
    F(R, U64, memory_mark, 0, _)
HELIO_RECORD_DECLARE(helio_afx_hello, HELIO_AFX_HELLO_FIELDS)

#define HELIO_AFX_INVENTORY_FIELDS(F, R)      \
    F(R, LIST, holdings, 1000, helio_holding) \
    F(R, BOOL, last, 0, _)
HELIO_RECORD_DECLARE(helio_afx_inventory, HELIO_AFX_INVENTORY_FIELDS)

#define HELIO_AFX_RENEW_FIELDS(F, R) F(R, I64, sent_boot_ms, 0, _)
HELIO_RECORD_DECLARE(helio_afx_renew, HELIO_AFX_RENEW_FIELDS)

/*  START: looks the attempt up by its name first, and starts it only if the backend does not know it. ADOPT: looks it
 *  up and watches it; ABSENT if it does not exist. Results come as BACKEND events. */
#define HELIO_AFX_START_FIELDS(F, R)                   \
    F(R, RECORD, order, 0, helio_order)                \
    F(R, LIST, slots, HELIO_JOB_NODES_MAX, helio_slot) \
    F(R, RECORD, evidence, 0, helio_evidence)
HELIO_RECORD_DECLARE(helio_afx_start, HELIO_AFX_START_FIELDS)

#define HELIO_AFX_FORGET_FIELDS(F, R) \
    F(R, KEY, key, 0, _)              \
    F(R, U32, epoch, 0, _)
HELIO_RECORD_DECLARE(helio_afx_forget, HELIO_AFX_FORGET_FIELDS)

/*  These attempts stop by themselves at this CLOCK_BOOTTIME, without the agent; no others are prolonged. */
enum { HELIO_LEASED_MAX = 1000000 };
#define HELIO_AFX_LEASE_FIELDS(F, R)  \
    F(R, I64, deadline_boot_ms, 0, _) \
    F(R, LIST, attempts, HELIO_LEASED_MAX, helio_attempt_ref)
HELIO_RECORD_DECLARE(helio_afx_lease, HELIO_AFX_LEASE_FIELDS)

/*  NAME, record, release */
#define HELIO_AGENT_EFFECT_TABLE(X)                                                               \
    X(ROW_META, helio_jrow_meta, ROW)                                                             \
    X(ROW_SEEN, helio_jrow_seen, ROW)                                                             \
    X(ROW_ATTEMPT, helio_jrow_attempt, ROW) /* upsert by (key, epoch); state QUEUED deletes it */ \
    X(ROW_REPORT, helio_report, ROW)                                                              \
    X(ROW_ACKED, helio_jrow_acked, ROW)                                                           \
    X(START, helio_afx_start, HELD)                                                               \
    X(ADOPT, helio_afx_start, HELD)                                                               \
    X(STOP, helio_stop, HELD)                                                                     \
    X(FORGET, helio_afx_forget, HELD) /* acknowledged: the backend can clean up */                \
    X(SEND_REPORT, helio_report, HELD)                                                            \
    X(SEND_HELLO, helio_afx_hello, HELD)                                                          \
    X(SEND_INVENTORY, helio_afx_inventory, HELD)                                                  \
    X(SEND_SUMMARY, helio_site_summary, HELD)                                                     \
    X(SEND_RENEW, helio_afx_renew, FREE)                                                          \
    X(LEASE, helio_afx_lease, FREE)                                                               \
    X(SIGNAL, helio_attempt_signal, FREE) /* to the processes of an attempt that runs */

typedef enum helio_agent_effect {
#define X(NAME, record, release) HELIO_AGENT_FX_##NAME,
    HELIO_AGENT_EFFECT_TABLE(X)
#undef X
        HELIO_AGENT_EFFECT_COUNT
} helio_agent_effect_t;

extern const helio_step_kind_t helio_agent_events[HELIO_AGENT_EVENT_COUNT];
extern const helio_step_kind_t helio_agent_effects[HELIO_AGENT_EFFECT_COUNT];

/* ---- the core ------------------------------------------------------------------------------------------ */

typedef struct helio_agent_options {
    bool allocates;          /* the core assigns attempts to nodes and GPUs (backend `local`) */
    uint32_t attempts_max;   /* held at once; further orders are refused: TooMany */
    uint64_t kill_margin_ms; /* lease attempts are stopped this long before the lease ends; default 60 s */
} helio_agent_options_t;

typedef struct helio_agent_core helio_agent_core_t;

/*  The profile is copied. */
helio_agent_core_t *helio_agent_core_new(helio_agent_options_t options, const helio_site_profile_t *profile);
void helio_agent_core_destroy(helio_agent_core_t **self_p);
void helio_agent_core_step(helio_agent_core_t *self, const helio_event_t *event, helio_effects_t *effects);
/*  Asserts what must hold between two steps: lists, counts, allocations and reports agree. Its time grows with the
 *  number of attempts and reports held; for simulations and tests. */
void helio_agent_core_check(const helio_agent_core_t *self);

typedef struct helio_agent_figures {
    uint64_t attempts;        /* held now */
    uint64_t reports_pending; /* not yet acknowledged */
    uint64_t orders_total;
    uint64_t refusals_total;
    uint64_t replays_total; /* orders seen before, ignored */
    bool in_session;        /* inventory closed */
    uint64_t ignored_total; /* messages of an older incarnation or broker, or out of order */
    uint64_t open_batch;
    bool reconcile_only;     /* the journal was damaged and no inventory has been closed since */
    uint32_t gpus_of_others; /* they are used, and no attempt holds them */
    bool surveying;          /* the backend has not reported all that it holds: nothing starts */
    bool found_unknown;      /* an attempt was found that the journal does not know: nothing starts beside it */
} helio_agent_figures_t;
void helio_agent_core_figures(const helio_agent_core_t *self, helio_agent_figures_t *ret_figures);

/*  The state of an attempt that is held and not over (helio_job_state_t); QUEUED: there is none, or it is not to run
 *  here. */
uint32_t helio_agent_core_attempt_state(const helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch);

/*  How many GPUs of a pool each party holds, as far as known; pool: index in the profile. False: unknown as yet. */
typedef struct helio_pool_use {
    uint32_t total, ours, others; /* GPUs of nodes that are up; held by the federation; held by others */
} helio_pool_use_t;
bool helio_agent_core_pool_use(const helio_agent_core_t *self, uint32_t pool, helio_pool_use_t *ret_use);

#endif
