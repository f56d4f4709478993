/*  track.c -- turns the points of a source into hourly means and forecasts, and judges whether the source works. */
#include "federation/base/number.h"
#include "site-agent/feeds/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t HOUR_MS = 3600000;
enum { OLDEST_GOOD_H = 14 * 24, ABOUT_NOW_H = 24, STALE_ROUNDS = 3 };
static const int64_t STALE_LEAST_MS = INT64_C(2) * 3600000;

void helio_track_begin(helio_track_t *self, int64_t wall_ms)
{
    *self = (helio_track_t){.first_hour = helio_floor(wall_ms, HOUR_MS) - HELIO_TRACK_HOURS + 1,
                            .newest_ms = INT64_MIN,
                            .ahead_wall_ms = INT64_MIN,
                            .success_wall_ms = INT64_MIN};
    for (uint32_t i = 0; i < HELIO_TRACK_HOURS; i++)
        self->values[i] = NAN;
    for (uint32_t i = 0; i < HELIO_TRACK_AHEAD; i++)
        self->ahead[i] = NAN;
    helio_foretold_begin(&self->foretold, helio_floor(wall_ms, HOUR_MS));
}

/*  Moves the window so that the current hour is the last. A clock that was set back leaves the window as it is, unless
 *  the current hour is before all of it: then nothing could be kept until the clock has caught up. */
static void move_on(helio_track_t *self, int64_t wall_ms)
{
    int64_t by = helio_floor(wall_ms, HOUR_MS) - HELIO_TRACK_HOURS + 1 - self->first_hour;
    if (by <= -HELIO_TRACK_HOURS)
        helio_track_begin(self, wall_ms);
    if (by <= 0)
        return;
    uint32_t shift = by < HELIO_TRACK_HOURS ? (uint32_t)by : HELIO_TRACK_HOURS, kept = HELIO_TRACK_HOURS - shift;
    memmove(self->values, self->values + shift, kept * sizeof self->values[0]);
    memmove(self->counts, self->counts + shift, kept * sizeof self->counts[0]);
    memmove(self->estimated, self->estimated + shift, kept * sizeof self->estimated[0]);
    for (uint32_t i = kept; i < HELIO_TRACK_HOURS; i++) {
        self->values[i] = NAN;
        self->counts[i] = 0;
        self->estimated[i] = false;
    }
    self->first_hour += by;
}

/*  Sums over the points of one response, by hour. */
typedef struct sums {
    double past[HELIO_TRACK_HOURS], ahead[HELIO_TRACK_AHEAD];
    uint32_t history_count[HELIO_TRACK_HOURS], ahead_count[HELIO_TRACK_AHEAD];
    bool estimated[HELIO_TRACK_HOURS], older[HELIO_TRACK_HOURS];
    uint32_t taken, foreseen;
} sums_t;

static void sum_up(const helio_track_t *self, const helio_points_t *points, int64_t now_hour, sums_t *sums)
{
    for (uint32_t i = 0; i < points->count; i++) {
        const helio_point_t *point = &points->items[i];
        int64_t hour = helio_floor(point->time_ms, HOUR_MS);
        if (point->forecast ||
            hour > now_hour) { /* a value for a future hour is a forecast, whatever the source calls it */
            int64_t ahead = hour - now_hour;
            if (ahead < 0 || ahead >= HELIO_TRACK_AHEAD)
                continue;
            sums->ahead[ahead] += point->value;
            sums->ahead_count[ahead]++;
            sums->foreseen++;
        } else {
            int64_t index = hour - self->first_hour;
            if (index < 0 || index >= HELIO_TRACK_HOURS)
                continue;
            sums->past[index] += point->value;
            sums->history_count[index]++;
            sums->estimated[index] |= point->estimated;
            sums->older[index] |= point->time_ms <= self->newest_ms;
        }
        sums->taken++;
    }
}

