/*  exposition.h -- the Prometheus text format, version 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats/. Names are written with the prefix helio_.
 */
#ifndef HELIO_BROKER_HTTP_METRICS_EXPOSITION_H
#define HELIO_BROKER_HTTP_METRICS_EXPOSITION_H

#include "federation/base/histogram.h"
#include "federation/base/memory.h"

/*  A label's value: backslash, quote and newline escaped. */
void helio_metrics_label(helio_text_t value, helio_buffer_t *out);
/*  What comes before a metric's samples. */
void helio_metric_head(helio_buffer_t *out, const char *name, const char *type, const char *help);
void helio_metric_number(helio_buffer_t *out, double value); /* ends the line */
/*  Head and sample of a metric without labels. */
void helio_metric_single(helio_buffer_t *out, const char *name, const char *type, const char *help,
                         double value);
/*  A sample with one label. */
void helio_metric_labelled(helio_buffer_t *out, const char *name, const char *label, const char *value,
                           double figure);
/*  Buckets, sum and count. unit: what one of the metric's own unit is in that of the bounds (1000 for seconds
 * of ms). label NULL = none. */
void helio_metric_histogram(helio_buffer_t *out, const char *name, const char *label, const char *value,
                            const helio_histogram_t *histogram, const helio_bounds_t *bounds, double unit);

#endif
