/*  dependencies.h -- dependency holds: the jobs and the time that a job waits for before it can start. */
#ifndef HELIO_BROKER_CORE_HOLDS_DEPENDENCIES_H
#define HELIO_BROKER_CORE_HOLDS_DEPENDENCIES_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"
#include "broker/model/rows_job.h"
#include "federation/base/heap.h"
#include "federation/base/id.h"
#include "federation/model/job.h"

/*  One job that a hold waits for. Removed when that job has ended. */
typedef struct waiter {
    struct waited *waited;
    dependency_hold_t *hold;
    struct waiter *prev, *next;           /* of waited, in order of arrival */
    struct waiter *hold_prev, *hold_next; /* of the hold, in the document's order */
} waiter_t;

/*  All waiters for one job, array or task to end in one way. */
typedef struct waited {
    struct {
        helio_job_key_t on;
        uint32_t after;
    } key;
    waiter_t *waiters;
    UT_hash_handle hh;
} waited_t;

/*  Keeps a submission's tasks, or one of them, out of their class's queue. */
struct dependency_hold {
    submission_t *submission;
    job_t *task; /* which; NULL = all */
    waiter_t *waiters;
    uint32_t waiter_count;
    int64_t not_before_ms;   /* wall clock; 0 = none, or past */
    helio_heap_item_t timed; /* in the heap while not_before_ms is set */
    helio_job_key_t failed_on;
    uint32_t failed_after; /* HELIO_AFTER_COUNT = none has failed */
    bool over;             /* its jobs go on, or are cancelled, in their turn (due_holds.h) */
    uint32_t cancelled_to; /* the task from which on they still are to be */
    dependency_hold_t *due_prev, *due_next;
    bool told;  /* it has a row */
    bool dirty; /* its row must be written (hold_rows.h) */
    dependency_hold_t *dirty_prev, *dirty_next;
};

dependencies_t *core_dependencies_new(void);
void core_dependencies_destroy(dependencies_t **self_p);

/*  The core has every open job, whatever the shell read before. NULL: the job, or the task, is over or unknown. */
const submission_t *core_dependencies_held(helio_broker_core_t *self, helio_job_key_t on);
/*  What has become of a job that another waits for. found: what the shell read before. */
helio_found_t core_dependency_now(helio_broker_core_t *self, helio_job_key_t on, uint32_t after, helio_found_t found);
/*  Whether a dependency that ended so can no longer be met. */
bool core_dependency_fails(uint32_t after, helio_found_t how);
/*  The first dependency of a checked document for which all of its job would be cancelled; NULL = none. */
const helio_dependency_t *core_dependencies_failed(helio_broker_core_t *self, const helio_submission_t *job);
/*  "succeeded", "did not succeed": what a job that ended otherwise than `after` needs did. */
const char *core_dependency_outcome(uint32_t after);
/*  What the hold waits for, in words for its row. */
helio_details_t core_dependency_hold_why(helio_broker_core_t *self, const dependency_hold_t *hold);
/*  Of a hold that something failed. */
helio_details_t core_dependency_failed_why(helio_broker_core_t *self, const dependency_hold_t *hold);
/*  Whether everything that the document names can be waited for; if not, replies and returns false. number: the
 *  document's number among several, from 1; 0 = the only one. */
bool core_dependencies_check(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                             uint32_t number);
/*  For a checked document, and jobs that are not enqueued: writes its rows, and creates holds unless all dependencies are
 *  satisfied already. */
void core_dependency_hold_new(helio_broker_core_t *self, submission_t *submission, const helio_submission_t *job);
void core_dependencies_load(helio_broker_core_t *self, submission_t *submission, const helio_job_spec_t *spec);
void core_dependencies_load_waiting(helio_broker_core_t *self, const helio_row_waiting_t *row);
void core_dependencies_load_ended(helio_broker_core_t *self, const helio_row_ended_hold_t *row);
void core_dependencies_loaded(helio_broker_core_t *self, job_t *job); /* ends its hold in its turn, if all has come */
/*  Cancels it if a dependency can no longer be met: in this step, or task by task in the steps after it. */
void core_dependencies_refuse(helio_broker_core_t *self, job_t *job);
void core_dependencies_forget(helio_broker_core_t *self, job_t *job); /* destroys its holds */
/*  Notes that a job ended, or runs for the first time; core_dependencies_resolve tells its dependents. */
void core_dependencies_moved(helio_broker_core_t *self, job_t *job);
void core_dependencies_ended(helio_broker_core_t *self, job_t *job);
void core_dependencies_resolve(helio_broker_core_t *self); /* end of a step: tells dependents */
void core_dependencies_recheck(
    helio_broker_core_t *self); /* at a check: begin times that have come, and what is left to do */

#endif
