/*  sites.h -- sites, by name and by session. */
#ifndef HELIO_BROKER_CORE_STATE_SITES_H
#define HELIO_BROKER_CORE_STATE_SITES_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/model/site.h"

struct site {
    char name[HELIO_SITE_NAME_MAX + 1];
    helio_arena_t *arena; /* owns profile's views */
    helio_site_profile_t profile;
    pool_t *pools;
    uint32_t pool_count;
    helio_series_t *series; /* the latest of each signal, pool and kind; views in the arena beside it */
    helio_arena_t **series_arenas;
    uint32_t series_count;
    signal_history_t *histories;
    uint32_t history_count;
    accounted_t *accounted; /* energy.c */
    uint32_t accounted_count;
    uint64_t history_version; /* counts changes of what its hours are priced by */
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

site_t *core_site_find(helio_broker_core_t *self, helio_text_t name);
site_t *core_site_get(helio_broker_core_t *self, helio_text_t name); /* made when new */
site_t *core_site_of_peer(helio_broker_core_t *self, uint64_t peer);
/*  The database is another copy than a leader before wrote: nothing is placed before every site that was not
 * seen since has said what it runs, for as long as silence takes at most. */
bool core_sites_awaited(const helio_broker_core_t *self);
/*  Writes its row now, whatever has changed. */
void core_site_row(helio_broker_core_t *self, site_t *site);
void core_pool_forecasts_drop(site_t *site); /* the profile or a series changed */
/*  Writes its row, and asks classes again, if that is another state. */
void core_site_set_state(helio_broker_core_t *self, site_t *site, helio_site_state_t state);

#endif
