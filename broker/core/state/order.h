/*  order.h -- the scheduling order: which class is asked next in a round. */
#ifndef HELIO_BROKER_CORE_STATE_ORDER_H
#define HELIO_BROKER_CORE_STATE_ORDER_H

#include "broker/core/state/nouns.h"

/*  All classes that wait and may find something, in lines: one an account, each in order of age. In the arena of
 *  the step's effects. Brings the shares of their tenants up to date. */
typedef struct line {
    job_class_t **classes;
    uint32_t count, at;
    uint32_t again; /* of those before at, first in line: they get another turn, at a lower level */
} line_t;

typedef struct turns {
    line_t *lines;
    uint32_t count;
    line_t *named; /* last */
} turns_t;

bool core_is_owed(const job_class_t *class); /* its tenant has less than it is guaranteed, in all or in its queue */
/*  < 0: a goes first. By tier, level of the turn, whose tenant is owed something, shares: 0 = equal so far. */
int core_share_turn(const job_class_t *a, const job_class_t *b);
/*  The same, then by age; both have a job that waits. */
int core_class_turn(const job_class_t *a, const job_class_t *b);
/*  The same, by the levels that both have at one site. */
int core_class_turn_at(const job_class_t *a, const job_class_t *b, const site_t *site);
turns_t core_turns(helio_broker_core_t *self);
/*  Whose turn it is, and who would be next (NULL = nobody), of another account. NULL: nobody is left. */
job_class_t *core_turns_next(turns_t *turns, job_class_t **ret_rival);
/*  The class that was named last is through, or (lower) through at this level and asked again at the next lower one
 *  that its queue has somewhere. Else it is asked again. */
void core_turns_done(turns_t *turns, bool lower);

#endif
