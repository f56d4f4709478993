/*  decisions.c -- what is written of an evaluation, and why a class waits, in words. */
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
#include "broker/core/state/accounts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/text.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"

enum { DECISION_REUSE_MS = 60000 }; /* an unchanged evaluation of a class is not written again before */

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
        if (!e->waits && o < e->chosen) { /* better, and passed over: that must be written */
            const char *detail;
            helio_rejection_t against = core_pending_rejection(self, e->class, o, &detail);
            hash = helio_hash(hash, &against, sizeof against);
        }
        if (e->waits && o == e->chosen)
            hash = helio_hash(hash, &o->c.later.start_ms, sizeof o->c.later.start_ms);
    }
    return hash;
}

/*  The plan that a candidate is shown with: where a start is waited for, its own best one. */
static const helio_plan_t *shown(helio_broker_core_t *self, const evaluation_t *e, const option_t *o)
{
    if (!e->waits || !o->c.later.start_ms)
        return &o->c.now;
    bool later = o == e->chosen || o->c.rejection != HELIO_REJECTION_NONE ||
                 helio_choice_worth(&o->c.later, &o->c.now, self->wall_ms, false) < o->c.now.score_micro_usd;
    return later ? &o->c.later : &o->c.now;
}

static const char *cost_cap(helio_broker_core_t *self, const helio_requirement_t *want,
                            int64_t cost_micro_usd)
{
    const char *cost = core_money_text(self, cost_micro_usd);
    const char *bound = core_money_text(self, (int64_t)want->max_cost_micro_usd);
    return strcmp(cost, bound) ? core_printf(self, "%s > max_cost %s", cost, bound)
                               : core_printf(self, "just over max_cost %s", bound);
}

static const char *cap_detail(helio_broker_core_t *self, const job_class_t *class, const option_t *o)
{
    const helio_requirement_t *want = &class->want;
    if (o->c.rejection == HELIO_REJECTION_OVERFLOW)
        return core_overflow_text(self, class, o);
    const char *until =
        o->c.not_before_ms ? core_printf(self, " until %s", core_minute_text(self, o->c.not_before_ms)) : "";
    if (o->c.rejection == HELIO_REJECTION_CARBON_CAP) {
        if (!core_pool_forecast(self, o->site, o->pool)->carbon_from.known)
            return "its intensity is not told";
        unsigned long long grams = (o->c.high_mg_per_kwh + 500) / 1000;
        unsigned long long bound = (want->max_carbon_mg_per_kwh + 500) / 1000;
        const char *more = grams > bound ? core_printf(self, "%llu g/kWh > max_carbon %llu", grams, bound)
                                         : core_printf(self, "just over max_carbon %llu g/kWh", bound);
        return o->c.now.energy_j ? core_printf(self, "%s%s", more, until) : until;
    }
    if (o->c.rejection == HELIO_REJECTION_COST_CAP)
        return core_printf(self, "%s%s",
                           cost_cap(self, want, o->c.high_cost_micro_usd + o->c.transfer.egress_micro_usd),
                           until);
    bool fits = o->c.rejection == HELIO_REJECTION_NONE || o->c.rejection == HELIO_REJECTION_NO_LINK;
    if (!fits && helio_rejection_group(o->c.rejection) == HELIO_REASON_NEVER_FITS)
        return core_infeasible_detail(self, want, o->site, &o->pool->info, o->c.rejection);
    return want->data.count && fits ? core_transfer_text(self, want, o->site, o->pool) : "";
}

/*  Why not there, whatever the score says. */
static helio_rejection_t reason_against(helio_broker_core_t *self, const evaluation_t *e, const option_t *o, bool later,
                                        const char **ret_detail)
{
    *ret_detail = cap_detail(self, e->class, o);
    bool fits = o->c.rejection == HELIO_REJECTION_NONE;
    if (o == e->chosen || (later && !(fits && core_overflow_is_closed(e->class, o))))
        return HELIO_REJECTION_NONE;
    if (o->c.rejection != HELIO_REJECTION_NONE)
        return o->c.rejection;
    const char *pending_rejection;
    helio_rejection_t against = core_pending_rejection(self, e->class, o, &pending_rejection);
    if (against != HELIO_REJECTION_NONE)
        *ret_detail = pending_rejection;
    bool passed_over = against == HELIO_REJECTION_NONE && e->chosen && !e->waits && o < e->chosen;
    if (passed_over && core_is_doubtful(self, e->class, o))
        *ret_detail = "passed over: not heard of lately, or such a job just failed there";
    return against;
}

