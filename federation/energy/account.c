/*  account.c -- splits use, energy, carbon and cost at the hours, without losing a unit. */
#include "federation/energy/account.h"

#include <assert.h>
#include <math.h>

#include "federation/energy/power.h"

__extension__ typedef __int128 helio_i128_t;

enum { HOUR_MS = 3600000 };

helio_hourly_price_t helio_hourly_price_of(const helio_site_profile_t *site, const helio_pool_t *pool,
                                           double utilisation)
{
    return (helio_hourly_price_t){
        .watts_per_gpu = helio_pool_watts(pool, utilisation),
        .pue = site->pue >= 1 ? site->pue : 1,
        .price_usd_per_gpu_h = helio_pool_rent_usd(pool),
        .electricity_usd_per_kwh = pool->owned ? site->electricity_usd_per_kwh : 0,
        .carbon_g_per_kwh = site->carbon_g_per_kwh > 0 ? site->carbon_g_per_kwh : 0,
    };
}

/*  Rounds to the nearest integer, clamped so that many can be summed: a site can report any figure. */
static int64_t whole(double value)
{
    const double most = 9007199254740992.0; /* 2^53 */
    return isnan(value) ? 0 : llround(fmin(fmax(value, -most), most));
}

helio_account_t helio_account_of(const helio_hourly_price_t *hourly_price, uint64_t gpu_ms, uint64_t measured_j)
{
    double gpu_h = (double)gpu_ms / HOUR_MS;
    double joules = measured_j ? (double)measured_j : hourly_price->watts_per_gpu * (double)gpu_ms / 1000;
    joules *= hourly_price->pue;
    double kwh = joules / 3.6e6;
    return (helio_account_t){
        .gpu_ms = gpu_ms,
        .energy_j = (uint64_t)whole(fmax(joules, 0)),
        .carbon_mg = (uint64_t)whole(fmax(kwh * hourly_price->carbon_g_per_kwh * 1000, 0)),
        .cost_micro_usd =
            whole((gpu_h * hourly_price->price_usd_per_gpu_h + kwh * hourly_price->electricity_usd_per_kwh) * 1e6),
    };
}

/*  total * done / all, truncated; differences of successive values add up to the total exactly. */
static int64_t share(int64_t total, uint64_t done, uint64_t all)
{
    return (int64_t)((helio_i128_t)total * (helio_i128_t)done / (helio_i128_t)all);
}

uint32_t helio_account_hours(int64_t start_ms, uint64_t run_ms, int64_t *ret_first_ms)
{
    int64_t first = start_ms - ((start_ms % HOUR_MS) + HOUR_MS) % HOUR_MS;
    uint64_t into = (uint64_t)(start_ms - first);
    *ret_first_ms = first;
    return run_ms ? (uint32_t)((into + run_ms - 1) / HOUR_MS) + 1 : 1;
}

uint32_t helio_account_split(const helio_account_t *total, int64_t start_ms, uint64_t run_ms, helio_arena_t *arena,
                             helio_account_slice_t **ret_slices)
{
    int64_t first;
    uint32_t count = helio_account_hours(start_ms, run_ms, &first);
    uint64_t into = (uint64_t)(start_ms - first);
    helio_account_slice_t *slices = helio_arena_alloc(arena, count, sizeof *slices);
    helio_account_t before = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t done = (uint64_t)(i + 1) * HOUR_MS - into;
        bool last = i + 1 == count;
        helio_account_t upto = last ? *total
                                    : (helio_account_t){
                                          (uint64_t)share((int64_t)total->gpu_ms, done, run_ms),
                                          (uint64_t)share((int64_t)total->energy_j, done, run_ms),
                                          (uint64_t)share((int64_t)total->carbon_mg, done, run_ms),
                                          share(total->cost_micro_usd, done, run_ms),
                                      };
        slices[i] =
            (helio_account_slice_t){first + (int64_t)i * HOUR_MS,
                                    {upto.gpu_ms - before.gpu_ms, upto.energy_j - before.energy_j,
                                     upto.carbon_mg - before.carbon_mg, upto.cost_micro_usd - before.cost_micro_usd}};
        before = upto;
    }
    *ret_slices = slices;
    return count;
}

/*  The use up to the end of an hour, before rounding. */
typedef struct exact {
    double joules, milligrams, micro_usd;
} exact_t;

static void charge(exact_t *sum, const helio_hourly_price_t *hourly_price, const helio_account_t *share, bool measured)
{
    double joules = measured ? (double)share->energy_j : hourly_price->watts_per_gpu * (double)share->gpu_ms / 1000;
    joules = fmax(joules * hourly_price->pue, 0);
    double kwh = joules / 3.6e6, gpu_h = (double)share->gpu_ms / HOUR_MS;
    sum->joules += joules;
    sum->milligrams += fmax(kwh * hourly_price->carbon_g_per_kwh * 1000, 0);
    sum->micro_usd += (gpu_h * hourly_price->price_usd_per_gpu_h + kwh * hourly_price->electricity_usd_per_kwh) * 1e6;
}

uint32_t helio_account_hourly(const helio_hourly_price_t *hourly, uint32_t rate_count, int64_t start_ms,
                              uint64_t run_ms, uint64_t gpu_ms, uint64_t measured_j, helio_arena_t *arena,
                              helio_account_slice_t **ret_slices, helio_account_t *ret_total)
{
    assert(rate_count > 0);
    helio_account_t whole_run = {.gpu_ms = gpu_ms, .energy_j = measured_j};
    uint32_t count = helio_account_split(&whole_run, start_ms, run_ms, arena, ret_slices);
    helio_account_t total = {0};
    exact_t sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        helio_account_t *use = &(*ret_slices)[i].use;
        charge(&sum, &hourly[i < rate_count ? i : rate_count - 1], use, measured_j > 0);
        helio_account_t upto = {total.gpu_ms + use->gpu_ms, (uint64_t)whole(sum.joules),
                                (uint64_t)whole(sum.milligrams), whole(sum.micro_usd)};
        *use = (helio_account_t){use->gpu_ms, upto.energy_j - total.energy_j, upto.carbon_mg - total.carbon_mg,
                                 upto.cost_micro_usd - total.cost_micro_usd};
        total = upto;
    }
    *ret_total = total;
    return count;
}
