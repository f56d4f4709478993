/*  sanitize.h -- reported values, cut to what is possible. */
#ifndef HELIO_BROKER_CORE_SITES_SANITIZE_H
#define HELIO_BROKER_CORE_SITES_SANITIZE_H

#include "broker/core/state/nouns.h"
#include "federation/base/record.h"
#include "federation/model/attempt.h"
#include "federation/model/site.h"

/*  What an attempt can have used at most. */
typedef struct use_limits {
    uint64_t gpus;
    uint64_t nodes;
    uint64_t time_limit_ms;
    int64_t from_ms;   /* wall clock: it did not exist before */
    int64_t placed_ms; /* the same by the monotonic clock; 0 = a former leader placed it, or it is not known */
    double rent_most;  /* USD for a GPU-hour, by the offer for which it was placed; 0 = not known */
} use_limits_t;

/*  current: by its placement; otherwise by what the job asks for. */
use_limits_t core_use_limits(const job_t *job, bool current);
/*  The most that a GPU-hour may cost of a run that was placed for that rent, on GPUs for that time in all. 0 = none. */
double core_rent_most(int64_t rent_micro_usd, uint64_t gpu_ms);
/*  Cuts use beyond the limits, or beyond what fits into the time until now. Returns whether anything was cut. */
bool core_report_bound(const helio_broker_core_t *self, const use_limits_t *limits, helio_report_t *report);
void core_profile_bound(helio_site_profile_t *profile); /* its own figures, not those of its pools */
void core_pool_bound(helio_pool_t *pool);
uint32_t core_count_bound(uint32_t count); /* of a pool's nodes, GPUs or jobs: the sum over all pools fits an integer */
helio_f64s_t core_points_bound(helio_broker_core_t *self, uint32_t signal, helio_f64s_t points); /* of a series */

#endif
