/*  /healthz, /readyz, /metrics and the page at /: what machines look at, without a token. */
#include <string.h>

#include "broker/http/metrics/metrics.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

enum {
    SITES_FRESH_MS = 5000,   /* a scrape asks the database for the sites no more often */
    HOURLY_FRESH_MS = 300000 /* what changes by the hour: balances, errors of forecasts */
};

void helio_health(helio_request_context_t *self)
{
    helio_response_text(self, 200, "text/plain; charset=utf-8", "ok\n");
}

static void on_ready(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc == HELIO_OK && result->figures.ready)
        helio_response_text(self, 200, "text/plain; charset=utf-8", "ready\n");
    else
        helio_response_problem(self, 503, NULL, "not ready: %s",
                             result->rc != HELIO_OK ? "the engine does not answer"
                             : result->figures.leader
                                 ? "the database cannot be reached"
                                 : "another broker leads, or the database cannot be reached");
}

void helio_ready(helio_request_context_t *self)
{
    helio_await_figures(self, on_ready);
}

typedef struct scrape {
    helio_engine_figures_t figures;
    bool known;
} scrape_t;

static scrape_t *scrape_of(helio_request_context_t *self)
{
    return helio_request_context_state(self, sizeof(scrape_t));
}

static void render(helio_request_context_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const scrape_t *scrape = scrape_of(self);
    helio_metrics_sources_t sources = {
        .routes = self->http->routes,
        .engine = scrape->known ? &scrape->figures : NULL,
        .sites_json = helio_buffer_view(&self->http->sites_json),
        .balance_json = helio_buffer_view(&self->http->balance_json),
        .forecasts_json = helio_buffer_view(&self->http->forecasts_json),
        .retention_json = helio_buffer_view(&self->http->retention_json),
    };
    helio_metrics_text(&self->http->metrics, &sources, &text);
    helio_response_text(self, 200, "text/plain; version=0.0.4; charset=utf-8", text.data);
}

/*  Figures that cannot be read are left out, not repeated. */
static void keep(helio_buffer_t *kept, const helio_result_t *result)
{
    helio_buffer_reset(kept);
    if (result->rc == HELIO_OK)
        helio_buffer_append(kept, result->data.data, result->data.size);
}

static void on_retention(helio_request_context_t *self, const helio_result_t *result)
{
    keep(&self->http->retention_json, result);
    self->http->hourly_at_ms = helio_clock_boot_ms();
    render(self);
}

static void on_forecasts(helio_request_context_t *self, const helio_result_t *result)
{
    keep(&self->http->forecasts_json, result);
    helio_await_read(self, on_retention, "read_retention", 0, NULL);
}

static void on_balance(helio_request_context_t *self, const helio_result_t *result)
{
    keep(&self->http->balance_json, result);
    helio_await_read(self, on_forecasts, "read_forecasts_now", 0, NULL);
}

static void on_sites(helio_request_context_t *self, const helio_result_t *result)
{
    helio_http_t *http = self->http;
    keep(&http->sites_json, result);
    http->sites_at_ms = helio_clock_boot_ms();
    if (http->hourly_at_ms && http->sites_at_ms - http->hourly_at_ms < HOURLY_FRESH_MS)
        render(self);
    else
        helio_await_read(self, on_balance, "read_balance_now", 0, NULL);
}

static void on_figures(helio_request_context_t *self, const helio_result_t *result)
{
    *scrape_of(self) = (scrape_t){result->figures, result->rc == HELIO_OK};
    if (self->http->sites_at_ms && helio_clock_boot_ms() - self->http->sites_at_ms < SITES_FRESH_MS)
        render(self);
    else
        helio_await_read(self, on_sites, "read_sites", 0, NULL);
}

void helio_metrics_page(helio_request_context_t *self)
{
    helio_await_figures(self, on_figures);
}

void helio_console_page(helio_request_context_t *self)
{
    helio_request_context_header(self, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    helio_response_text(
        self, 200, "text/html; charset=utf-8",
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Heliostat broker</title>\n"
        "<body style=\"font-family: sans-serif; margin: 3em\">\n<h1>Heliostat broker</h1>\n"
        "<p>Release " HELIO_PROGRAM_VERSION ". The API is at <code>/v1</code>, figures at <a href=\"/metrics\">"
        "<code>/metrics</code></a>.</p>\n</body>\n</html>\n");
}
