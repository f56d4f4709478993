#include "broker/http/metrics.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "broker/http/route.h"

static const double bucket_s[HELIO_METRICS_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                       0.1,   0.25,   0.5,   1,    2.5,   10};

void helio_metrics_request(helio_metrics_t *self, uint32_t route, uint32_t status, uint64_t duration_us)
{
    helio_route_counters_t *counters = &self->routes[route];
    (void)atomic_fetch_add_explicit(&counters->codes[helio_status_index(status)], 1, memory_order_relaxed);
    if (duration_us == UINT64_MAX) /* a stream: how long it is watched is no latency */
        return;
    uint32_t bucket = 0;
    while (bucket < HELIO_METRICS_BUCKETS && (double)duration_us > bucket_s[bucket] * 1e6)
        bucket++;
    (void)atomic_fetch_add_explicit(&counters->buckets[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&counters->us_sum, duration_us, memory_order_relaxed);
}

/* ---- writing
 * ----------------------------------------------------------------------------------------------- */

void helio_metrics_label(helio_text_t value, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < value.size; i++) {
        char c = value.data[i];
        if (c == '\\' || c == '"')
            helio_buffer_printf(out, "\\%c", c);
        else if (c == '\n')
            helio_buffer_text(out, "\\n");
        else
            helio_buffer_append(out, &c, 1);
    }
}

static void head(helio_buffer_t *out, const char *name, const char *type, const char *help)
{
    helio_buffer_printf(out, "# HELP helio_%s %s\n# TYPE helio_%s %s\n", name, help, name, type);
}

static void number(helio_buffer_t *out, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        helio_buffer_printf(out, "%.0f\n", value);
    else
        helio_buffer_printf(out, "%.9g\n", value);
}

static void single(helio_buffer_t *out, const char *name, const char *type, const char *help, double value)
{
    head(out, name, type, help);
    helio_buffer_printf(out, "helio_%s ", name);
    number(out, value);
}

static void labelled(helio_buffer_t *out, const char *name, const char *label, const char *value,
                     double figure)
{
    helio_buffer_printf(out, "helio_%s{%s=\"", name, label);
    helio_metrics_label(helio_text_of(value), out);
    helio_buffer_text(out, "\"} ");
    number(out, figure);
}

static double load(const _Atomic uint64_t *counter)
{
    return (double)atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- the engine
 * -------------------------------------------------------------------------------------------- */

static void jobs_text(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    head(out, "jobs", "gauge", "Jobs that are not over, by state.");
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        if (!helio_job_state_is_terminal(state))
            labelled(out, "jobs", "state", helio_job_state_word(state), (double)engine->core.jobs[state]);
    head(out, "jobs_finished_total", "counter",
         "Jobs that came to their end since this broker started, by how.");
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        if (helio_job_state_is_terminal(state))
            labelled(out, "jobs_finished_total", "state", helio_job_state_word(state),
                     (double)engine->core.jobs[state]);
}

static void engine_text(const helio_engine_figures_t *engine, helio_buffer_t *out)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"broker_leader", "gauge", "1 when this broker decides.", engine->leader},
        {"broker_ready", "gauge", "1 when it leads, has loaded and reaches its database.", engine->ready},
        {"broker_epoch", "gauge", "The epoch under which it writes.", (double)engine->broker_epoch},
        {"sites", "gauge", "Sites that are known.", (double)engine->core.sites},
        {"sites_ready", "gauge", "Sites that take work.", (double)engine->core.sites_ready},
        {"job_classes", "gauge", "Classes of equal jobs that wait.", (double)engine->core.classes},
        {"placements_total", "counter", "Placements decided.", (double)engine->core.placements_total},
        {"reserve_shortfall_gpu_seconds_total", "counter",
         "GPUs kept by windows of sites that other work still held, times seconds.",
         (double)engine->core.reserve_shortfall_gpu_ms / 1000},
        {"refusals_total", "counter", "Offers that a site refused.", (double)engine->core.refusals_total},
        {"reports_stale_total", "counter", "Reports of an epoch that was not current.",
         (double)engine->core.stale_reports_total},
        {"reports_illegal_total", "counter", "Reports that would have been an unlisted transition.",
         (double)engine->core.illegal_reports_total},
        {"db_batches_total", "counter", "Batches committed.", (double)engine->store.batches_total},
        {"db_rows_total", "counter", "Rows committed.", (double)engine->store.rows_total},
        {"db_reconnects_total", "counter", "Connections to the database that were lost and made again.",
         (double)engine->store.reconnects_total},
        {"db_commit_last_seconds", "gauge", "How long the last batch took from sealed to committed.",
         (double)engine->store.commit_us_last / 1e6},
        {"engine_held_effects", "gauge", "Answers and instructions that wait for their commit.",
         (double)engine->held_effects},
        {"engine_step_max_seconds", "gauge", "The longest step of the core since the last scrape.",
         (double)engine->step_us_max / 1e6},
        {"engine_calls_total", "counter", "Calls from this HTTP service.", (double)engine->calls_total},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        single(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    head(out, "preemptions_total", "counter", "Running jobs that were told to leave, by why.");
    for (uint32_t why = 0; why < HELIO_EVICT_WHY_COUNT; why++)
        labelled(out, "preemptions_total", "reason", helio_evict_why_word(why),
                 (double)engine->core.preemptions_total[why]);
    head(out, "agent_frames_bad_total", "counter", "Frames from sites that were refused, by why.");
    for (uint32_t i = 0; i < HELIO_ENGINE_BAD_FRAMES_MAX && engine->frames_bad_total[i].why; i++)
        labelled(out, "agent_frames_bad_total", "reason", engine->frames_bad_total[i].why,
                 (double)engine->frames_bad_total[i].count);
    head(out, "agent_frames_total", "counter", "Frames exchanged with sites.");
    labelled(out, "agent_frames_total", "direction", "in", (double)engine->frames_in_total);
    labelled(out, "agent_frames_total", "direction", "out", (double)engine->frames_out_total);
    head(out, "db_commit_seconds", "summary", "From sealed to committed.");
    helio_buffer_printf(out, "helio_db_commit_seconds_sum ");
    number(out, (double)engine->store.commit_us_sum / 1e6);
    helio_buffer_printf(out, "helio_db_commit_seconds_count %" PRIu64 "\n", engine->store.batches_total);
    jobs_text(engine, out);
}

