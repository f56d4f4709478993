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

/*  What the broker has seen of the run of the latest placement, by a monotonic clock. The wall clock is read
 *  once, when the broker learns of the run: only it tells how long the run had lasted by then. */
typedef struct observed_run {
    uint32_t epoch;   /* of the attempt that was seen running; 0 = none */
    uint64_t session; /* the last session in which its site had it; 0 = one with a former leader */
    int64_t from_ms;  /* when the broker learned that it runs */
    int64_t from_wall_ms;
    int64_t alive_ms; /* the last proof of life in an earlier session, if it outlived one */
    bool outlived;
    bool told; /* its site reported that it runs; an inventory can list one whose start failed, until that is heard */
    int64_t suspended_ms;    /* sum of its suspensions that are over */
    int64_t suspended_at_ms; /* the present one; 0 = it is not suspended */
} observed_run_t;

/*  Where a job was placed last, by name, because the pool can be gone. A struct of its own, because most waiting jobs
 *  have never been placed. earliest: the earliest-start baseline of its first placement. */
typedef struct last_placement {
    char site[33];
    char pool[33];
    uint32_t gpus; /* that its tenant is charged with now; 0 = none */
    uint32_t weight_milli;
    char earliest_pool[33];
    site_t *earliest; /* NULL = unknown */
    int64_t earliest_ms;
    int64_t placed_ms;         /* by the monotonic clock; 0 = by a former leader */
    int64_t hastened_ms;       /* the same: since when its haste is known to this leader */
    int64_t absent_ms;         /* the same: its site did not have it yet, as an inventory showed; 0 = not known */
    helio_transfer_t transfer; /* of its data there; charged when the attempt has ended */
    commitment_t commitment;
    observed_run_t run;
    int64_t end_key; /* its place among the ends of its pool: holds/expected_ends.c */
    uint32_t end_tier;
    bool end_begun;
} last_placement_t;

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
    int64_t paused_until_ms; /* by the monotonic clock: where it may start before, core_class_next says */
    int64_t ready_ms;        /* wall clock: when it entered its queue; after a takeover, its submission */
    int64_t last_seen_ms; /* wall clock: up to when it is known to have run, while it is unseen; its row is dated so */
    helio_account_t used;
    uint64_t units_done;
    uint64_t saved_ms; /* run time whose work is saved; at most its time limit */
    site_t *site;      /* while live */
    pool_t *pool;
    uint32_t gpus_per_node;   /* of the current placement */
    uint64_t dispatch_seq;    /* 0 = not instructed in this session */
    uint64_t inventory;       /* session whose inventory listed it */
    bool counted;             /* its capacity is deducted from pool.free */
    bool ran;                 /* some epoch ran: HELIO_RESUME */
    bool start_told;          /* it ran, or ended, and does not count among the unstarted tasks */
    bool fed;                 /* past its array's throttle */
    bool kept_back;           /* queued, but not in its class: a copy of it may run (copies.h) */
    bool dirty;               /* its row must be written at the end of the step */
    bool stop_seen;           /* it was stopping when unanswered instructions were last looked for */
    bool leaving;             /* counted in its tenant's leaving_gpus */
    bool migrating;           /* told to stop for a migration */
    uint8_t haste;            /* helio_haste_t: what people ask of its stop, until it has left its site */
    uint8_t migrations;       /* how often it was */
    migrant_t *migrant;       /* of a job that can migrate, from its first run on; NULL = none */
    uint8_t losses;           /* attempts that their sites lost since it made progress: sites/losses.h */
    uint8_t quick_losses;     /* in a row: each ended within a minute, or was refused once too often */
    uint8_t refusals;         /* of its offers, since an attempt ran for a minute */
    uint8_t preemptions;      /* how often it was preempted for work of other tenants */
    preemption_t *preemption; /* the preemption that it is a victim of; NULL = none */
    helio_details_t *why;     /* of the last change of state; NULL = none */
    last_placement_t *last;   /* of the latest placement; NULL = never placed */
    copy_t *copies;           /* of it, which sites have listed: copies.h */
    dependency_hold_t *hold;  /* of this task alone; NULL = none, or it has ended */
    job_t *prev, *next;       /* in class->waiting, submission->throttled or ->held_tasks, or site->live */
    job_t *dirty_next;
    job_t *ended_next;
    UT_hash_handle hh;
};

