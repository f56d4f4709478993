/*  infeasible.h -- what no site could run, and why. */
#ifndef HELIO_BROKER_CORE_DECIDE_INFEASIBLE_H
#define HELIO_BROKER_CORE_DECIDE_INFEASIBLE_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"
#include "federation/policy/choice.h"
#include "federation/policy/requirement.h"
#include "federation/reason/detail.h"

/*  Could it ever run on a site that is known? True too when no site is known. */
bool core_is_feasible(helio_broker_core_t *self, const helio_requirement_t *want);
/*  Why not, over all sites, and what would fit. */
helio_details_t core_infeasible_details(helio_broker_core_t *self, const helio_requirement_t *want);
/*  Of a pool where it never fits: what it has instead; code NONE: the word says it all. */
helio_detail_t core_infeasible_detail(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                                      const helio_pool_t *pool, helio_rejection_t rejection);
/*  The most that would fit somewhere of what is asked for, as keys of a job file; "" = nothing would. Views of *ret_fit
 *  point into the arena of the step's effects. */
const char *core_infeasible_remedy(helio_broker_core_t *self, const helio_requirement_t *want,
                                   helio_requirement_t *ret_fit, const char **ret_site);

#endif
