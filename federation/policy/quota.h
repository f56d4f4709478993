/*  quota.h -- how many GPUs a tenant may hold at once, and how many it is owed. Pure.
 *
 *  A quota is of a tenant, in all queues together, or of a tenant in one queue. GPUs count from the moment they
 * are promised to a job until the job has left its site, whatever it does with them. The burst limit is never
 * exceeded; the guarantee is an order of precedence, not a reserve: what a tenant does not ask for is lent to
 * others, and comes back to it first as their jobs end.
 */
#ifndef HELIO_POLICY_QUOTA_H
#define HELIO_POLICY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HELIO_QUOTA_UNLIMITED = INT32_MAX, /* a burst limit that is none */
    HELIO_QUOTA_GPUS_MAX = 1000000000,
    /* Of a tenant in a critical queue, as long as nobody says otherwise: work that may take everybody's place is
     * bounded. */
    HELIO_QUOTA_CRITICAL_GPUS = 8,
    HELIO_QUOTA_WEIGHT_DEFAULT = 1000, /* thousandths */
    HELIO_QUOTA_WEIGHT_MAX = 1000000
};

typedef struct helio_quota {
    uint32_t guaranteed_gpus; /* at most burst_gpus */
    uint32_t burst_gpus;      /* at once, over all sites; HELIO_QUOTA_UNLIMITED = no limit */
    uint32_t weight_milli;    /* its part of what is contended, beside others'; 1 to HELIO_QUOTA_WEIGHT_MAX */
} helio_quota_t;

/*  Nothing guaranteed, no limit, weight 1: of whom nobody has said anything. */
helio_quota_t helio_quota_default(void);
/*  The same of a tenant in a queue; critical: of the critical tier. */
helio_quota_t helio_quota_default_in(bool critical);

/*  A quota, and what is held of it now. */
typedef struct helio_holdings {
    helio_quota_t quota;
    uint64_t gpus;
} helio_holdings_t;

/*  GPUs that may be added; 0 when the limit was lowered below what is held. */
uint32_t helio_quota_left(const helio_holdings_t *self);
/*  Less is held than is guaranteed. */
bool helio_quota_is_below_guarantee(const helio_holdings_t *self);
/*  give: at most what was taken. */
void helio_quota_take(helio_holdings_t *self, uint32_t gpus);
void helio_quota_give(helio_holdings_t *self, uint32_t gpus);

#endif
