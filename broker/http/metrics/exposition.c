/*  exposition.c -- writes samples in the Prometheus text format. */
#include "broker/http/metrics/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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

void helio_metric_head(helio_buffer_t *out, const char *name, const char *type, const char *help)
{
    helio_buffer_printf(out, "# HELP helio_%s %s\n# TYPE helio_%s %s\n", name, help, name, type);
}

void helio_metric_number(helio_buffer_t *out, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        helio_buffer_printf(out, "%.0f\n", value);
    else
        helio_buffer_printf(out, "%.9g\n", value);
}

void helio_metric_single(helio_buffer_t *out, const char *name, const char *type, const char *help, double value)
{
    helio_metric_head(out, name, type, help);
    helio_buffer_printf(out, "helio_%s ", name);
    helio_metric_number(out, value);
}

void helio_metric_labelled(helio_buffer_t *out, const char *name, const char *label, const char *value, double figure)
{
    helio_buffer_printf(out, "helio_%s{%s=\"", name, label);
    helio_metrics_label(helio_text_of(value), out);
    helio_buffer_text(out, "\"} ");
    helio_metric_number(out, figure);
}

static void bucket(helio_buffer_t *out, const char *name, const char *label, const char *value, const char *bound,
                   uint64_t count)
{
    helio_buffer_printf(out, "helio_%s_bucket{", name);
    if (label) {
        helio_buffer_printf(out, "%s=\"", label);
        helio_metrics_label(helio_text_of(value), out);
        helio_buffer_text(out, "\",");
    }
    helio_buffer_printf(out, "le=\"%s\"} %" PRIu64 "\n", bound, count);
}

static void total(helio_buffer_t *out, const char *name, const char *of, const char *label, const char *value,
                  double figure)
{
    helio_buffer_printf(out, "helio_%s_%s", name, of);
    if (label) {
        helio_buffer_printf(out, "{%s=\"", label);
        helio_metrics_label(helio_text_of(value), out);
        helio_buffer_text(out, "\"}");
    }
    helio_buffer_text(out, " ");
    helio_metric_number(out, figure);
}

void helio_metric_histogram(helio_buffer_t *out, const char *name, const char *label, const char *value,
                            const helio_histogram_t *histogram, const helio_bounds_t *bounds, double unit)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < bounds->count; i++) {
        char bound[32];
        (void)snprintf(bound, sizeof bound, "%g", (double)bounds->at[i] / unit);
        count += histogram->counts[i];
        bucket(out, name, label, value, bound, count);
    }
    count += histogram->counts[bounds->count];
    bucket(out, name, label, value, "+Inf", count);
    total(out, name, "sum", label, value, (double)histogram->sum / unit);
    total(out, name, "count", label, value, (double)count);
}
