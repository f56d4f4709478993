/*  track.h -- what is known of one feed: 35 days of hours as they came true, the newest forecast of the
 * source as issued, and how the source does. Pure: the time is told.
 *
 *  Hours are means of the points within them. Points of one answer replace what was known of an hour when
 * there are at least as many; points newer than all before add to it, so that a source that tells only the
 * latest value makes means as well.
 */
#ifndef HELIO_FEEDS_TRACK_H
#define HELIO_FEEDS_TRACK_H

#include "federation/energy/forecast.h"
#include "site-agent/feeds/points.h"

enum { HELIO_TRACK_HOURS = HELIO_FORECAST_HISTORY_HOURS, HELIO_TRACK_AHEAD = HELIO_FORECAST_HORIZON_MAX };

typedef struct helio_track {
    int64_t first_hour; /* of values[0]; since 1970. Whoever makes a track calls helio_track_begin */
    double values[HELIO_TRACK_HOURS]; /* NAN = not known */
    uint16_t counts[HELIO_TRACK_HOURS];
    bool estimated[HELIO_TRACK_HOURS];
    int64_t newest_ms; /* of all points that came true */
    int64_t ahead_first_hour;
    double ahead[HELIO_TRACK_AHEAD]; /* the source's forecast; NAN = none for that hour */
    int64_t ahead_wall_ms;           /* when it came; INT64_MIN = never */
    int64_t success_wall_ms;         /* the last answer with something in it; INT64_MIN = never */
    uint32_t failures;               /* since */
} helio_track_t;

void helio_track_begin(helio_track_t *self, int64_t wall_ms);
/*  Points of one answer. Those older than the history or further ahead than it can hold are passed over.
 * Returns how many were taken; with none it is no success. */
uint32_t helio_track_take(helio_track_t *self, const helio_points_t *points, int64_t wall_ms);
void helio_track_fail(helio_track_t *self);

helio_hours_t helio_track_hours(const helio_track_t *self);
double helio_track_ahead(const helio_track_t *self, int64_t hour); /* NAN = the source says nothing */

/*  FRESH: answers come (the last within three rounds, two hours at least), and they are about now. LAST_GOOD:
 * they do not, but there is something within the last 14 days to repeat, or a forecast that reaches to now.
 * NOTHING: the static figure has to do. */
typedef enum helio_track_state {
    HELIO_TRACK_FRESH,
    HELIO_TRACK_LAST_GOOD,
    HELIO_TRACK_NOTHING
} helio_track_state_t;
helio_track_state_t helio_track_state(const helio_track_t *self, uint64_t every_ms, int64_t wall_ms);

#endif
