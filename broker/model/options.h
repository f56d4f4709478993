/*  options.h -- the settings that the core runs with. */
#ifndef HELIO_BROKER_MODEL_OPTIONS_H
#define HELIO_BROKER_MODEL_OPTIONS_H

#include <stdint.h>

enum { HELIO_DATABASE_LOSS_MS = 10000 }; /* without its database for this time, a leader lets its sites go */

typedef struct helio_broker_options {
    uint64_t lease_ms;        /* granted to a site at each renewal; 15 min */
    uint64_t renew_ms;        /* how often an agent renews; lease / 10 */
    uint64_t summary_ms;      /* how often an agent sends a summary; 1 s */
    uint64_t silent_after_ms; /* after this time without a message a site is silent, and its jobs are suspect; 60 s */
    uint32_t queued_max;      /* jobs that are not terminal, of all tenants; more is BUSY (429) */
    uint32_t queued_per_tenant_max;
    uint32_t submissions_per_minute; /* documents of one tenant, with as many saved up; more is BUSY; 0 = no bound */
    uint32_t
        commands_per_minute; /* jobs of one tenant that its users hold, release, requeue, signal or edit; 0 = no bound */
    uint32_t offers_unanswered_max; /* for each site: at this number no more offers are sent until some are answered */
    uint32_t channels_max;          /* open at a time, of all tenants; more is BUSY */
    uint32_t channels_per_tenant_max;
    uint64_t channel_limit_ms; /* the longest that a channel lasts */
    uint64_t channel_idle_ms;  /* the longest without a byte in either direction */
    uint32_t objective;        /* helio_objective_t (federation/policy/terms.h); always ALL in the service */
} helio_broker_options_t;

/*  The defaults as given above; 2,000,000 jobs, 1,000,000 for each tenant, 20,000 offers, no bound on submissions,
 *  6,000 commands; 256 channels, 32 for each tenant, 8 h each, 1 h when idle. */
helio_broker_options_t helio_broker_options_default(void);

#endif
