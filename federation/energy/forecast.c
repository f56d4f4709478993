/*  forecast.c -- the built-in forecaster and its band. */
#include "federation/energy/forecast.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DAY_H = 24,
    BACKTEST_H = HELIO_FORECAST_DAYS * DAY_H,
    SEASONAL_LEAST_H = 3 * DAY_H, /* minimum number of known hours for the formula */
    ERRORS_LEAST = 30             /* minimum per horizon, for quantiles of 10 and 90 % */
};
static const double TAU_H = 12;

double helio_hours_at(const helio_hours_t *self, int64_t hour)
{
    if (hour < self->first_hour || hour - self->first_hour >= (int64_t)self->count)
        return NAN;
    return self->values[hour - self->first_hour];
}

int64_t helio_hours_last(const helio_hours_t *self, int64_t before)
{
    int64_t end = self->first_hour + (int64_t)self->count;
    for (int64_t hour = (before < end ? before : end) - 1; hour >= self->first_hour; hour--)
        if (!isnan(self->values[hour - self->first_hour]))
            return hour;
    return INT64_MIN;
}

/*  The weighted mean of the same hour on the days up to `last`; NAN if none is known. */
static double same_hour(const helio_hours_t *history, int64_t hour, int64_t last)
{
    double sum = 0, weights = 0, weight = 1;
    int64_t days_back = hour > last ? (hour - last + DAY_H - 1) / DAY_H : 1;
    hour -= days_back * DAY_H;
    for (int day = 0; day < HELIO_FORECAST_DAYS; day++, hour -= DAY_H, weight /= 2) {
        double value = helio_hours_at(history, hour);
        if (!isnan(value)) {
            sum += weight * value;
            weights += weight;
        }
    }
    return weights > 0 ? sum / weights : NAN;
}

/*  Over the last two weeks. */
static double mean_of(const helio_hours_t *history, int64_t last, uint32_t *ret_known)
{
    double sum = 0;
    uint32_t known = 0;
    for (int64_t hour = last; hour > last - BACKTEST_H && hour >= history->first_hour; hour--) {
        double value = helio_hours_at(history, hour);
        if (!isnan(value)) {
            sum += value;
            known++;
        }
    }
    *ret_known = known;
    return known ? sum / known : NAN;
}

static double at_least(double value, double least)
{
    return value < least ? least : value;
}

/*  The formula, without values after `last`. */
static void seasonal(const helio_hours_t *history, int64_t last, double mean, int64_t first_hour, uint32_t count,
                     double least, double *ret_values)
{
    double usual = same_hour(history, last, last - 1);
    double anomaly = isnan(usual) ? 0 : helio_hours_at(history, last) - usual;
    double decay = exp(-1 / TAU_H), left = exp(-(double)(first_hour - last) / TAU_H);
    for (uint32_t i = 0; i < count; i++, left *= decay) {
        double value = same_hour(history, first_hour + (int64_t)i, last);
        ret_values[i] = at_least((isnan(value) ? mean : value) + anomaly * left, least);
    }
}

bool helio_forecast_last_day(const helio_hours_t *history, int64_t first_hour, uint32_t count, double *ret_values)
{
    int64_t last = helio_hours_last(history, first_hour);
    if (last == INT64_MIN)
        return false;
    uint32_t known;
    double mean = mean_of(history, last, &known);
    for (uint32_t i = 0; i < count; i++) {
        int64_t hour = first_hour + (int64_t)i;
        double value = NAN;
        for (hour -= (hour - last + DAY_H - 1) / DAY_H * DAY_H; isnan(value) && hour >= history->first_hour;
             hour -= DAY_H)
            value = helio_hours_at(history, hour);
        ret_values[i] = isnan(value) ? mean : value;
    }
    return true;
}

static helio_forecast_method_t method_of(uint32_t known, int64_t age_h)
{
    if (known < DAY_H)
        return HELIO_FORECAST_MEAN;
    return known < SEASONAL_LEAST_H || age_h > HELIO_FORECAST_STALE_HOURS ? HELIO_FORECAST_LAST_DAY
                                                                          : HELIO_FORECAST_SEASONAL;
}

