/*  reports.c -- agents' reports on attempts, turned into states and ends; ledger.c writes what the attempts used.
 *  Reports are repeated and can be late: a report that is not of the job's current epoch, at its current site, while
 *  the job is live, is evidence and cost only. */
#include "broker/core/sites/reports.h"

#include <string.h>

#include "broker/core/sites/attempt_end.h"
#include "broker/core/sites/doubt.h"
#include "broker/core/sites/estimates.h"
#include "broker/core/sites/ledger.h"
#include "broker/core/sites/losses.h"
#include "broker/core/sites/observed_run.h"
#include "broker/core/sites/restored.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/sites/sessions.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/char.h"
#include "federation/reason/codes.h"

enum {
    REFUSAL_PENALTY_MS = 1000,  /* a pool that refused gets no offer for this time, or until its next summary */
    EVIDENCE_ROWS_MAX = 100000, /* of one site at once, with its suspensions and waits; more by the second */
    EVIDENCE_ROWS_PER_S = 1000,
    SUSPENSION_ROWS = 4 /* of one that ends: two transitions, and the job's own row after each */
};

static const uint64_t RUN_MS_MAX = UINT64_C(366) * 86400000;

static const uint64_t ENERGY_J_MAX = UINT64_C(1000000000000000); /* the output of a large power station in ten days */

static const uint64_t UNITS_MAX = UINT64_C(1000000000000000);

static const int64_t CLOCKS_DIFFER_MS = 86400000; /* by less than a day; as put_attempt has it */

static bool is_end(uint32_t kind)
{
    return kind == HELIO_REPORT_KIND_ENDED || kind == HELIO_REPORT_KIND_STOPPED || kind == HELIO_REPORT_KIND_LOST ||
           kind == HELIO_REPORT_KIND_REFUSED;
}

/*  What the attempt can have used, as far as it is known: by the placement that its estimate keeps, or by its job. */
static bool limits_of(const helio_broker_core_t *self, const site_t *site, const job_t *job, bool current,
                      const helio_report_t *report, use_limits_t *ret_limits)
{
#ifndef HELIO_MUTANT_correction_of_any_size
    if (!current && core_estimate_limits(self, site, report, ret_limits))
        return true;
#endif
    if (job)
        *ret_limits = core_use_limits(job, current);
    return job != NULL;
}

/*  Before this time the attempt cannot have begun, by any clock: its use would be that of a month that is closed. */
static int64_t least_start_ms(const use_limits_t *limits)
{
#ifdef HELIO_MUTANT_start_of_any_time
    return 1;
#endif
    return limits && limits->from_ms > CLOCKS_DIFFER_MS ? limits->from_ms - CLOCKS_DIFFER_MS : 1;
}

/*  Reported figures are stored for ever, summed and put into columns. A figure or time out of bounds is replaced by
 *  the nearest possible one, so that a broken agent can neither exhaust memory nor fail a commit. limits NULL: not
 *  known. */
static helio_report_t bounded(const helio_broker_core_t *self, const use_limits_t *limits, const helio_report_t *report)
{
    helio_report_t r = *report;
    r.run_ms = r.run_ms < RUN_MS_MAX ? r.run_ms : RUN_MS_MAX;
    uint64_t gpu_ms_max = r.run_ms * HELIO_JOB_GPUS_PER_NODE_MAX * HELIO_JOB_NODES_MAX;
    r.gpu_ms = r.gpu_ms < gpu_ms_max ? r.gpu_ms : gpu_ms_max;
    r.energy_j = r.energy_j < ENERGY_J_MAX ? r.energy_j : ENERGY_J_MAX;
    r.units_done = r.units_done < UNITS_MAX ? r.units_done : UNITS_MAX;
    const int64_t least_ms = least_start_ms(limits);
    if (r.ended_wall_ms && !core_time_is_plausible(self, least_ms, r.ended_wall_ms, CLOCKS_DIFFER_MS))
        r.ended_wall_ms = self->wall_ms;
    if (!r.started_wall_ms && !r.run_ms)
        return r;
    /* An end that is days ahead would be that of a month that has not begun. */
    bool ahead = r.started_wall_ms > self->wall_ms + CLOCKS_DIFFER_MS - (int64_t)r.run_ms;
    int64_t by_length_ms = (r.ended_wall_ms ? r.ended_wall_ms : self->wall_ms) - (int64_t)r.run_ms;
    if (ahead || !core_time_is_plausible(self, least_ms, r.started_wall_ms, CLOCKS_DIFFER_MS) ||
        (r.ended_wall_ms && r.started_wall_ms > r.ended_wall_ms)) /* its clock was set back meanwhile */
        r.started_wall_ms = by_length_ms > least_ms ? by_length_ms : least_ms;
    if (r.ended_wall_ms && r.ended_wall_ms < r.started_wall_ms) /* the broker's clock was set back since */
        r.ended_wall_ms = r.started_wall_ms + (int64_t)r.run_ms;
    return r;
}

