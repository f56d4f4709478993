/*  preemptions.h -- preemptions under way: jobs told to leave, and the capacity that is held until they have left. */
#ifndef HELIO_BROKER_CORE_HOLDS_PREEMPTIONS_H
#define HELIO_BROKER_CORE_HOLDS_PREEMPTIONS_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/pools.h"
#include "federation/reason/detail.h"

/*  Running jobs that were told to leave, so that one job of a class finds capacity; what they give back is held for it.
 *  Over when that job starts, wherever; when no job is left that it was for; and when it comes to nothing. */
struct preemption {
    job_class_t *class;
    site_t *site;
    pool_t *pool;
    uint32_t gpus_per_node;
    uint32_t tier;      /* of the class, when it began */
    uint32_t why;       /* helio_preempt_cause_t */
    uint32_t victims;   /* told to leave for it */
    uint32_t left;      /* of all that it waits for, those that are still there */
    room_t back;        /* what those give back */
    int64_t at_ms;      /* wall clock: the end of that */
    preemption_t *prev, *next; /* of the core, in order of their begin */
};

preemptions_t *core_preemptions_new(void);
void core_preemptions_destroy(preemptions_t **self_p);

preemption_t *core_preempt_first(const helio_broker_core_t *self); /* of those under way, by their begin; NULL = none */
uint32_t core_preempt_count(const helio_broker_core_t *self);
void core_preempt_move_by(helio_broker_core_t *self, int64_t by_ms); /* the wall clock was set */

/*  The door for whoever needs a running job gone, for whatever reason: it is told to leave (best-effort at once,
 *  others by their checkpoint signal and grace), goes back to its queue with its age, and is charged until it has
 *  left. gainer: whose work it makes room for, NULL = nobody's; reason: of its transition. Returns when it is gone at
 *  the latest, by the wall clock. Only of one that core_preempt_can, or that is moved by its own wish (migrate.h). */
int64_t core_preempt_job(helio_broker_core_t *self, job_t *job, helio_preempt_cause_t why, const tenant_t *gainer,
                       const helio_details_t *reason);
/*  One that has begun: owned from here on. Its jobs are told to leave, and point at it. */
void core_preempt_add(helio_broker_core_t *self, preemption_t *preemption);
/*  Drops those of the class whose victims have all gone, and which still found no room. */
void core_preempt_give_up(helio_broker_core_t *self, const job_class_t *class);
/*  What it preempts, in words, and by when (wall clock); "" = nothing. */
helio_detail_t core_preempt_detail(helio_broker_core_t *self, const job_class_t *class, int64_t *ret_expected_ms);
/*  May a job of the class take so much of the pool now, without taking what is held for those others make room for? */
bool core_preempt_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                       uint32_t gpus_per_node);
/*  Others are leaving the pool for it: a gang that reserved it since does not keep it out. */
bool core_preempt_holds(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool);
/*  Before it leaves the queue. How many jobs were told to leave for the room that it takes. */
uint32_t core_preempt_class_placed(helio_broker_core_t *self, job_class_t *class, const pool_t *pool);
void core_preempt_victim_left(helio_broker_core_t *self,
                              job_t *job); /* a job leaves its site: it may be one that was told to */
void core_preempt_trim(helio_broker_core_t *self, job_class_t *class); /* fewer wait than are waited for */
void core_preempt_class_drop(helio_broker_core_t *self, const job_class_t *class); /* it waits by choice */
void core_preempt_site_drop(helio_broker_core_t *self, const site_t *site);
void core_preempt_review(helio_broker_core_t *self); /* begin of a round: gives up what comes to nothing */
void core_preempt_free(helio_broker_core_t *self); /* all of them */
void core_preempt_load(job_t *job); /* live, and was being preempted when the last leader went */
void core_preempt_loaded(helio_broker_core_t *self);
/*  How long a new leader still waits to hear of preemptions that the last one began; 0 = it may begin its own. */
int64_t core_preempt_reconciling_ms(const helio_broker_core_t *self);

#endif
