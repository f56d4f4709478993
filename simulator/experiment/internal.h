/*  internal.h -- the state of one run, for the files that are one run together:
 *
 *  steps.c        events to the core, and the orders and stops that come back;
 *  attempts.c     what starts, ends and stops at sites;
 *  outages.c      sites that are gone for a while;
 *  reserved.c     GPUs that sites reserve;
 *  clouds.c       instances that come, go and are taken away;
 *  submissions.c  what the core knows before the first job, and the jobs;
 *  run.c          what is due when. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_INTERNAL_H
#define HELIO_SIMULATOR_EXPERIMENT_INTERNAL_H

#include "broker/core/broker_core.h"
#include "simulator/experiment/run.h"
#include "simulator/experiment/site.h"

typedef struct exp_life {
    int64_t first_start_ms; /* 0 = never */
    int64_t left_ms;        /* of its work */
    uint32_t site;          /* of its last attempt */
    bool over;
} exp_life_t;

typedef struct exp_run {
    const exp_world_t *world;
    const exp_policy_t *policy;
    exp_result_t *result;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_arena_t *arena;   /* of the event */
    helio_arena_t *pending; /* of orders and stops */
    exp_site_t *sites;
    exp_life_t *lives;
    helio_heap_t ends;
    int64_t began_ms, wall_ms, latest_ms; /* latest: something started or ended */
    int64_t wake_ms;                      /* wall clock: the core wants to be asked */
    int64_t cloud_ms;                     /* an instance or the plan of a pool has something to do; likewise */
    int64_t outage_ms;                    /* the next time at which a site goes or comes back; INT64_MAX = never */
    uint32_t *reserved; /* in the running hour, by pool as exp_fleet_pool_number; NULL = nothing is reserved */
    bool clouds;        /* the fleet has pools whose nodes come and go */
    bool beats;         /* sites renew their leases, since one can be gone */
    uint64_t attempts;
    uint32_t next_job, next_local, waiting, over;
    helio_fx_order_t *orders; /* not carried out yet */
    helio_fx_stop_t *stops;
    uint32_t order_count, stop_count;
    exp_dead_t *dead; /* attempts that ended in an outage, which the broker has not asked for yet */
    uint32_t dead_count;
} exp_run_t;

/*  steps.c */
void exp_step(exp_run_t *self, uint32_t kind, const void *payload);
void exp_send_reports(exp_run_t *self, uint32_t site);
void exp_send_summary(exp_run_t *self, uint32_t site, bool with_series);
/*  HELLO, an empty inventory, and the first summary. */
void exp_send_hello(exp_run_t *self, uint32_t site);
/*  The time of the core's own clock. */
int64_t exp_now_ms(const exp_run_t *self);

/*  attempts.c */
void exp_attempts_start(exp_run_t *self, const helio_fx_order_t *fx);
void exp_attempts_stop(exp_run_t *self, const helio_fx_stop_t *fx);
void exp_attempts_take_ends(exp_run_t *self);
/*  All that runs at the site loses what it did since its last checkpoint; its own users' jobs queue again. */
void exp_attempts_kill(exp_run_t *self, uint32_t site);
/*  What runs there stops, since the provider takes the node away. */
void exp_attempts_take_node(exp_run_t *self, uint32_t site, uint32_t pool, uint32_t node);
/*  The jobs of sites' own users that are due, as far as there is room. */
void exp_attempts_take_local(exp_run_t *self);
/*  After the last job of the federation: what still runs is of the sites' own users. */
void exp_attempts_close(exp_run_t *self);

/*  outages.c */
void exp_outages_take(exp_run_t *self);
/*  After the sites were made, and after each outage. */
void exp_outages_find_next(exp_run_t *self);

/*  clouds.c */
/*  What providers and plans do until now. */
void exp_clouds_take(exp_run_t *self);
/*  When they have something to do next; INT64_MAX = never. */
void exp_clouds_find_next(exp_run_t *self);
/*  A site with all its instances is gone, or is back. */
void exp_clouds_lose(exp_run_t *self, uint32_t site);
void exp_clouds_return(exp_run_t *self, uint32_t site);
/*  After the last job: what instances that still run have cost. */
void exp_clouds_close(exp_run_t *self);

/*  reserved.c */
/*  When a full hour begins. */
void exp_reserved_renew(exp_run_t *self);
/*  Counts what was reserved from then until now. */
void exp_reserved_account(exp_run_t *self, int64_t from_ms);

/*  submissions.c */
void exp_submissions_load(exp_run_t *self);
void exp_submissions_take(exp_run_t *self);

#endif
