/*  decisions.c -- what is stored of an evaluation, and why a class waits. */
#include "broker/core/decide/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/candidates.h"
#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/infeasible.h"
#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/pool_rejection.h"
#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

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
    const helio_row_candidate_t *rows = core_candidate_rows(self, e);
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
    const helio_row_candidate_t *rows = core_candidate_rows(self, e);
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

static bool are_full(helio_broker_core_t *self, const evaluation_t *e)
{
    for (uint32_t i = 0; i < e->feasible; i++)
        if (core_pending_rejection(self, e->class, &e->options[i], NULL) != HELIO_REJECTION_NO_CAPACITY)
            return false;
    return true;
}

/*  Compared with a start now where one is possible; where every pool is full, it says that. */
static helio_details_t window_details(helio_broker_core_t *self, const evaluation_t *e)
{
    const option_t *chosen = e->chosen;
#ifdef HELIO_MUTANT_compared_with_a_full_pool
    const option_t *now = e->feasible ? &e->options[0] : NULL;
#else
    const option_t *now = e->now;
#endif
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
    } else if (e->feasible && are_full(self, e)) {
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_POOLS_FULL, helio_value_number(e->feasible)));
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

/*  The first pool that could take it, but for the power that its site may use. */
static helio_detail_t curtail_detail(helio_broker_core_t *self, const evaluation_t *e, int64_t *ret_expected_ms)
{
    for (uint32_t i = 0; i < e->feasible && self->curtailments; i++) {
        const option_t *o = &e->options[i];
        if (core_pending_rejection(self, e->class, o, NULL) == HELIO_REJECTION_CURTAILED)
            return core_curtail_detail(self, e->class, o->site, o->pool, o->c.gpus_per_node, ret_expected_ms);
    }
    return (helio_detail_t){0};
}

static helio_details_t capacity_details(helio_broker_core_t *self, const evaluation_t *e)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < e->feasible; i++)
        open += !core_overflow_is_closed(e->class, &e->options[i]);
    char head[HELIO_KEY_SIZE] = ""; /* it alone holds the reservation; a plan's job has no id yet */
    if (e->class->id && e->class->waiting)
        helio_job_key_text(e->class->waiting->key, head);
    helio_details_t why =
        e->reserved ? CORE_WHY(self, HELIO_DETAIL_RESERVED_FOR_IT, site_of(e->reserved), pool_of(e->reserved),
                               helio_value_number(e->reservation.at_ms),
                               helio_value_string(helio_arena_string(self->effects->arena, helio_text_of(head))))
                    : CORE_WHY(self, HELIO_DETAIL_POOLS_FULL, helio_value_number(open));
    const growth_t *grows = &e->class->grows;
    if (grows->site && core_pool_grows(grows->pool))
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_GROWS_FOR_IT, helio_value_string(grows->site->name),
                                 helio_value_text(grows->pool->info.name),
                                 helio_value_number((int64_t)grows->pool->info.provision_ms)));
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
        held = curtail_detail(self, e, ret_expected_ms);
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
