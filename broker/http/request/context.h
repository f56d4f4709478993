/*  context.h -- what all requests share: the server's struct, seen by the rooms of broker/http only. */
#ifndef HELIO_BROKER_HTTP_REQUEST_CONTEXT_H
#define HELIO_BROKER_HTTP_REQUEST_CONTEXT_H

#include "broker/http/request/counters.h"
#include "broker/http/request/options.h"
#include "broker/http/request/token.h"
#include "federation/base/log.h"

typedef struct helio_http helio_http_t;
typedef struct helio_route helio_route_t;
typedef struct helio_route_table helio_route_table_t;
typedef struct helio_waiting_requests helio_waiting_requests_t;

struct helio_http {
    helio_http_options_t options;
    char listen[64];
    helio_log_t *log;
    helio_http_ports_t ports;
    const helio_route_table_t *routes;
    helio_token_table_t *tokens;
    helio_metrics_t metrics;
    helio_waiting_requests_t *waiting_requests;
    void *daemon; /* struct MHD_Daemon */
    uint16_t port;
    atomic_bool stopping;
    atomic_bool leading; /* tokens are loaded: one that is not known is wrong */
    _Atomic int64_t open; /* exchanges that the library has begun and not completed */
    int idle_fd;          /* while stopping: readable once none is open */
    /*  the desk's own: the sites' figures for /metrics, so that scrapes do not become queries */
    helio_buffer_t sites_json;
    int64_t sites_at_ms;
    helio_buffer_t balance_json, forecasts_json, retention_json; /* change by the hour */
    int64_t hourly_at_ms;
};

#endif
