#include "site-agent/feeds/compose.h"

#include <math.h>
#include <string.h>

#include "federation/base/clock.h"

enum { HOURS = HELIO_COMPOSE_HOURS, SOURCE_MAX = 64, POWER_FRESH_H = 2 };
static const int64_t HOUR_MS = 3600000;

typedef struct composer {
    const helio_compose_t *from;
    int64_t wall_ms, hour; /* the running one */
    int64_t issued_ms;     /* of what no feed says */
    helio_arena_t *arena;
    helio_aev_series_t *out;
} composer_t;

static helio_series_t *add(composer_t *self, uint32_t signal, helio_text_t source)
{
    helio_series_t *series = &self->out->series.items[self->out->series.count++];
    *series = (helio_series_t){.signal = signal,
                               .source = source,
                               .issued_wall_ms = self->issued_ms,
                               .start_wall_ms = self->hour * HOUR_MS,
                               .step_s = 3600};
    series->values.items = helio_arena_alloc(self->arena, HOURS, sizeof(double));
    series->values.count = HOURS;
    return series;
}

static helio_series_t *add_constant(composer_t *self, uint32_t signal, helio_text_t source, double value)
{
    helio_series_t *series = add(self, signal, source);
    for (uint32_t i = 0; i < HOURS; i++)
        series->values.items[i] = value;
    return series;
}

/* ---- one feed
 * ----------------------------------------------------------------------------------------------------- */

/*  "NAME, last good 2026-11-20T06Z" */
static helio_text_t last_good_source(composer_t *self, const helio_feed_t *feed, int64_t last_hour)
{
    char time[HELIO_RFC3339_SIZE];
    helio_rfc3339(last_hour * HOUR_MS, time);
    return helio_arena_printf(self->arena, "%.*s, last good %.13sZ", HELIO_TEXT_ARGS(feed->name), time);
}

/*  The running hour as it came true, then what the source foresees, then what we do. Returns how many hours
 * after the running one are the source's. */
static uint32_t fill(const helio_track_t *track, int64_t hour, const helio_forecast_t *own, double *values)
{
    helio_hours_t hours = helio_track_hours(track);
    uint32_t theirs = 0;
    double before = NAN;
    for (uint32_t i = 0; i < HOURS; i++) {
        double actual = i == 0 ? helio_hours_at(&hours, hour) : NAN;
        double ahead = helio_track_ahead(track, hour + (int64_t)i);
        theirs += i > 0 && !isnan(ahead);
        values[i] = !isnan(actual) ? actual : !isnan(ahead) ? ahead : own->count ? own->values[i] : before;
        if (isnan(values[i])) /* a source without a past that says nothing of this hour: its next word will do
                               */
            for (uint32_t n = i + 1; n < HOURS && isnan(values[i]); n++)
                values[i] = helio_track_ahead(track, hour + (int64_t)n);
        before = values[i];
    }
    return theirs;
}

/*  As wide as the built-in forecaster's, around whatever the value is; nothing where it knows none. */
static void add_band(composer_t *self, helio_series_t *series, const helio_track_t *track,
                     const helio_forecast_t *own, double least)
{
    if (!own->p10)
        return;
    helio_hours_t hours = helio_track_hours(track);
    bool running_known = !isnan(helio_hours_at(&hours, self->hour));
    series->p10.items = helio_arena_alloc(self->arena, HOURS, sizeof(double));
    series->p90.items = helio_arena_alloc(self->arena, HOURS, sizeof(double));
    series->p10.count = series->p90.count = HOURS;
    for (uint32_t i = 0; i < HOURS; i++) {
        double value = series->values.items[i];
        double low = i == 0 && running_known ? 0 : own->values[i] - own->p10[i];
        double high = i == 0 && running_known ? 0 : own->p90[i] - own->values[i];
        series->p10.items[i] = fmax(value - low, fmin(least, value));
        series->p90.items[i] = value + high;
    }
}

