/*  waiting_requests.h -- the thread where requests wait: one actor, one bounded ring, one owner of all that is suspended.
 *
 *  It posts operations (operation.h) to engine and reader, hands results to the next step, keeps the deadlines that the
 * library does not keep for suspended connections, and wakes streams. When a deadline passes, the request is answered and its
 * operation is left to itself until its answer comes, however late.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_WAITING_REQUESTS_H
#define HELIO_BROKER_HTTP_REQUEST_WAITING_REQUESTS_H

#include "broker/http/request/request_context.h"

/*  resume: gives an exchange back to the library (tests do without one). */
helio_waiting_requests_t *helio_waiting_requests_new(helio_http_t *http,
                                                     void (*resume)(helio_request_context_t *context));
void helio_waiting_requests_destroy(
    helio_waiting_requests_t **self_p); /* after stop, and after engine and reader have ended */
void helio_waiting_requests_start(helio_waiting_requests_t *self);
/*  With http->stopping set: answers everything that waits, returns when nothing is suspended. */
void helio_waiting_requests_stop(helio_waiting_requests_t *self);

/*  A library's thread, before suspending: false when the desk is closing (answer 503 instead). */
bool helio_waiting_requests_enter(helio_waiting_requests_t *self);
/*  … and after suspending: the exchange is the desk's from here on. */
void helio_waiting_requests_add(helio_waiting_requests_t *self, helio_request_context_t *context);

/*  Any thread: something happened up to this seq (0 = look again anyway). Never blocks. */
void helio_waiting_requests_notify(helio_waiting_requests_t *self, uint64_t seq);
uint64_t helio_waiting_requests_seq(const helio_waiting_requests_t *self); /* the highest seq rung */

#endif
