/*  plan.c -- a dry run: the code that decides, on a class that is not stored. Changes nothing. */
#include "broker/core/requests/plan.h"

#include <string.h>

#include "broker/core/decide/candidates.h"
#include "broker/core/decide/decisions.h"
#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/growth.h"
#include "broker/core/forecast/durations.h"
#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/preempt/preempt.h"
#include "broker/core/requests/dependency_eta.h"
#include "broker/core/requests/explain.h"
#include "broker/core/requests/hints.h"
#include "broker/core/requests/plan_tasks.h"
#include "broker/core/requests/submit.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/ask.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/curtailments.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

/*  What it waits for while its dependency hold lasts; *why: what would keep it from a start then, which stays in the
 *  text if it keeps it for good. */
static helio_reason_t show_as_gated(helio_broker_core_t *self, const evaluation_t *e, const dependency_eta_t *hold,
                                    bool for_good, helio_details_t *why, int64_t *ret_expected_ms)
{
    bool later = e->waits && e->chosen;
    const helio_details_t then = *why;
    *ret_expected_ms = hold->latest_ms && e->chosen ? later ? e->chosen->c.later.start_ms : e->class->judged_ms : 0;
    *why = (helio_details_t){0};
    core_why_join(self, why, &hold->why);
    core_why_add(
        self, why,
        hold->latest_ms ? HELIO_DETAIL0(HELIO_DETAIL_SHOWN_AS_OF_THEN) : HELIO_DETAIL0(HELIO_DETAIL_SHOWN_AS_OF_NOW));
    if (for_good)
        core_why_join(self, why, &then);
    return HELIO_REASON_GATED;
}

/*  Whatever it would wait for besides, sites speak first. */
static helio_reason_t show_as_awaiting(helio_broker_core_t *self, evaluation_t *e, const helio_start_estimate_t *p,
                                       helio_details_t *ret_why, int64_t *ret_expected_ms)
{
    e->chosen = NULL;
    *ret_expected_ms = 0;
    *ret_why = core_sites_awaited(self) ? CORE_WHY0(self, HELIO_DETAIL_RESTORE_RECONCILES) : p->basis;
    return HELIO_REASON_WAITING_FOR_CAPACITY;
}

/*  Nothing starts now: what the job waits for, or what it would preempt. */
static helio_reason_t waits_for(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice,
                                helio_details_t *ret_why, int64_t *ret_expected_ms)
{
    core_decide(self, e, choice);
    core_growth_choose(self, e);
    if (e->waits || choice->now || !core_preempt_expect(self, e)) {
        helio_reason_t reason = core_decision_reason(self, e, ret_why, ret_expected_ms);
        if (reason == HELIO_REASON_POLICY_CAP)
            core_bounds_details(self, e, ret_why);
        return reason;
    }
    e->chosen = e->preempts;
    *ret_expected_ms = e->preempts_at_ms;
    *ret_why = CORE_WHY(self, HELIO_DETAIL_EXPECTED_START, helio_value_string(e->preempts->site->name),
                        helio_value_text(e->preempts->pool->info.name), helio_value_number(e->preempts_at_ms));
    core_why_join(self, ret_why, &e->preempts_details);
    return HELIO_REASON_WAITING_FOR_CAPACITY;
}

/*  If nothing is chosen, the plan has what a submission's reply would say about the deadline. */
static void check_deadline(helio_broker_core_t *self, const job_class_t *class, const dependency_eta_t *hold,
                           helio_planned_t *plan, helio_start_estimate_t *start_estimate)
{
    if (plan->decision.chosen_site.size ||
        helio_text_is(plan->decision.reason, helio_reason_name(HELIO_REASON_NEVER_FITS)))
        return;
    helio_detail_t fault = core_deadline_fault(self, &class->want, class->queue, hold->earliest_ms, 0);
    if (!fault.code)
        return;
    plan->decision.reason = helio_text_of(helio_rejection_name(HELIO_REJECTION_DEADLINE));
    plan->decision.details = core_why(self, fault);
    core_why_add(self, &plan->decision.details, core_deadline_remedy(self, &class->want, hold->earliest_ms));
    start_estimate->earliest_ms = start_estimate->latest_ms = 0;
    start_estimate->basis = CORE_WHY0(self, HELIO_DETAIL_START_NEVER);
}

