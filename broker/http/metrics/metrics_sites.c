/*  metrics_sites.c -- what the database knows of sites: no figure is no claim. */
#include <jansson.h>
#include <string.h>

#include "broker/http/metrics/exposition.h"
#include "broker/http/metrics/metrics.h"

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

void helio_metrics_sites(helio_text_t json, helio_buffer_t *out)
{
    static const struct {
        const char *name, *key, *help;
        bool (*of)(const json_t *site, double *ret_value);
    } rows[] = {
        {"site_up", NULL, "1 when the site's agent is connected and reconciled.", up_of},
        {"site_refused", NULL,
         "1 when the site's agent was refused of late: its version, its name, or what it sent.", refused_of},
        {"site_summary_age_seconds", "seen_s", "Since the site was last heard of.", NULL},
        {"site_gpus", "gpus_total", "GPUs of nodes that are up.", NULL},
        {"site_gpus_free", "gpus_free", "GPUs that nobody uses.", NULL},
        {"site_gpus_reserved", "gpus_reserved", "GPUs kept for others by a window.", NULL},
        {"site_jobs_running", "jobs_running", "Jobs that run there, whosever.", NULL},
        {"site_jobs_queued", "jobs_queued", "Jobs in the site's own queue.", NULL},
        {"site_power_watts", "power_watts",
         "Draw of the site's GPUs, and of the hosts of those in use: as its feed tells it, or modelled. PUE "
         "is not in it.",
         NULL},
        {"site_carbon_intensity_grams_per_kilowatt_hour", "carbon_g_per_kwh", "Of the grid, now.", NULL},
        {"site_electricity_price_usd_per_kilowatt_hour", "electricity_usd_per_kwh",
         "Of a kilowatt-hour, now.", NULL},
        {"site_gpu_price_usd_per_hour", "price_usd_per_gpu_h", "Of one GPU, mean over its pools.", NULL},
        {"site_pue_ratio", "pue", "Power usage effectiveness.", NULL},
    };
    json_t *sites = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0] && json_array_size(sites); row++) {
        size_t index;
        const json_t *site;
        helio_metric_head(out, rows[row].name, "gauge", rows[row].help);
        json_array_foreach(sites, index, site)
        {
            const char *name = json_string_value(json_object_get(site, "site"));
            const json_t *figure = rows[row].key ? json_object_get(site, rows[row].key) : NULL;
            double value = json_number_value(figure);
            bool known = rows[row].key ? json_is_number(figure) : rows[row].of(site, &value);
            if (name && known) /* what is not known has no sample: 0 would be a claim */
                helio_metric_labelled(out, rows[row].name, "site", name, value);
        }
    }
    json_decref(sites);
}

/*  Sites with a meter only: no figure is no claim. */
void helio_metrics_balance(helio_text_t json, helio_buffer_t *out)
{
    json_t *sites = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    size_t index;
    const json_t *site;
    if (json_array_size(sites))
        helio_metric_head(
            out, "energy_balance_ratio", "gauge",
            "Energy booked over energy metered, of the site's last 24 hours that are known in whole; "
            "1 when they balance.");
    json_array_foreach(sites, index, site)
    {
        const char *name = json_string_value(json_object_get(site, "site"));
        const json_t *ratio = json_object_get(site, "ratio");
        if (name && json_is_number(ratio))
            helio_metric_labelled(out, "energy_balance_ratio", "site", name, json_number_value(ratio));
    }
    json_decref(sites);
}

/*  One figure of each series: label site and signal. */
static void series_figure(const json_t *series, const char *name, const char *key, const char *help,
                          helio_buffer_t *out)
{
    size_t index;
    const json_t *row;
    helio_metric_head(out, name, "gauge", help);
    json_array_foreach(series, index, row)
    {
        const char *site = json_string_value(json_object_get(row, "site"));
        const char *signal = json_string_value(json_object_get(row, "signal"));
        const json_t *figure = json_object_get(row, key);
        if (!site || !signal || !json_is_number(figure))
            continue;
        helio_buffer_printf(out, "helio_%s{site=\"", name);
        helio_metrics_label(helio_text_of(site), out);
        helio_buffer_text(out, "\",signal=\"");
        helio_metrics_label(helio_text_of(signal), out);
        helio_buffer_text(out, "\"} ");
        helio_metric_number(out, json_number_value(figure));
    }
}

void helio_metrics_forecasts(helio_text_t json, helio_buffer_t *out)
{
    json_t *series = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    if (json_array_size(series)) {
        series_figure(series, "forecast_age_seconds", "age_s",
                      "Since the series was issued; of several, the oldest.", out);
        series_figure(
            series, "forecast_error_ratio", "error_ratio",
            "Mean absolute error a day ahead, over the last two days, as a share of what came true.", out);
    }
    json_decref(series);
}

static void table_figure(const json_t *tables, const char *name, const char *type, const char *key, const char *help,
                         helio_buffer_t *out)
{
    size_t index;
    const json_t *row;
    helio_metric_head(out, name, type, help);
    json_array_foreach(tables, index, row)
    {
        const char *table = json_string_value(json_object_get(row, "table"));
        const json_t *figure = json_object_get(row, key);
        if (table && json_is_number(figure))
            helio_metric_labelled(out, name, "table", table, json_number_value(figure));
    }
}

void helio_metrics_retention(helio_text_t json, helio_buffer_t *out)
{
    json_t *said = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    const json_t *tables = json_object_get(said, "tables"), *open_backlog = json_object_get(said, "unsettled");
    if (json_array_size(tables)) {
        table_figure(tables, "retention_deleted_rows_total", "counter", "deleted",
                     "Rows that were deleted because of their age, since there is this database.", out);
        table_figure(tables, "retention_oldest_seconds", "gauge", "oldest_s",
                     "Age of the oldest row that is kept for a time only.", out);
    }
    if (json_is_number(open_backlog))
        helio_metric_single(out, "jobs_unsettled", "gauge", "Jobs that are open more than a day before the newest.",
                            json_number_value(open_backlog));
    json_decref(said);
}
