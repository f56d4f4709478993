/*  prices.c -- what an hour at a pool costs: by the latest values of the site's series for that hour, else by the
 *  static figures. The price of an hour is computed once, and again when the site reports new values. */
#include "broker/core/forecast/prices.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "federation/energy/power.h"
#include "federation/policy/prices.h"

enum { HISTORIES_MAX = 128 }; /* signals of a site whose hours are kept */

static bool is_priced(uint32_t signal)
{
    return signal == HELIO_SIGNAL_PRICE || signal == HELIO_SIGNAL_ELECTRICITY || signal == HELIO_SIGNAL_CARBON ||
           signal == HELIO_SIGNAL_PUE;
}

static helio_history_t *history_of(const site_t *site, uint32_t signal, helio_text_t pool)
{
    for (uint32_t i = 0; i < site->history_count; i++)
        if (site->histories[i].signal == signal && helio_text_is(pool, site->histories[i].pool))
            return site->histories[i].history;
    return NULL;
}

/*  NULL: the site has no such pool, or too many signals. */
static helio_history_t *history_get(site_t *site, uint32_t signal, helio_text_t pool)
{
    helio_history_t *history = history_of(site, signal, pool);
    if (history || site->history_count == HISTORIES_MAX || (pool.size && !core_pool_find(site, pool)))
        return history;
    site->histories = helio_grow(site->histories, site->history_count + 1, sizeof *site->histories);
    signal_history_t *made = &site->histories[site->history_count++];
    *made = (signal_history_t){.signal = signal, .history = helio_history_new(signal)};
    (void)helio_text_copy(pool, made->pool, sizeof made->pool);
    return made->history;
}

void core_histories_free(site_t *site)
{
    for (uint32_t i = 0; i < site->history_count; i++)
        helio_history_destroy(&site->histories[i].history);
    free(site->histories);
    site->histories = NULL;
    site->history_count = 0;
}

helio_series_t core_series_of(const helio_row_series_t *row)
{
    return (helio_series_t){
        .signal = row->signal,
        .pool = row->pool,
        .kind = row->kind,
        .factor = row->factor,
        .source = row->source,
        .estimated = row->estimated,
        .issued_wall_ms = row->issued_ms,
        .start_wall_ms = row->start_ms,
        .step_s = row->step_s,
        .values = row->values,
        .p10 = row->p10,
        .p90 = row->p90,
        .feed_state = row->feed_state,
        .last_value_ms = row->last_value_ms,
    };
}

typedef struct teller {
    helio_broker_core_t *core;
    const helio_row_series_t *row;
} teller_t;

static void write_actual(void *arg, const helio_history_value_t *value)
{
    const teller_t *teller = arg;
    helio_row_actual_t row = {
        .site = teller->row->site,
        .pool = teller->row->pool,
        .signal = teller->row->signal,
        .hour_ms = value->hour_ms,
        .value = value->value,
        .kind = helio_arena_text(teller->core->effects->arena, value->kind),
        .factor = helio_arena_text(teller->core->effects->arena, value->factor),
        .source = helio_arena_text(teller->core->effects->arena, value->source),
        .estimated = value->estimated,
        .issued_ms = value->issued_ms,
        .feed_state = value->feed_state,
        .last_value_ms = value->last_value_ms,
    };
    core_emit(teller->core, HELIO_BROKER_FX_ROW_ACTUAL, &row);
}

void core_history_take(helio_broker_core_t *self, site_t *site, const helio_row_series_t *row)
{
    helio_history_t *history = is_priced(row->signal) ? history_get(site, row->signal, row->pool) : NULL;
    if (!history)
        return;
    helio_series_t series = core_series_of(row);
    teller_t teller = {self, row};
    helio_history_take(history, &series, self->wall_ms, write_actual, &teller);
    site->history_version++;
}

