/*  decisions.c -- what is stored of an evaluation, and why a class waits. */
#include "broker/core/decide/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/infeasible.h"
#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/pending.h"
#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/forecast/transfers.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"
#include "federation/energy/power.h"
#include "federation/policy/prices.h"

enum { DECISION_REUSE_MS = 60000 }; /* an unchanged evaluation of a class is written again after this time */

/* ---- rows ---------------------------------------------------------------------------------------------- */

static uint64_t options_hash(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason)
{
    uint64_t hash = helio_hash(HELIO_HASH_SEED, &reason, sizeof reason);
    hash = helio_hash(hash, &e->class->open_steps, sizeof e->class->open_steps);
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *o = &e->options[i];
        hash = helio_hash(hash, o->site->name, strlen(o->site->name));
        hash = helio_hash(hash, o->pool->info.name.data, o->pool->info.name.size);
        hash = helio_hash(hash, &o->c.rejection, sizeof o->c.rejection);
        hash = helio_hash(hash, &o->c.now.score_micro_usd, sizeof o->c.now.score_micro_usd);
        if (o == e->preempts)
            hash = helio_hash(hash, &e->loss_micro_usd, sizeof e->loss_micro_usd);
        if (!e->waits && o < e->chosen) { /* better than the chosen one, and passed over: that must be written */
            helio_rejection_t against = core_pending_rejection(self, e->class, o, NULL);
            hash = helio_hash(hash, &against, sizeof against);
        }
        if (e->waits && o == e->chosen)
            hash = helio_hash(hash, &o->c.later.start_ms, sizeof o->c.later.start_ms);
    }
    return hash;
}

/*  The plan that a candidate is shown with: if a later start is waited for, the candidate's own best start. */
static const helio_plan_t *shown(helio_broker_core_t *self, const evaluation_t *e, const option_t *o)
{
    if (!e->waits || !o->c.later.start_ms)
        return &o->c.now;
    bool later = o == e->chosen || o->c.rejection != HELIO_REJECTION_NONE ||
                 helio_choice_worth(&o->c.later, &o->c.now, self->wall_ms, false) < o->c.now.score_micro_usd;
    return later ? &o->c.later : &o->c.now;
}

/*  Sentences show whole cents and grams. */
enum { CENT_MICRO_USD = 10000, GRAM_MG = 1000 };

static bool is_shown_above(int64_t value, int64_t bound, int64_t unit)
{
    return (value + unit / 2) / unit > (bound + unit / 2) / unit;
}

static int64_t high_cost(const option_t *o)
{
    return o->c.high_cost_micro_usd + o->c.transfer.egress_micro_usd;
}

/*  The numbers as sentences show them. A cost that is shown like its limit is described as just above it. */
static helio_detail_t above_cost(helio_broker_core_t *self, const helio_requirement_t *want, const option_t *o)
{
    int64_t cost = high_cost(o), bound = (int64_t)want->max_cost_micro_usd;
    helio_value_t until = helio_value_number(o->c.not_before_ms);
    if (!is_shown_above(cost, bound, CENT_MICRO_USD))
        return CORE_DETAIL(self, HELIO_DETAIL_JUST_ABOVE_MAX_COST, helio_value_number(cost), helio_value_number(bound),
                           until);
    return CORE_DETAIL(self, HELIO_DETAIL_ABOVE_MAX_COST, helio_value_number(cost), helio_value_number(bound), until);
}

