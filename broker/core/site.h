/*  site.h -- sites and their pools, sessions, silence and leases (site.c); the hours ahead that they tell of
 * (outlook.c). */
#ifndef HELIO_BROKER_CORE_SITE_H
#define HELIO_BROKER_CORE_SITE_H

#include <uthash.h>

#include "broker/core/capacity.h"
#include "broker/core/nouns.h"
#include "broker/core/reserve.h"

enum {
    REFUSED_ROW_MS = 10000,          /* a site that is refused for ever other reasons is written so often */
    REFUSED_KEPT_MS = 600000,        /* a refusal is shown so long beside a session */
    LEASE_MARGIN_MS = 10000,
    LOST_ATTEMPTS_MAX = 20, /* a job that lost so many sites is LOST */
    SITE_POWER_MAX_W = 2000000000,
    WAITS_MAX = 16
};

struct pool {
    helio_pool_t info;
    kept_t *kept; /* NULL = never was anything */
    rated_t *rated; /* RATED_HOURS by hour since 1970 modulo; NULL until the first end */
    helio_outlook_t *outlook; /* made when first asked for; stands for outlook_hour_ms */
    int64_t outlook_hour_ms;  /* 0 = must be made anew */
    reservation_t reservation;
    release_t *releases; /* ascending; of round releases_round */
    uint32_t release_count, release_capacity;
    uint64_t releases_round;
    uint32_t evictions; /* under way here */
    prey_t *prey;       /* of round prey_round */
    uint32_t prey_count, prey_capacity;
    uint64_t prey_round;
    uint32_t prey_least_tier; /* of those; the least of all if one leaves already */
    uint64_t waited_round; /* somebody in line could use it (moves.c): of that round */
    bool waited_for;
    uint32_t promised_gpus[PROMISE_HOURS]; /* to windows, by hour since 1970 modulo */
    uint32_t waits_s[WAITS_MAX]; /* the site's own word: until 1, 2, 4, ... whole nodes; UINT32_MAX = not foreseeable */
    uint32_t wait_count;
    free_nodes_t figured;  /* as the site said last */
    free_nodes_t free;     /* that, less what was placed since: what decisions use */
    free_nodes_t believed; /* scratch of a rebase */
    helio_pool_capacity_t last; /* figures of the last summary, views not used */
    int64_t written_ms;
    int64_t sampled_ms;
    int64_t penalty_until_ms;
    int64_t doubtful_until_ms;
    uint32_t failures_in_row;
};

struct site {
    char name[HELIO_SITE_NAME_MAX + 1];
    helio_arena_t *arena; /* owns profile's views */
    helio_site_profile_t profile;
    pool_t *pools;
    uint32_t pool_count;
    helio_series_t *series; /* the latest of each signal, pool and kind; views in the arena beside it */
    helio_arena_t **series_arenas;
    uint32_t series_count;
    signal_past_t *pasts;
    uint32_t past_count;
    booked_t *booked; /* energy.c */
    uint32_t booked_count;
    uint64_t past_version; /* counts changes of what its hours are priced by */
    uint64_t facts; /* facts_version of its last change */
    bool stale; /* ready, but not heard of for HELIO_RISK_STALE_AFTER_MS */
    uint32_t state;
    bool draining;
    bool awaited; /* it may run what a restored database does not know, and has not said yet */
    char drain_reason[257];
    char agent_version[33];
    char refused[257];       /* why its agent was refused last; "" = it was not */
    uint32_t refused_rc;
    int64_t refused_ms;      /* when last */
    int64_t refused_row_ms;  /* when for another reason than before */
    int64_t refused_wall_ms; /* since when for this */
    uint64_t peer;         /* 0 = no session */
    uint64_t session;      /* counts HELLOs over all sites */
    bool inventory_closed;
    bool capacity_known;   /* a summary of this session came */
    uint64_t summary_seq;
    uint64_t dispatch_seq; /* last given in this session */
    uint64_t reports_pending; /* at the agent, by its last summary; 0 without a session */
    uint32_t unanswered;   /* offers neither accepted nor refused */
    int64_t heard_ms;
    int64_t heard_wall_ms;
    int64_t lease_over_ms; /* no lease that was ever granted to it runs longer */
    int64_t row_ms;        /* when the site's row was last written */
    int64_t evidence_rows; /* spent of its budget, at evidence_ms */
    int64_t evidence_ms;
    job_t *live;           /* in order of placement */
    UT_hash_handle hh;      /* by name */
    UT_hash_handle hh_peer; /* by peer */
};

/* site.c: sites, their sessions, silence and leases */
site_t *core_site_find(helio_broker_core_t *self, helio_text_t name);
site_t *core_site_get(helio_broker_core_t *self, helio_text_t name); /* made when new */
site_t *core_site_of_peer(helio_broker_core_t *self, uint64_t peer);
pool_t *core_pool_find(site_t *site, helio_text_t name);
/*  The database is another copy than a leader before wrote: nothing is placed before every site that was not
 * seen since has said what it runs, for as long as silence takes at most. */
bool core_sites_awaited(const helio_broker_core_t *self);
void core_site_row(helio_broker_core_t *self, site_t *site);
/*  It has one from now on; former_ms: one of a former leader may run for so long yet. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms);
void core_site_heard(helio_broker_core_t *self, site_t *site);
void core_on_hello(helio_broker_core_t *self, const helio_ev_site_hello_t *event);
void core_on_inventory(helio_broker_core_t *self, const helio_ev_site_inventory_t *event);
void core_on_renew(helio_broker_core_t *self, const helio_ev_site_renew_t *event);
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event);
void core_on_refused(helio_broker_core_t *self, const helio_ev_site_refused_t *event);
void core_watch(helio_broker_core_t *self); /* silence, leases: at next_watch_ms */
void core_site_attest(helio_broker_core_t *self, site_t *site, const char *actor);
void core_sites_free(helio_broker_core_t *self);

/* outlook.c: the series of sites, and the hours ahead that they tell of */
void core_facts_changed(helio_broker_core_t *self, site_t *site); /* what scores of its pools rest on */
void core_on_series(helio_broker_core_t *self, site_t *site, const helio_series_t *series);
const helio_outlook_t *core_pool_outlook(helio_broker_core_t *self, const site_t *site, pool_t *pool);
void core_outlooks_drop(site_t *site); /* the profile or a series changed */
void core_site_pools_free(helio_broker_core_t *self, site_t *site); /* and whatever points at them */
void core_site_series_free(site_t *site);

/* energy.c: hours that are over, for the balance of the ledger. False: the series is another one */
bool core_energy_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series);
void core_booked_free(site_t *site);

#endif
