/*  metrics_sites.c -- the metrics by site that come from the database, and those of its tables. An unknown figure has no sample, because 0 would be a
 *  claim. */
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

static bool draining_of(const json_t *site, double *ret_value)
{
    const json_t *draining = json_object_get(site, "draining");
    *ret_value = json_is_true(draining);
    return json_is_boolean(draining);
}

static bool refused_of(const json_t *site, double *ret_value)
{
    *ret_value = json_is_string(json_object_get(site, "refused"));
    return true;
}

static bool memory_lost_of(const json_t *site, double *ret_value)
{
    *ret_value = json_is_string(json_object_get(site, "memory_lost_at"));
    return true;
}

static bool unreconciled_of(const json_t *site, double *ret_value)
{
    *ret_value = json_is_string(json_object_get(site, "unreconciled_at"));
    return true;
}

static bool pools_of(const json_t *site, double *ret_value)
{
    const json_t *pools = json_object_get(site, "pools");
    *ret_value = (double)json_array_size(pools);
    return json_is_array(pools);
}

static bool withheld_of(const json_t *site, double *ret_value)
{
    const json_t *pools = json_object_get(site, "pools"), *pool;
    size_t index;
    *ret_value = 0;
    json_array_foreach(pools, index, pool) *ret_value += json_is_string(json_object_get(pool, "withheld"));
    return json_is_array(pools);
}

void helio_metrics_sites(helio_text_t json, helio_buffer_t *out)
{
    static const struct {
        const char *name, *key, *help;
        bool (*of)(const json_t *site, double *ret_value);
    } rows[] = {
        {"site_up", NULL, "1 if the site's agent is connected and reconciled.", up_of},
        {"site_draining", NULL, "1 if an operator drains the site, so that it gets no new jobs.", draining_of},
        {"site_refused", NULL,
         "1 if the site's agent was refused recently, because of its version, its name, a frame that it sent, or another "
         "agent with its key.",
         refused_of},
        {"site_memory_lost", NULL,
         "1 if the site's agent came back without its journal, and jobs are suspect for that reason.", memory_lost_of},
        {"site_unreconciled", NULL,
         "1 if the site may run attempts that a restored database does not know, and jobs wait for that.",
         unreconciled_of},
        {"site_message_age_seconds", "seen_s", "Time since the last message of the site.", NULL},
        {"site_summary_age_seconds", "seen_s",
         "Deprecated, removed in the next release: use helio_site_message_age_seconds.", NULL},
        {"site_pools", NULL, "Pools of the site.", pools_of},
        {"site_pools_withheld", NULL,
         "Pools that offer no GPUs although the federation does not use all of them; helio sites says why.",
         withheld_of},
        {"site_gpus", "gpus_total", "GPUs of nodes that are up.", NULL},
        {"site_gpus_free", "gpus_free", "Free GPUs.", NULL},
        {"site_gpus_reserved", "gpus_reserved", "GPUs that a site reservation window reserves for other work.", NULL},
        {"site_jobs_running", "jobs_running", "Jobs that run at the site, including those from outside the federation.",
         NULL},
        {"site_jobs_queued", "jobs_queued", "Jobs in the site's own queue.", NULL},
        {"site_power_watts", "power_watts",
         "Power of the site's GPUs and of the hosts of GPUs in use, from its feed or modelled, without PUE.", NULL},
        {"site_carbon_intensity_grams_per_kilowatt_hour", "carbon_g_per_kwh",
         "Carbon intensity of the grid in this hour.", NULL},
        {"site_electricity_price_usd_per_kilowatt_hour", "electricity_usd_per_kwh",
         "Price of electricity in this hour.", NULL},
        {"site_gpu_price_usd_per_hour", "price_usd_per_gpu_h", "Price of a GPU hour, mean over the site's pools.",
         NULL},
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
            if (name && known) /* an unknown figure has no sample */
                helio_metric_labelled(out, rows[row].name, "site", name, value);
        }
    }
    json_decref(sites);
}

/*  Only sites with a meter have a sample. */
void helio_metrics_balance(helio_text_t json, helio_buffer_t *out)
{
    json_t *sites = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    size_t index;
    const json_t *site;
    if (json_array_size(sites))
        helio_metric_head(
            out, "energy_balance_ratio", "gauge",
            "Accounted energy divided by metered energy, over the complete hours of the site's last 24; 1 if they "
            "balance.");
    json_array_foreach(sites, index, site)
    {
        const char *name = json_string_value(json_object_get(site, "site"));
        const json_t *ratio = json_object_get(site, "ratio");
        if (name && json_is_number(ratio))
            helio_metric_labelled(out, "energy_balance_ratio", "site", name, json_number_value(ratio));
    }
    json_decref(sites);
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
    const json_t *tables = json_object_get(said, "tables"), *open_backlog = json_object_get(said, "open_backlog");
    if (json_array_size(tables)) {
        table_figure(tables, "retention_deleted_rows_total", "counter", "deleted",
                     "Rows deleted by retention since the database was created.", out);
        table_figure(tables, "retention_oldest_seconds", "gauge", "oldest_s",
                     "Age of the oldest row that retention can delete.", out);
    }
    if (json_is_number(open_backlog)) {
        helio_metric_single(out, "jobs_open_backlog", "gauge",
                            "Open jobs that were submitted more than a day before the newest job.",
                            json_number_value(open_backlog));
        helio_metric_single(out, "jobs_unsettled", "gauge",
                            "Deprecated, removed in the next release: use helio_jobs_open_backlog.",
                            json_number_value(open_backlog));
    }
    json_decref(said);
}
