/*  forecast.h -- predicts an hourly series from its history: the built-in forecaster, for sources without a forecast of
 *  their own. Pure.
 *
 *      value(T) = usual(T) + (value(L) - usual(L)) * exp(-(T - L) / 12 h)           L = the last known hour
 *      usual(T) = mean over the same hour of up to 14 days before, weighted by 2^-(age in days)
 *
 *  Missing hours have no weight. The model is additive, so that negative prices need no special case. docs/energy.md
 *  describes the method and its measured error.
 *
 *  The band follows from the forecaster's own past errors. The forecaster is run again at each hour of the last 14 days
 *  as if nothing later were known; the 10 % and 90 % quantiles of (actual - forecast) are added for each horizon.
 *
 *  Hours are counted from 1970-01-01T00:00Z.
 */
#ifndef HELIO_ENERGY_FORECAST_H
#define HELIO_ENERGY_FORECAST_H

#include "federation/base/memory.h"

enum {
    HELIO_FORECAST_DAYS = 14,
    HELIO_FORECAST_HORIZON_MAX = 192,   /* hours */
    HELIO_FORECAST_HISTORY_HOURS = 840, /* 35 days */
    HELIO_FORECAST_STALE_HOURS = 24     /* an older last value does not indicate an anomaly */
};

/*  values[i] is the mean over hour first_hour + i; NAN = unknown. */
typedef struct helio_hours {
    int64_t first_hour;
    const double *values;
    uint32_t count;
} helio_hours_t;

/*  NAN outside and in gaps. */
double helio_hours_at(const helio_hours_t *self, int64_t hour);
/*  The newest known hour before `before`; INT64_MIN = none. */
int64_t helio_hours_last(const helio_hours_t *self, int64_t before);

typedef enum helio_forecast_method {
    HELIO_FORECAST_NONE,     /* no history: no values */
    HELIO_FORECAST_MEAN,     /* less than a day of history: its mean */
    HELIO_FORECAST_LAST_DAY, /* less than three days, or the last value is old: repeats the last good day */
    HELIO_FORECAST_SEASONAL  /* the formula above */
} helio_forecast_method_t;

typedef struct helio_forecast {
    helio_forecast_method_t method;
    int64_t first_hour;
    uint32_t count;
    double *values; /* finite */
    double *p10;    /* p10 <= value <= p90; NULL = too few past errors */
    double *p90;
} helio_forecast_t;

/*  Predicts hours first_hour … + count (1..HELIO_FORECAST_HORIZON_MAX) from the history before first_hour; later values
 *  are ignored. Values are at least `least` (-INFINITY for prices). Arrays live in the arena. */
void helio_forecast_make(const helio_hours_t *history, int64_t first_hour, uint32_t count, double least,
                         helio_arena_t *arena, helio_forecast_t *ret_forecast);
/*  The same without a band, at a hundredth of the cost. */
void helio_forecast_points(const helio_hours_t *history, int64_t first_hour, uint32_t count, double least,
                           helio_arena_t *arena, helio_forecast_t *ret_forecast);

/*  For dead sources: repeats the newest known value of each hour of the day, however old. False: no value is known. */
bool helio_forecast_last_day(const helio_hours_t *history, int64_t first_hour, uint32_t count, double *ret_values);

#endif
