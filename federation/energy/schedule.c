/*  schedule.c -- parses schedules, and computes their UTC intervals. */
#include "federation/energy/schedule.h"

#include <stdlib.h>

#include "federation/base/civil.h"
#include "federation/base/number.h"

enum { DAY_MIN = 1440, DAY_S = 86400, ALL_DAYS = 0x7f, DAYS_MAX = 400 };

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct reader {
    helio_text_t text;
    uint32_t at;
    helio_error_t *err;
} reader_t;

static helio_rc complain(const reader_t *self, const char *expected)
{
    return helio_fail(self->err, HELIO_INVALID, "at character %u: expected %s", self->at + 1, expected);
}

static char peek(const reader_t *self)
{
    return self->at < self->text.size ? self->text.data[self->at] : '\0';
}

static bool take(reader_t *self, char c)
{
    if (peek(self) != c || self->at >= self->text.size)
        return false;
    self->at++;
    return true;
}

static void blanks(reader_t *self)
{
    while (take(self, ' ')) {
    }
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static helio_rc take_day(reader_t *self, uint32_t *ret_day)
{
    static const char days[] = "MonTueWedThuFriSatSun";
    if (self->at + 3 <= self->text.size)
        for (uint32_t day = 0; day < 7; day++) {
            helio_text_t word = {self->text.data + self->at, 3}, known = {days + day * 3, 3};
            if (helio_text_equal(word, known) &&
                !(self->at + 3 < self->text.size && is_letter(self->text.data[self->at + 3]))) {
                self->at += 3;
                *ret_day = day;
                return HELIO_OK;
            }
        }
    return complain(self, "a day: Mon, Tue, Wed, Thu, Fri, Sat or Sun");
}

static helio_rc take_days(reader_t *self, uint8_t *ret_days)
{
    unsigned days = 0;
    do {
        uint32_t first, last;
        blanks(self);
        helio_rc rc = take_day(self, &first);
        if (rc != HELIO_OK)
            return rc;
        last = first;
        if (take(self, '.')) {
            if (!take(self, '.'))
                return complain(self, "'..' between two days");
            rc = take_day(self, &last);
            if (rc != HELIO_OK)
                return rc;
        }
        for (uint32_t day = first;; day = (day + 1) % 7) {
            days |= 1u << day;
            if (day == last)
                break;
        }
    } while (take(self, ','));
    *ret_days = (uint8_t)days;
    return HELIO_OK;
}

static bool two_digits(reader_t *self, uint32_t most, uint32_t *ret_value)
{
    if (self->at + 2 > self->text.size)
        return false;
    const char *at = self->text.data + self->at;
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
        return false;
    *ret_value = (uint32_t)(at[0] - '0') * 10 + (uint32_t)(at[1] - '0');
    if (*ret_value > most)
        return false;
    self->at += 2;
    return true;
}

static helio_rc take_minute(reader_t *self, bool end, uint16_t *ret_minute)
{
    uint32_t from = self->at, hours, minutes;
    if (!two_digits(self, 24, &hours) || !take(self, ':') || !two_digits(self, 59, &minutes) ||
        hours * 60 + minutes > (end ? DAY_MIN : DAY_MIN - 1)) {
        self->at = from;
        return complain(self, end ? "a time from 00:00 to 24:00" : "a time from 00:00 to 23:59");
    }
    *ret_minute = (uint16_t)(hours * 60 + minutes);
    return HELIO_OK;
}

static helio_rc take_hours(reader_t *self, uint8_t days, helio_schedule_t *schedule)
{
    do {
        uint16_t from = 0, to = 0;
        blanks(self);
        helio_rc rc = take_minute(self, false, &from);
        if (rc == HELIO_OK && !take(self, '-'))
            rc = complain(self, "'-' between two times");
        if (rc == HELIO_OK)
            rc = take_minute(self, true, &to);
        if (rc != HELIO_OK)
            return rc;
        if (to == from)
            return complain(self, "an end that differs from the start (a whole day is 00:00-24:00)");
        if (schedule->count == HELIO_SCHEDULE_RANGES_MAX)
            return complain(self, "at most 32 ranges");
        schedule->ranges[schedule->count++] =
            (helio_schedule_range_t){days, from, (uint16_t)(to > from ? to : to + DAY_MIN)};
    } while (take(self, ','));
    return HELIO_OK;
}

static helio_rc take_rule(reader_t *self, helio_schedule_t *schedule)
{
    uint8_t days = ALL_DAYS;
    blanks(self);
    if (is_letter(peek(self))) {
        helio_rc rc = take_days(self, &days);
        if (rc != HELIO_OK)
            return rc;
        if (peek(self) != ' ')
            return complain(self, "a space and hours, as in 'Mon..Fri 08:00-20:00'");
    }
    return take_hours(self, days, schedule);
}

helio_rc helio_schedule_parse(helio_text_t text, helio_schedule_t *ret_schedule, helio_error_t *err)
{
    reader_t reader = {.text = text, .err = err};
    helio_schedule_t schedule = {0};
    if (text.size > HELIO_SCHEDULE_TEXT_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "at character %d: a schedule has at most %d characters",
                          HELIO_SCHEDULE_TEXT_MAX + 1, HELIO_SCHEDULE_TEXT_MAX);
    do {
        helio_rc rc = take_rule(&reader, &schedule);
        if (rc != HELIO_OK)
            return rc;
        blanks(&reader);
    } while (take(&reader, ';'));
    if (reader.at != text.size)
        return complain(&reader, "',' and more hours, ';' and another rule, or the end");
    *ret_schedule = schedule;
    return HELIO_OK;
}

/* ---- intervals ----------------------------------------------------------------------------------------- */

typedef struct found {
    helio_interval_t *items;
    uint32_t count, capacity;
    int64_t from_ms, to_ms;
} found_t;

static void add(found_t *self, int64_t begin_ms, int64_t end_ms)
{
    begin_ms = begin_ms < self->from_ms ? self->from_ms : begin_ms;
    end_ms = end_ms > self->to_ms ? self->to_ms : end_ms;
    if (begin_ms >= end_ms)
        return;
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? self->capacity * 2 : 64;
        self->items = helio_grow(self->items, self->capacity, sizeof *self->items);
    }
    self->items[self->count++] = (helio_interval_t){begin_ms, end_ms};
}

