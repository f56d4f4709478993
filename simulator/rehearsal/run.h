/*  run.h -- runs a copy of the live state on in virtual time, by the broker's core. */
#ifndef HELIO_SIMULATOR_REHEARSAL_RUN_H
#define HELIO_SIMULATOR_REHEARSAL_RUN_H

#include "simulator/rehearsal/change.h"
#include "simulator/rehearsal/life.h"

typedef struct reh_result {
    reh_copy_t copy; /* with the changes */
    reh_lives_t lives;
    int64_t until_ms; /* the end: everything is over, or the time is */
} reh_result_t;

/*  bytes: the snapshot, which must outlive the result. for_ms: the virtual time at most; of a
 *  time that is over, behind its end. HELIO_NOT_FOUND, or what the broker
 *  itself would refuse: no such site, pool or tenant. */
HELIO_MUST_CHECK helio_rc reh_run(helio_text_t bytes, const reh_change_t *changes, uint32_t count, int64_t for_ms,
                                  reh_result_t *ret_result, helio_error_t *err);
void reh_result_clear(reh_result_t *self);

#endif
