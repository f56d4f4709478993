/*  energy.c -- what sites report of past hours: the energy that no job is charged for, and their meters. It is stored
 *  beside the ledger, once for each hour and part; nothing is decided or priced by it. */
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

/*  Series of power_watts of these kinds; the index is the stored value (helio.energy_part_word). */
static const char *const parts[] = {"idle", "foreign", "overhead", "meter"};

enum { PARTS = sizeof parts / sizeof parts[0], PART_METER = 3 };

/*  The last issue of one part; values that it had already are not written again. */
struct energy_issue {
    uint32_t part;
    char pool[33];
    int64_t start_ms;
    uint32_t count;
    double watts[HELIO_SERIES_POINTS_MAX];
};

void core_energy_issues_free(site_t *site)
{
    free(site->energy_issues);
    site->energy_issues = NULL;
    site->energy_issue_count = 0;
}

static energy_issue_t *energy_issue_find(const site_t *site, uint32_t part, helio_text_t pool)
{
    for (uint32_t i = 0; i < site->energy_issue_count; i++)
        if (site->energy_issues[i].part == part && helio_text_is(pool, site->energy_issues[i].pool))
            return &site->energy_issues[i];
    return NULL;
}

static energy_issue_t *energy_issue_get(site_t *site, uint32_t part, helio_text_t pool)
{
    energy_issue_t *found = energy_issue_find(site, part, pool);
    if (found)
        return found;
    if (site->energy_issue_count == PARTS * (HELIO_SITE_POOLS_MAX + 1))
        return NULL;
    site->energy_issues = helio_grow(site->energy_issues, site->energy_issue_count + 1, sizeof *site->energy_issues);
    energy_issue_t *made = &site->energy_issues[site->energy_issue_count++];
    *made = (energy_issue_t){.part = part};
    (void)helio_text_copy(pool, made->pool, sizeof made->pool);
    return made;
}

static bool was_said(const energy_issue_t *issued, int64_t hour_ms, double watts)
{
    int64_t at = (hour_ms - issued->start_ms) / HELIO_HOUR_MS;
    return issued->count && hour_ms >= issued->start_ms && at < issued->count && issued->watts[at] == watts;
}

/*  PARTS if it is none. */
static uint32_t part_of(const helio_series_t *series)
{
    uint32_t part = 0;
    while (part < PARTS && !helio_text_is(series->kind, parts[part]))
        part++;
    return series->signal == HELIO_SIGNAL_POWER ? part : PARTS;
}

bool core_energy_is_of(const helio_series_t *series)
{
    return part_of(series) < PARTS;
}

bool core_energy_is_news(const site_t *site, const helio_series_t *series)
{
    const energy_issue_t *issued = energy_issue_find(site, part_of(series), series->pool);
    return !issued || issued->start_ms != series->start_wall_ms || issued->count != series->values.count ||
           memcmp(issued->watts, series->values.items, issued->count * sizeof *issued->watts) != 0;
}

void core_energy_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series)
{
    const helio_signal_range_t range = helio_signal_range(HELIO_SIGNAL_POWER);
    uint32_t part = part_of(series);
    bool of_site = part == PART_METER && !series->pool.size;
    bool good = series->step_s == HOUR_S && series->start_wall_ms % HELIO_HOUR_MS == 0 &&
                (of_site || (part != PART_METER && core_pool_find(site, series->pool)));
    energy_issue_t *issued = good ? energy_issue_get(site, part, series->pool) : NULL;
    for (uint32_t i = 0; issued && i < series->values.count; i++) {
        int64_t hour_ms = series->start_wall_ms + (int64_t)i * HELIO_HOUR_MS;
        double watts = series->values.items[i];
        if (!(watts >= range.least && watts <= range.most) || was_said(issued, hour_ms, watts) ||
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
    if (issued) {
        issued->start_ms = series->start_wall_ms;
        issued->count = series->values.count;
        memcpy(issued->watts, series->values.items, issued->count * sizeof *issued->watts);
    }
}
