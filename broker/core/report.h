/*  report.h -- what sites say of jobs (report.c), cut to what can be true (plausible.c). */
#ifndef HELIO_BROKER_CORE_REPORT_H
#define HELIO_BROKER_CORE_REPORT_H

#include "broker/core/nouns.h"

enum {
    SITE_FAILURES_MAX = 2, /* attempts that sites could not run: then HELD, with the evidence */
    QUICK_FAILURE_MS = 60000, /* a site that loses it later than that failed a long job: not held against it */
    REFUSAL_PENALTY_MS = 1000, /* a pool that refused gets no offer for so long, or until its next summary */
    /* A pool where an attempt failed at once is the last choice for so long, twice as long after each further one in
     * a row: a node that fails everything fast looks free, and would take the whole queue. */
    DOUBT_MS = 10000,
    DOUBT_MOST_MS = 300000,
    EVIDENCE_HOURS_MAX = 48, /* what a fenced attempt used is spread over its first hours, no more */
    EVIDENCE_ROWS_MAX = 100000, /* of one site at once; more by the second */
    EVIDENCE_ROWS_PER_S = 1000
};

/* plausible.c: what sites say, cut to what can be true */
/*  Use beyond what the job, and while it is current its placement, can have used until now. True when it was cut. */
bool core_report_cut(const helio_broker_core_t *self, const job_t *job, bool current, helio_report_t *report);
void core_profile_bound(helio_site_profile_t *profile); /* its own figures, not those of its pools */
void core_pool_bound(helio_pool_t *pool);
uint32_t core_count_bound(uint32_t count); /* of nodes, GPUs or jobs of a pool: those of all pools fit an integer */
helio_f64s_t core_points_bound(helio_broker_core_t *self, helio_f64s_t points); /* of a series */

void core_on_reports(helio_broker_core_t *self, const helio_ev_site_reports_t *event);

#endif
