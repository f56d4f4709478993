/*  clocks.c -- how far the clocks of sites differ from the leader's. */
#include "broker/core/sites/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/sites.h"

/*  A site can send any time; a year tells as much as a century. */
static const double AHEAD_MAX_MS = 366.0 * 24 * 3600 * 1000;

int64_t core_clock_ahead_ms(const helio_broker_core_t *self, int64_t wall_ms)
{
    return (int64_t)fmax(fmin((double)wall_ms - (double)self->wall_ms, AHEAD_MAX_MS), -AHEAD_MAX_MS);
}

/*  The list is in descending order of the difference. */
static void insert(helio_broker_figures_t *figures, const site_t *site)
{
    uint32_t at = figures->clock_count;
    while (at > 0 && llabs(figures->clocks[at - 1].ahead_ms) < llabs(site->clock_ahead_ms))
        at--;
    if (at == HELIO_FIGURES_CLOCKS_MAX)
        return;
    uint32_t kept = figures->clock_count - (figures->clock_count == HELIO_FIGURES_CLOCKS_MAX);
    memmove(&figures->clocks[at + 1], &figures->clocks[at], (kept - at) * sizeof figures->clocks[0]);
    figures->clock_count = kept + 1;
    figures->clocks[at].ahead_ms = site->clock_ahead_ms;
    (void)helio_text_copy(helio_text_of(site->name), figures->clocks[at].site, sizeof figures->clocks[at].site);
}

void core_clocks_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures)
{
    ret_figures->clock_count = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (site->peer && site->capacity_known)
            insert(ret_figures, site);
}