/*  It is accepted, and then cancelled in the same step. A document that would be refused is not judged so. */
static void check_dependencies(helio_broker_core_t *self, const helio_submission_t *document, helio_planned_t *plan,
                               helio_start_estimate_t *start_estimate)
{
    const helio_dependency_t *failed = core_dependencies_failed(self, document);
    const helio_text_t reason = plan->decision.reason;
    if (!failed || helio_text_is(reason, helio_reason_name(HELIO_REASON_NEVER_FITS)) ||
        helio_text_is(reason, helio_rejection_name(HELIO_REJECTION_DEADLINE)))
        return;
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(failed->on, id);
    plan->decision.reason = HELIO_TEXT("DependencyFailed");
    plan->decision.details = CORE_WHY(self, HELIO_DETAIL_PLAN_CANCELLED, helio_value_string(id),
                                      helio_value_string(core_dependency_outcome(failed->after)));
    plan->decision.chosen_site = plan->decision.chosen_pool = (helio_text_t){0};
    plan->expected_ms = 0;
    plan->tasks_now = 0;
    plan->tasks_details = (helio_details_t){0};
    *start_estimate = (helio_start_estimate_t){.at_ms = self->wall_ms, .basis = plan->decision.details};
}

/*  As if it were the newest job, and alone in its class. */
static void judge(helio_broker_core_t *self, job_class_t *class, const helio_job_spec_t *spec,
                  const dependency_eta_t *hold, helio_planned_t *plan, helio_start_estimate_t *start_estimate)
{
    core_findings_expire(self);
    evaluation_t e = core_evaluate(self, class);
    bool awaits = core_start_estimate_awaits(self, class, start_estimate);
    choice_t choice = awaits ? (choice_t){0} : core_choose(self, &e);
    core_plan_tasks(self, &e, &choice, spec, plan);
    helio_reason_t reason = HELIO_REASON_NONE;
    helio_details_t why = {0};
    plan->expected_ms = core_judged_ms(self, class);
    if (choice.now && !choice.later) {
        e.chosen = choice.now;
    } else {
        reason = waits_for(self, &e, &choice, &why, &plan->expected_ms);
    }
    const helio_reason_t then = reason;
    bool for_good = core_start_estimate_is_forbidden(&e, reason, plan->expected_ms);
    if (hold->why.items.count && reason != HELIO_REASON_NEVER_FITS)
        reason = show_as_gated(self, &e, hold, for_good, &why, &plan->expected_ms);
    else if (awaits && reason != HELIO_REASON_NEVER_FITS)
        reason = show_as_awaiting(self, &e, start_estimate, &why, &plan->expected_ms);
    uint32_t gpus_per_node = class->want.gpus.count ? class->want.gpus.items[0].count : 0;
    plan->nodes = class->want.nodes;
    const option_t *shown = e.chosen;
    for (uint32_t i = 0; i < e.count && !shown; i++)
        shown = e.options[i].c.run_ms ? &e.options[i] : NULL; /* the best that could ever hold it */
    if (shown) {
        plan->run_ms = shown->c.run_ms;
        plan->run_high_ms = shown->c.run_high_ms;
    }
    plan->gpus = (e.chosen ? e.chosen->c.gpus_per_node : gpus_per_node) * class->want.nodes;
    core_decision_preview(self, &e, reason, &why, plan);
    if (reason == HELIO_REASON_GATED) {
        start_estimate->earliest_ms = hold->earliest_ms ? hold->earliest_ms : self->wall_ms;
        start_estimate->basis = hold->why;
        if (for_good)
            core_start_estimate_forbid(self, &e, then, start_estimate);
        return;
    }
    if (awaits && reason != HELIO_REASON_NEVER_FITS)
        return;
    core_start_estimate_expect(self, &e, class->waiting, class->want.tenant, reason, plan->expected_ms, start_estimate);
    if (e.preempts_details.items.count) {
        start_estimate->earliest_ms = self->wall_ms;
        start_estimate->latest_ms = start_estimate->ahead_jobs ? 0 : e.preempts_at_ms;
        start_estimate->basis = CORE_WHY0(self, HELIO_DETAIL_START_PREEMPTED);
    }
    core_hints(self, &e, reason, plan->expected_ms, start_estimate);
}

/*  False: it supposes something of a site that there is not, and that was answered. */
static bool suppose(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    site_t *site = core_site_find(self, event->supposed_site);
    if (event->supposed_site.size && !site) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_SITE, helio_value_text(event->supposed_site),
                               helio_value_string(core_site_meant(self, event->supposed_site))));
        return false;
    }
    core_suppose(self,
                 (supposition_t){.site = site,
                                 .drains = event->supposed_drain,
                                 .price_per_mille = event->supposed_drain ? 1000 : event->supposed_price_per_mille});
    if (site && event->supposed_curtailed_ms) {
        curtailment_t *curtailment = helio_arena_alloc(self->effects->arena, 1, sizeof *curtailment);
        curtailment->row = (helio_row_curtailment_t){.site = helio_text_of(site->name),
                                                     .from_ms = self->wall_ms,
                                                     .until_ms = self->wall_ms + (int64_t)event->supposed_curtailed_ms,
                                                     .percent = event->supposed_percent};
        site->supposed_curtailment = curtailment;
    }
    return true;
}

