/*  workload.h -- what people ask of the virtual federation: jobs, which are submitted again until they are answered,
 *  and everything that tenants and operators change meanwhile: quotas, budgets, queues, data, edits. All of it is drawn
 *  from the seed before the run begins. simulator/checks checks what must come of it.
 *
 *  The workload keeps what its users know: the ids that they were given, and what a leader has told them of a job.
 */
#ifndef HELIO_SIMULATOR_WORKLOAD_WORKLOAD_H
#define HELIO_SIMULATOR_WORKLOAD_WORKLOAD_H

#include "simulator/daemons/federation.h"

enum { SIM_JOBS_MAX = 256, SIM_AFTERS_MAX = 4, SIM_TASKS_MAX = 6, SIM_NODES_PER_SITE = 3, SIM_GPUS_PER_NODE = 4 };

/*  A dependency on an earlier submission. */
typedef struct sim_after {
    helio_after_t after;
    uint32_t job; /* its index */
    int32_t task; /* of its array; HELIO_NO_TASK = the whole, or of TASK: each is for its like */
} sim_after_t;

/*  A submission and its expected outcome. */
typedef struct sim_job {
    helio_submission_t submission;
    helio_dependency_t depends[SIM_AFTERS_MAX + SIM_TASKS_MAX]; /* of submission */
    sim_after_t afters[SIM_AFTERS_MAX];
    uint32_t after_count;
    const char *tenant;
    char key[24];
    char source[64];
    uint8_t hash[32];
    uint32_t tasks;
    int64_t submit_ms;
    int64_t cancel_ms; /* 0 = never */
    bool cancelled;    /* the cancellation was acknowledged */
    bool hastened;     /* likewise, the one without grace */
    bool answered;
    uint32_t asked;      /* how often it was submitted */
    helio_text_t queue;  /* as the leader has it, edited or not */
    int64_t deadline_ms; /* likewise */
    bool edited;         /* by a user, durably or not */
    helio_uuid_t id;
    helio_uuid_t given; /* the last id that a leader gave it, durable or not */
    uint32_t exit_code;
    int64_t duration_ms;
    uint64_t limit_ms;
    bool limit_hits;
} sim_job_t;

/*  The scopes for which operators set quotas. */
typedef struct sim_quota_scope {
    const char *tenant, *queue; /* queue "" = over all queues */
} sim_quota_scope_t;

enum { SIM_QUOTA_SCOPES = 6 };
extern const sim_quota_scope_t sim_quota_scopes[SIM_QUOTA_SCOPES];
extern const char sim_budget_tenant[]; /* the only tenant that is given a budget */
bool sim_has_budgets(uint64_t seed);
bool sim_has_tiers(uint64_t seed); /* the world has jobs of all tiers, and checkpoints */

typedef struct sim_workload sim_workload_t;

/*  The caller passes the federation's moments and questions on to the functions below. Disturbances end at
 *  faults_ms. */
sim_workload_t *sim_workload_new(const sim_federation_t *federation, uint32_t jobs, int64_t faults_ms);
void sim_workload_destroy(sim_workload_t **self_p);

/*  In some worlds quotas change just after each takeover, and in some the jobs fill all sites. Before the next. */
void sim_workload_harden(sim_workload_t *self);
void sim_workload_begin(sim_workload_t *self);          /* draws everything; before the federation starts */
void sim_workload_begin_operator(sim_workload_t *self); /* the operator releases held jobs after the faults */
void sim_workload_begin_attests(sim_workload_t *self);  /* the operator attests sites dead that have no power */
void sim_workload_begin_curtails(sim_workload_t *self); /* the operator curtails sites for some minutes */
void sim_workload_begin_hastes(sim_workload_t *self);   /* users cancel again, without grace */
bool sim_workload_is_over(const sim_workload_t *self);  /* every job was answered and has ended */

/*  Moments and questions of the federation. */
void sim_workload_decided(sim_workload_t *self, const helio_effect_t *effect);
void sim_workload_answered(sim_workload_t *self, const helio_fx_reply_t *reply, bool newest);
void sim_workload_takeover(sim_workload_t *self);   /* begins */
void sim_workload_taken_over(sim_workload_t *self); /* has ended */
void sim_workload_spec(const sim_workload_t *self, helio_text_t source, helio_job_spec_t *ret_spec);
sim_program_t sim_workload_program(const sim_workload_t *self, helio_text_t source);

/*  Its jobs, by index below the count. */
uint32_t sim_workload_count(const sim_workload_t *self);
const sim_job_t *sim_workload_job(const sim_workload_t *self, uint32_t index);
const sim_job_t *sim_workload_of(const sim_workload_t *self, helio_text_t source);
const sim_job_t *sim_workload_given(const sim_workload_t *self, helio_uuid_t id); /* by .given; NULL = none */
/*  What a task depends on; task: HELIO_NO_TASK without an array. */
helio_job_key_t sim_workload_on(const sim_workload_t *self, const sim_after_t *after, int32_t task);

#endif
