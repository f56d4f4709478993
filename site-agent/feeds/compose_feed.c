/*  compose_feed.c -- the series of one feed for the hours ahead, and what replaces missing values. */
#include <math.h>

#include "site-agent/feeds/composer.h"

helio_series_t *composer_add(composer_t *self, uint32_t signal, helio_text_t source)
{
    helio_series_t *series = &self->out->series.items[self->out->series.count++];
    *series = (helio_series_t){.signal = signal,
                               .source = source,
                               .issued_wall_ms = self->issued_ms,
                               .start_wall_ms = self->hour * HOUR_MS,
                               .step_s = 3600,
                               .feed_state = HELIO_FEED_STATE_CURRENT};
    series->values.items = helio_arena_alloc(self->arena, HELIO_COMPOSE_HOURS_MAX, sizeof(double));
    series->values.count = HOURS;
    return series;
}

helio_series_t *composer_add_constant(composer_t *self, uint32_t signal, helio_text_t source, double value)
{
    helio_series_t *series = composer_add(self, signal, source);
    for (uint32_t i = 0; i < HOURS; i++)
        series->values.items[i] = value;
    return series;
}

/*  How many hours are published: HOURS, or all that the source foretells. */
static uint32_t reach(const helio_track_t *track, int64_t hour)
{
    uint32_t count = HELIO_COMPOSE_HOURS_MAX;
    while (count > HOURS && isnan(helio_track_ahead(track, hour + count - 1)))
        count--;
    return count;
}

/*  The current hour's actual value, then the source's forecast as issued, then the built-in one. Returns how many hours after
 *  the current one are the source's. */
static uint32_t fill(const helio_track_t *track, int64_t hour, const helio_forecast_t *own, helio_f64s_t *values)
{
    helio_hours_t hours = helio_track_hours(track);
    uint32_t theirs = 0;
    double before = NAN, *at = values->items;
    for (uint32_t i = 0; i < values->count; i++) {
        double actual = i == 0 ? helio_hours_at(&hours, hour) : NAN;
        double ahead = helio_track_ahead(track, hour + (int64_t)i);
        theirs += i > 0 && !isnan(ahead);
        at[i] = !isnan(actual) ? actual : !isnan(ahead) ? ahead : own->count ? own->values[i] : before;
        if (isnan(at[i])) /* a source without a history and without a value for this hour: its next value is used */
            for (uint32_t n = i + 1; n < values->count && isnan(at[i]); n++)
                at[i] = helio_track_ahead(track, hour + (int64_t)n);
        before = at[i];
    }
    return theirs;
}

/*  As wide as the built-in forecaster's band, around each value; no band where it has none. */
static void add_band(composer_t *self, helio_series_t *series, const helio_track_t *track, const helio_forecast_t *own,
                     double least)
{
    if (!own->p10)
        return;
    helio_hours_t hours = helio_track_hours(track);
    bool running_known = !isnan(helio_hours_at(&hours, self->hour));
    uint32_t count = series->values.count;
    series->p10.items = helio_arena_alloc(self->arena, count, sizeof(double));
    series->p90.items = helio_arena_alloc(self->arena, count, sizeof(double));
    series->p10.count = series->p90.count = count;
    for (uint32_t i = 0; i < count; i++) {
        double value = series->values.items[i];
        double low = i == 0 && running_known ? 0 : own->values[i] - own->p10[i];
        double high = i == 0 && running_known ? 0 : own->p90[i] - own->values[i];
        series->p10.items[i] = fmax(value - low, fmin(least, value));
        series->p90.items[i] = value + high;
    }
}

static helio_text_t source_of(const composer_t *self, const helio_feed_t *feed, uint32_t built_in, uint32_t count,
                              bool corrected)
{
    const char *how = corrected ? ", corrected" : "";
    if (built_in == count)
        return helio_arena_printf(self->arena, "%.*s, built-in forecast", HELIO_TEXT_ARGS(feed->name));
    if (built_in)
        return helio_arena_printf(self->arena, "%.*s%s, %uh of it built-in", HELIO_TEXT_ARGS(feed->name), how,
                                  built_in);
    return helio_arena_printf(self->arena, "%.*s%s", HELIO_TEXT_ARGS(feed->name), how);
}

