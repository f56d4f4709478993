/*  plan_prices.h -- plans of documents and of stored jobs at the prices of the query, and the answer that both give. */
#ifndef HELIO_BROKER_HTTP_ROUTES_PLAN_PRICES_H
#define HELIO_BROKER_HTTP_ROUTES_PLAN_PRICES_H

#include "broker/http/request/request_context.h"
#include "federation/model/job.h"

/*  The query parameters `carbon` and `wait`. */
typedef struct helio_plan_prices {
    bool given;
    int64_t carbon_micro_usd_per_t;
    int64_t wait_micro_usd_per_gpu_h;
} helio_plan_prices_t;

/*  False: a problem was answered. */
bool helio_plan_prices_read(helio_request_context_t *context, helio_plan_prices_t *ret_prices);
/*  Puts them in place of the goal or prices that the job has; without them, leaves it as it is. */
void helio_plan_prices_set(const helio_plan_prices_t *prices, helio_job_spec_t *spec);

/*  The step that answers with a plan (plans.c). */
void helio_plan_put(helio_request_context_t *context, const helio_result_t *result);

#endif
