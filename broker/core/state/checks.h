/*  checks.h -- the next checks: what depends on time is looked at again then, at the next tick.
 *
 *  One row a kind, and one time for each: whoever has many of a kind keeps the earliest of them here. The root runs the
 *  checks that are due, in the order of the rows (broker_core.c), and tells the shell when the next one is.
 */
#ifndef HELIO_BROKER_CORE_STATE_CHECKS_H
#define HELIO_BROKER_CORE_STATE_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/core/state/nouns.h"

/*  CORE_CHECK_SITES is a time of the monotonic clock, all others are times of the wall clock. */
typedef enum core_check {
    CORE_CHECK_SITES,          /* silence and leases */
    CORE_CHECK_DEPENDENCIES,   /* a begin time comes */
    CORE_CHECK_QUEUES,         /* a rule of a queue begins or ceases to hold */
    CORE_CHECK_BUDGET_RUNS,    /* a run lasts longer than is committed */
    CORE_CHECK_BUDGET_PERIODS, /* a period begins; every step sees to that by itself */
    CORE_CHECK_CLASSES,        /* something that a class, a window of a site or a migration waits for */
    CORE_CHECKS
} core_check_t;

void core_check_at(helio_broker_core_t *self, core_check_t check, int64_t at_ms); /* INT64_MAX = not at all */
void core_check_by(helio_broker_core_t *self, core_check_t check, int64_t at_ms); /* then at the latest */
bool core_check_is_due(const helio_broker_core_t *self, core_check_t check);
/*  Monotonic: when the earliest of all is due; now, if one is already. */
int64_t core_checks_wake_ms(const helio_broker_core_t *self);

#endif
