/*  migrations.h -- jobs that can be migrated, and the capacity that is held for migrations under way.
 *
 *  A job can be migrated if it has `placement.on_better_site: checkpoint` and states how it saves. migrate/ decides
 *  where it goes. The capacity is deducted from the target pool before the job is ordered to stop, like that of a
 *  placement, so that nothing else can use it. It is held in memory only: under another leader, or when the capacity is
 *  lost, the job returns to its queue. */
#ifndef HELIO_BROKER_CORE_HOLDS_MIGRATIONS_H
#define HELIO_BROKER_CORE_HOLDS_MIGRATIONS_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/policy/migration.h"
#include "federation/policy/transfer.h"

enum { MIGRATION_WANTS_MAX = 8 };

/*  A target that was worth a migration, but could not take the job. */
typedef struct wanted_target {
    const pool_t *pool;
    uint32_t index; /* of the targets of its class (migrate/targets.h) */
    uint32_t gpus_per_node;
    int64_t saves_micro_usd;
} wanted_target_t;

/*  A job that can be migrated, from its first run until it is over. */
struct migrant {
    job_t *job;
    uint64_t facts, pools; /* versions by which it was judged; 0 = it was not */
    int64_t hour_ms;       /* likewise */
    int64_t due_ms;        /* wall clock: when it has stayed long enough; 0 = it has */
    int64_t saves_ms;      /* wall clock: it would leave, and waits for this checkpoint; 0 = for none */
    int64_t gain;          /* the most that it was worth to migrate when it was judged, in micro-USD per GPU */
    int64_t sorted_gain;   /* as it was when the last pass began; 0 = there was none yet */
    uint32_t place;        /* scratch of that sort */
    uint32_t want_count;   /* while these versions stand; the targets that save most */
    wanted_target_t wants[MIGRATION_WANTS_MAX];
    site_t *to; /* where capacity is held for it; NULL = nowhere */
    pool_t *to_pool;
    uint32_t gpus_per_node;
    bool counted;  /* it is deducted from what is free there */
    bool notified; /* this leader told it to stop; last at notified_ms (monotonic) */
    int64_t notified_ms;
    int64_t gone_ms; /* wall clock: when its grace is over */
    uint64_t decision_id;
    helio_migration_t migration;
    helio_transfer_t transfer;
    char from[33];
    migrant_t *prev, *next;
    migrant_t *held_prev, *held_next;
};

enum { MIGRATION_OVERDUE_MS = 60000 }; /* after its grace, while it is still there */

migrations_t *core_migrations_new(void);
void core_migrations_destroy(migrations_t **self_p);
void core_migrations_move_by(helio_broker_core_t *self, int64_t by_ms);    /* the wall clock was set */
void core_migrations_state_changed(helio_broker_core_t *self, job_t *job); /* after the job's state changed */
void core_migrations_load(helio_broker_core_t *self, job_t *job);          /* it is live under a new leader */
void core_migrations_forget(helio_broker_core_t *self, job_t *job);
void core_migrations_unhold(helio_broker_core_t *self, job_t *job); /* returns the capacity that is held for it */
void core_migrations_site_drop(helio_broker_core_t *self, const site_t *site); /* before its pools are freed */
/*  After a site's pools were set to its own figures: deducts again what is held. */
void core_migrations_rebase(helio_broker_core_t *self, const site_t *site);
void core_migrations_review(helio_broker_core_t *self); /* at the start of a round: gives up migrations that failed */
/*  GPUs of the pool that are held for jobs that are still leaving, of queues that are not critical, and that will be in
 *  use at at_ms (0 = now), by the time limits. */
uint64_t core_migrations_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms);
uint64_t core_migrations_residence_ms(const helio_broker_core_t *self,
                                      const job_t *job); /* how much longer it must stay at least */
/*  Deducts the capacity at the target from what is free there. */
void core_migrations_hold(helio_broker_core_t *self, migrant_t *migrant, site_t *site, pool_t *pool,
                          uint32_t gpus_per_node);

/*  Jobs for which capacity is held, by held_next; NULL = none. */
migrant_t *core_migrations_first_held(const helio_broker_core_t *self);
uint32_t core_migrations_held_count(const helio_broker_core_t *self);

/*  A pass names each job that can be migrated once; it may go on in a later round. */
bool core_migrations_any(const helio_broker_core_t *self); /* jobs that can be migrated */
void core_migrations_begin_pass(helio_broker_core_t *self);
bool core_migrations_pass_is_open(const helio_broker_core_t *self);
migrant_t *core_migrations_next(helio_broker_core_t *self); /* of an open pass */
/*  The job is to be judged by then (wall clock): a pass is due. */
void core_migrations_note_due(helio_broker_core_t *self, migrant_t *migrant, int64_t at_ms);
int64_t core_migrations_due_ms(const helio_broker_core_t *self); /* INT64_MAX = nothing is */

#endif
