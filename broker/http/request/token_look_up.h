/*  token_look_up.h -- asks the database for a token that the leader does not know. `helio-broker token add` writes
 *  straight into the database, where a follower's looks find it; the leader's own table follows its own commits only. */
#ifndef HELIO_BROKER_HTTP_REQUEST_TOKEN_LOOK_UP_H
#define HELIO_BROKER_HTTP_REQUEST_TOKEN_LOOK_UP_H

#include "broker/http/request/request_context.h"

/*  Awaits the row of a well-formed credential, which is found with its whole secret only. */
void helio_token_look_up(helio_request_context_t *context, helio_request_context_step_fn *next,
                         helio_text_t credential);
/*  Awaits the row of an id. */
void helio_token_look_up_id(helio_request_context_t *context, helio_request_context_step_fn *next, const char *id);

/*  In the next step: puts what was found into the table of tokens. False: the database could not be asked. */
bool helio_token_look_up_ended(helio_request_context_t *context, const helio_result_t *result);

#endif
