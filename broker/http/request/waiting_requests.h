/*  waiting_requests.h -- the suspended requests, and the thread that owns and resumes them.
 *
 *  It posts operations (operation.h) to engine and reader, passes results to the next step, keeps the deadlines that
 *  the library does not keep for suspended connections, and wakes streams. When a deadline passes, the request is
 *  answered, and its operation is dropped when its answer arrives, however late. */
#ifndef HELIO_BROKER_HTTP_REQUEST_WAITING_REQUESTS_H
#define HELIO_BROKER_HTTP_REQUEST_WAITING_REQUESTS_H

#include "broker/http/request/request_context.h"

/*  resume: returns a request to the library (tests replace it). */
helio_waiting_requests_t *helio_waiting_requests_new(helio_http_t *http,
                                                     void (*resume)(helio_request_context_t *context));
void helio_waiting_requests_destroy(
    helio_waiting_requests_t **self_p); /* after stop, and after engine and reader have ended */
void helio_waiting_requests_start(helio_waiting_requests_t *self);
/*  Needs http->stopping to be set: answers all waiting requests, and returns when none is suspended. */
void helio_waiting_requests_stop(helio_waiting_requests_t *self);

/*  A thread of the library, before it suspends a request. False: the server is stopping (answer 503 instead). */
bool helio_waiting_requests_enter(helio_waiting_requests_t *self);
/*  After the suspension: this thread passes the request on and must not touch it any more. */
void helio_waiting_requests_add(helio_waiting_requests_t *self, helio_request_context_t *context);

/*  Any thread: transitions up to this seq are durable (0 = wake the streams anyway). Never blocks. */
void helio_waiting_requests_notify(helio_waiting_requests_t *self, uint64_t seq);
uint64_t helio_waiting_requests_seq(const helio_waiting_requests_t *self); /* the highest seq notified */

#endif
