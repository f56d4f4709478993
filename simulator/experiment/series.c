/*  series.c -- reads hourly series, fills their gaps and sums them. */
#include "simulator/experiment/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/number.h"

enum { HOUR_MS = 3600000, COLUMN_REGION = 0, COLUMN_HOUR, COLUMN_VALUES, UNITS_MAX = 4 };
static const int64_t HOURS_MAX = INT64_C(24) * 366 * 30; /* of one series */
static const double RENT_MOST = 1e4;                     /* USD per GPU-hour */
static const double DEMAND_MOST = 1e12;                  /* requests of an hour */
static const int64_t GAP_MAX = INT64_C(24) * 366;        /* hours: two rows must not fill memory */

void exp_series_free(exp_series_set_t *set)
{
    exp_series_t *series, *next;
    HASH_ITER(hh, *set, series, next)
    {
        HASH_DEL(*set, series);
        free(series->values);
        free(series->sums);
        free(series);
    }
}

const exp_series_t *exp_series_find(exp_series_set_t set, helio_text_t region)
{
    exp_series_t *series = NULL;
    if (region.size)
        HASH_FIND(hh, set, region.data, region.size, series);
    return series;
}

/*  False: no series can have that name. */
static bool name_of(helio_text_t site, helio_text_t pool, char ret_name[EXP_SERIES_NAME_SIZE])
{
    int size = snprintf(ret_name, EXP_SERIES_NAME_SIZE, "%.*s/%.*s", HELIO_TEXT_ARGS(site), HELIO_TEXT_ARGS(pool));
    return size < EXP_SERIES_NAME_SIZE;
}

const exp_series_t *exp_series_find_rent(exp_series_set_t set, helio_text_t site, helio_text_t pool)
{
    char name[EXP_SERIES_NAME_SIZE];
    return name_of(site, pool, name) ? exp_series_find(set, helio_text_of(name)) : NULL;
}

static exp_series_t *get(exp_series_set_t *set, helio_text_t region, int64_t hour)
{
    exp_series_t *series;
    HASH_FIND(hh, *set, region.data, region.size, series);
    if (series)
        return series;
    series = helio_new(1, sizeof *series);
    (void)helio_text_copy(region, series->region, sizeof series->region);
    series->first_hour = hour;
    HASH_ADD_KEYPTR(hh, *set, series->region, region.size, series);
    return series;
}

/*  Rows of a region ascend; hours that are left out are gaps. many: an hour can have several rows. */
static helio_rc put(exp_series_t *self, const exp_csv_t *csv, int64_t hour, double value, bool many, helio_error_t *err)
{
    int64_t at = hour - self->first_hour;
    if (at == (int64_t)self->count - 1 && many) {
        self->values[at] = fmax(self->values[at], value); /* fmax ignores NAN */
        return HELIO_OK;
    }
    if (at < (int64_t)self->count)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "the hours of '%s' do not ascend", self->region);
    if (at >= HOURS_MAX)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "the series of '%s' is longer than 30 years", self->region);
    if (at - self->count > GAP_MAX)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "the hour is more than a year after the last one of '%s'",
                            self->region);
    uint32_t count = (uint32_t)at + 1;
    if (count > self->capacity) {
        self->capacity = 2 * count;
        self->values = helio_grow(self->values, self->capacity, sizeof *self->values);
    }
    while (self->count < count - 1)
        self->values[self->count++] = NAN;
    self->values[self->count++] = value;
    return HELIO_OK;
}

static helio_rc take_row(exp_series_set_t *set, const exp_csv_t *csv, const exp_series_unit_t *unit, uint32_t column,
                         helio_error_t *err)
{
    helio_text_t region;
    int64_t hour;
    double value = NAN;
    helio_rc rc = exp_csv_region(csv, COLUMN_REGION, &region, err);
    rc = rc == HELIO_OK ? exp_csv_hour(csv, COLUMN_HOUR, &hour, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_number(csv, column, -1e6, 1e6, &value, err) : rc;
    return rc == HELIO_OK ? put(get(set, region, hour), csv, hour, value * unit->factor, false, err) : rc;
}

static void sum(exp_series_t *self)
{
    self->first = self->last = self->most = NAN;
    for (uint32_t i = 0; i < self->count && isnan(self->first); i++)
        self->first = self->values[i];
    self->sums = helio_new(self->count + 1, sizeof *self->sums);
    self->last = self->first;
    for (uint32_t i = 0; i < self->count; i++) {
        self->last = isnan(self->values[i]) ? self->last : self->values[i];
        self->most = fmax(self->most, self->values[i]);
        self->sums[i + 1] = self->sums[i] + self->last;
    }
}

static helio_rc check(exp_series_set_t set, const char *path, helio_error_t *err)
{
    for (exp_series_t *series = set; series; series = series->hh.next) {
        sum(series);
        if (isnan(series->first))
            return helio_fail(err, HELIO_INVALID, "%s: '%s' has no value", path, series->region);
    }
    return set ? HELIO_OK : helio_fail(err, HELIO_INVALID, "%s: no rows", path);
}

helio_rc exp_series_unit_of(const exp_csv_t *csv, const char *path, uint32_t first, const exp_series_unit_t *units,
                            uint32_t unit_count, uint32_t *ret_unit, helio_error_t *err)
{
    for (*ret_unit = 0; *ret_unit < unit_count; (*ret_unit)++)
        if (exp_csv_has(csv, first + *ret_unit))
            return HELIO_OK;
    return helio_fail(err, HELIO_INVALID, "%s:1: neither the column '%s' nor '%s' is there", path, units[0].column,
                      units[unit_count - 1].column);
}

helio_rc exp_series_load(const char *path, const exp_series_unit_t *units, uint32_t unit_count, int64_t shift_ms,
                         exp_series_set_t *ret_set, helio_error_t *err)
{
    exp_csv_column_t columns[COLUMN_VALUES + UNITS_MAX] = {{"region", true}, {"utc_hour_iso8601", true}};
    for (uint32_t i = 0; i < unit_count; i++)
        columns[COLUMN_VALUES + i] = (exp_csv_column_t){units[i].column, unit_count == 1};
    *ret_set = NULL;
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path, columns, COLUMN_VALUES + unit_count, err);
    if (!csv)
        return err->code;
    exp_csv_shift(csv, shift_ms);
    uint32_t unit;
    if (exp_series_unit_of(csv, path, COLUMN_VALUES, units, unit_count, &unit, err) != HELIO_OK)
        return err->code;
    helio_rc rc;
    while ((rc = exp_csv_next(csv, err)) == HELIO_OK &&
           (rc = take_row(ret_set, csv, &units[unit], COLUMN_VALUES + unit, err)) == HELIO_OK) {
    }
    rc = rc == HELIO_NOT_FOUND ? check(*ret_set, path, err) : rc;
    if (rc != HELIO_OK)
        exp_series_free(ret_set);
    return rc;
}

