/*  prices.h -- what an hour at a pool costs. */
#ifndef HELIO_BROKER_CORE_FORECAST_PRICES_H
#define HELIO_BROKER_CORE_FORECAST_PRICES_H

#include "broker/core/state/nouns.h"
#include "broker/model/rows_account.h"
#include "broker/model/rows_site.h"
#include "federation/energy/account.h"
#include "federation/policy/history.h"

enum { PRICED_HOURS = 64 }; /* prices of a pool's hours that are kept ready */

/*  What an hour at a pool costs; stands while the site's history_version does. */
typedef struct priced_hour {
    int64_t hour_ms;
    uint64_t version;
    uint64_t hourly_price_id;
    helio_hourly_price_t hourly_prices;
    char carbon_kind[41]; /* kind and factor; "" = its intensity is not known */
    bool estimated;
} priced_hour_t;

/*  The hours of one signal of a site, or of one pool there. */
typedef struct signal_history {
    uint32_t signal;
    char pool[33]; /* "" = the site's */
    helio_history_t *history;
} signal_history_t;

typedef struct bill {
    helio_account_t total;
    helio_account_slice_t *slices;
    uint64_t *hourly_price_ids; /* of each slice */
    uint32_t count;
    const char *carbon_kind; /* kind and factor; "mixed" over hours that differ; "" = of some hour not known */
    bool estimated;
} bill_t;

/*  pool NULL = a pool of no power and no price. In the arena of the step's effects. Writes rows of rates that were not
 *  used before. watts_or: of a GPU where the pool's power is not known. */
bill_t core_bill(helio_broker_core_t *self, site_t *site, pool_t *pool, int64_t start_ms, uint64_t run_ms,
                 uint64_t gpu_ms, uint64_t measured_j, double watts_or);
void core_history_take(helio_broker_core_t *self, site_t *site, const helio_row_series_t *row);
void core_history_load(helio_broker_core_t *self, const helio_row_actual_t *row);
void core_history_load_series(helio_broker_core_t *self, const helio_row_series_t *row);
void core_histories_free(site_t *site);
/*  mg/kWh of the hour, by the latest word on it; < 0 = not known. pool NULL = the site's own. */
double core_carbon_at(const site_t *site, const pool_t *pool, int64_t hour_ms);

#endif
