/*  invariants.c -- the promises, one sentence each. Checked after every step, and once more when all is over. */
#include <string.h>

#include "simulator/internal.h"

static bool slots_clash(const run_t *a, const run_t *b)
{
    for (uint32_t i = 0; i < a->slot_count; i++)
        for (uint32_t k = 0; k < b->slot_count; k++)
            for (uint32_t g = 0; a->slots[i].node == b->slots[k].node && g < a->slots[i].gpus.count; g++)
                for (uint32_t h = 0; h < b->slots[k].gpus.count; h++)
                    if (a->slots[i].gpus.items[g] == b->slots[k].gpus.items[h])
                        return true;
    return false;
}

static void check_pair(world_t *self, const run_t *a, const run_t *b)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(a->id.key, key);
    if (a->site == b->site && slots_clash(a, b))
        world_violate(self, "two attempts hold one GPU of %s: %s and another", self->profiles[a->site].name.data, key);
    /* eager may overlap by its own choice; strict and lease never */
    if (helio_job_key_equal(a->id.key, b->id.key) && a->on_site_loss != HELIO_SITE_LOSS_EAGER)
        world_violate(self, "two copies of %s run at once: epochs %u and %u", key, a->id.epoch, b->id.epoch);
}

void invariants_check(world_t *self)
{
    if (helio_vdb_violation(self->vdb)[0])
        world_violate(self, "%s", helio_vdb_violation(self->vdb));
    const run_t *running[64];
    uint32_t count = 0;
    for (const run_t *run = self->runs; run; run = run->hh.next) {
        if (run->times > 1)
            world_violate(self, "an attempt was started twice");
        if (run->running && count < sizeof running / sizeof running[0])
            running[count++] = run;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            check_pair(self, running[i], running[k]);
}

/*  True: as it wished, the job that it waits for has ended. */
static bool has_come(const world_t *self, const wafter_t *after)
{
    helio_found_t found = helio_vdb_found(self->vdb, workload_on(self, after));
    return found != HELIO_FOUND_OPEN && found != (after->after == HELIO_AFTER_OK       ? HELIO_FOUND_NOT_OK
                                                  : after->after == HELIO_AFTER_NOT_OK ? HELIO_FOUND_OK
                                                                                       : HELIO_FOUND_OPEN);
}

static bool has_begun(const world_t *self, const wjob_t *job)
{
    const helio_u32s_t *tasks = &job->submission.spec.tasks;
    for (uint32_t i = 0; i < tasks->count; i++)
        if (helio_vdb_has_placement(self->vdb, (helio_job_key_t){job->given, (int32_t)tasks->items[i]}, 1))
            return true;
    return false;
}

/*  Nothing is expected to take longer than it may, and nothing starts that would most likely end too late. */
static void check_expected(world_t *self, const wjob_t *job, const helio_row_placement_t *row, int64_t wall_ms)
{
    int64_t deadline_ms = job->deadline_ms;
    if (!row->expected_ms || row->expected_ms > row->expected_high_ms || row->expected_high_ms > job->limit_ms)
        world_violate(self, "a run of at most %llu ms is expected to take %llu to %llu",
                      (unsigned long long)job->limit_ms, (unsigned long long)row->expected_ms,
                      (unsigned long long)row->expected_high_ms);
    if (deadline_ms && wall_ms + (int64_t)row->expected_high_ms > deadline_ms)
        world_violate(self, "a job was placed that is expected to end %lld ms after its deadline",
                      (long long)(wall_ms + (int64_t)row->expected_high_ms - deadline_ms));
    if (row->expected_high_ms < job->limit_ms)
        self->foreseen++;
    if (deadline_ms && wall_ms + (int64_t)job->limit_ms > deadline_ms)
        self->admitted++;
}

/*  By the clock of the leader that decides. The other tasks of an array that has begun do not wait again for the next
 *  one's. */
void invariants_placement(world_t *self, const helio_row_placement_t *row, int64_t wall_ms)
{
    for (uint32_t i = 0; i < self->job_count; i++) {
        const wjob_t *job = &self->jobs[i];
        if (helio_uuid_equal(job->given, row->key.job))
            check_expected(self, job, row, wall_ms);
        if (row->epoch == 1 && helio_uuid_equal(job->given, row->key.job) &&
            wall_ms < job->submission.spec.not_before_wall_ms && !has_begun(self, job))
            world_violate(self, "a job was placed %lld ms before its time",
                          (long long)(job->submission.spec.not_before_wall_ms - wall_ms));
    }
}

void invariants_order(world_t *self, const helio_order_t *order)
{
    if (!helio_vdb_has_placement(self->vdb, order->key, order->epoch))
        world_violate(self, "an order left before its placement was durable");
    const wjob_t *job = workload_of(self, order->source);
    for (uint32_t i = 0; i < job->after_count; i++)
        if (!has_come(self, &job->afters[i]))
            world_violate(self, "an order left before the gate of its job was open");
}

typedef struct tally {
    world_t *world;
    uint64_t states[HELIO_JOB_STATE_COUNT];
} tally_t;

static void check_end(world_t *self, const wjob_t *job, const helio_row_state_t *state)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(state->key, key);
    uint32_t want = job->limit_hits ? HELIO_JOB_TIMEOUT : job->exit_code ? HELIO_JOB_FAILED : HELIO_JOB_SUCCEEDED;
    bool in_vain = false;
    for (uint32_t i = 0; i < job->after_count; i++)
        in_vain = in_vain || !has_come(self, &job->afters[i]);
    bool cancelled = (in_vain || job->cancel_ms) && state->state == HELIO_JOB_CANCELLED;
    if (in_vain && (state->state != HELIO_JOB_CANCELLED || state->epoch))
        world_violate(self, "%s is %s after %u attempts, and what it waited for never came", key,
                      helio_job_state_word(state->state), state->epoch);
    if (!cancelled && state->state != want)
        world_violate(self, "%s is %s, its program says %s", key, helio_job_state_word(state->state),
                      helio_job_state_word(want));
    int32_t code = cancelled ? 130 : job->limit_hits ? 124 : (int32_t)job->exit_code;
    if (state->exit_code != code)
        world_violate(self, "%s has exit code %d, its program says %d", key, state->exit_code, code);
    if (!cancelled && helio_vdb_completions(self->vdb, state->key) != 1)
        world_violate(self, "%s has %u completions", key, helio_vdb_completions(self->vdb, state->key));
}

