/*  retention.h -- retention: compacts jobs that are over, deletes rows that are kept for a limited time only, and counts
 *  every five minutes what waits.
 *
 *  It runs on a thread with a connection of its own, apart from the writer. It deletes a limited number of rows of each
 *  kind a second, and none while another broker leads. Every step is one small transaction that is safe to repeat, so
 *  it needs no fence. Its results are in table helio.retention and in /metrics. schema/queries/retention.sql alone
 *  decides which rows are deleted. */
#ifndef HELIO_BROKER_STORE_RETENTION_H
#define HELIO_BROKER_STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/store/store.h"

/*  How long rows are kept, in ms; 0 = for ever. */
typedef struct helio_retention {
    uint64_t samples_ms;   /* of capacity, one a minute, whose hourly sums stay; and of what waits */
    uint64_t forecasts_ms; /* every issue of a series; the values that apply stay */
    uint64_t actuals_ms;   /* values of past hours; the ledger has its own copy */
    uint64_t decisions_ms; /* decisions and their candidates */
    uint64_t keys_ms;      /* idempotency keys, from the submission on; never before the job is over */
    uint32_t rows_per_second;
} helio_retention_t;

typedef struct helio_retention_worker helio_retention_worker_t;

/*  Starts the thread. conninfo and *retention are copied. say: called on that thread with one line about a failure,
 *  once until the failure is over; can be NULL. */
helio_retention_worker_t *helio_retention_new(const char *conninfo, const helio_retention_t *retention,
                                              helio_say_fn *say, void *arg);
void helio_retention_destroy(helio_retention_worker_t **self_p); /* stops the running step, joins the thread */

/*  Whether to delete nothing for now: now_ms is more than a day after retention last ran (last_ms; 0 = never). Then
 *  either the federation stood still or the clock is wrong. After an hour of the boot clock (boot_ms) the time counts
 *  as right. *doubt_since_ms is state of the caller between calls, 0 at first. All times in ms. */
bool helio_retention_doubts(int64_t now_ms, int64_t last_ms, int64_t boot_ms, int64_t *doubt_since_ms);

/*  Runs retention at once, whether this broker leads or not, and without that doubt, until nothing is left to do.
 *  Reports what was deleted through say. Blocking. */
HELIO_MUST_CHECK helio_rc helio_retention_prune(const char *conninfo, const helio_retention_t *retention,
                                                helio_say_fn *say, void *arg, helio_error_t *err);
/*  Reports through say how many rows helio_retention_prune would delete, roughly. Deletes nothing. */
HELIO_MUST_CHECK helio_rc helio_retention_preview(const char *conninfo, const helio_retention_t *retention,
                                                  helio_say_fn *say, void *arg, helio_error_t *err);

#endif
