/*  compose.c -- composes the published series of a site from profile, tariff, feeds, windows and backend. */
#include "site-agent/feeds/compose.h"

#include <math.h>

#include "federation/base/number.h"
#include "site-agent/feeds/composer.h"

enum { POWER_FRESH_H = 2 };

static helio_series_t *newest(const composer_t *self)
{
    return &self->out->series.items[self->out->series.count - 1];
}

static void add_carbon(composer_t *self)
{
    const double static_g = self->from->profile->carbon_g_per_kwh;
    bool told = false; /* an hourly average: a yearly one adds nothing */
    const helio_feed_t *failed = NULL;
    for (uint32_t i = 0; self->from->settings && i < self->from->settings->feeds.count; i++) {
        const helio_feed_t *feed = &self->from->settings->feeds.items[i];
        if (feed->signal != HELIO_FEED_CARBON)
            continue;
        if (!composer_add_feed(self, HELIO_SIGNAL_CARBON, feed, 0)) {
            failed = helio_text_is(feed->kind, "average") ? feed : failed;
            continue;
        }
        helio_series_t *series = newest(self);
        series->kind = feed->kind;
        series->factor = feed->factor;
        told |= helio_text_is(feed->kind, "average");
    }
    if (told || static_g < 0)
        return;
    helio_series_t *series = composer_add_constant(self, HELIO_SIGNAL_CARBON, HELIO_TEXT("static"), static_g);
    series->kind = HELIO_TEXT("average");
    series->factor = HELIO_TEXT("lifecycle");
    series->estimated = true; /* a yearly figure holds for every hour */
    composer_mark_failed(self, failed, series);
}

/*  Each line of the tariff takes what the lines before it left of each hour. Where two lines share a part of an hour,
 *  the rest of that hour is divided by share, not by minute, which is precise enough within an hour. */
static void add_tariff(composer_t *self)
{
    const helio_feeds_settings_t *settings = self->from->settings;
    helio_series_t *series = composer_add(self, HELIO_SIGNAL_ELECTRICITY, HELIO_TEXT("tariff"));
    double left[HOURS], shares[HOURS];
    for (uint32_t i = 0; i < HOURS; i++)
        left[i] = 1;
    for (uint32_t n = 0; n < settings->tariff.count; n++) {
        composer_shares(self, settings->tariff.items[n].when, shares);
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
    const helio_feed_t *feed = composer_feed_of(self, HELIO_FEED_ELECTRICITY, (helio_text_t){0});
    if (feed && composer_add_feed(self, HELIO_SIGNAL_ELECTRICITY, feed, -INFINITY))
        return;
    if (self->from->settings && self->from->settings->tariff.count)
        add_tariff(self);
    else
        (void)composer_add_constant(self, HELIO_SIGNAL_ELECTRICITY, HELIO_TEXT("static"),
                                    self->from->profile->electricity_usd_per_kwh);
    composer_mark_failed(self, feed, newest(self));
}

static void add_prices(composer_t *self)
{
    for (uint32_t p = 0; p < self->from->profile->pools.count; p++) {
        const helio_pool_t *pool = &self->from->profile->pools.items[p];
        const helio_feed_t *feed = composer_feed_of(self, HELIO_FEED_PRICE, pool->name);
        uint32_t before = self->out->series.count;
        if (!feed || !composer_add_feed(self, HELIO_SIGNAL_PRICE, feed, -INFINITY))
            if (helio_pool_rent_usd(pool) > 0)
                composer_mark_failed(
                    self, feed,
                    composer_add_constant(self, HELIO_SIGNAL_PRICE, HELIO_TEXT("static"), helio_pool_rent_usd(pool)));
        if (self->out->series.count > before)
            self->out->series.items[before].pool = pool->name;
    }
}

static void add_pue(composer_t *self)
{
    const helio_feed_t *feed = composer_feed_of(self, HELIO_FEED_PUE, (helio_text_t){0});
    if (!feed || !composer_add_feed(self, HELIO_SIGNAL_PUE, feed, 1))
        composer_mark_failed(
            self, feed, composer_add_constant(self, HELIO_SIGNAL_PUE, HELIO_TEXT("static"), self->from->profile->pue));
    helio_series_t *series = newest(self);
    const helio_f64s_t all[] = {series->values, series->p10, series->p90};
    for (size_t n = 0; n < sizeof all / sizeof all[0]; n++)
        for (uint32_t i = 0; i < all[n].count; i++)
            all[n].items[i] = fmax(all[n].items[i], 1); /* a PUE below 1 is an error of the feed */
}

/*  The backend's series of pools without windows, and of anything else. */
static void add_backend(composer_t *self)
{
    uint32_t own = self->out->series.count;
    for (uint32_t i = 0; self->from->backend && i < self->from->backend->series.count; i++) {
        const helio_series_t *series = &self->from->backend->series.items[i];
        bool replaced = false;
        for (uint32_t n = 0; n < own; n++)
            replaced |= self->out->series.items[n].signal == series->signal &&
                        helio_text_equal(self->out->series.items[n].pool, series->pool);
        if (replaced || self->out->series.count >= HELIO_SERIES_MAX)
            continue;
        helio_series_t *added = &self->out->series.items[self->out->series.count++];
        *added = *series;
        added->feed_state = HELIO_FEED_STATE_CURRENT; /* no feed that could fail */
    }
}

static double power_of(const composer_t *self)
{
    const helio_feed_t *feed = composer_feed_of(self, HELIO_FEED_POWER, (helio_text_t){0});
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

void helio_compose(const helio_compose_t *from, int64_t wall_ms, helio_arena_t *arena, helio_aev_series_t *ret_series)
{
    helio_zone_t *utc = from->zone ? NULL : helio_zone_fixed(0);
    helio_compose_t with_zone = *from;
    with_zone.zone = from->zone ? from->zone : utc;
    helio_aev_series_t all = {0};
    composer_t self = {
        .from = &with_zone, .wall_ms = wall_ms, .hour = helio_floor(wall_ms, HOUR_MS), .arena = arena, .out = &all};
    self.issued_ms = self.hour * HOUR_MS > from->opened_wall_ms ? self.hour * HOUR_MS : from->opened_wall_ms;
    size_t most = 4 + 3 * (size_t)from->profile->pools.count + (from->settings ? from->settings->feeds.count : 0) +
                  (from->backend ? from->backend->series.count : 0);
    all.series.items = helio_arena_alloc(arena, most, sizeof *all.series.items);
    add_carbon(&self);
    add_electricity(&self);
    add_pue(&self);
    add_prices(&self);
    for (uint32_t p = 0; p < from->profile->pools.count; p++) {
        composer_add_free(&self, &from->profile->pools.items[p]);
        composer_add_reserved(&self, from->profile->pools.items[p].name);
    }
    add_backend(&self);
    all.power_w = power_of(&self);
    helio_zone_destroy(&utc);
    *ret_series = all;
}
