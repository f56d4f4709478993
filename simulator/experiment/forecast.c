/*  forecast.c -- reads forecasts by region and issue. */
#include "simulator/experiment/forecast.h"

#include <math.h>
#include <stdlib.h>

enum { HOUR_MS = 3600000, AHEAD_MAX_H = 24 * 31, VALUES_MAX = 50000000 /* of a region: 400 MB */ };
enum { COLUMN_REGION, COLUMN_ISSUE, COLUMN_HOUR, COLUMN_VALUES, UNITS_MAX = 4 };
static const double MOST = 1e6;

void exp_forecast_free(exp_forecast_set_t *set)
{
    exp_forecast_t *forecast, *next;
    HASH_ITER(hh, *set, forecast, next)
    {
        HASH_DEL(*set, forecast);
        free(forecast->issues);
        free(forecast->values);
        free(forecast);
    }
}

const exp_forecast_t *exp_forecast_find(exp_forecast_set_t set, helio_text_t region)
{
    exp_forecast_t *forecast = NULL;
    if (region.size)
        HASH_FIND(hh, set, region.data, region.size, forecast);
    return forecast;
}

static exp_forecast_t *get(exp_forecast_set_t *set, helio_text_t region)
{
    exp_forecast_t *forecast;
    HASH_FIND(hh, *set, region.data, region.size, forecast);
    if (forecast)
        return forecast;
    forecast = helio_new(1, sizeof *forecast);
    (void)helio_text_copy(region, forecast->region, sizeof forecast->region);
    forecast->issued_ms = INT64_MIN;
    HASH_ADD_KEYPTR(hh, *set, forecast->region, region.size, forecast);
    return forecast;
}

/*  What is issued within an hour enters when the next one begins. */
static exp_issue_t *add_issue(exp_forecast_t *self, int64_t issued_ms, int64_t first_hour)
{
    if (self->issue_count == self->issue_capacity) {
        self->issue_capacity = self->issue_capacity ? 2 * self->issue_capacity : 64;
        self->issues = helio_grow(self->issues, self->issue_capacity, sizeof *self->issues);
    }
    self->issued_ms = issued_ms;
    self->issues[self->issue_count] = (exp_issue_t){
        .from_hour = (issued_ms + HOUR_MS - 1) / HOUR_MS, .first_hour = first_hour, .first_value = self->value_count};
    return &self->issues[self->issue_count++];
}

static void add_value(exp_forecast_t *self, exp_issue_t *issue, double value)
{
    if (self->value_count == self->value_capacity) {
        self->value_capacity = self->value_capacity ? 2 * self->value_capacity : 4096;
        self->values = helio_grow(self->values, self->value_capacity, sizeof *self->values);
    }
    self->values[self->value_count++] = value;
    issue->count++;
}

/*  Issues of a region ascend, and so do the hours of an issue; hours that are left out are gaps. */
static helio_rc put(exp_forecast_t *self, const exp_csv_t *csv, int64_t issued_ms, int64_t hour, double value,
                    helio_error_t *err)
{
    if (issued_ms < self->issued_ms)
        return exp_csv_fail(csv, COLUMN_ISSUE, err, "the issues of '%s' do not ascend", self->region);
    if (hour * HOUR_MS > issued_ms + (int64_t)AHEAD_MAX_H * HOUR_MS)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "the hour is more than %d days after its issue", AHEAD_MAX_H / 24);
    if (hour * HOUR_MS < issued_ms - HOUR_MS)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "the hour is over before the forecast is issued");
    exp_issue_t *issue =
        issued_ms == self->issued_ms ? &self->issues[self->issue_count - 1] : add_issue(self, issued_ms, hour);
    int64_t at = hour - issue->first_hour;
    if (at < (int64_t)issue->count)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "the hours of an issue of '%s' do not ascend", self->region);
    if (self->value_count + at - issue->count >= VALUES_MAX)
        return exp_csv_fail(csv, COLUMN_HOUR, err, "more than %d hours of '%s'", VALUES_MAX, self->region);
    while (issue->count < at)
        add_value(self, issue, NAN);
    add_value(self, issue, value);
    return HELIO_OK;
}

static helio_rc take_row(exp_forecast_set_t *set, const exp_csv_t *csv, const exp_series_unit_t *unit, uint32_t column,
                         double least, helio_error_t *err)
{
    helio_text_t region;
    int64_t hour, issued_ms;
    double value = NAN;
    helio_rc rc = exp_csv_region(csv, COLUMN_REGION, &region, err);
    rc = rc == HELIO_OK ? exp_csv_hour(csv, COLUMN_HOUR, &hour, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_number(csv, column, least, MOST, &value, err) : rc;
    if (rc != HELIO_OK)
        return rc;
    rc = exp_csv_time(csv, COLUMN_ISSUE, &issued_ms, err);
    return rc == HELIO_OK ? put(get(set, region), csv, issued_ms, hour, value * unit->factor, err) : rc;
}

helio_rc exp_forecast_load(const char *path, const exp_series_unit_t *units, uint32_t unit_count, double least,
                           int64_t shift_ms, exp_forecast_set_t *ret_set, helio_error_t *err)
{
    exp_csv_column_t columns[COLUMN_VALUES + UNITS_MAX] = {
        {"region", true}, {"issue_utc", true}, {"utc_hour_iso8601", true}};
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
           (rc = take_row(ret_set, csv, &units[unit], COLUMN_VALUES + unit, least, err)) == HELIO_OK) {
    }
    if (rc == HELIO_NOT_FOUND)
        rc = *ret_set ? HELIO_OK : helio_fail(err, HELIO_INVALID, "%s: no rows", path);
    if (rc != HELIO_OK)
        exp_forecast_free(ret_set);
    return rc;
}

uint32_t exp_forecast_known(const exp_forecast_t *self, int64_t hour)
{
    uint32_t low = 0, high = self->issue_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (self->issues[middle].from_hour <= hour)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

helio_hours_t exp_forecast_hours(const exp_forecast_t *self, uint32_t issue)
{
    const exp_issue_t *at = &self->issues[issue];
    return (helio_hours_t){at->first_hour, self->values + at->first_value, at->count};
}
