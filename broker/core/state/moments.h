/*  moments.h -- how the rooms above learn of a change in state/.
 *
 *  state/ changes first and completely. Then it calls the moments of the change, in the order of this table. The root
 *  fills in the table once (hooks.c), which lists what follows from each moment, and in which order. */
#ifndef HELIO_BROKER_CORE_STATE_MOMENTS_H
#define HELIO_BROKER_CORE_STATE_MOMENTS_H

#include "broker/core/state/nouns.h"

typedef struct core_moments {
    /*  No attempt of the job can be at the site any more. pool: where it was; NULL = the site no longer has that
     *  pool. */
    void (*job_left_site)(helio_broker_core_t *self, job_t *job, pool_t *pool);
    /*  One job fewer waits in the class, for any reason. */
    void (*job_left_queue)(helio_broker_core_t *self, job_class_t *class);
    /*  The job has a new state. */
    void (*job_moved)(helio_broker_core_t *self, job_t *job);
    /*  The new state is terminal. */
    void (*job_ended)(helio_broker_core_t *self, job_t *job);
    /*  The job is in no table any more and is freed next, and its submission too if that has no open task left. */
    void (*job_forgotten)(helio_broker_core_t *self, job_t *job);
    /*  No submission refers to the class any more, and it is freed next. */
    void (*class_gone)(helio_broker_core_t *self, job_class_t *class);
} core_moments_t;

#endif
