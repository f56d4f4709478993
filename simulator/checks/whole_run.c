/*  whole_run.c -- the promises on a run as a whole, checked when every job is over. */
#include "simulator/checks/internal.h"
#include "simulator/daemons/agent.h"
#include "simulator/workload/hours.h"

enum {
    ESTIMATE_MS = 1000,
    ESTIMATE_PART = 100,
    REPORTED_LATE_MS = 65000, /* silent_after, and its check: later, the site counts as silent */
    CLOCKS_APART_MS =
        120000 /* the leader that saw the start, and the one that estimates: 60 s each (sim_broker_start) */
};

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
        unsatisfiable = unsatisfiable || !checks_has_come(self, &job->afters[i], state->key.task);
    bool cancelled = (unsatisfiable || job->cancel_ms) && state->state == HELIO_JOB_CANCELLED;
    if (unsatisfiable && (state->state != HELIO_JOB_CANCELLED || state->epoch))
        sim_violate(self->engine, "%s is %s after %u attempts, although its dependencies were never satisfied", key,
                    helio_job_state_name(state->state), state->epoch);
    if (!cancelled && state->state != want)
        sim_violate(self->engine, "%s is %s, its program says %s", key, helio_job_state_name(state->state),
                    helio_job_state_name(want));
    int32_t code = cancelled ? 130 : job->limit_hits ? 124 : (int32_t)job->exit_code;
    if (state->exit_code != code)
        sim_violate(self->engine, "%s has exit code %d, its program says %d", key, state->exit_code, code);
    if (!cancelled && sim_database_completions(self->database, state->key) != 1)
        sim_violate(self->engine, "%s has %u completions", key, sim_database_completions(self->database, state->key));
}

/*  Three sums must be equal: the job's own, the ledger's, and the one that was compared with its baselines. */
static void check_use(sim_checks_t *self, const helio_row_state_t *state)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(state->key, key);
    sim_database_use_t use = sim_database_use(self->database, state->key);
    if (use.gpu_ms != state->gpu_ms || use.energy_j != state->energy_j || use.carbon_mg != state->carbon_mg ||
        use.cost_micro_usd != (int64_t)state->cost_micro_usd)
        sim_violate(self->engine, "%s used %llu J and %llu mg by its state, %llu J and %llu mg by the ledger", key,
                    (unsigned long long)state->energy_j, (unsigned long long)state->carbon_mg,
                    (unsigned long long)use.energy_j, (unsigned long long)use.carbon_mg);
    bool ended =
        state->state == HELIO_JOB_SUCCEEDED || state->state == HELIO_JOB_FAILED || state->state == HELIO_JOB_TIMEOUT;
    if (ended && state->gpu_ms && !sim_database_is_compared(self->database, state->key))
        sim_violate(self->engine, "%s completed and has no baselines", key);
}

/*  The price must be the site's own. An intensity that is not an estimate must be that of the site in that hour. */
static void check_hourly_price(void *arg, const helio_row_hourly_price_t *hourly_price)
{
    sim_checks_t *self = arg;
    for (uint32_t site = 0; site < self->federation->site_count; site++) {
        const helio_site_profile_t *profile = &self->federation->profiles[site];
        if (!helio_text_equal(hourly_price->site, profile->name))
            continue;
        double truth = (double)sim_hours_truth(self->engine, site, hourly_price->hour_ms),
               carbon = hourly_price->carbon_g_per_kwh;
        if (!hourly_price->carbon_estimated && (carbon < truth || carbon >= truth + SIM_NOISE_G))
            sim_violate(self->engine, "an hour at %s is priced at %g g/kWh instead of %g", profile->name.data, carbon,
                        truth);
        const helio_pool_t *pool = &profile->pools.items[0];
        if (hourly_price->pool.size && (hourly_price->price_usd_per_gpu_h != pool->price_usd_per_gpu_h ||
                                        hourly_price->watts_per_gpu != pool->host_w + pool->base_w + pool->slope_w))
            sim_violate(self->engine, "an hour at %s is priced with another site's values", profile->name.data);
    }
}

static void check_task(void *arg, helio_job_key_t key, const helio_row_job_t *row)
{
    tally_t *tally = arg;
    sim_database_state_t state = sim_database_state(tally->checks->database, key);
    tally->states[state.row.state]++;
    check_end(tally->checks, sim_workload_of(tally->checks->workload, row->source), &state.row);
    check_use(tally->checks, &state.row);
}

/*  A run whose end was observed is charged exactly, also if it had been given up before; a killed one within a second
 *  and a percent: its last sign of life. A run without evidence is not charged for longer than it can have seemed to
 *  run. */
static void check_charged(sim_checks_t *self, const sim_run_t *run)
{
    uint64_t charged = sim_database_ledger_gpu_ms(self->database, run->id.key, run->id.epoch);
    uint64_t used = run->run_ms * run->gpus;
    /* A site that lost its journal may not know an attempt, or not its length: then the broker estimates. */
    bool forgotten = run->orphan || sim_agent_has_forgotten(self->federation->agents[run->site]);
    bool given_up = sim_database_was_given_up(self->database, run->id.key, run->id.epoch);
    uint64_t apart = charged > used ? charged - used : used - charged;
    uint64_t slack = run->lost ? (uint64_t)ESTIMATE_MS * run->gpus + used / ESTIMATE_PART : 0;
    bool seemed = apart <= (uint64_t)(REPORTED_LATE_MS + CLOCKS_APART_MS) * run->gpus;
    if (forgotten && (given_up || charged < used || seemed)) /* attested.c bounds what was given up */
        return;
    if (!forgotten && (!given_up || run->lost) && apart <= slack) /* of a killed one the site may tell no more */
        return;
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(run->id.key, key);
    sim_violate(self->engine, "%s epoch %u used %llu GPU-ms, the ledger has %llu%s", key, run->id.epoch,
                (unsigned long long)used, (unsigned long long)charged, given_up ? ", by estimate" : "");
}

void checks_rest(sim_checks_t *self)
{
    tally_t tally = {.checks = self};
    sim_database_each_task(self->database, check_task, &tally);
    sim_database_each_hourly_price(self->database, check_hourly_price, self);
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++)
        if (!sim_database_has_job(self->database, sim_workload_job(self->workload, i)->id))
            sim_violate(self->engine, "an accepted job is lost");
    for (const sim_run_t *run = sim_backend_runs(self->federation->backend); run; run = run->hh.next) {
        char key[HELIO_KEY_SIZE];
        helio_job_key_text(run->id.key, key);
        if (run->running && !run->orphan) /* what no agent can find ends by itself, also after its job's end */
            sim_violate(self->engine, "%s epoch %u still runs", key, run->id.epoch);
        check_charged(self, run);
    }
    uint32_t open = 0;
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        if (!helio_job_state_is_terminal(s))
            open += (uint32_t)tally.states[s];
    if (open)
        sim_violate(self->engine, "%u jobs are not over", open);
}
