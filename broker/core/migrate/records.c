/*  records.c -- what is written and said of moves: the transition's reason, the decision with its candidates,
 * and why one that runs is not moved.
 */
#include "broker/core/migrate/records.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/infeasible.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/migrate/targets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/text.h"

/*  "1.2 kg", "340 g" */
static const char *weight_text(helio_broker_core_t *self, int64_t mg)
{
    double grams = (double)(mg < 0 ? -mg : mg) / 1000;
    if (grams < 999.5)
        return core_printf(self, "%.0f g", grams);
    return core_printf(self, grams < 99950 ? "%.1f kg" : "%.0f kg", grams / 1000);
}

/*  The site alone where that tells the two apart. */
static const char *place_text(helio_broker_core_t *self, const job_t *job, const site_t *site,
                              const pool_t *pool)
{
    if (site != job->site)
        return site->name;
    return core_printf(self, "%s/%.*s", site->name, HELIO_TEXT_ARGS(pool->info.name));
}

static const char *gain_text(helio_broker_core_t *self, const helio_move_t *move)
{
    const char *money = core_money_text(self, move->saves_money_micro_usd < 0 ? -move->saves_money_micro_usd
                                                                              : move->saves_money_micro_usd);
    const char *carbon = core_printf(self, "%s CO2e", weight_text(self, move->saves_mg));
    bool cheaper = move->saves_money_micro_usd >= 5000, cleaner = move->saves_mg >= 500,
         dearer = move->saves_money_micro_usd <= -5000, dirtier = move->saves_mg <= -500;
    if (cheaper && dirtier)
        return core_printf(self, "saves %s of what is left, for %s more", money, carbon);
    if (cleaner && dearer)
        return core_printf(self, "saves %s of what is left, for %s more", carbon, money);
    if (cheaper && cleaner)
        return core_printf(self, "saves %s and %s of what is left", money, carbon);
    return core_printf(self, "saves %s of what is left", cheaper ? money : cleaner ? carbon : "risk");
}

const char *core_moved_text(helio_broker_core_t *self, const job_t *job, const spot_t *to,
                            const helio_move_t *move)
{
    const char *from = to->site == job->site ? place_text(self, job, job->site, job->pool) : job->site->name;
    return core_printf(self, "%s%s to %s: %s", CORE_MOVED_FROM, from, place_text(self, job, to->site, to->pool),
                       gain_text(self, move));
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef struct weighed_line {
    const spot_t *spot;
    helio_plan_t plan;
    uint64_t run_ms, run_high_ms;
    int64_t start_ms;
    helio_rejection_t rejection;
    const char *detail;
} weighed_line_t;

static weighed_line_t line_of(helio_broker_core_t *self, const job_t *job, const spot_t *spot,
                              const spot_t *to)
{
    weighed_line_t line = {
        .spot = spot, .rejection = spot->rejection, .detail = "", .start_ms = self->wall_ms};
    if (helio_rejection_group(spot->rejection) == HELIO_REASON_NEVER_FITS) {
        const helio_requirement_t *want = &job->submission->class->want;
        line.detail = core_misfit_detail(self, want, spot->site, &spot->pool->info, spot->rejection);
        return line;
    }
    helio_move_t move = core_moves_weigh(self, job, spot);
    bool stays = spot->pool == job->pool;
    line.plan = stays ? move.here : move.there;
    line.run_ms = stays ? move.rest_ms : move.run_ms;
    line.run_high_ms = stays ? move.rest_ms : move.run_high_ms;
    line.start_ms = stays ? self->wall_ms : move.begin_ms;
    if (stays) {
        line.detail = "where it ran: what was left of it";
    } else if (spot != to && line.rejection == HELIO_REJECTION_NONE) {
        line.rejection = move.rejection;
        if (line.rejection == HELIO_REJECTION_NONE)
            line.rejection = core_moves_obstacle(self, job, spot, &line.detail);
    }
    return line;
}

static int by_score(const void *a_, const void *b_)
{
    const weighed_line_t *a = a_, *b = b_;
    bool never_a = !a->plan.start_ms, never_b = !b->plan.start_ms;
    if (never_a != never_b)
        return never_a ? 1 : -1;
    if (a->plan.score_micro_usd != b->plan.score_micro_usd)
        return a->plan.score_micro_usd < b->plan.score_micro_usd ? -1 : 1;
    int order = strcmp(a->spot->site->name, b->spot->site->name);
    return order ? order : (a->spot->pool > b->spot->pool) - (a->spot->pool < b->spot->pool);
}

static void write_candidate(helio_broker_core_t *self, const weighed_line_t *line, uint32_t rank)
{
    const spot_t *spot = line->spot;
    const helio_plan_t *plan = &line->plan;
    helio_row_candidate_t row = {
        .decision_id = self->decision_id,
        .rank = rank,
        .site = helio_text_of(spot->site->name),
        .pool = spot->pool->info.name,
        .start_ms = line->start_ms,
        .score_micro_usd = plan->score_micro_usd,
        .cost_micro_usd = plan->cost_micro_usd,
        .energy_j = plan->energy_j,
        .carbon_mg = plan->carbon_mg,
        .rejected_reason = helio_text_of(helio_rejection_word(line->rejection)),
        .detail = core_cut(line->detail, 256),
        .carbon_micro_usd = plan->terms[HELIO_TERM_CARBON],
        .risk_micro_usd = plan->terms[HELIO_TERM_RISK],
        .move_micro_usd = plan->terms[HELIO_TERM_MOVE],
        .run_ms = line->run_ms,
        .run_high_ms = line->run_high_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_CANDIDATE, &row);
}

uint64_t core_moved_write(helio_broker_core_t *self, const job_t *job, const spots_t *spots, const spot_t *to,
                          const char *detail)
{
    weighed_line_t *lines = helio_arena_alloc(self->effects->arena, spots->count, sizeof *lines);
    for (uint32_t i = 0; i < spots->count; i++)
        lines[i] = line_of(self, job, &spots->items[i], to);
    qsort(lines, spots->count, sizeof *lines, by_score);
    helio_row_decision_t row = {
        .decision_id = ++self->decision_id,
        .at_ms = self->wall_ms,
        .class_id = job->submission->class->id,
        .policy_version = HELIO_TEXT(HELIO_POLICY_VERSION),
        .detail = core_cut(detail, 256),
        .chosen_site = helio_text_of(to->site->name),
        .chosen_pool = to->pool->info.name,
        .forecast_ms = to->of.outlook->carbon_from.issued_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_DECISION, &row);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < spots->count; i++)
        if (lines[i].spot == to)
            write_candidate(self, &lines[i], rank++);
    for (uint32_t i = 0; i < spots->count; i++)
        if (lines[i].spot != to)
            write_candidate(self, &lines[i], rank++);
    return row.decision_id;
}

