/*  reports.c -- what sites say of attempts, turned into states, ends and the ledger. Reports repeat and arrive late:
 *  one that is not of the job's current epoch, at its current site, while the job is live, is evidence and cost only.
 */
#include "broker/core/sites/reports.h"

#include <string.h>

#include "broker/core/forecast/durations.h"
#include "broker/core/forecast/prices.h"
#include "broker/core/forecast/transfers.h"
#include "broker/core/sites/baselines.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/sites/sessions.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/reason/codes.h"

enum {
    SITE_FAILURES_MAX = 2, /* attempts that sites could not run: then HELD, with the evidence */
    QUICK_FAILURE_MS = 60000, /* a site that loses it later than that failed a long job: not held against it */
    REFUSAL_PENALTY_MS = 1000, /* a pool that refused gets no offer for so long, or until its next summary */
    /* A pool where an attempt failed at once is the last choice for so long, twice as long after each further one in
     * a row: a node that fails everything fast looks free, and would take the whole queue. */
    DOUBT_MS = 10000,
    DOUBT_MOST_MS = 300000,
    EVIDENCE_HOURS_MAX = 48, /* what a fenced attempt used is spread over its first hours, no more */
    EVIDENCE_ROWS_MAX = 100000, /* of one site at once; more by the second */
    EVIDENCE_ROWS_PER_S = 1000
};

static const uint64_t RUN_MS_MAX = UINT64_C(366) * 86400000;

static const uint64_t ENERGY_J_MAX = UINT64_C(1000000000000000); /* a large power station's output of ten days */

static const uint64_t UNITS_MAX = UINT64_C(1000000000000000);

static const int64_t TIME_AHEAD_MS = 86400000; /* clocks of sites differ, by less than a day */

static bool is_end(uint32_t kind)
{
    return kind == HELIO_REPORT_KIND_ENDED || kind == HELIO_REPORT_KIND_STOPPED || kind == HELIO_REPORT_KIND_LOST ||
           kind == HELIO_REPORT_KIND_REFUSED;
}

/*  What a site says is kept for ever, added up and put into columns: a figure or a time that cannot be is replaced by
 *  the nearest that can, so that one confused agent can neither exhaust the memory nor fail a commit. */
static helio_report_t bounded(const helio_broker_core_t *self, const helio_report_t *report)
{
    helio_report_t r = *report;
    r.run_ms = r.run_ms < RUN_MS_MAX ? r.run_ms : RUN_MS_MAX;
    uint64_t gpu_ms_max = r.run_ms * HELIO_JOB_GPUS_PER_NODE_MAX * HELIO_JOB_NODES_MAX;
    r.gpu_ms = r.gpu_ms < gpu_ms_max ? r.gpu_ms : gpu_ms_max;
    r.energy_j = r.energy_j < ENERGY_J_MAX ? r.energy_j : ENERGY_J_MAX;
    r.units_done = r.units_done < UNITS_MAX ? r.units_done : UNITS_MAX;
    if (r.ended_wall_ms && !core_time_is_plausible(self, r.ended_wall_ms, TIME_AHEAD_MS))
        r.ended_wall_ms = self->wall_ms;
    bool started = r.started_wall_ms != 0 || r.run_ms;
    if (started && !core_time_is_plausible(self, r.started_wall_ms, TIME_AHEAD_MS)) {
        r.started_wall_ms = (r.ended_wall_ms ? r.ended_wall_ms : self->wall_ms) - (int64_t)r.run_ms;
        r.started_wall_ms = r.started_wall_ms > 0 ? r.started_wall_ms : 1;
    }
    if (started && r.ended_wall_ms && r.started_wall_ms > r.ended_wall_ms) /* its clock was set back meanwhile */
        r.started_wall_ms = r.ended_wall_ms > (int64_t)r.run_ms ? r.ended_wall_ms - (int64_t)r.run_ms : 1;
    return r;
}

/*  Where an old attempt ran. Only the latest placement is remembered; of an earlier one the site's first pool that
 *  could have held it is taken, since what it used there must not be free of charge. */
static pool_t *pool_of_evidence(const site_t *site, const job_t *job, const helio_report_t *report)
{
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        if (job && job->epoch == report->epoch && helio_text_is(pool->info.name, core_job_pool(job)))
            return pool;
    }
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        bool fits = !job || helio_choice_filter(&job->submission->class->want, &site->profile, &pool->info).rejection ==
                                HELIO_REJECTION_NONE;
        if (fits && (pool->info.gpus_per_node || !report->gpu_ms))
            return pool;
    }
    return NULL;
}

