/*  pool_forecast.c -- hourly means of series, and their prefix sums. */
#include "federation/policy/pool_forecast.h"

#include <math.h>

#include "federation/energy/power.h"
#include "federation/policy/prices.h"

enum { DEAD_AFTER_MS = 24 * HELIO_HOUR_MS, DAY_H = 24 };
/*  micro-USD × 3.6e12 from (micro-USD per GPU-hour) × ms. */
static const int64_t RENT_SCALE = 1000000;

static bool alive(const helio_series_t *series, int64_t wall_ms)
{
    return series->step_s && series->values.count &&
           series->start_wall_ms + (int64_t)series->values.count * series->step_s * 1000 + DEAD_AFTER_MS > wall_ms;
}

/*  The series used for a signal; NULL if none. A dead series is used only if nothing else is known. */
static const helio_series_t *find(const helio_series_t *series, uint32_t count, uint32_t signal, helio_text_t pool,
                                  bool has_static, int64_t wall_ms)
{
    bool may_be_dead = !has_static && signal != HELIO_SIGNAL_FREE_GPUS; /* a dead series cannot tell what is free */
    const helio_series_t *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const helio_series_t *s = &series[i];
        bool own = s->pool.size > 0;
        if (s->signal != signal || !s->step_s || !s->values.count || (own && !helio_text_equal(s->pool, pool)) ||
            helio_text_is(s->kind, "marginal") || (!may_be_dead && !alive(s, wall_ms)))
            continue;
        if (!best || own > (best->pool.size > 0) ||
            (own == (best->pool.size > 0) && s->issued_wall_ms > best->issued_wall_ms))
            best = s;
    }
    return best;
}

/*  The time-weighted mean of the points over [hour, hour + 1 h); NAN if none is good. */
static double hour_mean(const helio_series_t *series, const helio_f64s_t *points, double least, int64_t hour_ms)
{
    int64_t step_ms = (int64_t)series->step_s * 1000, start = series->start_wall_ms, end = hour_ms + HELIO_HOUR_MS;
    if (end <= start)
        return NAN;
    double sum = 0, weight = 0;
    for (int64_t i = hour_ms > start ? (hour_ms - start) / step_ms : 0; i < points->count; i++) {
        int64_t a = start + i * step_ms, b = a + step_ms;
        if (a >= end)
            break;
        if (!isfinite(points->items[i]) || points->items[i] < least)
            continue;
        double ms = (double)((b < end ? b : end) - (a > hour_ms ? a : hour_ms));
        sum += points->items[i] * ms;
        weight += ms;
    }
    return weight > 0 ? sum / weight : NAN;
}

/*  The last good point before the first hour, so that an ended series is continued. */
static double last_before(const helio_series_t *series, const helio_f64s_t *points, double least, int64_t hour_ms)
{
    int64_t step_ms = (int64_t)series->step_s * 1000;
    for (uint32_t i = points->count; i-- > 0;)
        if (series->start_wall_ms + (int64_t)i * step_ms < hour_ms && isfinite(points->items[i]) &&
            points->items[i] >= least)
            return points->items[i];
    return NAN;
}

typedef struct bounds {
    double least, most, scale;
} bounds_t;

/*  Of prices that are supposed, which can be any multiple of what a site states: all sums stay exact. */
static const bounds_t rent_bounds = {-1e6, 1e6, 1e6}, tariff_bounds = {-1e3, 1e3, 1e6};

/*  scale: of the integers that stand for a value. */
static bounds_t bounds_of(uint32_t signal, double scale)
{
    helio_signal_range_t range = helio_signal_range(signal);
    return (bounds_t){range.least, range.most, scale};
}

static int64_t whole(double value, const bounds_t *bounds)
{
    return llround(fmin(fmax(value, bounds->least), bounds->most) * bounds->scale);
}

/*  From this hour on, the hours of a series that ends are those of the day before: prices and intensities follow the
 *  day, and the value of one hour would stand for all hours of a long run. A series of less than a day has no such hour,
 *  and what will be free depends on what runs, not on the hour. */
static uint32_t first_repeated(const helio_series_t *series, const helio_f64s_t *points, int64_t from_ms)
{
    int64_t left_ms = series->start_wall_ms + (int64_t)points->count * series->step_s * 1000 - from_ms;
    int64_t hours = (left_ms + HELIO_HOUR_MS - 1) / HELIO_HOUR_MS;
    bool repeats = left_ms >= (int64_t)DAY_H * HELIO_HOUR_MS && hours < HELIO_POOL_FORECAST_HOURS &&
                   series->signal != HELIO_SIGNAL_FREE_GPUS;
    return repeats ? (uint32_t)hours : HELIO_POOL_FORECAST_HOURS;
}

