/*  options.h -- what the server is given: its bounds, and its two ways out. */
#ifndef HELIO_BROKER_HTTP_REQUEST_OPTIONS_H
#define HELIO_BROKER_HTTP_REQUEST_OPTIONS_H

#include "broker/engine/engine.h"
#include "broker/store/reader.h"

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

#endif
