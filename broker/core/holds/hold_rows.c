/*  hold_rows.c -- a list of holds whose rows have changed. */
#include "broker/core/holds/hold_rows.h"

#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/submissions.h"

void core_hold_row_changed(hold_rows_t *all, dependency_hold_t *hold)
{
    if (hold->dirty || hold->task)
        return;
    hold->dirty = true;
    if (hold->told)
        DL_APPEND2(all->dirty, hold, dirty_prev, dirty_next);
    else
        DL_PREPEND2(all->dirty, hold, dirty_prev, dirty_next);
}

void core_hold_row_drop(hold_rows_t *all, dependency_hold_t *hold)
{
    if (hold->dirty)
        DL_DELETE2(all->dirty, hold, dirty_prev, dirty_next);
    hold->dirty = false;
}

static void put(helio_broker_core_t *self, const submission_t *submission, helio_details_t details, int64_t opened_ms)
{
    helio_row_dependency_hold_t row = {.job = submission->row.job, .details = details, .opened_ms = opened_ms};
    core_emit(self, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &row);
}

void core_hold_rows_write(helio_broker_core_t *self, hold_rows_t *all)
{
    for (dependency_hold_t *hold; (hold = all->dirty);) {
        if (hold->told && !core_portion_has_room(self))
            return;
        if (hold->told)
            core_portion_take(self);
        core_hold_row_drop(all, hold);
        hold->told = true;
        put(self, hold->submission, core_dependency_hold_why(self, hold), 0);
    }
}

void core_hold_row_end(helio_broker_core_t *self, const submission_t *submission)
{
    put(self, submission, (helio_details_t){0}, self->wall_ms);
}
