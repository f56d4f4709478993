/*  migrations.c -- the promises on jobs that leave for a better site: only a job that asked for it and tells how it saves, a
 *  bounded number of times, and not again within an hour. Watched on the rows that a leader writes. That a job runs at
 *  one place at a time, that no GPU is held twice and that each job ends, running.c and rest.c check of every job. */
#include <stdlib.h>

#include "federation/policy/migration.h"
#include "simulator/checks/internal.h"

enum { RESIDENCE_MS = HELIO_MIGRATION_RESIDENCE_MS - HELIO_MIGRATION_RESIDENCE_MS / 50 }; /* clocks drift by less */

/*  A job that was told to leave for a better site. */
struct checks_move {
    helio_job_key_t key;
    uint64_t life; /* of the leader that told it last */
    int64_t at_ms; /* by that one's clock */
    UT_hash_handle hh;
};

static checks_move_t *migrated_of(sim_checks_t *self, helio_job_key_t key)
{
    checks_move_t *migrated;
    HASH_FIND(hh, self->migrations, &key, sizeof key, migrated);
    if (!migrated) {
        migrated = helio_new(1, sizeof *migrated);
        migrated->key = key;
        HASH_ADD(hh, self->migrations, key, sizeof migrated->key, migrated);
    }
    return migrated;
}

/*  It was placed where it was told to go. */
static bool has_arrived(const helio_row_transition_t *row)
{
    enum { FROM_SITE = 1 }; /* its place among the parameters */
    const helio_detail_t *placed = helio_details_find(&row->why, HELIO_DETAIL_PLACED_AT);
    return row->to == HELIO_JOB_OFFERED && placed && helio_detail_value(placed, FROM_SITE).text.size;
}

void checks_move_transition(sim_checks_t *self, const helio_row_transition_t *row)
{
    self->sights.arrivals += has_arrived(row);
    if (row->to != HELIO_JOB_STOPPING || !helio_details_find(&row->why, HELIO_DETAIL_MIGRATED))
        return;
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    const helio_job_spec_t *spec = &job->submission.spec;
    if (spec->on_better_site != HELIO_BETTER_SITE_CHECKPOINT ||
        (!spec->checkpoint_signal.size && !spec->checkpoint_every_ms))
        sim_violate(self->engine, "a job was moved that did not ask, or does not tell how it saves");
    checks_move_t *migrated = migrated_of(self, row->key);
    int64_t now_ms = sim_broker_boot_ms(self->broker);
    if (migrated->at_ms && migrated->life == sim_broker_life(self->broker) && now_ms - migrated->at_ms < RESIDENCE_MS)
        sim_violate(self->engine, "a job was moved again after %lld ms", (long long)(now_ms - migrated->at_ms));
    migrated->life = sim_broker_life(self->broker);
    migrated->at_ms = now_ms;
    self->sights.migrations++;
}

void checks_move_state(sim_checks_t *self, const helio_row_state_t *row)
{
    if (row->migrations > HELIO_MIGRATION_TIMES_MAX)
        sim_violate(self->engine, "a job was moved %u times", row->migrations);
}

void checks_moves_free(sim_checks_t *self)
{
    checks_move_t *migrated, *next;
    HASH_ITER(hh, self->migrations, migrated, next)
    {
        HASH_DEL(self->migrations, migrated);
        free(migrated);
    }
}