/*  Fills the hours from one list of points of a series. False if no point is good. */
static bool fill(int64_t *hours, int64_t from_ms, const helio_series_t *series, const helio_f64s_t *points,
                 const bounds_t *bounds)
{
    double last = last_before(series, points, bounds->least, from_ms);
    uint32_t waiting = 0; /* hours before the first good value */
    const uint32_t repeated = first_repeated(series, points, from_ms);
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++) {
        if (h >= repeated && isfinite(last)) {
            hours[h] = hours[h - DAY_H];
            continue;
        }
        double value = hour_mean(series, points, bounds->least, from_ms + (int64_t)h * HELIO_HOUR_MS);
        if (isfinite(value))
            last = value;
        if (!isfinite(last)) {
            waiting++;
            continue;
        }
        hours[h] = whole(last, bounds);
        while (waiting)
            hours[--waiting] = hours[h];
    }
    return isfinite(last);
}

static void fill_all(int64_t *hours, int64_t value)
{
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++)
        hours[h] = value;
}

typedef struct maker {
    const helio_series_t *series;
    uint32_t series_count;
    helio_text_t pool;
    int64_t from_ms, wall_ms;
} maker_t;

/*  One signal: from its series, otherwise the static figure. Returns the series used. */
static const helio_series_t *signal_of(const maker_t *maker, uint32_t signal, bool has_static, double figure,
                                       const bounds_t *bounds, int64_t *hours, helio_pool_forecast_source_t *ret_source)
{
    const helio_series_t *series =
        find(maker->series, maker->series_count, signal, maker->pool, has_static, maker->wall_ms);
    if (series && fill(hours, maker->from_ms, series, &series->values, bounds)) {
        *ret_source = (helio_pool_forecast_source_t){true, true, series->issued_wall_ms};
        return series;
    }
    *ret_source = (helio_pool_forecast_source_t){false, has_static, 0};
    fill_all(hours, has_static && isfinite(figure) ? whole(figure, bounds) : 0);
    return NULL;
}

static void carbon_of(helio_pool_forecast_t *self, const maker_t *maker, const helio_site_profile_t *site)
{
    const bounds_t grams = bounds_of(HELIO_SIGNAL_CARBON, 1000);
    const helio_series_t *series = signal_of(maker, HELIO_SIGNAL_CARBON, site->carbon_g_per_kwh >= 0,
                                             site->carbon_g_per_kwh, &grams, self->carbon, &self->carbon_from);
    if (!self->carbon_from.known)
        fill_all(self->carbon, HELIO_UNKNOWN_G_PER_KWH * 1000);
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++)
        self->carbon_high[h] = self->carbon[h];
    int64_t p90[HELIO_POOL_FORECAST_HOURS];
    if (!series || series->p90.count != series->values.count ||
        !fill(p90, maker->from_ms, series, &series->p90, &grams))
        return;
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++)
        if (p90[h] > self->carbon[h])
            self->carbon_high[h] += (p90[h] - self->carbon[h]) * HELIO_RISK_PER_MILLE_TO_P90 / 1000;
}

static void power_of(helio_pool_forecast_t *self, const maker_t *maker, const helio_site_profile_t *site,
                     const helio_pool_t *pool)
{
    static const bounds_t watts = {0, 1e6, 1000};
    const bounds_t pue = bounds_of(HELIO_SIGNAL_PUE, 1000000);
    helio_pool_forecast_source_t from;
    (void)signal_of(maker, HELIO_SIGNAL_PUE, true, site->pue, &pue, self->milliwatts, &from);
    double drawn = helio_pool_watts(pool, 1);
    int64_t milliwatts = isfinite(drawn) ? whole(drawn, &watts) : 0;
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++)
        self->milliwatts[h] = (self->milliwatts[h] * milliwatts + 500000) / 1000000;
}

/*  The part of the pool that is not free in each hour. */
static void taken_of(helio_pool_forecast_t *self, const helio_pool_t *pool)
{
    int64_t nodes = pool->max_nodes > pool->nodes ? pool->max_nodes : pool->nodes, gpus = nodes * pool->gpus_per_node;
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++) {
        int64_t left = self->free_gpus[h] < gpus ? self->free_gpus[h] : gpus;
        self->taken[h] = left < 0 || !gpus ? HELIO_UNKNOWN_TAKEN_PER_MILLE : 1000 - left * 1000 / gpus;
    }
}

/*  The exact sums of the hours. */
static void sum(helio_pool_forecast_t *self)
{
    self->sums[0] = (helio_pool_forecast_sums_t){0};
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++) {
        helio_i128_t energy = (helio_i128_t)self->milliwatts[h] * HELIO_HOUR_MS;
        self->sums[h + 1] = (helio_pool_forecast_sums_t){
            self->sums[h].energy + energy,
            self->sums[h].money + (helio_i128_t)self->rent[h] * HELIO_HOUR_MS * RENT_SCALE + energy * self->tariff[h],
            self->sums[h].carbon + energy * self->carbon[h],
            self->sums[h].carbon_high + energy * self->carbon_high[h],
            self->sums[h].taken + (helio_i128_t)self->taken[h] * HELIO_HOUR_MS,
        };
    }
}

double helio_pool_forecast_hour_mean(const helio_series_t *series, double least, int64_t hour_ms)
{
    return series->step_s ? hour_mean(series, &series->values, least, hour_ms) : NAN;
}

