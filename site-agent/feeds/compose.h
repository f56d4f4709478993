/*  compose.h -- the 48 hours that a site publishes, from its profile and what its feeds know. Pure.
 *
 *  What stands in when a feed is not there or says nothing:
 *      carbon         carbon_g_per_kwh of the site file (average, lifecycle, estimated)
 *      electricity    the tariff by local time; without one electricity_usd_per_kwh
 *      price          the pool's price_usd_per_gpu_h
 *      pue            pue
 *      power_w        -1, not known
 *  free_gpus is of pools with windows: what the backend foresees, or else all their GPUs before any job, less
 *  what is kept. reserved_gpus is what is kept of such a pool, in steps of a quarter of an hour (of five minutes or
 *  one, where a window begins or ends within). Whatever else the backend says goes along as it is.
 *
 *  A feed in order gives its last value for the running hour, then the source's own forecast as far as that
 *  goes, then the built-in one. One that is not repeats its last good day ("NAME, last good 2026-11-20T06Z",
 *  estimated); after two weeks the figure of the site file stands in ("static").
 *
 *  The issue time is that of the newest thing in a series: the answer, the backend's word, or else the begin
 *  of the hour (not before the agent's): a series that says nothing new is the same series.
 */
#ifndef HELIO_FEEDS_COMPOSE_H
#define HELIO_FEEDS_COMPOSE_H

#include "site-agent/core/agent_core.h"
#include "site-agent/feeds/settings.h"
#include "site-agent/feeds/track.h"

enum { HELIO_COMPOSE_HOURS = 48 };

typedef struct helio_compose {
    const helio_site_profile_t *profile;
    const helio_feeds_settings_t *settings;
    const helio_track_t *tracks;       /* one a feed, those of static feeds unused; NULL = none */
    const helio_zone_t *zone;          /* the site's; NULL = UTC */
    const helio_aev_series_t *backend; /* what the backend says of the hours to come; NULL = nothing */
    int64_t opened_wall_ms;            /* when these settings began to count */
} helio_compose_t;

/*  Everything lives in the arena; names in the profile and the settings. */
void helio_compose(const helio_compose_t *from, int64_t wall_ms, helio_arena_t *arena,
                   helio_aev_series_t *ret_series);

#endif
