/*  metrics_series.c -- the metrics of what sites publish of the hours ahead: how old its data are, whether a feed fails,
 *  and how good the forecasts were. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "broker/http/metrics/exposition.h"
#include "broker/http/metrics/metrics.h"
#include "federation/energy/stale_source.h"

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

/*  A sample with the labels site and signal. */
static void sample(helio_buffer_t *out, const char *name, const json_t *row, double value)
{
    helio_buffer_printf(out, "helio_%s{site=\"", name);
    helio_metrics_label(helio_text_of(text_of(row, "site")), out);
    helio_buffer_text(out, "\",signal=\"");
    helio_metrics_label(helio_text_of(text_of(row, "signal")), out);
    helio_buffer_text(out, "\"} ");
    helio_metric_number(out, value);
}

/*  A failed feed is as old as its last value, although its series was made in this hour. */
static bool is_failed(const json_t *row, double *ret_age_s)
{
    const char *source = text_of(row, "source");
    int64_t since_ms = 0;
    bool failed = helio_source_is_stale(helio_text_of(source), &since_ms);
    *ret_age_s = json_number_value(json_object_get(row, "age_s"));
    if (failed)
        *ret_age_s += (json_number_value(json_object_get(row, "issued_ms")) - (double)since_ms) / 1e3;
    *ret_age_s = fmax(*ret_age_s, 0); /* a site names the time, and its clock may be ahead */
    return failed;
}

static bool is_same(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "site"), text_of(b, "site")) == 0 &&
           strcmp(text_of(a, "signal"), text_of(b, "signal")) == 0;
}

/*  Series of the same site and signal follow one another, and the worst of them is shown. */
static void worst_of_series(const json_t *series, const char *name, bool of_failure, helio_buffer_t *out)
{
    size_t index;
    const json_t *row, *last = NULL;
    double worst = 0;
    json_array_foreach(series, index, row)
    {
        double age_s;
        if (!text_of(row, "site") || !text_of(row, "signal"))
            continue;
        if (last && !is_same(last, row)) {
            sample(out, name, last, worst);
            worst = 0;
        }
        bool failed = is_failed(row, &age_s);
        worst = fmax(worst, of_failure ? failed : age_s);
        last = row;
    }
    if (last)
        sample(out, name, last, worst);
}

void helio_metrics_series(helio_text_t json, helio_buffer_t *out)
{
    json_t *series = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    if (json_array_size(series)) {
        helio_metric_head(out, "forecast_age_seconds", "gauge",
                          "Age of the newest data of the series; of several series, the oldest. If its feed fails, the "
                          "time since the feed's last value; if it never gave one, since the agent's start.");
        worst_of_series(series, "forecast_age_seconds", false, out);
        helio_metric_head(out, "feed_failed", "gauge",
                          "1 if a feed gives no data, so its last good day or the figure of the site file is used.");
        worst_of_series(series, "feed_failed", true, out);
    }
    json_decref(series);
}

void helio_metrics_forecasts(helio_text_t json, helio_buffer_t *out)
{
    json_t *errors = json.size ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    size_t index;
    const json_t *row;
    if (json_array_size(errors))
        helio_metric_head(
            out, "forecast_error_ratio", "gauge",
            "Mean absolute error, 24 hours ahead, of forecasts issued one to two days ago, as a share of the actual "
            "value.");
    json_array_foreach(errors, index, row)
    {
        const json_t *error = json_object_get(row, "error_ratio");
        if (text_of(row, "site") && text_of(row, "signal") && json_is_number(error))
            sample(out, "forecast_error_ratio", row, json_number_value(error));
    }
    json_decref(errors);
}
