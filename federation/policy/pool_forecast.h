/*  pool_forecast.h -- what is known of one pool's hours ahead, made from a site's latest series and its static
 * figures. Pure.
 *
 *  Hours are those of UTC. Every figure is an integer and per GPU; sums over any time between two instants
 * are exact, so a run that is split anywhere adds up to the whole. Forecasts are taken as issued.
 *
 *  An hour's value is the mean of what a series says of it, weighted by time. Where it says nothing (a point
 * that is not a number, an hour after its end) the last good value stands; before the first one, that one. A
 * series that ended more than a day ago is dead: the static figure of the profile replaces it where there is
 * one. Of series with one signal the pool's own goes before the site's, then the one issued last.
 */
#ifndef HELIO_POLICY_POOL_FORECAST_H
#define HELIO_POLICY_POOL_FORECAST_H

#include "federation/model/site.h"

/*  48 for the start (prices.h) and a day's run after it; beyond them the last hour repeats. */
enum { HELIO_POOL_FORECAST_HOURS = 72, HELIO_HOUR_MS = 3600000 };

/*  The begin of the hour of UTC that a time lies in, before 1970 too. */
static inline int64_t helio_hour_of(int64_t ms)
{
    return ms - ((ms % HELIO_HOUR_MS) + HELIO_HOUR_MS) % HELIO_HOUR_MS;
}

__extension__ typedef __int128 helio_i128_t;

/*  Where a figure comes from. */
typedef struct helio_pool_forecast_source {
    bool series;       /* else the profile's static figure, or nothing */
    bool known;        /* there is any figure */
    int64_t issued_ms; /* of the series */
} helio_pool_forecast_source_t;

/*  Sums from from_ms to the begin of hour i. Units as in helio_pool_forecast_use. */
typedef struct helio_pool_forecast_sums {
    helio_i128_t energy;
    helio_i128_t money;
    helio_i128_t carbon;
    helio_i128_t carbon_high;
    helio_i128_t taken;
} helio_pool_forecast_sums_t;

typedef struct helio_pool_forecast {
    int64_t from_ms; /* begin of the first hour */
    helio_pool_forecast_source_t carbon_from, tariff_from, rent_from, free_from;
    int64_t milliwatts[HELIO_POOL_FORECAST_HOURS]; /* of an allocated GPU at full use, PUE included */
    int64_t rent[HELIO_POOL_FORECAST_HOURS];       /* micro-USD per GPU-hour */
    int64_t tariff[HELIO_POOL_FORECAST_HOURS]; /* micro-USD per kWh; 0 where electricity is part of the rent; may be
                                            negative */
    int64_t carbon[HELIO_POOL_FORECAST_HOURS]; /* mg per kWh, expected; 0 when not known */
    int64_t carbon_high[HELIO_POOL_FORECAST_HOURS]; /* the same at the risk's quantile */
    int64_t free_gpus[HELIO_POOL_FORECAST_HOURS];   /* -1 = not told */
    int64_t taken[HELIO_POOL_FORECAST_HOURS];       /* thousandths of the pool's GPUs that are not */
    helio_pool_forecast_sums_t sums[HELIO_POOL_FORECAST_HOURS + 1];
} helio_pool_forecast_t;

/*  From the hour that wall_ms is in. `series`: the site's, as they came; those of other pools are passed
 * over. */
void helio_pool_forecast_make(helio_pool_forecast_t *self, const helio_site_profile_t *site, const helio_pool_t *pool,
                        const helio_series_t *series, uint32_t series_count, int64_t wall_ms);

/*  The mean of what a series says of one hour, weighted by time; points below `least` are not good. NAN where
 * it says nothing. */
double helio_pool_forecast_hour_mean(const helio_series_t *series, double least, int64_t hour_ms);

/*  Of one GPU over a time, as exact numerators. energy: microjoules (mW × ms). money: micro-USD × 3.6e12, for
 * there are so many µJ in a kWh. carbon: mg × 3.6e12. taken: thousandths × ms. An end before the begin is
 * none. */
typedef helio_pool_forecast_sums_t helio_pool_forecast_use_t;
helio_pool_forecast_use_t helio_pool_forecast_use(const helio_pool_forecast_t *self, int64_t begin_ms, int64_t end_ms);

/*  The hour that an instant is in, as an index: never outside the table. */
uint32_t helio_pool_forecast_hour(const helio_pool_forecast_t *self, int64_t wall_ms);

#endif