/*  The row of an attempt is written once, by whoever comes first: no site may write that of an epoch which another one
 *  has, or which was never issued. */
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

/*  Rows of the use by the hour, each priced as that hour was. */
static bill_t write_use(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report,
                        bool fenced, bool counts)
{
    pool_t *pool = fenced ? pool_of_evidence(site, job, report) : job->pool;
    bool known = pool && (!fenced || (job && job->epoch == report->epoch)); /* a guess gives a price, not a name */
    /* Nothing bounds how many dead attempts a site can speak of, so each may take a few rows only. */
    uint64_t evidence_ms = UINT64_C(3600000) * EVIDENCE_HOURS_MAX;
    uint64_t spread_ms = fenced && report->run_ms > evidence_ms ? evidence_ms : report->run_ms;
    bill_t bill = core_bill(self, site, pool, report->started_wall_ms, spread_ms, report->gpu_ms, report->energy_j, 0);
    for (uint32_t i = 0; i < bill.count; i++) {
        const helio_account_slice_t *slice = &bill.slices[i];
        helio_row_ledger_t row = {
            .key = report->key,
            .epoch = report->epoch,
            .tenant = job ? job->submission->row.tenant : (helio_text_t){0},
            .site = helio_text_of(site->name),
            .pool = known ? pool->info.name : (helio_text_t){0},
            .gpu_model = known ? pool->info.gpu : (helio_text_t){0},
            .queue = job ? job->submission->row.queue : (helio_text_t){0},
            .hour_ms = slice->hour_ms,
            .gpu_ms = slice->use.gpu_ms,
            .energy_j = slice->use.energy_j,
            .carbon_mg = slice->use.carbon_mg,
            .cost_micro_usd = slice->use.cost_micro_usd,
            .provenance = report->energy_j ? HELIO_TEXT("measured") : HELIO_TEXT("model"),
            .fenced = fenced,
            .hourly_price_id = bill.hourly_price_ids[i],
        };
        core_emit(self, HELIO_BROKER_FX_ROW_LEDGER, &row);
        if (counts)
            core_budget_charge(self, job, &row);
    }
    return bill;
}

/*  What its placement's transfer took. Of an older one only the data is known: by the catalogue as it is. */
static helio_transfer_t transfer_of(helio_broker_core_t *self, const site_t *site, const job_t *job,
                                    const helio_report_t *report)
{
    bool no_link;
    if (!job || !job->submission->class->want.data.count)
        return (helio_transfer_t){0};
    if (job->epoch == report->epoch && job->last)
        return job->last->transfer;
    return core_transfer(self, &job->submission->class->want, site, pool_of_evidence(site, job, report),
                         report->started_wall_ms, &no_link);
}

/*  One row an attempt, in the hour of its start. */
static void write_transfer(helio_broker_core_t *self, const site_t *site, const job_t *job,
                           const helio_report_t *report, bool fenced, bool counts, bill_t *bill)
{
    helio_transfer_t transfer = transfer_of(self, site, job, report);
    if (!bill->count || (!transfer.egress_micro_usd && !transfer.energy_j))
        return;
    const pool_t *pool = fenced ? pool_of_evidence(site, job, report) : job->pool;
    bool known = pool && (!fenced || job->epoch == report->epoch);
    helio_row_ledger_t row = {
        .key = report->key,
        .epoch = report->epoch,
        .tenant = job->submission->row.tenant,
        .site = helio_text_of(site->name),
        .pool = known ? pool->info.name : (helio_text_t){0},
        .gpu_model = known ? pool->info.gpu : (helio_text_t){0},
        .queue = job->submission->row.queue,
        .hour_ms = bill->slices[0].hour_ms,
        .energy_j = transfer.energy_j,
        .carbon_mg = transfer.carbon_mg,
        .cost_micro_usd = transfer.egress_micro_usd,
        .provenance = HELIO_TEXT("transfer"),
        .fenced = fenced,
        .hourly_price_id = bill->hourly_price_ids[0],
    };
    core_emit(self, HELIO_BROKER_FX_ROW_LEDGER, &row);
    if (counts)
        core_budget_charge(self, job, &row);
    core_transfer_charge(&bill->total, &transfer);
}

