/*  database_load.c -- what a broker is given when it takes over. */
#include "simulator/database/database_rows.h"

static void load_named(const vnamed_t *table, uint32_t kind, sim_database_emit_fn *emit, void *arg)
{
    for (const vnamed_t *named = table; named; named = named->hh.next)
        emit(arg, kind, named->row);
}

static void load_jobs(sim_database_t *self, sim_database_parse_fn *parse, sim_database_emit_fn *emit, void *arg)
{
    for (vjob_t *job = self->jobs; job; job = job->hh.next) {
        bool above = helio_uuid_compare(job->job, self->open_from) >= 0;
        if (job->open_tasks && !above)
            database_violate(self, "an open job lies below the mark", (helio_job_key_t){job->job, HELIO_NO_TASK}, 0);
        if (job->open_tasks && above) {
            helio_ev_load_job_t load = {.row = job->row};
            parse(arg, job->row.source, &load.spec);
            emit(arg, HELIO_BROKER_EV_LOAD_JOB, &load);
        } else if (job->row.idempotency_key.size) {
            helio_row_key_t key = {job->row.tenant, job->row.idempotency_key, job->row.spec_hash, job->row.job};
            emit(arg, HELIO_BROKER_EV_LOAD_KEY, &key);
        }
    }
    for (vjob_t *job = self->jobs; job; job = job->hh.next)
        if (job->edit && job->open_tasks && helio_uuid_compare(job->job, self->open_from) >= 0)
            emit(arg, HELIO_BROKER_EV_LOAD_EDIT, job->edit);
    for (vstate_t *state = self->states; state; state = state->hh.next) {
        vjob_t *job = database_job(self, state->key.job);
        if (job && job->open_tasks && helio_uuid_compare(job->job, self->open_from) >= 0)
            emit(arg, HELIO_BROKER_EV_LOAD_STATE, &state->row);
    }
    for (uint32_t i = 0; i < self->dependency_count; i++) {
        const helio_row_dependency_t *row = &self->dependencies[i];
        vjob_t *job = database_job(self, row->job);
        helio_row_waiting_t waiting = {row->job, row->after, row->on, sim_database_found(self, row->on)};
        if (job && job->open_tasks && helio_uuid_compare(job->job, self->open_from) >= 0)
            emit(arg, HELIO_BROKER_EV_LOAD_WAITING, &waiting);
    }
    for (vjob_t *job = self->jobs; job; job = job->hh.next) {
        helio_row_ended_hold_t ended = {job->job};
        if (job->hold_ended && job->open_tasks && helio_uuid_compare(job->job, self->open_from) >= 0)
            emit(arg, HELIO_BROKER_EV_LOAD_ENDED_HOLD, &ended);
    }
}

static void load_prices(sim_database_t *self, sim_database_emit_fn *emit, void *arg)
{
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        if (attempt->has_earliest_start &&
            !helio_job_state_is_terminal(sim_database_state(self, attempt->id.key).row.state))
            emit(arg, HELIO_BROKER_EV_LOAD_EARLIEST_START, &attempt->least);
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next) {
        helio_row_state_t state = sim_database_state(self, attempt->id.key).row;
        if (attempt->placed && attempt->id.epoch == state.epoch && !helio_job_state_is_terminal(state.state))
            emit(arg, HELIO_BROKER_EV_LOAD_TRANSFER, &attempt->transfer);
    }
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next) {
        helio_row_expected_use_t row = attempt->expected_use;
        row.ended = attempt->ended;
        if (attempt->placed && !helio_job_state_is_terminal(sim_database_state(self, attempt->id.key).row.state))
            emit(arg, HELIO_BROKER_EV_LOAD_EXPECTED_USE, &row);
    }
    load_named(self->actuals, HELIO_BROKER_EV_LOAD_ACTUAL, emit, arg);
    load_named(self->issues, HELIO_BROKER_EV_LOAD_SERIES, emit, arg);
}

static void load_runs(sim_database_t *self, sim_database_emit_fn *emit, void *arg)
{
    for (uint32_t i = 0; i < self->run_count; i++) {
        const vrun_t *run = &self->runs[i];
        vjob_t *job = database_job(self, run->key.job);
        if (!job)
            continue;
        uint32_t state = sim_database_state(self, run->key).row.state;
        helio_row_run_t row = {.tenant = job->row.tenant,
                               .user = job->row.user,
                               .name = job->row.name,
                               .kind = job->row.kind,
                               .gpu_model = run->gpu_model,
                               .run_ms = run->run_ms,
                               .gpus = job->row.gpus,
                               .time_limit_ms = database_time_limit_ms(job),
                               .whole = state == HELIO_JOB_SUCCEEDED || state == HELIO_JOB_TIMEOUT};
        emit(arg, HELIO_BROKER_EV_LOAD_RUN, &row);
    }
}