void core_history_load(helio_broker_core_t *self, const helio_row_actual_t *row)
{
    site_t *site = core_site_find(self, row->site);
    helio_history_t *history = site && is_priced(row->signal) ? history_get(site, row->signal, row->pool) : NULL;
    if (!history)
        return;
    helio_history_value_t value = {
        .hour_ms = row->hour_ms,
        .value = row->value,
        .estimated = row->estimated,
        .issued_ms = row->issued_ms,
        .source = row->source,
        .kind = row->kind,
        .factor = row->factor,
        .feed_state = row->feed_state,
        .last_value_ms = row->last_value_ms,
    };
    helio_history_restore(history, &value, self->wall_ms);
}

void core_history_load_series(helio_broker_core_t *self, const helio_row_series_t *row)
{
    site_t *site = core_site_find(self, row->site);
    helio_history_t *history = site && is_priced(row->signal) ? history_get(site, row->signal, row->pool) : NULL;
    if (!history)
        return;
    helio_series_t series = core_series_of(row);
    helio_history_take(history, &series, self->wall_ms, NULL, NULL);
}

/*  The value of an hour: from the pool's own series, the site's series, or the static figure; of a signal without a
 *  static figure, the nearest hour. A static figure that replaces a feed, or stands for an intensity, is an estimate;
 *  else it is what was agreed. */
static helio_history_value_t figure_of(const site_t *site, const pool_t *pool, uint32_t signal, int64_t hour_ms,
                                       bool has_static, double figure)
{
    helio_history_value_t value = {.value = has_static && isfinite(figure) ? figure : 0};
    const helio_history_t *own = pool ? history_of(site, signal, pool->info.name) : NULL;
    const helio_history_t *shared = history_of(site, signal, (helio_text_t){0});
    if ((own && helio_history_at(own, hour_ms, &value)) || (shared && helio_history_at(shared, hour_ms, &value)))
        return value;
    /* A static price of 0 is one that was not given: it must not replace a feed that has ended. */
    bool not_given = has_static && figure == 0 && (own || shared);
    if (not_given && ((own && helio_history_nearest(own, hour_ms, &value)) ||
                      (shared && helio_history_nearest(shared, hour_ms, &value)))) {
        value.estimated = true;
        return value;
    }
    if (!has_static) {
        bool found = (own && helio_history_nearest(own, hour_ms, &value)) ||
                     (shared && helio_history_nearest(shared, hour_ms, &value));
        (void)found; /* else all zero: unknown */
        return value;
    }
    value.source = HELIO_TEXT("static");
    value.kind = HELIO_TEXT("average");
    value.estimated = own || shared || signal == HELIO_SIGNAL_CARBON;
    return value;
}

static helio_history_value_t reported_carbon(const site_t *site, const pool_t *pool, int64_t hour_ms)
{
    const helio_site_profile_t *profile = &site->profile;
    return figure_of(site, pool, HELIO_SIGNAL_CARBON, hour_ms, profile->carbon_g_per_kwh >= 0,
                     profile->carbon_g_per_kwh);
}

/*  A source can lack a name. */
static bool is_reported(const helio_history_value_t *value)
{
    return value->source.size || value->kind.size || value->issued_ms;
}

double core_carbon_at(const site_t *site, const pool_t *pool, int64_t hour_ms)
{
    helio_history_value_t carbon = reported_carbon(site, pool, hour_ms);
    return is_reported(&carbon) && carbon.value >= 0 ? carbon.value * 1000 : -1;
}

/*  A missing intensity must not count as a clean grid. It has no kind, so that it is compared with nothing. */
static helio_history_value_t carbon_of(const site_t *site, const pool_t *pool, int64_t hour_ms)
{
    helio_history_value_t carbon = reported_carbon(site, pool, hour_ms);
    if (is_reported(&carbon))
        return carbon;
    return (helio_history_value_t){
        .value = HELIO_UNKNOWN_G_PER_KWH, .estimated = true, .source = HELIO_TEXT("assumed")};
}

