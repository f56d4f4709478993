/*  account.h -- what an attempt used, split exactly at hour boundaries. Integers: milliseconds, joules,
 * milligrams, micro-dollars. Pure.
 *
 *  Energy of g GPUs at utilisation u over t seconds, where nothing was measured:
 *      E [J] = PUE * g * (host_w + base_w + slope_w * u) * t            (linear power model,
 * docs/accounting.md) Carbon [mg] = E / 3.6e6 * intensity [g/kWh] * 1000. Cost [micro-USD] = GPU-hours *
 * price + (owned pools) kWh * electricity price; negative prices count.
 */
#ifndef HELIO_ENERGY_ACCOUNT_H
#define HELIO_ENERGY_ACCOUNT_H

#include "federation/model/site.h"

/*  What a GPU-hour or a kWh costs at a pool of a site, now. */
typedef struct helio_hourly_price {
    double watts_per_gpu; /* without PUE */
    double pue;
    double price_usd_per_gpu_h;
    double electricity_usd_per_kwh; /* 0 for pools that are rented */
    double carbon_g_per_kwh;        /* 0 when not known */
} helio_hourly_price_t;

/*  Rates from a site's static figures at the given utilisation (0..1). */
helio_hourly_price_t helio_hourly_price_of(const helio_site_profile_t *site, const helio_pool_t *pool,
                                           double utilisation);

typedef struct helio_account {
    uint64_t gpu_ms;
    uint64_t energy_j;
    uint64_t carbon_mg;
    int64_t cost_micro_usd;
} helio_account_t;

/*  For gpu_ms of use. measured_j > 0 replaces the model's energy (it is the GPUs' and hosts' own; PUE is
 * applied). */
helio_account_t helio_account_of(const helio_hourly_price_t *hourly_prices, uint64_t gpu_ms, uint64_t measured_j);

typedef struct helio_account_slice {
    int64_t hour_ms; /* Unix ms of the hour's begin */
    helio_account_t use;
} helio_account_slice_t;

/*  Splits a total over [start_ms, start_ms + run_ms) in proportion to the time in each hour; the slices add
 * up to the total exactly. Returns the count; *ret_slices lives in the arena. run_ms 0 gives one slice. */
uint32_t helio_account_split(const helio_account_t *total, int64_t start_ms, uint64_t run_ms,
                             helio_arena_t *arena, helio_account_slice_t **ret_slices);

/*  The same where intensity and prices change by the hour: gpu_ms and measured energy are split by time, and
 * each hour's carbon and cost come from that hour's own energy and rates. hourly[i] holds for the i-th hour
 * that the run touches; after the last one known, that one again (rate_count >= 1). Fractions are carried
 * from hour to hour: the slices add up to *ret_total exactly, and that is the whole rounded once. measured_j
 * > 0 replaces the model's energy for the whole run; the model's follows each hour's watts and PUE. */
uint32_t helio_account_hourly(const helio_hourly_price_t *hourly, uint32_t rate_count, int64_t start_ms,
                              uint64_t run_ms, uint64_t gpu_ms, uint64_t measured_j, helio_arena_t *arena,
                              helio_account_slice_t **ret_slices, helio_account_t *ret_total);

/*  How many hours [start_ms, start_ms + run_ms) touches, and the begin of the first. At least one. */
uint32_t helio_account_hours(int64_t start_ms, uint64_t run_ms, int64_t *ret_first_ms);

#endif
