/*  submit.h -- documents on their way to the core, as a submission or as a plan. */
#ifndef HELIO_BROKER_HTTP_ROUTES_SUBMIT_H
#define HELIO_BROKER_HTTP_ROUTES_SUBMIT_H

#include "broker/http/request/request_context.h"

/*  SUBMIT or PLAN, once what the documents depend on was looked up. event: of helio_await_arena, with its body. */
void helio_submit_ask(helio_request_context_t *context, helio_ev_submit_t *event, uint32_t kind,
                      helio_request_context_step_fn *done);

#endif
