/*  order.h -- the scheduling order: which class is considered next in a round. */
#ifndef HELIO_BROKER_CORE_STATE_ORDER_H
#define HELIO_BROKER_CORE_STATE_ORDER_H

#include "broker/core/state/nouns.h"

/*  All waiting classes that can find something, each queue in order of priority and age: one for each account, of the
 *  classes that are judged anyway, and one for each line that room can help. In the arena of the step's effects. Brings
 *  the shares of their tenants up to date. */
typedef struct tenant_queue {
    line_t *line; /* NULL: the next members are used instead */
    job_class_t **classes;
    uint32_t count, at;
    uint32_t again;    /* of the classes before `at`, the first ones: they are asked again at a lower priority level */
    job_class_t *head; /* scratch of core_scheduling_next */
} tenant_queue_t;

typedef struct scheduling_order {
    tenant_queue_t *tenant_queues;
    uint32_t count;
    tenant_queue_t *named; /* the last result of core_scheduling_next */
} scheduling_order_t;

bool core_is_below_guarantee(
    const job_class_t *class); /* its tenant has less than its guarantee, in all queues or in this one */
/*  Whether it competes for capacity. A class that waits by choice, or for something else, takes none. */
bool core_class_wants_room(const job_class_t *class);
/*  < 0: a goes first. By tier, priority level, guarantee, fair share; 0 = equal so far. */
int core_class_compare_share(const job_class_t *a, const job_class_t *b);
/*  The same, then by the priority of the jobs and by age. Both have a waiting job. */
int core_class_compare(const job_class_t *a, const job_class_t *b);
/*  The same, with the priorities that their queues have at one site. */
int core_class_compare_at(const job_class_t *a, const job_class_t *b, const site_t *site);
/*  Sorts classes with waiting jobs by the order as it is now, without the effect of placements. */
void core_scheduling_sort(const job_class_t **classes, uint32_t count);
/*  The order of this round. */
scheduling_order_t core_scheduling_order(helio_broker_core_t *self);
/*  The class that is next, and the one after it from another account (NULL = none). NULL: no class is left. */
job_class_t *core_scheduling_next(helio_broker_core_t *self, scheduling_order_t *scheduling_order,
                                  job_class_t **ret_rival);
/*  The class that core_scheduling_next returned last is finished; or (lower) finished at this priority level, and asked
 *  again at the next lower one that its queue has anywhere. Without this call it is asked again. */
void core_scheduling_done(helio_broker_core_t *self, scheduling_order_t *scheduling_order, bool lower);

#endif
