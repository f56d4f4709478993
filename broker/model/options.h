/*  options.h -- the settings that the core runs with. */
#ifndef HELIO_BROKER_MODEL_OPTIONS_H
#define HELIO_BROKER_MODEL_OPTIONS_H

#include <stdint.h>

typedef struct helio_broker_options {
    uint64_t lease_ms;         /* 15 min; granted to a site at each renewal */
    uint64_t renew_ms;         /* lease / 10 */
    uint64_t summary_ms;       /* 1 s */
    uint64_t silent_after_ms;  /* no word from a site for so long: its jobs are suspect; 60 s */
    uint32_t queued_max;       /* jobs not terminal, over all tenants: more is BUSY (429) */
    uint32_t queued_per_tenant_max;
    uint32_t offers_unanswered_max; /* per site: no more offers until some are accepted or refused */
} helio_broker_options_t;

/*  The defaults, each as written above (bounds: 2,000,000 jobs, 1,000,000 a tenant, 20,000 offers). */
helio_broker_options_t helio_broker_options_default(void);

#endif
