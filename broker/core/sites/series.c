/*  series.c -- the latest series of a site. */
#include "broker/core/sites/series.h"

#include "broker/core/forecast/prices.h"
#include "broker/core/sites/energy.h"
#include "broker/core/sites/refused.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

static const int64_t SERIES_AHEAD_MS = INT64_C(366) * 86400000;

/*  What an agent sends is about half of this. A site earns as many changes as it may have series. */
enum { SERIES_OF_SITE = 16, SERIES_OF_POOL = 8 };

static uint32_t series_most(const site_t *site)
{
    uint32_t most = SERIES_OF_SITE + SERIES_OF_POOL * site->pool_count;
    return most < HELIO_SERIES_MAX ? most : HELIO_SERIES_MAX;
}

/* ---- what a site may send ------------------------------------------------------------------------------ */

static void drop(helio_broker_core_t *self, site_t *site, const char *why)
{
    self->figures.series_dropped_total++;
    core_site_refuse(self, site, HELIO_BUSY, helio_text_of(why));
}

static bool is_affordable(helio_broker_core_t *self, site_t *site)
{
#ifdef HELIO_MUTANT_series_unbounded
    return true;
#endif
    if (core_allowance_take(&site->series_allowance, self->now_ms, series_most(site)))
        return true;
    drop(self, site, "its series change oftener than the broker takes them; some are left out");
    return false;
}

bool core_series_are_wanted(helio_broker_core_t *self, site_t *site)
{
    return core_allowance_is_back(&site->series_allowance, self->now_ms, series_most(site));
}

/* ---- those that are kept ------------------------------------------------------------------------------- */

static uint32_t place_of(const site_t *site, const helio_series_t *series)
{
    uint32_t i = 0;
    for (; i < site->series_count; i++) {
        const helio_series_t *kept = &site->series[i];
        if (kept->signal == series->signal && helio_text_equal(kept->pool, series->pool) &&
            helio_text_equal(kept->kind, series->kind))
            break;
    }
    return i;
}

/*  A place for a series that is not kept yet; series_count if there is none. */
static uint32_t place_for(site_t *site)
{
    uint32_t i = 0;
    if (site->series_count < series_most(site))
        return site->series_count;
    while (i < site->series_count && (!site->series[i].pool.size || core_pool_find(site, site->series[i].pool)))
        i++;
    return i; /* of a pool that the site no longer has */
}

/*  Kept until the next issue. An unchanged issue, as every full summary repeats it, is no change. False: nothing is to
 *  be written. */
static bool keep(helio_broker_core_t *self, site_t *site, const helio_series_t *series)
{
    uint32_t at = place_of(site, series);
    bool added = false;
    if (at < site->series_count && helio_record_equal(&helio_series_type, &site->series[at], series))
        return false;
    if (at == site->series_count) {
        at = place_for(site);
        added = at == site->series_count && at < series_most(site);
        if (at == site->series_count && !added) {
            drop(self, site, "it sends more series than a site of so many pools may have; the rest is left out");
            return false;
        }
    }
    if (!is_affordable(self, site))
        return false;
    if (added) {
        site->series_count++;
        site->series = helio_grow(site->series, site->series_count, sizeof *site->series);
        site->series_arenas = helio_grow(site->series_arenas, site->series_count, sizeof *site->series_arenas);
    } else {
        helio_arena_destroy(&site->series_arenas[at]);
    }
    size_t points = (size_t)series->values.count + series->p10.count + series->p90.count;
    site->series_arenas[at] = helio_arena_new_sized(points * sizeof(double) + 512);
    helio_record_copy(&helio_series_type, site->series_arenas[at], series, &site->series[at]);
    self->has_site_windows = self->has_site_windows || series->signal == HELIO_SIGNAL_RESERVED;
    core_pool_forecasts_drop(site);
    core_facts_changed(self, site);
    return true;
}

/*  0 if it is none that a table can hold, or the feed has not failed. */
static int64_t last_value_of(const helio_broker_core_t *self, const helio_series_t *series)
{
    bool failed = series->feed_state == HELIO_FEED_STATE_LAST_GOOD || series->feed_state == HELIO_FEED_STATE_NO_DATA;
    return failed && core_time_is_plausible(self, 1, series->last_value_ms, SERIES_AHEAD_MS) ? series->last_value_ms
                                                                                             : 0;
}

/*  A series that no table can hold, or without content, is ignored: a row must never fail a commit. */
void core_series_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series)
{
    if (!series->step_s || !core_time_is_plausible(self, 1, series->issued_wall_ms, SERIES_AHEAD_MS) ||
        !core_time_is_plausible(self, 1, series->start_wall_ms, SERIES_AHEAD_MS))
        return;
    if (series->pool.size && !core_pool_find(site, series->pool)) {
        drop(self, site, "it sends series of a pool that its site file does not name");
        return;
    }
    if (core_energy_is_of(series)) {
        if (core_energy_is_news(site, series) && is_affordable(self, site))
            core_energy_take(self, site, series);
        return;
    }
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
        .values = core_points_bound(self, series->signal, series->values),
        .p10 = core_points_bound(self, series->signal, series->p10),
        .p90 = core_points_bound(self, series->signal, series->p90),
        .feed_state = series->feed_state,
        .last_value_ms = last_value_of(self, series),
    };
    helio_series_t bounded = core_series_of(&row);
    if (!keep(self, site, &bounded))
        return;
    core_emit(self, HELIO_BROKER_FX_ROW_SERIES, &row);
    core_history_take(self, site, &row);
}
