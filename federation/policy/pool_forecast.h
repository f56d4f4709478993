/*  pool_forecast.h -- the hourly forecast of one pool, made from the site's latest series and its static figures. Pure.
 *
 *  Hours are UTC hours. Every figure is an integer per GPU. Sums over any interval are exact, so that the parts of a
 *  split run add up to the whole. Forecasts are used as issued.
 *
 *  The value of an hour is the time-weighted mean of the series over that hour. Points that are not a number are gaps, and
 *  take the last good value; hours before the first good value take that one. Hours after the end of a series take the
 *  value of the same hour of the day before if the series reaches a day ahead, except of free GPUs; otherwise they are
 *  gaps. A series that ended
 *  more than a day ago is dead: the static figure of the profile replaces it, where one is set. If several series have
 *  one signal, the pool's own precedes the site's, then the one issued last.
 */
#ifndef HELIO_POLICY_POOL_FORECAST_H
#define HELIO_POLICY_POOL_FORECAST_H

#include "federation/model/site.h"

/*  96 hours for the start (prices.h) and a day for the run; beyond that the last day repeats. */
enum { HELIO_POOL_FORECAST_HOURS = 120, HELIO_HOUR_MS = 3600000 };

/*  The beginning of the UTC hour that contains a time, also before 1970. */
static inline int64_t helio_hour_of(int64_t ms)
{
    return ms - ((ms % HELIO_HOUR_MS) + HELIO_HOUR_MS) % HELIO_HOUR_MS;
}

__extension__ typedef __int128 helio_i128_t;

/*  Where a figure comes from. */
typedef struct helio_pool_forecast_source {
    bool series;       /* otherwise the profile's static figure, or none */
    bool known;        /* a figure exists */
    int64_t issued_ms; /* of the series */
} helio_pool_forecast_source_t;

/*  Sums from from_ms to the beginning of hour i. Units as in helio_pool_forecast_use. */
typedef struct helio_pool_forecast_sums {
    helio_i128_t energy;
    helio_i128_t money;
    helio_i128_t carbon;
    helio_i128_t carbon_high;
    helio_i128_t taken;
} helio_pool_forecast_sums_t;

typedef struct helio_pool_forecast {
    int64_t from_ms; /* beginning of the first hour */
    helio_pool_forecast_source_t carbon_from, tariff_from, rent_from, free_from;
    int64_t milliwatts[HELIO_POOL_FORECAST_HOURS]; /* of an allocated GPU at full utilisation, including PUE */
    int64_t rent[HELIO_POOL_FORECAST_HOURS];       /* micro-USD per GPU-hour */
    int64_t tariff[HELIO_POOL_FORECAST_HOURS];     /* micro-USD per kWh; 0 where electricity is part of the rent; may be
                                            negative */
    int64_t carbon[HELIO_POOL_FORECAST_HOURS];     /* mg per kWh, expected; 0 = unknown */
    int64_t carbon_high[HELIO_POOL_FORECAST_HOURS]; /* the same at the risk's quantile */
    int64_t free_gpus[HELIO_POOL_FORECAST_HOURS];   /* -1 = not reported */
    int64_t taken[HELIO_POOL_FORECAST_HOURS];       /* GPUs that are not free, in thousandths of the pool */
    helio_pool_forecast_sums_t sums[HELIO_POOL_FORECAST_HOURS + 1];
} helio_pool_forecast_t;

/*  Whether anything says what a GPU-hour costs: a rent, or a tariff of owned GPUs. If not, its cost is 0, which means
 *  nothing. */
bool helio_pool_forecast_has_price(const helio_pool_forecast_t *self, const helio_pool_t *pool);

/*  Begins with the hour of wall_ms. `series`: all series of the site; those of other pools are ignored. */
void helio_pool_forecast_make(helio_pool_forecast_t *self, const helio_site_profile_t *site, const helio_pool_t *pool,
                              const helio_series_t *series, uint32_t series_count, int64_t wall_ms);

/*  The same with prices of so many thousandths: rent and tariff of every hour. What is not known stays so. */
void helio_pool_forecast_reprice(helio_pool_forecast_t *self, uint32_t per_mille);

/*  The time-weighted mean of a series over one hour; points below `least` are ignored. NAN if no point is left. */
double helio_pool_forecast_hour_mean(const helio_series_t *series, double least, int64_t hour_ms);

/*  The use of one GPU over an interval, as exact numerators. energy: microjoules (mW × ms). money: micro-USD ×
 *  3.6e12, the number of µJ in a kWh. carbon: mg × 3.6e12. taken: thousandths × ms. Zero if the end is before the
 *  beginning. */
typedef helio_pool_forecast_sums_t helio_pool_forecast_use_t;
helio_pool_forecast_use_t helio_pool_forecast_use(const helio_pool_forecast_t *self, int64_t begin_ms, int64_t end_ms);

/*  Index of the hour that contains a time, clamped to the table. */
uint32_t helio_pool_forecast_hour(const helio_pool_forecast_t *self, int64_t wall_ms);

#endif