static helio_detail_t above_carbon(helio_broker_core_t *self, const helio_requirement_t *want, const option_t *o)
{
    uint64_t intensity = o->c.high_mg_per_kwh, bound = want->max_carbon_mg_per_kwh;
    helio_value_t until = helio_value_number(o->c.not_before_ms);
    if (!core_pool_forecast(self, o->site, o->pool)->carbon_from.known)
        return HELIO_DETAIL0(HELIO_DETAIL_CARBON_UNKNOWN);
    if (!o->c.now.energy_j)
        return o->c.not_before_ms ? CORE_DETAIL(self, HELIO_DETAIL_BOUND_ENDS, until) : (helio_detail_t){0};
    if (!is_shown_above((int64_t)intensity, (int64_t)bound, GRAM_MG))
        return CORE_DETAIL(self, HELIO_DETAIL_JUST_ABOVE_MAX_CARBON, helio_value_number((int64_t)intensity),
                           helio_value_number((int64_t)bound), until);
    return CORE_DETAIL(self, HELIO_DETAIL_ABOVE_MAX_CARBON, helio_value_number((int64_t)intensity),
                       helio_value_number((int64_t)bound), until);
}

static helio_details_t cap_details(helio_broker_core_t *self, const job_class_t *class, const option_t *o)
{
    const helio_requirement_t *want = &class->want;
    if (o->c.rejection == HELIO_REJECTION_OVERFLOW)
        return core_why(self, core_overflow_detail(self, class, o));
    if (o->c.rejection == HELIO_REJECTION_CARBON_CAP)
        return core_why(self, above_carbon(self, want, o));
    if (o->c.rejection == HELIO_REJECTION_COST_CAP)
        return core_why(self, above_cost(self, want, o));
    bool fits = o->c.rejection == HELIO_REJECTION_NONE || o->c.rejection == HELIO_REJECTION_NO_LINK;
    if (!fits && helio_rejection_group(o->c.rejection) == HELIO_REASON_NEVER_FITS)
        return core_why(self, core_infeasible_detail(self, want, o->site, &o->pool->info, o->c.rejection));
    return want->data.count && fits ? core_transfer_details(self, want, o->site, o->pool) : (helio_details_t){0};
}

/*  Why the job does not go there, whatever the score. */
static helio_rejection_t reason_against(helio_broker_core_t *self, const evaluation_t *e, const option_t *o, bool later,
                                        helio_details_t *ret_details)
{
    *ret_details = cap_details(self, e->class, o);
    bool fits = o->c.rejection == HELIO_REJECTION_NONE;
    if (o == e->chosen || (later && !(fits && core_overflow_is_closed(e->class, o))))
        return HELIO_REJECTION_NONE;
    if (o->c.rejection != HELIO_REJECTION_NONE)
        return o->c.rejection;
    helio_details_t pending;
    helio_rejection_t against = core_pending_rejection(self, e->class, o, &pending);
    if (against != HELIO_REJECTION_NONE)
        *ret_details = pending;
    bool passed_over = against == HELIO_REJECTION_NONE && e->chosen && !e->waits && o < e->chosen;
    if (passed_over && core_is_doubtful(self, e->class, o))
        *ret_details =
            core_why(self, HELIO_DETAIL0(o->site->stale ? HELIO_DETAIL_SITE_LATE : HELIO_DETAIL_FAILED_THERE));
    return against;
}

/*  Figures of the candidate that its site does not give. */
static void add_assumptions(helio_broker_core_t *self, const option_t *o, helio_details_t *details)
{
    const helio_pool_t *pool = &o->pool->info;
    if (o->c.queue_wait_ms)
        core_why_add(self, details, CORE_DETAIL(self, HELIO_DETAIL_SITE_QUEUE, helio_value_number(o->c.queue_wait_ms)));
    if (!o->c.gpus_per_node)
        return;
    if (o->price_unknown)
        core_why_add(self, details,
                     CORE_DETAIL(self, HELIO_DETAIL_PRICE_UNKNOWN, helio_value_text(pool->name),
                                 helio_value_number(o->unknown_micro_usd)));
    if (helio_pool_power_is_assumed(pool))
        core_why_add(self, details,
                     CORE_DETAIL(self, HELIO_DETAIL_POWER_ASSUMED, helio_value_text(pool->gpu),
                                 helio_value_number((int64_t)helio_pool_watts(pool, 1))));
    if (!core_pool_forecast(self, o->site, o->pool)->carbon_from.known)
        core_why_add(self, details,
                     CORE_DETAIL(self, HELIO_DETAIL_CARBON_ASSUMED,
                                 helio_value_number((int64_t)HELIO_UNKNOWN_G_PER_KWH * 1000)));
}

