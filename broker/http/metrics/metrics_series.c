/*  metrics_series.c -- the metrics of what sites publish of the hours ahead: how old its data are, whether a feed fails,
 *  and how good the forecasts were. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "broker/http/metrics/exposition.h"
#include "broker/http/metrics/metrics.h"

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

static bool is_same(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "site"), text_of(b, "site")) == 0 &&
           strcmp(text_of(a, "signal"), text_of(b, "signal")) == 0;
}

/*  The figure of a series, and false if its site does not report it. */
typedef bool figure_fn(const json_t *row, double *ret_value);

/*  A site names the times, and its clock may be ahead. */
static bool age_of(const json_t *row, double *ret_value)
{
    *ret_value = fmax(json_number_value(json_object_get(row, "age_s")), 0);
    return true;
}

static bool failure_of(const json_t *row, double *ret_value)
{
    const json_t *failed = json_object_get(row, "failed");
    *ret_value = json_is_true(failed);
    return json_is_boolean(failed);
}

/*  Series of the same site and signal follow one another, and the worst of them is shown. */
static void worst_of_series(const json_t *series, const char *name, figure_fn *figure, helio_buffer_t *out)
{
    size_t index;
    const json_t *row, *last = NULL;
    double worst = 0, value;
    json_array_foreach(series, index, row)
    {
        if (!text_of(row, "site") || !text_of(row, "signal") || !figure(row, &value))
            continue;
        if (last && !is_same(last, row)) {
            sample(out, name, last, worst);
            worst = 0;
        }
        worst = fmax(worst, value);
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
        worst_of_series(series, "forecast_age_seconds", age_of, out);
        helio_metric_head(
            out, "feed_failed", "gauge",
            "1 if a feed gives no data, so its last good day or the figure of the site file is used. Absent for "
            "sites whose agents do not report it (protocol version 8 or older).");
        worst_of_series(series, "feed_failed", failure_of, out);
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
