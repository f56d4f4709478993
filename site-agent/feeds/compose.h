/*  compose.h -- the hours that a site publishes, from its profile and its feeds: 48, and of a feed whose source foretells
 *  more, up to 96. Pure.
 *
 *  What replaces a feed that does not exist or has no data:
 *      carbon          carbon_g_per_kwh of the site file (average, lifecycle, estimated)
 *      electricity     the tariff by local time; without one electricity_usd_per_kwh
 *      price           the pool's price_usd_per_gpu_h
 *      pue             pue
 *      power_w         -1, unknown
 *  free_gpus is published for pools with windows: the backend's forecast, or else all their GPUs before any job, less
 *  what is reserved. reserved_gpus is what is reserved of such a pool, in steps of a quarter of an hour (of five
 *  minutes or one, if a window begins or ends within). Other series of the backend are passed on as they are.
 *
 *  A working feed gives its last value for the current hour, then the source's own forecast as far as that goes, then
 *  the built-in forecast. A failed feed repeats its last good day (`last_good` with the time of its last value, estimated); after
 *  two weeks the figure of the site file replaces it (`no_data`, estimated). That figure also
 *  replaces a feed that never gave a value.
 *
 *  The issue time of a series is that of its newest part: the source's reply, the backend's series, or else the start
 *  of the hour (not before the agent's start). So a series without new data is the same series.
 */
#ifndef HELIO_FEEDS_COMPOSE_H
#define HELIO_FEEDS_COMPOSE_H

#include "site-agent/core/agent_core.h"
#include "site-agent/feeds/settings.h"
#include "site-agent/feeds/track.h"

enum { HELIO_COMPOSE_HOURS = 48, HELIO_COMPOSE_HOURS_MAX = 96 };

typedef struct helio_compose {
    const helio_site_profile_t *profile;
    const helio_feeds_settings_t *settings;
    const helio_track_t *tracks;       /* one for each feed, those of static feeds unused; NULL = none */
    const helio_zone_t *zone;          /* the site's; NULL = UTC */
    const helio_aev_series_t *backend; /* the backend's series of the hours ahead; NULL = none */
    int64_t opened_wall_ms;            /* when these settings took effect */
} helio_compose_t;

/*  Everything lives in the arena; names are those of the profile and the settings. */
void helio_compose(const helio_compose_t *from, int64_t wall_ms, helio_arena_t *arena, helio_aev_series_t *ret_series);

#endif
