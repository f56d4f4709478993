/*  migrate.c -- migration of running jobs to where the rest of their run does better.
 *
 *  Jobs are judged in passes over those that can be migrated. Passes are seconds apart, and each is done in portions.
 *  A job is judged
 *
 *      when an hour begins, when a site or a series has changed    at all targets of its class
 *      when it has stayed long enough                              likewise
 *      when capacity changed                                       at the targets where only that kept it from going
 *
 *  and passed over otherwise. The targets of a class are kept while they are valid; a job costs some arithmetic for each
 *  target.
 *
 *  A migration takes only capacity that no waiting class could use: it is decided after the classes were asked, where
 *  there is no reservation, no preemption under way and no promise for a later hour, and where no class waits for such
 *  GPUs. Nothing is preempted for a migration. */
#include "broker/core/migrate/migrate.h"

#include <stdlib.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/placement.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/migrate/records.h"
#include "broker/core/migrate/targets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"

enum {
    PASS_MS = 10000,   /* from the start of a pass to the next */
    JUDGED_MAX = 64,   /* at all targets, in one round; the pass continues soon after */
    PASSED_MAX = 4096, /* likewise, of those that are passed over */
    JUDGED_AGAIN_MS = 100,
    BEGUN_MAX = 8, /* migrations begun in one round: their effects are seen before the next ones begin */
    HELD_MAX = 256 /* under way at once */
};

struct migration_pass {
    uint64_t facts, capacity; /* versions at the start of the last pass */
    int64_t hour_ms;
    int64_t next_ms;       /* monotonic: no pass begins before */
    int64_t next_check_ms; /* wall clock: when a round is wanted */
    bool blocked;          /* some job would have migrated, but for something temporary */
};

migration_pass_t *core_migration_pass_new(void)
{
    migration_pass_t *self = helio_new(1, sizeof *self);
    self->next_check_ms = INT64_MAX;
    return self;
}

