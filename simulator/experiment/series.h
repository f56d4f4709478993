/*  series.h -- hourly series of regions, and of demand, as measured: what the accountant integrates, and the past that forecasts are
 *  made from. Gaps and the hours after the end take the last good value, the hours before the beginning the first one.
 *  */
#ifndef HELIO_SIMULATOR_EXPERIMENT_SERIES_H
#define HELIO_SIMULATOR_EXPERIMENT_SERIES_H

#include <uthash.h>

#include "federation/energy/forecast.h"
#include "simulator/experiment/csv.h"

enum { EXP_SERIES_NAME_SIZE = 72 }; /* of a region, or of SITE/POOL, with its end */

typedef struct exp_series {
    char region[EXP_SERIES_NAME_SIZE];
    int64_t first_hour; /* since 1970 */
    uint32_t count, capacity;
    double *values; /* NAN = a gap */
    double *sums;   /* count + 1: of the filled values before hour i */
    double first, last;
    double most; /* the largest value */
    UT_hash_handle hh;
} exp_series_t;

typedef exp_series_t *exp_series_set_t; /* by region; NULL = empty */

/*  A value column, and the factor that turns it into the unit of the set. */
typedef struct exp_series_unit {
    const char *column;
    double factor;
} exp_series_unit_t;

/*  Reads region, utc_hour_iso8601 and the first of these columns that the file has. shift_ms: whole hours that are added
 *  to all times. */
HELIO_MUST_CHECK helio_rc exp_series_load(const char *path, const exp_series_unit_t *units, uint32_t unit_count,
                                          int64_t shift_ms, exp_series_set_t *ret_set, helio_error_t *err);
/*  Reads demand: utc, series and requests, likewise. Samples may be closer than an hour: of those the largest counts. */
HELIO_MUST_CHECK helio_rc exp_series_load_demand(const char *path, int64_t shift_ms, exp_series_set_t *ret_set,
                                                 helio_error_t *err);
/*  Reads rents: site, pool, utc_hour_iso8601 and usd_per_gpu_h, likewise; a series is found as SITE/POOL. */
HELIO_MUST_CHECK helio_rc exp_series_load_rents(const char *path, int64_t shift_ms, exp_series_set_t *ret_set,
                                                helio_error_t *err);
/*  The first of the units whose column the file has; the columns stand from `first` on. Otherwise an error that names them. */
HELIO_MUST_CHECK helio_rc exp_series_unit_of(const exp_csv_t *csv, const char *path, uint32_t first,
                                             const exp_series_unit_t *units, uint32_t unit_count, uint32_t *ret_unit,
                                             helio_error_t *err);
void exp_series_free(exp_series_set_t *set);
const exp_series_t *exp_series_find(exp_series_set_t set, helio_text_t region); /* NULL: not there */
const exp_series_t *exp_series_find_rent(exp_series_set_t set, helio_text_t site, helio_text_t pool); /* likewise */

/*  The integral over [from_ms, to_ms), in value × hours. */
double exp_series_integral(const exp_series_t *self, int64_t from_ms, int64_t to_ms);

/*  The true value of an hour, known or not: for policies that know the future. */
double exp_series_at(const exp_series_t *self, int64_t hour);

/*  What is known while `hour` runs: it and the hours before it, no later one. */
helio_hours_t exp_series_known(const exp_series_t *self, int64_t hour);

#endif
