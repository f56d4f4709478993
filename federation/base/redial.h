/*  redial.h -- which of several servers a client dials next, and after which delay. Pure: the dialer and the simulator
 *  use it.
 *
 *  Targets take turns: after each connection or attempt, the next one is another server. The delay doubles with
 *  each failure in a row, from least_ms to most_ms. Half of it is random, so that many clients that lose one server do
 *  not return at the same time.
 */
#ifndef HELIO_BASE_REDIAL_H
#define HELIO_BASE_REDIAL_H

#include "federation/base/rng.h"

typedef struct helio_redial {
    uint32_t target, target_count; /* target: in use, or dialled next */
    int64_t least_ms, most_ms;
    uint32_t failures; /* in a row, since something was received */
} helio_redial_t;

/*  A connection or an attempt ended. Returns the delay until the next target is dialled. */
int64_t helio_redial_next(helio_redial_t *self, helio_rng_t *rng);
void helio_redial_heard(helio_redial_t *self); /* something was received */
/*  The server answered what will not change soon, `times` times in a row: as so many failures, 1 for the first. */
void helio_redial_refused(helio_redial_t *self, uint32_t times);

#endif
