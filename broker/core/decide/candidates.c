/*  candidates.c -- the candidates of a decision: what each is shown with, and what is against it. */
#include "broker/core/decide/candidates.h"

#include "broker/core/decide/infeasible.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/pool_rejection.h"
#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/forecast/transfers.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"
#include "federation/energy/power.h"
#include "federation/policy/prices.h"

/*  The pool is expected to have room for one of its jobs when the option's later start comes. */
static bool has_room_then(helio_broker_core_t *self, const evaluation_t *e, const option_t *o)
{
#ifdef HELIO_MUTANT_full_hours_shown
    return true;
#endif
    uint32_t room = core_window_room(self, e->class, o->site, o->pool, o->c.gpus_per_node, o->c.later.start_ms);
    return core_budget_room(self, e->class, o, &o->c.later, room) > 0;
}

/*  The plan that a candidate is shown with: if a later start is waited for, the candidate's own best start that is
 *  possible. */
static const helio_plan_t *shown(helio_broker_core_t *self, const evaluation_t *e, const option_t *o)
{
    if (!e->waits || !o->c.later.start_ms)
        return &o->c.now;
    bool later = o == e->chosen || o->c.rejection != HELIO_REJECTION_NONE ||
                 (helio_choice_worth(&o->c.later, &o->c.now, self->wall_ms, false) < o->c.now.score_micro_usd &&
                  has_room_then(self, e, o));
    return later ? &o->c.later : &o->c.now;
}

/*  Sentences show whole grams and cents, and hundredths of a cent below one (federation/reason/sentence.c). */
enum { CENT_MICRO_USD = 10000, GRAM_MG = 1000 };

static int64_t rounded(int64_t value, int64_t unit)
{
    return (value + unit / 2) / unit * unit;
}

static bool is_carbon_shown_above(int64_t value_mg, int64_t bound_mg)
{
    return rounded(value_mg, GRAM_MG) > rounded(bound_mg, GRAM_MG);
}

static int64_t shown_usd(int64_t micro_usd)
{
    return rounded(micro_usd, micro_usd >= CENT_MICRO_USD ? CENT_MICRO_USD : micro_usd < 50 ? 1 : 100);
}

static bool is_cost_shown_above(int64_t value, int64_t bound)
{
    return shown_usd(value) > shown_usd(bound);
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
    if (!is_cost_shown_above(cost, bound))
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
    if (!is_carbon_shown_above((int64_t)intensity, (int64_t)bound))
        return CORE_DETAIL(self, HELIO_DETAIL_JUST_ABOVE_MAX_CARBON, helio_value_number((int64_t)intensity),
                           helio_value_number((int64_t)bound), until);
    return CORE_DETAIL(self, HELIO_DETAIL_ABOVE_MAX_CARBON, helio_value_number((int64_t)intensity),
                       helio_value_number((int64_t)bound), until);
}

/*  What is missing before the site can get jobs (judge in evaluate.c). */
static helio_detail_t silence_of(const site_t *site)
{
    if (!site->peer)
        return HELIO_DETAIL0(HELIO_DETAIL_SITE_NO_SESSION);
    return site->inventory_closed ? HELIO_DETAIL0(HELIO_DETAIL_SITE_NO_FIGURES)
                                  : HELIO_DETAIL0(HELIO_DETAIL_SITE_NO_INVENTORY);
}

static helio_details_t cap_details(helio_broker_core_t *self, const job_class_t *class, const option_t *o)
{
    const helio_requirement_t *want = &class->want;
    if (o->c.rejection == HELIO_REJECTION_OVERFLOW)
        return core_why(self, core_overflow_detail(self, class, o));
    if (o->c.rejection == HELIO_REJECTION_SITE_SILENT)
        return core_why(self, silence_of(o->site));
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
    if (pool->spot && o->c.run_ms)
        core_why_add(self, details,
                     CORE_DETAIL(self, HELIO_DETAIL_SPOT_RISK, helio_value_number(o->c.spot_micro_usd),
                                 helio_value_number((int64_t)(o->c.redo_ppm + 9999) / 10000),
                                 helio_value_number((int64_t)(pool->price_usd_per_gpu_h * 1e6))));
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

/*  Why a candidate with a lower score was not chosen, where nothing is against it. */
static void add_despite_score(helio_broker_core_t *self, const evaluation_t *e, const option_t *o,
                              const helio_plan_t *plan, helio_details_t *details)
{
    const option_t *chosen = e->chosen;
    const helio_plan_t *own = chosen ? shown(self, e, chosen) : NULL;
    if (!own || o == chosen || plan->score_micro_usd >= own->score_micro_usd)
        return;
    if (o->step == chosen->step && o->c.ask > chosen->c.ask)
        core_why_add(self, details, HELIO_DETAIL0(HELIO_DETAIL_GPU_NAMED_LATER));
    else if (e->waits && plan->start_ms > own->start_ms)
        core_why_add(
            self, details,
            CORE_DETAIL(self, HELIO_DETAIL_LONGER_WAIT,
                        helio_value_number((plan->start_ms - own->start_ms + HELIO_HOUR_MS / 2) / HELIO_HOUR_MS)));
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
    if (rejection == HELIO_REJECTION_NONE) {
        add_despite_score(self, e, o, plan, &details);
        add_assumptions(self, o, &details);
    }
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
helio_row_candidate_t *core_candidate_rows(helio_broker_core_t *self, const evaluation_t *e)
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

/* ---- how far it is from its own bounds ----------------------------------------------------------------------- */

static helio_value_t site_of(const option_t *option)
{
    return helio_value_string(option->site->name);
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
    if (cost && is_cost_shown_above(high_cost(cost), max_cost))
        core_why_add(self, why,
                     CORE_DETAIL(self, HELIO_DETAIL_COST_AT_LEAST, helio_value_number(high_cost(cost)), site_of(cost),
                                 helio_value_number(max_cost)));
    else if (cost)
        core_why_add(self, why, above_cost(self, want, cost));
    if (carbon && is_carbon_shown_above((int64_t)carbon->c.high_mg_per_kwh, max_carbon))
        core_why_add(
            self, why,
            CORE_DETAIL(self, HELIO_DETAIL_CARBON_AT_LEAST, helio_value_number((int64_t)carbon->c.high_mg_per_kwh),
                        site_of(carbon), helio_value_number(max_carbon)));
    else if (carbon)
        core_why_add(self, why, above_carbon(self, want, carbon));
}