static void take_past(helio_track_t *self, const sums_t *sums)
{
    for (uint32_t i = 0; i < HELIO_TRACK_HOURS; i++) {
        uint32_t count = sums->history_count[i], before = self->counts[i];
        if (count == 0)
            continue;
        double sum = sums->past[i];
        bool adds = before && !sums->older[i];
        if (!adds && count < before)
            continue; /* the response begins within this hour: the known value rests on more points */
        if (adds) {
            sum += self->values[i] * before;
            count += before;
        }
        self->estimated[i] = sums->estimated[i] || (adds && self->estimated[i]);
        self->values[i] = sum / count;
        self->counts[i] = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
    }
}

uint32_t helio_track_take(helio_track_t *self, const helio_points_t *points, int64_t wall_ms)
{
    move_on(self, wall_ms);
    int64_t now_hour = helio_floor(wall_ms, HOUR_MS);
    sums_t *sums = helio_new(1, sizeof *sums);
    sum_up(self, points, now_hour, sums);
    take_past(self, sums);
    if (sums->foreseen) {
        self->ahead_first_hour = now_hour;
        self->ahead_wall_ms = wall_ms;
        for (uint32_t i = 0; i < HELIO_TRACK_AHEAD; i++)
            self->ahead[i] = sums->ahead_count[i] ? sums->ahead[i] / sums->ahead_count[i] : NAN;
        helio_hours_t ahead = {now_hour, self->ahead, HELIO_TRACK_AHEAD};
        helio_foretold_take(&self->foretold, now_hour, &ahead);
    }
    for (uint32_t i = 0; i < points->count; i++)
        if (!points->items[i].forecast && points->items[i].time_ms <= wall_ms &&
            points->items[i].time_ms > self->newest_ms)
            self->newest_ms = points->items[i].time_ms;
    uint32_t taken = sums->taken;
    free(sums);
    if (taken) {
        self->success_wall_ms = wall_ms;
        self->failures = 0;
    } else {
        helio_track_fail(self);
    }
    return taken;
}

void helio_track_fail(helio_track_t *self)
{
    self->failures += self->failures < UINT32_MAX;
}

helio_hours_t helio_track_hours(const helio_track_t *self)
{
    return (helio_hours_t){self->first_hour, self->values, HELIO_TRACK_HOURS};
}

double helio_track_ahead(const helio_track_t *self, int64_t hour)
{
    int64_t index = hour - self->ahead_first_hour;
    return self->ahead_wall_ms == INT64_MIN || index < 0 || index >= HELIO_TRACK_AHEAD ? NAN : self->ahead[index];
}

uint32_t helio_track_correct(const helio_track_t *self, int64_t first_hour, uint32_t count, double least,
                             double *values)
{
    if (self->ahead_wall_ms == INT64_MIN)
        return 0;
    const helio_issue_t issue = {&self->foretold,
                                 helio_track_hours(self),
                                 {self->ahead_first_hour, self->ahead, HELIO_TRACK_AHEAD},
                                 self->ahead_first_hour};
    return helio_foretold_correct(&issue, first_hour, count, least, values);
}

helio_track_state_t helio_track_state(const helio_track_t *self, uint64_t every_ms, int64_t wall_ms)
{
    int64_t now_hour = helio_floor(wall_ms, HOUR_MS);
    helio_hours_t hours = helio_track_hours(self);
    int64_t last = helio_hours_last(&hours, now_hour + 1);
    bool has_past = last != INT64_MIN;
    int64_t patience_ms =
        STALE_ROUNDS * (int64_t)every_ms > STALE_LEAST_MS ? STALE_ROUNDS * (int64_t)every_ms : STALE_LEAST_MS;
    bool answers = self->success_wall_ms != INT64_MIN && wall_ms - self->success_wall_ms <= patience_ms;
    bool about_now = (has_past && now_hour - last <= ABOUT_NOW_H) || !isnan(helio_track_ahead(self, now_hour));
    if (answers && about_now)
        return HELIO_TRACK_FRESH;
    bool repeatable = (has_past && now_hour - last <= OLDEST_GOOD_H) || !isnan(helio_track_ahead(self, now_hour));
    return repeatable ? HELIO_TRACK_LAST_GOOD : HELIO_TRACK_NOTHING;
}
