/*  evaluate.h -- one class in one round: where it could go, and where it goes. */
#ifndef HELIO_BROKER_CORE_DECIDE_EVALUATE_H
#define HELIO_BROKER_CORE_DECIDE_EVALUATE_H

#include "broker/core/state/ask.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "federation/reason/detail.h"

typedef struct evaluation {
    job_class_t *class;
    option_t *options; /* those that may start now first, best first; of the core's scratch or the class */
    uint32_t count;
    uint32_t feasible;      /* may start now, room or not */
    uint32_t alive;         /* bit i: step i of its overflow group has a place for it, room or not */
    const option_t *chosen; /* where it goes now, or whose later start it waits for */
    bool waits;             /* for chosen's later start */
    uint32_t capped_gpus;   /* what it needs at least, and its quota does not leave; 0 = it waits for something else */
    const option_t *over_budget; /* where it would start, did its budgets allow it; NULL = they do */
    shortage_t shortage;         /* there */
    reservation_t reservation;
    const option_t *reserved; /* where its head gang has one */
    uint64_t decision_id;     /* 0 until written */
    const option_t *preempts;   /* where it preempts others; NULL = nowhere */
    int64_t loss_micro_usd;   /* of those */
    int64_t preempts_at_ms;     /* foreseen only: when they will have left, wall clock, and who */
    helio_details_t preempts_details; /* none: it preempts nobody, or that is not asked */
    const char *migrated_from;   /* it has left that site for this start; NULL = it was chosen in its class's turn */
    const option_t *earliest;    /* where a job of it could start first; NULL = look it up */
} evaluation_t;

/*  For the head of the class, with what is free now. */
typedef struct choice {
    const option_t *now;   /* the best that has room, and may be offered something; NULL = none */
    const option_t *later; /* the best later start that is worth waiting for beside it; NULL = none */
    uint32_t room;         /* jobs of the class that will find room there then */
} choice_t;

evaluator_t *core_evaluator_new(void);
void core_evaluator_destroy(evaluator_t **self_p);

evaluation_t core_evaluate(helio_broker_core_t *self, job_class_t *class);
/*  The same of a hypothetical question; in_place_of: ask.h. The evaluation is of *ret_class. */
evaluation_t core_evaluate_ask(helio_broker_core_t *self, const ask_t *ask, const job_class_t *in_place_of,
                               job_class_t *ret_class);
/*  Whether its queue has the level of its turn there: else it is placed there in a later turn. */
bool core_is_at_priority_level(const job_class_t *class, const option_t *option);
/*  A pool that failed or refused such a job just now, or a site that has not been heard of for seconds. */
bool core_is_doubtful(const helio_broker_core_t *self, const job_class_t *class, const option_t *option);
/*  Whether the head of the class could start there now. */
bool core_has_room(helio_broker_core_t *self, const job_class_t *class, const option_t *option);
choice_t core_choose(helio_broker_core_t *self, const evaluation_t *e);
/*  With room there now, a job of the class might wait for a later start all the same. */
bool core_would_wait(const helio_broker_core_t *self, const evaluation_t *e, const option_t *option);
/*  For a head that does not start now: what it waits for, and where a gang would hold a reservation. Fills in
 * chosen, waits, reserved and reservation; changes nothing else. */
void core_decide(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice);
/*  A quota or a budget is why it waits, wherever it could go. */
bool core_is_capped(const evaluation_t *e);

#endif
