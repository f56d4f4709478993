/*  url.h -- the placeholders of a source's URL. Pure. */
#ifndef HELIO_FEEDS_URL_H
#define HELIO_FEEDS_URL_H

#include "federation/base/memory.h"

/*  Replaces {region}, {now}, {hour}, {day_ago}, {in_48h} (times as 2026-11-22T07:30Z, rounded down to the half hour;
 *  region escaped for a URL). INVALID: another word in braces, or a region that a URL cannot hold. */
HELIO_MUST_CHECK helio_rc helio_fetch_url(helio_text_t pattern, helio_text_t region, int64_t wall_ms,
                                          helio_buffer_t *out, helio_error_t *err);

#endif
