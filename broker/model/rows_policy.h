/*  rows_policy.h -- what operators set: tenants, queues and their rules, quotas, budgets, overflow groups, data and
 *  links. Conventions: rows.h. */
#ifndef HELIO_BROKER_MODEL_ROWS_POLICY_H
#define HELIO_BROKER_MODEL_ROWS_POLICY_H

#include "federation/model/site.h"
#include "federation/policy/budget.h"
#include "federation/policy/quota.h" /* HELIO_QUOTA_UNLIMITED is a value of rows */

#define HELIO_ROW_TENANT_FIELDS(F, R) \
    F(R, TEXT, tenant, 32, _)         \
    F(R, TEXT, home_site, 32, _)      \
    F(R, BOOL, keeps_home, 0, _) /* a tenant that is stored already, unknown to this leader, keeps its home site */
HELIO_RECORD_DECLARE(helio_row_tenant, HELIO_ROW_TENANT_FIELDS)

#define HELIO_ROW_QUEUE_FIELDS(F, R)                             \
    F(R, TEXT, queue, 32, _)                                     \
    F(R, U32, priority, 0, _)                                    \
    F(R, U32, tier, HELIO_TIER_COUNT - 1, _)                     \
    F(R, U64, time_limit_ms, 0, _) /* the default of its jobs */ \
    F(R, BOOL, removed, 0, _)      /* the queue no longer exists */
HELIO_RECORD_DECLARE(helio_row_queue, HELIO_ROW_QUEUE_FIELDS)

/*  Another priority of a queue: in the hours of a schedule, or (schedule "") until a time. Upserted, also when it
 *  begins or ceases to apply; removed = deleted. UNIQUE (queue, region, schedule, zone). */
#define HELIO_ROW_QUEUE_RULE_FIELDS(F, R)                                                              \
    F(R, TEXT, queue, 32, _)                                                                           \
    F(R, TEXT, region, 32, _) /* of the sites where it applies; "" = everywhere */                     \
    F(R, TEXT, schedule, 256, _)                                                                       \
    F(R, TEXT, zone, 64, _)                              /* "" = UTC */                                \
    F(R, BYTES, zone_data, HELIO_QUEUE_ZONE_DATA_MAX, _) /* the zone's rules when it was set (TZif) */ \
    F(R, U32, priority, 0, _)                                                                          \
    F(R, I64, until_ms, 0, _) /* 0 = until it is removed */                                            \
    F(R, I64, at_ms, 0, _)    /* when it was set */                                                    \
    F(R, BOOL, holds, 0, _)   /* it applies now */                                                     \
    F(R, BOOL, removed, 0, _)
enum { HELIO_QUEUE_ZONE_DATA_MAX = 32768 };
HELIO_RECORD_DECLARE(helio_row_queue_rule, HELIO_ROW_QUEUE_RULE_FIELDS)

/*  What a tenant can hold in one queue, or (queue "") in all queues together (federation/policy/quota.h). Upserted.
 *  UNIQUE (tenant, queue). */
#define HELIO_ROW_QUOTA_FIELDS(F, R)                               \
    F(R, TEXT, tenant, 32, _)                                      \
    F(R, TEXT, queue, 32, _)                                       \
    F(R, U32, guaranteed_gpus, 0, _)                               \
    F(R, U32, burst_gpus, 0, _) /* HELIO_QUOTA_UNLIMITED = null */ \
    F(R, U32, weight_milli, 0, _)                                  \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_quota, HELIO_ROW_QUOTA_FIELDS)

/*  A budget of a tenant in one queue, or (queue "") in all queues together; tenant "*": of each tenant
 *  (federation/policy/budget.h). Upserted; period NONE = no budget. UNIQUE (tenant, queue, kind). */
#define HELIO_ROW_BUDGET_FIELDS(F, R)                                            \
    F(R, TEXT, tenant, 32, _)                                                    \
    F(R, TEXT, queue, 32, _)                                                     \
    F(R, U32, kind, HELIO_BUDGET_KINDS - 1, _)                                   \
    F(R, I64, amount, 0, _) /* GPU milliseconds, micro-dollars, or milligrams */ \
    F(R, U32, period, HELIO_PERIOD_COUNT - 1, _)                                 \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_budget, HELIO_ROW_BUDGET_FIELDS)