static helio_row_candidate_t candidate_row(helio_broker_core_t *self, const evaluation_t *e, const option_t *o,
                                           uint32_t rank)
{
    const helio_plan_t *plan = shown(self, e, o);
    const pool_t *pool = o->pool;
    bool later = plan == &o->c.later;
    helio_details_t details, against;
    helio_rejection_t rejection = reason_against(self, e, o, later, &against);
    bool expected_use = o == e->chosen && o == e->preempts && e->preempts_details.items.count;
    details = expected_use ? e->preempts_details : against;
    if (expected_use)
        core_why_join(self, &details, &against);
    if (rejection == HELIO_REJECTION_NONE)
        add_assumptions(self, o, &details);
    int64_t now_ms = core_judged_ms(self, e->class);
    bool queued = rejection == HELIO_REJECTION_NO_CAPACITY && o->c.queue_wait_ms;
    int64_t start_ms = expected_use         ? e->preempts_at_ms
                       : later              ? plan->start_ms
                       : o->c.not_before_ms ? o->c.not_before_ms
                       : queued             ? now_ms + o->c.queue_wait_ms
                                            : now_ms;
    int64_t loss = o == e->preempts ? e->loss_micro_usd : 0, queue = o == e->preempts ? o->c.queue_micro_usd : 0;
    return (helio_row_candidate_t){
        .decision_id = e->decision_id,
        .rank = rank,
        .site = helio_text_of(o->site->name),
        .pool = pool->info.name,
        .start_ms = start_ms,
        .score_micro_usd = plan->score_micro_usd + loss - queue,
        .cost_micro_usd = plan->cost_micro_usd,
        .energy_j = plan->energy_j,
        .carbon_mg = plan->carbon_mg,
        .rejected_reason = helio_text_of(helio_rejection_name(rejection)),
        .details = details,
        .carbon_micro_usd = plan->terms[HELIO_TERM_CARBON],
        .wait_micro_usd = plan->terms[HELIO_TERM_WAIT] - queue,
        .risk_micro_usd = plan->terms[HELIO_TERM_RISK],
        .shadow_micro_usd = plan->terms[HELIO_TERM_SHADOW],
        .disruption_micro_usd = plan->terms[HELIO_TERM_DISRUPTION] + loss,
        .transfer_micro_usd = plan->terms[HELIO_TERM_TRANSFER],
        .transfer_ms = o->c.transfer.ms,
        .egress_micro_usd = o->c.transfer.egress_micro_usd,
        .transfer_j = o->c.transfer.energy_j,
        .transfer_carbon_mg = o->c.transfer.carbon_mg,
        .run_ms = o->c.run_ms,
        .run_high_ms = o->c.run_high_ms,
    };
}

/*  The chosen candidate comes first. */
static helio_row_candidate_t *candidate_rows(helio_broker_core_t *self, const evaluation_t *e)
{
    helio_row_candidate_t *rows = helio_arena_alloc(self->effects->arena, e->count, sizeof *rows);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < e->count; i++)
        if (&e->options[i] == e->chosen) {
            rows[rank] = candidate_row(self, e, e->chosen, rank);
            rank++;
        }
    for (uint32_t i = 0; i < e->count; i++)
        if (&e->options[i] != e->chosen) {
            rows[rank] = candidate_row(self, e, &e->options[i], rank);
            rank++;
        }
    return rows;
}

