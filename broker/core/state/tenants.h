/*  tenants.h -- tenants, and what they hold and spend in all queues. */
#ifndef HELIO_BROKER_CORE_STATE_TENANTS_H
#define HELIO_BROKER_CORE_STATE_TENANTS_H

#include <uthash.h>

#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/policy/fair_share.h"
#include "federation/policy/quota.h"

typedef struct tenant {
    char name[33];
    char home_site[33];
    uint32_t open_jobs;
    uint32_t channels;                                      /* that are open */
    int64_t submits_until_us;                               /* monotonic: when what it submitted fits its rate */
    int64_t commands_until_us;                              /* the same of its commands and edits */
    helio_holdings_t holds;                                 /* in all queues */
    uint64_t leaving_gpus, expected_gpus[HELIO_TIER_COUNT]; /* in all queues, as in accounts.h */
    claims_t claims;                                        /* in all queues, as in accounts.h */
    helio_share_t share;
    spending_t spends; /* in all queues */
    account_t *accounts;
    UT_hash_handle hh;
} tenant_t;

tenant_t *core_tenant_get(helio_broker_core_t *self, helio_text_t name); /* created when new */

#endif
