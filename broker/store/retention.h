/*  retention.h -- what a long life needs: compacts jobs that are over, and deletes what is kept for a time only.
 *
 *  A thread with a connection of its own, away from the writer's: at most so many rows of a kind a second,
 * none while another broker leads. Every step is one small transaction that may be done twice, so it needs no
 * fence. What it did is in table helio.retention (and /metrics). Which rows may go is said by
 * schema/queries/retention.sql alone.
 */
#ifndef HELIO_BROKER_STORE_RETENTION_H
#define HELIO_BROKER_STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/store/store.h"

/*  For how long, in ms; 0 = for ever. */
typedef struct helio_retention {
    uint64_t samples_ms;   /* of capacity, a minute each; sums by the hour stay */
    uint64_t forecasts_ms; /* every issue of a series; what holds stays */
    uint64_t actuals_ms;   /* what hours came to; the ledger has its own copy */
    uint64_t decisions_ms; /* and their candidates */
    uint64_t keys_ms;      /* idempotency keys, from the submission on, and while the job is not over */
    uint32_t rows_per_second;
} helio_retention_t;

typedef struct helio_retention_worker helio_retention_worker_t;

/*  say: on the keeper's thread, a line about trouble, once until it is over; may be NULL. conninfo is copied.
 */
helio_retention_worker_t *helio_retention_new(const char *conninfo, const helio_retention_t *retention,
                                              helio_say_fn *say, void *arg);
void helio_retention_destroy(helio_retention_worker_t **self_p); /* ends the step that runs, joins the thread */

/*  Whether to delete nothing yet: by this time, more than a day has passed since retention ran last (0 = it
 * never did). Either the federation stood still, or the clock is wrong; after an hour of the boot clock it is
 * taken as right. *doubt_since_ms: the caller keeps it from look to look, 0 at first. */
bool helio_retention_doubts(int64_t now_ms, int64_t last_ms, int64_t boot_ms, int64_t *doubt_since_ms);

/*  The same at once and at the time that it is, until nothing is left to do, whoever leads. Says what went.
 */
HELIO_MUST_CHECK helio_rc helio_retention_prune(const char *conninfo, const helio_retention_t *retention,
                                             helio_say_fn *say, void *arg, helio_error_t *err);
/*  How much would go, roughly. Deletes nothing. */
HELIO_MUST_CHECK helio_rc helio_retention_preview(const char *conninfo, const helio_retention_t *retention,
                                               helio_say_fn *say, void *arg, helio_error_t *err);

#endif
