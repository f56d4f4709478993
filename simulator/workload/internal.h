/*  internal.h -- the state of the workload. Only simulator/workload includes it. */
#ifndef HELIO_SIMULATOR_WORKLOAD_INTERNAL_H
#define HELIO_SIMULATOR_WORKLOAD_INTERNAL_H

#include "simulator/workload/hours.h"
#include "simulator/workload/workload.h"

struct sim_workload {
    const sim_federation_t *federation;
    sim_engine_t *engine;
    const sim_database_t *database;
    int64_t faults_ms;
    sim_job_t jobs[SIM_JOBS_MAX];
    uint32_t job_count;
    bool attests_dead;
    bool changes_amid; /* quotas, when a leader has taken over */
    bool crowded;
    uint32_t amids; /* quotas that changed, or will, since a leader took over */
    bool linked;    /* the default link between any two sites is durable */
};

/*  The number of a call identifies its maker: each maker numbers its calls from its own value on (workload.c). */
enum {
    SUBMIT_CALL = 1,
    CANCEL_CALL = SIM_JOBS_MAX, /* so there are fewer jobs than that */
    CLASH_CALL = 2 * SIM_JOBS_MAX,
    QUOTAS_CALL = 3 * SIM_JOBS_MAX,
    DATA_CALL = 4 * SIM_JOBS_MAX,
    EDITS_CALL = 5 * SIM_JOBS_MAX,
    QUEUES_CALL = 6 * SIM_JOBS_MAX,
    LOOKS_CALL = 1000 * SIM_JOBS_MAX, /* the operator's releases begin with the same number */
    RELEASES_CALL = LOOKS_CALL,
    BUDGETS_CALL = 2000 * SIM_JOBS_MAX,
    ATTESTS_CALL = 3000 * SIM_JOBS_MAX,
    HOLDS_CALL = 4000 * SIM_JOBS_MAX,
    CURTAILS_CALL = 5000 * SIM_JOBS_MAX,
    HASTES_CALL = 6000 * SIM_JOBS_MAX,
};

/*  Where a user's request arrives now; NULL = nowhere. */
static inline sim_broker_t *workload_broker(const sim_workload_t *self)
{
    return sim_federation_door(self->federation);
}

/*  refusal.c: reports that `what` was refused and should not have been. */
void workload_refused(sim_workload_t *self, const helio_fx_reply_t *reply, const char *what);

/*  jobs.c: draws one job. */
void workload_make_job(sim_workload_t *self, uint32_t index);

/*  submit.c: submits each job until it is answered; cancels jobs; uses a key twice. */
void workload_submit(sim_workload_t *self, uint32_t index);
void workload_submit_answered(sim_workload_t *self, const helio_fx_reply_t *reply);
void workload_cancel_answered(sim_workload_t *self, const helio_fx_reply_t *reply);
void workload_clash_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  quotas.c: limits that change, in half of the worlds. */
void workload_quotas_begin(sim_workload_t *self);
void workload_quotas_takeover(sim_workload_t *self);
void workload_quotas_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  budgets.c: one budget, in a third of the worlds. */
void workload_budgets_begin(sim_workload_t *self);
void workload_budgets_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  queues.c: priorities that change by schedule, by hand and by region, in a third of the worlds. */
void workload_queues_begin(sim_workload_t *self);
void workload_queues_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  data.c: a catalogue and links that change, in half of the worlds, and jobs with input data. */
void workload_data_begin(sim_workload_t *self);
void workload_data_answered(sim_workload_t *self, const helio_fx_reply_t *reply);
void workload_data_reads(const sim_workload_t *self, uint32_t index, helio_job_spec_t *spec);

/*  edits.c: jobs that are edited while they wait, in a fifth of the worlds. */
void workload_edits_begin(sim_workload_t *self);
void workload_edits_answered(sim_workload_t *self, const helio_fx_reply_t *reply);
void workload_edits_decided(sim_workload_t *self, const helio_row_edit_t *row);
void workload_edits_takeover(sim_workload_t *self);

/*  holds.c: waiting jobs that are held and released, in a fifth of the worlds. */
void workload_holds_begin(sim_workload_t *self);
void workload_holds_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  curtails.c: sites that are curtailed, in a quarter of the worlds. */
void workload_curtails_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  hastes.c: half of the cancelled jobs are cancelled again, without grace. */
void workload_hastes_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  attests.c: an operator attests sites dead that have no power. */
void workload_attests_answered(sim_workload_t *self, const helio_fx_reply_t *reply);

/*  looks.c: requests for plans and explanations, at any time. */
void workload_looks_begin(sim_workload_t *self);

#endif
