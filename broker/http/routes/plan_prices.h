/*  plan_prices.h -- the prices of the query at which a plan is made, in place of the job's own. */
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

#endif
