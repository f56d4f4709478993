/*  booked.c -- the agent's book of what no job is charged for (telemetry/book.h): looked at by the clock, told beside
 * the series of the feeds. */
#include <stdlib.h>

#include "federation/base/clock.h"
#include "site-agent/agent/internal.h"

enum { BOOK_KEEP_MS = 60000 };

void agent_open_book(helio_agent_t *self)
{
    helio_book_options_t options = {.profile = &self->settings.site,
                                    .nvml = self->settings.nvml,
                                    .state_dir = self->settings.state_dir.data,
                                    .wall_ms = helio_clock_wall_ms()};
    self->settings.book = helio_book_new(&options);
}

static void keep(helio_agent_t *self)
{
    helio_error_t err = {0};
    char quoted[700];
    self->book_keep_ms = helio_clock_boot_ms() + BOOK_KEEP_MS;
    if (helio_book_keep(self->settings.book, &err) != HELIO_OK)
        helio_log(self->parts.log, HELIO_WARN, "energy_not_kept", "text=%s",
                  helio_log_quote(helio_text_of(err.text), quoted, sizeof quoted));
}

void agent_close_book(helio_agent_t *self)
{
    helio_timer_destroy(&self->book_timer);
    if (self->settings.book)
        keep(self);
    helio_book_destroy(&self->settings.book);
}

bool agent_tick_book(helio_agent_t *self)
{
    helio_book_t *book = self->settings.book;
    int64_t wall_ms = helio_clock_wall_ms();
    for (uint32_t p = 0; p < self->settings.site.pools.count; p++) {
        helio_pool_use_t use;
        if (helio_agent_core_pool_use(self->core, p, &use))
            helio_book_use(book, p, use.total, use.ours, use.others);
    }
    helio_book_tick(book, wall_ms);
    if (helio_clock_boot_ms() >= self->book_keep_ms)
        keep(self);
    return helio_book_news(book, wall_ms);
}

/*  The PUE that is published now is the one that counts from here on. */
void agent_add_book(helio_agent_t *self, int64_t wall_ms, helio_arena_t *arena, helio_aev_series_t *series)
{
    uint32_t before = series->series.count, pools = self->settings.site.pools.count;
    helio_series_t *all = helio_arena_alloc(arena, (size_t)before + 3 * (size_t)pools + 1, sizeof *all);
    for (uint32_t i = 0; i < before; i++) {
        all[i] = series->series.items[i];
        if (all[i].signal == HELIO_SIGNAL_PUE && !all[i].pool.size && all[i].values.count)
            helio_book_pue(self->settings.book, all[i].values.items[0]);
    }
    uint32_t count = before + helio_book_series(self->settings.book, wall_ms, arena, all + before);
    series->series.items = all;
    series->series.count = count < HELIO_SERIES_MAX ? count : HELIO_SERIES_MAX;
}

void agent_on_meter(void *arg, const helio_feed_t *feed, const helio_points_t *points)
{
    helio_agent_t *self = arg;
    helio_book_reading_t *readings = helio_new(points->count, sizeof *readings);
    uint32_t count = 0;
    for (uint32_t i = 0; i < points->count; i++)
        if (!points->items[i].forecast)
            readings[count++] = (helio_book_reading_t){points->items[i].time_ms, points->items[i].value};
    bool cumulative = feed->unit.size > 1 && feed->unit.data[feed->unit.size - 1] == 'h';
    helio_book_read(self->settings.book, readings, count, cumulative, feed->name, helio_clock_wall_ms());
    free(readings);
}
