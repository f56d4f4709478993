/*  moments.h -- what the rooms above learn of a change in state/.
 *
 *  state/ changes first and completely; then it calls the moments of the change, in the order of this table. The root
 *  fills the table in once (hooks.c), and says there beside each moment what follows from it, and in which order.
 */
#ifndef HELIO_BROKER_CORE_STATE_MOMENTS_H
#define HELIO_BROKER_CORE_STATE_MOMENTS_H

#include "broker/core/state/nouns.h"

typedef struct core_moments {
    /*  No attempt of it can be at the site any more. pool: where it was; NULL = a pool that the site no longer has. */
    void (*job_left_site)(helio_broker_core_t *self, job_t *job, pool_t *pool);
    /*  One job fewer waits in the class, whatever became of it. */
    void (*job_left_queue)(helio_broker_core_t *self, job_class_t *class);
    /*  It has another state than before. */
    void (*job_moved)(helio_broker_core_t *self, job_t *job);
    /*  The new state is a terminal one. */
    void (*job_ended)(helio_broker_core_t *self, job_t *job);
    /*  It is in no table any more, and its memory goes next; its submission's too, if that has no open task left. */
    void (*job_forgotten)(helio_broker_core_t *self, job_t *job);
    /*  No submission names the class any more, and its memory goes next. */
    void (*class_gone)(helio_broker_core_t *self, job_class_t *class);
} core_moments_t;

#endif
