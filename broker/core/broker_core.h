/*  broker_core.h -- the state machine of the federation: one step function, no I/O, no clock, no randomness of its own.
 *
 *  Thread: one owner. The shells (broker/engine, store, gateway, http) turn the world into events and carry out
 *  effects. The same core runs in production, in the what-if simulator and in the fault tests.
 *
 *  Order of life: LOAD_* … LOADED, then everything else. The core never waits and never fails: bad input from outside
 *  is answered (ANSWER, REFUSAL) or counted; a broken promise of a shell is an assert.
 */
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
void helio_broker_core_step(helio_broker_core_t *self, const helio_event_t *event, helio_effects_t *effects);
/*  Asserts what is true between any two steps. Walks everything: for tests and the simulator. */
void helio_broker_core_check(const helio_broker_core_t *self);

/*  The mark: no open job has a smaller id, and none ever will. Read between steps by the owner, when a batch
 *  is sealed, and committed with that batch; a new leader reads the jobs from the mark on.
 *
 *  Why nothing is lost below it. After a step the core's jobs are exactly those that are open by the rows of
 *  all batches up to the open one: a job enters with its row and leaves with the row that says it is over. So
 *  a job that falls below the mark of batch n is over in batch n or before, and if n is lost its mark is lost
 *  with it. A job that is not stored yet has no id yet: the core gives ids in the order of the rows, each
 *  larger than every one before it, whatever the clock does and whoever led before (LOAD_FEDERATION brings
 *  the largest there is). */
helio_uuid_t helio_broker_core_open_from(const helio_broker_core_t *self);

/*  Read between steps by the owner; cheap. */
void helio_broker_core_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);

/*  Walks all jobs that are not terminal, for invariant checks. */
typedef struct helio_broker_job_view {
    helio_job_key_t key;
    uint32_t state;
    uint32_t epoch;
    const char *site; /* "" = none */
    int32_t priority; /* what it asks for now, edited or not */
    uint32_t goal;
    int64_t deadline_wall_ms;
    const char *queue;
} helio_broker_job_view_t;
void helio_broker_core_each(const helio_broker_core_t *self,
                            void (*visit)(void *arg, const helio_broker_job_view_t *job), void *arg);

#endif
