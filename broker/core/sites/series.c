/*  series.c -- the latest series of a site. */
#include "broker/core/sites/series.h"

#include "broker/core/forecast/prices.h"
#include "broker/core/sites/energy.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"

static const int64_t SERIES_AHEAD_MS = INT64_C(366) * 86400000;

static uint32_t place_of(const site_t *site, const helio_row_series_t *row)
{
    uint32_t i = 0;
    for (; i < site->series_count; i++) {
        const helio_series_t *kept = &site->series[i];
        if (kept->signal == row->signal && helio_text_equal(kept->pool, row->pool) &&
            helio_text_equal(kept->kind, row->kind))
            break;
    }
    return i;
}

/*  Kept until its next issue comes. The same issue again, as a full summary repeats it, is no news. */
static void keep(helio_broker_core_t *self, site_t *site, const helio_row_series_t *row)
{
    helio_series_t series = {
        .signal = row->signal,
        .pool = row->pool,
        .kind = row->kind,
        .factor = row->factor,
        .source = row->source,
        .estimated = row->estimated,
        .issued_wall_ms = row->issued_ms,
        .start_wall_ms = row->start_ms,
        .step_s = row->step_s,
        .values = row->values,
        .p10 = row->p10,
        .p90 = row->p90,
    };
    uint32_t at = place_of(site, row);
    if (at < site->series_count) {
        if (helio_record_equal(&helio_series_type, &site->series[at], &series))
            return;
        helio_arena_destroy(&site->series_arenas[at]);
    } else if (at == HELIO_SERIES_MAX) {
        return; /* as many as a summary can carry */
    } else {
        site->series_count++;
        site->series = helio_grow(site->series, site->series_count, sizeof *site->series);
        site->series_arenas =
            helio_grow(site->series_arenas, site->series_count, sizeof *site->series_arenas);
    }
    size_t points = (size_t)series.values.count + series.p10.count + series.p90.count;
    site->series_arenas[at] = helio_arena_new_sized(points * sizeof(double) + 512);
    helio_record_copy(&helio_series_type, site->series_arenas[at], &series, &site->series[at]);
    self->has_site_windows = self->has_site_windows || series.signal == HELIO_SIGNAL_RESERVED;
    core_pool_forecasts_drop(site);
    core_facts_changed(self, site);
}

/*  One that no table can hold, or that says nothing, is passed over: a row must never fail a commit. */
void core_on_series(helio_broker_core_t *self, site_t *site, const helio_series_t *series)
{
    if (!series->step_s || !core_time_is_plausible(self, series->issued_wall_ms, SERIES_AHEAD_MS) ||
        !core_time_is_plausible(self, series->start_wall_ms, SERIES_AHEAD_MS))
        return;
    if (core_energy_take(self, site, series))
        return;
    helio_row_series_t row = {
        .site = helio_text_of(site->name),
        .pool = series->pool,
        .signal = series->signal,
        .kind = series->kind,
        .factor = series->factor,
        .source = series->source,
        .estimated = series->estimated,
        .issued_ms = series->issued_wall_ms,
        .start_ms = series->start_wall_ms,
        .step_s = series->step_s,
        .values = core_points_bound(self, series->values),
        .p10 = core_points_bound(self, series->p10),
        .p90 = core_points_bound(self, series->p90),
    };
    core_emit(self, HELIO_BROKER_FX_ROW_SERIES, &row);
    keep(self, site, &row);
    core_history_take(self, site, &row);
}