static helio_rc take_demand(exp_series_set_t *set, const exp_csv_t *csv, helio_error_t *err)
{
    helio_text_t name;
    int64_t at_ms;
    double requests = NAN;
    helio_rc rc = exp_csv_region(csv, COLUMN_REGION, &name, err);
    rc = rc == HELIO_OK ? exp_csv_time(csv, COLUMN_HOUR, &at_ms, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_number(csv, COLUMN_VALUES, 0, DEMAND_MOST, &requests, err) : rc;
    if (rc != HELIO_OK)
        return rc;
    int64_t hour = (at_ms - ((at_ms % HOUR_MS) + HOUR_MS) % HOUR_MS) / HOUR_MS;
    return put(get(set, name, hour), csv, hour, requests, true, err);
}

helio_rc exp_series_load_demand(const char *path, int64_t shift_ms, exp_series_set_t *ret_set, helio_error_t *err)
{
    static const exp_csv_column_t columns[] = {{"series", true}, {"utc", true}, {"requests", true}};
    *ret_set = NULL;
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path, columns, COLUMN_VALUES + 1, err);
    if (!csv)
        return err->code;
    exp_csv_shift(csv, shift_ms);
    helio_rc rc;
    while ((rc = exp_csv_next(csv, err)) == HELIO_OK && (rc = take_demand(ret_set, csv, err)) == HELIO_OK) {
    }
    rc = rc == HELIO_NOT_FOUND ? check(*ret_set, path, err) : rc;
    if (rc != HELIO_OK)
        exp_series_free(ret_set);
    return rc;
}

static helio_rc take_rent(exp_series_set_t *set, const exp_csv_t *csv, helio_error_t *err)
{
    enum { SITE, HOUR, RENT, POOL };
    helio_text_t site, pool;
    char name[EXP_SERIES_NAME_SIZE];
    int64_t hour;
    double usd = NAN;
    helio_rc rc = exp_csv_region(csv, SITE, &site, err);
    rc = rc == HELIO_OK ? exp_csv_region(csv, POOL, &pool, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_hour(csv, HOUR, &hour, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_number(csv, RENT, 0, RENT_MOST, &usd, err) : rc;
    if (rc != HELIO_OK)
        return rc;
    if (!name_of(site, pool, name))
        return exp_csv_fail(csv, POOL, err, "site and pool have names of 32 characters at most");
    return put(get(set, helio_text_of(name), hour), csv, hour, usd, false, err);
}

helio_rc exp_series_load_rents(const char *path, int64_t shift_ms, exp_series_set_t *ret_set, helio_error_t *err)
{
    static const exp_csv_column_t columns[] = {
        {"site", true}, {"utc_hour_iso8601", true}, {"usd_per_gpu_h", true}, {"pool", true}};
    *ret_set = NULL;
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path, columns, sizeof columns / sizeof columns[0], err);
    if (!csv)
        return err->code;
    exp_csv_shift(csv, shift_ms);
    helio_rc rc;
    while ((rc = exp_csv_next(csv, err)) == HELIO_OK && (rc = take_rent(ret_set, csv, err)) == HELIO_OK) {
    }
    rc = rc == HELIO_NOT_FOUND ? check(*ret_set, path, err) : rc;
    if (rc != HELIO_OK)
        exp_series_free(ret_set);
    return rc;
}

/*  The sum from the first hour to the time, in hours; negative before it. */
static double until(const exp_series_t *self, int64_t ms)
{
    double hours = (double)(ms - self->first_hour * HOUR_MS) / HOUR_MS;
    if (hours <= 0)
        return hours * self->first;
    if (hours >= self->count)
        return self->sums[self->count] + (hours - self->count) * self->last;
    uint32_t i = (uint32_t)hours;
    return self->sums[i] + (hours - i) * (self->sums[i + 1] - self->sums[i]);
}

double exp_series_integral(const exp_series_t *self, int64_t from_ms, int64_t to_ms)
{
    return until(self, to_ms) - until(self, from_ms);
}

double exp_series_at(const exp_series_t *self, int64_t hour)
{
    return exp_series_integral(self, hour * HOUR_MS, (hour + 1) * HOUR_MS);
}

helio_hours_t exp_series_known(const exp_series_t *self, int64_t hour)
{
    int64_t known = hour + 1 - self->first_hour;
    known = known < 0 ? 0 : helio_lesser_i64(known, self->count);
    return (helio_hours_t){self->first_hour, self->values, (uint32_t)known};
}
