/*  internal.h -- the engine's struct, shared by the files of this room only. Calls go one way: engine.c (the loop) uses
 *  calls.c (requests and their replies) and standby.c, and both use step.c. */
#ifndef HELIO_BROKER_ENGINE_INTERNAL_H
#define HELIO_BROKER_ENGINE_INTERNAL_H

#include <stdatomic.h>

#include "broker/core/broker_core.h"
#include "broker/engine/engine.h"
#include "broker/engine/recorder.h"
#include "broker/engine/presence.h"
#include "broker/engine/refusals.h"
#include "broker/gateway/gateway.h"
#include "broker/release/release.h"
#include "federation/base/ring.h"

enum {
    HELIO_ENGINE_RING = 4096,
    HELIO_ENGINE_CALLS_MAX = 16384, /* calls that the core has not answered yet; a power of two */
    HELIO_ENGINE_CALLS_PER_TURN = 256,
    HELIO_ENGINE_CALLS_MS = 20,   /* and for at most so long: sites and commits are served between two turns */
    HELIO_ENGINE_FOLLOW_MS = 250, /* a broker that waits sees that the leader ended, or a revoked token, this late */
    HELIO_ENGINE_STOP_MS = 5000,  /* how long a stop waits for a commit */
    HELIO_ENGINE_TICK_MS = 1000,  /* the longest time between two TICKs of the core */
    HELIO_ENGINE_BATCH_BYTES = 16 << 20 /* a batch of this size is full, regardless of its rows */
};

/*  How far the open batch can grow beyond a full one, in percent, while the database is away or slow. With default
 *  settings 100,000 rows of new work: their jobs take about 300 MiB of memory, and their commit about 3 s, which is
 *  within its deadline. tests/faults/machines.py --only database-behind measures both. */
enum {
    HELIO_ENGINE_BACKLOG_SUMMARIES = 250, /* capacity summaries of sites are dropped */
    HELIO_ENGINE_BACKLOG_WORK = 500,      /* no new work is taken */
    HELIO_ENGINE_BACKLOG_COMMANDS = 1000
};

typedef enum helio_engine_phase {
    HELIO_ENGINE_WAITING, /* for the database or for leadership */
    HELIO_ENGINE_LEADING,
    HELIO_ENGINE_STOPPING
} helio_engine_phase_t;

struct helio_engine {
    helio_engine_options_t options; /* the engine owns the strings */
    helio_engine_listener_t listener;
    helio_log_t *log;

    helio_net_t *net;
    helio_loop_t *loop;
    helio_error_t broken; /* code != OK: the failure in helio_engine_new; run returns it */
    helio_ring_t *ring;
    int stop_fd;
    atomic_bool stop_wanted;
    atomic_bool closed; /* posts are refused */
    helio_source_t *ring_source;
    helio_source_t *stop_source;
    helio_source_t *store_source;
    int store_fd;     /* watched by store_source; -1 = none */
    bool store_ready; /* the socket was ready in this turn */

    helio_engine_phase_t phase;
    helio_error_t waiting;      /* why the phase is WAITING */
    helio_follower_t *follower; /* while the phase is WAITING; NULL = another broker has not led so far */
    helio_error_t fatal;        /* code != OK: run ends with it */

    helio_broker_core_t *core;
    helio_store_t *store;
    helio_gateway_t *gateway;
    helio_recorder_t *recorder; /* NULL = nothing is recorded */
    helio_release_queue_t *held;
    helio_effects_t *effects;
    bool stepping;
    int64_t now_ms;
    int64_t wake_ms;
    int64_t last_tick_ms;
    uint64_t broker_epoch;

    helio_call_t **calls; /* slot = id % HELIO_ENGINE_CALLS_MAX */
    bool more_calls;      /* the ring was not emptied in this turn */
    uint32_t call_count;
    uint64_t last_call;
    uint64_t calls_total;
    uint64_t step_us_max;
    uint64_t step_us_sum;
    uint64_t steps_total;
    helio_tally_t tally;
    helio_log_limit_t refusal_limit;
    helio_presence_t *presence;
};

/*  step.c: one step of the core. */
void helio_engine_read_clock(helio_engine_t *self); /* now_ms never decreases */
void helio_engine_step(helio_engine_t *self, uint32_t kind, const void *payload);
void helio_engine_fail(helio_engine_t *self, const helio_error_t *err); /* run ends with the first error */

/*  standby.c: while another broker leads. */
/*  Tells the listener who leads, and what tokens and users there are, if any changed. False: no broker leads, or it
 *  cannot be known. */
bool helio_engine_follow(helio_engine_t *self);
void helio_engine_follow_no_more(helio_engine_t *self); /* this broker is about to lead */

/*  How large the open batch is, in percent of a full one. */
uint32_t helio_engine_backlog(const helio_engine_t *self);

/*  calls.c: calls of other threads. */
void helio_engine_take_calls(helio_engine_t *self);
/*  Answers all calls that are not answered yet, also those in the ring. */
void helio_engine_reply_all(helio_engine_t *self, helio_rc rc, helio_detail_code_t code);
/*  Tells the core of channels that have ended, beside the handlers, in which it can be in the middle of a step. */
void helio_engine_tell_ended_channels(helio_engine_t *self);
/*  leave.c: carries out an effect that may leave: a reply to the call that waits for it, if one does, a frame, or a notice
 *  to a listener. */
void helio_engine_leave(void *arg, const helio_effect_t *effect);

#endif
