/*  hold_rows.h -- the rows of dependency holds: what each waits for, and when it ended.
 *
 *  A row is written once a step, however often it changes. One end can change those of many holds, so changed rows are written
 *  batch by batch (state/portion.h); views know of those that are late (helio.goes_on_in_turn). */
#ifndef HELIO_BROKER_CORE_HOLDS_HOLD_ROWS_H
#define HELIO_BROKER_CORE_HOLDS_HOLD_ROWS_H

#include "broker/core/holds/dependencies.h"

/*  Zero-initialised. */
typedef struct hold_rows {
    dependency_hold_t *dirty; /* those that have no row yet come first */
} hold_rows_t;

/*  The hold of one task has no row: views find what it waits for. */
void core_hold_row_changed(hold_rows_t *all, dependency_hold_t *hold);
void core_hold_row_drop(hold_rows_t *all, dependency_hold_t *hold); /* nothing is to be written of it */
void core_hold_rows_write(helio_broker_core_t *self, hold_rows_t *all);
void core_hold_row_end(helio_broker_core_t *self, const submission_t *submission); /* it ended now */

#endif
