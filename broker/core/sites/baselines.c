/*  baselines.c -- what a finished job would have used under the two baselines, priced like its own run. */
#include "broker/core/sites/baselines.h"

#include "broker/core/forecast/prices.h"
#include "broker/core/forecast/transfers.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "federation/energy/power.h"

/*  The first pool of the site that could hold the job, by its preferred GPU; NULL = none. */
static pool_t *pool_that_fits(const job_t *job, site_t *site, helio_text_t name, uint32_t *ret_gpus)
{
    const helio_requirement_t *want = &job->submission->class->want;
    pool_t *best = NULL;
    uint32_t best_ask = UINT32_MAX;
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        if (name.size && !helio_text_equal(pool->info.name, name))
            continue;
        helio_candidate_t c = helio_choice_filter(want, &site->profile, &pool->info);
        if (c.rejection != HELIO_REJECTION_NONE || c.ask >= best_ask)
            continue;
        best = pool;
        best_ask = c.ask;
        *ret_gpus = c.gpus_per_node * want->nodes;
    }
    return best;
}

/*  Adds the transfer of its data there, by the catalogue and the links as they are. */
static void charge_transfer(helio_broker_core_t *self, const job_t *job, const site_t *site, const pool_t *pool,
                            int64_t start_ms, bill_t *bill)
{
    bool no_link;
    helio_transfer_t transfer = core_transfer(self, &job->submission->class->want, site, pool, start_ms, &no_link);
    core_transfer_charge(&bill->total, &transfer);
}

/*  Measured energy applies to the same GPU model only. Otherwise the model is used, with the power of the job's own
 *  pool if that of the other pool is unknown. */
static bill_t bill_of(helio_broker_core_t *self, site_t *site, pool_t *pool, uint32_t gpus, int64_t start_ms,
                      const pool_t *own, const helio_report_t *report)
{
    bool alike = own && helio_text_equal(own->info.gpu, pool->info.gpu);
    double watts = own ? helio_pool_watts(&own->info, 1) : 0;
    return core_bill(self, site, pool, start_ms, report->run_ms, report->run_ms * gpus, alike ? report->energy_j : 0,
                     (bill_terms_t){.watts_or = watts});
}

static const char *common_kind(const bill_t *a, const bill_t *b)
{
    if (!a->carbon_kind[0] || !b->carbon_kind[0])
        return "";
    return helio_text_is(helio_text_of(a->carbon_kind), b->carbon_kind) ? a->carbon_kind : "mixed";
}

static uint64_t wait_ms(int64_t since_ms, int64_t until_ms)
{
    return until_ms > since_ms ? (uint64_t)(until_ms - since_ms) : 0;
}

void core_baseline_write(helio_broker_core_t *self, const job_t *job, const helio_report_t *report, const bill_t *bill)
{
    int64_t submitted_ms = job->submission->row.submitted_ms;
    helio_row_baseline_t row = {
        .key = job->key,
        .tenant = job->submission->row.tenant,
        .ended_ms = report->ended_wall_ms ? report->ended_wall_ms : self->wall_ms,
        .run_ms = report->run_ms,
        .wait_ms = wait_ms(submitted_ms, report->started_wall_ms),
        .energy_j = job->used.energy_j,
        .carbon_mg = job->used.carbon_mg,
        .cost_micro_usd = job->used.cost_micro_usd,
        .estimated = bill->estimated || report->estimated,
    };
    uint32_t gpus = 0;
    site_t *home = core_site_find(self, job->submission->class->want.home);
    pool_t *pool = home ? pool_that_fits(job, home, (helio_text_t){0}, &gpus) : NULL;
    if (pool) {
        bill_t there = bill_of(self, home, pool, gpus, submitted_ms, job->pool, report);
        charge_transfer(self, job, home, pool, submitted_ms, &there);
        row.home_site = helio_text_of(home->name);
        row.home_energy_j = there.total.energy_j;
        row.home_carbon_mg = there.total.carbon_mg;
        row.home_cost_micro_usd = there.total.cost_micro_usd;
        row.home_carbon_kind = helio_text_of(common_kind(bill, &there));
        row.estimated = row.estimated || there.estimated;
    }
    site_t *earliest = job->last ? job->last->earliest : NULL;
    pool = earliest ? pool_that_fits(job, earliest, helio_text_of(job->last->earliest_pool), &gpus) : NULL;
    if (pool) {
        bill_t there = bill_of(self, earliest, pool, gpus, job->last->earliest_ms, job->pool, report);
        charge_transfer(self, job, earliest, pool, job->last->earliest_ms, &there);
        row.earliest_site = helio_text_of(earliest->name);
        row.earliest_wait_ms = wait_ms(submitted_ms, job->last->earliest_ms);
        row.earliest_energy_j = there.total.energy_j;
        row.earliest_carbon_mg = there.total.carbon_mg;
        row.earliest_cost_micro_usd = there.total.cost_micro_usd;
        row.earliest_carbon_kind = helio_text_of(common_kind(bill, &there));
        row.estimated = row.estimated || there.estimated;
    }
    core_emit(self, HELIO_BROKER_FX_ROW_BASELINE, &row);
}

void core_baseline_load(helio_broker_core_t *self, const helio_row_earliest_start_t *row)
{
    job_t *job = core_job_find(self, row->key);
    site_t *site = core_site_find(self, row->site);
    if (!job || !site)
        return;
    if (!job->last)
        job->last = helio_new(1, sizeof *job->last);
    job->last->earliest = site;
    (void)helio_text_copy(row->pool, job->last->earliest_pool, sizeof job->last->earliest_pool);
    job->last->earliest_ms = row->at_ms;
}