/* ---- sites
 * ------------------------------------------------------------------------------------------------- */

static bool up_of(const json_t *site, double *ret_value)
{
    const char *state = json_string_value(json_object_get(site, "state"));
    *ret_value = state && (strcmp(state, "ready") == 0 || strcmp(state, "draining") == 0);
    return state;
}

static bool refused_of(const json_t *site, double *ret_value)
{
    *ret_value = json_is_string(json_object_get(site, "refused"));
    return true;
}

static void sites_text(helio_text_t json, helio_buffer_t *out)
{
    static const struct {
        const char *name, *key, *help;
        bool (*of)(const json_t *site, double *ret_value);
    } rows[] = {
        {"site_up", NULL, "1 when the site's agent is connected and reconciled.", up_of},
        {"site_refused", NULL, "1 when the site's agent was refused of late: its version, its name, or what it sent.",
         refused_of},
        {"site_summary_age_seconds", "seen_s", "Since the site was last heard of.", NULL},
        {"site_gpus", "gpus_total", "GPUs of nodes that are up.", NULL},
        {"site_gpus_free", "gpus_free", "GPUs that nobody uses.", NULL},
        {"site_gpus_reserved", "gpus_reserved", "GPUs kept for others by a window.", NULL},
        {"site_jobs_running", "jobs_running", "Jobs that run there, whosever.", NULL},
        {"site_jobs_queued", "jobs_queued", "Jobs in the site's own queue.", NULL},
        {"site_power_watts", "power_watts", "Power of the whole site.", NULL},
        {"site_carbon_intensity_grams_per_kilowatt_hour", "carbon_g_per_kwh", "Of the grid, now.", NULL},
        {"site_electricity_price_usd_per_kilowatt_hour", "electricity_usd_per_kwh", "Now.", NULL},
        {"site_gpu_price_usd_per_hour", "price_usd_per_gpu_h", "Of one GPU, mean over its pools.", NULL},
        {"site_pue_ratio", "pue", "Power usage effectiveness.", NULL},
    };
    json_t *sites = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0] && json_array_size(sites); row++) {
        size_t index;
        const json_t *site;
        head(out, rows[row].name, "gauge", rows[row].help);
        json_array_foreach(sites, index, site)
        {
            const char *name = json_string_value(json_object_get(site, "site"));
            const json_t *figure = rows[row].key ? json_object_get(site, rows[row].key) : NULL;
            double value = json_number_value(figure);
            bool known = rows[row].key ? json_is_number(figure) : rows[row].of(site, &value);
            if (name && known) /* what is not known has no sample: 0 would be a claim */
                labelled(out, rows[row].name, "site", name, value);
        }
    }
    json_decref(sites);
}

