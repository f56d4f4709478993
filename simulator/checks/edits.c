/*  edits.c -- the promise on edits: a stored edit holds, whichever leader comes next. */
#include "simulator/checks/internal.h"

static void check(void *arg, const helio_broker_job_view_t *view)
{
    sim_checks_t *self = arg;
    const helio_row_edit_t *edit = sim_database_edit(self->database, view->key.job);
    if (edit && (view->priority != edit->priority || view->goal != edit->goal ||
                 view->deadline_wall_ms != edit->deadline_wall_ms || !helio_text_is(edit->queue, view->queue)))
        sim_violate(self->engine, "an edit was forgotten at a takeover");
}

void checks_edits(sim_checks_t *self)
{
    helio_broker_core_each(sim_broker_core(checks_leader(self)), check, self);
}
