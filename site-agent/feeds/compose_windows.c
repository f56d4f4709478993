/*  compose_windows.c -- what windows reserve of the pools, by the clock or by demand, and what that leaves free. */
#include <math.h>
#include <string.h>

#include "site-agent/feeds/composer.h"

/*  The intervals of a schedule from the current hour on. */
uint32_t composer_intervals(const composer_t *self, helio_text_t when, helio_interval_t **ret_intervals)
{
    helio_schedule_t schedule;
    if (helio_schedule_parse(when, &schedule, NULL) != HELIO_OK)
        return 0;
    int64_t from_ms = self->hour * HOUR_MS;
    return helio_schedule_intervals(&schedule, self->from->zone, from_ms, from_ms + HOURS * HOUR_MS, self->arena,
                                    ret_intervals);
}

/*  The part of each hour from the current one on that lies within the schedule: 0..1. */
void composer_shares(const composer_t *self, helio_text_t when, double shares[HOURS])
{
    helio_interval_t *intervals;
    memset(shares, 0, HOURS * sizeof *shares);
    int64_t from_ms = self->hour * HOUR_MS;
    uint32_t count = composer_intervals(self, when, &intervals);
    for (uint32_t i = 0; i < count; i++)
        for (int64_t at_ms = intervals[i].begin_ms; at_ms < intervals[i].end_ms;) {
            int64_t hour = (at_ms - from_ms) / HOUR_MS, next_ms = from_ms + (hour + 1) * HOUR_MS;
            int64_t until_ms = next_ms < intervals[i].end_ms ? next_ms : intervals[i].end_ms;
            shares[hour] += (double)(until_ms - at_ms) / (double)HOUR_MS;
            at_ms = until_ms;
        }
}

/*  In proportion to demand, relative to its largest value in the known past and the coming hours. False: demand is
 *  unknown and the peak is reserved, since inference without a GPU is worse than a job that waits. */
static bool reserve_by_series(composer_t *self, const helio_window_t *window, double reserve[HOURS], int64_t *issued_ms)
{
    const helio_feed_t *feed = NULL;
    for (uint32_t i = 0; !feed && i < self->from->settings->feeds.count; i++)
        if (self->from->settings->feeds.items[i].signal == HELIO_FEED_LOAD &&
            helio_text_equal(self->from->settings->feeds.items[i].name, window->series))
            feed = &self->from->settings->feeds.items[i];
    uint32_t before = self->out->series.count;
    bool told =
        feed && composer_add_feed(self, HELIO_SIGNAL_FREE_GPUS, feed, 0); /* room to compute in; removed below */
    const helio_series_t *load = &self->out->series.items[before];
    double most = 0;
    for (uint32_t i = 0; told && i < HOURS; i++)
        most = fmax(most, load->values.items[i]);
    if (told && feed->source != HELIO_SOURCE_STATIC) {
        helio_hours_t hours = helio_track_hours(&self->from->tracks[feed - self->from->settings->feeds.items]);
        for (uint32_t i = 0; i < hours.count; i++)
            most = fmax(most, hours.values[i]); /* fmax ignores NAN */
    }
    for (uint32_t i = 0; i < HOURS; i++)
        reserve[i] += told && most > 0 ? ceil(window->peak_gpus * fmax(load->values.items[i], 0) / most - 1e-9)
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
        if (series->signal == HELIO_SIGNAL_FREE_GPUS && helio_text_equal(series->pool, pool) && series->step_s &&
            series->values.count)
            return series;
    }
    return NULL;
}

/*  The value at a time; before the series the first value, after it the last. */
static double value_at(const helio_series_t *series, int64_t wall_ms)
{
    int64_t index =
        wall_ms < series->start_wall_ms ? 0 : (wall_ms - series->start_wall_ms) / (INT64_C(1000) * series->step_s);
    return series->values.items[index < series->values.count ? (uint32_t)index : series->values.count - 1];
}

/*  True if the pool has windows at all; *ret_known: no guess was needed. */
static bool reserve_of(composer_t *self, helio_text_t pool, double reserve[HOURS], bool *ret_known, int64_t *issued_ms)
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
            composer_shares(self, window->when, shares);
        for (uint32_t i = 0; i < HOURS; i++) /* GPUs reserved for a part of an hour are reserved for the whole hour */
            reserve[i] += !window->when.size || shares[i] > 0 ? window->reserve_gpus : 0;
    }
    return any;
}

void composer_add_free(composer_t *self, const helio_pool_t *pool)
{
    double reserve[HOURS] = {0};
    bool known = true;
    int64_t issued_ms = self->issued_ms;
    if (!self->from->settings || !reserve_of(self, pool->name, reserve, &known, &issued_ms))
        return;
    const helio_series_t *backend = backend_free(self, pool->name);
    helio_series_t *series = composer_add(self, HELIO_SIGNAL_FREE_GPUS, HELIO_TEXT("windows"));
    series->pool = pool->name;
    series->estimated = !known || (backend && backend->estimated);
    if (backend && backend->issued_wall_ms > issued_ms && backend->issued_wall_ms <= self->wall_ms)
        issued_ms = backend->issued_wall_ms;
    series->issued_wall_ms = issued_ms;
    if (backend)
        series->source =
            helio_arena_printf(self->arena, "%.40s less windows", helio_arena_string(self->arena, backend->source));
    for (uint32_t i = 0; i < HOURS; i++) {
        double all = backend ? value_at(backend, (self->hour + (int64_t)i) * HOUR_MS)
                             : (double)pool->nodes * pool->gpus_per_node;
        series->values.items[i] = fmax(all - reserve[i], 0);
    }
}

/*  The longest step within which no window begins or ends: a reservation begins and ends on the minute. */
static uint32_t step_of(const composer_t *self, helio_text_t pool)
{
    static const uint32_t steps_s[] = {900, 300, 60};
    const helio_windows_t *windows = &self->from->settings->windows;
    uint32_t at = 0;
    for (uint32_t n = 0; n < windows->count; n++) {
        helio_interval_t *intervals;
        uint32_t count = helio_text_equal(windows->items[n].pool, pool)
                             ? composer_intervals(self, windows->items[n].when, &intervals)
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
    uint32_t count = window->when.size && !window->series.size ? composer_intervals(self, window->when, &intervals) : 1;
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

/*  What is reserved of a pool, and until when: the broker frees it in time. */
void composer_add_reserved(composer_t *self, helio_text_t pool)
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
