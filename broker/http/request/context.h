/*  context.h -- the server's struct, which all requests share. Only the rooms of broker/http see inside. */
#ifndef HELIO_BROKER_HTTP_REQUEST_CONTEXT_H
#define HELIO_BROKER_HTTP_REQUEST_CONTEXT_H

#include "broker/http/request/connections.h"
#include "broker/http/request/counters.h"
#include "broker/http/request/leader_watch.h"
#include "broker/http/request/leadership.h"
#include "broker/http/request/lots.h"
#include "broker/http/request/options.h"
#include "broker/http/request/places.h"
#include "broker/http/request/strangers.h"
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
    helio_leadership_t *leadership;
    char instance[17]; /* this process, in the requests that it forwards */
    helio_leader_watch_t *leader_watch;
    helio_metrics_t metrics;
    helio_connections_t *connections;
    helio_places_t *places;
    helio_lots_t *lots;
    helio_strangers_t *strangers;
    helio_waiting_requests_t *waiting_requests;
    void *daemon; /* struct MHD_Daemon */
    uint16_t port;
    _Atomic int64_t
        snapshot_since_ms; /* boot clock: when the snapshot that is taken or sent was asked for; 0 = none is */
    atomic_bool stopping;
    _Atomic int64_t open; /* requests that the library has begun and not completed */
    int idle_fd;          /* while stopping: readable once no request is open */
    /*  Owned by the thread of the waiting requests: the sites' figures for /metrics, so that not every scrape is a
     *  query. */
    helio_buffer_t sites_json, series_json;
    helio_buffer_t desired_text; /* in the format of /metrics */
    int64_t sites_at_ms;
    helio_buffer_t balance_json, forecasts_json, retention_json; /* these change by the hour */
    int64_t hourly_at_ms;
};

#endif