static helio_row_hourly_price_t hourly_price_row(const site_t *site, const pool_t *pool, int64_t hour_ms)
{
    static const helio_pool_t no_pool = {.gpus_per_node = 1}; /* of an unknown model */
    const helio_site_profile_t *profile = &site->profile;
    const helio_pool_t *info = pool ? &pool->info : &no_pool;
    helio_hourly_price_t fixed = helio_hourly_price_of(profile, info, 1);
    helio_history_value_t pue = figure_of(site, pool, HELIO_SIGNAL_PUE, hour_ms, true, fixed.pue);
    helio_history_value_t rent = figure_of(site, pool, HELIO_SIGNAL_PRICE, hour_ms, true, fixed.price_usd_per_gpu_h);
    helio_history_value_t tariff = {0};
    if (info->owned)
        tariff = figure_of(site, pool, HELIO_SIGNAL_ELECTRICITY, hour_ms, true, fixed.electricity_usd_per_kwh);
    helio_history_value_t carbon = carbon_of(site, pool, hour_ms);
    return (helio_row_hourly_price_t){
        .site = helio_text_of(site->name),
        .pool = info->name,
        .hour_ms = hour_ms,
        .watts_per_gpu = isfinite(fixed.watts_per_gpu) ? fixed.watts_per_gpu : 0,
        .pue = pue.value,
        .pue_source = pue.source,
        .pue_issued_ms = pue.issued_ms,
        .pue_estimated = pue.estimated,
        .price_usd_per_gpu_h = rent.value,
        .price_source = rent.source,
        .price_issued_ms = rent.issued_ms,
        .price_estimated = rent.estimated,
        .electricity_usd_per_kwh = tariff.value,
        .electricity_source = tariff.source,
        .electricity_issued_ms = tariff.issued_ms,
        .electricity_estimated = tariff.estimated,
        .carbon_g_per_kwh = carbon.value,
        .carbon_kind = carbon.kind,
        .carbon_factor = carbon.factor,
        .carbon_source = carbon.source,
        .carbon_issued_ms = carbon.issued_ms,
        .carbon_estimated = carbon.estimated,
        .pue_feed_state = pue.feed_state,
        .pue_last_value_ms = pue.last_value_ms,
        .price_feed_state = rent.feed_state,
        .price_last_value_ms = rent.last_value_ms,
        .electricity_feed_state = tariff.feed_state,
        .electricity_last_value_ms = tariff.last_value_ms,
        .carbon_feed_state = carbon.feed_state,
        .carbon_last_value_ms = carbon.last_value_ms,
    };
}

/*  rent_most: as in bill_terms_t. */
static priced_hour_t price_hour(helio_broker_core_t *self, const site_t *site, const pool_t *pool, int64_t hour_ms,
                                double rent_most)
{
#ifdef HELIO_MUTANT_priced_by_now
    helio_row_hourly_price_t row = hourly_price_row(site, pool, self->wall_ms - self->wall_ms % HELIO_HOUR_MS);
    row.hour_ms = hour_ms;
#else
    helio_row_hourly_price_t row = hourly_price_row(site, pool, hour_ms);
#endif
    if (rent_most > 0 && row.price_usd_per_gpu_h > rent_most) {
        row.price_usd_per_gpu_h = rent_most;
        row.price_source = HELIO_TEXT("placement");
        row.price_feed_state = HELIO_FEED_STATE_UNKNOWN;
        row.price_last_value_ms = 0;
    }
    row.hourly_price_id =
        helio_record_keyed_hash(&helio_row_hourly_price_type, &row, &self->secret) >> 1; /* fits a bigint */
    core_emit(self, HELIO_BROKER_FX_ROW_HOURLY_PRICE, &row);
    priced_hour_t priced_hour = {
        .hour_ms = hour_ms,
        .version = site->history_version,
        .hourly_price_id = row.hourly_price_id,
        .hourly_price = {.watts_per_gpu = row.watts_per_gpu,
                         .pue = row.pue,
                         .price_usd_per_gpu_h = row.price_usd_per_gpu_h,
                         .electricity_usd_per_kwh = row.electricity_usd_per_kwh,
                         .carbon_g_per_kwh = row.carbon_g_per_kwh},
        .estimated = row.carbon_estimated || row.price_estimated || row.electricity_estimated || row.pue_estimated,
    };
    helio_text_t kind = row.carbon_kind.size ? row.carbon_kind : HELIO_TEXT("average");
    helio_history_value_t carbon = reported_carbon(site, pool, row.hour_ms);
    if (is_reported(&carbon))
        (void)snprintf(priced_hour.carbon_kind, sizeof priced_hour.carbon_kind, "%.*s%s%.*s", HELIO_TEXT_ARGS(kind),
                       row.carbon_factor.size ? " " : "", HELIO_TEXT_ARGS(row.carbon_factor));
    return priced_hour;
}

