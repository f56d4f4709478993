/*  zone_rule.h -- the POSIX TZ rule at the end of a TZif file: "CET-1CEST,M3.5.0,M10.5.0/3". Internal to
 *  federation/energy. Pure. */
#ifndef HELIO_ENERGY_ZONE_RULE_H
#define HELIO_ENERGY_ZONE_RULE_H

#include "federation/energy/zone.h"

enum { HELIO_ZONE_OFFSET_MAX_S = 26 * 3600 };

typedef enum helio_rule_day { HELIO_RULE_JULIAN, HELIO_RULE_ZERO_BASED, HELIO_RULE_WEEKDAY } helio_rule_day_t;

/*  The date of a clock change, in the local time before the change. */
typedef struct helio_rule_date {
    helio_rule_day_t form;
    int32_t day;         /* JULIAN 1..365, 29 February never counts; ZERO_BASED 0..365; WEEKDAY 0 = Sunday */
    int32_t week, month; /* WEEKDAY: 1..5 (5 = the last), 1..12 */
    int32_t time_s;      /* after midnight; may be negative or more than a day */
} helio_rule_date_t;

typedef struct helio_zone_rule {
    int32_t standard_s, daylight_s; /* offsets, east is positive */
    bool has_daylight;
    helio_rule_date_t begin, end; /* of daylight saving time */
} helio_zone_rule_t;

/*  False: not a valid rule. */
bool helio_zone_rule_parse(helio_text_t text, helio_zone_rule_t *ret_rule);
helio_zone_stretch_t helio_zone_rule_at(const helio_zone_rule_t *self, int64_t utc_s);

#endif
