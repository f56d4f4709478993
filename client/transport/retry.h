/*  retry.h -- what may be sent again, and when that is worth it. */
#ifndef HELIO_CLIENT_TRANSPORT_RETRY_H
#define HELIO_CLIENT_TRANSPORT_RETRY_H

#include "client/transport/remote.h"

/*  Whether a second one would do again what the first has done: POST and PATCH, unless a key finds the first. */
bool helio_request_acts_each_time(const helio_request_t *request);
/*  Whether it can be sent again although the first may have been carried out. */
bool helio_request_is_repeatable(const helio_request_t *request);
/*  Whether a status is worth another attempt: 429, 502, 503, 504. */
bool helio_status_is_transient(long status);
/*  One line for who waits meanwhile. fault: of the connection; NULL = the broker has refused with that status and body. */
void helio_retry_say(const helio_client_t *client, const char *fault, long status, helio_text_t body,
                     bool for_a_minute);

#endif
