/*  track.h -- what is known of one feed: 35 days of actual hourly values, the source's newest forecast as issued, what
 *  it foretold in the last two weeks, and whether the source works. Pure: the caller gives the time.
 *
 *  Hours are means of the points within them. Points of one response replace the known value of an hour if they are at
 *  least as many. Points newer than all before are added, so that a source that gives only the latest value gives means
 *  as well.
 */
#ifndef HELIO_FEEDS_TRACK_H
#define HELIO_FEEDS_TRACK_H

#include "federation/energy/foretold.h"
#include "site-agent/feeds/points.h"

enum { HELIO_TRACK_HOURS = HELIO_FORECAST_HISTORY_HOURS, HELIO_TRACK_AHEAD = HELIO_FORECAST_HORIZON_MAX };

typedef struct helio_track {
    int64_t first_hour;               /* of values[0]; hours since 1970. The maker of a track calls helio_track_begin */
    double values[HELIO_TRACK_HOURS]; /* NAN = unknown */
    uint16_t counts[HELIO_TRACK_HOURS];
    bool estimated[HELIO_TRACK_HOURS];
    int64_t newest_ms; /* of all actual points */
    int64_t ahead_first_hour;
    double ahead[HELIO_TRACK_AHEAD]; /* the source's forecast; NAN = none for that hour */
    int64_t ahead_wall_ms;           /* when it came; INT64_MIN = never */
    int64_t success_wall_ms;         /* the last response with points; INT64_MIN = never */
    uint32_t failures;               /* since then */
    helio_foretold_t foretold;       /* by the source: what its forecast is corrected by */
} helio_track_t;

void helio_track_begin(helio_track_t *self, int64_t wall_ms);
/*  Takes the points of one response. Points that are older than the history or further ahead than it can hold are
 *  skipped. Returns how many were taken; none taken is not a success. */
uint32_t helio_track_take(helio_track_t *self, const helio_points_t *points, int64_t wall_ms);
void helio_track_fail(helio_track_t *self);

helio_hours_t helio_track_hours(const helio_track_t *self);
double helio_track_ahead(const helio_track_t *self, int64_t hour); /* NAN = the source gives no value */
/*  Of values[i], of hour first_hour + i, those that the source foretells, corrected by its past errors. Returns how many
 *  changed. */
uint32_t helio_track_correct(const helio_track_t *self, int64_t first_hour, uint32_t count, double least,
                             double *values);

/*  FRESH: responses come (the last within three periods, two hours at least), and they are recent. LAST_GOOD: they are
 *  not, but the last 14 days have values to repeat, or a forecast reaches the present. NOTHING: the static figure is
 *  used. */
typedef enum helio_track_state { HELIO_TRACK_FRESH, HELIO_TRACK_LAST_GOOD, HELIO_TRACK_NOTHING } helio_track_state_t;
helio_track_state_t helio_track_state(const helio_track_t *self, uint64_t every_ms, int64_t wall_ms);

#endif
