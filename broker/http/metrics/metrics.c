/*  metrics.c -- the text of /metrics: the server's own counters, and the parts of engine and sites. */
#include "broker/http/metrics/metrics.h"

#include <inttypes.h>

#include "broker/http/metrics/exposition.h"
#include "broker/http/request/route.h"

static double load(const _Atomic uint64_t *counter)
{
    return (double)atomic_load_explicit(counter, memory_order_relaxed);
}

static void route_labels(helio_buffer_t *out, const helio_route_table_t *table, uint32_t place)
{
    const helio_route_t *route = place < table->count ? &table->items[place] : NULL;
    helio_buffer_printf(out, "{route=\"%s%s%s\"", route ? route->method : "", route ? " " : "none",
                        route ? route->pattern : "");
}

static void requests_text(const helio_metrics_t *self, const helio_route_table_t *table, helio_buffer_t *out)
{
    helio_metric_head(out, "http_requests_total", "counter", "Requests answered, by route and status code.");
    for (uint32_t route = 0; route <= table->count; route++)
        for (uint32_t code = 0; code < HELIO_STATUS_COUNT; code++) {
            uint64_t value = atomic_load_explicit(&self->routes[route].codes[code], memory_order_relaxed);
            if (!value)
                continue;
            helio_buffer_text(out, "helio_http_requests_total");
            route_labels(out, table, route);
            helio_buffer_printf(out, ",code=\"%u\"} %" PRIu64 "\n", helio_status_at(code), value);
        }
}

static void durations_text(const helio_metrics_t *self, const helio_route_table_t *table, helio_buffer_t *out)
{
    static const char name[] = "helio_http_request_duration_seconds";
    helio_metric_head(out, "http_request_duration_seconds", "histogram",
                      "Time from the request line to the end of the response, without streams.");
    for (uint32_t route = 0; route <= table->count; route++) {
        const helio_route_counters_t *counters = &self->routes[route];
        uint64_t sum = 0, total = 0;
        for (uint32_t i = 0; i <= HELIO_METRICS_BUCKETS; i++)
            total += atomic_load_explicit(&counters->buckets[i], memory_order_relaxed);
        if (!total)
            continue;
        for (uint32_t i = 0; i < HELIO_METRICS_BUCKETS; i++) {
            sum += atomic_load_explicit(&counters->buckets[i], memory_order_relaxed);
            helio_buffer_printf(out, "%s_bucket", name);
            route_labels(out, table, route);
            helio_buffer_printf(out, ",le=\"%g\"} %" PRIu64 "\n", helio_metrics_bucket_s[i], sum < total ? sum : total);
        }
        helio_buffer_printf(out, "%s_bucket", name);
        route_labels(out, table, route);
        helio_buffer_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n%s_sum", total, name);
        route_labels(out, table, route);
        helio_buffer_text(out, "} ");
        helio_metric_number(out, load(&counters->us_sum) / 1e6);
        helio_buffer_printf(out, "%s_count", name);
        route_labels(out, table, route);
        helio_buffer_printf(out, "} %" PRIu64 "\n", total);
    }
}

/*  Verification reads the whole audit, so a scrape shows what the last one found (helio audit verify). */
static void audit_text(const helio_metrics_t *self, helio_buffer_t *out)
{
    int64_t verified_ms = atomic_load_explicit(&self->audit_verified_ms, memory_order_acquire);
    if (!verified_ms)
        return;
    helio_metric_single(out, "audit_broken", "gauge",
                        "1 if the last verification of the audit through this broker found a damaged entry.",
                        atomic_load_explicit(&self->audit_broken, memory_order_relaxed));
    helio_metric_single(out, "audit_verified_timestamp_seconds", "gauge",
                        "When the audit was last verified through this broker (helio audit verify).",
                        (double)verified_ms / 1e3);
}

void helio_metrics_text(const helio_metrics_t *self, const helio_metrics_sources_t *sources, helio_buffer_t *out)
{
    helio_metric_head(out, "build_info", "gauge", "Always 1. The label has the version of the broker.");
    helio_metric_labelled(out, "build_info", "version", HELIO_PROGRAM_VERSION, 1);
    if (sources->engine)
        helio_metrics_engine(sources->engine, out);
    helio_metric_head(out, "job_transitions_total", "counter",
                      "Durable transitions of jobs since this broker started, by the new state.");
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        helio_metric_labelled(out, "job_transitions_total", "to", helio_job_state_name(state),
                              load(&self->transitions[state]));
    helio_metrics_sites(sources->sites_json, out);
    helio_buffer_append(out, sources->desired_text.data, sources->desired_text.size);
    helio_metrics_balance(sources->balance_json, out);
    helio_metrics_series(sources->series_json, out);
    helio_metrics_forecasts(sources->forecasts_json, out);
    helio_metrics_retention(sources->retention_json, out);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"jobs_submitted_total", "counter", "Jobs accepted over HTTP.", load(&self->jobs_submitted)},
        {"submissions_rejected_total", "counter", "Submissions rejected because a document did not parse.",
         load(&self->jobs_rejected)},
        {"http_waiting_requests", "gauge", "Requests that wait for the engine or the database, including idle streams.",
         (double)atomic_load_explicit(&self->waiting, memory_order_relaxed)},
        {"http_streams", "gauge", "Open event and log streams.",
         (double)atomic_load_explicit(&self->streams, memory_order_relaxed)},
        {"http_operations", "gauge",
         "Calls to the engine and reads of the database that are not answered yet, including those of timed-out requests.",
         (double)atomic_load_explicit(&self->operations, memory_order_relaxed)},
        {"http_body_bytes", "gauge", "Memory used by request bodies.", load(&self->bodies_bytes)},
        {"http_timeouts_total", "counter", "Requests that timed out.", load(&self->timeouts)},
        {"http_connections", "gauge", "Open connections.", sources->connections.open},
        {"http_connections_late_total", "counter", "Connections closed because no complete request arrived in time.",
         (double)sources->connections.late_total},
        {"http_connections_shed_total", "counter",
         "Idle connections that were closed because the limit of connections was almost reached.",
         (double)sources->connections.shed_total},
        {"http_tokens_refused_total", "counter", "Requests without a valid token where one is needed.",
         (double)sources->strangers.refused_total},
        {"http_tokens_limited_total", "counter",
         "Of these requests, those beyond the limit of their address, answered with 429.",
         (double)sources->strangers.limited_total},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        helio_metric_single(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    audit_text(self, out);
    requests_text(self, sources->routes, out);
    durations_text(self, sources->routes, out);
}