static helio_row_candidate_t candidate_row(helio_broker_core_t *self, const evaluation_t *e,
                                           const option_t *o, uint32_t rank)
{
    const helio_plan_t *plan = shown(self, e, o);
    const pool_t *pool = o->pool;
    bool later = plan == &o->c.later;
    const char *detail;
    helio_rejection_t rejection = reason_against(self, e, o, later, &detail);
    bool expected_use = o == e->chosen && o == e->preempts && e->preempts_text;
    if (expected_use)
        detail = detail[0] ? core_printf(self, "%s; %s", e->preempts_text, detail) : e->preempts_text;
    int64_t now_ms = core_judged_ms(self, e->class);
    int64_t start_ms = expected_use             ? e->preempts_at_ms
                       : later              ? plan->start_ms
                       : o->c.not_before_ms ? o->c.not_before_ms
                                            : now_ms;
    int64_t loss = o == e->preempts ? e->loss_micro_usd : 0;
    return (helio_row_candidate_t){
        .decision_id = e->decision_id,
        .rank = rank,
        .site = helio_text_of(o->site->name),
        .pool = pool->info.name,
        .start_ms = start_ms,
        .score_micro_usd = plan->score_micro_usd + loss,
        .cost_micro_usd = plan->cost_micro_usd,
        .energy_j = plan->energy_j,
        .carbon_mg = plan->carbon_mg,
        .rejected_reason = helio_text_of(helio_rejection_name(rejection)),
        .details = core_stated(self, detail),
        .carbon_micro_usd = plan->terms[HELIO_TERM_CARBON],
        .wait_micro_usd = plan->terms[HELIO_TERM_WAIT],
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

/*  The chosen one first. */
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

static helio_row_decision_t decision_row(helio_broker_core_t *self, const evaluation_t *e,
                                         helio_reason_t reason, const char *detail)
{
    const option_t *basis = e->chosen ? e->chosen : e->count ? &e->options[0] : NULL;
    return (helio_row_decision_t){
        .decision_id = e->decision_id,
        .at_ms = self->wall_ms,
        .class_id = e->class->id,
        .policy_version = HELIO_TEXT(HELIO_POLICY_VERSION),
        .reason = helio_text_of(helio_reason_name(reason)),
        .details = core_stated(self, detail),
        .chosen_site = e->chosen ? helio_text_of(e->chosen->site->name) : (helio_text_t){0},
        .chosen_pool = e->chosen ? e->chosen->pool->info.name : (helio_text_t){0},
        .forecast_ms = basis ? core_pool_forecast(self, basis->site, basis->pool)->carbon_from.issued_ms : 0,
    };
}

void core_decision_preview(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                        const char *detail, helio_planned_t *plan)
{
    plan->decision = decision_row(self, e, reason, detail);
    const helio_row_candidate_t *rows = candidate_rows(self, e);
    plan->candidates.items = helio_arena_alloc(self->effects->arena, e->count, sizeof *plan->candidates.items);
    plan->candidates.count = e->count;
    for (uint32_t i = 0; i < e->count; i++)
        plan->candidates.items[i] =
            (helio_planned_candidate_t){rows[i], core_site_find(self, rows[i].site)->profile.backend};
}

/*  Writes the decision and its candidates, the chosen one first, unless the last written one says the same.
 */
void core_decision_write(helio_broker_core_t *self, evaluation_t *e, helio_reason_t reason,
                         const char *detail)
{
    job_class_t *class = e->class;
    uint64_t hash = options_hash(self, e, reason);
    if (class->decision_id && class->decision_hash == hash &&
        self->now_ms - class->decision_ms < DECISION_REUSE_MS) {
        e->decision_id = class->decision_id;
        return;
    }
    e->decision_id = class->decision_id = ++self->decision_id;
    class->decision_hash = hash;
    class->decision_ms = self->now_ms;
    helio_row_decision_t row = decision_row(self, e, reason, detail);
    core_emit(self, HELIO_BROKER_FX_ROW_DECISION, &row);
    const helio_row_candidate_t *rows = candidate_rows(self, e);
    for (uint32_t i = 0; i < e->count; i++)
        core_emit(self, HELIO_BROKER_FX_ROW_CANDIDATE, &rows[i]);
}

void core_class_write(helio_broker_core_t *self, job_class_t *class, helio_reason_t reason,
                      const char *detail, int64_t expected_ms)
{
    const helio_details_t details = core_stated(self, detail);
    if (class->reason == reason && class->expected_ms == expected_ms && core_why_equal(class->why, &details))
        return;
    class->reason = reason;
    class->expected_ms = expected_ms;
    free(class->why);
    class->why = core_why_keep(&details);
    helio_row_class_t row = {
        .class_id = class->id,
        .tenant = class->want.tenant,
        .queue = class->want.queue,
        .summary = class->summary,
        .reason = helio_text_of(helio_reason_name(reason)),
        .details = details,
        .decision_id = class->decision_id,
        .at_ms = self->wall_ms,
        .expected_ms = expected_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_CLASS, &row);
}

/* ---- words --------------------------------------------------------------------------------------------- */

static const char *window_detail(helio_broker_core_t *self, const evaluation_t *e)
{
    const option_t *chosen = e->chosen, *now = e->feasible ? &e->options[0] : NULL;
    const char *from = core_printf(self, "%s from %s", core_place_text(self, chosen),
                                   core_minute_text(self, chosen->c.later.start_ms));
    if (!now)
        return from;
    int64_t saved = now->c.now.score_micro_usd - chosen->c.later.score_micro_usd;
    return core_printf(self, "%s: worth %s more than %s now", from, core_money_text(self, saved),
                       core_place_text(self, now));
}

/*  The first pool that could take it, were there not what its site keeps. */
static const char *site_window_detail(helio_broker_core_t *self, const evaluation_t *e, int64_t *ret_expected_ms)
{
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *o = &e->options[i];
        const char *text = core_site_window_reason(self, e->class, o, ret_expected_ms);
        if (text[0])
            return text;
    }
    return "";
}

static const char *capacity_detail(helio_broker_core_t *self, const evaluation_t *e)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < e->feasible; i++)
        open += !core_overflow_is_closed(e->class, &e->options[i]);
    const char *here;
    if (e->reserved)
        here = core_printf(self, "%s is kept for it from %s", core_place_text(self, e->reserved),
                           core_minute_text(self, e->reservation.at_ms));
    else
        here = open == 1 ? "one pool could run it and has no room now"
                         : core_printf(self, "%u pools could run it, none has room now", open);
    const char *next = open < e->feasible ? core_overflow_next_text(self, e->class) : "";
    return next[0] ? core_printf(self, "%s; %s", here, next) : here;
}

