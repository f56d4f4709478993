/*  reserves.c -- windows by the clock, and windows in the shape of demand. */
#include "simulator/experiment/reserves.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/energy/schedule.h"
#include "federation/policy/pool_forecast.h"

#define ZONES "/usr/share/zoneinfo"
enum { ZONE_PATH_SIZE = sizeof ZONES + HELIO_ZONE_NAME_MAX + 2 };

typedef struct window {
    uint32_t site, pool, gpus; /* gpus: at the maximum of the series, if it has one */
    bool by_clock;             /* otherwise always, or by demand */
    helio_schedule_t when;
    const exp_series_t *demand; /* NULL = it has none */
} window_t;

struct exp_reserves {
    window_t *windows;
    uint32_t count;
    helio_zone_t **zones; /* of the sites; NULL where none is needed */
    uint32_t site_count;
};

/*  ---- making them ---- */

static helio_rc fail(const helio_site_profile_t *site, helio_error_t *err, const char *what)
{
    return helio_fail(err, HELIO_INVALID, "site '%.*s': timezone '%.*s': %s", HELIO_TEXT_ARGS(site->name),
                      HELIO_TEXT_ARGS(site->timezone), what);
}

/*  UTC needs no data. */
static helio_rc read_zone(const helio_site_profile_t *site, helio_zone_t **ret_zone, helio_error_t *err)
{
    char path[ZONE_PATH_SIZE];
    if (!site->timezone.size || helio_text_is(site->timezone, "UTC")) {
        *ret_zone = helio_zone_fixed(0);
        return HELIO_OK;
    }
    if (!helio_zone_name_is_good(site->timezone) || site->timezone.size > HELIO_ZONE_NAME_MAX)
        return fail(site, err, "this is not the name of a time zone");
    (void)snprintf(path, sizeof path, "%s/%.*s", ZONES, HELIO_TEXT_ARGS(site->timezone));
    FILE *file = fopen(path, "re");
    if (!file)
        return fail(site, err, strerror(errno));
    char *bytes = helio_new(HELIO_ZONE_BYTES_MAX + 1, 1);
    size_t size = fread(bytes, 1, HELIO_ZONE_BYTES_MAX + 1, file);
    (void)fclose(file);
    helio_error_t why = {0};
    helio_rc rc = helio_zone_parse((helio_text_t){bytes, (uint32_t)size}, ret_zone, &why);
    free(bytes);
    return rc == HELIO_OK ? rc : fail(site, err, why.text);
}

static helio_rc add(exp_reserves_t *self, const exp_fleet_t *fleet, uint32_t site, const helio_window_t *from,
                    exp_series_set_t demand, helio_error_t *err)
{
    const helio_site_profile_t *profile = &fleet->items[site].profile;
    self->windows = helio_grow(self->windows, self->count + 1, sizeof *self->windows);
    window_t *window = &self->windows[self->count++];
    *window = (window_t){.site = site,
                         .pool = exp_fleet_find_pool(profile, from->pool),
                         .gpus = from->series.size ? from->peak_gpus : from->reserve_gpus,
                         .by_clock = from->when.size != 0};
    if (from->series.size && !(window->demand = exp_series_find(demand, from->series)))
        return helio_fail(err, HELIO_INVALID,
                          demand ? "site '%.*s': --inference has no series '%.*s', which a window names"
                                 : "site '%.*s': a window names the series '%.*s': --inference FILE is needed",
                          HELIO_TEXT_ARGS(profile->name), HELIO_TEXT_ARGS(from->series));
    if (window->by_clock && helio_schedule_parse(from->when, &window->when, err) != HELIO_OK) /* fleet.c sees to it */
        return err->code;
    return window->by_clock && !self->zones[site] ? read_zone(profile, &self->zones[site], err) : HELIO_OK;
}

helio_rc exp_reserves_new(const exp_fleet_t *fleet, exp_series_set_t demand, exp_reserves_t **ret_reserves,
                          helio_error_t *err)
{
    HELIO_AUTO(exp_reserves_destroy) exp_reserves_t *self = helio_new(1, sizeof *self);
    *ret_reserves = NULL;
    self->site_count = fleet->count;
    self->zones = helio_new(fleet->count, sizeof(helio_zone_t *));
    for (uint32_t i = 0; i < fleet->count; i++)
        for (uint32_t n = 0; n < fleet->items[i].windows.count; n++) {
            helio_rc rc = add(self, fleet, i, &fleet->items[i].windows.items[n], demand, err);
            if (rc != HELIO_OK)
                return rc;
        }
    if (self->count) {
        *ret_reserves = self;
        self = NULL;
    }
    return HELIO_OK;
}

