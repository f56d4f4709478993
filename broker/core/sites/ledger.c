/*  ledger.c -- the rows of an attempt that is over: the attempt itself, and the ledger of what it used. */
#include "broker/core/sites/ledger.h"

#include <string.h>

#include "broker/core/forecast/transfers.h"
#include "broker/core/sites/estimates.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "federation/base/number.h"

/*  The end that is written. */
typedef struct ending {
    site_t *site;
    const job_t *job; /* NULL = it is over */
    const helio_report_t *report;
    pool_t *pool;
    helio_attempt_basis_t basis;
    uint64_t hours_max;        /* that its use is spread over */
    double rent_most;          /* use_limits_t */
    bool counts;               /* budgets were not charged with it */
    helio_row_ledger_t common; /* what each of its rows says, whatever it accounts for */
} ending_t;

static bool is_newest(const job_t *job, const helio_report_t *report)
{
    return job && job->epoch == report->epoch;
}

/*  Where an old attempt ran, if its pool is not known: in the site's first pool that could have held it, because its use must
 *  not be free of charge. */
static pool_t *pool_of_evidence(const site_t *site, helio_text_t name, const job_t *job, const helio_report_t *report)
{
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        if (name.size && helio_text_equal(pool->info.name, name))
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

/*  A guessed pool gives a price, but no name. */
static helio_row_ledger_t common_of(const ending_t *end, bool fenced)
{
    const job_t *job = end->job;
    const pool_t *known = is_newest(job, end->report) ? end->pool : NULL;
    return (helio_row_ledger_t){
        .key = end->report->key,
        .epoch = end->report->epoch,
        .tenant = job ? job->submission->row.tenant : (helio_text_t){0},
        .site = helio_text_of(end->site->name),
        .pool = known ? known->info.name : (helio_text_t){0},
        .gpu_model = known ? known->info.gpu : (helio_text_t){0},
        .queue = job ? job->submission->row.queue : (helio_text_t){0},
        .fenced = fenced,
        .estimated = end->report->estimated,
    };
}

static void write_row(helio_broker_core_t *self, const ending_t *end, const helio_row_ledger_t *row)
{
    core_emit(self, HELIO_BROKER_FX_ROW_LEDGER, row);
    if (end->counts)
        core_budget_charge(self, row);
    if (row->part == HELIO_LEDGER_ESTIMATE)
        core_estimate_note(self, row);
}

/*  Writes rows of the use by the hour, each with the price of its hour. */
static bill_t write_use(helio_broker_core_t *self, const ending_t *end)
{
    static const uint32_t parts[] = {
        [HELIO_ATTEMPT_REPORTED] = HELIO_LEDGER_USE,
        [HELIO_ATTEMPT_GIVEN_UP] = HELIO_LEDGER_ESTIMATE,
        [HELIO_ATTEMPT_CORRECTED] = HELIO_LEDGER_MEASURED,
    };
    const helio_report_t *report = end->report;
    uint64_t spread_ms = helio_lesser_u64(report->run_ms, end->hours_max * UINT64_C(3600000));
    bill_t bill = core_bill(self, end->site, end->pool, report->started_wall_ms, spread_ms, report->gpu_ms,
                            report->energy_j, (bill_terms_t){.rent_most = end->rent_most});
    for (uint32_t i = 0; i < bill.count; i++) {
        const helio_account_slice_t *slice = &bill.slices[i];
        helio_row_ledger_t row = end->common;
        row.hour_ms = slice->hour_ms;
        row.gpu_ms = slice->use.gpu_ms;
        row.energy_j = slice->use.energy_j;
        row.carbon_mg = slice->use.carbon_mg;
        row.cost_micro_usd = slice->use.cost_micro_usd;
        row.provenance = report->energy_j     ? HELIO_TEXT("measured")
                         : bill.power_assumed ? HELIO_TEXT("assumed")
                                              : HELIO_TEXT("model");
        row.hourly_price_id = bill.hourly_price_ids[i];
        row.part = parts[end->basis];
        write_row(self, end, &row);
    }
    return bill;
}

/*  The transfer of its placement. For an older attempt only the data is known, so the catalogue as it is now counts. */
static helio_transfer_t transfer_of(helio_broker_core_t *self, const ending_t *end)
{
    bool no_link;
    const job_t *job = end->job;
    if (!job || !job->submission->class->want.data.count)
        return (helio_transfer_t){0};
    if (is_newest(job, end->report) && job->last)
        return job->last->transfer;
    return core_transfer(self, &job->submission->class->want, end->site, end->pool, end->report->started_wall_ms,
                         &no_link);
}

/*  One row for each attempt, in the hour of its start. */
static void write_transfer(helio_broker_core_t *self, const ending_t *end, bill_t *bill)
{
    helio_transfer_t transfer = transfer_of(self, end);
    if (!bill->count || (!transfer.egress_micro_usd && !transfer.energy_j))
        return;
    helio_row_ledger_t row = end->common;
    row.hour_ms = bill->slices[0].hour_ms;
    row.energy_j = transfer.energy_j;
    row.carbon_mg = transfer.carbon_mg;
    row.cost_micro_usd = transfer.egress_micro_usd;
    row.provenance = HELIO_TEXT("transfer");
    row.hourly_price_id = bill->hourly_price_ids[0];
    row.part = HELIO_LEDGER_TRANSFER;
    write_row(self, end, &row);
    core_transfer_charge(&bill->total, &transfer);
}

static void write_attempt(helio_broker_core_t *self, const ending_t *end, bool completes)
{
    const helio_report_t *report = end->report;
    helio_row_attempt_t attempt = {
        .key = report->key,
        .epoch = report->epoch,
        .site = helio_text_of(end->site->name),
        .kind = report->kind,
        .completes = completes,
        .fenced = end->common.fenced,
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
        .basis = end->basis,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
}

/*  A report that is repeated is in the ledger already. One of an attempt that this site is not known to have had is
 *  only in the ledger if the store finds its placement, and a new leader reads it there. */
static bool counts(helio_broker_core_t *self, const ending_t *end)
{
    const helio_report_t *report = end->report;
    job_t *open = end->job && report->run_ms ? core_job_find(self, end->job->key) : NULL;
#ifndef HELIO_MUTANT_invented_end_is_charged
    if (!open || !is_newest(open, report) || strcmp(core_job_site(open), end->site->name) != 0)
        return false;
#endif
    return open && core_budget_charges_end(open, report->epoch);
}

static bill_t write_uncorrected(helio_broker_core_t *self, ending_t *end, bool completes, bool fenced)
{
    end->counts = counts(self, end);
    end->common = common_of(end, fenced);
    write_attempt(self, end, completes);
    if (!end->report->run_ms)
        return (bill_t){.carbon_kind = ""};
    bill_t bill = write_use(self, end);
    write_transfer(self, end, &bill);
    return bill;
}

/*  Of an attempt that was given up. Its transfer was charged with its estimate, if it has one. */
static void write_corrected(helio_broker_core_t *self, ending_t *end, estimate_t *estimate)
{
    const uint32_t hours = core_estimate_hours(estimate);
    job_t *open = core_job_find(self, end->report->key);
    if (open && is_newest(open, end->report))
        (void)core_budget_charges_end(open, end->report->epoch);
    end->counts = true;
    end->basis = hours ? HELIO_ATTEMPT_CORRECTED : HELIO_ATTEMPT_REPORTED;
    end->common.fenced = true;
    write_attempt(self, end, false);
    end->common = core_estimate_reverse(self, estimate);
    end->common.estimated = end->report->estimated;
    end->pool = pool_of_evidence(end->site, end->common.pool, end->job, end->report);
    end->hours_max = hours + CORE_EVIDENCE_HOURS_MAX;
    bill_t bill = write_use(self, end);
    if (!hours)
        write_transfer(self, end, &bill);
}

bill_t core_ledger_write_end(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report,
                             bool completes)
{
    ending_t end = {.site = site,
                    .job = job,
                    .report = report,
                    .pool = job->pool,
                    .basis = HELIO_ATTEMPT_REPORTED,
                    .hours_max = UINT32_MAX,
                    .rent_most = core_use_limits(job, true).rent_most};
    return write_uncorrected(self, &end, completes, false);
}

void core_ledger_write_given_up(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report)
{
    ending_t end = {.site = site,
                    .job = job,
                    .report = report,
                    .pool = job->pool,
                    .basis = HELIO_ATTEMPT_GIVEN_UP,
                    .hours_max = UINT32_MAX,
                    .rent_most = core_use_limits(job, true).rent_most};
    core_ledger_leave_open(self, site, job, report);
    (void)write_uncorrected(self, &end, false, true);
}

void core_ledger_leave_open(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report)
{
    const ending_t end = {.site = site, .job = job, .report = report, .pool = job->pool};
    const helio_row_ledger_t common = common_of(&end, true);
    const use_limits_t limits = core_use_limits(job, true);
    core_estimate_begin(self, &common, &limits);
}

/*  The number of old attempts that a site can report is unlimited, so each gets a few rows only. */
void core_ledger_write_evidence(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report)
{
    helio_text_t name = is_newest(job, report) ? helio_text_of(core_job_pool(job)) : (helio_text_t){0};
    ending_t end = {.site = site,
                    .job = job,
                    .report = report,
                    .basis = HELIO_ATTEMPT_REPORTED,
                    .hours_max = CORE_EVIDENCE_HOURS_MAX,
                    .rent_most = job ? core_use_limits(job, false).rent_most : 0};
    estimate_t *estimate = core_estimate_find(self, site, report);
    if (estimate) {
        use_limits_t limits;
        if (core_estimate_limits(self, site, report, &limits))
            end.rent_most = limits.rent_most;
        helio_report_t believed = *report;
        core_estimate_bound(self, estimate, &believed);
        end.report = &believed;
        write_corrected(self, &end, estimate);
        return;
    }
    end.pool = pool_of_evidence(site, name, job, report);
    (void)write_uncorrected(self, &end, false, true);
}