/*  Rows of one attempt's end: the attempt itself, its use, and what bringing its data took. */
static bill_t write_end(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report,
                        bool completes, bool fenced)
{
    helio_row_attempt_t attempt = {
        .key = report->key,
        .epoch = report->epoch,
        .site = helio_text_of(site->name),
        .kind = report->kind,
        .completes = completes,
        .fenced = fenced,
        .exit_code = report->exit_code,
        .started_ms = report->started_wall_ms,
        .ended_ms = report->ended_wall_ms,
        .run_ms = report->run_ms,
        .gpu_ms = report->gpu_ms,
        .energy_j = report->energy_j,
        .units_done = report->units_done,
        .reason = report->reason,
        .local_id = report->local_id,
        .at_ms = self->wall_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    if (!report->run_ms)
        return (bill_t){.carbon_kind = ""};
    job_t *open = job ? core_job_find(self, job->key) : NULL;
    bool counts = open && core_budget_charges_end(open, report->epoch); /* what is told again the ledger has already */
    bill_t bill = write_use(self, site, job, report, fenced, counts);
    write_transfer(self, site, job, report, fenced, counts, &bill);
    return bill;
}

static void add(uint64_t *sum, uint64_t more)
{
    *sum = more > INT64_MAX - *sum ? INT64_MAX : *sum + more; /* a bigint holds it */
}

/*  Its first start, as the site tells it: of the waits that /metrics shows, each job has one. */
static void has_run(helio_broker_core_t *self, job_t *job, int64_t started_ms)
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
    add(&job->saved_ms, report->saved_run_ms < report->run_ms ? report->saved_run_ms : report->run_ms);
    uint64_t limit_ms = job->submission->row.time_limit_ms;
    job->saved_ms = job->saved_ms < limit_ms ? job->saved_ms : limit_ms;
    if (__builtin_add_overflow(job->used.cost_micro_usd, used->cost_micro_usd, &job->used.cost_micro_usd))
        job->used.cost_micro_usd = used->cost_micro_usd < 0 ? INT64_MIN : INT64_MAX;
    if (report->run_ms)
        has_run(self, job, report->started_wall_ms);
    if (report->started_wall_ms)
        job->started_ms = report->started_wall_ms;
}

/*  Where the job's own end leads, while nothing else was wanted of it. */
static uint32_t outcome_of(job_t *job, const helio_report_t *report)
{
    if (report->limit_reached)
        return HELIO_JOB_TIMEOUT;
    if (report->exit_code == 0)
        return HELIO_JOB_SUCCEEDED;
    if (job->intent == HELIO_INTENT_PREEMPT)
        return HELIO_JOB_QUEUED; /* it did not stand being told to leave: not its own failure */
    job->failures++;
    return job->failures <= job->submission->retries && job->intent != HELIO_INTENT_CANCEL ? HELIO_JOB_QUEUED
                                                                                                : HELIO_JOB_FAILED;
}

