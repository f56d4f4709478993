/*  transfer.c -- computes transfers, and the prefixes of data URIs. */
#include "federation/policy/transfer.h"

#include "federation/base/number.h"
#include "federation/policy/pool_forecast.h"

static const uint64_t MOST = UINT64_C(1) << 53;
static const uint64_t MS_MAX = UINT64_C(10) * 366 * 86400000;
static const uint64_t GPUS_MAX = (uint64_t)HELIO_JOB_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX;

/*  Rounds to the nearest integer, at most `most`; all values are non-negative. */
static uint64_t ratio(helio_i128_t numerator, helio_i128_t denominator, uint64_t most)
{
    helio_i128_t whole = (2 * numerator + denominator) / (2 * denominator);
    return whole > (helio_i128_t)most ? most : (uint64_t)whole;
}

helio_transfer_t helio_transfer_of(uint64_t bytes, const helio_link_t *link, uint64_t mg_per_kwh)
{
    const helio_i128_t gb = 1000000000;
    helio_i128_t joules = (helio_i128_t)bytes * HELIO_TRANSFER_J_PER_GB; /* x 10^-9 */
    return (helio_transfer_t){
        .ms = ratio((helio_i128_t)bytes * 8, (helio_i128_t)(link->mbps ? link->mbps : 1) * 1000, MS_MAX),
        .egress_micro_usd = (int64_t)ratio((helio_i128_t)bytes * link->egress_micro_usd_per_gb, gb, MOST),
        .energy_j = ratio(joules, gb, MOST),
        .carbon_mg = ratio(joules * (helio_i128_t)helio_lesser_u64(mg_per_kwh, UINT64_C(1) << 30), gb * 3600000, MOST),
    };
}

helio_transfer_t helio_transfer_sum(helio_transfer_t a, helio_transfer_t b)
{
    return (helio_transfer_t){
        .ms = helio_lesser_u64(a.ms + b.ms, MS_MAX),
        .egress_micro_usd = (int64_t)helio_lesser_u64((uint64_t)(a.egress_micro_usd + b.egress_micro_usd), MOST),
        .energy_j = helio_lesser_u64(a.energy_j + b.energy_j, MOST),
        .carbon_mg = helio_lesser_u64(a.carbon_mg + b.carbon_mg, MOST),
    };
}

int64_t helio_transfer_score(const helio_transfer_t *self, helio_prices_t prices, uint64_t gpus)
{
    helio_i128_t carbon = (helio_i128_t)self->carbon_mg * prices.carbon_micro_usd_per_t;
    helio_i128_t wait =
        (helio_i128_t)self->ms * (helio_i128_t)helio_lesser_u64(gpus, GPUS_MAX) * prices.wait_micro_usd_per_gpu_h;
    uint64_t sum = (uint64_t)self->egress_micro_usd + ratio(carbon, 1000000000, MOST) + ratio(wait, 3600000, MOST);
    return (int64_t)helio_lesser_u64(sum, MOST);
}

double helio_transfer_intensity(double from_mg_per_kwh, double to_mg_per_kwh)
{
    if (from_mg_per_kwh < 0)
        return to_mg_per_kwh;
    return to_mg_per_kwh < 0 ? from_mg_per_kwh : (from_mg_per_kwh + to_mg_per_kwh) / 2;
}

bool helio_prefix_next(helio_text_t uri, uint32_t *size)
{
    uint32_t at = *size;
    while (at > 1) {
        at--;
        if (at == uri.size || uri.data[at] == '/' || uri.data[at - 1] == '/') {
            *size = at;
            return true;
        }
    }
    return false;
}
