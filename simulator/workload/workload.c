/*  workload.c -- starts the parts of the workload, dispatches the replies to them, and decides when all is over. */
#include "simulator/workload/workload.h"

#include <stdlib.h>

#include "simulator/workload/internal.h"

enum { OPERATOR_AFTER_MS = 60000, OPERATOR_EVERY_MS = 120000 };

sim_workload_t *sim_workload_new(const sim_federation_t *federation, uint32_t jobs, int64_t faults_ms)
{
    sim_workload_t *self = helio_new(1, sizeof *self);
    self->federation = federation;
    self->engine = federation->engine;
    self->database = federation->database;
    self->faults_ms = faults_ms;
    self->job_count = jobs < SIM_JOBS_MAX ? jobs : SIM_JOBS_MAX - 1;
    return self;
}

void sim_workload_destroy(sim_workload_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

void sim_workload_harden(sim_workload_t *self)
{
    enum { AMID_DRAW = 76, CROWDED_DRAW = 78 };
    self->changes_amid = sim_one_in(self->engine, 3, AMID_DRAW);
    self->crowded = sim_one_in(self->engine, 4, CROWDED_DRAW);
}

void sim_workload_begin(sim_workload_t *self)
{
    workload_quotas_begin(self);
    workload_budgets_begin(self);
    workload_data_begin(self);
    workload_queues_begin(self);
    workload_edits_begin(self);
    workload_holds_begin(self);
    workload_looks_begin(self);
    for (uint32_t i = 0; i < self->job_count; i++) {
        workload_make_job(self, i);
        workload_submit(self, i);
    }
}

/*  After the faults, an operator releases held jobs from time to time. */
static void on_operator(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    for (uint32_t i = 0; workload_broker(self) && i < self->job_count; i++) {
        if (!self->jobs[i].answered)
            continue;
        helio_ev_command_t release = {.call = RELEASES_CALL,
                                      .actor = HELIO_TEXT("user:ops/operator"),
                                      .role = HELIO_ROLE_OPERATOR,
                                      .key = {self->jobs[i].id, HELIO_NO_TASK}};
        sim_broker_take(workload_broker(self), HELIO_BROKER_EV_RELEASE, &release);
    }
    sim_again(self->engine, item, OPERATOR_EVERY_MS);
}

void sim_workload_begin_operator(sim_workload_t *self)
{
    (void)sim_later(self->engine, self->faults_ms + OPERATOR_AFTER_MS, on_operator, self);
}

/* ---- moments ------------------------------------------------------------------------------------------- */

void sim_workload_decided(sim_workload_t *self, const helio_effect_t *effect)
{
    if (effect->kind == HELIO_BROKER_FX_ROW_JOB) {
        const helio_row_job_t *row = effect->payload;
        self->jobs[sim_workload_of(self, row->source) - self->jobs].given = row->job;
    } else if (effect->kind == HELIO_BROKER_FX_ROW_EDIT) {
        workload_edits_decided(self, effect->payload);
    }
}

static void looked(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    (void)self;
    (void)reply; /* any reply is correct */
}

/*  A refusal of an older leader comes of what it does not know. Its user asks again. */
void sim_workload_answered(sim_workload_t *self, const helio_fx_reply_t *reply, bool newest)
{
    static const struct {
        uint64_t from;
        void (*answered)(sim_workload_t *self, const helio_fx_reply_t *reply);
    } callers[] = {
        {HASTES_CALL, workload_hastes_answered},   {CURTAILS_CALL, workload_curtails_answered},
        {HOLDS_CALL, workload_holds_answered},     {ATTESTS_CALL, workload_attests_answered},
        {BUDGETS_CALL, workload_budgets_answered}, {LOOKS_CALL, looked},
        {QUEUES_CALL, workload_queues_answered},   {EDITS_CALL, workload_edits_answered},
        {DATA_CALL, workload_data_answered},       {QUOTAS_CALL, workload_quotas_answered},
        {CLASH_CALL, workload_clash_answered},     {CANCEL_CALL, workload_cancel_answered},
        {SUBMIT_CALL, workload_submit_answered},
    };
    size_t at = 0;
    if (!newest && reply->rc != HELIO_OK)
        return;
    while (reply->call < callers[at].from)
        at++;
    callers[at].answered(self, reply);
}

void sim_workload_takeover(sim_workload_t *self)
{
    workload_edits_takeover(self);
}

void sim_workload_taken_over(sim_workload_t *self)
{
    workload_quotas_takeover(self);
}

void sim_workload_spec(const sim_workload_t *self, helio_text_t source, helio_job_spec_t *ret_spec)
{
    *ret_spec = sim_workload_of(self, source)->submission.spec;
}

sim_program_t sim_workload_program(const sim_workload_t *self, helio_text_t source)
{
    const sim_job_t *job = sim_workload_of(self, source);
    return (sim_program_t){.duration_ms = job->limit_hits ? (int64_t)job->limit_ms : job->duration_ms,
                           .limit_hits = job->limit_hits,
                           .exit_code = (int32_t)job->exit_code};
}

/* ---- its end ------------------------------------------------------------------------------------------- */

bool sim_workload_is_over(const sim_workload_t *self)
{
    for (uint32_t i = 0; i < self->job_count; i++)
        if (!self->jobs[i].answered)
            return false;
    return sim_database_is_over(self->database);
}
