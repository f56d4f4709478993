/*  refused_holds.h -- the holds whose dependency can no longer be met, and whose jobs are still to be cancelled.
 *
 *  They are cancelled batch by batch (state/portion.h). A new leader goes on: it finds the same dependency that failed. */
#ifndef HELIO_BROKER_CORE_HOLDS_REFUSED_HOLDS_H
#define HELIO_BROKER_CORE_HOLDS_REFUSED_HOLDS_H

#include "broker/core/holds/dependencies.h"

/*  Zero-initialised. */
typedef struct refused_holds {
    dependency_hold_t *first; /* in order of arrival */
} refused_holds_t;

void core_refused_add(refused_holds_t *all, dependency_hold_t *hold);
void core_refused_remove(refused_holds_t *all, dependency_hold_t *hold); /* if it is there */
/*  Cancels jobs of the first hold, as many as the batch takes. False: none is left, or the batch takes no more. */
bool core_refused_cancel(helio_broker_core_t *self, refused_holds_t *all);

#endif
