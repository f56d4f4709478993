/*  sanitize.h -- what sites say, cut to what can be true. */
#ifndef HELIO_BROKER_CORE_SITES_SANITIZE_H
#define HELIO_BROKER_CORE_SITES_SANITIZE_H

#include "broker/core/state/nouns.h"
#include "federation/base/record.h"
#include "federation/model/attempt.h"
#include "federation/model/site.h"

enum { SITE_POWER_MAX_W = 2000000000 };

/*  Use beyond what the job, and while it is current its placement, can have used until now. True when it was cut. */
bool core_report_cut(const helio_broker_core_t *self, const job_t *job, bool current, helio_report_t *report);
void core_profile_bound(helio_site_profile_t *profile); /* its own figures, not those of its pools */
void core_pool_bound(helio_pool_t *pool);
uint32_t core_count_bound(uint32_t count); /* of nodes, GPUs or jobs of a pool: those of all pools fit an integer */
helio_f64s_t core_points_bound(helio_broker_core_t *self, helio_f64s_t points); /* of a series */

#endif
