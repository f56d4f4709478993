/*  release.h -- the queue of effects that wait for the commit of their batch: nothing leaves before it is durable.
 *
 *  One owner, one thread; no I/O, no clock. Engine and simulator both hold back effects by this code. Order is kept:
 *  what was held first leaves first, also across batches. The shell numbers the batches, and the numbers never
 *  decrease. */
#ifndef HELIO_BROKER_RELEASE_H
#define HELIO_BROKER_RELEASE_H

#include "federation/base/step.h"

typedef struct helio_release_queue helio_release_queue_t;

/*  kinds: the core's table of effects, static. */
helio_release_queue_t *helio_release_queue_new(const helio_step_kind_t *kinds);
void helio_release_queue_destroy(helio_release_queue_t **self_p); /* effects that still wait are dropped */

/*  Adds a deep copy of the effect. Precondition: its batch is not below one that is held already. */
void helio_release_queue_hold(helio_release_queue_t *self, const helio_effect_t *effect);

/*  Passes every effect whose batch is at most `durable` to `visit`, in order, and returns their number. They stay valid
 *  until the next call of this function or of destroy, so a shell can collect first and encode later. `visit` can hold
 *  further effects; they leave at the end of this call or in a later one. */
typedef void helio_release_fn(void *arg, const helio_effect_t *effect);
uint64_t helio_release_queue_release(helio_release_queue_t *self, uint64_t durable, helio_release_fn *visit, void *arg);

uint64_t helio_release_queue_count(const helio_release_queue_t *self); /* effects that wait */

/*  The highest batch that counts as durable. An open batch without rows has nothing to lose: once all batches before it
 *  are committed it counts as durable, so a reply that changes nothing does not wait. */
uint64_t helio_release_durable(uint64_t committed_batch, uint64_t open_batch, uint64_t open_rows);

#endif