static void suppose_nothing(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    site_t *site = core_site_find(self, event->supposed_site);
    if (site)
        site->supposed_curtailment = NULL;
    core_suppose(self, (supposition_t){0});
}

/*  Whether it runs at the site that is supposed to be curtailed, and would have to leave. */
static bool stops(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    site_t *site = core_site_find(self, event->supposed_site);
    const job_t *job = core_job_find(self, event->supposed_job);
    return site && site->supposed_curtailment && job && job->site == site &&
           helio_text_equal(job->submission->row.tenant, event->tenant) &&
           core_curtail_stops(self, site, &site->supposed_curtailment->row, job);
}

/*  What is known before any pool is considered. */
static helio_planned_t planned_as_asked(helio_broker_core_t *self, const helio_job_spec_t *spec,
                                        const job_class_t *class, const helio_row_job_t *row)
{
    return (helio_planned_t){
        .name = spec->name,
        .goal = spec->goal,
        .prices_set = spec->prices_set,
        .flexible_ms = spec->flexible_ms,
        .deadline_wall_ms = spec->deadline_wall_ms,
        .run_ms = row->time_limit_ms,
        .run_high_ms = row->time_limit_ms,
        .time_limit_ms = row->time_limit_ms,
        .expected_runs = row->expected_runs,
        .expected_failed = row->expected_failed,
        .expected_basis = row->expected_basis,
        .expected_of = core_run_basis_text(self->effects->arena, row),
        .carbon_price_micro_usd_per_t = class->want.carbon_price_micro_usd_per_t,
        .wait_price_micro_usd_per_gpu_h = class->want.wait_price_micro_usd_per_gpu_h,
    };
}

static void plan_one(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    if (event->jobs.count != 1) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   CORE_DETAIL(self, HELIO_DETAIL_PLAN_ONE_JOB, helio_value_number(event->jobs.count)));
        return;
    }
    const helio_submission_t *document = &event->jobs.items[0];
    tenant_t *tenant = core_tenant_of(self, event);
    if (!tenant)
        return;
    if (!core_dependencies_check(self, event, document, 0))
        return;
    dependency_eta_t hold = core_dependencies_eta(self, document);
    helio_text_t home;
    uint64_t time_limit_ms;
    queue_t *queue = core_resolve(self, tenant, document, &home, &time_limit_ms);
    if (!queue) {
        core_reply_queue(self, event, document, 0);
        return;
    }
    submission_t submission = {.tenant = tenant, .queue = queue, .row.time_limit_ms = time_limit_ms};
    core_submission_store_spec(&submission, &document->spec);
    job_t newest = {.key.task = HELIO_NO_TASK, .ready_ms = self->wall_ms, .submission = &submission};
    memset(newest.key.job.bytes, 0xff, sizeof newest.key.job.bytes);
    const ask_t ask = {
        .want = helio_requirement_of(&document->spec, event->tenant, home, time_limit_ms, self->wall_ms),
        .account = core_account_get(tenant, queue),
        .queue = queue,
        .judged_ms = hold.latest_ms > self->wall_ms ? hold.latest_ms : 0,
    };
    job_class_t class = core_class_of_ask(&ask, NULL);
    class.waiting = &newest;
    class.waiting_count = 1;
    submission.class = &class;
    helio_row_job_t row = {.tenant = event->tenant,
                           .user = event->user,
                           .name = document->spec.name,
                           .kind = document->spec.kind,
                           .gpus = helio_requirement_gpus(&class.want),
                           .time_limit_ms = time_limit_ms};
    core_run_expect(self, &row);
    helio_requirement_expect(&class.want, row.expected_ms,
                             helio_duration_bound_ms(row.expected_basis, row.expected_high_ms));
    helio_fx_reply_t reply = {.call = event->call, .rc = HELIO_OK};
    reply.plan = planned_as_asked(self, &document->spec, &class, &row);
    reply.plan.stops = stops(self, event);
    reply.start_estimate.at_ms = self->wall_ms;
    judge(self, &class, &document->spec, &hold, &reply.plan, &reply.start_estimate);
    check_deadline(self, &class, &hold, &reply.plan, &reply.start_estimate);
    check_dependencies(self, document, &reply.plan, &reply.start_estimate);
    if (!helio_text_is(reply.plan.decision.reason, helio_reason_name(HELIO_REASON_NEVER_FITS)))
        reply.details = core_submit_note(self, document, 1); /* else the reason says it */
    core_emit(self, HELIO_BROKER_FX_REPLY, &reply);
}

void core_on_plan(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    if (!suppose(self, event))
        return;
    plan_one(self, event);
    suppose_nothing(self, event);
}