static helio_row_decision_t decision_row(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                                         const helio_details_t *details)
{
    const option_t *basis = e->chosen ? e->chosen : e->count ? &e->options[0] : NULL;
    return (helio_row_decision_t){
        .decision_id = e->decision_id,
        .at_ms = self->wall_ms,
        .class_id = e->class->id,
        .policy_version = HELIO_TEXT(HELIO_POLICY_VERSION),
        .reason = helio_text_of(helio_reason_name(reason)),
        .details = *details,
        .chosen_site = e->chosen ? helio_text_of(e->chosen->site->name) : (helio_text_t){0},
        .chosen_pool = e->chosen ? e->chosen->pool->info.name : (helio_text_t){0},
        .forecast_ms = basis ? core_pool_forecast(self, basis->site, basis->pool)->carbon_from.issued_ms : 0,
    };
}

void core_decision_preview(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                           const helio_details_t *details, helio_planned_t *plan)
{
    plan->decision = decision_row(self, e, reason, details);
    const helio_row_candidate_t *rows = candidate_rows(self, e);
    plan->candidates.items = helio_arena_alloc(self->effects->arena, e->count, sizeof *plan->candidates.items);
    plan->candidates.count = e->count;
    for (uint32_t i = 0; i < e->count; i++)
        plan->candidates.items[i] =
            (helio_planned_candidate_t){rows[i], core_site_find(self, rows[i].site)->profile.backend};
}

/*  Writes the decision and its candidates, the chosen one first, unless the last one written is the same. */
void core_decision_write(helio_broker_core_t *self, evaluation_t *e, helio_reason_t reason,
                         const helio_details_t *details)
{
    job_class_t *class = e->class;
    uint64_t hash = options_hash(self, e, reason);
    if (class->decision_id && class->decision_hash == hash && self->now_ms - class->decision_ms < DECISION_REUSE_MS) {
        e->decision_id = class->decision_id;
        return;
    }
    e->decision_id = class->decision_id = ++self->decision_id;
    class->decision_hash = hash;
    class->decision_ms = self->now_ms;
    helio_row_decision_t row = decision_row(self, e, reason, details);
    core_emit(self, HELIO_BROKER_FX_ROW_DECISION, &row);
    const helio_row_candidate_t *rows = candidate_rows(self, e);
    for (uint32_t i = 0; i < e->count; i++)
        core_emit(self, HELIO_BROKER_FX_ROW_CANDIDATE, &rows[i]);
}

void core_class_write(helio_broker_core_t *self, job_class_t *class, helio_reason_t reason,
                      const helio_details_t *details, int64_t expected_ms)
{
    if (class->reason == reason && class->expected_ms == expected_ms && core_why_equal(class->why, details))
        return;
    class->reason = reason;
    class->expected_ms = expected_ms;
    free(class->why);
    class->why = core_why_keep(details);
    helio_row_class_t row = {
        .class_id = class->id,
        .tenant = class->want.tenant,
        .queue = class->want.queue,
        .summary = class->summary,
        .reason = helio_text_of(helio_reason_name(reason)),
        .details = *details,
        .decision_id = class->decision_id,
        .at_ms = self->wall_ms,
        .expected_ms = expected_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_CLASS, &row);
}

/* ---- why it waits ------------------------------------------------------------------------------------------ */

static helio_value_t site_of(const option_t *option)
{
    return helio_value_string(option->site->name);
}

static helio_value_t pool_of(const option_t *option)
{
    return helio_value_text(option->pool->info.name);
}

/*  With the transfer of its data, as the table of candidates shows them. */
static int64_t total_cost(const option_t *option, const helio_plan_t *plan)
{
    return plan->cost_micro_usd + option->c.transfer.egress_micro_usd;
}

static int64_t total_carbon(const option_t *option, const helio_plan_t *plan)
{
    return (int64_t)plan->carbon_mg + (int64_t)option->c.transfer.carbon_mg;
}