static void load_classes(sim_database_t *self, sim_database_emit_fn *emit, void *arg)
{
    for (const vnamed_t *named = self->classes; named; named = named->hh.next) {
        const helio_row_class_t *row = named->row;
        if (helio_text_is(row->reason, "WaitingForWindow"))
            emit(arg, HELIO_BROKER_EV_LOAD_CLASS, row);
    }
}

/*  Nobody saw it run, and nobody said that it ended; its job is open, and not there any more. */
static bool is_untold(sim_database_t *self, const vattempt_t *attempt)
{
    const vjob_t *job = database_job(self, attempt->id.key.job);
    const helio_row_state_t state = sim_database_state(self, attempt->id.key).row;
    bool left = attempt->id.epoch < state.epoch || !helio_job_state_is_live(state.state);
    return attempt->placed && !attempt->forgotten && !attempt->ended && job && job->open_tasks && left;
}

static void load_estimates(sim_database_t *self, sim_database_emit_fn *emit, void *arg)
{
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        if (attempt->basis == HELIO_ATTEMPT_GIVEN_UP || is_untold(self, attempt))
            emit(arg, HELIO_BROKER_EV_LOAD_GIVEN_UP, &attempt->given_up);
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        for (uint32_t i = 0; i < attempt->estimate_count && attempt->basis == HELIO_ATTEMPT_GIVEN_UP; i++)
            emit(arg, HELIO_BROKER_EV_LOAD_ESTIMATE, attempt->estimates[i]);
}

void sim_database_load(sim_database_t *self, uint64_t seed, sim_database_parse_fn *parse, sim_database_emit_fn *emit,
                       void *arg)
{
    helio_row_federation_t federation = {.incarnation = 1 + self->restores,
                                         .broker_epoch = self->epoch,
                                         .last_transition_seq = self->transition_seq,
                                         .last_decision_id = self->decision_id,
                                         .seed = seed,
                                         .leases_left_ms = self->leases_left_ms,
                                         .newest_job = self->newest_job,
                                         .restored_ms = self->restored_ms,
                                         .restored_job = self->restored_job};
    emit(arg, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    for (uint32_t i = 0; i < self->tenant_count; i++)
        emit(arg, HELIO_BROKER_EV_LOAD_TENANT, &self->tenants[i]);
    for (const vnamed_t *queue = self->queues; queue; queue = queue->hh.next)
        if (!((const helio_row_queue_t *)queue->row)->removed)
            emit(arg, HELIO_BROKER_EV_LOAD_QUEUE, queue->row);
    for (const vnamed_t *rule = self->rules; rule; rule = rule->hh.next)
        if (!((const helio_row_queue_rule_t *)rule->row)->removed)
            emit(arg, HELIO_BROKER_EV_LOAD_QUEUE_RULE, rule->row);
    for (const vnamed_t *group = self->groups; group; group = group->hh.next)
        if (!((const helio_row_overflow_t *)group->row)->removed)
            emit(arg, HELIO_BROKER_EV_LOAD_OVERFLOW, group->row);
    for (vquota_t *quota = self->quotas; quota; quota = quota->hh.next)
        emit(arg, HELIO_BROKER_EV_LOAD_QUOTA, &quota->row);
    for (uint32_t i = 0; i < self->usage_count; i++)
        if (self->usage[i].tenant.size)
            emit(arg, HELIO_BROKER_EV_LOAD_USAGE, &self->usage[i]);
    load_named(self->budgets, HELIO_BROKER_EV_LOAD_BUDGET, emit, arg);
    for (uint32_t i = 0; i < self->spent_count; i++)
        if (self->spent[i].tenant.size)
            emit(arg, HELIO_BROKER_EV_LOAD_SPENT, &self->spent[i]);
    load_named(self->data, HELIO_BROKER_EV_LOAD_DATA, emit, arg);
    load_named(self->links, HELIO_BROKER_EV_LOAD_LINK, emit, arg);
    load_named(self->sites, HELIO_BROKER_EV_LOAD_SITE, emit, arg);
    load_named(self->pools, HELIO_BROKER_EV_LOAD_POOL, emit, arg);
    load_named(self->curtailments, HELIO_BROKER_EV_LOAD_CURTAILMENT, emit, arg);
    load_jobs(self, parse, emit, arg);
    load_prices(self, emit, arg);
    load_runs(self, emit, arg);
    load_classes(self, emit, arg);
    load_estimates(self, emit, arg);
}
