/*  exposition.h -- the Prometheus text format, version 0.0.4:
 *  https://prometheus.io/docs/instrumenting/exposition_formats/. Every function adds the prefix helio_ to the name. */
#ifndef HELIO_BROKER_HTTP_METRICS_EXPOSITION_H
#define HELIO_BROKER_HTTP_METRICS_EXPOSITION_H

#include "federation/base/histogram.h"
#include "federation/base/memory.h"

/*  A label's value: backslash, quote and newline are escaped. */
void helio_metrics_label(helio_text_t value, helio_buffer_t *out);
/*  HELP and TYPE, which precede a metric's samples. */
void helio_metric_head(helio_buffer_t *out, const char *name, const char *type, const char *help);
void helio_metric_number(helio_buffer_t *out, double value); /* ends the line */
/*  HELP, TYPE and the sample of a metric without labels. */
void helio_metric_single(helio_buffer_t *out, const char *name, const char *type, const char *help, double value);
/*  A sample with one label. */
void helio_metric_labelled(helio_buffer_t *out, const char *name, const char *label, const char *value, double figure);
/*  Buckets, sum and count. unit: how many units of the bounds make one unit of the metric (1000 for a metric in seconds
 *  with bounds in ms). label NULL = none. */
void helio_metric_histogram(helio_buffer_t *out, const char *name, const char *label, const char *value,
                            const helio_histogram_t *histogram, const helio_bounds_t *bounds, double unit);

#endif
