/*  internal.h -- the nouns of the virtual world. Only simulator/ includes it. */
#ifndef HELIO_SIMULATOR_INTERNAL_H
#define HELIO_SIMULATOR_INTERNAL_H

#include <uthash.h>

#include "federation/base/heap.h"
#include "simulator/world.h"

/*  A clock that drifts from true time. */
typedef struct drift {
    int64_t offset_ms;
    double rate; /* 1 +- 0.005 */
    int64_t wall_skew_ms;
} drift_t;

/*  Something that will happen. Equal times happen in the order of their making. */
typedef struct happening {
    helio_heap_item_t item;
    int64_t at_ms;
    uint64_t seq;
    void (*fn)(world_t *world, struct happening *self);
    uint32_t node;       /* site index; WORLD_SITES_MAX = broker */
    uint64_t generation; /* of what it belongs to: dropped when that has gone */
    uint32_t kind;
    uint64_t number;
    void *payload;
} happening_t;

/*  What truly ran at a site: one attempt. Never forgotten. */
typedef struct run {
    struct {
        helio_job_key_t key;
        uint32_t epoch;
    } id;
    uint32_t site;
    uint32_t job; /* index into world->jobs */
    uint32_t gpus;
    uint32_t on_site_loss;
    helio_slot_t slots[WORLD_NODES_PER_SITE];
    uint32_t slot_gpus[WORLD_NODES_PER_SITE][WORLD_GPUS_PER_NODE];
    uint32_t slot_count;
    bool running, ended, forgotten, stopped, limit, lost, failed_to_start;
    int32_t exit_code;
    int64_t began_ms, over_ms, said_ms; /* true time */
    int64_t started_wall_ms;
    uint64_t run_ms;
    uint32_t times; /* how often processes were made for it */
    UT_hash_handle hh;
} run_t;

typedef struct vjournal_attempt {
    helio_jrow_attempt_t row;
    bool used;
} vjournal_attempt_t;

typedef struct agent_node {
    helio_agent_core_t *core;
    helio_effects_t *effects;
    helio_release_queue_t *release;
    drift_t clock;
    uint64_t life;       /* counts starts: happenings of an older life are dropped */
    bool up;
    int64_t paused_until_ms;
    uint64_t open_batch, committed;
    helio_effect_t *open, *flight;
    uint32_t open_count, open_capacity, flight_count, flight_capacity;
    bool in_flight;
    /* the durable journal */
    helio_jrow_meta_t meta;
    bool has_meta;
    struct jseen {
        helio_job_key_t key;
        helio_jrow_seen_t row;
        UT_hash_handle hh;
    } *seen;
    vjournal_attempt_t *attempts;
    uint32_t attempt_count;
    helio_report_t *reports;
    uint32_t report_count;
    /* the connection */
    bool connected;      /* a stream exists, as the agent sees it */
    uint64_t connection; /* its generation; also the broker's peer handle */
    bool cut;            /* partitioned: nothing passes, no stream can be made */
    int64_t last_up_ms, last_down_ms; /* streams keep order */
    int64_t lease_deadline_boot_ms;
    int64_t wake_ms;
} agent_node_t;

typedef struct broker_node {
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_release_queue_t *release;
    drift_t clock;
    uint64_t life;
    bool up;
    bool database_up;
    uint64_t open_batch, committed;
    int64_t wake_ms;
} broker_node_t;

/*  Of another submission, made before it. */
typedef struct wafter {
    helio_after_t after;
    uint32_t job; /* index into world->jobs */
    int32_t task; /* of its array; HELIO_NO_TASK = the whole */
} wafter_t;

enum { WORLD_AFTERS_MAX = 4, WORLD_QUOTAS = 6 }; /* of two tenants: in all, and in each of two queues */

/*  A submission of the workload and what must come of it. */
typedef struct wjob {
    helio_submission_t submission;
    helio_dependency_t depends[WORLD_AFTERS_MAX]; /* of submission */
    wafter_t afters[WORLD_AFTERS_MAX];
    uint32_t after_count;
    const char *tenant;
    char key[24];
    char source[64];
    uint8_t hash[32];
    uint32_t tasks;
    int64_t submit_ms;
    int64_t cancel_ms; /* 0 = never */
    bool cancelled;    /* the cancel was answered */
    bool answered;
    helio_text_t queue;  /* as the leader has it, edited or not */
    int64_t deadline_ms; /* the same */
    bool edited;         /* by somebody, durably or not */
    helio_uuid_t id;
    helio_uuid_t given; /* the last id that a leader gave it, durable or not */
    uint32_t exit_code;
    int64_t duration_ms;
    uint64_t limit_ms;
    bool limit_hits;
} wjob_t;