/*  Read at takeover only: what the ledger holds of a tenant in a queue, in one day (UTC) of the current budget
 *  periods. Its money is the sum of the rows whose cost is not below zero. */
#define HELIO_ROW_SPENT_FIELDS(F, R) \
    F(R, TEXT, tenant, 32, _)        \
    F(R, TEXT, queue, 32, _)         \
    F(R, I64, day_ms, 0, _)          \
    F(R, U64, gpu_ms, 0, _)          \
    F(R, I64, cost_micro_usd, 0, _)  \
    F(R, U64, carbon_mg, 0, _)
HELIO_RECORD_DECLARE(helio_row_spent, HELIO_ROW_SPENT_FIELDS)

/*  Read at takeover only: the expected use of an open job's placement, and whether the end of that attempt is
 *  stored. */
#define HELIO_ROW_EXPECTED_USE_FIELDS(F, R)        \
    F(R, KEY, key, 0, _)                           \
    F(R, U32, epoch, 0, _)                         \
    F(R, BOOL, ended, 0, _)                        \
    F(R, I64, start_ms, 0, _)                      \
    F(R, U64, transfer_ms, 0, _)                   \
    F(R, U64, expected_ms, 0, _) /* 0 = unknown */ \
    F(R, U64, expected_high_ms, 0, _)              \
    F(R, I64, cost_micro_usd, 0, _)                \
    F(R, U64, carbon_mg, 0, _)
HELIO_RECORD_DECLARE(helio_row_expected_use, HELIO_ROW_EXPECTED_USE_FIELDS)

/*  An overflow group (federation/policy/overflow.h). Upserted; removed = deleted. UNIQUE (name), UNIQUE (queue,
 *  tenant). */
#define HELIO_ROW_OVERFLOW_FIELDS(F, R)              \
    F(R, TEXT, name, 32, _)                          \
    F(R, TEXT, queue, 32, _)  /* "" = all queues */  \
    F(R, TEXT, tenant, 32, _) /* "" = all tenants */ \
    F(R, TEXT, steps, 1024, _)                       \
    F(R, I64, at_ms, 0, _)                           \
    F(R, BOOL, removed, 0, _)
HELIO_RECORD_DECLARE(helio_row_overflow, HELIO_ROW_OVERFLOW_FIELDS)

/*  The sites that hold the data under a URI prefix, separated by blanks; "" = the row is removed. Upserted. UNIQUE
 *  (prefix). */
enum { HELIO_DATA_PREFIX_MAX = 1024, HELIO_DATA_SITES_MAX = 64, HELIO_DATA_MAX = 100000, HELIO_LINKS_MAX = 10000 };
#define HELIO_ROW_DATA_FIELDS(F, R)                                       \
    F(R, TEXT, prefix, HELIO_DATA_PREFIX_MAX, _)                          \
    F(R, TEXT, sites, HELIO_DATA_SITES_MAX *(HELIO_SITE_NAME_MAX + 1), _) \
    F(R, I64, at_ms, 0, _)                                                \
    F(R, TEXT, tenant, 32, _) /* the tenant whose jobs can use it; "" = all tenants */
HELIO_RECORD_DECLARE(helio_row_data, HELIO_ROW_DATA_FIELDS)

/*  The link from one site to another; "*" = any site. Upserted; removed = deleted. UNIQUE (from, to). */
#define HELIO_ROW_LINK_FIELDS(F, R)          \
    F(R, TEXT, from, HELIO_SITE_NAME_MAX, _) \
    F(R, TEXT, to, HELIO_SITE_NAME_MAX, _)   \
    F(R, BOOL, removed, 0, _)                \
    F(R, U64, mbps, 0, _)                    \
    F(R, I64, egress_micro_usd_per_gb, 0, _) \
    F(R, U32, rtt_ms, 0, _)                  \
    F(R, I64, at_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_link, HELIO_ROW_LINK_FIELDS)

#endif
