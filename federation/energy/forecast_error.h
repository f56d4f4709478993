/*  forecast_error.h -- forecasts as issued against what came true, by horizon. Pure.
 *
 *  A forecast is never corrected afterwards: what is compared is what was issued. Horizon = whole hours from
 * issue to the hour's begin; hours that had begun at issue are no forecast and are passed over. The columns
 * are those of the view forecast_error.
 */
#ifndef HELIO_ENERGY_FORECAST_ERROR_H
#define HELIO_ENERGY_FORECAST_ERROR_H

#include "federation/energy/forecast.h"
#include "federation/model/site.h"

typedef struct helio_forecast_error {
    int64_t hour_ms; /* the hour that was forecast */
    uint32_t horizon_h;
    double error; /* forecast - truth */
    double absolute_error;
    double ape_ratio; /* absolute error / |truth|; NAN where the truth is 0 */
    bool in_band;     /* p10 <= truth <= p90; false where there is no band */
} helio_forecast_error_t;

/*  Hours of the series whose truth is known. The series' step must be an hour (else none). Returns the count;
 * *ret_errors lives in the arena. */
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
    double mape_ratio; /* NAN when no truth differed from 0 */
    double coverage;   /* share inside the band */
} helio_error_means_t;

void helio_error_tally_add(helio_error_tally_t *self, const helio_forecast_error_t *errors, uint32_t count);
/*  Over horizons [from_h, to_h). count 0: all means are NAN. */
helio_error_means_t helio_error_tally_means(const helio_error_tally_t *self, uint32_t from_h, uint32_t to_h);

#endif
