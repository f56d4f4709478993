/*  figures.h -- what the core counts, for /metrics and for tests. Plain values; those called _total only grow. */
#ifndef HELIO_BROKER_MODEL_FIGURES_H
#define HELIO_BROKER_MODEL_FIGURES_H

#include "federation/base/histogram.h"
#include "federation/model/attempt.h"
#include "federation/model/site.h"
#include "federation/policy/budget.h"
#include "federation/policy/quota.h"
#include "federation/policy/victim_set.h"

/*  Sites whose clocks are shown: those that differ most. A few are enough for the operator, for any number of sites. */
enum { HELIO_FIGURES_CLOCKS_MAX = 16 };

typedef struct helio_site_clock {
    char site[HELIO_SITE_NAME_MAX + 1];
    int64_t ahead_ms; /* of the leader's clock; below 0 = behind */
} helio_site_clock_t;

typedef struct helio_broker_figures {
    uint64_t jobs[HELIO_JOB_STATE_COUNT]; /* not terminal: jobs in this state now; terminal: since the broker started */
    uint64_t jobs_held_by_people;         /* of the held ones: by a command, not because they kept failing */
    uint64_t classes;
    uint64_t sites_ready;
    uint64_t sites;
    uint64_t placements_total;
    uint64_t refusals_total;
    uint64_t stale_reports_total;        /* of an epoch that is not current */
    uint64_t illegal_reports_total;      /* they would lead to a transition that is not in the table */
    uint64_t series_dropped_total;       /* of pools that do not exist, or more or oftener than a site may send */
    uint64_t pool_options_dropped_total; /* pools of summaries with more, or oftener, than a site may send */
    uint64_t preemptions_total[HELIO_PREEMPT_CAUSE_COUNT];
    uint64_t migrants_judged_total;    /* running jobs that were compared with all their targets */
    uint64_t reserve_shortfall_gpu_ms; /* reserved by site reservation windows, and still used by other work */
    helio_histogram_t wait_ms[HELIO_TIER_COUNT]; /* from submission to the first start, by tier of the queue */
    uint64_t reports_pending;                    /* not yet sent by the agents, by their last summaries */
    uint64_t budgets[HELIO_BUDGET_KINDS][HELIO_BUDGET_LEVELS];
    helio_site_clock_t clocks[HELIO_FIGURES_CLOCKS_MAX];
    uint32_t clock_count;
    uint64_t open_batch;
    uint64_t channels; /* open now */
    uint64_t channels_total[HELIO_CHANNEL_KIND_COUNT];
    uint64_t channel_bytes_in_total; /* of channels that have ended: to jobs, and from them */
    uint64_t channel_bytes_out_total;
} helio_broker_figures_t;
extern const helio_bounds_t helio_broker_wait_bounds; /* ms */

#endif
