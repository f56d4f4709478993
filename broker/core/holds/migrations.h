/*  migrations.h -- jobs that can be migrated, and the capacity that is held for those under way.
 *
 *  `placement.on_better_site: checkpoint`, and the job says how it saves. Where such a job goes, migrate/ decides. The
 *  capacity is taken off the target pool before the job is told to leave, as that of a placement is, so that nothing
 *  else can count on it. Held in memory only: under another leader, or when the capacity is lost, the job goes back to
 *  its queue. */
#ifndef HELIO_BROKER_CORE_HOLDS_MIGRATIONS_H
#define HELIO_BROKER_CORE_HOLDS_MIGRATIONS_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/policy/migration.h"
#include "federation/policy/transfer.h"

/*  A job that may be moved: from when it first runs until it is over. */
struct migrant {
    job_t *job;
    site_t *to; /* room is held for it there; NULL = nowhere */
    pool_t *to_pool;
    uint32_t gpus_per_node;
    bool counted;    /* it is taken off what is free there */
    bool notified;       /* to leave, by this leader; last at notified_ms (monotonic) */
    int64_t notified_ms;
    int64_t gone_ms; /* wall clock: its grace is over */
    uint64_t decision_id;
    helio_migration_t migration;
    helio_transfer_t transfer;
    char from[33];
    migrant_t *prev, *next;
    migrant_t *held_prev, *held_next;
};

typedef struct migrations {
    migrant_t *migrants;
    migrant_t *held; /* of those, for whom room is held */
    uint32_t held_count;
    migrant_t *at;              /* the next to be judged in this pass; NULL = none is under way */
    uint64_t facts, capacity; /* versions at the begin of the last pass */
    int64_t hour_ms;
    int64_t next_ms; /* monotonic: no pass begins before */
    int64_t due_ms;  /* wall clock: when the first of them has stayed long enough; INT64_MAX = none */
    int64_t next_check_ms; /* wall clock: a round is wanted then */
    bool blocked;    /* one of them would have moved, but for something that passes */
} migrations_t;

enum { MIGRATION_OVERDUE_MS = 60000 }; /* past its grace, and it is there yet */

migrations_t *core_migrations_new(void);
void core_migrations_destroy(migrations_t **self_p);
void core_migrations_move_by(helio_broker_core_t *self, int64_t by_ms); /* the wall clock was set */
void core_migrations_state_changed(helio_broker_core_t *self, job_t *job); /* its state changed */
void core_migrations_load(helio_broker_core_t *self, job_t *job);   /* it is live under a new leader */
void core_migrations_forget(helio_broker_core_t *self, job_t *job);
void core_migrations_unhold(helio_broker_core_t *self, job_t *job); /* no room is held for it any more */
void core_migrations_site_drop(helio_broker_core_t *self, const site_t *site); /* its pools go */
/*  The site's pools are as it figured them: less what is held. */
void core_migrations_rebase(helio_broker_core_t *self, const site_t *site);
void core_migrations_review(helio_broker_core_t *self); /* begin of a round: gives up what comes to nothing */
/*  Room at the pool that is held for jobs that are still leaving, of other than critical queues: GPUs that will be in
 *  use at at_ms (0 = now), by the limits. */
uint64_t core_migrations_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms);
uint64_t core_migrations_residence_ms(const helio_broker_core_t *self,
                                      const job_t *job); /* yet, whatever it would gain */
/*  Takes the capacity at the target off what is free there. */
void core_migrations_hold(helio_broker_core_t *self, migrant_t *migrant, site_t *site, pool_t *pool,
                          uint32_t gpus_per_node);
/*  A pass over those that can be migrated is due by then (wall clock). */
void core_migrations_note_due(helio_broker_core_t *self, int64_t at_ms);

#endif
