/*  limits.h -- quotas and budgets that keep a job waiting. */
#ifndef HELIO_BROKER_CORE_DECIDE_LIMITS_H
#define HELIO_BROKER_CORE_DECIDE_LIMITS_H

#include "broker/core/state/budget_starts.h"
#include "broker/core/state/nouns.h"
#include "federation/reason/detail.h"

/*  Which budget is short, by how much, until when, and what an operator would set. */
helio_details_t core_budget_details(helio_broker_core_t *self, const job_class_t *class, const shortage_t *shortage);
/*  What an operator would set so that the tenant can hold that many GPUs, beside those in use if its quota has room for
 *  them alone. */
helio_detail_t core_quota_remedy(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);
/*  What that change has room for. */
helio_details_t core_quota_room(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);
/*  Whether the quota would refuse that many GPUs even if nothing else ran. */
bool core_quota_is_too_small(const job_class_t *class, uint32_t gpus);
/*  Why a job that needs that many GPUs gets none. */
helio_details_t core_quota_details(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus);

#endif
