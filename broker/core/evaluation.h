/*  evaluation.h -- one class in one round: where it could go, where it goes, and what is written of that. */
#ifndef HELIO_BROKER_CORE_EVALUATION_H
#define HELIO_BROKER_CORE_EVALUATION_H

#include "broker/core/internal.h"

typedef struct option {
    site_t *site;
    pool_t *pool;
    helio_candidate_t c;
    bool home;
    uint64_t facts; /* the site's, when it was judged */
    uint32_t step;  /* of the class's overflow group; 0 when it has none */
} option_t;

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
    const option_t *evicts;   /* where it evicts others; NULL = nowhere */
    int64_t loss_micro_usd;   /* of those */
    int64_t evicts_at_ms;     /* foreseen only: when they will have left, wall clock, and who */
    const char *evicts_text;
    const char *moved_from;   /* it has left that site for this start; NULL = it was chosen in its class's turn */
    const option_t *least;    /* where a job of it could start first; NULL = look it up */
} evaluation_t;

/*  For the head of the class, with what is free now. */
typedef struct choice {
    const option_t *now;   /* the best that has room, and may be offered something; NULL = none */
    const option_t *later; /* the best later start that is worth waiting for beside it; NULL = none */
    uint32_t room;         /* jobs of the class that will find room there then */
} choice_t;

/* evaluate.c */
evaluation_t core_evaluate(helio_broker_core_t *self, job_class_t *class);
/*  Whether its queue has the level of its turn there: else it is placed there in a later turn. */
bool core_is_of_turn(const job_class_t *class, const option_t *option);
/*  The time at which a start is judged: now, or when a plan's job may start at the earliest. */
int64_t core_judged_ms(const helio_broker_core_t *self, const job_class_t *class);
/*  A pool that failed or refused such a job just now, or a site that has not been heard of for seconds. */
bool core_is_doubtful(const helio_broker_core_t *self, const job_class_t *class, const option_t *option);
/*  On all its nodes. */
uint32_t core_option_gpus(const job_class_t *class, const option_t *option);
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

/* place.c */
void core_place(helio_broker_core_t *self, evaluation_t *e, job_t *job, const option_t *option);

/* plan_tasks.c: fills in tasks, tasks_now and tasks_text. Right after the choice: the options are those of
 * the core's scratch. */
void core_plan_tasks(helio_broker_core_t *self, const evaluation_t *e, const choice_t *choice,
                     const helio_job_spec_t *spec, helio_planned_t *plan);

/* overflow.c */
/*  Which step it belongs to; a start that the group does not allow is rejected. */
void core_overflow_judge(helio_broker_core_t *self, job_class_t *class, option_t *option);
/*  How many steps are open to the head of the class. Before anything is chosen for it. */
void core_overflow_open(helio_broker_core_t *self, const evaluation_t *e);
bool core_overflow_is_closed(const job_class_t *class, const option_t *option);
const char *core_overflow_name(const job_class_t *class); /* of its group, which it has */
/*  Wall clock: when the next step opens to the head; 0 = all are open. */
int64_t core_overflow_due_ms(const job_class_t *class);
/*  "cloud opens when the wait here is over 30m: now 12m"; "" = all are open. */
const char *core_overflow_next_text(helio_broker_core_t *self, const job_class_t *class);
/*  Why the option is closed or rejected. */
const char *core_overflow_text(helio_broker_core_t *self, const job_class_t *class, const option_t *option);

/* hunt.c */
/*  Whom core_evict would tell to leave for one more job of a class that was decided and has no room; tells nobody.
 *  False: nobody. Fills in evicts, loss_micro_usd, evicts_at_ms and evicts_text ("would preempt 3 jobs of queue
 *  preemptible"). Of those that have just begun it is foreseen when they may be told. */
bool core_evict_foresee(helio_broker_core_t *self, evaluation_t *e);

/* obstacle.c */
/*  Why the class's head does not start there now: its rejection, or what takes the room, with words (in the arena of
 *  the step's effects). NONE: it could. */
helio_rejection_t core_obstacle(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                const char **ret_detail);
/*  What the site keeps there, if that is why it does not start, and until when (core_kept_text); "" = it is not. */
const char *core_kept_from(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                           int64_t *ret_until_ms);

/* prospect.c: of a job that has not started */
/*  Who goes before the job of that class. reader: whose jobs may be named ("" = all). Adds to the prospect. */
void core_prospect_ahead(helio_broker_core_t *self, const job_class_t *class, const job_t *job, helio_text_t reader,
                         helio_prospect_t *ret_prospect);
/*  When it may start, from an evaluation that was decided and the reason that it gave; ahead is filled in already. */
void core_prospect_expect(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason, int64_t expected_ms,
                          helio_prospect_t *ret_prospect);

/* hints.c */
/*  What would let it start sooner. The evaluation's options are those of the core's scratch no more. */
void core_hints(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason, int64_t expected_ms,
                helio_prospect_t *ret_prospect);

/* decision.c */
const char *core_minute_text(helio_broker_core_t *self, int64_t wall_ms); /* "2026-03-01T14:00Z" */
const char *core_second_text(helio_broker_core_t *self, int64_t wall_ms); /* "2026-03-01T14:00:05Z", rounded up */
const char *core_span_text(helio_broker_core_t *self, uint64_t ms);               /* "4h30m", rounded up */
const char *core_place_text(helio_broker_core_t *self, const option_t *option); /* "lulea/h100" */
const char *core_money_text(helio_broker_core_t *self, int64_t micro_usd); /* "$12.30" */
void core_decision_write(helio_broker_core_t *self, evaluation_t *e, helio_reason_t reason,
                         const char *detail);
/*  The rows that this would write, but not into the database: of a plan. */
void core_decision_show(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                        const char *detail, helio_planned_t *plan);
/*  The dominant reason why its head waits, in words; with the time at which that is expected to end, 0 = not
 * foreseen. */
helio_reason_t core_decision_reason(helio_broker_core_t *self, const evaluation_t *e, const char **ret_detail,
                                    int64_t *ret_expected_ms);
void core_class_write(helio_broker_core_t *self, job_class_t *class, helio_reason_t reason,
                      const char *detail, int64_t expected_ms);

#endif
