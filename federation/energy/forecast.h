/*  forecast.h -- what an hourly series will be, from what it was: the built-in forecaster, for sources
 *  without one of their own. Pure.
 *
 *      value(T) = usual(T) + (value(L) - usual(L)) * exp(-(T - L) / 12 h)           L = the last known hour
 *      usual(T) = mean over the same hour of up to 14 days before, weighted by 2^-(age in days)
 *
 *  Missing hours have no weight. Additive, so that negative prices need no special case. Method and measured
 *  error: docs/energy.md.
 *
 *  The band is from the forecaster's own past errors: it is run again at each hour of the last 14 days as if
 *  nothing later were known, and the quantiles of 10 and 90 % of (truth - forecast) are added, horizon by
 *  horizon.
 *
 *  Hours are counted from 1970-01-01T00:00Z.
 */
#ifndef HELIO_ENERGY_FORECAST_H
#define HELIO_ENERGY_FORECAST_H

#include "federation/base/memory.h"

enum {
    HELIO_FORECAST_DAYS = 14,
    HELIO_FORECAST_HORIZON_MAX = 192,   /* hours */
    HELIO_FORECAST_HISTORY_HOURS = 840, /* 35 days: what is worth keeping */
    HELIO_FORECAST_STALE_HOURS = 24     /* a last value older than that says nothing about an anomaly */
};

/*  values[i] is the mean over hour first_hour + i; NAN = not known. */
typedef struct helio_hours {
    int64_t first_hour;
    const double *values;
    uint32_t count;
} helio_hours_t;

/*  NAN outside and in gaps. */
double helio_hours_at(const helio_hours_t *self, int64_t hour);
/*  The newest hour before `before` that is known; INT64_MIN = none. */
int64_t helio_hours_last(const helio_hours_t *self, int64_t before);

typedef enum helio_forecast_method {
    HELIO_FORECAST_NONE,     /* nothing is known: no values */
    HELIO_FORECAST_MEAN,     /* less than a day is known: its mean */
    HELIO_FORECAST_LAST_DAY, /* less than three days, or the last value is old: the last good day again */
    HELIO_FORECAST_SEASONAL  /* the formula above */
} helio_forecast_method_t;

typedef struct helio_forecast {
    helio_forecast_method_t method;
    int64_t first_hour;
    uint32_t count;
    double *values; /* finite */
    double *p10;    /* p10 <= value <= p90; NULL = too few past errors to say */
    double *p90;
} helio_forecast_t;

/*  For hours first_hour … + count (1..HELIO_FORECAST_HORIZON_MAX) from what is known before first_hour;
 * nothing later is looked at. Values are at least `least` (-INFINITY for prices). Arrays live in the arena.
 */
void helio_forecast_make(const helio_hours_t *history, int64_t first_hour, uint32_t count, double least,
                         helio_arena_t *arena, helio_forecast_t *ret_forecast);
/*  The same without a band (a hundredth of the work). */
void helio_forecast_points(const helio_hours_t *history, int64_t first_hour, uint32_t count, double least,
                           helio_arena_t *arena, helio_forecast_t *ret_forecast);

/*  For dead sources: the newest hour known at the same time of day again and again, however old. False:
 * nothing known. */
bool helio_forecast_last_day(const helio_hours_t *history, int64_t first_hour, uint32_t count,
                             double *ret_values);

#endif
