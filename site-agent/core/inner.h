/*  inner.h -- what the files of this room share. Not for others. */
#ifndef HELIO_AGENT_INNER_H
#define HELIO_AGENT_INNER_H

#include "site-agent/core/agent_core.h"
#include "site-agent/core/capacity.h"

typedef struct helio_attempt helio_attempt_t;
typedef struct helio_pending helio_pending_t;

/*  Everything known of one job key. Kept as long as its highest epoch is remembered. */
typedef struct helio_known {
    helio_job_key_t key;
    uint32_t epoch; /* highest accepted or refused */
    int64_t wall_ms;
    helio_attempt_t *attempts; /* of any epoch: an old one may still be stopping */
    struct helio_known *next;  /* in the bucket */
} helio_known_t;

struct helio_attempt {
    helio_known_t *known;
    helio_attempt_t *sibling;     /* same key, other epoch */
    helio_attempt_t *prev, *next; /* all, in the order of acceptance */
    uint64_t incarnation;
    helio_order_t order; /* its texts lie in `bytes` */
    helio_slot_t *slots; /* one block with their GPU lists; NULL when not placed by us */
    uint32_t slot_count;
    uint32_t state; /* helio_job_state_t, as in attempt_state.def */
    bool over;      /* ended; only its report is held */
    bool start_due; /* to be started when a session is open (again) */
    bool found;     /* told by the backend, not by the journal: its size is unknown */
    bool fenced;
    uint32_t stop_mode;
    char stop_reason[65];
    int64_t started_wall_ms;
    char bytes[];
};

/*  A report that is not yet acknowledged. */
struct helio_pending {
    helio_report_t report; /* its texts are the arrays below */
    char reason[257];
    char local_id[65];
    helio_pending_t *next;
};

typedef enum helio_session {
    HELIO_SESSION_NONE,
    HELIO_SESSION_HELLO,
    HELIO_SESSION_INVENTORY,
    HELIO_SESSION_OPEN
} helio_session_t;

struct helio_agent_core {
    helio_agent_options_t options;
    helio_arena_t *profile_arena;
    helio_site_profile_t profile;
    helio_capacity_t *capacity; /* NULL when the backend allocates */

    const helio_event_t *event; /* during a step */
    helio_effects_t *effects;
    uint64_t open_batch;
    bool loaded;
    bool meta_changed;
    bool has_meta;

    helio_known_t **buckets;
    uint32_t bucket_count;
    uint32_t known_count;
    int64_t next_sweep_ms;
    helio_attempt_t *first, *last;
    uint32_t attempt_count; /* held, ended ones included */
    uint32_t leased_count;  /* stop when the lease ends, not over */
    uint32_t found_count;   /* of unknown size, not over */

    helio_pending_t *pending_first, *pending_last;
    uint32_t pending_count;

    helio_jrow_meta_t meta;
    bool reconcile_only;

    helio_session_t session;
    int64_t hello_ms;
    helio_aev_welcome_t welcome;
    uint64_t dispatch_seen;
    /*  Of a backend with a scheduler of its own: the last dispatch whose start the backend was called for (its batch is
     * sealed), and the last one that the reported capacity contains. */
    uint64_t dispatch_started, dispatch_told;
    int64_t next_renew_ms;
    int64_t next_summary_ms;
    uint64_t summary_seq;
    bool summary_full; /* the next one names everything */
    helio_arena_t *sent_arena, *spare_arena;
    helio_pool_capacity_t *sent_pools; /* as last sent in this session */
    uint32_t sent_pool_count;

    uint32_t lease_stage; /* 0 valid, 1 polite stop given, 2 killed */

    helio_arena_t *series_arena;
    helio_aev_series_t series;
    bool *series_sent;
    helio_arena_t *reported_arena; /* CAPACITY of a backend with a scheduler of its own */
    helio_aev_capacity_t reported;

    helio_agent_figures_t figures;
};

/* ---- emit.c */
void helio_agent_emit(helio_agent_core_t *self, uint32_t kind, const void *record);

/* ---- known.c: jobs by key */
helio_known_t *helio_known_find(const helio_agent_core_t *self, helio_job_key_t key);
helio_known_t *helio_known_get(helio_agent_core_t *self, helio_job_key_t key); /* made when missing */
void helio_known_sweep(helio_agent_core_t *self); /* drops what is older than 30 days and has no attempt */
void helio_known_clear(helio_agent_core_t *self);

