/*  forecast_error.c -- compares series of forecasts with actual values. */
#include "tests/support/forecast_error.h"

#include <math.h>

#include "federation/base/number.h"

static const int64_t HOUR_MS = 3600000;

uint32_t helio_forecast_errors(const helio_series_t *issued, const helio_hours_t *truth, helio_arena_t *arena,
                               helio_forecast_error_t **ret_errors)
{
    helio_forecast_error_t *errors = helio_arena_alloc(arena, issued->values.count, sizeof *errors);
    bool band = issued->p10.count == issued->values.count && issued->p90.count == issued->values.count;
    uint32_t count = 0;
    *ret_errors = errors;
    if (issued->step_s != 3600 || issued->start_wall_ms % HOUR_MS != 0)
        return 0;
    for (uint32_t i = 0; i < issued->values.count; i++) {
        int64_t hour_ms = issued->start_wall_ms + (int64_t)i * HOUR_MS;
        double actual = helio_hours_at(truth, helio_floor(hour_ms, HOUR_MS));
        int64_t ahead_ms = hour_ms - issued->issued_wall_ms;
        if (isnan(actual) || ahead_ms <= 0 || ahead_ms / HOUR_MS >= HELIO_FORECAST_HORIZON_MAX)
            continue;
        double error = issued->values.items[i] - actual;
        errors[count++] = (helio_forecast_error_t){
            .hour_ms = hour_ms,
            .horizon_h = (uint32_t)(ahead_ms / HOUR_MS),
            .error = error,
            .absolute_error = fabs(error),
            .ape_ratio = fabs(actual) > 0 ? fabs(error) / fabs(actual) : NAN,
            .in_band = band && issued->p10.items[i] <= actual && actual <= issued->p90.items[i]};
    }
    return count;
}

void helio_error_tally_add(helio_error_tally_t *self, const helio_forecast_error_t *errors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const helio_forecast_error_t *error = &errors[i];
        self->horizons[error->horizon_h].count++;
        self->horizons[error->horizon_h].in_band += error->in_band;
        self->horizons[error->horizon_h].error_sum += error->error;
        self->horizons[error->horizon_h].absolute_sum += error->absolute_error;
        if (!isnan(error->ape_ratio)) {
            self->horizons[error->horizon_h].ape_count++;
            self->horizons[error->horizon_h].ape_sum += error->ape_ratio;
        }
    }
}

helio_error_means_t helio_error_tally_means(const helio_error_tally_t *self, uint32_t from_h, uint32_t to_h)
{
    uint64_t count = 0, ape_count = 0, in_band = 0;
    double error = 0, absolute = 0, ape = 0;
    for (uint32_t h = from_h; h < to_h && h < HELIO_FORECAST_HORIZON_MAX; h++) {
        count += self->horizons[h].count;
        ape_count += self->horizons[h].ape_count;
        in_band += self->horizons[h].in_band;
        error += self->horizons[h].error_sum;
        absolute += self->horizons[h].absolute_sum;
        ape += self->horizons[h].ape_sum;
    }
    return (helio_error_means_t){.count = count,
                                 .bias = count ? error / (double)count : NAN,
                                 .mae = count ? absolute / (double)count : NAN,
                                 .mape_ratio = ape_count ? ape / (double)ape_count : NAN,
                                 .coverage = count ? (double)in_band / (double)count : NAN};
}
