/*  preemptions.h -- preemptions under way: jobs ordered to stop, and the capacity that is held until they have left. */
#ifndef HELIO_BROKER_CORE_HOLDS_PREEMPTIONS_H
#define HELIO_BROKER_CORE_HOLDS_PREEMPTIONS_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/pools.h"
#include "federation/reason/detail.h"

/*  Running jobs that were told to stop so that one job of a class finds capacity; what they return is held for it. It
 *  is over when that job starts, wherever; when the job that it was for no longer waits; and when it has failed. */
struct preemption {
    job_class_t *class;
    site_t *site;
    pool_t *pool;
    uint32_t gpus_per_node;
    helio_job_key_t key;       /* of the job that its victims name */
    uint32_t tier;             /* of the class, when it began */
    uint32_t victims;          /* told to stop for it */
    uint32_t left;             /* of all jobs that it waits for, those that are still there */
    room_t back;               /* what those will return */
    int64_t at_ms;             /* wall clock: when they will have left */
    preemption_t *prev, *next; /* of the core, in the order in which they began */
};

preemptions_t *core_preemptions_new(void);
void core_preemptions_destroy(preemptions_t **self_p);

preemption_t *core_preempt_first(const helio_broker_core_t *self); /* the oldest one under way; NULL = none */
uint32_t core_preempt_count(const helio_broker_core_t *self);
void core_preempt_move_by(helio_broker_core_t *self, int64_t by_ms); /* the wall clock was set */

/*  The one way to stop a running job for any other work. The job is ordered to stop (best-effort at once, others by
 *  their checkpoint signal and grace), returns to its queue with its age, and is charged until it has left. gainer: the
 *  tenant that gets the capacity, NULL = none; reason: of its transition. Returns when it is gone at the latest (wall
 *  clock). Precondition: core_preempt_can, or the job itself asks to migrate (migrate.h). */
int64_t core_preempt_job(helio_broker_core_t *self, job_t *job, helio_preempt_cause_t why, const tenant_t *gainer,
                         const helio_details_t *reason);
/*  The same on request of a person, for no other work: every job gets its grace. The job runs, or is suspended. */
void core_preempt_on_request(helio_broker_core_t *self, job_t *job, const helio_details_t *reason, const char *actor);
/*  Takes a preemption that has begun, and owns it. core_preempt_join then adds its victims, which are ordered to stop.
 *  */
void core_preempt_add(helio_broker_core_t *self, preemption_t *preemption);
void core_preempt_join(preemption_t *preemption, job_t *victim);
/*  A site has sent its inventory: holds again what its victims return, if the job that they name still waits. The last
 *  leader began these preemptions, or this one before the site came back with other pools. */
void core_preempt_resume(helio_broker_core_t *self, const site_t *site);
/*  Drops the preemptions of the class whose victims have all gone, and which still found no capacity. */
void core_preempt_give_up(helio_broker_core_t *self, const job_class_t *class);
/*  What it preempts, and by when (wall clock); code NONE = nothing. */
helio_detail_t core_preempt_detail(helio_broker_core_t *self, const job_class_t *class, int64_t *ret_expected_ms);
/*  Whether a job of the class can take that much of the pool now without using what is held for other preemptions. */
bool core_preempt_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                         uint32_t gpus_per_node);
/*  Whether other jobs are leaving the pool for it: a gang that reserved the pool since then does not keep it out. */
bool core_preempt_holds(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool);
/*  Before a job of the class leaves the queue. Returns how many jobs were told to stop for the capacity that it
 *  takes. */
uint32_t core_preempt_class_placed(helio_broker_core_t *self, job_class_t *class, const pool_t *pool);
void core_preempt_victim_left(helio_broker_core_t *self, job_t *job);  /* a job left its site: it can be a victim */
void core_preempt_trim(helio_broker_core_t *self, job_class_t *class); /* fewer jobs wait than preemptions */
void core_preempt_class_drop(helio_broker_core_t *self, const job_class_t *class); /* it waits by choice */
void core_preempt_site_drop(helio_broker_core_t *self, const site_t *site);
void core_preempt_review(helio_broker_core_t *self); /* at the start of a round: gives up failed ones */
void core_preempt_free(helio_broker_core_t *self);   /* all of them */
void core_preempt_load(job_t *job);                  /* the job is live, and the last leader was preempting it */
void core_preempt_loaded(helio_broker_core_t *self);
/*  How long a new leader still waits to learn of preemptions that the last one began; 0 = it can begin its own. */
int64_t core_preempt_reconciling_ms(const helio_broker_core_t *self);

#endif
