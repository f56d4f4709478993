/*  attempt_end.c -- what the end of a job's current attempt adds to the ledger, and to what the job has used. */
#include "broker/core/sites/attempt_end.h"

#include "broker/core/forecast/durations.h"
#include "broker/core/sites/baselines.h"
#include "broker/core/sites/ledger.h"
#include "broker/core/sites/losses.h"
#include "broker/core/sites/observed_run.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"

static void add(uint64_t *sum, uint64_t more)
{
    const uint64_t most = HELIO_ROW_SUM_MAX;
    *sum = *sum > most || more > most - *sum ? most : *sum + more;
}

static void add_cost(int64_t *sum, int64_t more)
{
    const int64_t most = HELIO_ROW_SUM_MAX;
    bool overflow = __builtin_add_overflow(*sum, more, sum);
    if (overflow || *sum > most || *sum < -most)
        *sum = (overflow ? more : *sum) < 0 ? -most : most;
}

void core_attempt_has_run(helio_broker_core_t *self, job_t *job, int64_t started_ms)
{
    int64_t wait_ms = started_ms - job->submission->row.submitted_ms;
    if (!job->ran && started_ms > 0)
        helio_histogram_add(&self->figures.wait_ms[core_preempt_tier(job)], &helio_broker_wait_bounds,
                            wait_ms > 0 ? (uint64_t)wait_ms : 0);
    job->ran = true;
}

static void take_used(helio_broker_core_t *self, job_t *job, const helio_report_t *report, const helio_account_t *used)
{
    add(&job->used.gpu_ms, used->gpu_ms);
    add(&job->used.energy_j, used->energy_j);
    add(&job->used.carbon_mg, used->carbon_mg);
    add(&job->units_done, report->units_done);
    const uint64_t saved_ms = job->saved_ms;
    add(&job->saved_ms, report->saved_run_ms < report->run_ms ? report->saved_run_ms : report->run_ms);
    uint64_t limit_ms = job->submission->row.time_limit_ms;
    job->saved_ms = job->saved_ms < limit_ms ? job->saved_ms : limit_ms;
    core_losses_progress(self, job, report, saved_ms);
    add_cost(&job->used.cost_micro_usd, used->cost_micro_usd);
    if (report->run_ms)
        core_attempt_has_run(self, job, report->started_wall_ms);
    if (report->started_wall_ms)
        job->started_ms = report->started_wall_ms;
}

void core_attempt_account(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                          bool completes)
{
    bill_t bill = core_ledger_write_end(self, site, job, report, completes);
    if (completes)
        core_run_record(self, job, report);
    take_used(self, job, report, &bill.total);
    if (completes && report->run_ms)
        core_baseline_write(self, job, report, &bill);
}

void core_attempt_give_up(helio_broker_core_t *self, job_t *job)
{
    helio_report_t report = {.key = job->key,
                             .epoch = job->epoch,
                             .kind = HELIO_REPORT_KIND_LOST,
                             .exit_code = -1,
                             .reason = HELIO_TEXT("given up: its site told no end of it")};
    core_run_complete(self, job->site, job, true, &report);
    const use_limits_t limits = core_use_limits(job, true);
    (void)core_report_bound(self, &limits, &report);
#ifdef HELIO_MUTANT_forgotten_is_free
    return;
#endif
    if (!report.run_ms) {
#ifndef HELIO_MUTANT_unseen_run_uncharged
        core_ledger_leave_open(self, job->site, job, &report);
#endif
        return;
    }
    core_attempt_has_run(self, job, report.started_wall_ms);
    core_ledger_write_given_up(self, job->site, job, &report);
}