/*  The job's own sums, the ledger's and those that its baselines were held against are one. */
static void check_use(world_t *self, const helio_row_state_t *state)
{
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(state->key, key);
    helio_vdb_use_t use = helio_vdb_use(self->vdb, state->key);
    if (use.gpu_ms != state->gpu_ms || use.energy_j != state->energy_j || use.carbon_mg != state->carbon_mg ||
        use.cost_micro_usd != (int64_t)state->cost_micro_usd)
        world_violate(self, "%s used %llu J and %llu mg by its state, %llu J and %llu mg by the ledger", key,
                      (unsigned long long)state->energy_j, (unsigned long long)state->carbon_mg,
                      (unsigned long long)use.energy_j, (unsigned long long)use.carbon_mg);
    bool ended = state->state == HELIO_JOB_SUCCEEDED || state->state == HELIO_JOB_FAILED ||
                 state->state == HELIO_JOB_TIMEOUT;
    if (ended && state->gpu_ms && !helio_vdb_is_compared(self->vdb, state->key))
        world_violate(self, "%s ran to its end and has no baselines", key);
}

/*  A price is the site's own, and an intensity that is no estimate is that of the site in that very hour. */
static void check_rates(void *arg, const helio_row_rates_t *rates)
{
    world_t *self = arg;
    for (uint32_t site = 0; site < self->site_count; site++) {
        const helio_site_profile_t *profile = &self->profiles[site];
        if (!helio_text_equal(rates->site, profile->name))
            continue;
        double truth = (double)world_truth(self, site, rates->hour_ms), carbon = rates->carbon_g_per_kwh;
        if (!rates->carbon_estimated && (carbon < truth || carbon >= truth + WORLD_NOISE_G))
            world_violate(self, "an hour at %s is priced by %g g/kWh, and had %g", profile->name.data, carbon, truth);
        const helio_pool_t *pool = &profile->pools.items[0];
        if (rates->pool.size && (rates->price_usd_per_gpu_h != pool->price_usd_per_gpu_h ||
                                 rates->watts_per_gpu != pool->host_w + pool->base_w + pool->slope_w))
            world_violate(self, "an hour at %s is priced as of another site", profile->name.data);
    }
}

static void check_task(void *arg, helio_job_key_t key, const helio_row_job_t *row)
{
    tally_t *tally = arg;
    helio_vdb_state_t state = helio_vdb_state(tally->world->vdb, key);
    tally->states[state.row.state]++;
    check_end(tally->world, workload_of(tally->world, row->source), &state.row);
    check_use(tally->world, &state.row);
}

void invariants_at_rest(world_t *self)
{
    tally_t tally = {.world = self};
    helio_vdb_each_task(self->vdb, check_task, &tally);
    helio_vdb_each_rates(self->vdb, check_rates, self);
    for (uint32_t i = 0; i < self->job_count; i++)
        if (!helio_vdb_has_job(self->vdb, self->jobs[i].id))
            world_violate(self, "an accepted job is lost");
    for (const run_t *run = self->runs; run; run = run->hh.next) {
        char key[HELIO_KEY_SIZE];
        helio_job_key_text(run->id.key, key);
        uint64_t booked = helio_vdb_ledger_gpu_ms(self->vdb, run->id.key, run->id.epoch);
        uint64_t used = run->run_ms * run->gpus;
        if (run->running)
            world_violate(self, "%s epoch %u still runs", key, run->id.epoch);
        if (booked != used)
            world_violate(self, "%s epoch %u used %llu GPU-ms, the ledger has %llu", key, run->id.epoch,
                          (unsigned long long)used, (unsigned long long)booked);
    }
    uint32_t open = 0;
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        if (!helio_job_state_is_terminal(s))
            open += (uint32_t)tally.states[s];
    if (open)
        world_violate(self, "%u jobs are not over", open);
}
