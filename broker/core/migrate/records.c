/*  records.c -- what is stored and explained of migrations: the transition's reason, the decision with its candidates,
 *  and why a running job does not migrate. */
#include "broker/core/migrate/records.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/infeasible.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/migrate/targets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/why.h"

/*  The site alone, if that distinguishes the two. */
static const char *place_text(helio_broker_core_t *self, const job_t *job, const site_t *site, const pool_t *pool)
{
    if (site != job->site)
        return site->name;
    return core_printf(self, "%s/%.*s", site->name, HELIO_TEXT_ARGS(pool->info.name));
}

static helio_detail_t gain(helio_broker_core_t *self, const helio_migration_t *migration)
{
    int64_t money = migration->saves_money_micro_usd, mg = migration->saves_mg;
    bool cheaper = money >= 5000, cleaner = mg >= 500, dearer = money <= -5000, dirtier = mg <= -500;
    if (cheaper && cleaner)
        return CORE_DETAIL(self, HELIO_DETAIL_MIGRATION_SAVES, helio_value_number(money), helio_value_number(mg));
    if (cheaper)
        return CORE_DETAIL(self, HELIO_DETAIL_MIGRATION_SAVES_USD, helio_value_number(money),
                           helio_value_number(dirtier ? -mg : 0));
    if (cleaner)
        return CORE_DETAIL(self, HELIO_DETAIL_MIGRATION_SAVES_CARBON, helio_value_number(mg),
                           helio_value_number(dearer ? -money : 0));
    return HELIO_DETAIL0(HELIO_DETAIL_MIGRATION_SAVES_RISK);
}

