/*  schedule.h -- recurring hours of a week in local time, and their UTC intervals. Pure.
 *
 *      schedule = rule *(";" rule)
 *      rule     = [days " "] hours *("," hours)
 *      days     = day [".." day] *("," day [".." day])
 *      hours    = HH:MM "-" HH:MM
 *
 *  Days are Mon Tue Wed Thu Fri Sat Sun; "Fri..Mon" includes Sunday; a rule without days applies every day. 24:00 is
 *  the end of a day. If the end is before the start, it is on the next day, and the range belongs to the day on which
 *  it starts: "Mon..Fri 08:00-20:00", "Sat,Sun 00:00-24:00", "22:00-06:00".
 *
 *  A time is inside if the local clock shows it. On the day when clocks are put forward, a range may be an hour
 *  shorter; on the day when they are put back, an hour that occurs twice counts twice; a whole day then has 23 or 25
 *  hours.
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

/*  HELIO_INVALID: the error's text begins with the position, "at character 5: …" (from 1). HELIO_TOO_BIG: too long. */
HELIO_MUST_CHECK helio_rc helio_schedule_parse(helio_text_t text, helio_schedule_t *ret_schedule, helio_error_t *err);

/*  [begin_ms, end_ms), Unix time. */
typedef struct helio_interval {
    int64_t begin_ms, end_ms;
} helio_interval_t;

/*  The parts of [from_ms, to_ms) that are inside, ascending, neither adjacent nor overlapping. to_ms is limited to
 *  400 days after from_ms. Returns the count; *ret_intervals lives in the arena. */
uint32_t helio_schedule_intervals(const helio_schedule_t *self, const helio_zone_t *zone, int64_t from_ms,
                                  int64_t to_ms, helio_arena_t *arena, helio_interval_t **ret_intervals);

bool helio_schedule_covers(const helio_schedule_t *self, const helio_zone_t *zone, int64_t wall_ms);

#endif