/*  OFFERED and ACCEPTED cannot end by themselves: what the reports skipped is caught up first. */
static void catch_up(helio_broker_core_t *self, job_t *job, const char *actor)
{
    if (job->state == HELIO_JOB_OFFERED || job->state == HELIO_JOB_ACCEPTED)
        core_job_change_state(self, job, HELIO_JOB_STARTING, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
    if (job->state == HELIO_JOB_SUSPENDED)
        core_job_change_state(self, job, HELIO_JOB_RUNNING, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
}

/*  The end of the current attempt: its rows, and what the job has used so far. */
static void account_end(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                        bool completes)
{
    bill_t bill = write_end(self, site, job, report, completes, false);
    if (completes)
        core_run_record(self, job, report);
    take_used(self, job, report, &bill.total);
    if (completes && report->run_ms)
        core_baseline_write(self, job, report, &bill);
}

/*  Why it was told to leave, in full; who told it may be forgotten. */
static helio_details_t why_preempted(helio_broker_core_t *self, const job_t *job)
{
    return job->why ? core_why_kept(self, job->why) : CORE_WHY0(self, HELIO_DETAIL_PREEMPTED);
}

static helio_details_t why_ended(helio_broker_core_t *self, const job_t *job, uint32_t to, const helio_report_t *report)
{
    if (to == HELIO_JOB_TIMEOUT)
        return CORE_WHY0(self, HELIO_DETAIL_TIME_LIMIT);
    if (to == HELIO_JOB_QUEUED && job->intent == HELIO_INTENT_PREEMPT)
        return why_preempted(self, job);
    helio_value_t exit_code = helio_value_number(report->exit_code);
    return to == HELIO_JOB_QUEUED ? CORE_WHY(self, HELIO_DETAIL_EXIT_CODE_RETRY, exit_code,
                                             helio_value_number(job->failures),
                                             helio_value_number(job->submission->retries))
                                  : CORE_WHY(self, HELIO_DETAIL_EXIT_CODE, exit_code);
}

static void on_ended(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                     const char *actor)
{
    catch_up(self, job, actor);
    uint32_t to = outcome_of(job, report);
    account_end(self, site, job, report, to != HELIO_JOB_QUEUED);
    job->exit_code = report->exit_code;
    job->finished_ms = report->ended_wall_ms;
    if (job->pool) /* it can run a job to its end */
        job->pool->failures_in_row = 0;
    helio_details_t why = why_ended(self, job, to, report);
    if (to == HELIO_JOB_QUEUED)
        job->finished_ms = 0;
    core_job_change_state(self, job, to, why, actor);
}

/*  Whether the site gives a reason at all. */
static bool gives_reason(const helio_report_t *report)
{
    return report->cause != HELIO_CAUSE_NONE || report->explanation.size || report->reason.size;
}

/*  What the system or the scheduler said there. A text without a cause may be a whole reason: of an older agent. */
static helio_value_t explanation_of(const helio_report_t *report)
{
    bool only_text = report->cause == HELIO_CAUSE_NONE && !report->explanation.size;
    return helio_value_text(only_text ? report->reason : report->explanation);
}

/*  site: "" = it need not be named. A stop's explanation is the broker's own reason, which needs no cause before it. */
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

static void on_stopped(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                       const char *actor)
{
    bool cancelled = job->intent == HELIO_INTENT_CANCEL;
    account_end(self, site, job, report, cancelled);
    if (job->state != HELIO_JOB_STOPPING)
        core_job_change_state(self, job, HELIO_JOB_STOPPING, CORE_WHY0(self, HELIO_DETAIL_STOPPED_BY_SITE), actor);
    helio_details_t why = job->intent == HELIO_INTENT_PREEMPT ? why_preempted(self, job) : why_stopped(self, report);
    if (cancelled) {
        job->exit_code = 130;
        job->finished_ms = report->ended_wall_ms;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, CORE_WHY0(self, HELIO_DETAIL_CANCELLED), actor);
    } else {
        core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
    }
}

static void doubt(const helio_broker_core_t *self, job_class_t *class, pool_t *pool, uint32_t cause)
{
    if (!pool)
        return;
    class->doubtful = pool;
    class->doubtful_until_ms = self->now_ms + DOUBT_MOST_MS;
    if (helio_cause_blame(cause) == HELIO_BLAME_JOB)
        return;
    int64_t for_ms = DOUBT_MS;
    for (uint32_t i = 0; i < pool->failures_in_row && for_ms < DOUBT_MOST_MS; i++)
        for_ms *= 2;
    pool->failures_in_row++;
    pool->doubtful_until_ms = self->now_ms + (for_ms < DOUBT_MOST_MS ? for_ms : DOUBT_MOST_MS);
}

/*  The site could not run it, or lost it: not the job's own doing. Twice, and a person should look. */
static void on_lost(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                    const char *actor)
{
    bool cancelled = job->intent == HELIO_INTENT_CANCEL;
    account_end(self, site, job, report, cancelled);
    helio_details_t why = why_of_site(self, site->name, report);
    if (job->state == HELIO_JOB_STOPPING) {
        job->exit_code = cancelled ? 130 : job->exit_code;
        core_job_change_state(self, job, cancelled ? HELIO_JOB_CANCELLED : HELIO_JOB_QUEUED, why, actor);
        return;
    }
    if (job->state == HELIO_JOB_OFFERED)
        core_job_change_state(self, job, HELIO_JOB_ACCEPTED, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
    if (job->state == HELIO_JOB_SUSPENDED)
        core_job_change_state(self, job, HELIO_JOB_RUNNING, CORE_WHY0(self, HELIO_DETAIL_SEEN_BY_ITS_END), actor);
    if (report->run_ms < QUICK_FAILURE_MS) {
        job->site_failures += report->cause != HELIO_CAUSE_WITHDRAWN;
        doubt(self, job->submission->class, job->pool, report->cause);
    }
    if (job->site_failures < SITE_FAILURES_MAX) {
        core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
        return;
    }
    core_why_add(self, &why, HELIO_DETAIL0(HELIO_DETAIL_HELD_AFTER_FAILURES));
    core_job_change_state(self, job, HELIO_JOB_HELD, why, actor);
}

/*  The epoch is dead at this site; the offer goes back to the queue and the pool rests until it says what it has. */
static void on_refused(helio_broker_core_t *self, job_t *job, const helio_report_t *report, const char *actor)
{
    bool cancelled = job->intent == HELIO_INTENT_CANCEL;
    self->figures.refusals_total++;
    if (job->pool)
        job->pool->penalty_until_ms = self->now_ms + REFUSAL_PENALTY_MS;
    helio_details_t why = why_refused(self, report);
    if (job->state == HELIO_JOB_STOPPING && cancelled) {
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, actor);
    } else if (job->state == HELIO_JOB_STOPPING || job->state == HELIO_JOB_OFFERED) {
        core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
    } else {
        self->figures.illegal_reports_total++; /* it had accepted it: a site that contradicts itself */
    }
}

/*  What it waits for in the queue of its site. No transition: sites say it as often as it changes. */
static void say_wait(helio_broker_core_t *self, job_t *job, const helio_report_t *report)
{
    const helio_details_t why = why_of_site(self, "", report);
    if (!gives_reason(report) || core_why_equal(job->why, &why))
        return;
    core_job_set_why(job, &why);
    core_job_mark_dirty(self, job);
}

/*  ACCEPTED, STARTING, RUNNING, SUSPENDED: forward only; what is behind the known state is a repetition. */
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
    if (to == HELIO_JOB_RUNNING && report->started_wall_ms) {
        job->started_ms = report->started_wall_ms;
        has_run(self, job, report->started_wall_ms);
    }
    helio_details_t why = gives_reason(report) ? why_of_site(self, "", report)
                                               : core_stated(self, helio_job_state_edge_why(job->state, to));
    core_job_change_state(self, job, to, why, actor);
    if (to == HELIO_JOB_RUNNING)
        core_budget_started(self, job);
}

