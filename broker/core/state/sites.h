/*  sites.h -- sites, by name and by session. */
#ifndef HELIO_BROKER_CORE_STATE_SITES_H
#define HELIO_BROKER_CORE_STATE_SITES_H

#include <uthash.h>

#include "broker/core/state/allowance.h"
#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/model/site.h"

struct site {
    char name[HELIO_SITE_NAME_MAX + 1];
    helio_arena_t *arena; /* owns the views of profile */
    helio_site_profile_t profile;
    pool_t *pools;
    uint32_t pool_count;
    helio_series_t *series; /* the latest of each signal, pool and kind; views into the arena beside it */
    helio_arena_t **series_arenas;
    uint32_t series_count;
    signal_history_t *histories;
    uint32_t history_count;
    energy_issue_t *energy_issues; /* energy.c */
    uint32_t energy_issue_count;
    uint64_t history_version; /* counts changes of what its hours are priced by */
    uint64_t facts;           /* facts_version of its last change */
    bool stale;               /* ready, but silent for so long that its figures are old */
    uint32_t state;
    bool draining;
    bool awaited;            /* it can run jobs that a restored database does not know, and has sent no inventory yet */
    uint32_t awaited_by;     /* core_site_awaited_by, as its row has it */
    bool unexpected;         /* the leader before had never had it in session, or it was attested */
    int64_t unreconciled_ms; /* wall clock: since when that, or copies of these (copies.h), keep jobs back; 0 = not */
    char drain_reason[257];
    char agent_version[33];
    uint32_t protocol; /* of its session */
    char refused[257]; /* why its agent was refused last; "" = it was not */
    uint32_t refused_rc;
    int64_t refused_ms;      /* the last time */
    int64_t refused_row_ms;  /* the last time that the reason was new */
    int64_t refused_wall_ms; /* since when for this reason */
    int64_t memory_since_ms; /* which journal its agent had last, by its HELLO; 0 = not reported */
    uint64_t memory_mark;    /* the highest number of that journal that the broker has seen */
    int64_t hello_since_ms;  /* both as in this session's HELLO; they count when its inventory is complete */
    uint64_t hello_mark;
    bool memory_lost;            /* another journal or an older copy than at the last inventory */
    int64_t memory_lost_wall_ms; /* since when jobs are in doubt for that; 0 = none is */
    int64_t doubt_over_ms;       /* no lease of that time lasts longer */
    helio_uuid_t boot_id;        /* of the agent's process; nil after a takeover */
    helio_uuid_t former_boot_id; /* of the one in session when the former leader ended; nil once a session is open */
    uint64_t peer;               /* 0 = no session */
    uint64_t session;            /* counts HELLOs over all sites */
    int64_t opened_ms;           /* when it began */
    bool inventory_closed;
    bool capacity_known;      /* this session has sent a summary */
    bool missed;              /* with the next one: holds/awaited_sites.h */
    int64_t awaited_until_ms; /* 0 = it is not awaited */
    uint64_t summary_seq;
    uint64_t demand_session; /* the session that was told what is wanted of its elastic pools */
    int64_t demand_told_ms;
    uint64_t dispatch_seq;    /* the last one of this session */
    uint64_t reports_pending; /* at the agent, by its last summary; 0 without a session */
    int64_t clock_ahead_ms;   /* of the leader's clock, by the same; below 0 = behind */
    uint64_t resend_seq;      /* with the next one: sites/resend.c */
    int64_t resend_ms;
    uint32_t unanswered;   /* offers neither accepted nor refused */
    int64_t heard_ms;      /* its silence counts from here: its last message, or a grace that began later */
    int64_t heard_wall_ms; /* its last message; with jobs there, of a session with an inventory */
    int64_t orders_ms; /* an order can have been sent to it until then: the last message of a session with an inventory,
                        * or the begin of this leader, for orders of the one before */
    int64_t message_ms;    /* the same, by the clock of heard_ms; 0 = a former leader's */
    int64_t lease_over_ms; /* no lease that was ever granted to it lasts longer */
    int64_t row_ms;        /* when the site's row was last written */
    int64_t evidence_rows; /* used of its allowance, at evidence_ms */
    int64_t evidence_ms;
    allowance_t series_allowance;        /* of changed series */
    allowance_t options_allowance;       /* of changed options of its pools */
    allowance_t sessions_allowance;      /* of its HELLOs */
    allowance_t new_pools_allowance;     /* of pools in them that it had not before */
    job_t *live;                         /* in order of placement */
    copy_t *copies;                      /* that it has listed: copies.h */
    curtailment_t *supposed_curtailment; /* in this step, by a plan: requests/plan.c; NULL = none */
    curtailment_t *curtailments;         /* that are not over: curtailments.h */
    int64_t curtailed_ms;                /* wall clock: when the last of all was set; no other has that time */
    uint64_t power_round;                /* the round for which power_w holds: holds/curtailed.c */
    double power_w;                      /* of GPUs in use */
    UT_hash_handle hh;                   /* by name */
    UT_hash_handle hh_peer;              /* by peer */
};

/*  NULL: no such site. */
site_t *core_site_find(helio_broker_core_t *self, helio_text_t name);
site_t *core_site_get(helio_broker_core_t *self, helio_text_t name); /* created when new */
const char *core_site_meant(const helio_broker_core_t *self,
                            helio_text_t name); /* the most similar name; "" = none is */
site_t *core_site_of_peer(helio_broker_core_t *self, uint64_t peer);
/*  The database is another copy than the one that former leaders wrote. Nothing is placed until every site that it has
 *  not seen since has sent its inventory, or has had the time until it is silent. */
bool core_sites_awaited(const helio_broker_core_t *self);
/*  Writes its row now, changed or not. */
void core_site_row(helio_broker_core_t *self, site_t *site);
void core_pool_forecasts_drop(site_t *site); /* the profile or a series changed */
/*  If the state is another one, writes the row and asks classes again. */
void core_site_set_state(helio_broker_core_t *self, site_t *site, helio_site_state_t state);

#endif