/*  The row of an attempt is written once, by the first report. A site must not write the row of an epoch that another
 *  site has, or that was never issued. */
static bool can_be_evidence(const site_t *site, const job_t *job, const helio_report_t *report)
{
    if (!is_end(report->kind) || report->kind == HELIO_REPORT_KIND_REFUSED || !report->run_ms ||
        report->epoch > INT32_MAX)
        return false;
    if (!job)
        return true;
    bool elsewhere = core_job_site(job)[0] && strcmp(core_job_site(job), site->name) != 0;
    return report->epoch < job->epoch || (report->epoch == job->epoch && !elsewhere);
}

/*  The state after the job's own end, if nothing else was requested of it. */
static uint32_t outcome_of(job_t *job, const helio_report_t *report)
{
    if (report->limit_reached)
        return HELIO_JOB_TIMEOUT;
    if (report->exit_code == 0)
        return HELIO_JOB_SUCCEEDED;
    if (job->intent == HELIO_INTENT_PREEMPT)
        return HELIO_JOB_QUEUED; /* it did not survive the stop: not its own failure */
    job->failures++;
    return job->failures <= job->submission->retries && job->intent != HELIO_INTENT_CANCEL ? HELIO_JOB_QUEUED
                                                                                           : HELIO_JOB_FAILED;
}

