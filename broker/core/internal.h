/*  internal.h -- the core's own nouns. Only broker/core includes it.
 *
 *      submission 1 ── n job (one, or one per array task)      class 1 ── n job waiting, FIFO
 *      site 1 ── n pool, 1 ── n job live there, in order of dispatch
 */
#ifndef HELIO_BROKER_CORE_INTERNAL_H
#define HELIO_BROKER_CORE_INTERNAL_H

#include <uthash.h>
#include <utlist.h>

#include "broker/core/broker_core.h"
#include "federation/base/rng.h"
#include "federation/energy/account.h"
#include "federation/energy/schedule.h"
#include "federation/policy/choice.h"
#include "federation/policy/duration.h"
#include "federation/policy/fair_share.h"
#include "federation/policy/quota.h"
#include "federation/policy/overflow.h"
#include "federation/policy/past.h"
#include "federation/policy/victims.h"

enum {
    ROUND_PLACEMENTS_MAX = 2000,     /* one decision round; the rest waits for the next tick */
    LOST_ATTEMPTS_MAX = 20,          /* a job that lost so many sites is LOST */
    SITE_FAILURES_MAX = 2,           /* attempts that sites could not run: then HELD, with the evidence */
    QUICK_FAILURE_MS = 60000,        /* a site that loses it later than that failed a long job: not held against it */
    CAPACITY_ROW_MS = 5000,          /* an unchanged pool is written so often */
    CAPACITY_SAMPLE_MS = 60000,
    DECISION_REUSE_MS = 60000,       /* an unchanged evaluation of a class is not written again before */
    PROMISE_HOURS = 128,             /* the hours ahead that a window can take: its start within 48, and 48 of its run */
    PROMISE_RUN_HOURS_MAX = 48,
    WAITS_MAX = 16,
    REFUSAL_PENALTY_MS = 1000,       /* a pool that refused gets no offer for so long, or until its next summary */
    /* A pool where an attempt failed at once is the last choice for so long, twice as long after each further one in
     * a row: a node that fails everything fast looks free, and would take the whole queue. */
    DOUBT_MS = 10000,
    DOUBT_MOST_MS = 300000,
    LEASE_MARGIN_MS = 10000,
    SITE_POWER_MAX_W = 2000000000,
    PASTS_MAX = 128,         /* signals of a site whose hours are kept */
    RATED_HOURS = 64,        /* prices of a pool's hours that are kept ready */
    EVIDENCE_HOURS_MAX = 48, /* what a fenced attempt used is spread over its first hours, no more */
    EVIDENCE_ROWS_MAX = 100000, /* of one site at once; more by the second */
    EVIDENCE_ROWS_PER_S = 1000
};

typedef struct submission submission_t;
typedef struct job job_t;
typedef struct job_class job_class_t;
typedef struct pool pool_t;
typedef struct site site_t;
typedef struct gate gate_t;
typedef struct dataset dataset_t;
typedef struct link_entry link_entry_t;
typedef struct eviction eviction_t;
typedef struct overflow overflow_t;

/*  What a tenant holds in one queue. Made with the first job or quota there. */
typedef struct account {
    struct tenant *tenant;
    struct queue *queue;
    helio_holdings_t holds;
    uint64_t leaving_gpus;  /* of holds: of jobs that were evicted and have not left yet */
    uint64_t expected_gpus[HELIO_TIER_COUNT]; /* of starts that others are evicted for, by their tier */
    bool own; /* the quota was set for this tenant, not for each */
    UT_hash_handle hh; /* of the tenant, by queue */
} account_t;

typedef struct tenant {
    char name[33];
    char home_site[33];
    uint32_t open_jobs;
    helio_holdings_t holds; /* in all queues */
    uint64_t leaving_gpus, expected_gpus[HELIO_TIER_COUNT]; /* the same */
    helio_share_t share;
    account_t *accounts;
    UT_hash_handle hh;
} tenant_t;

/*  Another priority of a queue, at some sites and at some times. */
typedef struct queue_rule {
    char region[33];
    char schedule[HELIO_SCHEDULE_TEXT_MAX + 1]; /* "" = until until_ms */
    char zone[HELIO_ZONE_NAME_MAX + 1];
    helio_text_t zone_data;
    helio_schedule_t hours;
    helio_zone_t *in; /* NULL without a schedule */
    uint32_t priority;
    int64_t until_ms;
    int64_t at_ms;
    int64_t look_ms; /* wall clock: it begins or ceases to hold then */
    bool holds;
    struct queue_rule *next;
} queue_rule_t;

/*  Never freed before the core: accounts name it. */
typedef struct queue {
    char name[33];
    uint32_t priority;
    uint32_t tier;
    uint64_t time_limit_ms;
    bool removed;
    uint32_t open_jobs;
    helio_quota_t each;  /* of each tenant that has no quota of its own here */
    queue_rule_t *rules; /* whichever goes before others first */
    UT_hash_handle hh;
} queue_t;

/*  Of a job's row what is asked for later. A million may wait: the rest is in the database only. */
typedef struct kept_row {
    helio_uuid_t job;
    helio_text_t tenant; /* the tenant's own, as is the queue's */
    helio_text_t queue;
    helio_text_t user;
    helio_text_t source;
    helio_text_t name; /* its stem (duration.h) */
    helio_u32s_t tasks;
    uint64_t time_limit_ms;
    int64_t submitted_ms;
    uint32_t kind;
} kept_row_t;

