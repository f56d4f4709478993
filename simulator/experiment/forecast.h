/*  forecast.h -- forecasts of regions as they were issued: what a site may know of the hours ahead, besides its own past. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_FORECAST_H
#define HELIO_SIMULATOR_EXPERIMENT_FORECAST_H

#include <uthash.h>

#include "federation/energy/forecast.h"
#include "simulator/experiment/csv.h"
#include "simulator/experiment/series.h"

/*  One issue; its hours are values[first_value ...]. */
typedef struct exp_issue {
    int64_t from_hour;  /* it is known while this hour runs, and later */
    int64_t first_hour; /* of its values */
    uint32_t first_value, count;
} exp_issue_t;

typedef struct exp_forecast {
    char region[EXP_REGION_SIZE];
    exp_issue_t *issues; /* by the time of their issue */
    uint32_t issue_count, issue_capacity;
    double *values; /* NAN = an hour that an issue leaves out */
    uint32_t value_count, value_capacity;
    int64_t issued_ms; /* of the last issue */
    UT_hash_handle hh;
} exp_forecast_t;

typedef exp_forecast_t *exp_forecast_set_t; /* by region; NULL = empty */

/*  Reads region, issue_utc, utc_hour_iso8601 and the first of these columns that the file has, of values from `least` on. shift_ms
 *  as in series.h. */
HELIO_MUST_CHECK helio_rc exp_forecast_load(const char *path, const exp_series_unit_t *units, uint32_t unit_count,
                                            double least, int64_t shift_ms, exp_forecast_set_t *ret_set,
                                            helio_error_t *err);
void exp_forecast_free(exp_forecast_set_t *set);
const exp_forecast_t *exp_forecast_find(exp_forecast_set_t set, helio_text_t region); /* NULL: not there */

/*  How many issues are known while `hour` runs. */
uint32_t exp_forecast_known(const exp_forecast_t *self, int64_t hour);
helio_hours_t exp_forecast_hours(const exp_forecast_t *self, uint32_t issue);

#endif
