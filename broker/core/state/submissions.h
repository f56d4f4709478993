/*  submissions.h -- what all tasks of one submitted document share. */
#ifndef HELIO_BROKER_CORE_STATE_SUBMISSIONS_H
#define HELIO_BROKER_CORE_STATE_SUBMISSIONS_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/base/id.h"
#include "federation/base/memory.h"
#include "federation/base/record.h"
#include "federation/model/job.h"

/*  Of a job's row what is asked for later. A million may wait: the rest is in the database only. */
typedef struct submission_row {
    helio_uuid_t job;
    helio_text_t tenant; /* the tenant's own, as is the queue's */
    helio_text_t queue;
    helio_text_t user;
    helio_text_t source;
    helio_text_t name; /* its stem (durations.h) */
    helio_u32s_t tasks;
    uint64_t time_limit_ms;
    int64_t submitted_ms;
    uint32_t kind;
} submission_row_t;

/*  What all tasks of one submitted document share. Freed with its last open task; one piece of memory, with
 * what the row's views show behind it. */
struct submission {
    submission_row_t row;
    uint32_t retries; /* of the spec only what is asked for later */
    uint32_t tasks_at_once;
    uint32_t on_site_loss;
    bool better_site; /* it asks to be moved (placement.on_better_site) */
    uint32_t goal; /* as edited, as is what the class has of the rest */
    bool prices_set;
    uint64_t flexible_ms;
    bool signalled; /* saves when it is signalled (checkpoint.signal) */
    uint64_t grace_ms, checkpoint_every_ms;
    tenant_t *tenant;
    queue_t *queue;
    job_class_t *class;
    uint32_t open_tasks;
    uint32_t unresolved_tasks; /* of those, whose end nobody who waits for it was told */
    uint32_t failed_tasks;    /* ended otherwise than successful */
    dependency_hold_t *hold;             /* closed; NULL = open, or there never was one */
    bool begun;               /* loaded with a task that was placed: its gate had opened */
    uint32_t fed_tasks; /* of a throttled array: in the class's queue or live */
    job_t *throttled;   /* tasks that wait for the gate or the throttle, FIFO */
    submission_t *buried_next;
};

/*  Where an array's tasks are found by its id alone. */
typedef struct array {
    helio_uuid_t job;
    submission_t *submission;
    UT_hash_handle hh;
} array_t;

submission_t *core_array_find(helio_broker_core_t *self, helio_uuid_t job); /* NULL: no array, or over */
void core_submission_store_spec(submission_t *submission, const helio_job_spec_t *spec); /* what is asked for later */
/*  Keeps no view of the row; fills in its class. */
submission_t *core_submission_new(helio_broker_core_t *self, helio_row_job_t *row,
                                  const helio_job_spec_t *spec);
void core_array_drop(helio_broker_core_t *self, helio_uuid_t job);

#endif