/* ---- why it stays -------------------------------------------------------------------------------------- */

static const char *saves_text(helio_broker_core_t *self, const job_t *job, const spot_t *spot,
                              const helio_move_t *move)
{
    int64_t share = helio_move_saves_per_mille(move);
    const char *place = place_text(self, job, spot->site, spot->pool);
    if (!share)
        return core_printf(self, "%s would save %s", place, core_money_text(self, move->saves_micro_usd));
    return core_printf(self, "%s would save %lld %% of what is left", place, (long long)((share + 5) / 10));
}

static const char *too_little_text(helio_broker_core_t *self, const job_t *job, const helio_move_t *move)
{
    uint32_t needs = helio_move_needs_per_mille(job->moves);
    if (helio_move_saves_per_mille(move) >= needs)
        return core_printf(self, "that is %s, and a move needs %s",
                           core_money_text(self, move->saves_micro_usd),
                           core_money_text(self, HELIO_MOVE_SAVES_LEAST_MICRO_USD));
    return core_printf(self, "a move needs %u %%", needs / 10);
}

static const char *why_not(helio_broker_core_t *self, const job_t *job, const spot_t *spot,
                           const helio_move_t *move)
{
    uint64_t stays_ms = core_moves_stays_ms(self, job);
    if (move->rejection != HELIO_REJECTION_NONE)
        return core_printf(self, "its own bounds forbid it: %s", helio_rejection_word(move->rejection));
    if (!helio_move_is_worth(move))
        return too_little_text(self, job, move);
    if (stays_ms)
        return core_printf(self, "it %s and stays until %s",
                           job->moves ? "was moved lately" : "has just begun",
                           core_second_text(self, self->wall_ms + (int64_t)stays_ms));
    const char *detail;
    helio_rejection_t against = core_moves_obstacle(self, job, spot, &detail);
    if (against == HELIO_REJECTION_NONE)
        return "it is moved when its turn to be looked at comes, within seconds";
    return detail[0] ? core_printf(self, "%s: %s", helio_rejection_word(against), detail)
                     : helio_rejection_word(against);
}

/*  Of the pools that it may go to, whatever is free there. */
static const spot_t *best_of(helio_broker_core_t *self, const job_t *job, const spots_t *spots,
                             helio_move_t *ret_move)
{
    const spot_t *best = NULL;
    for (uint32_t i = 0; i < spots->count; i++) {
        if (!core_moves_is_apt(spots, job, &spots->items[i]))
            continue;
        helio_move_t move = core_moves_weigh(self, job, &spots->items[i]);
        if (best && move.saves_micro_usd <= ret_move->saves_micro_usd)
            continue;
        best = &spots->items[i];
        *ret_move = move;
    }
    return best;
}

const char *core_moved_explain(helio_broker_core_t *self, const job_t *job)
{
    const submission_t *submission = job->submission;
    helio_move_t move = {.saves_micro_usd = 0};
    if (!submission->better_site || job->state != HELIO_JOB_RUNNING || !job->pool)
        return "";
    if (!job->mover)
        return "it is not moved to a better site: it does not tell how it saves, by checkpoint.signal or "
               "checkpoint.every";
    if (job->moves >= HELIO_MOVE_TIMES_MAX)
        return core_printf(self, "it was moved %u times and stays where it is", job->moves);
    const spot_t *best = best_of(self, job, core_moves_spots(self, submission->class), &move);
    if (!best)
        return "it stays: no other pool is one that it may go to";
    if (move.saves_micro_usd <= 0)
        return "it stays: no other site would be better for what is left of it";
    return core_printf(self, "%s; %s", saves_text(self, job, best, &move), why_not(self, job, best, &move));
}
