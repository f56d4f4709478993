/*  desk.h -- the thread where requests wait: one actor, one bounded ring, one owner of all that is suspended.
 *
 *  It posts operations (operation.h) to engine and reader, hands results to the next step, keeps the deadlines that the
 * library does not keep for suspended connections, and wakes streams. When a deadline passes, the request is answered and its
 * operation is left to itself until its answer comes, however late.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_DESK_H
#define HELIO_BROKER_HTTP_REQUEST_DESK_H

#include "broker/http/request/exchange.h"

/*  resume: gives an exchange back to the library (tests do without one). */
helio_desk_t *helio_desk_new(helio_http_t *http, void (*resume)(helio_exchange_t *exchange));
void helio_desk_destroy(helio_desk_t **self_p); /* after stop, and after engine and reader have ended */
void helio_desk_start(helio_desk_t *self);
/*  With http->stopping set: answers everything that waits, returns when nothing is suspended. */
void helio_desk_stop(helio_desk_t *self);

/*  A library's thread, before suspending: false when the desk is closing (answer 503 instead). */
bool helio_desk_admit(helio_desk_t *self);
/*  … and after suspending: the exchange is the desk's from here on. */
void helio_desk_take(helio_desk_t *self, helio_exchange_t *exchange);

/*  Any thread: something happened up to this seq (0 = look again anyway). Never blocks. */
void helio_desk_ring(helio_desk_t *self, uint64_t seq);
uint64_t helio_desk_seq(const helio_desk_t *self); /* the highest seq rung */

#endif