bool helio_pool_forecast_has_price(const helio_pool_forecast_t *self, const helio_pool_t *pool)
{
    return self->rent_from.known || (pool->owned && self->tariff_from.known);
}

void helio_pool_forecast_make(helio_pool_forecast_t *self, const helio_site_profile_t *site, const helio_pool_t *pool,
                              const helio_series_t *series, uint32_t series_count, int64_t wall_ms)
{
    const bounds_t rents = bounds_of(HELIO_SIGNAL_PRICE, rent_bounds.scale),
                   tariffs = bounds_of(HELIO_SIGNAL_ELECTRICITY, tariff_bounds.scale),
                   devices = bounds_of(HELIO_SIGNAL_FREE_GPUS, 1);
    maker_t maker = {series, series_count, pool->name, helio_hour_of(wall_ms), wall_ms};
    self->from_ms = maker.from_ms;
    /* A static figure of 0 is one that was not given: it must not replace a series that has ended. */
    const double rent = helio_pool_rent_usd(pool);
    (void)signal_of(&maker, HELIO_SIGNAL_PRICE, rent != 0, rent, &rents, self->rent, &self->rent_from);
    (void)signal_of(&maker, HELIO_SIGNAL_ELECTRICITY, site->electricity_usd_per_kwh != 0, site->electricity_usd_per_kwh,
                    &tariffs, self->tariff, &self->tariff_from);
    if (!pool->owned)
        fill_all(self->tariff, 0);
    (void)signal_of(&maker, HELIO_SIGNAL_FREE_GPUS, false, 0, &devices, self->free_gpus, &self->free_from);
    if (!self->free_from.known)
        fill_all(self->free_gpus, -1);
    taken_of(self, pool);
    carbon_of(self, &maker, site);
    power_of(self, &maker, site, pool);
    sum(self);
}

static int64_t scaled(int64_t value, uint32_t per_mille, const bounds_t *bounds)
{
    return whole((double)value * per_mille / 1000 / bounds->scale, bounds);
}

void helio_pool_forecast_reprice(helio_pool_forecast_t *self, uint32_t per_mille)
{
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++) {
        self->rent[h] = scaled(self->rent[h], per_mille, &rent_bounds);
        self->tariff[h] = scaled(self->tariff[h], per_mille, &tariff_bounds);
    }
    sum(self);
}

uint32_t helio_pool_forecast_hour(const helio_pool_forecast_t *self, int64_t wall_ms)
{
    int64_t hour = wall_ms > self->from_ms ? (wall_ms - self->from_ms) / HELIO_HOUR_MS : 0;
    return hour < HELIO_POOL_FORECAST_HOURS ? (uint32_t)hour : HELIO_POOL_FORECAST_HOURS - 1;
}

static helio_pool_forecast_sums_t within(const helio_pool_forecast_t *self, int64_t ms)
{
    uint32_t h = helio_pool_forecast_hour(self, ms);
    helio_i128_t rest = ms - self->from_ms - (int64_t)h * HELIO_HOUR_MS, energy = rest * self->milliwatts[h];
    return (helio_pool_forecast_sums_t){
        self->sums[h].energy + energy,
        self->sums[h].money + rest * self->rent[h] * RENT_SCALE + energy * self->tariff[h],
        self->sums[h].carbon + energy * self->carbon[h],
        self->sums[h].carbon_high + energy * self->carbon_high[h],
        self->sums[h].taken + rest * self->taken[h],
    };
}

/*  The sums of one GPU since from_ms. Before from_ms the first hour is extended backwards: the beginning of the current
 *  hour is never far. After the last hour, the last day is repeated. */
static helio_pool_forecast_sums_t until(const helio_pool_forecast_t *self, int64_t ms)
{
    const int64_t day_ms = (int64_t)DAY_H * HELIO_HOUR_MS,
                  end_ms = self->from_ms + (int64_t)HELIO_POOL_FORECAST_HOURS * HELIO_HOUR_MS;
    if (ms <= end_ms)
        return within(self, ms);
    const helio_pool_forecast_sums_t *end = &self->sums[HELIO_POOL_FORECAST_HOURS], *day = end - DAY_H;
    helio_i128_t days = (ms - end_ms) / day_ms + 1;
    helio_pool_forecast_sums_t sums = within(self, end_ms - day_ms + (ms - end_ms) % day_ms);
    sums.energy += days * (end->energy - day->energy);
    sums.money += days * (end->money - day->money);
    sums.carbon += days * (end->carbon - day->carbon);
    sums.carbon_high += days * (end->carbon_high - day->carbon_high);
    sums.taken += days * (end->taken - day->taken);
    return sums;
}

helio_pool_forecast_use_t helio_pool_forecast_use(const helio_pool_forecast_t *self, int64_t begin_ms, int64_t end_ms)
{
    if (end_ms <= begin_ms)
        return (helio_pool_forecast_use_t){0};
    helio_pool_forecast_sums_t a = until(self, begin_ms), b = until(self, end_ms);
    return (helio_pool_forecast_use_t){b.energy - a.energy, b.money - a.money, b.carbon - a.carbon,
                                       b.carbon_high - a.carbon_high, b.taken - a.taken};
}
