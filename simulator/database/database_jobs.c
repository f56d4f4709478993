/*  database_jobs.c -- rows of jobs, of their states and attempts, and of their dependencies. */
#include "simulator/database/database_rows.h"

static const int64_t DAY_MS = 86400000;

enum { LOSSES_MAX = 20 }; /* as broker/core/sites/losses.h has it */

uint64_t database_time_limit_ms(const vjob_t *job)
{
    return job->edit && job->edit->time_limit_ms ? job->edit->time_limit_ms : job->row.time_limit_ms;
}

static void put_job(sim_database_t *self, const helio_row_job_t *row)
{
    vjob_t *job = database_job(self, row->job);
    if (job) {
        database_violate(self, "a job id was stored twice", (helio_job_key_t){row->job, HELIO_NO_TASK}, 0);
        return;
    }
    job = helio_new(1, sizeof *job);
    job->job = row->job;
    job->row = *row;
    job->open_tasks = row->tasks.count ? row->tasks.count : 1;
    self->open_tasks += job->open_tasks;
    HASH_ADD(hh, self->jobs, job, sizeof job->job, job);
    if (helio_uuid_compare(self->newest_job, row->job) < 0)
        self->newest_job = row->job;
}

static void put_state(sim_database_t *self, const helio_row_state_t *row)
{
    vstate_t *state;
    HASH_FIND(hh, self->states, &row->key, sizeof row->key, state);
    if (!state) {
        state = helio_new(1, sizeof *state);
        state->key = row->key;
        HASH_ADD(hh, self->states, key, sizeof state->key, state);
    }
    bool was_over = helio_job_state_is_terminal(state->row.state);
    if (was_over)
        database_violate(self, "a job that was over changed its state", row->key, row->epoch);
    if (row->epoch < state->row.epoch)
        database_violate(self, "an epoch went back", row->key, row->epoch);
    if (row->saved_ms < state->row.saved_ms)
        database_violate(self, "the checkpoint of a job was forgotten", row->key, row->epoch);
    if (row->losses >= LOSSES_MAX && row->state != HELIO_JOB_HELD && !helio_job_state_is_terminal(row->state))
        database_violate(self, "a job that sites lost too often was not held", row->key, row->epoch);
    bool stops =
        row->state == HELIO_JOB_STOPPING || (row->state == HELIO_JOB_SUSPECT && row->before == HELIO_JOB_STOPPING);
    if (row->haste && !stops)
        database_violate(self, "people ask for the stop of a job that is not being stopped", row->key, row->epoch);
    if (stops && row->epoch == state->row.epoch && row->haste < state->row.haste)
        database_violate(self, "what people ask of a job's stop was forgotten", row->key, row->epoch);
    state->row = *row;
    vjob_t *job = database_job(self, row->key.job);
    if (!job)
        database_violate(self, "a state without its job", row->key, row->epoch);
    else if (helio_job_state_is_terminal(row->state) && !was_over) {
        job->open_tasks--;
        self->open_tasks--;
    }
}

static void put_dependency(sim_database_t *self, const helio_row_dependency_t *row)
{
    if (self->dependency_count == self->dependency_capacity) {
        self->dependency_capacity = self->dependency_capacity ? self->dependency_capacity * 2 : 64;
        self->dependencies = helio_grow(self->dependencies, self->dependency_capacity, sizeof *self->dependencies);
    }
    self->dependencies[self->dependency_count++] = *row;
    if (sim_database_found(self, row->on) == HELIO_FOUND_UNKNOWN)
        database_violate(self, "a job depends on one that was never stored", (helio_job_key_t){row->job, HELIO_NO_TASK},
                         0);
}

static void put_dependency_hold(sim_database_t *self, const helio_row_dependency_hold_t *row)
{
    vjob_t *job = database_job(self, row->job);
    if (!job)
        database_violate(self, "a dependency hold without its job", (helio_job_key_t){row->job, HELIO_NO_TASK}, 0);
    else if (job->hold_ended)
        database_violate(self, "a dependency hold that had ended was written again",
                         (helio_job_key_t){row->job, HELIO_NO_TASK}, 0);
    else
        job->hold_ended = row->opened_ms != 0;
}

static void put_transition(sim_database_t *self, const helio_row_transition_t *row)
{
    bool edited = row->from == row->to && (row->from == HELIO_JOB_QUEUED || row->from == HELIO_JOB_HELD);
    if (!edited && !helio_job_state_edge(row->from, row->to))
        database_violate(self, "a transition is not in the table of states", row->key, row->epoch);
    if (row->seq <= self->transition_seq)
        database_violate(self, "a transition's number was used before", row->key, row->epoch);
    self->transition_seq = row->seq;
    if (!edited)
        self->edges[row->from] |= UINT64_C(1) << row->to;
}

