/*  transfer.h -- time, money, energy and carbon of transferring a job's data to its site. Pure.
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

/*  Each figure is at most 2^53, so that many can be summed; the time is at most ten years. */
typedef struct helio_transfer {
    uint64_t ms;
    int64_t egress_micro_usd;
    uint64_t energy_j;
    uint64_t carbon_mg;
} helio_transfer_t;

helio_transfer_t helio_transfer_of(uint64_t bytes, const helio_link_t *link, uint64_t mg_per_kwh);
/*  The sum of two consecutive transfers. */
helio_transfer_t helio_transfer_sum(helio_transfer_t a, helio_transfer_t b);
/*  The cost of a transfer to a job with that many waiting GPUs, in micro-USD; lower is better. */
int64_t helio_transfer_score(const helio_transfer_t *self, helio_prices_t prices, uint64_t gpus);

/*  The intensity of a transfer between two sites in mg/kWh: the mean of both; if only one is known, that one. < 0 =
 *  unknown. */
double helio_transfer_intensity(double from_mg_per_kwh, double to_mg_per_kwh);

/*  The prefixes of a URI, longest first: the URI itself, then cut at each slash, with the slash and without.
 *  "s3://a/b": "s3://a/b", "s3://a/", "s3://a", "s3://", "s3:/", "s3:". Begin with size = uri.size + 1. */
bool helio_prefix_next(helio_text_t uri, uint32_t *size);

#endif
