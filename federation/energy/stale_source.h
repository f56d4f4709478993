/*  stale_source.h -- the source of a series whose feed gives no data: the feed's name, what replaces it, and since
 *  when.
 *
 *      grid, last good 2026-11-20T06Z          the last good day is repeated
 *      grid, no data since 2026-11-20T06Z      the figure of the site file is used
 *
 *  Agents write these texts and brokers read the time in them, so that a series tells how old its data are: its issue
 *  time is that of the hour in which it was made. Both functions are here because they must agree. */
#ifndef HELIO_ENERGY_STALE_SOURCE_H
#define HELIO_ENERGY_STALE_SOURCE_H

#include "federation/base/memory.h"

/*  last_ms: the hour of the last value. The text lives in the arena. */
helio_text_t helio_source_last_good(helio_arena_t *arena, helio_text_t feed, int64_t last_ms);
/*  since_ms: the last value; of a feed that never gave one, when it was first asked. */
helio_text_t helio_source_no_data(helio_arena_t *arena, helio_text_t feed, int64_t since_ms);
/*  The beginning of the hour that the text names. False: the source is no feed that failed. */
bool helio_source_is_stale(helio_text_t source, int64_t *ret_since_ms);

#endif
