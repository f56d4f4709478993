/*  fleet.h -- the fleet file: a list of sites, each in the form of a site file, and what an operator tells the broker:
 *  links between sites, and what teams may use. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_FLEET_H
#define HELIO_SIMULATOR_EXPERIMENT_FLEET_H

#include "federation/spec/windows.h"
#include "site-agent/scale/settings.h"

/*  The site has neither power nor a connection in [from_ms, to_ms), Unix time. */
typedef struct exp_outage {
    int64_t from_ms, to_ms;
} exp_outage_t;

typedef struct exp_outages {
    exp_outage_t *items; /* ascending, apart from one another */
    uint32_t count;
} exp_outages_t;

typedef struct exp_fleet_site {
    helio_site_profile_t profile;
    helio_text_t price_region;    /* key into the price series; as the site's region unless given */
    helio_text_t forecast_region; /* into the forecasts, likewise */
    exp_outages_t outages;
    helio_windows_t windows;   /* GPUs that are reserved (simulator/experiment/reserves.h) */
    helio_scale_rules_t scale; /* of its elastic pools (simulator/experiment/scales.h) */
} exp_fleet_site_t;

/*  "*" = any site. The most specific link of two sites counts (simulator/experiment/links.h). */
typedef struct exp_link {
    helio_text_t from, to;
    double gbps, egress_usd_per_gb;
    uint32_t rtt_ms;
    bool rtt_known;
} exp_link_t;

typedef struct exp_links {
    exp_link_t *items;
    uint32_t count;
} exp_links_t;

/*  What a tenant may hold at once in one queue. */
typedef struct exp_queue_quota {
    helio_text_t queue;
    uint32_t guaranteed_gpus, burst_gpus;
    bool limited; /* burst_gpus is given */
} exp_queue_quota_t;

typedef struct exp_queue_quotas {
    exp_queue_quota_t *items;
    uint32_t count;
} exp_queue_quotas_t;

#define EXP_EACH_TENANT "*" /* the name of each team without a quota of its own in a queue */

/*  A team of the trace, and what it may hold at once over all queues. */
typedef struct exp_tenant {
    helio_text_t name;
    double weight;
    uint32_t guaranteed_gpus, burst_gpus;
    bool limited;
    exp_queue_quotas_t queues;
} exp_tenant_t;

typedef struct exp_tenants {
    exp_tenant_t *items;
    uint32_t count;
} exp_tenants_t;

typedef struct exp_fleet {
    exp_fleet_site_t *items;
    uint32_t count;
    exp_links_t links;
    exp_tenants_t tenants;
} exp_fleet_t;

/*  Everything lives in the arena. */
HELIO_MUST_CHECK helio_rc exp_fleet_parse(helio_spec_source_t source, helio_arena_t *arena, exp_fleet_t *ret_fleet,
                                          helio_diagnostics_t *ret_wrong);

/*  The index of a site; fleet->count if there is none. */
uint32_t exp_fleet_find(const exp_fleet_t *self, helio_text_t name);
/*  Counts the pools of all sites one after another; of the site behind the last one: how many there are. */
uint32_t exp_fleet_pool_number(const exp_fleet_t *self, uint32_t site, uint32_t pool);
/*  The index of a pool; pools.count if there is none. */
uint32_t exp_fleet_find_pool(const helio_site_profile_t *site, helio_text_t name);
/*  With all nodes that elastic pools can have. */
uint64_t exp_fleet_gpus(const exp_fleet_t *self);
bool exp_fleet_has_windows(const exp_fleet_t *self);
bool exp_fleet_has_outages(const exp_fleet_t *self);
/*  A pool of it is elastic, or spot capacity: nodes come and go. */
bool exp_fleet_has_instances(const exp_fleet_t *self);
/*  Every pool with nodes gets so many times its nodes, rounded, and at least one; and so do the nodes that elastic ones can add. HELIO_TOO_BIG: more than a pool can
 *  have. */
HELIO_MUST_CHECK helio_rc exp_fleet_scale(exp_fleet_t *self, double factor);
/*  A fleet of its own nodes, so that it can be scaled; the rest is shared. In the arena. */
exp_fleet_t exp_fleet_copy(const exp_fleet_t *self, helio_arena_t *arena);

/*  The five queues that every federation begins with. */
typedef struct exp_queue {
    const char *name;
    uint32_t priority;
    helio_tier_t tier;
    uint64_t time_limit_ms;
} exp_queue_t;
extern const exp_queue_t exp_queues[];
extern const uint32_t exp_queue_count;
const exp_queue_t *exp_queue_find(helio_text_t name); /* NULL: there is none */

#endif