/*  A job that was told to leave for a better site. */
typedef struct wmoved {
    helio_job_key_t key;
    uint64_t life; /* of the leader that told it last */
    int64_t at_ms; /* by that one's clock */
    UT_hash_handle hh;
} wmoved_t;

/*  A job that was placed, and perhaps told to leave for another. */
typedef struct wevicted {
    helio_job_key_t key;
    char site[33]; /* of its last placement */
    char queue[33], tenant[33]; /* for whose job it left */
    bool open;     /* and none of those was placed since */
    uint32_t times;  /* in that life, of those that may make it immune: of standard work for other tenants */
    uint32_t others; /* for other tenants' work, ever */
    uint64_t life;     /* of the leader that decided so */
    uint64_t sessions; /* counts connections until then */
    int64_t at_ms;
    UT_hash_handle hh;
} wevicted_t;

struct world {
    world_options_t options;
    helio_rng_t rng;
    helio_arena_t *arena;
    int64_t now_ms;
    uint64_t seq;
    helio_heap_t queue; /* of happenings */
    broker_node_t broker;
    agent_node_t agents[WORLD_SITES_MAX];
    helio_site_profile_t profiles[WORLD_SITES_MAX];
    uint32_t site_count;
    helio_vdb_t *vdb;
    run_t *runs;
    wjob_t jobs[WORLD_JOBS_MAX];
    uint32_t job_count;
    uint64_t foreseen, admitted; /* placements, of the result */
    uint64_t gpus_held[WORLD_QUOTAS]; /* at the last commit */
    int64_t budget_held;              /* since the budget is durable: it, or what was there before; 0 = it is not */
    bool linked; /* the link of any to any is durable */
    wevicted_t *evicted;
    uint64_t evictions;
    wmoved_t *moved;
    uint64_t moves, arrivals; /* jobs told to leave for a better site; that were placed there */
    uint64_t next_call;
    uint64_t next_connection;
    uint64_t hash, steps;
    uint64_t faults[WORLD_FAULT_COUNT];
    char violation[320];
};

