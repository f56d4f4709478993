/*  migrate.c -- running jobs that are moved to where the rest of their run does better.
 *
 *  Looked at in passes over those who may be moved: when an hour begins, when a site or a series changed,
 * when one has stayed long enough, and when room changed and one of them had none; no pass within seconds of
 * the last, and each in pieces. What a class could be moved to is kept while it stands; a job costs some
 * arithmetic for each such pool.
 *
 *  Only room that nobody who waits could take is taken: after the turns, where nobody has a reservation, an
 * preemption under way, a promise for an hour to come, and nobody waits for such GPUs. Nobody is preempted for a
 * move.
 */
#include "broker/core/migrate/migrate.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/placement.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/migrate/records.h"
#include "broker/core/migrate/targets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"

enum {
    PASS_MS = 10000, /* from the begin of a pass to the next */
    JUDGED_MAX = 64, /* in one round; the pass goes on soon after */
    JUDGED_AGAIN_MS = 100,
    BEGUN_MAX = 8,     /* moves of one round: what the others see of it is looked at first */
    HELD_MAX = 256     /* under way at once */
};

/* ---- a pass -------------------------------------------------------------------------------------------- */

static void begin(helio_broker_core_t *self, migrant_t *migrant, const targets_t *targets, const target_t *target,
                  const helio_migration_t *migration)
{
    job_t *job = migrant->job;
    const helio_details_t why = core_migration_why(self, job, target, migration);
    (void)helio_text_copy(helio_text_of(core_job_site(job)), migrant->from, sizeof migrant->from);
    migrant->migration = *migration;
    migrant->transfer = target->of.transfer;
    migrant->decision_id = core_migration_write(self, job, targets, target, &why);
    core_migrations_hold(self, migrant, target->site, target->pool, target->gpus_per_node);
    job->migrating = migrant->notified = true;
    migrant->notified_ms = self->now_ms;
    job->migrations++;
    migrant->gone_ms = core_preempt_job(self, job, HELIO_PREEMPT_CAUSE_MIGRATION, NULL, &why);
}

/*  The best of those that are worth it and have room. True: it was told to leave. */
static bool judge(helio_broker_core_t *self, migrant_t *migrant)
{
    job_t *job = migrant->job;
    if (job->state != HELIO_JOB_RUNNING || !job->pool || job->migrations >= HELIO_MIGRATION_TIMES_MAX)
        return false;
    uint64_t stays_ms = core_migrations_residence_ms(self, job);
    if (stays_ms) {
        core_migrations_note_due(self, self->wall_ms + (int64_t)stays_ms);
        return false;
    }
    const targets_t *targets = core_migration_targets(self, job->submission->class);
    const target_t *best = NULL;
    helio_migration_t best_migration = {.saves_micro_usd = 0};
    for (uint32_t i = 0; i < targets->count; i++) {
        const target_t *target = &targets->items[i];
        helio_details_t details;
        if (!core_migration_target_is_suitable(targets, job, target))
            continue;
        helio_migration_t migration = core_migration_target_weigh(self, job, target);
        if (!helio_migration_is_worthwhile(&migration) ||
            (best && migration.saves_micro_usd <= best_migration.saves_micro_usd))
            continue;
        if (core_migration_target_rejection(self, job, target, &details) != HELIO_REJECTION_NONE) {
            self->migrations->blocked = true;
            continue;
        }
        best = target;
        best_migration = migration;
    }
    if (best)
        begin(self, migrant, targets, best, &best_migration);
    return best != NULL;
}

static bool is_due(const helio_broker_core_t *self)
{
    const migrations_t *migrations = self->migrations;
    return migrations->facts != self->facts_version || migrations->hour_ms != helio_hour_of(self->wall_ms) ||
           (migrations->blocked && migrations->capacity != self->capacity_version) ||
           self->wall_ms >= migrations->due_ms;
}

