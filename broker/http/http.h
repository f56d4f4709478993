/*  http.h -- the broker's HTTP shell: REST under /v1, event stream, metrics, health.
 *
 *  Threads: libmicrohttpd's small pool parses, authenticates and sends; one thread of our own (desk.h) waits.
 * A request that must wait is suspended, handed to the desk through a bounded ring, and resumed with its
 * answer: at any time exactly one thread owns it, so nothing here is locked. No handler blocks; nothing here
 * decides.
 *
 *  Order of life: new -> listener goes into helio_engine_new -> start -> (engine runs) -> stop -> engine and
 * reader end
 *  -> destroy. Routes are one table (route.h); docs/openapi.yaml is compared with it by a test.
 */
#ifndef HELIO_BROKER_HTTP_H
#define HELIO_BROKER_HTTP_H

#include "broker/engine/engine.h"
#include "broker/store/reader.h"
#include "federation/base/log.h"

typedef struct helio_http helio_http_t;

/*  0 or NULL = the value in the comment. */
typedef struct helio_http_options {
    const char *listen; /* numeric "ADDRESS:PORT", "[V6]:PORT"; port 0 = any free one; "127.0.0.1:7480" */
    uint32_t threads;   /* 2 */
    uint32_t connections_max; /* 1,024; at most 4,096 */
    uint32_t per_address_max; /* connections of one client address; 0 = connections_max (all may sit behind a
                                 proxy) */
    uint32_t subscribers_max; /* event and log streams; 256 */
    uint32_t body_max;        /* bytes of one request; 16 MiB */
    uint64_t bodies_max;      /* bytes of all requests being held; 256 MiB */
    uint32_t idle_timeout_ms; /* a connection without traffic, a body that crawls; 30 s */
    uint32_t request_timeout_ms; /* from the whole request to its answer: then 504; 15 s */
} helio_http_options_t;

/*  The two ways out of this room, behind pointers so that tests can stand in for engine and database. Any
 * thread; contracts of helio_engine_post and helio_reader_post. */
typedef struct helio_http_ports {
    helio_rc (*post)(void *engine, helio_call_t *call);
    helio_rc (*read)(void *reader, helio_read_t *read);
    void *engine;
    void *reader;
} helio_http_ports_t;

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
