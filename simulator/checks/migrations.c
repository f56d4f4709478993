/*  migrations.c -- the promises on migration: only a job that asked for it and declares how it checkpoints migrates, a
 *  bounded number of times, and not again within an hour. The check reads the rows that a leader writes. running.c and
 *  whole_run.c check for every job that it runs at one place at a time, that no GPU is held twice, and that it ends. */
#include <stdlib.h>

#include "federation/policy/migration.h"
#include "simulator/checks/internal.h"

enum { RESIDENCE_MS = HELIO_MIGRATION_RESIDENCE_MS - HELIO_MIGRATION_RESIDENCE_MS / 50 }; /* clocks drift by less */

/*  A job that was stopped to migrate. */
struct checks_migration {
    helio_job_key_t key;
    uint64_t life; /* of the leader that stopped it last */
    int64_t at_ms; /* by that leader's clock */
    UT_hash_handle hh;
};

static checks_migration_t *migrated_of(sim_checks_t *self, helio_job_key_t key)
{
    checks_migration_t *migrated;
    HASH_FIND(hh, self->migrations, &key, sizeof key, migrated);
    if (!migrated) {
        migrated = helio_new(1, sizeof *migrated);
        migrated->key = key;
        HASH_ADD(hh, self->migrations, key, sizeof migrated->key, migrated);
    }
    return migrated;
}

/*  The job was placed at its migration target. */
static bool has_arrived(const helio_row_transition_t *row)
{
    enum { FROM_SITE = 1 }; /* the index of this parameter */
    const helio_detail_t *placed = helio_details_find(&row->why, HELIO_DETAIL_PLACED_AT);
    return row->to == HELIO_JOB_OFFERED && placed && helio_detail_value(placed, FROM_SITE).text.size;
}

void checks_migration_transition(sim_checks_t *self, const helio_row_transition_t *row)
{
    self->seen.arrivals += has_arrived(row);
    bool returns = row->from == HELIO_JOB_SUSPECT; /* with its site, still for the migration that is known */
    if (row->to != HELIO_JOB_STOPPING || returns || !helio_details_find(&row->why, HELIO_DETAIL_MIGRATED))
        return;
    const sim_job_t *job = sim_workload_given(self->workload, row->key.job);
    if (!job)
        return;
    const helio_job_spec_t *spec = &job->submission.spec;
    if (spec->on_better_site != HELIO_BETTER_SITE_CHECKPOINT ||
        (!spec->checkpoint_signal.size && !spec->checkpoint_every_ms))
        sim_violate(self->engine, "a job migrated that did not ask for it, or does not declare how it checkpoints");
    checks_migration_t *migrated = migrated_of(self, row->key);
    int64_t now_ms = sim_broker_boot_ms(checks_leader(self));
    if (migrated->at_ms && migrated->life == sim_broker_epoch(checks_leader(self)) &&
        now_ms - migrated->at_ms < RESIDENCE_MS)
        sim_violate(self->engine, "a job migrated again after %lld ms", (long long)(now_ms - migrated->at_ms));
    migrated->life = sim_broker_epoch(checks_leader(self));
    migrated->at_ms = now_ms;
    self->seen.migrations++;
}

void checks_migration_state(sim_checks_t *self, const helio_row_state_t *row)
{
    if (row->migrations > HELIO_MIGRATION_TIMES_MAX)
        sim_violate(self->engine, "a job migrated %u times", row->migrations);
}

void checks_migrations_free(sim_checks_t *self)
{
    checks_migration_t *migrated, *next;
    HASH_ITER(hh, self->migrations, migrated, next)
    {
        HASH_DEL(self->migrations, migrated);
        free(migrated);
    }
}