helio_details_t core_migration_why(helio_broker_core_t *self, const job_t *job, const target_t *to,
                                   const helio_migration_t *migration)
{
    const char *from = to->site == job->site ? place_text(self, job, job->site, job->pool) : job->site->name;
    helio_details_t why = CORE_WHY(self, HELIO_DETAIL_MIGRATED, helio_value_string(from),
                                   helio_value_string(place_text(self, job, to->site, to->pool)));
    core_why_add(self, &why, gain(self, migration));
    return why;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef struct weighed_target {
    const target_t *target;
    helio_plan_t plan;
    uint64_t run_ms, run_high_ms;
    int64_t start_ms;
    helio_rejection_t rejection;
    helio_details_t details;
} weighed_target_t;

static weighed_target_t weighed_of(helio_broker_core_t *self, const job_t *job, const weighing_t *weighing,
                                   const target_t *target, const target_t *to)
{
    weighed_target_t weighed = {.target = target, .rejection = target->rejection, .start_ms = self->wall_ms};
    if (helio_rejection_group(target->rejection) == HELIO_REASON_NEVER_FITS) {
        const helio_requirement_t *want = &job->submission->class->want;
        weighed.details =
            core_why(self, core_infeasible_detail(self, want, target->site, &target->pool->info, target->rejection));
        return weighed;
    }
    helio_migration_t migration = core_migration_target_weigh(weighing, target);
    bool stays = target->pool == job->pool;
    weighed.plan = stays ? migration.here : migration.there;
    weighed.run_ms = stays ? migration.rest_ms : migration.run_ms;
    weighed.run_high_ms = stays ? migration.rest_ms : migration.run_high_ms;
    weighed.start_ms = stays ? self->wall_ms : migration.begin_ms;
    if (stays) {
        weighed.details = CORE_WHY0(self, HELIO_DETAIL_RAN_HERE);
    } else if (target != to && weighed.rejection == HELIO_REJECTION_NONE) {
        weighed.rejection = migration.rejection;
        if (weighed.rejection == HELIO_REJECTION_NONE)
            weighed.rejection = core_migration_target_rejection(self, job, target, &weighed.details);
    }
    return weighed;
}

static int by_score(const void *a_, const void *b_)
{
    const weighed_target_t *a = a_, *b = b_;
    bool never_a = !a->plan.start_ms, never_b = !b->plan.start_ms;
    if (never_a != never_b)
        return never_a ? 1 : -1;
    if (a->plan.score_micro_usd != b->plan.score_micro_usd)
        return a->plan.score_micro_usd < b->plan.score_micro_usd ? -1 : 1;
    int order = strcmp(a->target->site->name, b->target->site->name);
    return order ? order : (a->target->pool > b->target->pool) - (a->target->pool < b->target->pool);
}

static void write_candidate(helio_broker_core_t *self, const weighed_target_t *weighed, uint32_t rank)
{
    const target_t *target = weighed->target;
    const helio_plan_t *plan = &weighed->plan;
    helio_row_candidate_t row = {
        .decision_id = self->decision_id,
        .rank = rank,
        .site = helio_text_of(target->site->name),
        .pool = target->pool->info.name,
        .start_ms = weighed->start_ms,
        .score_micro_usd = plan->score_micro_usd,
        .cost_micro_usd = plan->cost_micro_usd,
        .energy_j = plan->energy_j,
        .carbon_mg = plan->carbon_mg,
        .rejected_reason = helio_text_of(helio_rejection_name(weighed->rejection)),
        .details = weighed->details,
        .carbon_micro_usd = plan->terms[HELIO_TERM_CARBON],
        .risk_micro_usd = plan->terms[HELIO_TERM_RISK],
        .disruption_micro_usd = plan->terms[HELIO_TERM_DISRUPTION],
        .run_ms = weighed->run_ms,
        .run_high_ms = weighed->run_high_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_CANDIDATE, &row);
}

uint64_t core_migration_write(helio_broker_core_t *self, const job_t *job, const targets_t *targets, const target_t *to,
                              const helio_details_t *why)
{
    weighed_target_t *weighed_targets =
        helio_arena_alloc(self->effects->arena, targets->count, sizeof *weighed_targets);
    const weighing_t weighing = core_migration_weighing(self, job);
    for (uint32_t i = 0; i < targets->count; i++)
        weighed_targets[i] = weighed_of(self, job, &weighing, &targets->items[i], to);
    qsort(weighed_targets, targets->count, sizeof *weighed_targets, by_score);
    helio_row_decision_t row = {
        .decision_id = ++self->decision_id,
        .at_ms = self->wall_ms,
        .class_id = job->submission->class->id,
        .policy_version = HELIO_TEXT(HELIO_POLICY_VERSION),
        .details = *why,
        .chosen_site = helio_text_of(to->site->name),
        .chosen_pool = to->pool->info.name,
        .forecast_ms = to->of.pool_forecast->carbon_from.issued_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_DECISION, &row);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < targets->count; i++)
        if (weighed_targets[i].target == to)
            write_candidate(self, &weighed_targets[i], rank++);
    for (uint32_t i = 0; i < targets->count; i++)
        if (weighed_targets[i].target != to)
            write_candidate(self, &weighed_targets[i], rank++);
    return row.decision_id;
}

/* ---- why it stays -------------------------------------------------------------------------------------- */

static helio_detail_t saves(helio_broker_core_t *self, const target_t *target, const helio_migration_t *migration)
{
    int64_t share = helio_migration_saves_per_mille(migration);
    const helio_value_t site = helio_value_string(target->site->name), pool = helio_value_text(target->pool->info.name);
    if (!share)
        return CORE_DETAIL(self, HELIO_DETAIL_BETTER_BY_MONEY, site, pool,
                           helio_value_number(migration->saves_micro_usd));
    return CORE_DETAIL(self, HELIO_DETAIL_BETTER_BY_SHARE, site, pool, helio_value_number((share + 5) / 10));
}

