/*  jobs.h -- jobs: their queues, their states, their rows. */
#ifndef HELIO_BROKER_CORE_STATE_JOBS_H
#define HELIO_BROKER_CORE_STATE_JOBS_H

#include <uthash.h>

#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"
#include "federation/base/id.h"
#include "federation/base/memory.h"
#include "federation/energy/account.h"
#include "federation/policy/requirement.h"
#include "federation/policy/transfer.h"
#include "federation/reason/detail.h"

/*  Where a job was placed last, by name: the pool may be gone. Not part of the job, which may wait long
 * before it has one. least: where it could have started first, when it was first placed. */
typedef struct place_name {
    char site[33];
    char pool[33];
    uint32_t gpus; /* that its tenant is charged with now; 0 = none */
    uint32_t weight_milli;
    char earliest_pool[33];
    site_t *earliest; /* NULL = not known */
    int64_t earliest_ms;
    helio_transfer_t transfer; /* of its data there, charged when the attempt has ended */
    commitment_t commitment;
} place_name_t;

struct job {
    helio_job_key_t key;
    submission_t *submission;
    uint32_t state;
    uint32_t before;
    uint32_t intent;
    uint32_t epoch;
    uint32_t attempts;
    uint32_t failures;
    uint32_t site_failures;
    int32_t exit_code;
    int64_t started_ms;
    int64_t finished_ms;
    int64_t ready_ms; /* wall clock: since when it stands in line; after a takeover, its submission */
    helio_account_t used;
    uint64_t units_done;
    uint64_t saved_ms; /* of what its attempts ran, what need not run again; at most its time limit */
    site_t *site; /* while live */
    pool_t *pool;
    uint32_t gpus_per_node; /* of the current placement */
    uint64_t dispatch_seq;  /* 0 = not instructed in this session */
    uint64_t inventory;     /* session in whose inventory it was seen */
    bool counted;           /* its capacity is deducted from pool.free */
    bool ran;               /* some epoch ran: HELIO_RESUME */
    bool fed;               /* past its array's throttle */
    bool dirty;             /* its row must be written at the end of the step */
    bool leaving;           /* counted in its tenant's leaving_gpus */
    bool migrating;            /* told to leave for a better site */
    uint8_t migrations;          /* how often it was */
    migrant_t *migrant;         /* of one that may be moved, from when it first runs; NULL = none */
    uint8_t preemptions;      /* how often it was preempted for other tenants' work */
    preemption_t *preemption;   /* whose room it makes; NULL = nobody's */
    helio_details_t *why; /* of the last change of state; NULL = none */
    place_name_t *last;           /* of the latest placement; NULL = never placed */
    job_t *prev, *next;           /* class->waiting, submission->throttled or site->live */
    job_t *dirty_next;
    job_t *ended_next;
    UT_hash_handle hh;
};

/*  Its open tasks, in order: NULL = that was the last. *at begins with 0. */
job_t *core_submission_next(helio_broker_core_t *self, const submission_t *submission, uint32_t *at);
job_t *core_job_find(helio_broker_core_t *self, helio_job_key_t key);
/*  Its tasks, wherever they are, are of another class from now on, perhaps in another queue: those in line stand there
 *  by age. Where the queue changes, no task may be at a site. */
void core_submission_reclass(helio_broker_core_t *self, submission_t *submission, const helio_requirement_t *want,
                             int32_t priority, queue_t *queue);
job_t *core_job_new(helio_broker_core_t *self, submission_t *submission, int32_t task);
int core_job_by_age(const job_t *a, const job_t *b); /* < 0: a is older */
void core_job_enqueue(helio_broker_core_t *self, job_t *job, bool first);
void core_job_feed(helio_broker_core_t *self, submission_t *submission); /* as many as gate and throttle let through */
/*  The one place where a state changes: checks the edge, keeps lists and counts, writes the transition, marks the row
 *  dirty. A terminal job is freed at the end of the step. */
void core_job_change_state(helio_broker_core_t *self, job_t *job, uint32_t to, helio_details_t why, const char *actor);
void core_job_set_why(job_t *job, const helio_details_t *why); /* keeps a copy, which its row shows */
void core_job_placed_at(job_t *job, helio_text_t site, helio_text_t pool);
uint32_t core_job_gpus(const job_t *job); /* at the latest placement, on all its nodes */
const char *core_job_site(const job_t *job); /* of the latest placement; "" = never placed */
const char *core_job_pool(const job_t *job);
void core_job_mark_dirty(helio_broker_core_t *self, job_t *job);
void core_job_forget(helio_broker_core_t *self, job_t *job); /* over: writes nothing */
void core_jobs_flush(helio_broker_core_t *self); /* end of a step: rows of dirty jobs, frees terminal ones */
void core_jobs_reap(helio_broker_core_t *self); /* begin of a step */
void core_jobs_free(helio_broker_core_t *self);
uint32_t core_migration_target_gpus(const job_t *job,
                                    uint32_t gpus_per_node); /* of all its nodes, were they such ones */
/*  When a job that is at a site is over at the latest, by its limit. */
int64_t core_job_end_ms(const helio_broker_core_t *self, const job_t *job);

#endif
