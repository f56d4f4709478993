/*  database_restore.c -- the database becomes an older copy of itself. */
#include "simulator/database/database_rows.h"

enum { FORGOTTEN_ONE_IN = 2 }; /* of the attempts that sites have or are offered */

/*  Its attempt was placed after the copy was made. The copy has a lower epoch, too; here it keeps it, because agents
 *  refuse an epoch that they know, and the checks of the world tell attempts apart by their epochs. */
static void forget_placement(sim_database_t *self, vstate_t *state)
{
    helio_row_state_t *row = &state->row;
    database_attempt_get(self, row->key, row->epoch)->forgotten = true;
    row->state = HELIO_JOB_QUEUED;
    row->before = HELIO_JOB_QUEUED;
    row->site = row->pool = (helio_text_t){0};
    row->why = (helio_details_t){0};
}

void sim_database_restore(sim_database_t *self, uint64_t draw, int64_t wall_ms)
{
    uint64_t number = 0;
    for (vstate_t *state = self->states; state; state = state->hh.next) {
        bool stops = state->row.intent != HELIO_INTENT_NONE || state->row.state == HELIO_JOB_STOPPING;
        if (!helio_job_state_is_live(state->row.state) || stops)
            continue;
        uint64_t one = helio_hash(draw, &number, sizeof number);
        number++;
        if (one % FORGOTTEN_ONE_IN == 0)
            forget_placement(self, state);
    }
    for (vnamed_t *site = self->sites; site; site = site->hh.next)
        ((helio_row_site_t *)site->row)->unreconciled_ms = wall_ms;
    self->lock = NULL;
    self->restored_ms = wall_ms;
    self->restored_job = self->newest_job;
    self->restores++;
}