static void add_fresh(composer_t *self, uint32_t signal, const helio_feed_t *feed, const helio_track_t *track,
                      double least)
{
    helio_series_t *series = add(self, signal, feed->name);
    helio_hours_t hours = helio_track_hours(track);
    helio_forecast_t own;
    helio_forecast_make(&hours, self->hour, HOURS, least, self->arena, &own);
    uint32_t theirs = fill(track, self->hour, &own, series->values.items);
    if (theirs == 0)
        series->source =
            helio_arena_printf(self->arena, "%.*s, built-in forecast", HELIO_TEXT_ARGS(feed->name));
    else if (theirs < HOURS - 1)
        series->source = helio_arena_printf(self->arena, "%.*s, %uh of it built-in",
                                            HELIO_TEXT_ARGS(feed->name), HOURS - 1 - theirs);
    if (track->success_wall_ms > series->issued_wall_ms && track->success_wall_ms <= self->wall_ms)
        series->issued_wall_ms = track->success_wall_ms;
    int64_t last = helio_hours_last(&hours, self->hour + 1);
    series->estimated = last != INT64_MIN && track->estimated[last - hours.first_hour];
    add_band(self, series, track, &own, least);
}

static void add_last_good(composer_t *self, uint32_t signal, const helio_feed_t *feed,
                          const helio_track_t *track)
{
    helio_hours_t hours = helio_track_hours(track);
    int64_t last = helio_hours_last(&hours, self->hour + 1);
    helio_series_t *series = add(self, signal, feed->name);
    series->estimated = true;
    if (last == INT64_MIN) { /* it only ever foresaw */
        (void)fill(track, self->hour, &(helio_forecast_t){0}, series->values.items);
        series->source = last_good_source(self, feed, track->ahead_wall_ms / HOUR_MS);
    } else {
        (void)helio_forecast_last_day(&hours, self->hour + 1, HOURS - 1, series->values.items + 1);
        double running = helio_hours_at(&hours, self->hour);
        if (isnan(running))
            (void)helio_forecast_last_day(&hours, self->hour, 1, &running);
        series->values.items[0] = running;
        series->source = last_good_source(self, feed, last);
    }
}

