/*  zone_rule.c -- parses POSIX TZ rules, and computes the changes of a year. */
#include "federation/energy/zone_rule.h"

#include "federation/base/char.h"
#include "federation/base/civil.h"
#include "federation/base/number.h"

enum { DAY_S = 86400 };

typedef struct cursor {
    const char *at, *end;
} cursor_t;

static bool literal(cursor_t *self, char c)
{
    if (self->at == self->end || *self->at != c)
        return false;
    self->at++;
    return true;
}

static bool number(cursor_t *self, int32_t least, int32_t most, int32_t *ret_value)
{
    int32_t value = 0;
    const char *from = self->at;
    for (; self->at < self->end && helio_is_digit(*self->at); self->at++)
        if ((value = value * 10 + (*self->at - '0')) > most)
            return false;
    *ret_value = value;
    return self->at > from && value >= least;
}

/*  CET or <+0330>. */
static bool name(cursor_t *self)
{
    const char *from = self->at;
    if (literal(self, '<')) {
        while (self->at < self->end && *self->at != '>')
            self->at++;
        return literal(self, '>');
    }
    while (self->at < self->end && ((*self->at >= 'A' && *self->at <= 'Z') || (*self->at >= 'a' && *self->at <= 'z')))
        self->at++;
    return self->at - from >= 3;
}

/*  [+-]hh[:mm[:ss]] */
static bool clock_time(cursor_t *self, int32_t hours_max, int32_t *ret_s)
{
    bool minus = literal(self, '-');
    if (!minus)
        (void)literal(self, '+');
    int32_t hours, minutes = 0, seconds = 0;
    if (!number(self, 0, hours_max, &hours) || (literal(self, ':') && !number(self, 0, 59, &minutes)) ||
        (literal(self, ':') && !number(self, 0, 59, &seconds)))
        return false;
    int32_t total = hours * 3600 + minutes * 60 + seconds;
    *ret_s = minus ? -total : total;
    return true;
}

static bool date(cursor_t *self, helio_rule_date_t *ret)
{
    bool good;
    *ret = (helio_rule_date_t){.time_s = 2 * 3600};
    if (literal(self, 'M')) {
        ret->form = HELIO_RULE_WEEKDAY;
        good = number(self, 1, 12, &ret->month) && literal(self, '.') && number(self, 1, 5, &ret->week) &&
               literal(self, '.') && number(self, 0, 6, &ret->day);
    } else if (literal(self, 'J')) {
        ret->form = HELIO_RULE_JULIAN;
        good = number(self, 1, 365, &ret->day);
    } else {
        ret->form = HELIO_RULE_ZERO_BASED;
        good = number(self, 0, 365, &ret->day);
    }
    return good && (!literal(self, '/') || clock_time(self, 167, &ret->time_s));
}

bool helio_zone_rule_parse(helio_text_t text, helio_zone_rule_t *ret_rule)
{
    cursor_t cursor = {text.data, text.data + text.size};
    helio_zone_rule_t rule = {0};
    if (!name(&cursor) || !clock_time(&cursor, 24, &rule.standard_s))
        return false;
    rule.standard_s = -rule.standard_s; /* POSIX counts westward */
    rule.has_daylight = cursor.at < cursor.end;
    if (rule.has_daylight) {
        if (!name(&cursor))
            return false;
        rule.daylight_s = rule.standard_s + 3600;
        if (cursor.at < cursor.end && *cursor.at != ',') {
            if (!clock_time(&cursor, 24, &rule.daylight_s))
                return false;
            rule.daylight_s = -rule.daylight_s;
        }
        if (!literal(&cursor, ',') || !date(&cursor, &rule.begin) || !literal(&cursor, ',') ||
            !date(&cursor, &rule.end))
            return false;
    }
    if (cursor.at != cursor.end)
        return false;
    *ret_rule = rule;
    return true;
}

/*  The day of the rule in a year, in days since 1970. */
static int64_t day_of(const helio_rule_date_t *self, int64_t year)
{
    int64_t january = helio_days_of_civil(year, 1, 1);
    if (self->form == HELIO_RULE_ZERO_BASED)
        return january + self->day;
    if (self->form == HELIO_RULE_JULIAN) {
        bool leap = helio_days_of_civil(year + 1, 1, 1) - january == 366;
        return january + self->day - 1 + (leap && self->day >= 60);
    }
    int64_t first = helio_days_of_civil(year, self->month, 1);
    int64_t next =
        self->month == 12 ? helio_days_of_civil(year + 1, 1, 1) : helio_days_of_civil(year, self->month + 1, 1);
    int32_t weekday = (int32_t)((helio_weekday_of_days(first) + 1) % 7); /* 0 = Sunday */
    int64_t day = first + (self->day - weekday + 7) % 7 + (self->week - 1) * 7;
    return day < next ? day : day - 7;
}

helio_zone_stretch_t helio_zone_rule_at(const helio_zone_rule_t *self, int64_t utc_s)
{
    helio_zone_stretch_t stretch = {INT64_MIN, INT64_MAX, self->standard_s, false};
    if (!self->has_daylight)
        return stretch;
    const int64_t far_s = INT64_C(6000000000000); /* the year 192000: sums cannot overflow */
    if (utc_s > far_s || utc_s < -far_s)
        return stretch;
    int64_t year, month, day;
    helio_civil_of_days(helio_floor(utc_s, DAY_S), &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t begin = day_of(&self->begin, y) * DAY_S + self->begin.time_s - self->standard_s;
        int64_t end = day_of(&self->end, y) * DAY_S + self->end.time_s - self->daylight_s;
        const struct {
            int64_t at_s;
            bool daylight;
        } moves[2] = {{begin, true}, {end, false}};
        for (int i = 0; i < 2; i++) {
            if (moves[i].at_s <= utc_s && moves[i].at_s >= stretch.begin_s) {
                stretch.begin_s = moves[i].at_s;
                stretch.daylight = moves[i].daylight;
            } else if (moves[i].at_s > utc_s && moves[i].at_s < stretch.end_s) {
                stretch.end_s = moves[i].at_s;
            }
        }
    }
    stretch.offset_s = stretch.daylight ? self->daylight_s : self->standard_s;
    return stretch;
}
