/*  health.c -- /healthz, /readyz and /metrics: for monitoring. */
#include <string.h>

#include "broker/http/metrics/metrics.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/base/json.h"

enum {
    SITES_FRESH_MS = 5000,   /* scrapes read the sites from the database at most this often */
    HOURLY_FRESH_MS = 300000 /* for figures that change by the hour: balances, forecast errors */
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
        helio_response_problem(self, 503, NULL,
                               result->rc != HELIO_OK   ? HELIO_DETAIL0(HELIO_DETAIL_ENGINE_SILENT)
                               : result->figures.leader ? HELIO_DETAIL0(HELIO_DETAIL_ENGINE_NO_DATABASE)
                                                        : HELIO_DETAIL0(HELIO_DETAIL_ENGINE_NOT_LEADING));
}

static helio_detail_code_t objection_to(const helio_request_context_t *self, const helio_leader_view_t *leader)
{
    return helio_leader_watch_objection(self->http->leader_watch, leader, true, helio_clock_boot_ms());
}

/*  A broker that forwards to the leader serves everything, whether or not its own engine answers quickly. */
void helio_ready(helio_request_context_t *self)
{
    const char *role = helio_request_context_query(self, "role");
    const helio_leader_view_t *leader = role && strcmp(role, "any") == 0 ? helio_await_leader(self) : NULL;
    helio_detail_code_t why = leader ? objection_to(self, leader) : HELIO_DETAIL_NONE;
    if (role && strcmp(role, "any") != 0 && strcmp(role, "leader") != 0)
        HELIO_PROBLEM(self, 400, QUERY_CHOICE, helio_value_string("role"), helio_value_string("leader, any"));
    else if (why)
        helio_response_problem(self, 503, NULL, HELIO_DETAIL(self->arena, why, helio_value_string(leader->http)));
    else if (leader)
        helio_response_text(self, 200, "text/plain; charset=utf-8", "following\n");
    else
        helio_await_figures(self, on_ready);
}

/*  The row of the leader is read here, so that all brokers give the same answer. */
static void on_leader(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    const helio_leadership_t *leadership = self->http->leadership;
    const helio_leader_view_t *other = helio_leadership_other(leadership, helio_clock_boot_ms());
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "role",
                          helio_leadership_leads(leadership) ? "leader"
                          : other                            ? "follower"
                                                             : "starting");
    helio_json_put_string(&json, "version", HELIO_PROGRAM_VERSION);
    helio_json_put_bool(&json, "forwards", other && other->http[0] && !objection_to(self, other));
    helio_json_put_members(&json, helio_buffer_view(&result->data));
    helio_json_end(&json);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

void helio_broker_show(helio_request_context_t *self)
{
    helio_await_read(self, on_leader, "read_leader", 0, NULL);
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
        .connections = helio_connections_figures(self->http->connections),
        .strangers = helio_strangers_figures(self->http->strangers),
        .sites_json = helio_buffer_view(&self->http->sites_json),
        .desired_text = helio_buffer_view(&self->http->desired_text),
        .series_json = helio_buffer_view(&self->http->series_json),
        .balance_json = helio_buffer_view(&self->http->balance_json),
        .forecasts_json = helio_buffer_view(&self->http->forecasts_json),
        .retention_json = helio_buffer_view(&self->http->retention_json),
    };
    helio_metrics_text(&self->http->metrics, &sources, &text);
    helio_response_text(self, 200, "text/plain; version=0.0.4; charset=utf-8", text.data);
}

/*  It has a turn of its own among the tenants, so no list of the scraping tenant delays it. */
static void read_own(helio_request_context_t *self, helio_request_context_step_fn *next, const char *query)
{
    helio_await_read(self, next, query, 0, NULL);
    self->operation->read.owner = NULL;
}

/*  Figures that cannot be read are left out; the old ones are not shown again. */
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
    read_own(self, on_retention, "read_retention");
}

static void on_balance(helio_request_context_t *self, const helio_result_t *result)
{
    keep(&self->http->balance_json, result);
    read_own(self, on_forecasts, "read_forecasts_now");
}

static void on_series(helio_request_context_t *self, const helio_result_t *result)
{
    helio_http_t *http = self->http;
    keep(&http->series_json, result);
    http->sites_at_ms = helio_clock_boot_ms();
    if (http->hourly_at_ms && http->sites_at_ms - http->hourly_at_ms < HOURLY_FRESH_MS)
        render(self);
    else
        read_own(self, on_balance, "read_balance_now");
}

static void on_sites(helio_request_context_t *self, const helio_result_t *result)
{
    keep(&self->http->sites_json, result);
    read_own(self, on_series, "read_series_now");
}

/*  Only the leader knows them. */
static void on_desired(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc == HELIO_OK)
        helio_metrics_desired(result->desired, result->desired_count, &self->http->desired_text);
    read_own(self, on_sites, "read_sites");
}

static void on_figures(helio_request_context_t *self, const helio_result_t *result)
{
    *scrape_of(self) = (scrape_t){result->figures, result->rc == HELIO_OK};
    if (self->http->sites_at_ms && helio_clock_boot_ms() - self->http->sites_at_ms < SITES_FRESH_MS) {
        render(self);
        return;
    }
    helio_buffer_reset(&self->http->desired_text);
    if (result->rc == HELIO_OK && result->figures.leader)
        helio_await_event(self, on_desired, HELIO_BROKER_EV_DESIRED,
                          helio_arena_alloc(helio_await_arena(self), 1, sizeof(helio_ev_desired_t)));
    else
        read_own(self, on_sites, "read_sites");
}

void helio_metrics_page(helio_request_context_t *self)
{
    helio_await_figures(self, on_figures);
}
