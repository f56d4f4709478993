/*  account.h -- the use of an attempt, split exactly at hour boundaries. Integers: milliseconds, joules, milligrams,
 *  micro-dollars. Pure.
 *
 *  Energy of g GPUs at utilisation u over t seconds, where nothing was measured (linear power model,
 *  docs/accounting.md):
 *
 *      E [J]            = PUE * g * (host_w + base_w + slope_w * u) * t
 *      carbon [mg]      = E / 3.6e6 * intensity [g/kWh] * 1000
 *      cost [micro-USD] = GPU-hours * price + (owned pools) kWh * electricity price; prices may be negative
 */
#ifndef HELIO_ENERGY_ACCOUNT_H
#define HELIO_ENERGY_ACCOUNT_H

#include "federation/model/site.h"

/*  The current price of a GPU-hour and of a kWh at a pool. */
typedef struct helio_hourly_price {
    double watts_per_gpu; /* without PUE */
    double pue;
    double price_usd_per_gpu_h;
    double electricity_usd_per_kwh; /* 0 for rented pools */
    double carbon_g_per_kwh;        /* 0 = unknown */
} helio_hourly_price_t;

/*  The hourly price from a site's static figures at the given utilisation (0..1). */
helio_hourly_price_t helio_hourly_price_of(const helio_site_profile_t *site, const helio_pool_t *pool,
                                           double utilisation);

typedef struct helio_account {
    uint64_t gpu_ms;
    uint64_t energy_j;
    uint64_t carbon_mg;
    int64_t cost_micro_usd;
} helio_account_t;

/*  The account of gpu_ms of use. measured_j > 0 replaces the modelled energy: it is what the GPUs used, without their
 *  hosts and without PUE. PUE is applied here; the hosts are overhead of the site then (site-agent/telemetry). */
helio_account_t helio_account_of(const helio_hourly_price_t *hourly_price, uint64_t gpu_ms, uint64_t measured_j);

typedef struct helio_account_slice {
    int64_t hour_ms; /* beginning of the hour, Unix ms */
    helio_account_t use;
} helio_account_slice_t;

/*  Splits a total over [start_ms, start_ms + run_ms) in proportion to the time in each hour. The slices add up to
 *  the total exactly. Returns the count; *ret_slices lives in the arena. run_ms 0 gives one slice. */
uint32_t helio_account_split(const helio_account_t *total, int64_t start_ms, uint64_t run_ms, helio_arena_t *arena,
                             helio_account_slice_t **ret_slices);

/*  The account of a run, hour by hour. gpu_ms and measured energy are split by time; modelled energy, carbon and cost
 *  of an hour follow from its watts, PUE, intensity and prices. hourly[i] applies to the i-th hour that the run
 *  touches; the last entry applies to all later hours (rate_count >= 1). measured_j > 0 replaces the modelled energy of
 *  the whole run. The sum over all hours is rounded to *ret_total, and the slices add up to it exactly, because
 *  fractions are carried from hour to hour. */
uint32_t helio_account_hourly(const helio_hourly_price_t *hourly, uint32_t rate_count, int64_t start_ms,
                              uint64_t run_ms, uint64_t gpu_ms, uint64_t measured_j, helio_arena_t *arena,
                              helio_account_slice_t **ret_slices, helio_account_t *ret_total);

/*  Number of hours that [start_ms, start_ms + run_ms) touches, at least one, and the beginning of the first. */
uint32_t helio_account_hours(int64_t start_ms, uint64_t run_ms, int64_t *ret_first_ms);

#endif
