/*  energy.c -- what sites say of hours that are over: the energy that no job is charged for, and their meters. Goes
 *  to the ledger's side as it comes, once an hour and part; nothing is decided or priced by it.
 */
#include "broker/core/sites/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/sites/sessions.h"
#include "broker/core/sites/sanitize.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"

enum { AHEAD_MS = 600000, BEHIND_MS = 9 * 86400000, HOUR_S = 3600 };

/*  Series of power_watts of these kinds; the place is the stored value (helio.energy_part_word). */
static const char *const parts[] = {"idle", "foreign", "overhead", "meter"};

enum { PARTS = sizeof parts / sizeof parts[0], PART_METER = 3 };

/*  The last issue of one part: what it said already is not written again. */
struct accounted {
    uint32_t part;
    char pool[33];
    int64_t start_ms;
    uint32_t count;
    double watts[HELIO_SERIES_POINTS_MAX];
};

void core_accounted_free(site_t *site)
{
    free(site->accounted);
    site->accounted = NULL;
    site->accounted_count = 0;
}

static accounted_t *accounted_get(site_t *site, uint32_t part, helio_text_t pool)
{
    for (uint32_t i = 0; i < site->accounted_count; i++)
        if (site->accounted[i].part == part && helio_text_is(pool, site->accounted[i].pool))
            return &site->accounted[i];
    if (site->accounted_count == PARTS * (HELIO_SITE_POOLS_MAX + 1))
        return NULL;
    site->accounted = helio_grow(site->accounted, site->accounted_count + 1, sizeof *site->accounted);
    accounted_t *made = &site->accounted[site->accounted_count++];
    *made = (accounted_t){.part = part};
    (void)helio_text_copy(pool, made->pool, sizeof made->pool);
    return made;
}

static bool was_said(const accounted_t *accounted, int64_t hour_ms, double watts)
{
    int64_t at = (hour_ms - accounted->start_ms) / HELIO_HOUR_MS;
    return accounted->count && hour_ms >= accounted->start_ms && at < accounted->count && accounted->watts[at] == watts;
}

bool core_energy_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series)
{
    uint32_t part = 0;
    while (part < PARTS && !helio_text_is(series->kind, parts[part]))
        part++;
    if (series->signal != HELIO_SIGNAL_POWER || part == PARTS)
        return false;
    bool of_site = part == PART_METER && !series->pool.size;
    bool good = series->step_s == HOUR_S && series->start_wall_ms % HELIO_HOUR_MS == 0 &&
                (of_site || (part != PART_METER && core_pool_find(site, series->pool)));
    accounted_t *accounted = good ? accounted_get(site, part, series->pool) : NULL;
    for (uint32_t i = 0; accounted && i < series->values.count; i++) {
        int64_t hour_ms = series->start_wall_ms + (int64_t)i * HELIO_HOUR_MS;
        double watts = series->values.items[i];
        if (!(watts >= 0 && watts <= SITE_POWER_MAX_W) || was_said(accounted, hour_ms, watts) ||
            hour_ms + HELIO_HOUR_MS > self->wall_ms + AHEAD_MS || hour_ms < self->wall_ms - BEHIND_MS)
            continue;
        helio_row_site_energy_t row = {
            .site = helio_text_of(site->name),
            .pool = series->pool,
            .hour_ms = hour_ms,
            .part = part,
            .energy_j = (uint64_t)llround(watts * HOUR_S),
            .source = series->source,
            .estimated = series->estimated,
            .issued_ms = series->issued_wall_ms,
        };
        core_emit(self, HELIO_BROKER_FX_ROW_SITE_ENERGY, &row);
    }
    if (accounted) {
        accounted->start_ms = series->start_wall_ms;
        accounted->count = series->values.count;
        memcpy(accounted->watts, series->values.items, accounted->count * sizeof *accounted->watts);
    }
    return true;
}
