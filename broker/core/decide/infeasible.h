/*  infeasible.h -- what no site could run, and why. */
#ifndef HELIO_BROKER_CORE_DECIDE_INFEASIBLE_H
#define HELIO_BROKER_CORE_DECIDE_INFEASIBLE_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"
#include "federation/policy/choice.h"
#include "federation/policy/requirement.h"
#include "federation/reason/detail.h"

/*  Whether it could ever run on a known site; also true if no site is known. */
bool core_is_feasible(helio_broker_core_t *self, const helio_requirement_t *want);
/*  Why not, over all sites, and what would fit. */
helio_details_t core_infeasible_details(helio_broker_core_t *self, const helio_requirement_t *want);
/*  For a pool where it never fits: what the pool has instead. Code NONE: the rejection says it all. */
helio_detail_t core_infeasible_detail(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                                      const helio_pool_t *pool, helio_rejection_t rejection);
/*  The most of the request that would fit somewhere, as a detail. Code NONE: nothing would, and *ret_fit is unchanged.
 *  code: WOULD_FIT, or TRY_REQUEST, which does not name the site. Views of *ret_fit point into the arena of
 *  the step's effects. */
helio_detail_t core_infeasible_remedy(helio_broker_core_t *self, const helio_requirement_t *want,
                                      helio_detail_code_t code, helio_requirement_t *ret_fit);
/*  That such a request has fewer GPUs in all than were asked for; code NONE: it has not. */
helio_detail_t core_infeasible_fewer(helio_broker_core_t *self, const helio_requirement_t *want,
                                     const helio_requirement_t *fit);

#endif
