/*  links.h -- what lies between two sites: how long data takes, what it costs, and how far away they are. Pure. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_LINKS_H
#define HELIO_SIMULATOR_EXPERIMENT_LINKS_H

#include "federation/policy/transfer.h"
#include "simulator/experiment/fleet.h"

/*  The most specific link: the pair, from `from` to any, from any to `to`, any to any, as in the broker. NULL: none. */
const exp_link_t *exp_link_of(const exp_fleet_t *fleet, uint32_t from, uint32_t to);
/*  As the broker is told. */
helio_link_t exp_link_figures(const exp_link_t *link);

/*  Data of that size from one site to another; nothing within a site, or while the fleet has no links at all. */
helio_transfer_t exp_transfer(const exp_fleet_t *fleet, uint32_t from, uint32_t to, uint64_t bytes);

/*  The round trip in microseconds: that of their link, or as far as light in fibre goes along the great circle with the
 *  usual detours. HELIO_INVALID: the error names a site whose position is not known. */
HELIO_MUST_CHECK helio_rc exp_round_trip_us(const exp_fleet_t *fleet, uint32_t from, uint32_t to, uint32_t *ret_us,
                                            helio_error_t *err);

#endif