/*  What all tasks of one submitted document share. Freed with its last open task; one piece of memory, with
 * what the row's views show behind it. */
struct submission {
    kept_row_t row;
    uint32_t retries; /* of the spec only what is asked for later */
    uint32_t tasks_at_once;
    uint32_t on_site_loss;
    bool signalled; /* saves when it is signalled (checkpoint.signal) */
    uint64_t grace_ms, checkpoint_every_ms;
    tenant_t *tenant;
    queue_t *queue;
    job_class_t *class;
    uint32_t open_tasks;
    uint32_t unsettled_tasks; /* of those, whose end nobody who waits for it was told */
    uint32_t failed_tasks;    /* ended otherwise than successful */
    gate_t *gate;             /* closed; NULL = open, or there never was one */
    bool begun;               /* loaded with a task that was placed: its gate had opened */
    uint32_t fed_tasks; /* of a throttled array: in the class's queue or live */
    job_t *throttled;   /* tasks that wait for the gate or the throttle, FIFO */
    submission_t *buried_next;
};

/*  Where a job was placed last, by name: the pool may be gone. Not part of the job, which may wait long
 * before it has one. least: where it could have started first, when it was first placed. */
typedef struct place_name {
    char site[33];
    char pool[33];
    uint32_t gpus; /* that its tenant is charged with now; 0 = none */
    uint32_t weight_milli;
    char least_pool[33];
    site_t *least; /* NULL = not known */
    int64_t least_ms;
    helio_transfer_t transfer; /* of its data there, charged when the attempt has ended */
} place_name_t;

struct job {
    helio_job_key_t key;
    submission_t *submission;
    uint32_t state;
    uint32_t before;
    uint32_t intent;
    uint32_t epoch;
    uint32_t attempts;
    uint32_t failures;
    uint32_t site_failures;
    int32_t exit_code;
    int64_t started_ms;
    int64_t finished_ms;
    int64_t ready_ms; /* wall clock: since when it stands in line; after a takeover, its submission */
    helio_account_t used;
    uint64_t units_done;
    uint64_t saved_ms; /* of what its attempts ran, what need not run again; at most its time limit */
    site_t *site; /* while live */
    pool_t *pool;
    uint32_t gpus_per_node; /* of the current placement */
    uint64_t dispatch_seq;  /* 0 = not instructed in this session */
    uint64_t inventory;     /* session in whose inventory it was seen */
    bool counted;           /* its capacity is deducted from pool.free */
    bool ran;               /* some epoch ran: HELIO_RESUME */
    bool fed;               /* past its array's throttle */
    bool dirty;             /* its row must be written at the end of the step */
    bool leaving;           /* counted in its tenant's leaving_gpus */
    uint8_t evictions;      /* how often it was evicted */
    eviction_t *eviction;   /* whose room it makes; NULL = nobody's */
    char *reason; /* of the last move; NULL = none */
    place_name_t *last;           /* of the latest placement; NULL = never placed */
    job_t *prev, *next;           /* class->waiting, submission->throttled or site->live */
    job_t *dirty_next;
    job_t *ended_next;
    UT_hash_handle hh;
};

/*  One job that a gate waits for. Gone once that has ended. */
typedef struct waiter {
    struct waited *waited;
    gate_t *gate;
    struct waiter *prev, *next;           /* of waited, in order of arrival */
    struct waiter *gate_prev, *gate_next; /* of gate, as the document lists them */
} waiter_t;

/*  All that wait for one job, array or task to end in one way. */
typedef struct waited {
    struct {
        helio_job_key_t on;
        uint32_t after;
    } key;
    waiter_t *waiters;
    UT_hash_handle hh;
} waited_t;

/*  What keeps a submission's tasks from their class's queue. */
struct gate {
    submission_t *submission;
    waiter_t *waiters;
    uint32_t waiter_count;
    int64_t not_before_ms; /* wall clock; 0 = none, or past */
    uint32_t timed_at;     /* in core->timed, while not_before_ms */
    helio_job_key_t failed_on;
    uint32_t failed_after; /* HELIO_AFTER_COUNT = none has failed */
    bool dirty; /* its row must be written at the end of the step */
    gate_t *dirty_prev, *dirty_next;
};

/*  The start that a class waits for, though it could go elsewhere or sooner. */
typedef struct window {
    site_t *site;
    pool_t *pool;     /* NULL = none */
    int64_t start_ms; /* wall clock, the begin of an hour */
    uint32_t gpus;    /* promised for it at the pool, all jobs together */
    uint32_t hours;
} window_t;

