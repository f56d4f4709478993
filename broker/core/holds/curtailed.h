/*  curtailed.h -- curtailed sites: how much power their GPUs use, what may still start there, and which jobs leave.
 *
 *  The power is that of the model by which placements are priced: host, base and full load of each GPU in use, times
 *  the site's PUE (federation/energy/power.h). The limit is a share of that power with all GPUs of the site in use. So it
 *  is known before, and does not depend on how busy the site is when the curtailment begins. */
#ifndef HELIO_BROKER_CORE_HOLDS_CURTAILED_H
#define HELIO_BROKER_CORE_HOLDS_CURTAILED_H

#include "broker/core/state/nouns.h"
#include "federation/reason/detail.h"

/*  What would be done now to keep to a limit. All in W. */
typedef struct curtail_plan {
    double full_w;   /* with all GPUs in use */
    double limit_w;  /* the share of it */
    double used_w;   /* by jobs of the federation and by others */
    double leaves_w; /* part of used_w: of jobs that are being stopped */
    double kept_w;   /* above the limit, of what may not be stopped now */
    double later_w; /* part of kept_w: of jobs that cannot be stopped yet, since they are protected or have not begun */
    uint32_t jobs;  /* that have to leave now */
} curtail_plan_t;

/*  Between two rounds: what a limit of that share would mean now. */
curtail_plan_t core_curtail_plan(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row);
/*  Whether that job would have to leave then. */
bool core_curtail_stops(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row, const job_t *job);
/*  At the start of a round: stops what runs above the limits. */
void core_curtail_review(helio_broker_core_t *self);
/*  CORE_CHECK_CURTAILMENTS: one begins or ends, or a job may have to leave. */
void core_curtail_recheck(helio_broker_core_t *self);
/*  Whether a job of the class can take that much now, once others have returned `back_gpus` of the pool. */
bool core_curtail_allows(helio_broker_core_t *self, const job_class_t *class, site_t *site, const pool_t *pool,
                         uint32_t gpus_per_node, uint64_t back_gpus);
/*  Whether it could not start there even without any other job of the federation. */
bool core_curtail_excludes(const helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                           const pool_t *pool, uint32_t gpus_per_node);
/*  Why core_curtail_allows is false, and until when (wall clock). */
helio_detail_t core_curtail_detail(helio_broker_core_t *self, const job_class_t *class, site_t *site,
                                   const pool_t *pool, uint32_t gpus_per_node, int64_t *ret_until_ms);
/*  After a placement: counts its power within the round. */
void core_curtail_placed(helio_broker_core_t *self, const job_t *job);

#endif
