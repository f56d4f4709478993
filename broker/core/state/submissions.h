/*  submissions.h -- submissions: what all tasks of one submitted document share. */
#ifndef HELIO_BROKER_CORE_STATE_SUBMISSIONS_H
#define HELIO_BROKER_CORE_STATE_SUBMISSIONS_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/base/id.h"
#include "federation/base/memory.h"
#include "federation/base/record.h"
#include "federation/model/job.h"

/*  The fields of a job's row that are needed later. A million jobs can wait, so the other fields are in the database
 *  only. */
typedef struct submission_row {
    helio_uuid_t job;
    helio_text_t tenant; /* the tenant's own text; queue likewise */
    helio_text_t queue;
    helio_text_t user;
    helio_text_t source;
    helio_text_t name; /* its stem (durations.h) */
    helio_u32s_t tasks;
    uint64_t time_limit_ms;   /* as edited */
    uint64_t stored_limit_ms; /* as the job's row has it */
    int64_t submitted_ms;
    uint32_t kind;
} submission_row_t;

/*  What all tasks of one submitted document share. Freed with its last open task. One allocation, with the data of the
 *  row's views behind the struct. */
struct submission {
    submission_row_t row;
    uint32_t retries; /* from here on: the fields of the spec that are needed later */
    uint32_t tasks_at_once;
    uint32_t on_site_loss;
    bool better_site; /* it asks to migrate (placement.on_better_site) */
    uint32_t goal;    /* as edited; the class has the other edited fields */
    bool prices_set;
    uint64_t flexible_ms;
    bool signalled; /* it saves on a signal (checkpoint.signal) */
    uint64_t grace_ms, checkpoint_every_ms;
    tenant_t *tenant;
    queue_t *queue;
    job_class_t *class;
    uint32_t open_tasks;
    uint32_t unresolved_tasks; /* tasks whose end has not been reported to dependent jobs */
    uint32_t failed_tasks;     /* ended without success */
    uint32_t unstarted_tasks;  /* tasks that neither ran nor ended */
    dependency_hold_t *hold;   /* NULL = no dependency hold, or it has ended */
    bool begun;                /* loaded with a task that was placed: its dependency hold had ended */
    uint32_t fed_tasks;        /* of a throttled array: in the class's queue or live */
    job_t *throttled;          /* tasks that wait for dependency hold or throttle, FIFO */
    job_t *held_tasks;         /* queued tasks that have dependency holds of their own */
    submission_t *buried_next;
};

/*  Finds an array's tasks by the array's id alone. */
typedef struct array {
    helio_uuid_t job;
    submission_t *submission;
    UT_hash_handle hh;
} array_t;

submission_t *core_array_find(helio_broker_core_t *self, helio_uuid_t job);              /* NULL: no array, or over */
void core_submission_store_spec(submission_t *submission, const helio_job_spec_t *spec); /* what is needed later */
/*  Keeps no view of *row, and fills in its class. */
submission_t *core_submission_new(helio_broker_core_t *self, helio_row_job_t *row, const helio_job_spec_t *spec);
void core_array_drop(helio_broker_core_t *self, helio_uuid_t job);

#endif