/*  Walks the open tasks in order; NULL after the last. *at must be 0 at first. */
job_t *core_submission_next(helio_broker_core_t *self, const submission_t *submission, uint32_t *at);
/*  NULL: no such open job. */
job_t *core_job_find(helio_broker_core_t *self, helio_job_key_t key);
/*  Gives the tasks, wherever they are, another class, perhaps in another queue. Queued tasks are ordered by age there.
 *  If the queue changes, no task may be at a site. stored_id: core_class_get. */
void core_submission_reclass(helio_broker_core_t *self, submission_t *submission, const helio_requirement_t *want,
                             int32_t priority, queue_t *queue, uint64_t stored_id);
/*  A queued job of the submission; task: HELIO_NO_TASK without an array. It is not in its class's queue yet. */
job_t *core_job_new(helio_broker_core_t *self, submission_t *submission, int32_t task);
int core_job_by_age(const job_t *a, const job_t *b); /* < 0: a is older */
void core_job_enqueue(helio_broker_core_t *self, job_t *job, bool first);
/*  Enqueues as many tasks as dependency hold and throttle let through, and no copies keep back (copies.h). */
void core_job_feed(helio_broker_core_t *self, submission_t *submission);
/*  The task's own dependency hold has ended: it waits for its array's throttle only. */
void core_job_let_go(helio_broker_core_t *self, job_t *job);
/*  What keeps jobs back has changed for this one: it leaves its class's queue, if it is in it and may no longer
 *  start. */
void core_job_keep_back(helio_broker_core_t *self, job_t *job);
/*  The only place where a state changes: checks the edge, updates lists and counts, writes the transition, marks the
 *  row dirty. A terminal job is freed at the end of the step. */
void core_job_change_state(helio_broker_core_t *self, job_t *job, uint32_t to, helio_details_t why, const char *actor);
void core_job_set_why(job_t *job, const helio_details_t *why); /* copies; its row shows it */
void core_job_placed_at(job_t *job, helio_text_t site, helio_text_t pool);
/*  A command of its user or of an operator holds it. */
bool core_job_is_held_by_people(const job_t *job);
bool core_job_is_doubted(const job_t *job); /* suspect because its site's agent lost its memory */
/*  It is suspect, or being stopped although its site does not know it: what its site says later does not show it. */
bool core_job_is_unseen(const job_t *job);
uint32_t core_job_gpus(const job_t *job);    /* of the latest placement, on all its nodes */
const char *core_job_site(const job_t *job); /* of the latest placement; "" = never placed */
const char *core_job_pool(const job_t *job);
void core_job_mark_dirty(helio_broker_core_t *self, job_t *job);
void core_job_forget(helio_broker_core_t *self, job_t *job); /* it is over: writes nothing */
void core_jobs_flush(helio_broker_core_t *self);             /* end of a step: writes dirty jobs, frees terminal ones */
void core_jobs_reap(helio_broker_core_t *self); /* at the start of a step: frees what the last effects pointed into */
void core_jobs_free(helio_broker_core_t *self);
uint32_t core_migration_target_gpus(const job_t *job,
                                    uint32_t gpus_per_node); /* of all its nodes, if they had this many each */
enum { CORE_JOB_OVERDUE_MS = 60000 };                        /* past its limit and not over: it is being stopped */
/*  Wall clock: when a job at a site is over at the latest, by its time limit and the grace that it asks for. */
int64_t core_job_end_ms(const helio_broker_core_t *self, const job_t *job);

#endif
