/*  quota.h -- how many GPUs a tenant can hold at once, and how many it is guaranteed. Pure.
 *
 *  A quota applies to a tenant over all queues, or to a tenant in one queue. GPUs count from their assignment to a job
 *  until the job has left its site. The burst limit is never exceeded. The guarantee is an order of precedence, not a
 *  reserve: GPUs that a tenant does not request are lent to others, and the tenant gets them back first as those jobs
 *  end.
 */
#ifndef HELIO_POLICY_QUOTA_H
#define HELIO_POLICY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HELIO_QUOTA_UNLIMITED = INT32_MAX, /* no burst limit */
    HELIO_QUOTA_GPUS_MAX = 1000000000,
    /* Default limit of a tenant in a critical queue: work that may preempt all other work is bounded. */
    HELIO_QUOTA_CRITICAL_GPUS = 8,
    HELIO_QUOTA_WEIGHT_DEFAULT = 1000, /* thousandths */
    HELIO_QUOTA_WEIGHT_MAX = 1000000
};

typedef struct helio_quota {
    uint32_t guaranteed_gpus; /* at most burst_gpus */
    uint32_t burst_gpus;      /* at once, over all sites; HELIO_QUOTA_UNLIMITED = no limit */
    uint32_t weight_milli;    /* its part of contended capacity; 1 to HELIO_QUOTA_WEIGHT_MAX */
} helio_quota_t;

/*  The default: nothing guaranteed, no limit, weight 1. */
helio_quota_t helio_quota_default(void);
/*  The default of a tenant in one queue; critical: the queue is of the critical tier. */
helio_quota_t helio_quota_default_in(bool critical);

/*  A quota and its current usage. */
typedef struct helio_holdings {
    helio_quota_t quota;
    uint64_t gpus;
} helio_holdings_t;

/*  GPUs that may be added; 0 if the limit was lowered below the usage. */
uint32_t helio_quota_left(const helio_holdings_t *self);
/*  The usage is below the guarantee. */
bool helio_quota_is_below_guarantee(const helio_holdings_t *self);
/*  give: at most what was taken. */
void helio_quota_take(helio_holdings_t *self, uint32_t gpus);
void helio_quota_give(helio_holdings_t *self, uint32_t gpus);

#endif
