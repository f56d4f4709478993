/*  queue_wait.h -- how long a start waits in the site's own queue, by the figures of its own scheduler.
 *
 *  A summary says after how long 1, 2, 4, ... whole nodes can start. That is a time of day once it has come: it comes
 *  nearer with the clock, and is over when it has passed. No figure counts for more than a day, and none for more than
 *  an hour where the same summary shows that the job fits at once: a wrong figure makes a site less attractive, and for
 *  no longer than the site repeats it. No figure makes a site more attractive than one that gives none.
 *
 *  An elastic pool without room for the job has it once a new node is there.
 */
#ifndef HELIO_BROKER_CORE_FORECAST_QUEUE_WAIT_H
#define HELIO_BROKER_CORE_FORECAST_QUEUE_WAIT_H

#include "broker/core/state/nouns.h"
#include "federation/policy/requirement.h"

enum { QUEUE_WAIT_MAX_MS = 86400000, QUEUE_WAIT_MAX_IF_FREE_MS = 3600000 };

/*  When the site's scheduler expects to have that many nodes (wall clock), unbounded; 0 = at once, or not known. */
int64_t core_queue_reported_ms(const pool_t *pool, uint32_t nodes);
/*  The wait of a job that starts there at wall_ms, in steps of a minute (of five above ten); 0 = none, or not known. */
int64_t core_queue_wait_ms(const pool_t *pool, const helio_requirement_t *want, uint32_t gpus_per_node,
                           int64_t wall_ms);

#endif
