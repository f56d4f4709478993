/*  checks.h -- the next checks: everything that depends on time is checked at the first tick after its time.
 *
 *  Each kind has one row and one time: a room with many things of a kind keeps the earliest here. The root runs the
 *  checks that are due in the order of the rows (broker_core.c), and tells the shell when the next one is. */
#ifndef HELIO_BROKER_CORE_STATE_CHECKS_H
#define HELIO_BROKER_CORE_STATE_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/core/state/nouns.h"

/*  CORE_CHECK_SITES and CORE_CHECK_DATABASE are times of the monotonic clock; all others are of the wall clock. */
typedef enum core_check {
    CORE_CHECK_SITES,          /* silence and leases */
    CORE_CHECK_DATABASE,       /* a lost database has not come back */
    CORE_CHECK_DEPENDENCIES,   /* a begin time comes */
    CORE_CHECK_QUEUES,         /* a rule of a queue begins or ceases to apply */
    CORE_CHECK_BUDGET_RUNS,    /* a run lasts longer than its commitment */
    CORE_CHECK_BUDGET_PERIODS, /* a period begins; every step handles that by itself */
    CORE_CHECK_CURTAILMENTS,   /* one begins or ends, or a job may have to leave for one */
    CORE_CHECK_COMMANDS,       /* commands on large arrays go on */
    CORE_CHECK_CLASSES,        /* what a class, a site reservation window or a migration waits for */
    CORE_CHECKS
} core_check_t;

void core_check_at(helio_broker_core_t *self, core_check_t check, int64_t at_ms); /* INT64_MAX = never */
void core_check_by(helio_broker_core_t *self, core_check_t check, int64_t at_ms); /* at this time or earlier */
bool core_check_is_due(const helio_broker_core_t *self, core_check_t check);
/*  Monotonic time at which the earliest of all is due; now, if one is due already. */
int64_t core_checks_wake_ms(const helio_broker_core_t *self);

#endif
