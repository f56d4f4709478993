/*  schedule.h -- recurring hours of a week in local time, and the UTC intervals that they are. Pure.
 *
 *      schedule = rule *(";" rule)
 *      rule     = [days " "] hours *("," hours)
 *      days     = day [".." day] *("," day [".." day])
 *      hours    = HH:MM "-" HH:MM
 *
 *  Days are Mon Tue Wed Thu Fri Sat Sun; "Fri..Mon" goes over Sunday; without days a rule is of every day.
 *  24:00 is the end of a day. An end before its begin is on the next day, and the range belongs to the day
 *  on which it begins: "Mon..Fri 08:00-20:00", "Sat,Sun 00:00-24:00", "22:00-06:00".
 *
 *  An instant is inside when the clock on the wall says so. So on the day when clocks are put forward a range
 *  may be an hour shorter, on the day when they are put back what the wall shows twice counts twice, and a
 *  whole day has 23 or 25 hours.
 */
#ifndef HELIO_ENERGY_SCHEDULE_H
#define HELIO_ENERGY_SCHEDULE_H

#include "federation/energy/zone.h"

enum { HELIO_SCHEDULE_RANGES_MAX = 32, HELIO_SCHEDULE_TEXT_MAX = 256 };

typedef struct helio_schedule_range {
    uint8_t days;      /* bit 0 = Monday … bit 6 = Sunday */
    uint16_t from_min; /* minutes after local midnight, 0..1439 */
    uint16_t to_min;   /* > from_min; over 1440 on the next day */
} helio_schedule_range_t;

typedef struct helio_schedule {
    helio_schedule_range_t ranges[HELIO_SCHEDULE_RANGES_MAX];
    uint32_t count;
} helio_schedule_t;

/*  HELIO_INVALID: the error's text begins with the place, "at character 5: …" (from 1). HELIO_TOO_BIG: too
 * long. */
HELIO_MUST_CHECK helio_rc helio_schedule_parse(helio_text_t text, helio_schedule_t *ret_schedule,
                                               helio_error_t *err);

/*  [begin_ms, end_ms), Unix time. */
typedef struct helio_interval {
    int64_t begin_ms, end_ms;
} helio_interval_t;

/*  The parts of [from_ms, to_ms) that are inside, ascending, neither touching nor overlapping. At most 400
 * days are looked at: to_ms is cut there. Returns the count; *ret_intervals lives in the arena. */
uint32_t helio_schedule_intervals(const helio_schedule_t *self, const helio_zone_t *zone, int64_t from_ms,
                                  int64_t to_ms, helio_arena_t *arena, helio_interval_t **ret_intervals);

bool helio_schedule_covers(const helio_schedule_t *self, const helio_zone_t *zone, int64_t wall_ms);

#endif
