/*  rest.c -- the promises on a run as a whole, checked when every job is over. */
#include "simulator/checks/internal.h"
#include "simulator/workload/hours.h"

typedef struct tally {
    sim_checks_t *checks;
    uint64_t states[HELIO_JOB_STATE_COUNT];
} tally_t;

static void check_end(sim_checks_t *self, const sim_job_t *job, const helio_row_state_t *state)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(state->key, key);
    uint32_t want = job->limit_hits ? HELIO_JOB_TIMEOUT : job->exit_code ? HELIO_JOB_FAILED : HELIO_JOB_SUCCEEDED;
    bool unsatisfiable = false;
    for (uint32_t i = 0; i < job->after_count; i++)
        unsatisfiable = unsatisfiable || !checks_has_come(self, &job->afters[i]);
    bool cancelled = (unsatisfiable || job->cancel_ms) && state->state == HELIO_JOB_CANCELLED;
    if (unsatisfiable && (state->state != HELIO_JOB_CANCELLED || state->epoch))
        sim_violate(self->engine, "%s is %s after %u attempts, and what it waited for never came", key,
                    helio_job_state_name(state->state), state->epoch);
    if (!cancelled && state->state != want)
        sim_violate(self->engine, "%s is %s, its program says %s", key, helio_job_state_name(state->state),
                    helio_job_state_name(want));
    int32_t code = cancelled ? 130 : job->limit_hits ? 124 : (int32_t)job->exit_code;
    if (state->exit_code != code)
        sim_violate(self->engine, "%s has exit code %d, its program says %d", key, state->exit_code, code);
    if (!cancelled && helio_vdb_completions(self->vdb, state->key) != 1)
        sim_violate(self->engine, "%s has %u completions", key, helio_vdb_completions(self->vdb, state->key));
}

/*  The job's own sums, the ledger's and those that its baselines were held against are one. */
static void check_use(sim_checks_t *self, const helio_row_state_t *state)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(state->key, key);
    helio_vdb_use_t use = helio_vdb_use(self->vdb, state->key);
    if (use.gpu_ms != state->gpu_ms || use.energy_j != state->energy_j || use.carbon_mg != state->carbon_mg ||
        use.cost_micro_usd != (int64_t)state->cost_micro_usd)
        sim_violate(self->engine, "%s used %llu J and %llu mg by its state, %llu J and %llu mg by the ledger", key,
                    (unsigned long long)state->energy_j, (unsigned long long)state->carbon_mg,
                    (unsigned long long)use.energy_j, (unsigned long long)use.carbon_mg);
    bool ended =
        state->state == HELIO_JOB_SUCCEEDED || state->state == HELIO_JOB_FAILED || state->state == HELIO_JOB_TIMEOUT;
    if (ended && state->gpu_ms && !helio_vdb_is_compared(self->vdb, state->key))
        sim_violate(self->engine, "%s ran to its end and has no baselines", key);
}

/*  A price is the site's own, and an intensity that is no estimate is that of the site in that very hour. */
static void check_hourly_price(void *arg, const helio_row_hourly_price_t *hourly_prices)
{
    sim_checks_t *self = arg;
    for (uint32_t site = 0; site < self->federation->site_count; site++) {
        const helio_site_profile_t *profile = &self->federation->profiles[site];
        if (!helio_text_equal(hourly_prices->site, profile->name))
            continue;
        double truth = (double)sim_hours_truth(self->engine, site, hourly_prices->hour_ms),
               carbon = hourly_prices->carbon_g_per_kwh;
        if (!hourly_prices->carbon_estimated && (carbon < truth || carbon >= truth + SIM_NOISE_G))
            sim_violate(self->engine, "an hour at %s is priced by %g g/kWh, and had %g", profile->name.data, carbon,
                        truth);
        const helio_pool_t *pool = &profile->pools.items[0];
        if (hourly_prices->pool.size && (hourly_prices->price_usd_per_gpu_h != pool->price_usd_per_gpu_h ||
                                 hourly_prices->watts_per_gpu != pool->host_w + pool->base_w + pool->slope_w))
            sim_violate(self->engine, "an hour at %s is priced as of another site", profile->name.data);
    }
}

static void check_task(void *arg, helio_job_key_t key, const helio_row_job_t *row)
{
    tally_t *tally = arg;
    helio_vdb_state_t state = helio_vdb_state(tally->checks->vdb, key);
    tally->states[state.row.state]++;
    check_end(tally->checks, sim_workload_of(tally->checks->workload, row->source), &state.row);
    check_use(tally->checks, &state.row);
}

void checks_rest(sim_checks_t *self)
{
    tally_t tally = {.checks = self};
    helio_vdb_each_task(self->vdb, check_task, &tally);
    helio_vdb_each_hourly_price(self->vdb, check_hourly_price, self);
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++)
        if (!helio_vdb_has_job(self->vdb, sim_workload_job(self->workload, i)->id))
            sim_violate(self->engine, "an accepted job is lost");
    for (const sim_run_t *run = sim_backend_runs(self->federation->backend); run; run = run->hh.next) {
        char key[HELIO_KEY_SIZE];
        helio_job_key_text(run->id.key, key);
        uint64_t booked = helio_vdb_ledger_gpu_ms(self->vdb, run->id.key, run->id.epoch);
        uint64_t used = run->run_ms * run->gpus;
        if (run->running)
            sim_violate(self->engine, "%s epoch %u still runs", key, run->id.epoch);
        if (booked != used)
            sim_violate(self->engine, "%s epoch %u used %llu GPU-ms, the ledger has %llu", key, run->id.epoch,
                        (unsigned long long)used, (unsigned long long)booked);
    }
    uint32_t open = 0;
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        if (!helio_job_state_is_terminal(s))
            open += (uint32_t)tally.states[s];
    if (open)
        sim_violate(self->engine, "%u jobs are not over", open);
}
