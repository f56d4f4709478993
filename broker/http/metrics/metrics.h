/*  metrics.h -- the Prometheus text of everything that the broker knows about itself. Names have the prefix helio_;
 *  units are base units; labels come from closed sets (routes, states, status codes) and from the names of sites. */
#ifndef HELIO_BROKER_HTTP_METRICS_H
#define HELIO_BROKER_HTTP_METRICS_H

#include "broker/http/request/connections.h"
#include "broker/http/request/counters.h"
#include "broker/http/request/route.h"
#include "broker/http/request/strangers.h"

/*  What /metrics shows besides the server's own counters. */
typedef struct helio_metrics_sources {
    const helio_route_table_t *routes;
    const helio_engine_figures_t *engine; /* NULL: the engine did not answer */
    helio_connections_figures_t connections;
    helio_strangers_figures_t strangers;
    /* results of read_sites, read_series_now, read_balance_now, read_forecasts_now, read_retention; {NULL, 0}: unknown */
    helio_text_t sites_json, series_json, balance_json, forecasts_json, retention_json;
    helio_text_t desired_text; /* of helio_metrics_desired */
} helio_metrics_sources_t;
/*  Appends the whole text of /metrics. */
void helio_metrics_text(const helio_metrics_t *self, const helio_metrics_sources_t *sources, helio_buffer_t *out);

/*  Appends the metric of the GPUs that pools should have; nothing without pools. */
void helio_metrics_desired(const helio_desired_pool_t *pools, uint32_t count, helio_buffer_t *out);

/*  The parts: metrics_engine.c, metrics_sites.c, metrics_series.c. */
void helio_metrics_engine(const helio_engine_figures_t *engine, helio_buffer_t *out);
void helio_metrics_sites(helio_text_t json, helio_buffer_t *out);
void helio_metrics_balance(helio_text_t json, helio_buffer_t *out);
void helio_metrics_series(helio_text_t json, helio_buffer_t *out);
void helio_metrics_forecasts(helio_text_t json, helio_buffer_t *out);
void helio_metrics_retention(helio_text_t json, helio_buffer_t *out);

#endif
