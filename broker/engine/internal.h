/*  internal.h -- shared by the files of this room only: the engine's insides. Calls go one way: engine.c (the loop) uses
 *  calls.c (requests and their answers), and both use step.c. */
#ifndef HELIO_BROKER_ENGINE_INTERNAL_H
#define HELIO_BROKER_ENGINE_INTERNAL_H

#include <stdatomic.h>

#include "broker/core/broker_core.h"
#include "broker/engine/engine.h"
#include "broker/engine/recorder.h"
#include "broker/gateway/gateway.h"
#include "broker/release/release.h"
#include "federation/base/ring.h"

enum {
    HELIO_ENGINE_RING = 4096,
    HELIO_ENGINE_CALLS_MAX = 16384, /* asked of the core, not yet answered; a power of two */
    HELIO_ENGINE_CALLS_PER_TURN = 256,
    HELIO_ENGINE_STOP_MS = 5000, /* how long stopping waits for a commit */
    HELIO_ENGINE_TICK_MS = 1000  /* the core gets a TICK at least so often */
};

typedef enum helio_engine_phase {
    HELIO_ENGINE_WAITING, /* for the database, or to lead */
    HELIO_ENGINE_LEADING,
    HELIO_ENGINE_STOPPING
} helio_engine_phase_t;

struct helio_engine {
    helio_engine_options_t options; /* strings are ours */
    helio_engine_listener_t listener;
    helio_log_t *log;

    helio_net_t *net;
    helio_loop_t *loop;
    helio_error_t broken; /* code != OK: what failed in helio_engine_new; run returns it */
    helio_ring_t *ring;
    int stop_fd;
    atomic_bool stop_wanted;
    atomic_bool closed; /* posts are refused */
    helio_source_t *ring_source;
    helio_source_t *stop_source;
    helio_source_t *store_source;
    int store_fd;     /* watched by store_source; -1 */
    bool store_ready; /* the socket wants attention in this turn */

    helio_engine_phase_t phase;
    helio_error_t waiting; /* why it is WAITING */
    helio_error_t fatal;   /* code != OK: run ends with it */

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
};

/*  step.c */
void helio_engine_read_clock(helio_engine_t *self); /* now_ms never goes back */
void helio_engine_step(helio_engine_t *self, uint32_t kind, const void *payload);
void helio_engine_fail(helio_engine_t *self, const helio_error_t *err); /* run ends with the first error */

/*  calls.c */
void helio_engine_take_calls(helio_engine_t *self);
void helio_engine_reply(helio_engine_t *self, const helio_fx_reply_t *reply);
/*  Everything asked and not answered gets this; the ring too. */
void helio_engine_reply_all(helio_engine_t *self, helio_rc rc, helio_detail_code_t code);
/*  An effect that may leave: answers, frames, listeners. */
void helio_engine_leave(void *arg, const helio_effect_t *effect);

#endif
