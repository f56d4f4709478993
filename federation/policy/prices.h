/*  prices.h -- what carbon and waiting are worth, and every other constant of the decision. Pure.
 *
 *  Everything is weighed in one currency, so a weight is a price: of a tonne of CO2e that is emitted, and of
 * an hour that one GPU's work waits beyond what it may wait for free. A goal is a name for two prices; a job
 * may give its own.
 */
#ifndef HELIO_POLICY_PRICES_H
#define HELIO_POLICY_PRICES_H

#include "federation/model/job.h"

/*  NAME, USD per tonne of CO2e, micro-USD per GPU-hour of waiting, micro-USD per GPU-hour on a pool that is
 * full:
 *
 *  fast      carbon does not count; an hour of waiting is worth more than most GPU-hours are rented for;
 *  cheap     carbon does not count; five cents break ties between sites of one price, and end a wait without
 * gain; balanced  200 USD/t is of the order of published estimates of the damage that a tonne does; green ten
 * times that: carbon decides between sites whose rent differs little; follow-the-sun balanced, and an hour of
 * a GPU that others will want costs a dollar more, about half of what such hours are rented for, down to
 * nothing where the whole pool will be idle: idle GPUs follow the night, clean power follows the day, and
 * both are weighed.
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

/*  Of a goal; of balanced, outside the table. */
helio_prices_t helio_prices_of_goal(uint32_t goal);
/*  What a job asks for: its own prices where it sets them, no price below zero or beyond
 * HELIO_PRICE_MAX_MICRO_USD. */
helio_prices_t helio_prices_of(const helio_job_spec_t *spec);

#define HELIO_PRICE_MAX_MICRO_USD INT64_C(1000000000000) /* a million USD: keeps every sum within 64 bits */

/*  Of a pool that does not tell what will be free, half is taken: silence must look neither idle nor full. */
enum { HELIO_UNKNOWN_TAKEN_PER_MILLE = 500 };

/*  How far ahead a start is looked for: forecasts of intensity are worth little beyond two days. */
enum { HELIO_START_AHEAD_H = 48 };

/*  A plan is scored as if it began with the running five minutes: scores that change with every millisecond
 * would make every evaluation a new decision to be stored, and no verdict could be kept. Deadlines are held
 * against the clock itself. */
enum { HELIO_SCORE_STEP_MS = 300000 };

/*  Risk: an intensity is taken at its 70th percentile, not its mean, so that of two equal forecasts the surer
 * one wins. With z(0.70) / z(0.90) = 0.5244 / 1.2816 of a normal distribution that is 409 thousandths of the
 * way to the tenth decile. */
enum { HELIO_RISK_PER_MILLE_TO_P90 = 409 };
/*  A site that does not tell its intensity is weighed as if it burnt coal: silence must not look clean. It is
 * weighed only, not booked. (Coal without capture is 740 to 910 g/kWh over its life cycle: IPCC AR5, WG III,
 * annex III.) */
enum { HELIO_RISK_UNKNOWN_G_PER_KWH = 1000 };
/*  Figures older than this may be wrong: an offer that is refused costs a minute of waiting, in expectation.
 */
enum { HELIO_RISK_STALE_AFTER_MS = 10000, HELIO_RISK_STALE_WAIT_MS = 60000 };

/*  Deferral: what a later start must save for every hour that it waits, in thousandths of what starting now
 * costs (money and carbon). Half of it suffices to go on waiting, so that a forecast's noise does not call a
 * job back; see choice.h. */
enum { HELIO_DEFER_PER_MILLE_AND_H = 2, HELIO_DEFER_HELD_PER_MILLE_AND_H = 1 };
/*  Another window than the one that was chosen must be better by this, in thousandths of the same. */
enum { HELIO_DEFER_SWITCH_PER_MILLE = 10 };

/*  Energy of moving data over the network between two sites: 0.002 kWh/GB. Aslan, Mayers, Koomey and France,
 *  "Electricity intensity of Internet data transmission" (Journal of Industrial Ecology, 2017) find 0.06 kWh/GB for
 *  2015, halving about every two years: ten years and five halvings later it is 0.0019. */
enum { HELIO_TRANSFER_J_PER_GB = 7200 };

#endif