static helio_detail_t saves_too_little(helio_broker_core_t *self, const job_t *job, const helio_migration_t *migration)
{
    uint32_t needs = helio_migration_needs_per_mille(job->migrations);
    if (helio_migration_saves_per_mille(migration) >= needs)
        return CORE_DETAIL(self, HELIO_DETAIL_MIGRATION_NEEDS_MONEY, helio_value_number(migration->saves_micro_usd),
                           helio_value_number(HELIO_MIGRATION_SAVES_LEAST_MICRO_USD));
    return CORE_DETAIL(self, HELIO_DETAIL_MIGRATION_NEEDS_SHARE, helio_value_number(needs / 10));
}

static helio_details_t why_not(helio_broker_core_t *self, const job_t *job, const target_t *target,
                               const helio_migration_t *migration)
{
    uint64_t stays_ms = core_migrations_residence_ms(self, job);
    if (migration->rejection != HELIO_REJECTION_NONE)
        return CORE_WHY(self, HELIO_DETAIL_MIGRATION_OUT_OF_BOUNDS,
                        helio_value_string(helio_rejection_name(migration->rejection)));
    if (!helio_migration_is_worthwhile(migration))
        return core_why(self, saves_too_little(self, job, migration));
    if (stays_ms)
        return CORE_WHY(self, job->migrations ? HELIO_DETAIL_STAYS_JUST_MIGRATED : HELIO_DETAIL_STAYS_JUST_BEGUN,
                        helio_value_number(self->wall_ms + (int64_t)stays_ms));
    helio_details_t details;
    helio_rejection_t against = core_migration_target_rejection(self, job, target, &details);
    if (against == HELIO_REJECTION_NONE && migration->saved_in_ms)
        return CORE_WHY(self, HELIO_DETAIL_MIGRATION_WHEN_SAVED,
                        helio_value_number(self->wall_ms + (int64_t)migration->saved_in_ms));
    if (against == HELIO_REJECTION_NONE)
        return CORE_WHY0(self, HELIO_DETAIL_MIGRATION_DUE);
    helio_details_t why =
        CORE_WHY(self, HELIO_DETAIL_MIGRATION_REJECTED, helio_value_string(helio_rejection_name(against)));
    core_why_join(self, &why, &details);
    return why;
}

/*  Of the suitable targets, whatever is free there. */
static const target_t *best_of(helio_broker_core_t *self, const job_t *job, const targets_t *targets,
                               helio_migration_t *ret_move)
{
    const weighing_t weighing = core_migration_weighing(self, job);
    const target_t *best = NULL, *here = core_migration_target_at(targets, job->pool);
    for (uint32_t i = 0; i < targets->count; i++) {
        if (!core_migration_target_is_suitable(self, job, here, &targets->items[i]))
            continue;
        helio_migration_t migration = core_migration_target_weigh(&weighing, &targets->items[i]);
        if (best && migration.saves_micro_usd <= ret_move->saves_micro_usd)
            continue;
        best = &targets->items[i];
        *ret_move = migration;
    }
    return best;
}

helio_details_t core_migration_explain(helio_broker_core_t *self, const job_t *job)
{
    const submission_t *submission = job->submission;
    helio_migration_t migration = {.saves_micro_usd = 0};
    if (!submission->better_site || job->state != HELIO_JOB_RUNNING || !job->pool)
        return (helio_details_t){0};
    if (!job->migrant)
        return CORE_WHY0(self, HELIO_DETAIL_STAYS_NO_CHECKPOINT);
    if (job->migrations >= HELIO_MIGRATION_TIMES_MAX)
        return CORE_WHY(self, HELIO_DETAIL_STAYS_MIGRATIONS, helio_value_number(job->migrations));
    const target_t *best = best_of(self, job, core_migration_targets(self, submission->class), &migration);
    if (!best)
        return CORE_WHY0(self, HELIO_DETAIL_STAYS_NO_TARGET);
    if (migration.saves_micro_usd <= 0)
        return CORE_WHY0(self, HELIO_DETAIL_STAYS_NONE_BETTER);
    helio_details_t why = core_why(self, saves(self, best, &migration));
    const helio_details_t against = why_not(self, job, best, &migration);
    core_why_join(self, &why, &against);
    return why;
}