static void put_edit(sim_database_t *self, const helio_row_edit_t *row)
{
    vjob_t *job = database_job(self, row->job);
    if (!job) {
        database_violate(self, "a job was edited that was never stored", (helio_job_key_t){row->job, HELIO_NO_TASK}, 0);
        return;
    }
    if (!job->edit)
        job->edit = helio_arena_alloc(self->arena, 1, sizeof *job->edit);
    *job->edit = *row;
}

static void put_placement(sim_database_t *self, const helio_row_placement_t *row)
{
    vattempt_t *attempt = database_attempt_get(self, row->key, row->epoch);
    if (attempt->placed)
        database_violate(self, "an epoch was issued twice", row->key, row->epoch);
    attempt->placed = true;
    attempt->gpus = row->gpus;
    attempt->gpu_model = row->gpu_model;
    attempt->has_earliest_start = row->earliest_site.size > 0;
    attempt->expected_use = (helio_row_expected_use_t){.key = row->key,
                                                       .epoch = row->epoch,
                                                       .start_ms = row->start_ms,
                                                       .transfer_ms = row->transfer_ms,
                                                       .expected_ms = row->expected_ms,
                                                       .expected_high_ms = row->expected_high_ms,
                                                       .cost_micro_usd = row->planned_cost_micro_usd,
                                                       .carbon_mg = row->planned_carbon_mg};
    attempt->transfer = (helio_row_transfer_t){.key = row->key,
                                               .epoch = row->epoch,
                                               .ms = row->transfer_ms,
                                               .egress_micro_usd = row->transfer_micro_usd,
                                               .energy_j = row->transfer_j,
                                               .carbon_mg = row->transfer_carbon_mg};
    const vjob_t *job = database_job(self, row->key.job);
    attempt->given_up =
        (helio_row_given_up_t){.key = row->key,
                               .epoch = row->epoch,
                               .site = row->site,
                               .nodes = row->nodes,
                               .gpus = row->gpus,
                               .time_limit_ms = job ? database_time_limit_ms(job) : 0,
                               .placed_ms = row->at_ms,
                               .tenant = job ? job->row.tenant : (helio_text_t){0},
                               .queue = job && job->edit ? job->edit->queue
                                        : job            ? job->row.queue
                                                         : (helio_text_t){0},
                               .pool = row->pool,
                               .gpu_model = row->gpu_model,
                               .planned_micro_usd = row->planned_cost_micro_usd - row->transfer_micro_usd,
                               .expected_ms = row->expected_ms};
    if (!row->expected_ms)
        attempt->given_up.expected_ms = attempt->given_up.time_limit_ms;
    attempt->least = (helio_row_earliest_start_t){row->key, row->earliest_site, row->earliest_pool, row->earliest_ms};
}

static void put_attempt(sim_database_t *self, const helio_row_attempt_t *row)
{
    vattempt_t *attempt = database_attempt_get(self, row->key, row->epoch);
    if (!attempt->placed)
        database_violate(self, "an attempt ended that was never placed", row->key, row->epoch);
    bool corrects = row->basis == HELIO_ATTEMPT_CORRECTED;
    if (corrects && attempt->basis != HELIO_ATTEMPT_GIVEN_UP)
        database_violate(self, "an attempt was corrected that had not been given up", row->key, row->epoch);
    if (corrects)
        attempt->basis = row->basis;
    if (row->basis != HELIO_ATTEMPT_REPORTED && row->gpu_ms > row->run_ms * attempt->gpus)
        database_violate(self, "an attempt used more GPUs than it was placed on", row->key, row->epoch);
    if (row->fenced && row->started_ms < attempt->given_up.placed_ms - DAY_MS)
        database_violate(self, "an attempt began long before it was placed", row->key, row->epoch);
    if (attempt->ended) {
        if (row->completes && !attempt->completes)
            database_violate(self, "an attempt that had already ended completed its job", row->key, row->epoch);
        return;
    }
    attempt->ended = true;
    attempt->completes = row->completes;
    attempt->basis = row->basis;
    if (row->completes && row->epoch == 1 && row->run_ms) {
        if (self->run_count == self->run_capacity) {
            self->run_capacity = self->run_capacity ? self->run_capacity * 2 : 64;
            self->runs = helio_grow(self->runs, self->run_capacity, sizeof *self->runs);
        }
        self->runs[self->run_count++] = (vrun_t){row->key, attempt->gpu_model, row->run_ms};
    }
    if (row->completes && sim_database_completions(self, row->key) > 1)
        database_violate(self, "a second completion", row->key, row->epoch);
    if (row->completes && row->fenced)
        database_violate(self, "a fenced attempt completed its job", row->key, row->epoch);
}

void database_jobs_put(sim_database_t *self, uint32_t kind, const void *row)
{
    if (kind == HELIO_BROKER_FX_ROW_JOB)
        put_job(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_STATE)
        put_state(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_PLACEMENT)
        put_placement(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_ATTEMPT)
        put_attempt(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_TRANSITION)
        put_transition(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_EDIT)
        put_edit(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_DEPENDENCY)
        put_dependency(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD)
        put_dependency_hold(self, row);
}

