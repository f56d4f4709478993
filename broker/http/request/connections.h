/*  connections.h -- the open connections of the server, and which of them have waited too long for a request.
 *
 *  A connection waits from its beginning, and from the end of each request, until the headers of the next request are
 *  complete. The library's own time-out begins anew with every byte, so a client that sends one byte now and then would
 *  keep its connection for ever. Here the whole wait has a deadline. When almost all places are taken, a new connection
 *  takes the place of the one that has waited longest: first of those that never completed a request, then of those
 *  that are idle. A connection that has a request is never cut.
 *
 *  Any thread. To cut means to shut the socket down: the library then notices the end and closes it. */
#ifndef HELIO_BROKER_HTTP_REQUEST_CONNECTIONS_H
#define HELIO_BROKER_HTTP_REQUEST_CONNECTIONS_H

#include <stdint.h>

typedef struct helio_connections helio_connections_t;
typedef struct helio_connection helio_connection_t;

typedef struct helio_connections_options {
    uint32_t most;               /* places in all; shedding begins when seven eighths are taken */
    uint32_t headers_timeout_ms; /* for the headers of a connection's first request */
    uint32_t idle_timeout_ms;    /* this much more for the headers of a later one */
} helio_connections_options_t;

helio_connections_t *helio_connections_new(const helio_connections_options_t *options);
/*  Every connection has been closed. */
void helio_connections_destroy(helio_connections_t **self_p);

/*  fd stays open until helio_connections_close. now_ms: boot clock. */
helio_connection_t *helio_connections_open(helio_connections_t *self, int fd, int64_t now_ms);
void helio_connections_close(helio_connections_t *self, helio_connection_t **connection_p);
void helio_connections_begin(helio_connections_t *self, helio_connection_t *connection); /* the headers are complete */
void helio_connections_end(helio_connections_t *self, helio_connection_t *connection, int64_t now_ms);
/*  Cuts what is past its deadline. */
void helio_connections_sweep(helio_connections_t *self, int64_t now_ms);

typedef struct helio_connections_figures {
    uint32_t open;
    uint64_t late_total; /* cut because the headers did not come in time */
    uint64_t shed_total; /* cut because others needed the place */
} helio_connections_figures_t;
helio_connections_figures_t helio_connections_figures(helio_connections_t *self);

#endif