struct job_class {
    uint64_t id;
    helio_arena_t *arena;
    helio_requirement_t want;
    queue_t *queue;
    account_t *account;
    helio_text_t summary;
    uint32_t refs;    /* submissions */
    job_t *waiting;   /* FIFO: state QUEUED and eligible */
    uint32_t waiting_count;
    job_t *returned;  /* of waiting: the last that came back from a site; NULL = none */
    uint64_t blocked_at; /* capacity_version at which nothing more fitted; 0 = not blocked */
    helio_reason_t reason;
    char detail[257];
    uint64_t decision_id; /* the last evaluation written, its hash and age */
    uint64_t decision_hash;
    int64_t decision_ms;
    window_t window;
    const pool_t *doubtful; /* where a job of this class failed at once (compared, never followed), and until when */
    int64_t doubtful_until_ms;
    site_t *least; /* where its head could have started while it waits for a better hour, and since when */
    char least_pool[33];
    int64_t least_ms; /* 0 = it does not wait by choice */
    pool_t *reserved;    /* where its head gang holds a reservation; NULL = nowhere */
    int64_t look_ms;     /* wall clock: something that it waits for is due then; 0 = nothing is */
    int64_t expected_ms; /* wall clock, as its row says; 0 = not foreseen */
    uint32_t evictions;     /* of others, under way for it; at most waiting_count */
    uint64_t expected_gpus; /* of the starts that those are for */
    struct option *options; /* of a class that waits: the last evaluation, while the facts stand */
    uint32_t option_count;
    uint64_t options_facts, options_pools;
    int64_t options_step; /* since 1970, of HELIO_SCORE_STEP_MS */
    const overflow_t *overflow; /* that it is bound to, NULL = none; as of overflow_version */
    uint64_t overflow_version;
    uint32_t open_steps;  /* of its overflow group, to the head of the class */
    uint32_t level;       /* of its turn: its queue's priority at the sites where it may start in it */
    int64_t judged_ms;    /* of a plan: the time at which its job may start at the earliest; 0 = now */
    uint64_t yielded;     /* round in which it let another tenant's jobs go first, and will be asked again */
    UT_hash_handle hh;
};

/*  What is believed free now: the last summary, less what was placed since. */
typedef struct free_nodes {
    uint32_t by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1]; /* nodes with exactly k GPUs free */
    uint64_t cpus;
    uint64_t memory_bytes;
} free_nodes_t;

/*  Room that comes back: nodes by the number of GPUs that are given back on each. */
typedef struct room {
    uint32_t nodes_by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1];
    uint64_t cpus;
    uint64_t memory_bytes;
} room_t;

/*  A gang at the head of its turn waits for nodes of this pool: others may pass only if they do not delay it. */
typedef struct reservation {
    job_class_t *class; /* NULL = none */
    const site_t *site;
    int64_t at_ms;      /* wall clock, when enough is expected to be free */
    bool known;         /* what comes back until then suffices; else the site's own word has it, and nothing can be spared */
    uint32_t gpus_per_node;
    room_t back; /* until at_ms */
} reservation_t;

/*  When a job of ours that is there now is over at the latest. */
typedef struct release {
    int64_t end_ms;
    const job_t *job;
} release_t;

/*  Running jobs that were told to leave, so that one job of a class finds room; what they give back is held for it. Over when
 *  that starts, wherever; when nobody is left whom it was for; and when it comes to nothing (evict.c). */
struct eviction {
    job_class_t *class;
    site_t *site;
    pool_t *pool;
    uint32_t gpus_per_node;
    uint32_t tier;      /* of the class, when it began */
    uint32_t why;       /* helio_evict_why_t */
    uint32_t victims;   /* told to leave for it */
    uint32_t left;      /* of all that it waits for, those that are still there */
    room_t back;        /* what those give back */
    uint32_t within_s;  /* when it began: until the last grace ends */
    int64_t at_ms;      /* wall clock: the end of that */
    eviction_t *prev, *next; /* of the core, in order of their begin */
};

/*  A job that may be evicted: of a pool, in one round. */
typedef struct prey {
    job_t *job;
    int64_t young_until_ms; /* wall clock */
    uint64_t lost_gpu_ms;
} prey_t;

/*  What an hour at a pool costs; stands while the site's past_version does. */
typedef struct rated {
    int64_t hour_ms;
    uint64_t version;
    uint64_t rates_id;
    helio_rates_t rates;
    char carbon_kind[41]; /* kind and factor; "" = its intensity is not known */
    bool estimated;
} rated_t;

/*  The hours of one signal of a site, or of one pool there. */
typedef struct signal_past {
    uint32_t signal;
    char pool[33]; /* "" = the site's */
    helio_past_t *past;
} signal_past_t;

/*  From a time on other than critical work may hold so many GPUs of a pool, and is expected to hold so many. */
typedef struct kept_edge {
    int64_t at_ms; /* wall clock */
    uint64_t room_gpus;
    uint64_t held_gpus; /* by their limits; of now, those that are being stopped too */
} kept_edge_t;

enum { KEPT_EDGES_MAX = 64 };

/*  What a site keeps of a pool by the clock, as one round sees it (kept.c). */
typedef struct kept {
    const helio_series_t *series; /* NULL = nothing is kept; only within a round */
    kept_edge_t edges[KEPT_EDGES_MAX]; /* now, and each time at which more is kept */
    uint32_t count;
    uint64_t room_gpus;   /* in the round before */
    uint64_t short_gpus;  /* kept, but held by others, since short_ms */
    int64_t short_ms;
} kept_t;

struct pool {
    helio_pool_t info;
    kept_t *kept; /* NULL = never was anything */
    rated_t *rated; /* RATED_HOURS by hour since 1970 modulo; NULL until the first end */
    helio_outlook_t *outlook; /* made when first asked for; stands for outlook_hour_ms */
    int64_t outlook_hour_ms;  /* 0 = must be made anew */
    reservation_t reservation;
    release_t *releases; /* ascending; of round releases_round */
    uint32_t release_count, release_capacity;
    uint64_t releases_round;
    uint32_t evictions; /* under way here */
    prey_t *prey;       /* of round prey_round */
    uint32_t prey_count, prey_capacity;
    uint64_t prey_round;
    uint32_t prey_least_tier; /* of those; the least of all if one leaves already */
    uint32_t promised_gpus[PROMISE_HOURS]; /* to windows, by hour since 1970 modulo */
    uint32_t waits_s[WAITS_MAX];           /* the site's own word: until 1, 2, 4, ... whole nodes; UINT32_MAX = not foreseeable */
    uint32_t wait_count;
    free_nodes_t figured;  /* as the site said last */
    free_nodes_t free;     /* that, less what was placed since: what decisions use */
    free_nodes_t believed; /* scratch of a rebase */
    helio_pool_capacity_t last; /* figures of the last summary, views not used */
    int64_t written_ms;
    int64_t sampled_ms;
    int64_t penalty_until_ms;
    int64_t doubtful_until_ms;
    uint32_t failures_in_row;
};

