/*  prices.h -- the prices of carbon and of waiting, and all other constants of the decision. Pure.
 *
 *  All terms are compared in one currency, so a weight is a price: of an emitted tonne of CO2e, and of an hour that the
 *  work of one GPU waits beyond its free waiting time. A goal is a name for such prices; a job may set its own.
 */
#ifndef HELIO_POLICY_PRICES_H
#define HELIO_POLICY_PRICES_H

#include "federation/model/job.h"

/*  NAME, USD per tonne of CO2e, micro-USD per GPU-hour of waiting, micro-USD per GPU-hour on a full pool:
 *
 *  fast            carbon does not count; an hour of waiting costs more than the rent of most GPU-hours;
 *  cheap           carbon does not count; five cents break ties between sites with equal prices and end a wait without
 *                  gain;
 *  balanced        200 USD/t is of the order of published estimates of the damage that a tonne causes;
 *  green           ten times that: carbon decides between sites with similar rents;
 *  follow-the-sun  balanced, and a GPU-hour that others will need costs up to a dollar more, about half of its usual
 *                  rent, and nothing extra where the whole pool will be idle: idle GPUs follow the night, clean power
 *                  follows the day, and the score weighs both.
 */
#define HELIO_PRICES_TABLE(X)   \
    X(FAST, 0, 5000000, 0)      \
    X(CHEAP, 0, 50000, 0)       \
    X(BALANCED, 200, 500000, 0) \
    X(GREEN, 2000, 50000, 0)    \
    X(FOLLOW_THE_SUN, 200, 500000, 1000000)

typedef struct helio_prices {
    int64_t carbon_micro_usd_per_t;
    int64_t wait_micro_usd_per_gpu_h;
    int64_t scarcity_micro_usd_per_gpu_h; /* on a pool without a free GPU; in proportion to the share that is
                                             taken */
} helio_prices_t;

/*  The prices of a goal; those of balanced for a value outside the table. */
helio_prices_t helio_prices_of_goal(uint32_t goal);
/*  The prices of a job: its own if set, clamped to 0 .. HELIO_PRICE_MAX_MICRO_USD. */
helio_prices_t helio_prices_of(const helio_job_spec_t *spec);

#define HELIO_PRICE_MAX_MICRO_USD INT64_C(1000000000000) /* a million USD: keeps every sum within 64 bits */

/*  A pool that does not report how many GPUs will be free counts as half taken: neither as idle nor as full. */
enum { HELIO_UNKNOWN_TAKEN_PER_MILLE = 500 };

/*  How far ahead starts are considered: as far as sites publish what a source foretells (compose.h). */
enum { HELIO_START_AHEAD_H = 96 };

/*  A plan is scored as if it began at the start of the current five minutes. If scores changed with every
 *  millisecond, every evaluation would be a new decision to store, and no verdict could be cached. Deadlines are
 *  checked against the exact time. */
enum { HELIO_SCORE_STEP_MS = 300000 };

/*  Risk: an intensity is taken at its 70th percentile instead of its mean, so that of two equal forecasts the more
 *  certain one wins. With z(0.70) / z(0.90) = 0.5244 / 1.2816 of a normal distribution, that is 409 thousandths of
 *  the way from the mean to p90. */
enum { HELIO_RISK_PER_MILLE_TO_P90 = 409 };
/*  A site that does not report its intensity is scored and charged as if it burnt coal: missing data must not look
 *  clean. (Coal without capture: 740 to 910 g/kWh life cycle, IPCC AR5, WG III, annex III.) */
enum { HELIO_UNKNOWN_G_PER_KWH = 1000 };
/*  Older figures may be wrong: a refused offer costs a minute of waiting on average. */
enum { HELIO_RISK_STALE_AFTER_MS = 10000, HELIO_RISK_STALE_WAIT_MS = 60000 };

/*  Deferral: the saving that a later start needs for every hour of waiting, in millionths of the cost of starting
 *  now (money and carbon). Half of it is enough to keep waiting, so that forecast noise does not end a wait; see
 *  choice.h. Who sets `flexible` has allowed the wait, so this only keeps jobs from waiting for nothing. */
enum { HELIO_DEFER_PPM_AND_H = 200, HELIO_DEFER_HELD_PPM_AND_H = 100 };
/*  And in all at least a cent, or 5 g of CO2e where carbon has a price; half of either while it waits. Nobody waits for
 *  hours for less. */
enum { HELIO_DEFER_LEAST_MICRO_USD = 10000, HELIO_DEFER_LEAST_MG = 5000 };
/*  Margin by which a window must be better than the chosen one, in thousandths of the same cost. */
enum { HELIO_DEFER_SWITCH_PER_MILLE = 10 };

/*  Energy of transferring data over the network between two sites: 0.002 kWh/GB. Aslan, Mayers, Koomey and France,
 *  "Electricity intensity of Internet data transmission" (Journal of Industrial Ecology, 2017) find 0.06 kWh/GB for
 *  2015, halving about every two years: ten years and five halvings later it is 0.0019. */
enum { HELIO_TRANSFER_J_PER_GB = 7200 };

#endif
