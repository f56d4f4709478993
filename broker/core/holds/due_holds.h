/*  due_holds.h -- the holds that are over, and whose jobs still wait for it: everything has come, and they can go on, or something can
 *  come no more, and they are cancelled.
 *
 *  Many can be over at once, so that is done batch by batch (state/portion.h), in the order in which they became so. A new
 *  leader goes on: it finds the same dependencies that ended, and the same times that have come. */
#ifndef HELIO_BROKER_CORE_HOLDS_DUE_HOLDS_H
#define HELIO_BROKER_CORE_HOLDS_DUE_HOLDS_H

#include "broker/core/holds/dependencies.h"

/*  Zero-initialised. */
typedef struct due_holds {
    dependency_hold_t *first; /* in order of arrival */
} due_holds_t;

void core_due_add(due_holds_t *all, dependency_hold_t *hold);
void core_due_remove(due_holds_t *all, dependency_hold_t *hold); /* if it is there */
/*  Cancels jobs of the first hold, of which something can come no more, as many as the batch takes. */
void core_due_cancel(helio_broker_core_t *self, due_holds_t *all);

#endif