bool sim_database_has_job(const sim_database_t *self, helio_uuid_t id)
{
    return database_job(self, id) != NULL;
}

bool sim_database_was_given_up(const sim_database_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = database_attempt(self, key, epoch);
    return attempt && attempt->basis == HELIO_ATTEMPT_GIVEN_UP;
}

bool sim_database_has_forgotten(const sim_database_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = database_attempt(self, key, epoch);
    return attempt && attempt->forgotten;
}

const helio_row_edit_t *sim_database_edit(const sim_database_t *self, helio_uuid_t id)
{
    const vjob_t *job = database_job(self, id);
    return job ? job->edit : NULL;
}

bool sim_database_hold_has_ended(const sim_database_t *self, helio_uuid_t id)
{
    const vjob_t *job = database_job(self, id);
    return job && job->hold_ended;
}

bool sim_database_has_placement(const sim_database_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = database_attempt(self, key, epoch);
    return attempt && attempt->placed;
}

sim_database_state_t sim_database_state(const sim_database_t *self, helio_job_key_t key)
{
    vstate_t *state;
    HASH_FIND(hh, self->states, &key, sizeof key, state);
    return state ? (sim_database_state_t){state->row, true}
                 : (sim_database_state_t){.row = {.key = key, .exit_code = -1}};
}

helio_found_t sim_database_found(const sim_database_t *self, helio_job_key_t on)
{
    vjob_t *job = database_job(self, on.job);
    if (!job)
        return HELIO_FOUND_UNKNOWN;
    bool whole = on.task == HELIO_NO_TASK && job->row.tasks.count, ok = true;
    for (uint32_t i = 0; i < (whole ? job->row.tasks.count : 1); i++) {
        helio_job_key_t key = whole ? (helio_job_key_t){on.job, (int32_t)job->row.tasks.items[i]} : on;
        uint32_t state = sim_database_state(self, key).row.state;
        if (!helio_job_state_is_terminal(state))
            return HELIO_FOUND_OPEN;
        ok = ok && state == HELIO_JOB_SUCCEEDED;
    }
    return ok ? HELIO_FOUND_OK : HELIO_FOUND_NOT_OK;
}

uint32_t sim_database_completions(const sim_database_t *self, helio_job_key_t key)
{
    uint32_t count = 0, epochs = sim_database_state(self, key).row.epoch + 2;
    for (uint32_t epoch = 0; epoch <= epochs; epoch++) {
        const vattempt_t *attempt = database_attempt(self, key, epoch);
        count += attempt && attempt->completes;
    }
    return count;
}

bool sim_database_is_over(const sim_database_t *self)
{
    return !self->open_tasks;
}

void sim_database_each_task(const sim_database_t *self, sim_database_job_fn *visit, void *arg)
{
    for (const vjob_t *job = self->jobs; job; job = job->hh.next) {
        if (!job->row.tasks.count)
            visit(arg, (helio_job_key_t){job->job, HELIO_NO_TASK}, &job->row);
        for (uint32_t i = 0; i < job->row.tasks.count; i++)
            visit(arg, (helio_job_key_t){job->job, (int32_t)job->row.tasks.items[i]}, &job->row);
    }
}

uint64_t sim_database_edges_seen(const sim_database_t *self, uint32_t from)
{
    return self->edges[from];
}

uint64_t sim_database_gpus(const sim_database_t *self, const char *tenant, const char *queue)
{
    uint64_t gpus = 0;
    for (const vstate_t *state = self->states; state; state = state->hh.next) {
        if (!helio_job_state_is_live(state->row.state))
            continue;
        const vjob_t *job = database_job(self, state->key.job);
        const vattempt_t *attempt = database_attempt(self, state->key, state->row.epoch);
        bool counts = job && attempt && helio_text_is(job->row.tenant, tenant) &&
                      (!queue[0] || helio_text_is(job->edit ? job->edit->queue : job->row.queue, queue));
        gpus += counts ? attempt->gpus : 0;
    }
    return gpus;
}

static bool task_has_started(const sim_database_t *self, helio_job_key_t key)
{
    helio_row_state_t row = sim_database_state(self, key).row;
    return row.started_ms || helio_job_state_is_terminal(row.state);
}

bool sim_database_has_started(const sim_database_t *self, helio_job_key_t on)
{
    const vjob_t *job = database_job(self, on.job);
    bool started = job && (on.task != HELIO_NO_TASK || job->row.tasks.count || task_has_started(self, on));
    if (on.task != HELIO_NO_TASK)
        return started && task_has_started(self, on);
    for (uint32_t i = 0; started && i < job->row.tasks.count; i++)
        started = task_has_started(self, (helio_job_key_t){on.job, (int32_t)job->row.tasks.items[i]});
    return started;
}