static helio_details_t window_details(helio_broker_core_t *self, const evaluation_t *e)
{
    const option_t *chosen = e->chosen, *now = e->feasible ? &e->options[0] : NULL;
    helio_details_t why =
        core_why(self, core_window_detail(self, chosen->site, chosen->pool, chosen->c.later.start_ms));
    if (now) {
        const helio_plan_t *then = &chosen->c.later;
        int64_t saved = now->c.now.score_micro_usd - then->score_micro_usd;
        int64_t usd = total_cost(now, &now->c.now) - total_cost(chosen, then);
        int64_t carbon = total_carbon(now, &now->c.now) - total_carbon(chosen, then);
        core_why_add(
            self, &why,
            CORE_DETAIL(self, HELIO_DETAIL_WINDOW_SAVES, helio_value_number(saved), site_of(now), pool_of(now),
                        helio_value_number(usd > 0 ? usd : 0), helio_value_number(usd < 0 ? -usd : 0),
                        helio_value_number(carbon > 0 ? carbon : 0), helio_value_number(carbon < 0 ? -carbon : 0)));
    }
    return why;
}

/*  The first pool that could take it, but for what its site reserves. */
static helio_detail_t site_window_detail(helio_broker_core_t *self, const evaluation_t *e, int64_t *ret_expected_ms)
{
    for (uint32_t i = 0; i < e->feasible; i++) {
        helio_detail_t detail = core_site_window_reason(self, e->class, &e->options[i], ret_expected_ms);
        if (detail.code != HELIO_DETAIL_NONE)
            return detail;
    }
    return (helio_detail_t){0};
}

static helio_details_t capacity_details(helio_broker_core_t *self, const evaluation_t *e)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < e->feasible; i++)
        open += !core_overflow_is_closed(e->class, &e->options[i]);
    helio_details_t why = e->reserved ? CORE_WHY(self, HELIO_DETAIL_RESERVED_FOR_IT, site_of(e->reserved),
                                                 pool_of(e->reserved), helio_value_number(e->reservation.at_ms))
                                      : CORE_WHY(self, HELIO_DETAIL_POOLS_FULL, helio_value_number(open));
    if (open < e->feasible)
        core_why_add(self, &why, core_overflow_next(self, e->class));
    return why;
}

/*  The quota would also keep the job from this pool once the site accepts work again. */
static helio_details_t quota_besides(helio_broker_core_t *self, const evaluation_t *e, const option_t *o)
{
    uint32_t gpus = core_option_gpus(e->class, o);
    bool shut = o->c.rejection == HELIO_REJECTION_DRAINING || o->c.rejection == HELIO_REJECTION_SITE_SILENT;
    return shut && gpus > core_quota_left(e->class) ? core_quota_details(self, e->class, gpus) : (helio_details_t){0};
}

/*  Nothing can start now. The class waits for the mildest group of rejections, because the first site to accept it will
 *  be one of those; among caps, for the one that ends first. */
static helio_reason_t rejection_reason(helio_broker_core_t *self, const evaluation_t *e, helio_details_t *ret_details,
                                       int64_t *ret_expected_ms)
{
    const option_t *mildest = &e->options[0];
    for (uint32_t i = 1; i < e->count; i++) {
        const option_t *o = &e->options[i];
        helio_reason_t a = helio_rejection_group(o->c.rejection), b = helio_rejection_group(mildest->c.rejection);
        bool sooner = a == b && o->c.not_before_ms &&
                      (!mildest->c.not_before_ms || o->c.not_before_ms < mildest->c.not_before_ms);
        if (a > b || sooner)
            mildest = o;
    }
    helio_reason_t reason = helio_rejection_group(mildest->c.rejection);
    if (reason == HELIO_REASON_NEVER_FITS && mildest->c.rejection != HELIO_REJECTION_NO_LINK) {
        *ret_details = core_infeasible_details(self, &e->class->want);
        return reason;
    }
    bool ends = reason == HELIO_REASON_POLICY_CAP && mildest->c.not_before_ms;
    if (ends)
        *ret_expected_ms = mildest->c.not_before_ms;
    *ret_details = CORE_WHY(self, HELIO_DETAIL_REJECTED_FIRST_AT, site_of(mildest),
                            helio_value_string(helio_rejection_name(mildest->c.rejection)),
                            helio_value_number(ends ? mildest->c.not_before_ms : 0));
    const helio_details_t besides = quota_besides(self, e, mildest);
    core_why_join(self, ret_details, &besides);
    return reason;
}