/*  False: the feed says nothing, something else has to stand in. */
static bool add_feed(composer_t *self, uint32_t signal, const helio_feed_t *feed, double least)
{
    double factor;
    (void)helio_feed_unit(feed, &factor);
    if (feed->source == HELIO_SOURCE_STATIC) {
        add_constant(self, signal, feed->name, feed->value * factor)->estimated =
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

static const helio_feed_t *feed_of(const composer_t *self, uint32_t signal, helio_text_t pool)
{
    for (uint32_t i = 0; self->from->settings && i < self->from->settings->feeds.count; i++) {
        const helio_feed_t *feed = &self->from->settings->feeds.items[i];
        if (feed->signal == signal && helio_text_equal(feed->pool, pool))
            return feed;
    }
    return NULL;
}

/* ---- signals
 * ------------------------------------------------------------------------------------------------------ */

static void add_carbon(composer_t *self)
{
    const double static_g = self->from->profile->carbon_g_per_kwh;
    bool told = false; /* an average by the hour: the yearly one adds nothing */
    for (uint32_t i = 0; self->from->settings && i < self->from->settings->feeds.count; i++) {
        const helio_feed_t *feed = &self->from->settings->feeds.items[i];
        if (feed->signal != HELIO_FEED_CARBON || !add_feed(self, HELIO_SIGNAL_CARBON, feed, 0))
            continue;
        helio_series_t *series = &self->out->series.items[self->out->series.count - 1];
        series->kind = feed->kind;
        series->factor = feed->factor;
        told |= helio_text_is(feed->kind, "average");
    }
    if (told || static_g < 0)
        return;
    helio_series_t *series = add_constant(self, HELIO_SIGNAL_CARBON, HELIO_TEXT("static"), static_g);
    series->kind = HELIO_TEXT("average");
    series->factor = HELIO_TEXT("lifecycle");
    series->estimated = true; /* a yearly figure stands for every hour */
}

/*  Of the hours from the running one on. */
static uint32_t intervals_of(const composer_t *self, helio_text_t when, helio_interval_t **ret_intervals)
{
    helio_schedule_t schedule;
    if (helio_schedule_parse(when, &schedule, NULL) != HELIO_OK)
        return 0;
    int64_t from_ms = self->hour * HOUR_MS;
    return helio_schedule_intervals(&schedule, self->from->zone, from_ms, from_ms + HOURS * HOUR_MS, self->arena,
                                    ret_intervals);
}

/*  How much of each hour from the running one on lies inside: 0..1. */
static void shares_of(const composer_t *self, helio_text_t when, double shares[HOURS])
{
    helio_interval_t *intervals;
    memset(shares, 0, HOURS * sizeof *shares);
    int64_t from_ms = self->hour * HOUR_MS;
    uint32_t count = intervals_of(self, when, &intervals);
    for (uint32_t i = 0; i < count; i++)
        for (int64_t at_ms = intervals[i].begin_ms; at_ms < intervals[i].end_ms;) {
            int64_t hour = (at_ms - from_ms) / HOUR_MS, next_ms = from_ms + (hour + 1) * HOUR_MS;
            int64_t until_ms = next_ms < intervals[i].end_ms ? next_ms : intervals[i].end_ms;
            shares[hour] += (double)(until_ms - at_ms) / (double)HOUR_MS;
            at_ms = until_ms;
        }
}

/*  Line after line takes what the ones before left of each hour; where two lines share a part of an hour, the
 * rest of that hour is taken by share, not by minute: within an hour that is near enough. */
static void add_tariff(composer_t *self)
{
    const helio_feeds_settings_t *settings = self->from->settings;
    helio_series_t *series = add(self, HELIO_SIGNAL_ELECTRICITY, HELIO_TEXT("tariff"));
    double left[HOURS], shares[HOURS];
    for (uint32_t i = 0; i < HOURS; i++)
        left[i] = 1;
    for (uint32_t n = 0; n < settings->tariff.count; n++) {
        shares_of(self, settings->tariff.items[n].when, shares);
        for (uint32_t i = 0; i < HOURS; i++) {
            double taken = fmin(shares[i], left[i]);
            series->values.items[i] += taken * settings->tariff.items[n].usd_per_kwh;
            left[i] -= taken;
        }
    }
    for (uint32_t i = 0; i < HOURS; i++)
        series->values.items[i] += left[i] * self->from->profile->electricity_usd_per_kwh;
}

static void add_electricity(composer_t *self)
{
    const helio_feed_t *feed = feed_of(self, HELIO_FEED_ELECTRICITY, (helio_text_t){0});
    if (feed && add_feed(self, HELIO_SIGNAL_ELECTRICITY, feed, -INFINITY))
        return;
    if (self->from->settings && self->from->settings->tariff.count)
        add_tariff(self);
    else
        (void)add_constant(self, HELIO_SIGNAL_ELECTRICITY, HELIO_TEXT("static"),
                           self->from->profile->electricity_usd_per_kwh);
}

static void add_prices(composer_t *self)
{
    for (uint32_t p = 0; p < self->from->profile->pools.count; p++) {
        const helio_pool_t *pool = &self->from->profile->pools.items[p];
        const helio_feed_t *feed = feed_of(self, HELIO_FEED_PRICE, pool->name);
        uint32_t before = self->out->series.count;
        if (!feed || !add_feed(self, HELIO_SIGNAL_PRICE, feed, -INFINITY))
            if (pool->price_usd_per_gpu_h > 0)
                (void)add_constant(self, HELIO_SIGNAL_PRICE, HELIO_TEXT("static"), pool->price_usd_per_gpu_h);
        if (self->out->series.count > before)
            self->out->series.items[before].pool = pool->name;
    }
}

static void add_pue(composer_t *self)
{
    const helio_feed_t *feed = feed_of(self, HELIO_FEED_PUE, (helio_text_t){0});
    if (!feed || !add_feed(self, HELIO_SIGNAL_PUE, feed, 1))
        (void)add_constant(self, HELIO_SIGNAL_PUE, HELIO_TEXT("static"), self->from->profile->pue);
    helio_series_t *series = &self->out->series.items[self->out->series.count - 1];
    for (uint32_t i = 0; i < HOURS; i++)
        series->values.items[i] =
            fmax(series->values.items[i], 1); /* less than what the computers draw is a fault of the feed */
}

/* ---- windows
 * ------------------------------------------------------------------------------------------------------ */

/*  In proportion to demand; its greatest value is that of the known past and the coming hours. False: nothing
 * is known, and the peak is kept, since inference that finds no GPU is worse than a job that waits. */
static bool reserve_by_series(composer_t *self, const helio_window_t *window, double reserve[HOURS],
                              int64_t *issued_ms)
{
    const helio_feed_t *feed = NULL;
    for (uint32_t i = 0; !feed && i < self->from->settings->feeds.count; i++)
        if (self->from->settings->feeds.items[i].signal == HELIO_FEED_LOAD &&
            helio_text_equal(self->from->settings->feeds.items[i].name, window->series))
            feed = &self->from->settings->feeds.items[i];
    uint32_t before = self->out->series.count;
    bool told =
        feed && add_feed(self, HELIO_SIGNAL_FREE_GPUS, feed, 0); /* a place to compute in; taken back below */
    const helio_series_t *load = &self->out->series.items[before];
    double most = 0;
    for (uint32_t i = 0; told && i < HOURS; i++)
        most = fmax(most, load->values.items[i]);
    if (told && feed->source != HELIO_SOURCE_STATIC) {
        helio_hours_t hours =
            helio_track_hours(&self->from->tracks[feed - self->from->settings->feeds.items]);
        for (uint32_t i = 0; i < hours.count; i++)
            most = fmax(most, hours.values[i]); /* NAN is passed over */
    }
    for (uint32_t i = 0; i < HOURS; i++)
        reserve[i] += told && most > 0
                          ? ceil(window->peak_gpus * fmax(load->values.items[i], 0) / most - 1e-9)
                          : window->peak_gpus;
    bool estimated = !told || load->estimated;
    if (told && load->issued_wall_ms > *issued_ms)
        *issued_ms = load->issued_wall_ms;
    self->out->series.count = before;
    return !estimated;
}

static const helio_series_t *backend_free(const composer_t *self, helio_text_t pool)
{
    for (uint32_t i = 0; self->from->backend && i < self->from->backend->series.count; i++) {
        const helio_series_t *series = &self->from->backend->series.items[i];
        if (series->signal == HELIO_SIGNAL_FREE_GPUS && helio_text_equal(series->pool, pool) &&
            series->step_s && series->values.count)
            return series;
    }
    return NULL;
}

/*  At a time; before its begin the first value, after its end the last. */
static double value_at(const helio_series_t *series, int64_t wall_ms)
{
    int64_t index = wall_ms < series->start_wall_ms
                        ? 0
                        : (wall_ms - series->start_wall_ms) / (INT64_C(1000) * series->step_s);
    return series->values.items[index < series->values.count ? (uint32_t)index : series->values.count - 1];
}

/*  True when the pool has windows at all; *ret_known: no guess was needed. */
static bool reserve_of(composer_t *self, helio_text_t pool, double reserve[HOURS], bool *ret_known,
                       int64_t *issued_ms)
{
    const helio_windows_t *windows = &self->from->settings->windows;
    double shares[HOURS];
    bool any = false;
    *ret_known = true;
    for (uint32_t n = 0; n < windows->count; n++) {
        const helio_window_t *window = &windows->items[n];
        if (!helio_text_equal(window->pool, pool))
            continue;
        any = true;
        if (window->series.size) {
            *ret_known &= reserve_by_series(self, window, reserve, issued_ms);
            continue;
        }
        if (window->when.size)
            shares_of(self, window->when, shares);
        for (uint32_t i = 0; i < HOURS; i++) /* kept for a part of an hour is kept for the hour */
            reserve[i] += !window->when.size || shares[i] > 0 ? window->reserve_gpus : 0;
    }
    return any;
}

static void add_free(composer_t *self, const helio_pool_t *pool)
{
    double reserve[HOURS] = {0};
    bool known = true;
    int64_t issued_ms = self->issued_ms;
    if (!self->from->settings || !reserve_of(self, pool->name, reserve, &known, &issued_ms))
        return;
    const helio_series_t *backend = backend_free(self, pool->name);
    helio_series_t *series = add(self, HELIO_SIGNAL_FREE_GPUS, HELIO_TEXT("windows"));
    series->pool = pool->name;
    series->estimated = !known || (backend && backend->estimated);
    if (backend && backend->issued_wall_ms > issued_ms && backend->issued_wall_ms <= self->wall_ms)
        issued_ms = backend->issued_wall_ms;
    series->issued_wall_ms = issued_ms;
    if (backend)
        series->source = helio_arena_printf(self->arena, "%.40s less windows",
                                            helio_arena_string(self->arena, backend->source));
    for (uint32_t i = 0; i < HOURS; i++) {
        double all = backend ? value_at(backend, (self->hour + (int64_t)i) * HOUR_MS)
                             : (double)pool->nodes * pool->gpus_per_node;
        series->values.items[i] = fmax(all - reserve[i], 0);
    }
}

/*  The longest step that no begin or end of a window lies within: what is kept begins and ends on the minute. */
static uint32_t step_of(const composer_t *self, helio_text_t pool)
{
    static const uint32_t steps_s[] = {900, 300, 60};
    const helio_windows_t *windows = &self->from->settings->windows;
    uint32_t at = 0;
    for (uint32_t n = 0; n < windows->count; n++) {
        helio_interval_t *intervals;
        uint32_t count = helio_text_equal(windows->items[n].pool, pool)
                             ? intervals_of(self, windows->items[n].when, &intervals)
                             : 0;
        for (uint32_t i = 0; i < count; i++)
            while (at < 2 && (intervals[i].begin_ms % (steps_s[at] * INT64_C(1000)) ||
                              intervals[i].end_ms % (steps_s[at] * INT64_C(1000))))
                at++;
    }
    return steps_s[at];
}

static void add_window(composer_t *self, const helio_window_t *window, helio_series_t *series, int64_t *issued_ms)
{
    const int64_t from_ms = series->start_wall_ms, step_ms = INT64_C(1000) * series->step_s;
    double reserve[HOURS] = {0};
    if (window->series.size)
        series->estimated |= !reserve_by_series(self, window, reserve, issued_ms);
    helio_interval_t always = {from_ms, from_ms + HOURS * HOUR_MS}, *intervals = &always;
    uint32_t count = window->when.size && !window->series.size ? intervals_of(self, window->when, &intervals) : 1;
    for (uint32_t i = 0; i < series->values.count; i++) {
        int64_t at_ms = from_ms + (int64_t)i * step_ms;
        bool inside = false;
        for (uint32_t n = 0; n < count; n++)
            inside |= intervals[n].begin_ms < at_ms + step_ms && intervals[n].end_ms > at_ms;
        if (inside)
            series->values.items[i] +=
                window->series.size ? reserve[(at_ms - from_ms) / HOUR_MS] : window->reserve_gpus;
    }
}

/*  What is kept of a pool, and until when: the broker frees it in time. */
static void add_reserved(composer_t *self, helio_text_t pool)
{
    const helio_windows_t *windows = self->from->settings ? &self->from->settings->windows : NULL;
    helio_series_t series = {.signal = HELIO_SIGNAL_RESERVED,
                             .pool = pool,
                             .source = HELIO_TEXT("windows"),
                             .start_wall_ms = self->hour * HOUR_MS};
    int64_t issued_ms = self->issued_ms;
    bool any = false;
    for (uint32_t n = 0; windows && n < windows->count; n++) {
        if (!helio_text_equal(windows->items[n].pool, pool))
            continue;
        if (!any) {
            series.step_s = step_of(self, pool);
            series.values.items = helio_arena_alloc(self->arena, HELIO_SERIES_POINTS_MAX, sizeof(double));
            series.values.count = HELIO_SERIES_POINTS_MAX;
            memset(series.values.items, 0, HELIO_SERIES_POINTS_MAX * sizeof(double));
        }
        any = true;
        add_window(self, &windows->items[n], &series, &issued_ms);
    }
    series.issued_wall_ms = issued_ms;
    if (any)
        self->out->series.items[self->out->series.count++] = series;
}

/*  What the backend says of pools without windows, and of anything else. */
static void add_backend(composer_t *self)
{
    uint32_t own = self->out->series.count;
    for (uint32_t i = 0; self->from->backend && i < self->from->backend->series.count; i++) {
        const helio_series_t *series = &self->from->backend->series.items[i];
        bool replaced = false;
        for (uint32_t n = 0; n < own; n++)
            replaced |= self->out->series.items[n].signal == series->signal &&
                        helio_text_equal(self->out->series.items[n].pool, series->pool);
        if (!replaced && self->out->series.count < HELIO_SERIES_MAX)
            self->out->series.items[self->out->series.count++] = *series;
    }
}

static double power_of(const composer_t *self)
{
    const helio_feed_t *feed = feed_of(self, HELIO_FEED_POWER, (helio_text_t){0});
    double factor;
    if (!feed)
        return -1;
    (void)helio_feed_unit(feed, &factor);
    if (feed->source == HELIO_SOURCE_STATIC)
        return feed->value * factor;
    helio_hours_t hours = helio_track_hours(&self->from->tracks[feed - self->from->settings->feeds.items]);
    int64_t last = helio_hours_last(&hours, self->hour + 1);
    return last != INT64_MIN && self->hour - last <= POWER_FRESH_H ? helio_hours_at(&hours, last) : -1;
}

void helio_compose(const helio_compose_t *from, int64_t wall_ms, helio_arena_t *arena,
                   helio_aev_series_t *ret_series)
{
    helio_zone_t *utc = from->zone ? NULL : helio_zone_fixed(0);
    helio_compose_t with_zone = *from;
    with_zone.zone = from->zone ? from->zone : utc;
    helio_aev_series_t all = {0};
    composer_t self = {.from = &with_zone,
                       .wall_ms = wall_ms,
                       .hour = wall_ms / HOUR_MS - (wall_ms % HOUR_MS < 0),
                       .arena = arena,
                       .out = &all};
    self.issued_ms = self.hour * HOUR_MS > from->opened_wall_ms ? self.hour * HOUR_MS : from->opened_wall_ms;
    size_t most = 4 + 3 * (size_t)from->profile->pools.count +
                  (from->settings ? from->settings->feeds.count : 0) +
                  (from->backend ? from->backend->series.count : 0);
    all.series.items = helio_arena_alloc(arena, most, sizeof *all.series.items);
    add_carbon(&self);
    add_electricity(&self);
    add_pue(&self);
    add_prices(&self);
    for (uint32_t p = 0; p < from->profile->pools.count; p++) {
        add_free(&self, &from->profile->pools.items[p]);
        add_reserved(&self, from->profile->pools.items[p].name);
    }
    add_backend(&self);
    all.power_w = power_of(&self);
    helio_zone_destroy(&utc);
    *ret_series = all;
}
