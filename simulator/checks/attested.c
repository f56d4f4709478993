/*  attested.c -- the promise on the charge of a run whose end was not observed, because its site was attested: it is
 *  charged at most up to the last message that a leader had from its site. A run may have ended long before, and its
 *  report may have been lost with a leader, so what it truly used says little. */
#include <stdlib.h>

#include "simulator/checks/internal.h"

enum {
    ROW_MS = 6000,              /* a site that is heard has a row this often */
    SITE_CLOCK_APART_MS = 2000, /* as it starts (sim_clock_start) */
    /* The leader that saw the start, and the one that estimates: 60 s each (sim_broker_start), which drift. */
    CLOCKS_APART_MS = 125000
};

void checks_attested_site(sim_checks_t *self, const helio_row_site_t *row)
{
    for (uint32_t i = 0; i < self->federation->site_count; i++) {
        if (!helio_text_equal(self->federation->profiles[i].name, row->site) || self->seen_wall_ms[i] == row->seen_ms)
            continue;
        self->seen_wall_ms[i] = row->seen_ms;
        self->heard_ms[i] = sim_now_ms(self->engine);
    }
}

void checks_attested_attempt(sim_checks_t *self, const helio_row_attempt_t *row)
{
    if (row->basis != HELIO_ATTEMPT_GIVEN_UP)
        return;
    for (const sim_run_t *run = sim_backend_runs(self->federation->backend); run; run = run->hh.next) {
        if (!helio_job_key_equal(run->id.key, row->key) || run->id.epoch != row->epoch)
            continue;
        /* By a clock that was set, or for a leader that knows of no start, it may have begun at any time since its
         * placement. A leader that knew it was not there yet may be gone, and stored nothing of that. */
        if (llabs(self->federation->hosts[run->site].clock.wall_skew_ms) > SITE_CLOCK_APART_MS ||
            !sim_database_state(self->database, row->key).row.started_ms)
            continue;
        int64_t until_ms = self->heard_ms[run->site] + ROW_MS + CLOCKS_APART_MS;
        if ((int64_t)row->run_ms > until_ms - run->began_ms)
            sim_violate(self->engine, "an attested run is charged %lld ms beyond the last message of its site",
                        (long long)row->run_ms - (until_ms - run->began_ms));
    }
}