struct site {
    char name[HELIO_SITE_NAME_MAX + 1];
    helio_arena_t *arena; /* owns profile's views */
    helio_site_profile_t profile;
    pool_t *pools;
    uint32_t pool_count;
    helio_series_t *series; /* the latest of each signal, pool and kind; views in the arena beside it */
    helio_arena_t **series_arenas;
    uint32_t series_count;
    signal_past_t *pasts;
    uint32_t past_count;
    uint64_t past_version; /* counts changes of what its hours are priced by */
    uint64_t facts; /* facts_version of its last change */
    bool stale; /* ready, but not heard of for HELIO_RISK_STALE_AFTER_MS */
    uint32_t state;
    bool draining;
    char drain_reason[257];
    char agent_version[33];
    uint64_t peer;         /* 0 = no session */
    uint64_t session;      /* counts HELLOs over all sites */
    bool inventory_closed;
    bool capacity_known;   /* a summary of this session came */
    uint64_t summary_seq;
    uint64_t dispatch_seq; /* last given in this session */
    uint32_t unanswered;   /* offers neither accepted nor refused */
    int64_t heard_ms;
    int64_t heard_wall_ms;
    int64_t lease_over_ms; /* no lease that was ever granted to it runs longer */
    int64_t row_ms;        /* when the site's row was last written */
    int64_t evidence_rows; /* spent of its budget, at evidence_ms */
    int64_t evidence_ms;
    job_t *live;           /* in order of placement */
    UT_hash_handle hh;      /* by name */
    UT_hash_handle hh_peer; /* by peer */
};

/*  Where an array's tasks are found by its id alone. */
typedef struct array {
    helio_uuid_t job;
    submission_t *submission;
    UT_hash_handle hh;
} array_t;

typedef struct idempotency {
    uint8_t digest[16]; /* of tenant and key */
    uint8_t spec_hash[32];
    helio_uuid_t job;
    UT_hash_handle hh;
} idempotency_t;

struct helio_broker_core {
    helio_broker_options_t options;
    helio_effects_t *effects; /* of the running step */
    const helio_event_t *event;
    int64_t now_ms;
    int64_t wall_ms;
    bool loaded;
    helio_rng_t rng;
    uint64_t incarnation;
    uint64_t broker_epoch;
    uint64_t leases_left_ms; /* of former leaders, when this one began */
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t open_batch;
    uint64_t session;
    helio_uuid_t newest_job; /* the last id given, by this leader or one before it */
    int64_t id_ms;           /* its millisecond, and how many of that were given */
    uint32_t id_count;
    uint64_t capacity_version;
    uint64_t facts_version;    /* counts changes of what scores rest on: profiles, series, who may be offered anything */
    uint64_t pools_version;    /* counts changes of which pools there are */
    uint64_t reserved_version; /* capacity_version of the reservations */
    uint64_t rounds;
    int64_t look_ms; /* wall clock: the earliest of the classes' look_ms, and kept_ms; INT64_MAX = none */
    overflow_t *overflows;
    uint64_t overflow_version; /* counts their changes */
    int64_t queues_look_ms;   /* the same of the queues' rules */
    int64_t queues_looked_ms; /* when that was found out */
    int64_t kept_ms; /* wall clock: what is kept is looked at again then; INT64_MAX = nothing is */
    bool keeps;      /* some site told of GPUs that it keeps */
    int64_t unheard_until_ms; /* monotonic: evictions of the last leader may be under way at sites not heard of until then */
    struct option *scratch; /* of an evaluation that is not kept */
    uint32_t scratch_capacity;
    helio_durations_t *durations;
    bool round_wanted;
    int64_t next_watch_ms; /* silence and leases are looked at then */
    tenant_t *tenants;
    queue_t *queues;
    site_t *sites;
    site_t *peers;
    job_t *jobs; /* in order of their ids, oldest first */
    array_t *arrays;
    job_class_t *classes;
    job_class_t *newest_class; /* asked for last: jobs of a burst are alike. NULL = gone */
    idempotency_t *keys;
    dataset_t *datasets; /* by prefix */
    uint32_t datasets_of_size[HELIO_DATA_PREFIX_MAX + 1]; /* how many have a prefix of so many bytes */
    uint32_t prefix_longest;                              /* of all that there ever were */
    link_entry_t *links;
    job_t *dirty;
    job_t *ended, *ended_last; /* of this step, in order */
    eviction_t *evictions;
    uint32_t eviction_count;
    waited_t *waited;
    gate_t **timed; /* a heap: the earliest first */
    uint32_t timed_count, timed_capacity;
    gate_t *dirty_gates;
    submission_t *buried; /* over, but effects of the last step may point into them */
    uint32_t open_jobs;
    helio_broker_figures_t figures;
};