static void begin_pass(helio_broker_core_t *self)
{
    migrations_t *migrations = self->migrations;
    migrations->at = migrations->migrants;
    migrations->facts = self->facts_version;
    migrations->capacity = self->capacity_version;
    migrations->hour_ms = helio_hour_of(self->wall_ms);
    migrations->next_ms = self->now_ms + PASS_MS;
    migrations->due_ms = INT64_MAX;
    migrations->blocked = false;
}

/*  When there is next something to do; a change of a site wants a round by itself. */
static int64_t next_check_ms(const helio_broker_core_t *self)
{
    const migrations_t *migrations = self->migrations;
    if (migrations->at)
        return self->wall_ms + JUDGED_AGAIN_MS;
    if (is_due(self))
        return self->wall_ms + (migrations->next_ms > self->now_ms ? migrations->next_ms - self->now_ms : 0);
    int64_t at_ms = migrations->hour_ms + HELIO_HOUR_MS;
    at_ms = migrations->due_ms < at_ms ? migrations->due_ms : at_ms;
    const migrant_t *migrant;
    DL_FOREACH2(migrations->held, migrant, held_next)
    {
        at_ms = migrant->gone_ms + MIGRATION_OVERDUE_MS < at_ms ? migrant->gone_ms + MIGRATION_OVERDUE_MS : at_ms;
    }
    return at_ms;
}

void core_migrations_judge(helio_broker_core_t *self)
{
    migrations_t *migrations = self->migrations;
    uint32_t judged = 0, begun = 0;
    migrations->next_check_ms = INT64_MAX;
    if (!migrations->migrants)
        return;
    int64_t reconciling_ms = core_preempt_reconciling_ms(self);
    if (reconciling_ms) { /* it cannot be told apart from what the last leader began */
        migrations->next_check_ms = self->wall_ms + reconciling_ms;
        return;
    }
    if (!migrations->at && is_due(self) && self->now_ms >= migrations->next_ms)
        begin_pass(self);
    while (migrations->at && judged < JUDGED_MAX && begun < BEGUN_MAX && migrations->held_count < HELD_MAX) {
        migrant_t *migrant = migrations->at;
        migrations->at = migrant->next;
        begun += judge(self, migrant);
        judged++;
    }
    migrations->next_check_ms = next_check_ms(self);
}

/* ---- it has left --------------------------------------------------------------------------------------- */

static void place(helio_broker_core_t *self, migrant_t *migrant)
{
    job_t *job = migrant->job;
    job_class_t *class = job->submission->class;
    const helio_migration_t *migration = &migrant->migration;
    target_t target = {.site = migrant->to, .pool = migrant->to_pool, .gpus_per_node = migrant->gpus_per_node};
    helio_details_t details;
    core_migrations_unhold(self, job);
    int64_t end_ms = self->wall_ms + (int64_t)(migrant->transfer.ms + migration->run_high_ms);
    bool late = class->want.deadline_wall_ms && end_ms > class->want.deadline_wall_ms;
    helio_candidate_t now = helio_choice_filter(&class->want, &target.site->profile, &target.pool->info);
    if (late || now.rejection != HELIO_REJECTION_NONE || now.gpus_per_node != target.gpus_per_node ||
        core_migration_target_rejection(self, job, &target, &details) != HELIO_REJECTION_NONE)
        return; /* the usual way */
    option_t option = {
        .site = target.site,
        .pool = target.pool,
        .c = {.gpus_per_node = target.gpus_per_node,
              .run_ms = migration->run_ms,
              .run_high_ms = migration->run_high_ms,
              .now = migration->run,
              .transfer = migrant->transfer},
    };
    evaluation_t e = {.class = class, .decision_id = migrant->decision_id, .migrated_from = migrant->from};
    core_place(self, &e, job, &option);
}

uint32_t core_migrations_place(helio_broker_core_t *self)
{
    uint32_t placed = 0;
    migrant_t *migrant, *next;
    DL_FOREACH_SAFE2(self->migrations->held, migrant, next, held_next)
    {
        if (migrant->job->state != HELIO_JOB_QUEUED || !migrant->job->fed)
            continue;
        place(self, migrant);
        placed++;
    }
    return placed;
}
