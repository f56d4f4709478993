/*  instant.h -- times for people, the same in every table and sentence: RFC 3339 in the reader's time zone, followed
 *  by the distance from now: "2026-11-22T15:20:00+01:00 (in 2h05m)". */
#ifndef HELIO_CLIENT_INSTANT_H
#define HELIO_CLIENT_INSTANT_H

#include "client/output/humanise.h"
#include "federation/energy/zone.h"

enum { HELIO_INSTANT_SIZE = 80 };

/*  zone NULL = UTC. now_ms: the time to measure the distance from; 0 = unknown, and no distance is shown. */
void helio_instant_text(const helio_zone_t *zone, int64_t now_ms, int64_t at_ms, char ret_text[HELIO_INSTANT_SIZE]);

/*  Appends the text, with every time in it ("2026-11-22T14:20Z", with or without seconds) in that form. A time in
 *  quotation marks stays as it is: somebody wrote it, or may write it so. */
void helio_instants_in(const helio_zone_t *zone, int64_t now_ms, const char *text, helio_buffer_t *out);

/*  The time zone of the reader. `tz` is the variable TZ (NULL = not set: the machine's zone). NULL = UTC, also if
 *  the zone's file cannot be read. */
helio_zone_t *helio_zone_of_reader(const char *tz);

#endif