static void add_fresh(composer_t *self, uint32_t signal, const helio_feed_t *feed, const helio_track_t *track,
                      double least)
{
    helio_series_t *series = composer_add(self, signal, feed->name);
    helio_hours_t hours = helio_track_hours(track);
    helio_forecast_t own;
    uint32_t count = series->values.count = reach(track, self->hour);
    helio_forecast_make(&hours, self->hour, count, least, self->arena, &own);
    uint32_t theirs = fill(track, self->hour, &own, &series->values);
    bool corrected = helio_track_correct(track, self->hour, count, least, series->values.items) > 0;
    series->source = source_of(self, feed, count - 1 - theirs, count - 1, corrected);
    if (track->success_wall_ms > series->issued_wall_ms && track->success_wall_ms <= self->wall_ms)
        series->issued_wall_ms = track->success_wall_ms;
    int64_t last = helio_hours_last(&hours, self->hour + 1);
    series->estimated = last != INT64_MIN && track->estimated[last - hours.first_hour];
    add_band(self, series, track, &own, least);
}

static void add_last_good(composer_t *self, uint32_t signal, const helio_feed_t *feed, const helio_track_t *track)
{
    helio_hours_t hours = helio_track_hours(track);
    int64_t last = helio_hours_last(&hours, self->hour + 1);
    helio_series_t *series = composer_add(self, signal, feed->name);
    series->estimated = true;
    series->feed_state = HELIO_FEED_STATE_LAST_GOOD;
    if (last == INT64_MIN) { /* it has only ever sent forecasts */
        (void)fill(track, self->hour, &(helio_forecast_t){0}, &series->values);
        series->last_value_ms = track->ahead_wall_ms;
    } else {
        (void)helio_forecast_last_day(&hours, self->hour + 1, HOURS - 1, series->values.items + 1);
        double running = helio_hours_at(&hours, self->hour);
        if (isnan(running))
            (void)helio_forecast_last_day(&hours, self->hour, 1, &running);
        series->values.items[0] = running;
        series->last_value_ms = last * HOUR_MS;
    }
}

/*  False: the feed has no data, and something else has to replace it. */
bool composer_add_feed(composer_t *self, uint32_t signal, const helio_feed_t *feed, double least)
{
    double factor;
    (void)helio_feed_unit(feed, &factor);
    if (feed->source == HELIO_SOURCE_STATIC) {
        composer_add_constant(self, signal, feed->name, feed->value * factor)->estimated =
            feed->signal == HELIO_FEED_CARBON;
        return true;
    }
    const helio_track_t *track = &self->from->tracks[feed - self->from->settings->feeds.items];
    switch (helio_track_state(track, feed->every_ms, self->wall_ms)) {
    case HELIO_TRACK_FRESH:
        add_fresh(self, signal, feed, track, least);
        return true;
    case HELIO_TRACK_LAST_GOOD:
        add_last_good(self, signal, feed, track);
        return true;
    case HELIO_TRACK_NOTHING:
        break;
    }
    return false;
}

/*  A feed that was not asked yet has not failed. */
void composer_mark_failed(const composer_t *self, const helio_feed_t *feed, helio_series_t *series)
{
    if (!feed || feed->source == HELIO_SOURCE_STATIC)
        return;
    const helio_track_t *track = &self->from->tracks[feed - self->from->settings->feeds.items];
    bool worked = track->success_wall_ms != INT64_MIN;
    if (!worked && !track->failures)
        return;
    series->source = feed->name;
    series->feed_state = HELIO_FEED_STATE_NO_DATA;
    series->last_value_ms = track->newest_ms != INT64_MIN ? track->newest_ms
                            : worked                      ? track->success_wall_ms
                                                          : self->from->opened_wall_ms;
    series->estimated = true;
}

const helio_feed_t *composer_feed_of(const composer_t *self, uint32_t signal, helio_text_t pool)
{
    for (uint32_t i = 0; self->from->settings && i < self->from->settings->feeds.count; i++) {
        const helio_feed_t *feed = &self->from->settings->feeds.items[i];
        if (feed->signal == signal && helio_text_equal(feed->pool, pool))
            return feed;
    }
    return NULL;
}