void core_migration_pass_destroy(migration_pass_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

int64_t core_migrations_next_check_ms(const helio_broker_core_t *self)
{
    return self->migration_pass->next_check_ms;
}

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

typedef struct best_target {
    const target_t *target; /* NULL = none */
    helio_migration_t migration;
} best_target_t;

/*  Of many that are worthwhile, those that save most are remembered. */
static void want(migrant_t *migrant, const targets_t *targets, const target_t *target, int64_t saves_micro_usd)
{
    wanted_target_t *place = NULL;
    if (migrant->want_count < MIGRATION_WANTS_MAX) {
        place = &migrant->wants[migrant->want_count++];
    } else {
        for (uint32_t i = 0; i < migrant->want_count; i++)
            if (!place || migrant->wants[i].saves_micro_usd < place->saves_micro_usd)
                place = &migrant->wants[i];
        if (place->saves_micro_usd >= saves_micro_usd)
            return;
    }
    *place =
        (wanted_target_t){target->pool, (uint32_t)(target - targets->items), target->gpus_per_node, saves_micro_usd};
}

/*  Whether the target is worth it, and more than the best so far. */
static bool is_better(const weighing_t *weighing, const target_t *target, const best_target_t *best,
                      helio_migration_t *ret_migration)
{
    *ret_migration = core_migration_target_weigh(weighing, target);
    return helio_migration_is_worthwhile(ret_migration) &&
           (!best->target || ret_migration->saves_micro_usd > best->migration.saves_micro_usd);
}

static best_target_t best_of_all(helio_broker_core_t *self, migrant_t *migrant, const targets_t *targets)
{
    best_target_t best = {.target = NULL};
    const weighing_t weighing = core_migration_weighing(self, migrant->job);
    const target_t *here = core_migration_target_at(targets, migrant->job->pool);
    helio_migration_t migration;
    helio_details_t details;
    self->figures.migrants_judged_total++;
    migrant->want_count = 0;
    migrant->gain = 0;
    for (uint32_t i = 0; i < targets->count; i++) {
        const target_t *target = &targets->items[i];
        if (!core_migration_target_is_suitable(self, migrant->job, here, target) ||
            !is_better(&weighing, target, &best, &migration))
            continue;
        int64_t gain = migration.saves_micro_usd / (int64_t)(target->of.gpus ? target->of.gpus : 1);
        migrant->gain = gain > migrant->gain ? gain : migrant->gain;
        if (core_migration_target_rejection(self, migrant->job, target, &details) == HELIO_REJECTION_NONE)
            best = (best_target_t){target, migration};
        else
            want(migrant, targets, target, migration.saves_micro_usd);
    }
    return best;
}

/*  Of the targets that could not take it when all were judged. Room comes first: it costs least to see that there is
 *  none. */
static best_target_t best_of_wanted(helio_broker_core_t *self, const migrant_t *migrant, const targets_t *targets)
{
    best_target_t best = {.target = NULL};
    const helio_requirement_t *wants = &migrant->job->submission->class->want;
    helio_migration_t migration;
    helio_details_t details;
    for (uint32_t i = 0; i < migrant->want_count; i++) {
        const wanted_target_t *wanted = &migrant->wants[i];
        const target_t *target = wanted->index < targets->count ? &targets->items[wanted->index] : NULL;
        if (!target || target->pool != wanted->pool ||
            !core_room_fits(wanted->pool, &wanted->pool->free, wants->nodes, target->gpus_per_node, wants->cpus,
                            wants->memory_bytes) ||
            core_migration_target_rejection(self, migrant->job, target, &details) != HELIO_REJECTION_NONE)
            continue;
        const weighing_t weighing = core_migration_weighing(self, migrant->job); /* few come this far */
        if (is_better(&weighing, target, &best, &migration))
            best = (best_target_t){target, migration};
    }
    return best;
}

/*  Whether no node of the wanted targets has the GPUs that it would take there: most passes find that, for most jobs,
 *  and this looks at nothing but the pools. */
static bool no_room_at_wanted(const migrant_t *migrant)
{
    for (uint32_t i = 0; i < migrant->want_count; i++) {
        const wanted_target_t *wanted = &migrant->wants[i];
        uint32_t gpus = wanted->gpus_per_node;
        while (gpus && gpus <= wanted->pool->info.gpus_per_node && !wanted->pool->free.by_gpus[gpus])
            gpus++;
        if (gpus <= wanted->pool->info.gpus_per_node)
            return false;
    }
    return true;
}

typedef enum judgement { MIGRANT_PASSED_OVER, MIGRANT_STAYS, MIGRANT_LEAVES } judgement_t;

static bool is_judged(const helio_broker_core_t *self, const migrant_t *migrant)
{
    return migrant->facts == self->facts_version && migrant->pools == self->pools_version &&
           migrant->hour_ms == helio_hour_of(self->wall_ms) && !migrant->due_ms;
}

/*  Tells the job to stop if a target is worth it and has capacity, the best one. */
static judgement_t judge(helio_broker_core_t *self, migrant_t *migrant)
{
    job_t *job = migrant->job;
    bool judged = is_judged(self, migrant);
    if (judged && !migrant->want_count && !migrant->saves_ms)
        return MIGRANT_PASSED_OVER;
    if (job->state != HELIO_JOB_RUNNING || !job->pool || job->migrations >= HELIO_MIGRATION_TIMES_MAX)
        return MIGRANT_PASSED_OVER;
    if (migrant->saves_ms > self->wall_ms) {
        core_migrations_note_due(self, migrant, migrant->saves_ms);
        return MIGRANT_PASSED_OVER;
    }
    migrant->saves_ms = 0;
    if (judged && !migrant->want_count)
        return MIGRANT_PASSED_OVER;
    if (judged && no_room_at_wanted(migrant)) {
        self->migration_pass->blocked = true;
        return MIGRANT_PASSED_OVER;
    }
    uint64_t stays_ms = judged ? 0 : core_migrations_residence_ms(self, job);
    if (stays_ms) {
        core_migrations_note_due(self, migrant, self->wall_ms + (int64_t)stays_ms);
        return MIGRANT_PASSED_OVER;
    }
    const targets_t *targets = core_migration_targets(self, job->submission->class);
    best_target_t best = judged ? best_of_wanted(self, migrant, targets) : best_of_all(self, migrant, targets);
    if (!judged) {
        migrant->facts = self->facts_version;
        migrant->pools = self->pools_version;
        migrant->hour_ms = helio_hour_of(self->wall_ms);
        migrant->due_ms = 0;
    }
    if (best.target && best.migration.saved_in_ms) { /* it leaves with its next checkpoint, if it is still worth it */
        migrant->saves_ms = self->wall_ms + (int64_t)best.migration.saved_in_ms;
        core_migrations_note_due(self, migrant, migrant->saves_ms);
        return judged ? MIGRANT_PASSED_OVER : MIGRANT_STAYS;
    }
    if (best.target) {
        migrant->facts = 0;
        begin(self, migrant, targets, best.target, &best.migration);
        return MIGRANT_LEAVES;
    }
    self->migration_pass->blocked = self->migration_pass->blocked || migrant->want_count;
    return judged ? MIGRANT_PASSED_OVER : MIGRANT_STAYS;
}

static bool is_due(const helio_broker_core_t *self)
{
    const migration_pass_t *last = self->migration_pass;
    return last->facts != self->facts_version || last->hour_ms != helio_hour_of(self->wall_ms) ||
           (last->blocked && last->capacity != self->capacity_version) || self->wall_ms >= core_migrations_due_ms(self);
}

static void begin_pass(helio_broker_core_t *self)
{
    migration_pass_t *pass = self->migration_pass;
    core_migrations_begin_pass(self);
    pass->facts = self->facts_version;
    pass->capacity = self->capacity_version;
    pass->hour_ms = helio_hour_of(self->wall_ms);
    pass->next_ms = self->now_ms + PASS_MS;
    pass->blocked = false;
}

/*  When something is due next; a change of a site makes a round due by itself. */
static int64_t next_check_ms(const helio_broker_core_t *self)
{
    const migration_pass_t *pass = self->migration_pass;
    if (core_migrations_pass_is_open(self))
        return self->wall_ms + JUDGED_AGAIN_MS;
    if (is_due(self))
        return self->wall_ms + (pass->next_ms > self->now_ms ? pass->next_ms - self->now_ms : 0);
    int64_t at_ms = pass->hour_ms + HELIO_HOUR_MS, due_ms = core_migrations_due_ms(self);
    at_ms = due_ms < at_ms ? due_ms : at_ms;
    const migrant_t *migrant;
    for (migrant = core_migrations_first_held(self); migrant; migrant = migrant->held_next)
        at_ms = migrant->gone_ms + MIGRATION_OVERDUE_MS < at_ms ? migrant->gone_ms + MIGRATION_OVERDUE_MS : at_ms;
    return at_ms;
}

void core_migrations_judge(helio_broker_core_t *self)
{
    migration_pass_t *pass = self->migration_pass;
    uint32_t judged = 0, begun = 0, passed = 0;
    pass->next_check_ms = INT64_MAX;
    if (!core_migrations_any(self))
        return;
    if (core_missed_until_ms(self))
        return; /* a site that is about to come back may be the best target */
    int64_t reconciling_ms = core_preempt_reconciling_ms(self);
    if (reconciling_ms) { /* it cannot be told apart from what the last leader began */
        pass->next_check_ms = self->wall_ms + reconciling_ms;
        return;
    }
    if (!core_migrations_pass_is_open(self) && is_due(self) && self->now_ms >= pass->next_ms)
        begin_pass(self);
    while (core_migrations_pass_is_open(self) && judged < JUDGED_MAX && passed < PASSED_MAX && begun < BEGUN_MAX &&
           core_migrations_held_count(self) < HELD_MAX) {
        judgement_t judgement = judge(self, core_migrations_next(self));
        passed += judgement == MIGRANT_PASSED_OVER;
        judged += judgement != MIGRANT_PASSED_OVER;
        begun += judgement == MIGRANT_LEAVES;
    }
    pass->next_check_ms = next_check_ms(self);
}

/* ---- placing a job that has left --------------------------------------------------------------------------- */

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
        return; /* it is placed like any other job */
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
    for (migrant_t *migrant = core_migrations_first_held(self), *next; migrant; migrant = next) {
        next = migrant->held_next;
        if (migrant->job->state != HELIO_JOB_QUEUED || !migrant->job->fed || core_site_is_away(self, migrant->to))
            continue;
        place(self, migrant);
        placed++;
    }
    return placed;
}