/*  The pool that comes nearest to the bound; NULL = the bound rejects none, or the figure is not known. */
static const option_t *nearest(helio_broker_core_t *self, const evaluation_t *e, helio_rejection_t cap)
{
    const option_t *best = NULL;
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *o = &e->options[i];
        if (o->c.rejection != cap)
            continue;
        if (cap == HELIO_REJECTION_CARBON_CAP && !core_pool_forecast(self, o->site, o->pool)->carbon_from.known)
            continue;
        bool less = best && (cap == HELIO_REJECTION_COST_CAP ? high_cost(o) < high_cost(best)
                                                             : o->c.high_mg_per_kwh < best->c.high_mg_per_kwh);
        best = !best || less ? o : best;
    }
    return best;
}

void core_bounds_details(helio_broker_core_t *self, const evaluation_t *e, helio_details_t *why)
{
    const helio_requirement_t *want = &e->class->want;
    const option_t *cost = nearest(self, e, HELIO_REJECTION_COST_CAP),
                   *carbon = nearest(self, e, HELIO_REJECTION_CARBON_CAP);
    int64_t max_cost = (int64_t)want->max_cost_micro_usd, max_carbon = (int64_t)want->max_carbon_mg_per_kwh;
    if (cost && is_shown_above(high_cost(cost), max_cost, CENT_MICRO_USD))
        core_why_add(self, why,
                     CORE_DETAIL(self, HELIO_DETAIL_COST_AT_LEAST, helio_value_number(high_cost(cost)), site_of(cost),
                                 helio_value_number(max_cost)));
    else if (cost)
        core_why_add(self, why, above_cost(self, want, cost));
    if (carbon && is_shown_above((int64_t)carbon->c.high_mg_per_kwh, max_carbon, GRAM_MG))
        core_why_add(
            self, why,
            CORE_DETAIL(self, HELIO_DETAIL_CARBON_AT_LEAST, helio_value_number((int64_t)carbon->c.high_mg_per_kwh),
                        site_of(carbon), helio_value_number(max_carbon)));
    else if (carbon)
        core_why_add(self, why, above_carbon(self, want, carbon));
}

helio_reason_t core_decision_reason(helio_broker_core_t *self, const evaluation_t *e, helio_details_t *ret_details,
                                    int64_t *ret_expected_ms)
{
    *ret_expected_ms = 0;
    if (e->waits) {
        *ret_expected_ms = e->chosen->c.later.start_ms;
        *ret_details = window_details(self, e);
        return HELIO_REASON_WAITING_FOR_WINDOW;
    }
    if (e->capped_gpus) {
        *ret_details = core_quota_details(self, e->class, e->capped_gpus);
        return HELIO_REASON_POLICY_CAP;
    }
    if (e->over_budget) {
        *ret_expected_ms = e->shortage.fits_ms;
        *ret_details = core_budget_details(self, e->class, &e->shortage);
        return HELIO_REASON_POLICY_CAP;
    }
    helio_detail_t held = core_preempt_detail(self, e->class, ret_expected_ms);
    if (held.code == HELIO_DETAIL_NONE && !e->reserved)
        held = site_window_detail(self, e, ret_expected_ms);
    if (held.code == HELIO_DETAIL_NONE && !e->reserved)
        held = core_pause_detail(self, e, ret_expected_ms);
    if (held.code != HELIO_DETAIL_NONE) {
        *ret_details = core_why(self, held);
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    if (e->feasible) {
        *ret_expected_ms = e->reserved ? e->reservation.at_ms - e->reservation.at_ms % 60000 : 0;
        *ret_details = capacity_details(self, e);
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    if (e->count)
        return rejection_reason(self, e, ret_details, ret_expected_ms);
    *ret_details = CORE_WHY0(self, HELIO_DETAIL_NO_SITE_JOINED);
    return HELIO_REASON_WAITING_FOR_CAPACITY;
}
