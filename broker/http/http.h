/*  http.h -- the broker's HTTP shell: REST under /v1, event stream, metrics, health.
 *
 *  Threads: libmicrohttpd's small pool parses, authenticates and sends; one thread of our own (waiting_requests.h) waits.
 * A request that must wait is suspended, handed to the desk through a bounded ring, and resumed with its
 * answer: at any time exactly one thread owns it, so nothing here is locked. No handler blocks; nothing here
 * decides.
 *
 *  Order of life: new -> listener goes into helio_engine_new -> start -> (engine runs) -> stop -> engine and
 * reader end
 *  -> destroy. Routes are one table (routes.h); docs/openapi.yaml is compared with it by a test.
 */
#ifndef HELIO_BROKER_HTTP_H
#define HELIO_BROKER_HTTP_H

#include "broker/http/request/options.h"
#include "federation/base/log.h"

typedef struct helio_http helio_http_t;

/*  The real ones. */
helio_http_ports_t helio_http_ports(helio_engine_t *engine, helio_reader_t *reader);

/*  Copies the options. The log must outlive self. */
helio_http_t *helio_http_new(const helio_http_options_t *options, helio_log_t *log);
/*  After helio_http_stop, and after engine and reader have ended: they have answered what was theirs. */
void helio_http_destroy(helio_http_t **self_p);

/*  For helio_engine_new: tokens as they come into force or are revoked, transitions as they become durable.
 * Called on the engine's thread; never blocks it. Valid from new to destroy. */
helio_engine_listener_t helio_http_listener(helio_http_t *self);

/*  Binds and serves. HELIO_INVALID: bad listen address; HELIO_IO: cannot bind (err says why and what to do).
 */
HELIO_MUST_CHECK helio_rc helio_http_start(helio_http_t *self, helio_http_ports_t ports, helio_error_t *err);
/*  Stops accepting, answers what waits with 503, ends streams, joins the threads. The engine may still run.
 */
void helio_http_stop(helio_http_t *self);

uint16_t helio_http_port(const helio_http_t *self); /* the bound port; 0 before start */

#endif