/*  Its quota would hold it there, too, once the site takes work again; "" = it would not. */
static const char *quota_besides(helio_broker_core_t *self, const evaluation_t *e, const option_t *o)
{
    uint32_t gpus = core_option_gpus(e->class, o);
    bool shut = o->c.rejection == HELIO_REJECTION_DRAINING || o->c.rejection == HELIO_REJECTION_SITE_SILENT;
    return shut && gpus > core_quota_left(e->class)
               ? core_printf(self, "; besides, %s", core_quota_text(self, e->class, gpus))
               : "";
}

/*  Nothing may start now. The mildest group of rejections is what it waits for: the first site to take it
 * will be one of those. Of caps, the one that ends first. */
static helio_reason_t rejection_reason(helio_broker_core_t *self, const evaluation_t *e,
                                       const char **ret_detail, int64_t *ret_expected_ms)
{
    const option_t *mildest = &e->options[0];
    for (uint32_t i = 1; i < e->count; i++) {
        const option_t *o = &e->options[i];
        helio_reason_t a = helio_rejection_group(o->c.rejection),
                       b = helio_rejection_group(mildest->c.rejection);
        bool sooner = a == b && o->c.not_before_ms &&
                      (!mildest->c.not_before_ms || o->c.not_before_ms < mildest->c.not_before_ms);
        if (a > b || sooner)
            mildest = o;
    }
    helio_reason_t reason = helio_rejection_group(mildest->c.rejection);
    if (reason == HELIO_REASON_NEVER_FITS && mildest->c.rejection != HELIO_REJECTION_NO_LINK) {
        *ret_detail = core_infeasible_text(self, &e->class->want);
        return reason;
    }
    *ret_detail = core_printf(self, "%s: %s%s", mildest->site->name,
                              helio_rejection_name(mildest->c.rejection), quota_besides(self, e, mildest));
    if (reason == HELIO_REASON_POLICY_CAP && mildest->c.not_before_ms) {
        *ret_expected_ms = mildest->c.not_before_ms;
        *ret_detail =
            core_printf(self, "%s, not before %s", *ret_detail, core_minute_text(self, *ret_expected_ms));
    }
    return reason;
}

helio_reason_t core_decision_reason(helio_broker_core_t *self, const evaluation_t *e, const char **ret_detail,
                                    int64_t *ret_expected_ms)
{
    *ret_expected_ms = 0;
    if (e->waits) {
        *ret_expected_ms = e->chosen->c.later.start_ms;
        *ret_detail = window_detail(self, e);
        return HELIO_REASON_WAITING_FOR_WINDOW;
    }
    if (e->capped_gpus) {
        *ret_detail = core_quota_text(self, e->class, e->capped_gpus);
        return HELIO_REASON_POLICY_CAP;
    }
    if (e->over_budget) {
        *ret_expected_ms = e->shortage.fits_ms;
        *ret_detail = core_budget_text(self, e->class, &e->shortage);
        return HELIO_REASON_POLICY_CAP;
    }
    const char *preempts = core_preempt_text(self, e->class, ret_expected_ms);
    if (preempts[0]) {
        *ret_detail = preempts;
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    const char *kept = e->reserved ? "" : site_window_detail(self, e, ret_expected_ms);
    if (kept[0]) {
        *ret_detail = kept;
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    if (e->feasible) {
        *ret_expected_ms = e->reserved ? e->reservation.at_ms - e->reservation.at_ms % 60000 : 0;
        *ret_detail = capacity_detail(self, e);
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    if (e->count)
        return rejection_reason(self, e, ret_detail, ret_expected_ms);
    *ret_detail = "no site has joined the federation yet";
    return HELIO_REASON_WAITING_FOR_CAPACITY;
}
