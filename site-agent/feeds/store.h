/*  store.h -- the tracks over a restart: one file, `feeds.history` in the agent's state directory, written whole and
 *  renamed into place. Losing it costs only the forecaster's history, so a damaged file is started anew. At most 64
 *  feeds of 840 hours: under 1.5 MiB. */
#ifndef HELIO_FEEDS_STORE_H
#define HELIO_FEEDS_STORE_H

#include "site-agent/feeds/track.h"

/*  Fills the tracks (already begun) of feeds that are unchanged: signal, pool, kind, factor, unit, name, region.
 *  HELIO_NOT_FOUND: no file; HELIO_INVALID: it is damaged. */
HELIO_MUST_CHECK helio_rc helio_tracks_load(const char *directory, const helio_feeds_settings_t *settings,
                                            helio_track_t *tracks, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_tracks_save(const char *directory, const helio_feeds_settings_t *settings,
                                            const helio_track_t *tracks, helio_error_t *err);

#endif
