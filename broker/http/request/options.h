/*  options.h -- what the server is given: its bounds, and its ports to engine and reader. */
#ifndef HELIO_BROKER_HTTP_REQUEST_OPTIONS_H
#define HELIO_BROKER_HTTP_REQUEST_OPTIONS_H

#include "broker/engine/engine.h"
#include "broker/forward/forwarder.h"
#include "broker/store/reader.h"

/*  Who can read /metrics. */
typedef enum helio_metrics_access {
    HELIO_METRICS_TOKEN,    /* callers with a token */
    HELIO_METRICS_LOOPBACK, /* also every process of this host, without a token */
    HELIO_METRICS_ANYONE,   /* every caller that reaches the address */
    HELIO_METRICS_ACCESS_COUNT
} helio_metrics_access_t;

/*  0 or NULL = the value at the end of the comment. */
typedef struct helio_http_options {
    const char *listen;       /* numeric "ADDRESS:PORT", "[V6]:PORT"; port 0 = any free one; "127.0.0.1:7480" */
    uint32_t threads;         /* of the library's pool; 2 */
    uint32_t connections_max; /* at most 4,096; 1,024 */
    uint32_t per_address_max; /* connections of one client address, which can be a proxy; half of connections_max */
    uint32_t subscribers_max; /* event and log streams; 256 */
    uint32_t subscribers_per_tenant_max; /* half of subscribers_max */
    uint32_t subscribers_per_user_max;   /* a quarter of subscribers_max */
    uint32_t refusals_burst;             /* of requests without a valid token from one address, at once; 20 */
    uint32_t metrics;                    /* helio_metrics_access_t */
    uint32_t body_max;                   /* bytes of one request; 16 MiB */
    uint64_t bodies_max;                 /* bytes of all bodies, a quarter for small ones (body.h); 256 MiB */
    uint32_t idle_timeout_ms;    /* of a connection without traffic, and of a body that arrives too slowly; 30 s */
    uint32_t headers_timeout_ms; /* from the beginning of a connection to the end of its first headers; 10 s */
    uint32_t request_timeout_ms; /* from the whole request to its response, then 504; 15 s */
} helio_http_options_t;

/*  The way to engine, database and leader, behind pointers so that tests can replace them. Any thread; contracts of
 *  helio_engine_post, helio_reader_post and helio_forwarder_post. */
typedef struct helio_http_ports {
    helio_rc (*post)(void *engine, helio_call_t *call);
    helio_rc (*read)(void *reader, helio_read_t *read);
    void *engine;
    void *reader;
    helio_rc (*forward)(void *forwarder, helio_forward_t *forward);
    void *forwarder;
    helio_broker_options_t core; /* with what the engine runs it, for /v1/snapshot */
} helio_http_ports_t;

#endif
