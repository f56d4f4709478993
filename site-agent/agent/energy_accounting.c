/*  energy_accounting.c -- drives the agent's energy account (telemetry/energy_account.h): ticks it by the clock, and
 *  publishes its series with those of the feeds. */
#include <stdlib.h>

#include "federation/base/clock.h"
#include "site-agent/agent/internal.h"

enum { ENERGY_SAVE_MS = 60000 };

void agent_open_energy_account(helio_agent_t *self)
{
    helio_energy_account_options_t options = {.profile = &self->settings.site,
                                              .nvml = self->settings.nvml,
                                              .state_dir = self->settings.state_dir.data,
                                              .wall_ms = helio_clock_wall_ms()};
    self->settings.energy_account = helio_energy_account_new(&options);
}

static void keep(helio_agent_t *self)
{
    helio_error_t err = {0};
    char quoted[700];
    self->energy_save_ms = helio_clock_boot_ms() + ENERGY_SAVE_MS;
    if (helio_energy_account_save(self->settings.energy_account, &err) != HELIO_OK)
        helio_log(self->parts.log, HELIO_WARN, "energy_not_kept", "text=%s",
                  helio_log_quote(helio_text_of(err.text), quoted, sizeof quoted));
}

void agent_close_energy_account(helio_agent_t *self)
{
    helio_timer_destroy(&self->energy_timer);
    if (self->settings.energy_account)
        keep(self);
    helio_energy_account_destroy(&self->settings.energy_account);
}

bool agent_tick_energy_account(helio_agent_t *self)
{
    helio_energy_account_t *energy_account = self->settings.energy_account;
    int64_t wall_ms = helio_clock_wall_ms();
    for (uint32_t p = 0; p < self->settings.site.pools.count; p++) {
        helio_pool_use_t use;
        if (helio_agent_core_pool_use(self->core, p, &use))
            helio_energy_account_use(energy_account, p, use.total, use.ours, use.others);
    }
    helio_energy_account_tick(energy_account, wall_ms);
    if (helio_clock_boot_ms() >= self->energy_save_ms)
        keep(self);
    return helio_energy_account_news(energy_account, wall_ms);
}

/*  The account uses the PUE that is published from now on. */
void agent_add_energy_account(helio_agent_t *self, int64_t wall_ms, helio_arena_t *arena, helio_aev_series_t *series)
{
    uint32_t before = series->series.count, pools = self->settings.site.pools.count;
    helio_series_t *all = helio_arena_alloc(arena, (size_t)before + 3 * (size_t)pools + 1, sizeof *all);
    for (uint32_t i = 0; i < before; i++) {
        all[i] = series->series.items[i];
        if (all[i].signal == HELIO_SIGNAL_PUE && !all[i].pool.size && all[i].values.count)
            helio_energy_account_pue(self->settings.energy_account, all[i].values.items[0]);
    }
    uint32_t count = before + helio_energy_account_series(self->settings.energy_account, wall_ms, arena, all + before);
    series->series.items = all;
    series->series.count = count < HELIO_SERIES_MAX ? count : HELIO_SERIES_MAX;
}

void agent_on_meter(void *arg, const helio_feed_t *feed, const helio_points_t *points)
{
    helio_agent_t *self = arg;
    helio_energy_account_reading_t *readings = helio_new(points->count, sizeof *readings);
    uint32_t count = 0;
    for (uint32_t i = 0; i < points->count; i++)
        if (!points->items[i].forecast)
            readings[count++] = (helio_energy_account_reading_t){points->items[i].time_ms, points->items[i].value};
    bool cumulative = feed->unit.size > 1 && feed->unit.data[feed->unit.size - 1] == 'h';
    helio_energy_account_read(self->settings.energy_account, readings, count, cumulative, feed->name,
                              helio_clock_wall_ms());
    free(readings);
}