/*  Dead attempts are the one thing that a site can speak of without end. Beyond what an honest site can have to say its
 *  evidence is passed over: the rows of one that floods must not keep everybody's commits waiting. */
static bool evidence_is_affordable(helio_broker_core_t *self, site_t *site, const helio_report_t *report)
{
    int64_t earned = (self->now_ms - site->evidence_ms) / 1000 * EVIDENCE_ROWS_PER_S;
    site->evidence_rows = site->evidence_rows > earned ? site->evidence_rows - earned : 0;
    site->evidence_ms += (self->now_ms - site->evidence_ms) / 1000 * 1000;
    uint64_t hours = report->run_ms / 3600000 + 2;
    int64_t rows = 2 + (int64_t)(hours < EVIDENCE_HOURS_MAX ? hours : EVIDENCE_HOURS_MAX + 1);
    if (site->evidence_rows + rows > EVIDENCE_ROWS_MAX) {
        self->figures.illegal_reports_total++;
        return false;
    }
    site->evidence_rows += rows;
    return true;
}

static void take_report(helio_broker_core_t *self, site_t *site, const helio_report_t *said, const char *actor)
{
    helio_report_t kept = bounded(self, said);
    const helio_report_t *report = &kept;
    job_t *job = core_job_find(self, report->key);
    bool current = job && job->site == site && job->epoch == report->epoch;
    if (job && core_report_cut(self, job, current, &kept))
        self->figures.illegal_reports_total++;
#ifdef HELIO_MUTANT_epoch_ignored
    current = job && job->site;
#endif
#ifdef HELIO_MUTANT_completion_twice
    current = job && job->epoch == report->epoch;
#endif
    if (!current) {
        self->figures.stale_reports_total++;
        if (can_be_evidence(site, job, report) && evidence_is_affordable(self, site, report))
            (void)write_end(self, site, job, report, false, true);
        return;
    }
    if (job->state == HELIO_JOB_SUSPECT)
        core_job_change_state(self, job, job->before, CORE_WHY0(self, HELIO_DETAIL_SITE_BACK), actor);
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
    for (uint32_t i = 0; i < event->reports.count; i++) {
        take_report(self, site, &event->reports.items[i], actor);
        seq = event->reports.items[i].seq > seq ? event->reports.items[i].seq : seq;
    }
    helio_fx_reports_ack_t ack = {event->peer, seq};
    core_emit(self, HELIO_BROKER_FX_REPORTS_ACK, &ack);
}
