/*  ask.h -- a hypothetical question: what would become of a job that asked for this?
 *
 *  Evaluation asks of a class. The class of a question stands in no table and no list: nothing of an evaluation is kept
 *  in it, and whatever is changed of it changes nothing of those that wait.
 */
#ifndef HELIO_BROKER_CORE_STATE_ASK_H
#define HELIO_BROKER_CORE_STATE_ASK_H

#include "broker/core/state/classes.h"
#include "broker/core/state/nouns.h"
#include "federation/policy/requirement.h"

typedef struct ask {
    helio_requirement_t want;
    account_t *account; /* NULL = capacity is not asked for, only where it fits */
    queue_t *queue;
    int32_t priority;
    int64_t earliest_ms; /* wall clock: its job can start then at the earliest; 0 = now */
} ask_t;

/*  As a class that waits asks. */
ask_t core_ask_of(const job_class_t *class);
/*  Views of the question, which must outlive it. in_place_of: whose jobs, window and preemptions it has; NULL = none's.
 *  With another account, queue or priority it is none of those that wait (id 0). */
job_class_t core_class_of_ask(const ask_t *ask, const job_class_t *in_place_of);

#endif