/*  Within a stretch the offset is constant, so a range is an interval, cut at the ends of the stretch. */
static void add_stretch(found_t *self, const helio_schedule_t *schedule, int32_t offset_s, int64_t begin_s,
                        int64_t end_s)
{
    int64_t local_begin_s = begin_s + offset_s, local_end_s = end_s + offset_s;
    int64_t first = helio_floor(local_begin_s, DAY_S) - 1; /* a range may reach over midnight */
    for (int64_t day = first; day * DAY_S < local_end_s; day++)
        for (uint32_t i = 0; i < schedule->count; i++) {
            const helio_schedule_range_t *range = &schedule->ranges[i];
            if (!(range->days >> helio_weekday_of_days(day) & 1u))
                continue;
            int64_t from_s = day * DAY_S + range->from_min * 60, to_s = day * DAY_S + range->to_min * 60;
            from_s = from_s < local_begin_s ? local_begin_s : from_s;
            to_s = to_s > local_end_s ? local_end_s : to_s;
            add(self, (from_s - offset_s) * 1000, (to_s - offset_s) * 1000);
        }
}

static int by_begin(const void *a, const void *b)
{
    const helio_interval_t *x = a, *y = b;
    return (x->begin_ms > y->begin_ms) - (x->begin_ms < y->begin_ms);
}

static uint32_t merge(helio_interval_t *items, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept && items[i].begin_ms <= items[kept - 1].end_ms) {
            if (items[i].end_ms > items[kept - 1].end_ms)
                items[kept - 1].end_ms = items[i].end_ms;
        } else {
            items[kept++] = items[i];
        }
    }
    return kept;
}

uint32_t helio_schedule_intervals(const helio_schedule_t *self, const helio_zone_t *zone, int64_t from_ms,
                                  int64_t to_ms, helio_arena_t *arena, helio_interval_t **ret_intervals)
{
    const int64_t most_ms = INT64_C(1000) * DAY_S * DAYS_MAX;
    found_t found = {.from_ms = from_ms, .to_ms = to_ms > from_ms + most_ms ? from_ms + most_ms : to_ms};
    int64_t at_s = helio_floor(from_ms, 1000), end_s = found.to_ms / 1000 + (found.to_ms % 1000 > 0);
    while (at_s < end_s) {
        helio_zone_stretch_t stretch = helio_zone_at(zone, at_s);
        int64_t until_s = stretch.end_s < end_s ? stretch.end_s : end_s;
        add_stretch(&found, self, stretch.offset_s, at_s, until_s);
        at_s = until_s;
    }
    if (found.count)
        qsort(found.items, found.count, sizeof *found.items, by_begin);
    uint32_t count = merge(found.items, found.count);
    *ret_intervals = helio_arena_alloc(arena, count, sizeof **ret_intervals);
    for (uint32_t i = 0; i < count; i++)
        (*ret_intervals)[i] = found.items[i];
    free(found.items);
    return count;
}

bool helio_schedule_covers(const helio_schedule_t *self, const helio_zone_t *zone, int64_t wall_ms)
{
    int64_t utc_s = helio_floor(wall_ms, 1000);
    int64_t local_s = helio_zone_local_s(zone, utc_s);
    int64_t today = helio_floor(local_s, DAY_S);
    for (int64_t day = today - 1; day <= today; day++)
        for (uint32_t i = 0; i < self->count; i++) {
            const helio_schedule_range_t *range = &self->ranges[i];
            int64_t into_s = local_s - day * DAY_S;
            if (range->days >> helio_weekday_of_days(day) & 1u && into_s >= range->from_min * 60 &&
                into_s < range->to_min * 60)
                return true;
        }
    return false;
}
