/*  order.h -- the scheduling order: which class is asked next in a round. */
#ifndef HELIO_BROKER_CORE_STATE_ORDER_H
#define HELIO_BROKER_CORE_STATE_ORDER_H

#include "broker/core/state/nouns.h"

/*  All classes that wait and may find something, in lines: one an account, each in order of age. In the arena of
 *  the step's effects. Brings the shares of their tenants up to date. */
typedef struct tenant_queue {
    job_class_t **classes;
    uint32_t count, at;
    uint32_t again; /* of those before at, first in line: they get another turn, at a lower level */
} tenant_queue_t;

typedef struct scheduling_order {
    tenant_queue_t *tenant_queues;
    uint32_t count;
    tenant_queue_t *named; /* last */
} scheduling_order_t;

bool core_is_below_guarantee(
    const job_class_t *class); /* its tenant has less than it is guaranteed, in all or in its queue */
/*  < 0: a goes first. By tier, level of the turn, whose tenant is owed something, shares: 0 = equal so far. */
int core_class_compare_share(const job_class_t *a, const job_class_t *b);
/*  The same, then by age; both have a job that waits. */
int core_class_compare(const job_class_t *a, const job_class_t *b);
/*  The same, by the levels that both have at one site. */
int core_class_compare_at(const job_class_t *a, const job_class_t *b, const site_t *site);
scheduling_order_t core_scheduling_order(helio_broker_core_t *self);
/*  Whose turn it is, and who would be next (NULL = nobody), of another account. NULL: nobody is left. */
job_class_t *core_scheduling_next(scheduling_order_t *scheduling_order, job_class_t **ret_rival);
/*  The class that was named last is through, or (lower) through at this level and asked again at the next lower one
 *  that its queue has somewhere. Else it is asked again. */
void core_scheduling_done(scheduling_order_t *scheduling_order, bool lower);

#endif