/* ---- attempts.c: what is held */
helio_attempt_t *helio_attempt_find(const helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch);
/*  Copies the order; takes over slots (a block of helio_slots_copy, may be NULL). */
helio_attempt_t *helio_attempt_add(helio_agent_core_t *self, uint64_t incarnation, const helio_order_t *order,
                                   helio_slot_t *slots, uint32_t slot_count);
void helio_attempt_remove(helio_agent_core_t *self, helio_attempt_t *attempt);
void helio_attempt_row(helio_agent_core_t *self, const helio_attempt_t *attempt);
void helio_attempt_load(helio_agent_core_t *self, const helio_jrow_attempt_t *row);
void helio_attempt_over(helio_agent_core_t *self, helio_attempt_t *attempt); /* only its report is still held */
bool helio_attempt_edge(uint32_t from, uint32_t to);
bool helio_attempt_may_end(uint32_t from, uint32_t report);
bool helio_attempt_leased(const helio_attempt_t *attempt); /* stops when its lease ends */

/* ---- reports.c: what the broker has not acknowledged */
/*  seq and wall_ms are filled in; the texts are copied. */
void helio_reports_add(helio_agent_core_t *self, const helio_report_t *report);
void helio_reports_load(helio_agent_core_t *self, const helio_report_t *report);
void helio_reports_loaded(helio_agent_core_t *self); /* attempts whose end is held are over */
bool helio_reports_resend(helio_agent_core_t *self, helio_job_key_t key,
                          uint32_t epoch); /* false: none held */
void helio_reports_resend_all(helio_agent_core_t *self);
void helio_reports_acknowledge(helio_agent_core_t *self, uint64_t seq);
void helio_reports_clear(helio_agent_core_t *self);
bool helio_report_is_end(uint32_t kind);

/* ---- life.c: what happens to an attempt */
void helio_attempt_start(helio_agent_core_t *self, helio_attempt_t *attempt);
void helio_attempt_stop(helio_agent_core_t *self, helio_attempt_t *attempt, uint32_t mode,
                        const char *reason);
void helio_attempt_backend(helio_agent_core_t *self, const helio_aev_backend_t *event);
void helio_attempts_loaded(helio_agent_core_t *self); /* adopts what may still run */
void helio_attempts_start_due(helio_agent_core_t *self);
void helio_attempts_stop_leased(helio_agent_core_t *self, uint32_t mode); /* the lease is ending */

/* ---- orders.c: what the broker wants */
void helio_orders_take(helio_agent_core_t *self, const helio_aev_orders_t *orders);
void helio_stops_take(helio_agent_core_t *self, const helio_aev_stops_t *stops);

/* ---- session.c: hello to disconnect, the lease, the summary's clock */
void helio_session_connected(helio_agent_core_t *self);
void helio_session_disconnected(helio_agent_core_t *self);
void helio_session_welcome(helio_agent_core_t *self, const helio_aev_welcome_t *welcome);
void helio_session_rulings(helio_agent_core_t *self, const helio_aev_rulings_t *rulings); /* the last one opens it */
void helio_session_renewed(helio_agent_core_t *self, const helio_aev_renewed_t *renewed);
void helio_session_tick(helio_agent_core_t *self);
int64_t helio_session_wake_ms(const helio_agent_core_t *self);

/* ---- lease.c */
void helio_lease_grant(helio_agent_core_t *self, int64_t from_boot_ms, uint64_t lease_ms);
void helio_lease_loaded(helio_agent_core_t *self);
/*  What the lease's end asks for now, each once: GRACE, then KILL. */
bool helio_lease_due(helio_agent_core_t *self, uint32_t *ret_mode);
bool helio_lease_is_valid(const helio_agent_core_t *self);
int64_t helio_lease_wake_ms(const helio_agent_core_t *self);

/* ---- summary.c */
void helio_summary_send(helio_agent_core_t *self);
void helio_summary_series(helio_agent_core_t *self, const helio_aev_series_t *series);
void helio_summary_capacity(helio_agent_core_t *self, const helio_aev_capacity_t *capacity);
void helio_summary_forget_session(helio_agent_core_t *self);

#endif