/* world.c */
happening_t *world_later(world_t *self, int64_t delay_ms, void (*fn)(world_t *, happening_t *));
int64_t world_boot_ms(const world_t *self, const drift_t *clock);
int64_t world_wall_ms(const world_t *self, const drift_t *clock);
int64_t world_true_ms(const world_t *self, const drift_t *clock, int64_t boot_ms); /* when the clock will show it */
bool world_chance(world_t *self, double probability);
int64_t world_between(world_t *self, int64_t low, int64_t high); /* inclusive */
void world_fault(world_t *self, world_fault_t fault);
void world_violate(world_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
void world_trace(world_t *self, const char *node, const char *event, const helio_record_type_t *type,
                 const void *payload);
void *world_copy(world_t *self, const helio_record_type_t *type, const void *record);
/*  Half of the worlds have hours that differ, and jobs that may wait for a better one, which begins amid the faults.
 *  They draw nothing from the world's random numbers for it: the other half runs as it did. */
bool world_has_windows(const world_t *self);
uint64_t world_draw(const world_t *self, uint64_t what, uint64_t which); /* of seed and arguments alone */
/*  Two thirds have jobs of all tiers, and checkpoints. The same. */
bool world_has_tiers(const world_t *self);
/*  g/kWh. What is issued of an hour lies above it, by less than the noise. */
uint64_t world_truth(const world_t *self, uint32_t site, int64_t hour_ms);
helio_series_t *world_forecast(world_t *self, uint32_t site, int64_t wall_ms); /* in the arena; another every 20 s */
/*  GPUs that a site keeps for itself, two minutes by two; none after the first minutes, so that all comes to its
 *  end. */
helio_series_t *world_reserved(world_t *self, uint32_t site, int64_t wall_ms);
enum { WORLD_NOISE_G = 80 };
#define WORLD_BROKER WORLD_SITES_MAX

/* broker_node.c */
void broker_start(world_t *self);
void broker_crash(world_t *self);
void broker_step(world_t *self, uint32_t kind, const void *payload);

/* agent_node.c */
void agent_start(world_t *self, uint32_t site);
void agent_crash(world_t *self, uint32_t site);
void agent_step(world_t *self, uint32_t site, uint32_t kind, const void *payload);

/* network.c: ordered streams that break */
void network_connect_later(world_t *self, uint32_t site, int64_t delay_ms);
void network_break(world_t *self, uint32_t site); /* what is in flight is lost; both ends notice later */
void network_cut(world_t *self, uint32_t site, bool cut);
void network_up(world_t *self, uint32_t site, uint32_t broker_event, const helio_record_type_t *type,
                const void *payload);
void network_down(world_t *self, uint64_t peer, uint32_t agent_event, const helio_record_type_t *type,
                  const void *payload);
uint32_t network_site_of(const world_t *self, uint64_t peer); /* WORLD_SITES_MAX = nobody */

/* backend.c: processes, which outlive their agent */
void backend_start(world_t *self, uint32_t site, const helio_afx_start_t *start);
void backend_adopt(world_t *self, uint32_t site, const helio_afx_start_t *start);
void backend_stop(world_t *self, uint32_t site, const helio_stop_t *stop);
void backend_forget(world_t *self, uint32_t site, const helio_afx_forget_t *forget);
void backend_lease(world_t *self, uint32_t site, int64_t deadline_boot_ms);
void backend_lose_one(world_t *self, uint32_t site);
run_t *backend_find(world_t *self, helio_job_key_t key, uint32_t epoch);

/* workload.c */
void workload_make(world_t *self);
void workload_parse(world_t *self, helio_text_t source, helio_job_spec_t *ret_spec);
wjob_t *workload_of(world_t *self, helio_text_t source);
wjob_t *workload_given(world_t *self, helio_uuid_t id); /* by the id that a leader gave it; NULL = none */
void workload_answer(world_t *self, const helio_fx_answer_t *answer);
helio_job_key_t workload_on(const world_t *self, const wafter_t *after);
bool workload_done(world_t *self);
void workload_release_held(world_t *self);

/* quotas.c: limits that move in half of the worlds, and the promise that they hold */
void quotas_make(world_t *self);
void quotas_answer(world_t *self, const helio_fx_answer_t *answer);
void quotas_check(world_t *self); /* after every commit */
enum { QUOTAS_CALL = 3 * WORLD_JOBS_MAX, QUEUES_CALL = 6 * WORLD_JOBS_MAX, RELEASES_CALL = 1000 * WORLD_JOBS_MAX };

/* budgets.c: a budget in a third of the worlds, and the promise that it is kept */
void budgets_make(world_t *self);
void budgets_answer(world_t *self, const helio_fx_answer_t *answer);
void budgets_check(world_t *self); /* after every commit */
enum { BUDGETS_CALL = 2000 * WORLD_JOBS_MAX };
#define WORLD_HOUR_WALL_MS INT64_C(1764547200000) /* the first full hour of all worlds: a month's begin */

/* queues.c: priorities that change by the hour, by hand and by region in a third of the worlds */
void queues_make(world_t *self);
void queues_answer(world_t *self, const helio_fx_answer_t *answer);

/* edits.c: jobs that are edited while they wait, in a fifth of the worlds */
void edits_make(world_t *self);
void edits_answer(world_t *self, const helio_fx_answer_t *answer);
void edits_row(world_t *self, const helio_row_edit_t *row); /* as a leader decides it */
void edits_before_load(world_t *self);                      /* what the last leader had not stored is gone */
void edits_after_load(world_t *self);                       /* nothing of what it had stored is */
enum { EDITS_CALL = 5 * WORLD_JOBS_MAX };

/* looks.c: plans and explanations at any moment, and the promise that they change nothing */
void looks_make(world_t *self);
void looks_effect(world_t *self, uint32_t kind, const helio_effect_t *effect); /* of a step that took such an event */

/* data.c: a catalogue and links that change, in half of the worlds, and jobs that read */
void data_make(world_t *self);
void data_reads(world_t *self, uint32_t index, helio_job_spec_t *spec);
void data_answer(world_t *self, const helio_fx_answer_t *answer);
enum { DATA_CALL = 4 * WORLD_JOBS_MAX };

/* evictions.c: the rows that a leader writes, in order */
void evictions_transition(world_t *self, const helio_row_transition_t *row);
void evictions_state(world_t *self, const helio_row_state_t *row);
void evictions_placement(world_t *self, const helio_row_placement_t *row);
void evictions_free(world_t *self);

/* moves.c: the same of those that go to a better site */
bool moves_asks(const world_t *self, uint32_t index);
void moves_transition(world_t *self, const helio_row_transition_t *row);
void moves_state(world_t *self, const helio_row_state_t *row);
void moves_free(world_t *self);

/* faults.c */
void faults_begin(world_t *self);

/* invariants.c */
void invariants_check(world_t *self);       /* after every step */
void invariants_at_rest(world_t *self);     /* when everything is over */
void invariants_placement(world_t *self, const helio_row_placement_t *row, int64_t wall_ms); /* when it is decided */
void invariants_order(world_t *self, const helio_order_t *order); /* when an order leaves the broker */

#endif
