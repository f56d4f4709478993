/*  submit.h -- documents on their way to the core, as a submission or as a plan. */
#ifndef HELIO_BROKER_HTTP_ROUTES_SUBMIT_H
#define HELIO_BROKER_HTTP_ROUTES_SUBMIT_H

#include "broker/http/request/request_context.h"

/*  Awaits SUBMIT or PLAN (kind), after a look-up of the jobs that the documents depend on. event: in the arena of
 *  helio_await_arena, with its body. */
void helio_submit_ask(helio_request_context_t *context, helio_ev_submit_t *event, uint32_t kind,
                      helio_request_context_step_fn *done);

#endif
