/*  forecast_error.h -- compares forecasts as issued with actual values, by horizon, as the view forecast_error does.
 *
 *  A forecast is never corrected afterwards: the issued values are compared. The horizon is the number of whole hours
 *  from the issue to the beginning of the hour; hours that had begun at the issue are not forecasts and are skipped.
 *  The columns are those of the view forecast_error.
 */
#ifndef HELIO_TESTS_FORECAST_ERROR_H
#define HELIO_TESTS_FORECAST_ERROR_H

#include "federation/energy/forecast.h"
#include "federation/model/site.h"

typedef struct helio_forecast_error {
    int64_t hour_ms; /* the hour that was forecast */
    uint32_t horizon_h;
    double error; /* forecast - actual */
    double absolute_error;
    double ape_ratio; /* absolute error / |actual|; NAN if the actual value is 0 */
    bool in_band;     /* p10 <= actual <= p90; false without a band */
} helio_forecast_error_t;

/*  The hours of the series with a known actual value. The step of the series must be an hour; otherwise the result is
 *  empty. Returns the count; *ret_errors lives in the arena. */
uint32_t helio_forecast_errors(const helio_series_t *issued, const helio_hours_t *truth, helio_arena_t *arena,
                               helio_forecast_error_t **ret_errors);

/*  Means by horizon of any number of forecasts; zero-initialised is empty. */
typedef struct helio_error_tally {
    struct {
        uint64_t count, ape_count, in_band;
        double error_sum, absolute_sum, ape_sum;
    } horizons[HELIO_FORECAST_HORIZON_MAX];
} helio_error_tally_t;

typedef struct helio_error_means {
    uint64_t count;
    double bias, mae;
    double mape_ratio; /* NAN if all actual values are 0 */
    double coverage;   /* share within the band */
} helio_error_means_t;

void helio_error_tally_add(helio_error_tally_t *self, const helio_forecast_error_t *errors, uint32_t count);
/*  Over horizons [from_h, to_h). count 0: all means are NAN. */
helio_error_means_t helio_error_tally_means(const helio_error_tally_t *self, uint32_t from_h, uint32_t to_h);

#endif
