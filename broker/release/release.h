/*  release.h -- nothing leaves before it is durable: the queue of effects that wait for their batch's commit.
 *
 *  One owner, no I/O, no clock: the engine and the simulator hold back effects by exactly this code. Order is
 * kept: what was held first leaves first, also across batches. Batches are numbered by the shell and never go
 * back.
 */
#ifndef HELIO_BROKER_RELEASE_H
#define HELIO_BROKER_RELEASE_H

#include "federation/base/step.h"

typedef struct helio_release_queue helio_release_queue_t;

/*  kinds: the core's table of effects, static. */
helio_release_queue_t *helio_release_queue_new(const helio_step_kind_t *kinds);
void helio_release_queue_destroy(helio_release_queue_t **self_p); /* what still waits never leaves */

/*  Joins a deep copy of the effect. Its batch must not be below one that is held already. */
void helio_release_queue_hold(helio_release_queue_t *self, const helio_effect_t *effect);

/*  Hands over, in order, every effect whose batch is at most `durable`, and returns how many there were. What
 * `visit` got stays valid until the next call of this function or of destroy, so a shell may collect first
 * and encode after. `visit` may hold further effects; they leave at the end of this call or in a later one.
 */
typedef void helio_release_fn(void *arg, const helio_effect_t *effect);
uint64_t helio_release_queue_release(helio_release_queue_t *self, uint64_t durable, helio_release_fn *visit,
                                     void *arg);

uint64_t helio_release_queue_count(const helio_release_queue_t *self); /* effects that wait */

/*  The highest batch that counts as durable. An open batch without rows has nothing to lose: once all before
 *  it are committed, it is as durable as they are, and an answer that changes nothing need not wait. */
uint64_t helio_release_durable(uint64_t committed_batch, uint64_t open_batch, uint64_t open_rows);

#endif
