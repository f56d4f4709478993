/*  evaluate.h -- the evaluation of one class in one round: its options, and the chosen one. */
#ifndef HELIO_BROKER_CORE_DECIDE_EVALUATE_H
#define HELIO_BROKER_CORE_DECIDE_EVALUATE_H

#include "broker/core/state/ask.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "federation/reason/detail.h"

typedef struct evaluation {
    job_class_t *class;
    option_t *options; /* those that can start now first, best first; in the core's scratch or in the class */
    uint32_t count;
    uint32_t feasible;      /* can start now, with or without capacity */
    uint32_t alive;         /* bit i: step i of its overflow group has a pool for it, with or without capacity */
    const option_t *chosen; /* where it goes now, or the later start that it waits for */
    const option_t *now;    /* of one that waits for a later start: where it could start now instead; NULL = nowhere */
    bool waits;             /* for chosen's later start */
    uint32_t capped_gpus;   /* the least it needs if its quota does not allow that; 0 = it waits for something else */
    const option_t *over_budget; /* where it would start if its budgets allowed it; NULL = they do */
    shortage_t shortage;         /* at over_budget */
    reservation_t reservation;
    const option_t *reserved;         /* where its head gang has a reservation */
    uint64_t decision_id;             /* 0 until written */
    const option_t *preempts;         /* where it preempts other jobs; NULL = nowhere */
    int64_t loss_micro_usd;           /* of the victims */
    int64_t preempts_at_ms;           /* only expected: when they will have left (wall clock) */
    helio_details_t preempts_details; /* and which jobs; empty: it preempts nothing, or that was not asked */
    const char *migrated_from;        /* it left that site for this start; NULL = an ordinary choice */
    const option_t *earliest;         /* where a job of it could start first; NULL = not known yet */
} evaluation_t;

/*  For the head of the class, with what is free now. */
typedef struct choice {
    const option_t *now;   /* the best that has capacity and accepts offers; NULL = none */
    const option_t *later; /* the best later start that is worth waiting for instead; NULL = none */
    uint32_t room;         /* jobs of the class that will find capacity there then */
} choice_t;

/*  What a question supposes of one site. It stands only within a step, and evaluation caches nothing meanwhile. */
typedef struct supposition {
    const site_t *site; /* NULL = nothing is supposed */
    bool drains;
    uint32_t price_per_mille; /* its prices, of what they are */
} supposition_t;

evaluator_t *core_evaluator_new(void);
void core_evaluator_destroy(evaluator_t **self_p);

/*  Judges all pools for a waiting class. The result's options are valid until the next evaluation. */
evaluation_t core_evaluate(helio_broker_core_t *self, job_class_t *class);
/*  The same for a hypothetical question; in_place_of: ask.h. The evaluation points at *ret_class, which must outlive
 *  it. */
evaluation_t core_evaluate_ask(helio_broker_core_t *self, const ask_t *ask, const job_class_t *in_place_of,
                               job_class_t *ret_class);
/*  Every evaluation from now on is made under it; supposes nothing if its site is NULL. */
void core_suppose(helio_broker_core_t *self, supposition_t supposed);
/*  Whether the pool failed or refused such a job just now, or its site has not been heard of for seconds. */
bool core_is_doubtful(const helio_broker_core_t *self, const job_class_t *class, const option_t *option);
/*  Whether its waiting jobs are paused there, because attempts ended at once. */
bool core_is_paused(const helio_broker_core_t *self, const job_class_t *class, const option_t *option);
/*  Whether the head of the class could start there now. */
bool core_has_room(helio_broker_core_t *self, const job_class_t *class, const option_t *option);
/*  Chooses among the options of an evaluation. Changes nothing. */
choice_t core_choose(helio_broker_core_t *self, const evaluation_t *e);
/*  Whether a job of the class might wait for a later start although this option has capacity now. */
bool core_would_wait(const helio_broker_core_t *self, const evaluation_t *e, const option_t *option);
/*  For a head that does not start now: what it waits for, and where a gang would get a reservation. Fills in chosen,
 *  waits, now, reserved and reservation; changes nothing else. */
void core_decide(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice);
/*  Whether a quota or a budget is why it waits, wherever it could go. */
bool core_is_capped(const evaluation_t *e);

#endif