/*  Sites with a meter only: no figure is no claim. */
static void balance_text(helio_text_t json, helio_buffer_t *out)
{
    json_t *sites = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    size_t index;
    const json_t *site;
    if (json_array_size(sites))
        head(out, "energy_balance_ratio", "gauge",
             "Energy booked over energy metered, of the site's last 24 hours that are known in whole; "
             "1 when they balance.");
    json_array_foreach(sites, index, site)
    {
        const char *name = json_string_value(json_object_get(site, "site"));
        const json_t *ratio = json_object_get(site, "ratio");
        if (name && json_is_number(ratio))
            labelled(out, "energy_balance_ratio", "site", name, json_number_value(ratio));
    }
    json_decref(sites);
}

/* ---- this room
 * --------------------------------------------------------------------------------------------- */

static void route_labels(helio_buffer_t *out, uint32_t route)
{
    uint32_t count;
    const helio_route_t *routes = helio_routes(&count);
    helio_buffer_printf(out, "{route=\"%s%s%s\"", route < count ? routes[route].method : "",
                        route < count ? " " : "none", route < count ? routes[route].pattern : "");
}

static void requests_text(const helio_metrics_t *self, helio_buffer_t *out)
{
    uint32_t count;
    (void)helio_routes(&count);
    head(out, "http_requests_total", "counter", "Requests answered, by route and status code.");
    for (uint32_t route = 0; route <= count; route++)
        for (uint32_t code = 0; code < HELIO_STATUS_COUNT; code++) {
            uint64_t value = atomic_load_explicit(&self->routes[route].codes[code], memory_order_relaxed);
            if (!value)
                continue;
            helio_buffer_text(out, "helio_http_requests_total");
            route_labels(out, route);
            helio_buffer_printf(out, ",code=\"%u\"} %" PRIu64 "\n", helio_status_at(code), value);
        }
}

static void durations_text(const helio_metrics_t *self, helio_buffer_t *out)
{
    static const char name[] = "helio_http_request_duration_seconds";
    uint32_t count;
    (void)helio_routes(&count);
    head(out, "http_request_duration_seconds", "histogram",
         "From the request line to the end of the answer; streams excepted.");
    for (uint32_t route = 0; route <= count; route++) {
        const helio_route_counters_t *counters = &self->routes[route];
        uint64_t sum = 0, total = 0;
        for (uint32_t i = 0; i <= HELIO_METRICS_BUCKETS; i++)
            total += atomic_load_explicit(&counters->buckets[i], memory_order_relaxed);
        if (!total)
            continue;
        for (uint32_t i = 0; i < HELIO_METRICS_BUCKETS; i++) {
            sum += atomic_load_explicit(&counters->buckets[i], memory_order_relaxed);
            helio_buffer_printf(out, "%s_bucket", name);
            route_labels(out, route);
            helio_buffer_printf(out, ",le=\"%g\"} %" PRIu64 "\n", bucket_s[i], sum < total ? sum : total);
        }
        helio_buffer_printf(out, "%s_bucket", name);
        route_labels(out, route);
        helio_buffer_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n%s_sum", total, name);
        route_labels(out, route);
        helio_buffer_text(out, "} ");
        number(out, load(&counters->us_sum) / 1e6);
        helio_buffer_printf(out, "%s_count", name);
        route_labels(out, route);
        helio_buffer_printf(out, "} %" PRIu64 "\n", total);
    }
}

void helio_metrics_text(const helio_metrics_t *self, const helio_engine_figures_t *engine,
                        helio_text_t sites_json, helio_text_t balance_json, helio_buffer_t *out)
{
    head(out, "build_info", "gauge", "Always 1; the release is in the label.");
    labelled(out, "build_info", "version", HELIO_RELEASE, 1);
    if (engine)
        engine_text(engine, out);
    head(out, "job_transitions_total", "counter",
         "Transitions made durable since start, by the state moved to.");
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        labelled(out, "job_transitions_total", "to", helio_job_state_word(state),
                 load(&self->transitions[state]));
    sites_text(sites_json, out);
    balance_text(balance_json, out);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"jobs_submitted_total", "counter", "Jobs accepted over HTTP.", load(&self->jobs_submitted)},
        {"submissions_rejected_total", "counter", "Requests whose documents did not parse.",
         load(&self->jobs_rejected)},
        {"http_waiting_requests", "gauge", "Requests that wait for an answer, idle streams included.",
         (double)atomic_load_explicit(&self->waiting, memory_order_relaxed)},
        {"http_streams", "gauge", "Event and log streams.",
         (double)atomic_load_explicit(&self->streams, memory_order_relaxed)},
        {"http_operations", "gauge", "Calls and reads under way, abandoned ones included.",
         (double)atomic_load_explicit(&self->operations, memory_order_relaxed)},
        {"http_body_bytes", "gauge", "Bytes of request bodies held.", load(&self->bodies_bytes)},
        {"http_timeouts_total", "counter", "Requests that were not answered in time.", load(&self->timeouts)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        single(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    requests_text(self, out);
    durations_text(self, out);
}
