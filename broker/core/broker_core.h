/*  broker_core.h -- the state machine of the federation: one step function without I/O, clock or randomness of its own.
 *
 *  Thread: one owner. The shells (broker/engine, store, gateway, http) make events of what happens, and carry out
 *  effects. The same core runs in production, in the simulator and in the fault tests.
 *
 *  Order of life: LOAD_* … LOADED, then all other events. The core never waits and never fails. Bad input from outside
 *  is answered (REPLY, REFUSAL) or counted; a shell that breaks its contract is an assertion failure. */
#ifndef HELIO_BROKER_CORE_H
#define HELIO_BROKER_CORE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"
#include "broker/model/options.h"
#include "broker/model/rows.h"
#include "federation/base/step.h"

typedef struct helio_broker_core helio_broker_core_t;

helio_broker_core_t *helio_broker_core_new(helio_broker_options_t options);
void helio_broker_core_destroy(helio_broker_core_t **self_p);
/*  Handles one event. *effects is emptied first; its payloads are valid until the next step. Preconditions:
 *  event->now_ms (monotonic) never decreases, and before LOADED there are LOAD_* events only. */
void helio_broker_core_step(helio_broker_core_t *self, const helio_event_t *event, helio_effects_t *effects);
/*  Asserts the invariants that hold between any two steps. Walks everything: for tests and the simulator. */
void helio_broker_core_check(const helio_broker_core_t *self);

/*  The open mark: no open job has a smaller id, and none ever will. The owner reads it between steps when it seals a
 *  batch, and commits it with that batch. A new leader reads the jobs from the mark on.
 *
 *  Why no open job is below it: after a step the core's jobs are exactly those that are open by the rows of all batches
 *  up to the open one, because a job enters with its row and leaves with the row that ends it. So a job below the mark
 *  of batch n ended in batch n or before, and if n is lost, its mark is lost with it. A job that is not stored yet has
 *  no id yet. The core gives ids in the order of the rows, each larger than all before it, whatever the clock does and
 *  whoever led before (LOAD_FEDERATION has the largest one). */
helio_uuid_t helio_broker_core_open_from(const helio_broker_core_t *self);

/*  Read between steps by the owner. Cheap. */
void helio_broker_core_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);

/*  Walks all jobs that are not terminal, for invariant checks. The view is borrowed for the call of visit. */
typedef struct helio_broker_job_view {
    helio_job_key_t key;
    uint32_t state;
    uint32_t epoch;
    const char *site; /* "" = none */
    int32_t priority; /* as asked for now, edited or not */
    uint32_t goal;
    int64_t deadline_wall_ms;
    const char *queue;
    bool kept_back; /* queued, but not in its queue: a site may run a copy of it */
} helio_broker_job_view_t;
void helio_broker_core_each(const helio_broker_core_t *self,
                            void (*visit)(void *arg, const helio_broker_job_view_t *job), void *arg);

#endif
