/*  transfer.h -- what it takes to bring data to where a job runs: time, money, energy, carbon. Pure.
 *
 *  energy = GB x HELIO_TRANSFER_J_PER_GB; carbon = energy x the mean intensity of both ends; money = GB x the link's
 *  egress; time = bits / the link's rate, item after item. GB are 10^9 bytes.
 */
#ifndef HELIO_POLICY_TRANSFER_H
#define HELIO_POLICY_TRANSFER_H

#include "federation/policy/prices.h"

enum { HELIO_LINK_MBPS_MAX = 1000000000, HELIO_LINK_RTT_MS_MAX = 3600000 };
#define HELIO_LINK_EGRESS_MAX_MICRO_USD INT64_C(1000000000) /* a thousand USD per GB */

typedef struct helio_link {
    uint64_t mbps; /* 10^6 bits a second; at least 1 */
    int64_t egress_micro_usd_per_gb;
    uint32_t rtt_ms;
} helio_link_t;

/*  Each figure is at most 2^53, so that sums of many fit; the time at most ten years. */
typedef struct helio_transfer {
    uint64_t ms;
    int64_t egress_micro_usd;
    uint64_t energy_j;
    uint64_t carbon_mg;
} helio_transfer_t;

helio_transfer_t helio_transfer_of(uint64_t bytes, const helio_link_t *link, uint64_t mg_per_kwh);
/*  One after the other. */
helio_transfer_t helio_transfer_sum(helio_transfer_t a, helio_transfer_t b);
/*  What it is worth to a job of so many GPUs that waits for it, in micro-USD; lower is better. */
int64_t helio_transfer_score(const helio_transfer_t *self, helio_prices_t prices, uint64_t gpus);

/*  The intensity of a transfer between two places, mg/kWh: their mean; of one where the other's is not known. < 0 = not
 *  known. */
double helio_transfer_intensity(double from_mg_per_kwh, double to_mg_per_kwh);

/*  Prefixes that a URI lies under, the longest first: itself, then cut at its slashes, with the slash and without.
 *  "s3://a/b": "s3://a/b", "s3://a/", "s3://a", "s3://", "s3:/", "s3:". Begin with size = uri.size + 1. */
bool helio_prefix_next(helio_text_t uri, uint32_t *size);

#endif