void exp_reserves_destroy(exp_reserves_t **self_p)
{
    exp_reserves_t *self = *self_p;
    for (uint32_t i = 0; self && i < self->site_count; i++)
        helio_zone_destroy(&self->zones[i]);
    if (self) {
        free(self->zones);
        free(self->windows);
    }
    free(self);
    *self_p = NULL;
}

/*  ---- asking them ---- */

bool exp_reserves_has(const exp_reserves_t *self, uint32_t site, uint32_t pool)
{
    for (uint32_t i = 0; self && i < self->count; i++)
        if (self->windows[i].site == site && self->windows[i].pool == pool)
            return true;
    return false;
}

/*  From then on its last value goes on, as everybody can see. */
static bool is_over(const exp_series_t *demand, int64_t hour)
{
    return hour - demand->first_hour >= demand->count;
}

/*  In proportion to the demand, whole GPUs. */
static double share(const window_t *window, double demand)
{
    double part = window->demand->most > 0 ? fmin(fmax(demand, 0) / window->demand->most, 1) : 0;
    return ceil(window->gpus * part - 1e-9);
}

static void add_demand(const window_t *window, int64_t hour, uint32_t count, bool true_hours, helio_arena_t *arena,
                       double *gpus)
{
    helio_hours_t known = exp_series_known(window->demand, hour);
    true_hours = true_hours || is_over(window->demand, hour);
    helio_forecast_t ahead = {0};
    if (!true_hours && count > 1)
        helio_forecast_points(&known, hour + 1, count - 1, 0, arena, &ahead);
    for (uint32_t i = 0; i < count; i++)
        if (!i || true_hours)
            gpus[i] += share(window, exp_series_at(window->demand, hour + i));
        else
            gpus[i] += ahead.method == HELIO_FORECAST_NONE ? window->gpus : share(window, ahead.values[i - 1]);
}

static void add_clock(const exp_reserves_t *self, const window_t *window, int64_t hour, uint32_t count,
                      helio_arena_t *arena, double *gpus)
{
    int64_t from_ms = hour * HELIO_HOUR_MS;
    helio_interval_t *intervals;
    uint32_t found = helio_schedule_intervals(&window->when, self->zones[window->site], from_ms,
                                              from_ms + count * HELIO_HOUR_MS, arena, &intervals);
    for (uint32_t i = 0, k = 0; i < count; i++) { /* ascending, as the hours */
        int64_t begin_ms = from_ms + i * HELIO_HOUR_MS;
        while (k < found && intervals[k].end_ms <= begin_ms)
            k++;
        gpus[i] += k < found && intervals[k].begin_ms < begin_ms + HELIO_HOUR_MS ? window->gpus : 0;
    }
}

void exp_reserves_publish(const exp_reserves_t *self, uint32_t site, uint32_t pool, int64_t hour, uint32_t count,
                          bool true_hours, helio_arena_t *arena, double *ret_gpus)
{
    memset(ret_gpus, 0, count * sizeof *ret_gpus);
    for (uint32_t n = 0; n < self->count; n++) {
        const window_t *window = &self->windows[n];
        if (window->site != site || window->pool != pool)
            continue;
        if (window->demand)
            add_demand(window, hour, count, true_hours, arena, ret_gpus);
        else if (window->by_clock)
            add_clock(self, window, hour, count, arena, ret_gpus);
        else
            for (uint32_t i = 0; i < count; i++)
                ret_gpus[i] += window->gpus;
    }
}

uint32_t exp_reserves_at(const exp_reserves_t *self, uint32_t site, uint32_t pool, int64_t hour)
{
    if (!exp_reserves_has(self, site, pool))
        return 0;
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    double gpus;
    exp_reserves_publish(self, site, pool, hour, 1, true, arena, &gpus);
    return gpus < UINT32_MAX ? (uint32_t)gpus : UINT32_MAX;
}
