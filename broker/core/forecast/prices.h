/*  prices.h -- hourly prices: what an hour at a pool costs, and what a run is charged. */
#ifndef HELIO_BROKER_CORE_FORECAST_PRICES_H
#define HELIO_BROKER_CORE_FORECAST_PRICES_H

#include "broker/core/state/nouns.h"
#include "broker/model/rows_account.h"
#include "broker/model/rows_site.h"
#include "federation/energy/account.h"
#include "federation/policy/history.h"

enum { PRICED_HOURS = 64 }; /* prices of a pool's hours that are kept in memory */

/*  The price of one hour at a pool; valid while the site's history_version is unchanged. */
typedef struct priced_hour {
    int64_t hour_ms;
    uint64_t version;
    uint64_t hourly_price_id;
    helio_hourly_price_t hourly_price;
    char carbon_kind[41]; /* kind and factor; "" = intensity unknown */
    bool estimated;
} priced_hour_t;

/*  The hours of one signal of a site, or of one of its pools. */
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
    const char *carbon_kind; /* kind and factor; "mixed" if its hours differ; "" = unknown for some hour */
    bool estimated;
    bool power_assumed; /* the site gives no power of that GPU model */
} bill_t;

typedef struct bill_terms {
    double watts_or;  /* of a GPU, if the pool's power is unknown; 0 = the highest of all models */
    double rent_most; /* USD for a GPU-hour: what a dearer hour is charged; 0 = whatever the site states */
} bill_terms_t;

/*  The charge of a run. pool NULL = a pool of unknown power, without price. In the arena of the step's effects. Writes
 *  rows of hourly prices that were not used before. */
bill_t core_bill(helio_broker_core_t *self, site_t *site, pool_t *pool, int64_t start_ms, uint64_t run_ms,
                 uint64_t gpu_ms, uint64_t measured_j, bill_terms_t terms);
/*  The series that the row stores; its texts and values are the row's. */
helio_series_t core_series_of(const helio_row_series_t *row);
/*  Takes a new series into the site's histories, and writes the actual values that it changes. */
void core_history_take(helio_broker_core_t *self, site_t *site, const helio_row_series_t *row);
void core_history_load(helio_broker_core_t *self, const helio_row_actual_t *row);
void core_history_load_series(helio_broker_core_t *self, const helio_row_series_t *row);
void core_histories_free(site_t *site);
/*  Intensity of the hour in mg/kWh, by the latest issue; < 0 = unknown. pool NULL = the site's own. */
double core_carbon_at(const site_t *site, const pool_t *pool, int64_t hour_ms);

#endif
