/*  power.h -- watts by GPU model, for pools whose site file names no `power`. Pure.
 *
 *  P(u) of one allocated GPU = host_w + base_w + slope_w * u (u = utilisation 0..1); idle_w when nobody uses
 * it. Measured where somebody has measured, else derived from the vendor's board power by one rule (power.c
 * names every source): idle 12 %, base 25 %, full load 85 % of it; host share 25 %.
 */
#ifndef HELIO_ENERGY_POWER_H
#define HELIO_ENERGY_POWER_H

#include "federation/model/site.h"

typedef struct helio_power_facts {
    const char *model; /* as jobs and pools call it, upper case */
    bool measured;     /* idle, base and slope; else derived from board_w */
    double board_w;    /* the vendor's maximum for the board (TDP, TBP) */
    double idle_w, base_w, slope_w, host_w;
} helio_power_facts_t;

/*  By the pool's GPU name, case aside: the name itself, or a longer one that begins with it and '-' or '_'
 * ("H100-SXM"). NULL: not in the table. */
const helio_power_facts_t *helio_power_of(helio_text_t gpu);
/*  NULL beyond the end. */
const helio_power_facts_t *helio_power_row(uint32_t index);

/*  docs/reference/power.md. */
void helio_power_page(helio_buffer_t *page);

/*  Fills a pool that says nothing of its power (all four figures 0). True when it did. */
bool helio_power_fill(helio_pool_t *pool);

#endif
