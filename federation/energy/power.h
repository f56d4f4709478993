/*  power.h -- watts by GPU model, for pools whose site file sets no `power`. Pure.
 *
 *  P(u) of an allocated GPU = host_w + base_w + slope_w * u (u = utilisation 0..1); idle_w for an idle GPU. The values
 *  are measured where measurements exist, and otherwise derived from the vendor's board power (power.c names every
 *  source): idle 12 %, base 25 %, full load 85 % of it; host share 25 %.
 */
#ifndef HELIO_ENERGY_POWER_H
#define HELIO_ENERGY_POWER_H

#include "federation/model/site.h"

typedef struct helio_power_facts {
    const char *model; /* upper case, as in job and site files */
    bool measured;     /* idle, base and slope are measured; otherwise derived from board_w */
    double board_w;    /* the vendor's maximum power of the board (TDP, TBP) */
    double idle_w, base_w, slope_w, host_w;
} helio_power_facts_t;

/*  Looks up the pool's GPU name without its slice, ignoring case: the name itself, or a longer name that begins with it
 *  and '-' or '_' ("H100-SXM"). NULL: not in the table. */
const helio_power_facts_t *helio_power_of(helio_text_t gpu);
/*  NULL beyond the end. */
const helio_power_facts_t *helio_power_row(uint32_t index);

/*  W of one allocated GPU of the pool at that utilisation (0..1), without PUE. If neither the pool nor the table of
 *  models says it, it is assumed: the highest of the table, so that a missing figure never looks cheap or clean. */
double helio_pool_watts(const helio_pool_t *pool, double utilisation);
bool helio_pool_power_is_assumed(const helio_pool_t *pool);

/*  docs/reference/power.md. */
void helio_power_page(helio_buffer_t *page);

/*  Fills in the power of a pool that sets none (all four figures 0). True if it did. */
bool helio_power_fill(helio_pool_t *pool);

#endif