/*  OFFERED and ACCEPTED have no end: the states that the reports skipped are entered first. */
static void catch_up(helio_broker_core_t *self, job_t *job, const char *actor)
{
    if (job->state == HELIO_JOB_OFFERED || job->state == HELIO_JOB_ACCEPTED)
        core_job_change_state(self, job, HELIO_JOB_STARTING, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
    if (job->state == HELIO_JOB_SUSPENDED)
        core_job_change_state(self, job, HELIO_JOB_RUNNING, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
}

static helio_details_t why_ended(helio_broker_core_t *self, const job_t *job, uint32_t to, const helio_report_t *report)
{
    if (to == HELIO_JOB_TIMEOUT)
        return CORE_WHY0(self, HELIO_DETAIL_TIME_LIMIT);
    if (to == HELIO_JOB_QUEUED && job->intent == HELIO_INTENT_PREEMPT)
        return core_why_of_stop(self, job);
    helio_value_t exit_code = helio_value_number(report->exit_code);
    return to == HELIO_JOB_QUEUED
               ? CORE_WHY(self, HELIO_DETAIL_EXIT_CODE_RETRY, exit_code, helio_value_number(job->failures),
                          helio_value_number(job->submission->retries))
               : CORE_WHY(self, HELIO_DETAIL_EXIT_CODE, exit_code);
}

static void on_ended(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                     const char *actor)
{
    catch_up(self, job, actor);
    uint32_t to = outcome_of(job, report);
    core_attempt_account(self, site, job, report, to != HELIO_JOB_QUEUED);
    job->exit_code = report->exit_code;
    job->finished_ms = report->ended_wall_ms;
    if (job->pool) /* the pool can run a job to its end */
        job->pool->failures_in_row = 0;
    helio_details_t why = why_ended(self, job, to, report);
    if (to == HELIO_JOB_QUEUED)
        job->finished_ms = 0;
    core_job_change_state(self, job, to, why, actor);
}

/*  Whether the site gives any reason. */
static bool gives_reason(const helio_report_t *report)
{
    return report->cause != HELIO_CAUSE_NONE || report->explanation.size || report->reason.size;
}

/*  The text of the site's system or scheduler. A text without a cause can be a whole reason, from an older agent. */
static helio_value_t explanation_of(const helio_report_t *report)
{
    bool only_text = report->cause == HELIO_CAUSE_NONE && !report->explanation.size;
    return helio_value_text(only_text ? report->reason : report->explanation);
}

/*  site: "" = it need not be named. The explanation of a stop is the broker's own reason, which needs no cause before
 *  it. */
static helio_details_t why_of_site(helio_broker_core_t *self, const char *site, const helio_report_t *report)
{
    if (report->cause == HELIO_CAUSE_NONE || (report->cause == HELIO_CAUSE_STOPPED && report->explanation.size))
        return CORE_WHY(self, HELIO_DETAIL_SITE_STATES, helio_value_string(site), explanation_of(report));
    return CORE_WHY(self, HELIO_DETAIL_SITE_SAYS, helio_value_string(site),
                    helio_value_string(helio_cause_name(report->cause)), explanation_of(report));
}

static helio_details_t why_refused(helio_broker_core_t *self, const helio_report_t *report)
{
    if (report->cause == HELIO_CAUSE_NONE)
        return CORE_WHY(self, HELIO_DETAIL_REFUSED_STATES, explanation_of(report));
    return CORE_WHY(self, HELIO_DETAIL_REFUSED, helio_value_string(helio_cause_name(report->cause)),
                    explanation_of(report));
}

static helio_details_t why_stopped(helio_broker_core_t *self, const helio_report_t *report)
{
    return gives_reason(report) ? why_of_site(self, "", report) : CORE_WHY0(self, HELIO_DETAIL_STOPPED);
}

/*  HELD can be reached from ACCEPTED, STARTING and RUNNING. */
static void leave_skipped(helio_broker_core_t *self, job_t *job, const char *actor)
{
    if (job->state == HELIO_JOB_OFFERED)
        core_job_change_state(self, job, HELIO_JOB_ACCEPTED, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
    if (job->state == HELIO_JOB_SUSPENDED)
        core_job_change_state(self, job, HELIO_JOB_RUNNING, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
}

/*  Nobody asked for it. */
static void on_stopped_by_site(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                               const char *actor)
{
    helio_details_t held =
        gives_reason(report) ? why_of_site(self, site->name, report) : CORE_WHY0(self, HELIO_DETAIL_STOPPED_BY_SITE);
    if (core_loss_holds(self, job, report, &held)) {
        leave_skipped(self, job, actor);
        core_job_change_state(self, job, HELIO_JOB_HELD, held, actor);
        return;
    }
    core_job_change_state(self, job, HELIO_JOB_STOPPING, CORE_WHY0(self, HELIO_DETAIL_STOPPED_BY_SITE), actor);
    core_job_change_state(self, job, HELIO_JOB_QUEUED, why_stopped(self, report), actor);
}

/*  It was told to stop. The broker itself wants it back, or the site had ceased to list what it had accepted: that is a
 *  loss, however it ends. */
static void return_stopped(helio_broker_core_t *self, job_t *job, const helio_report_t *report, helio_details_t why,
                           const char *actor)
{
    helio_details_t held = why;
#ifdef HELIO_MUTANT_forgotten_is_asked_for
    bool holds = false;
#else
    bool holds = job->intent == HELIO_INTENT_REQUEUE && core_loss_holds(self, job, report, &held);
#endif
    core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
    if (holds)
        core_job_change_state(self, job, HELIO_JOB_HELD, held, actor);
}

static void on_stopped(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                       const char *actor)
{
    bool cancelled = job->intent == HELIO_INTENT_CANCEL;
    core_attempt_account(self, site, job, report, cancelled);
    if (job->state != HELIO_JOB_STOPPING) {
        on_stopped_by_site(self, site, job, report, actor);
    } else if (cancelled) {
        job->exit_code = 130;
        job->finished_ms = report->ended_wall_ms ? report->ended_wall_ms : self->wall_ms;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, CORE_WHY0(self, HELIO_DETAIL_CANCELLED), actor);
    } else {
        const bool preempted = job->intent == HELIO_INTENT_PREEMPT;
        const helio_details_t why = preempted ? core_why_of_stop(self, job) : why_stopped(self, report);
        return_stopped(self, job, report, why, actor);
    }
}

/*  The site could not run the job, or lost it: not the job's fault. */
static void on_lost(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                    const char *actor)
{
    bool cancelled = job->intent == HELIO_INTENT_CANCEL;
    core_attempt_account(self, site, job, report, cancelled);
    helio_details_t why = why_of_site(self, site->name, report);
    if (job->state == HELIO_JOB_STOPPING && !cancelled) {
        return_stopped(self, job, report, why, actor);
        return;
    }
    if (job->state == HELIO_JOB_STOPPING) {
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, actor);
        return;
    }
    leave_skipped(self, job, actor);
    bool held = core_loss_holds(self, job, report, &why);
    core_job_change_state(self, job, held ? HELIO_JOB_HELD : HELIO_JOB_QUEUED, why, actor);
}

/*  The epoch is over at this site. The job returns to its queue, and the pool gets no offers until its next summary. */
static void on_refused(helio_broker_core_t *self, job_t *job, const helio_report_t *report, const char *actor)
{
    bool cancelled = job->intent == HELIO_INTENT_CANCEL;
    self->figures.refusals_total++;
    if (job->pool)
        job->pool->penalty_until_ms = self->now_ms + REFUSAL_PENALTY_MS;
    helio_details_t why = why_refused(self, report);
    if (job->state == HELIO_JOB_OFFERED)
        core_losses_refused(self, job);
    if (job->state == HELIO_JOB_STOPPING && cancelled) {
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, actor);
    } else if (job->state == HELIO_JOB_STOPPING || job->state == HELIO_JOB_OFFERED) {
        core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
    } else {
        self->figures.illegal_reports_total++; /* it had accepted the offer: the site contradicts itself */
    }
}

/*  A site can report old attempts, suspensions, and what its jobs wait for without limit. What is beyond that which a
 *  correct site can have is ignored, so that the rows of a flooding site do not delay the commits of all others. */
static bool rows_are_affordable(helio_broker_core_t *self, site_t *site, int64_t rows)
{
    int64_t earned = (self->now_ms - site->evidence_ms) / 1000 * EVIDENCE_ROWS_PER_S;
    site->evidence_rows = site->evidence_rows > earned ? site->evidence_rows - earned : 0;
    site->evidence_ms += (self->now_ms - site->evidence_ms) / 1000 * 1000;
    if (site->evidence_rows + rows > EVIDENCE_ROWS_MAX) {
        self->figures.illegal_reports_total++;
        return false;
    }
    site->evidence_rows += rows;
    return true;
}

/*  What it waits for in its site's queue. No transition, because sites report it whenever it changes. */
static void say_wait(helio_broker_core_t *self, job_t *job, const helio_report_t *report)
{
    const helio_details_t why = why_of_site(self, "", report);
    if (!gives_reason(report) || core_why_equal(job->why, &why))
        return;
#ifndef HELIO_MUTANT_waits_without_end
    if (!rows_are_affordable(self, job->site, 1))
        return;
#endif
    core_job_set_why(job, &why);
    core_job_mark_dirty(self, job);
}

/*  For a step forward without a reason from the site. */
static helio_detail_t progress_detail(uint32_t from, uint32_t to)
{
    if (to == HELIO_JOB_ACCEPTED)
        return HELIO_DETAIL0(HELIO_DETAIL_SITE_ACCEPTED);
    if (to == HELIO_JOB_SUSPENDED)
        return HELIO_DETAIL0(HELIO_DETAIL_SITE_SUSPENDED);
    if (from == HELIO_JOB_SUSPENDED)
        return HELIO_DETAIL0(HELIO_DETAIL_RESUMED);
    if (from == HELIO_JOB_ACCEPTED && to == HELIO_JOB_STARTING)
        return HELIO_DETAIL0(HELIO_DETAIL_SITE_STARTS_IT);
    if (from == HELIO_JOB_STARTING)
        return HELIO_DETAIL0(HELIO_DETAIL_PROCESSES_RUN);
    return HELIO_DETAIL0(HELIO_DETAIL_SITE_AHEAD);
}

/*  Which job of the local scheduler it is, in Slurm's words. Other backends name jobs after attempts. */
static void add_scheduler_job(helio_broker_core_t *self, const job_t *job, const helio_report_t *report,
                              helio_details_t *why)
{
    if (!report->local_id.size || !job->site || !helio_text_is(job->site->profile.backend, "slurm"))
        return;
    for (uint32_t i = 0; i < report->local_id.size; i++)
        if (!helio_is_letter_or_digit(report->local_id.data[i]) && !memchr("_+-.", report->local_id.data[i], 4))
            return;
    core_why_add(self, why, CORE_DETAIL(self, HELIO_DETAIL_SCHEDULER_JOB, helio_value_text(report->local_id)));
}

/*  ACCEPTED, STARTING, RUNNING, SUSPENDED: forward only; a report behind the known state is a repetition. */
static void on_progress(helio_broker_core_t *self, job_t *job, const helio_report_t *report, const char *actor)
{
    static const uint32_t states[] = {
        [HELIO_REPORT_KIND_ACCEPTED] = HELIO_JOB_ACCEPTED,
        [HELIO_REPORT_KIND_STARTING] = HELIO_JOB_STARTING,
        [HELIO_REPORT_KIND_RUNNING] = HELIO_JOB_RUNNING,
        [HELIO_REPORT_KIND_SUSPENDED] = HELIO_JOB_SUSPENDED,
    };
    uint32_t to = states[report->kind];
    bool resumed = job->state == HELIO_JOB_SUSPENDED && to == HELIO_JOB_RUNNING;
    if (to == job->state && to == HELIO_JOB_STARTING)
        say_wait(self, job, report);
    if (job->state == HELIO_JOB_STOPPING || (to <= job->state && !resumed))
        return;
    if (!helio_job_state_edge(job->state, to)) {
        self->figures.illegal_reports_total++;
        return;
    }
#ifndef HELIO_MUTANT_suspended_without_end
    if (to == HELIO_JOB_SUSPENDED && !rows_are_affordable(self, job->site, SUSPENSION_ROWS))
        return;
#endif
    if (to == HELIO_JOB_RUNNING && report->started_wall_ms) {
        job->started_ms = report->started_wall_ms;
        core_attempt_has_run(self, job, report->started_wall_ms);
    }
    if (to >= HELIO_JOB_RUNNING) {
        core_run_observe(self, job);
        core_run_observe_suspension(self, job, to == HELIO_JOB_SUSPENDED);
    }
    helio_details_t why =
        gives_reason(report) ? why_of_site(self, "", report) : core_why(self, progress_detail(job->state, to));
    if (to == HELIO_JOB_RUNNING)
        add_scheduler_job(self, job, report, &why);
    core_job_change_state(self, job, to, why, actor);
    if (to == HELIO_JOB_RUNNING)
        core_budget_started(self, job);
}

static bool evidence_is_affordable(helio_broker_core_t *self, site_t *site, const helio_report_t *report)
{
    uint64_t hours = report->run_ms / 3600000 + 2;
    return rows_are_affordable(self, site,
                               2 + (int64_t)(hours < CORE_EVIDENCE_HOURS_MAX ? hours : CORE_EVIDENCE_HOURS_MAX + 1));
}

/*  It had accepted the attempt, which is being stopped: to refuse it now is to say that it is not here, and no more. What
 *  was seen to run is charged. */
static bool denies_what_it_had(const helio_broker_core_t *self, const job_t *job, const helio_report_t *report)
{
#ifdef HELIO_MUTANT_refused_run_is_free
    return false;
#endif
    bool stops = (job->state == HELIO_JOB_SUSPECT ? job->before : job->state) == HELIO_JOB_STOPPING;
    return report->kind == HELIO_REPORT_KIND_REFUSED && stops &&
           (job->intent == HELIO_INTENT_REQUEUE || core_run_seen_ms(self, job));
}

/*  A program that ended without a fault was started: the end is like any other. */
static bool denies_its_start(const helio_report_t *report)
{
    return report->kind == HELIO_REPORT_KIND_ENDED && !report->exit_code && report->cause == HELIO_CAUSE_START_FAILED;
}

static void take_report(helio_broker_core_t *self, site_t *site, const helio_report_t *said, const char *actor)
{
    job_t *job = core_job_find(self, said->key);
    bool current = job && job->site == site && job->epoch == said->epoch;
    use_limits_t limits;
    bool limited = limits_of(self, site, job, current, said, &limits);
    helio_report_t kept = bounded(self, limited ? &limits : NULL, said);
    const helio_report_t *report = &kept;
    if (current && denies_what_it_had(self, job, report)) {
        self->figures.illegal_reports_total++;
        kept.kind = HELIO_REPORT_KIND_STOPPED;
        kept.cause = HELIO_CAUSE_NOT_HERE;
    }
    if (denies_its_start(report)) {
        self->figures.illegal_reports_total++;
        kept.cause = HELIO_CAUSE_NONE;
    }
    core_run_complete(self, site, job, current, &kept);
    if (is_end(report->kind))
        core_restored_end(self, site, report);
    if (limited && core_report_bound(self, &limits, &kept))
        self->figures.illegal_reports_total++;
    if (current && !kept.gpu_ms) /* an agent that found the attempt does not know its size */
        kept.gpu_ms = kept.run_ms * core_job_gpus(job);
#ifdef HELIO_MUTANT_epoch_ignored
    current = job && job->site;
#endif
#ifdef HELIO_MUTANT_completion_twice
    current = job && job->epoch == report->epoch;
#endif
    if (!current) {
        self->figures.stale_reports_total++;
        if (can_be_evidence(site, job, report) && evidence_is_affordable(self, site, report))
            core_ledger_write_evidence(self, site, job, report);
        return;
    }
    if (core_doubt_lasts(job, report))
        return;
    if (job->state == HELIO_JOB_SUSPECT)
        core_job_change_state(self, job, job->before, core_why_of_site(self, job, HELIO_DETAIL_SITE_BACK), actor);
    if (report->kind == HELIO_REPORT_KIND_ENDED)
        on_ended(self, site, job, report, actor);
    else if (report->kind == HELIO_REPORT_KIND_STOPPED)
        on_stopped(self, site, job, report, actor);
    else if (report->kind == HELIO_REPORT_KIND_LOST)
        on_lost(self, site, job, report, actor);
    else if (report->kind == HELIO_REPORT_KIND_REFUSED)
        on_refused(self, job, report, actor);
    else
        on_progress(self, job, report, actor);
}

void core_on_reports(helio_broker_core_t *self, const helio_ev_site_reports_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site || !site->inventory_closed)
        return;
    core_site_heard(self, site);
    const char *actor = core_printf(self, "site:%s", site->name);
    uint64_t seq = 0;
    bool accepted = false;
    for (uint32_t i = 0; i < event->reports.count; i++) {
        accepted = accepted || event->reports.items[i].kind == HELIO_REPORT_KIND_ACCEPTED;
        take_report(self, site, &event->reports.items[i], actor);
        seq = event->reports.items[i].seq > seq ? event->reports.items[i].seq : seq;
    }
    if (site->memory_since_ms && seq > site->memory_mark && seq <= INT64_MAX)
        site->memory_mark = seq;
    if (accepted) /* a journal without this number does not know the attempt; the row is as durable as the answer */
        core_site_row(self, site);
    helio_fx_reports_ack_t ack = {event->peer, seq};
    core_emit(self, HELIO_BROKER_FX_REPORTS_ACK, &ack);
}
