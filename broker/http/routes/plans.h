/*  plans.h -- the answer that plans of documents (plans.c) and of stored jobs (replan.c) both give. */
#ifndef HELIO_BROKER_HTTP_ROUTES_PLANS_H
#define HELIO_BROKER_HTTP_ROUTES_PLANS_H

#include "broker/http/request/request_context.h"

/*  The last step of a request: answers with the plan that the core has made. */
void helio_plan_put(helio_request_context_t *context, const helio_result_t *result);

#endif