/* emit.c: effects */
void core_emit(helio_broker_core_t *self, helio_broker_effect_t kind, const void *record);
void core_answer(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason, const char *format, ...)
    HELIO_PRINTF(5, 6);
void core_audit(helio_broker_core_t *self, helio_text_t user, const char *action, helio_text_t object,
                helio_text_t detail);
const char *core_printf(helio_broker_core_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
/*  At most `max` bytes of the text, never a part of a character. */
helio_text_t core_cut(const char *text, uint32_t max);
/*  A time that a site says, as any table can hold it: after 1970 and at most so far ahead of now. */
bool core_time_is_plausible(const helio_broker_core_t *self, int64_t wall_ms, int64_t ahead_ms);

/* jobs.c: jobs, submissions, classes, their rows */
job_t *core_job_find(helio_broker_core_t *self, helio_job_key_t key);
submission_t *core_array_find(helio_broker_core_t *self, helio_uuid_t job); /* NULL: no array, or over */
/*  Keeps no view of the row; fills in its class. */
submission_t *core_submission_new(helio_broker_core_t *self, helio_row_job_t *row,
                                  const helio_job_spec_t *spec);
job_t *core_job_new(helio_broker_core_t *self, submission_t *submission, int32_t task);
int core_job_by_age(const job_t *a, const job_t *b); /* < 0: a is older */
void core_job_enqueue(helio_broker_core_t *self, job_t *job, bool first);
void core_job_feed(helio_broker_core_t *self, submission_t *submission); /* as many as gate and throttle let through */
/*  The one place where a state changes: checks the edge, keeps lists and counts, writes the transition, marks the row
 *  dirty. A terminal job is freed at the end of the step. */
void core_job_move(helio_broker_core_t *self, job_t *job, uint32_t to, const char *reason, const char *actor);
void core_job_say(job_t *job, const char *reason);
void core_job_placed_at(job_t *job, helio_text_t site, helio_text_t pool);
const char *core_job_site(const job_t *job); /* of the latest placement; "" = never placed */
const char *core_job_pool(const job_t *job);
void core_job_touch(helio_broker_core_t *self, job_t *job);
void core_job_forget(helio_broker_core_t *self, job_t *job); /* over: writes nothing */
void core_jobs_flush(helio_broker_core_t *self); /* end of a step: rows of dirty jobs, frees terminal ones */
void core_jobs_reap(helio_broker_core_t *self); /* begin of a step */
void core_jobs_free(helio_broker_core_t *self);

/* gates.c: what a job waits for before it may start */
/*  An answer, and false, when the document names something that cannot be waited for. */
bool core_gate_check(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                     const char *where);
/*  Of a checked document: its rows, and its gate unless all that it waits for has come. */
void core_gate_new(helio_broker_core_t *self, submission_t *submission, const helio_submission_t *job);
void core_gate_load(helio_broker_core_t *self, submission_t *submission, const helio_job_spec_t *spec);
void core_gate_load_waiting(helio_broker_core_t *self, const helio_row_waiting_t *row);
void core_gate_loaded(helio_broker_core_t *self, submission_t *submission); /* opens it if nothing is waited for */
void core_gate_refuse(helio_broker_core_t *self, submission_t *submission); /* cancels, if its wait can only be in vain */
void core_gate_destroy(helio_broker_core_t *self, submission_t *submission);
/*  When its gate opens, as far as that is known. */
void core_gate_expect(helio_broker_core_t *self, const submission_t *submission, helio_prospect_t *ret_prospect);
/*  Of a document that is not stored: when its gate would open. */
typedef struct foresight {
    int64_t earliest_ms; /* 0 = any time */
    int64_t latest_ms;   /* 0 = not known */
    const char *text;    /* for what it waits; "" = nothing */
} foresight_t;
foresight_t core_gate_foresee(helio_broker_core_t *self, const helio_submission_t *job);
void core_gates_ended(helio_broker_core_t *self, job_t *job);
void core_gates_settle(helio_broker_core_t *self); /* end of a step: who waited for what ended, and for those */
void core_gates_look(helio_broker_core_t *self);   /* at the clock */
int64_t core_gates_wake_ms(const helio_broker_core_t *self, int64_t at_most);

/* price.c: what an hour at a pool costs, by the latest word on it */
typedef struct bill {
    helio_account_t total;
    helio_account_slice_t *slices;
    uint64_t *rates_ids; /* of each slice */
    uint32_t count;
    const char *carbon_kind; /* kind and factor; "mixed" over hours that differ; "" = of some hour not known */
    bool estimated;
} bill_t;
/*  pool NULL = a pool of no power and no price. In the arena of the step's effects. Writes rows of rates that were not
 *  used before. watts_or: of a GPU where the pool's power is not known. */
bill_t core_bill(helio_broker_core_t *self, site_t *site, pool_t *pool, int64_t start_ms, uint64_t run_ms,
                 uint64_t gpu_ms, uint64_t measured_j, double watts_or);
void core_past_take(helio_broker_core_t *self, site_t *site, const helio_row_series_t *row);
void core_past_load(helio_broker_core_t *self, const helio_row_actual_t *row);
void core_past_load_series(helio_broker_core_t *self, const helio_row_series_t *row);
void core_pasts_free(site_t *site);

/*  mg/kWh of the hour, by the latest word on it; < 0 = not known. pool NULL = the site's own. */
double core_carbon_at(const site_t *site, const pool_t *pool, int64_t hour_ms);

/* data.c: where data lies, and what bringing it costs */
void core_on_data(helio_broker_core_t *self, const helio_ev_data_t *event);
void core_on_link(helio_broker_core_t *self, const helio_ev_link_t *event);
void core_data_load(helio_broker_core_t *self, const helio_row_data_t *row);
void core_link_load(helio_broker_core_t *self, const helio_row_link_t *row);
void core_transfer_load(helio_broker_core_t *self, const helio_row_transfer_t *row); /* after the states */
void core_data_free(helio_broker_core_t *self);
/*  Of all its data to the pool, at the intensities of that hour. */
helio_transfer_t core_transfer(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool, int64_t at_ms, bool *ret_no_link);
/*  "brings 2 TB from oregon in 53 min; s3://x: not in the catalogue"; "" = there is nothing to say. */
const char *core_transfer_text(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool);
void core_transfer_charge(helio_account_t *account, const helio_transfer_t *transfer);

/* duration.c: how long it will run, by the runs before it */
/*  Of a job that is submitted: fills in the row's expected_*. */
void core_run_expect(const helio_broker_core_t *self, helio_row_job_t *row);
/*  The job's end, which this report tells of: before its use is added to what it used before. */
void core_run_note(helio_broker_core_t *self, const job_t *job, const helio_report_t *report);
void core_run_load(helio_broker_core_t *self, const helio_row_run_t *row);
/*  Whose runs an expectation rests on: "finetune"; of the row, or of the table of kinds. */
helio_text_t core_run_of(helio_arena_t *arena, const helio_row_job_t *row);

/* baseline.c: what a job would have used elsewhere */
void core_baseline_write(helio_broker_core_t *self, const job_t *job, const helio_report_t *report,
                         const bill_t *bill);
void core_baseline_load(helio_broker_core_t *self, const helio_row_least_t *row);

/* submit.c, commands.c */
void core_ids_go_on_from(helio_broker_core_t *self, helio_uuid_t newest);
void core_on_submit(helio_broker_core_t *self, const helio_ev_submit_t *event);
/*  What a submission becomes once the queue's and the tenant's defaults are known. NULL: there is no such queue. */
queue_t *core_resolve(helio_broker_core_t *self, const tenant_t *tenant, const helio_submission_t *job,
                      helio_text_t *ret_home, uint64_t *ret_time_limit_ms);
tenant_t *core_tenant_of(helio_broker_core_t *self, const helio_ev_submit_t *event); /* NULL: answered */
void core_answer_queue(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                       const char *where); /* there is none of that name */
/* plan.c, prospect.c */
void core_on_plan(helio_broker_core_t *self, const helio_ev_submit_t *event);
void core_on_explain(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_cancel(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_release(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_site_command(helio_broker_core_t *self, uint32_t kind, const helio_ev_site_command_t *event);
void core_on_token(helio_broker_core_t *self, const helio_ev_token_t *event);
void core_on_site_key(helio_broker_core_t *self, const helio_ev_site_key_t *event);
void core_key_put(helio_broker_core_t *self, helio_text_t tenant, helio_text_t key, const uint8_t spec_hash[32],
                  helio_uuid_t job);

/* load.c */
tenant_t *core_tenant_get(helio_broker_core_t *self, helio_text_t name); /* made when new */
void core_on_load(helio_broker_core_t *self, const helio_event_t *event);

/* site.c: sites, their sessions, silence and leases */
site_t *core_site_find(helio_broker_core_t *self, helio_text_t name);
site_t *core_site_get(helio_broker_core_t *self, helio_text_t name); /* made when new */
site_t *core_site_of_peer(helio_broker_core_t *self, uint64_t peer);
pool_t *core_pool_find(site_t *site, helio_text_t name);
void core_site_row(helio_broker_core_t *self, site_t *site);
/*  It has one from now on; former_ms: one of a former leader may run for so long yet. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms);
void core_site_heard(helio_broker_core_t *self, site_t *site);
void core_on_hello(helio_broker_core_t *self, const helio_ev_site_hello_t *event);
void core_on_inventory(helio_broker_core_t *self, const helio_ev_site_inventory_t *event);
void core_on_renew(helio_broker_core_t *self, const helio_ev_site_renew_t *event);
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event);
void core_watch(helio_broker_core_t *self); /* silence, leases: at next_watch_ms */
void core_site_attest(helio_broker_core_t *self, site_t *site, const char *actor);
void core_sites_free(helio_broker_core_t *self);

/* capacity.c: what is free, by counts of nodes */
void core_on_summary(helio_broker_core_t *self, const helio_ev_site_summary_t *event);
bool core_pool_take(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
void core_pool_give(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
void core_job_give_back(helio_broker_core_t *self, job_t *job);
uint32_t core_pool_gpus_free(const pool_t *pool);
/*  The same on figures that need not be the pool's own. */
bool core_room_fits(const pool_t *pool, const free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
bool core_room_take(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
void core_room_give(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);

/* outlook.c: the series of sites, and the hours ahead that they tell of */
void core_facts_changed(helio_broker_core_t *self, site_t *site); /* what scores of its pools rest on */
void core_on_series(helio_broker_core_t *self, site_t *site, const helio_series_t *series);
const helio_outlook_t *core_pool_outlook(helio_broker_core_t *self, const site_t *site, pool_t *pool);
void core_outlooks_drop(site_t *site); /* the profile or a series changed */
void core_site_pools_free(helio_broker_core_t *self, site_t *site); /* and whatever points at them */
void core_site_series_free(site_t *site);

/* reserve.c: room that is spoken for: by the gang at the head, by those that wait for a window */
/*  May a job of the class take so much of the pool now, without delaying the gang that has a reservation there? */
bool core_reserve_allows(helio_broker_core_t *self, const job_class_t *class, const pool_t *pool, uint32_t gpus_per_node);
void core_reserve_placed(helio_broker_core_t *self, const job_t *job); /* it was: its room comes back at its end */
/*  When the class is expected to find room at the pool; 0 = not foreseen. The reservation that it would be. */
int64_t core_reserve_expect(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                            uint32_t gpus_per_node, reservation_t *ret_reservation);
/*  When a job that is at a site is over at the latest, by its limit. */
int64_t core_job_end_ms(const helio_broker_core_t *self, const job_t *job);
void core_reserve(job_class_t *class, pool_t *pool, const reservation_t *reservation);
void core_reserve_drop(job_class_t *class);
/*  How many jobs of the class can be expected to find room at the pool from start_ms on, beside those promised before. */
uint32_t core_window_room(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                          uint32_t gpus_per_node, int64_t start_ms);
void core_window_set(job_class_t *class, site_t *site, pool_t *pool, int64_t start_ms, uint32_t gpus);
void core_window_clear(job_class_t *class);

/* kept.c: GPUs that sites keep by the clock, for critical queues and for work that is not the federation's */
void core_kept_review(helio_broker_core_t *self); /* begin of a round: tells those to leave whose GPUs will be needed */
/*  May a job of the class take so much now, once others gave so much back? */
bool core_kept_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                      uint32_t gpus_per_node, uint64_t back_gpus);
/*  Not even if nothing else ran there. */
bool core_kept_excludes(const job_class_t *class, const pool_t *pool, uint32_t gpus_per_node);
void core_kept_placed(helio_broker_core_t *self, const job_t *job);
/*  Why core_kept_allows says no, and when less is kept (0 = not foreseen). */
const char *core_kept_text(helio_broker_core_t *self, const job_class_t *class, const site_t *site, const pool_t *pool,
                           uint32_t gpus_per_node, int64_t *ret_until_ms);

void core_room_add(room_t *room, uint32_t nodes, uint32_t gpus, const helio_requirement_t *want);
void core_room_return(const pool_t *pool, free_nodes_t *free_now, const room_t *room); /* to the fullest nodes */

/* evict.c: running work that makes room, under way (the table of who may evict whom: federation/policy/victims.h) */
/*  The door for whoever needs a running job gone, for whatever reason: it is told to leave (best-effort at once, others by
 *  their checkpoint signal and grace), goes back to its queue with its age, and is charged until it has left. Reason: of its
 *  transition. Returns when it is gone at the latest, by the wall clock. Only of one that core_evict_can. */
int64_t core_evict_job(helio_broker_core_t *self, job_t *job, helio_evict_why_t why, const char *reason);
/*  It runs, is of a tier that may be evicted, and was not evicted too often. young too: not begun a moment ago. */
bool core_evict_can(const helio_broker_core_t *self, const job_t *job, bool young_too);
uint64_t core_evict_lost_ms(const helio_broker_core_t *self, const job_t *job); /* run in vain, if it leaves now */
uint64_t core_evict_ran_ms(const helio_broker_core_t *self, const job_t *job);  /* its current attempt, by the wall clock */
uint32_t core_evict_tier(const job_t *job);                                     /* its queue's */
/*  One that has begun: owned from here on. Its jobs are told to leave, and point at it. */
void core_evict_add(helio_broker_core_t *self, eviction_t *eviction);
/*  Drops those of the class whose victims have all gone, and which still found no room. */
void core_evict_give_up(helio_broker_core_t *self, const job_class_t *class);
/*  What it evicts, in words, and by when (wall clock); "" = nothing. */
const char *core_evict_text(helio_broker_core_t *self, const job_class_t *class, int64_t *ret_expected_ms);
/*  May a job of the class take so much of the pool now, without taking what is held for those others make room for? */
bool core_evict_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                       uint32_t gpus_per_node);
/*  Others are leaving the pool for it: a gang that reserved it since does not keep it out. */
bool core_evict_holds(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool);
/*  Before it leaves the queue. How many jobs were told to leave for the room that it takes. */
uint32_t core_evict_placed(helio_broker_core_t *self, job_class_t *class, const pool_t *pool);
void core_evict_left(helio_broker_core_t *self, job_t *job); /* a job leaves its site: it may be one that was told to */
void core_evict_trim(helio_broker_core_t *self, job_class_t *class); /* fewer wait than are waited for */
void core_evict_class_drop(helio_broker_core_t *self, const job_class_t *class); /* it waits by choice */
void core_evict_site_drop(helio_broker_core_t *self, const site_t *site);
void core_evict_review(helio_broker_core_t *self); /* begin of a round: gives up what comes to nothing */
void core_evict_free(helio_broker_core_t *self); /* all of them */
helio_stop_mode_t core_evict_mode(const job_t *job); /* of a job that is being stopped */
void core_evict_load(job_t *job); /* live, and was being evicted when the last leader went */
void core_evict_loaded(helio_broker_core_t *self);
/*  How long a new leader still waits to hear of evictions that the last one began; 0 = it may begin its own. */
int64_t core_evict_unheard_ms(const helio_broker_core_t *self);

/* hunt.c: whom it makes leave, and where */
/*  For a class whose turn found no room: evicts for as many of its jobs as may be. True when something was evicted; fills in
 *  e->evicts, e->loss_micro_usd. */
struct evaluation;
bool core_evict(helio_broker_core_t *self, struct evaluation *e);

/* place.c: decision rounds */
void core_round(helio_broker_core_t *self);
void core_look(helio_broker_core_t *self); /* at the clock: what classes wait for may be due */
int64_t core_look_wake_ms(const helio_broker_core_t *self, int64_t at_most);
void core_order(helio_broker_core_t *self, job_t *job); /* (again) instruct the site of an offered job */
void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const char *reason);
/*  Could it ever run on a site that is known? True too when no site is known. The text says why not, per site. */
bool core_fits_somewhere(helio_broker_core_t *self, const helio_requirement_t *want, const char **ret_why);

/* queues.c: queues, and what their priority is now, and where */
queue_t *core_queue_find(helio_broker_core_t *self, helio_text_t name); /* NULL = there is none */
/*  Its priority now at the sites of a region. */
uint32_t core_queue_level(const queue_t *queue, helio_text_t region);
/*  The highest that it has anywhere now, and the next one below another. False: there is none. */
uint32_t core_queue_top(const queue_t *queue);
bool core_queue_below(const queue_t *queue, uint32_t level, uint32_t *ret_level);
void core_on_queue(helio_broker_core_t *self, const helio_ev_queue_t *event);
void core_on_queue_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event);
void core_queue_load(helio_broker_core_t *self, const helio_row_queue_t *row);
void core_queue_rule_load(helio_broker_core_t *self, const helio_row_queue_rule_t *row);
void core_queues_loaded(helio_broker_core_t *self);
void core_queues_look(helio_broker_core_t *self); /* at the clock: rules begin and cease to hold */
int64_t core_queues_wake_ms(const helio_broker_core_t *self, int64_t at_most);
void core_queues_free(helio_broker_core_t *self);

/* overflow.c: overflow groups (their part in an evaluation: evaluation.h) */
void core_on_overflow(helio_broker_core_t *self, const helio_ev_overflow_t *event);
void core_overflow_load(helio_broker_core_t *self, const helio_row_overflow_t *row);
void core_overflows_free(helio_broker_core_t *self);

/* fair.c: quotas, shares, and whose turn it is */
account_t *core_account_get(tenant_t *tenant, queue_t *queue); /* made when new */
void core_accounts_free(tenant_t *tenant);
/*  GPUs that the class may still be given, by the quotas of its tenant and of its queue; less those of other classes' starts that
 *  somebody was evicted for, of its tier or a higher one. */
uint32_t core_quota_left(const job_class_t *class);
/*  Why one that needs so many gets none: "quota of acme: 12 of 12 GPUs in use". */
const char *core_quota_text(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);
/*  The tenant is charged with the job's GPUs from its placement until it leaves the site. */
void core_quota_take(helio_broker_core_t *self, job_t *job);
void core_quota_give(helio_broker_core_t *self, job_t *job);
bool core_is_owed(const job_class_t *class); /* its tenant has less than it is guaranteed, in all or in its queue */
/*  < 0: a goes first. By tier, level of the turn, whose tenant is owed something, shares: 0 = equal so far. */
int core_share_turn(const job_class_t *a, const job_class_t *b);
/*  The same, then by age; both have a job that waits. */
int core_class_turn(const job_class_t *a, const job_class_t *b);
/*  The same, by the levels that both have at one site. */
int core_class_turn_at(const job_class_t *a, const job_class_t *b, const site_t *site);
/*  All classes that wait and may find something, in lines: one an account, each in order of age. In the arena of the step's
 *  effects. Brings the shares of their tenants up to date. */
typedef struct line {
    job_class_t **classes;
    uint32_t count, at;
    uint32_t again; /* of those before at, first in line: they get another turn, at a lower level */
} line_t;
typedef struct turns {
    line_t *lines;
    uint32_t count;
    line_t *named; /* last */
} turns_t;
turns_t core_turns(helio_broker_core_t *self);
/*  Whose turn it is, and who would be next (NULL = nobody), of another account. NULL: nobody is left. */
job_class_t *core_turns_next(turns_t *turns, job_class_t **ret_rival);
/*  The class that was named last is through, or (lower) through at this level and asked again at the next lower one that its
 *  queue has somewhere. Else it is asked again. */
void core_turns_done(turns_t *turns, bool lower);
void core_on_quota(helio_broker_core_t *self, const helio_ev_quota_t *event);
void core_quota_load(helio_broker_core_t *self, const helio_row_quota_t *row);
void core_usage_load(helio_broker_core_t *self, const helio_row_usage_t *row);
void core_usage_load_live(helio_broker_core_t *self, const job_t *job); /* what it has used until now */

/* plausible.c: what sites say, cut to what can be true */
/*  Use beyond what the job, and while it is current its placement, can have used until now. True when it was cut. */
bool core_report_cut(const helio_broker_core_t *self, const job_t *job, bool current, helio_report_t *report);
void core_profile_bound(helio_site_profile_t *profile); /* its own figures, not those of its pools */
void core_pool_bound(helio_pool_t *pool);
uint32_t core_count_bound(uint32_t count); /* of nodes, GPUs or jobs of a pool: those of all pools fit an integer */
helio_f64s_t core_points_bound(helio_broker_core_t *self, helio_f64s_t points); /* of a series */

/* report.c */
void core_on_reports(helio_broker_core_t *self, const helio_ev_site_reports_t *event);

#endif
