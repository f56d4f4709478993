/*  limits.h -- quotas and budgets that keep a job waiting, in words. */
#ifndef HELIO_BROKER_CORE_DECIDE_LIMITS_H
#define HELIO_BROKER_CORE_DECIDE_LIMITS_H

#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"

/*  "budget of acme: 4,980 of 5,000 GPU-hours of November 2026 used or committed, it needs 32; begins again
 * ..." */
const char *core_budget_text(helio_broker_core_t *self, const job_class_t *class, const shortage_t *shortage);
/*  What an operator would set so that the tenant can hold so many more. */
const char *core_quota_remedy(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);
/*  Why a job that needs so many gets none: "quota of acme: 12 of 12 GPUs in use". */
const char *core_quota_text(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);

#endif
