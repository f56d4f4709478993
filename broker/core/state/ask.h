/*  ask.h -- a hypothetical question: what would happen to a job with this request?
 *
 *  Evaluation takes a class. The class of a question is in no table and no list: evaluation stores nothing in it, and
 *  changing it changes no waiting class. */
#ifndef HELIO_BROKER_CORE_STATE_ASK_H
#define HELIO_BROKER_CORE_STATE_ASK_H

#include "broker/core/state/nouns.h"
#include "federation/policy/requirement.h"

/*  What is asked. A class has the same members, under their own names and as its `ask` (classes.h). */
#define CORE_ASK_MEMBERS                                                              \
    helio_requirement_t want;                                                         \
    account_t *account; /* NULL = where does it fit at all, regardless of capacity */ \
    queue_t *queue;                                                                   \
    int32_t priority;  /* among the classes of its account; part of its identity */   \
    int64_t judged_ms; /* wall clock: the job starts then at the earliest; 0 = now */

typedef struct ask {
    CORE_ASK_MEMBERS
} ask_t;

/*  The question of a waiting class. */
ask_t core_ask_of(const job_class_t *class);
/*  The result has views of the question, which must outlive it. in_place_of: the class whose jobs, window and
 *  preemptions it has; NULL = none. With another account, queue or priority the result is none of the waiting classes
 *  (id 0). */
job_class_t core_class_of_ask(const ask_t *ask, const job_class_t *in_place_of);

#endif
