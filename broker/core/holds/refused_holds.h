/*  refused_holds.h -- the holds whose dependency can no longer be met, and whose jobs are still to be cancelled.
 *
 *  One end can cancel a million tasks, and their rows would keep everybody else's commits waiting. So a batch of the
 *  store takes a bounded number of them, and the next one goes on. A new leader goes on too: it finds the same
 *  dependency that failed. */
#ifndef HELIO_BROKER_CORE_HOLDS_REFUSED_HOLDS_H
#define HELIO_BROKER_CORE_HOLDS_REFUSED_HOLDS_H

#include "broker/core/holds/dependencies.h"

enum {
    CORE_REFUSED_MAX = 1000,     /* jobs cancelled in one batch */
    CORE_REFUSED_PAUSE_MS = 1000 /* after which more are, though the batch is still open */
};

/*  Zero-initialised. */
typedef struct refused_holds {
    dependency_hold_t *first; /* in order of arrival */
    uint64_t batch;           /* in which jobs were cancelled last */
    int64_t since_ms;
    uint32_t count; /* of jobs cancelled in this batch, or since then */
} refused_holds_t;

void core_refused_add(refused_holds_t *all, dependency_hold_t *hold);
void core_refused_remove(refused_holds_t *all, dependency_hold_t *hold); /* if it is there */
/*  Cancels jobs of the first hold, as many as the batch takes. False: none is left, or the batch takes no more. */
bool core_refused_cancel(helio_broker_core_t *self, refused_holds_t *all);

#endif