static priced_hour_t priced_hour_at(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t hour_ms)
{
    if (!pool)
        return price_hour(self, site, NULL, hour_ms, 0);
    if (!pool->priced_hour)
        pool->priced_hour = helio_new(PRICED_HOURS, sizeof *pool->priced_hour);
    int64_t at = hour_ms / HELIO_HOUR_MS % PRICED_HOURS;
    priced_hour_t *cached = &pool->priced_hour[at < 0 ? at + PRICED_HOURS : at];
    if (!cached->hourly_price_id || cached->hour_ms != hour_ms || cached->version != site->history_version)
        *cached = price_hour(self, site, pool, hour_ms, 0);
    return *cached;
}

bill_t core_bill(helio_broker_core_t *self, site_t *site, pool_t *pool, int64_t start_ms, uint64_t run_ms,
                 uint64_t gpu_ms, uint64_t measured_j, bill_terms_t terms)
{
    helio_arena_t *arena = self->effects->arena;
    int64_t first_ms;
    bill_t bill = {.count = helio_account_hours(start_ms, run_ms, &first_ms), .carbon_kind = ""};
    bill.power_assumed = !measured_j && (!pool || helio_pool_power_is_assumed(&pool->info));
    bill.estimated = bill.power_assumed;
    helio_hourly_price_t *hourly_prices = helio_arena_alloc(arena, bill.count, sizeof *hourly_prices);
    bill.hourly_price_ids = helio_arena_alloc(arena, bill.count, sizeof *bill.hourly_price_ids);
    for (uint32_t i = 0; i < bill.count; i++) {
        const int64_t hour_ms = first_ms + (int64_t)i * HELIO_HOUR_MS;
        priced_hour_t priced_hour = priced_hour_at(self, site, pool, hour_ms);
        if (terms.rent_most > 0 && priced_hour.hourly_price.price_usd_per_gpu_h > terms.rent_most)
            priced_hour = price_hour(self, site, pool, hour_ms, terms.rent_most);
        hourly_prices[i] = priced_hour.hourly_price;
        if (bill.power_assumed && terms.watts_or > 0)
            hourly_prices[i].watts_per_gpu = terms.watts_or;
        bill.hourly_price_ids[i] = priced_hour.hourly_price_id;
        bill.estimated = bill.estimated || priced_hour.estimated;
        if (i == 0)
            bill.carbon_kind = helio_arena_string(arena, helio_text_of(priced_hour.carbon_kind));
        else if (strcmp(bill.carbon_kind, priced_hour.carbon_kind) != 0)
            bill.carbon_kind = bill.carbon_kind[0] && priced_hour.carbon_kind[0] ? "mixed" : "";
    }
    uint32_t count = helio_account_hourly(hourly_prices, bill.count, start_ms, run_ms, gpu_ms, measured_j, arena,
                                          &bill.slices, &bill.total);
    assert(count == bill.count);
    (void)count;
    return bill;
}