void helio_forecast_points(const helio_hours_t *history, int64_t first_hour, uint32_t count, double least,
                           helio_arena_t *arena, helio_forecast_t *ret_forecast)
{
    assert(count >= 1 && count <= HELIO_FORECAST_HORIZON_MAX);
    helio_forecast_t forecast = {.first_hour = first_hour};
    int64_t last = helio_hours_last(history, first_hour);
    if (last == INT64_MIN) {
        *ret_forecast = forecast;
        return;
    }
    uint32_t known;
    double mean = mean_of(history, last, &known);
    forecast.count = count;
    forecast.values = helio_arena_alloc(arena, count, sizeof *forecast.values);
    forecast.method = method_of(known, first_hour - last);
    if (forecast.method == HELIO_FORECAST_SEASONAL)
        seasonal(history, last, mean, first_hour, count, least, forecast.values);
    else if (forecast.method == HELIO_FORECAST_LAST_DAY)
        (void)helio_forecast_last_day(history, first_hour, count, forecast.values);
    else
        for (uint32_t i = 0; i < count; i++)
            forecast.values[i] = mean;
    for (uint32_t i = 0; i < count; i++)
        forecast.values[i] = at_least(forecast.values[i], least);
    *ret_forecast = forecast;
}

/* ---- the band ------------------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/*  Linear between the two nearest ranks. */
static double quantile(const double *sorted, uint32_t count, double share)
{
    double at = share * (count - 1);
    uint32_t below = (uint32_t)at;
    double above = below + 1 < count ? sorted[below + 1] : sorted[below];
    return sorted[below] + (above - sorted[below]) * (at - below);
}

/*  errors[h * BACKTEST_H + n]: actual - forecast, h hours after an issue; counts[h] of them. Where the day in
 *  between is unknown, the usual value of an hour is that of the same hour a day earlier, so that each is computed
 *  once. */
static void backtest(const helio_hours_t *history, int64_t last, uint32_t lead, uint32_t count, double least,
                     double *errors, uint32_t *counts)
{
    double usual[BACKTEST_H + 1];
    const int64_t begin = last - BACKTEST_H;
    for (int64_t hour = begin; hour <= last; hour++)
        usual[hour - begin] = same_hour(history, hour, hour - 1);
    uint32_t known;
    (void)mean_of(history, begin - 1, &known);
    for (int64_t issue = begin; issue < last; issue++) {
        double truth = helio_hours_at(history, issue), anomaly = truth - usual[issue - begin];
        known += isnan(truth) ? 0u : 1u;
        known -= isnan(helio_hours_at(history, issue - BACKTEST_H)) ? 0u : 1u;
        if (known < SEASONAL_LEAST_H || isnan(anomaly))
            continue;
        double decay = exp(-1 / TAU_H), left = exp(-(double)lead / TAU_H);
        for (uint32_t h = 0; h < count && issue + lead + h <= last; h++, left *= decay) {
            int64_t hour = issue + lead + h, days_ahead = (hour - issue - 1) / DAY_H;
            double value = usual[hour - days_ahead * DAY_H - begin] + anomaly * left;
            truth = helio_hours_at(history, hour);
            if (!isnan(truth) && !isnan(value))
                errors[(size_t)h * BACKTEST_H + counts[h]++] = truth - at_least(value, least);
        }
    }
}

/*  A horizon with too few errors (the furthest ones) takes the band of the previous horizon. */
static void add_band(helio_forecast_t *forecast, double *errors, const uint32_t *counts, double least,
                     helio_arena_t *arena)
{
    if (counts[0] < ERRORS_LEAST)
        return;
    forecast->p10 = helio_arena_alloc(arena, forecast->count, sizeof *forecast->p10);
    forecast->p90 = helio_arena_alloc(arena, forecast->count, sizeof *forecast->p90);
    double low = 0, high = 0;
    for (uint32_t h = 0; h < forecast->count; h++) {
        if (counts[h] >= ERRORS_LEAST) {
            double *own = errors + (size_t)h * BACKTEST_H;
            qsort(own, counts[h], sizeof *own, ascending);
            low = fmin(quantile(own, counts[h], 0.1), 0); /* the band contains the value, whatever the bias */
            high = fmax(quantile(own, counts[h], 0.9), 0);
        }
        forecast->p10[h] = at_least(forecast->values[h] + low, least);
        forecast->p90[h] = forecast->values[h] + high;
    }
}

void helio_forecast_make(const helio_hours_t *history, int64_t first_hour, uint32_t count, double least,
                         helio_arena_t *arena, helio_forecast_t *ret_forecast)
{
    helio_forecast_points(history, first_hour, count, least, arena, ret_forecast);
    if (ret_forecast->method != HELIO_FORECAST_SEASONAL)
        return;
    int64_t last = helio_hours_last(history, first_hour);
    double *errors = helio_new((size_t)count * BACKTEST_H, sizeof *errors);
    uint32_t counts[HELIO_FORECAST_HORIZON_MAX] = {0};
    backtest(history, last, (uint32_t)(first_hour - last), count, least, errors, counts);
    add_band(ret_forecast, errors, counts, least, arena);
    free(errors);
}
