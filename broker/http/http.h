/*  http.h -- the broker's HTTP server: REST under /v1, event streams, metrics, health.
 *
 *  Threads: libmicrohttpd's small pool parses, authenticates and sends. A request that must wait is suspended, handed
 *  to one thread of our own through a bounded ring (waiting_requests.h), and resumed with its response. At any time
 *  exactly one thread owns it, so no request needs a lock. No handler blocks, and nothing here decides.
 *
 *  Order of life: new -> the listener goes into helio_engine_new -> start -> (the engine runs) -> stop -> engine,
 *  reader and forwarder end -> destroy. The routes are one table (routes.h), which a test compares with
 *  docs/openapi.yaml. */
#ifndef HELIO_BROKER_HTTP_H
#define HELIO_BROKER_HTTP_H

#include "broker/http/request/options.h"
#include "federation/base/log.h"

typedef struct helio_http helio_http_t;

/*  The ports to the real engine, reader and forwarder. */
helio_http_ports_t helio_http_ports(helio_engine_t *engine, helio_reader_t *reader, helio_forwarder_t *forwarder);

/*  Copies the options. The log must outlive self. */
helio_http_t *helio_http_new(const helio_http_options_t *options, helio_log_t *log);
/*  After helio_http_stop, and after engine, reader and forwarder have ended, and so have answered all their
 *  operations. */
void helio_http_destroy(helio_http_t **self_p);

/*  For helio_engine_new: tokens as they come into force or are revoked, and transitions as they become durable. Called
 *  on the engine's thread, which it never blocks. Valid from new to destroy. */
helio_engine_listener_t helio_http_listener(helio_http_t *self);

/*  Binds and serves. HELIO_INVALID: a bad listen address. HELIO_IO: cannot bind; err names the cause and the remedy. */
HELIO_MUST_CHECK helio_rc helio_http_start(helio_http_t *self, helio_http_ports_t ports, helio_error_t *err);
/*  Stops accepting, answers waiting requests with 503, ends streams, joins the threads. The engine can still run. */
void helio_http_stop(helio_http_t *self);

uint16_t helio_http_port(const helio_http_t *self); /* the bound port; 0 before start */

#endif
