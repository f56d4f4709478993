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
#include "federation/policy/move.h"
#include "federation/policy/transfer.h"

/*  A job that may be moved: from when it first runs until it is over. */
struct mover {
    job_t *job;
    site_t *to; /* room is held for it there; NULL = nowhere */
    pool_t *to_pool;
    uint32_t gpus_per_node;
    bool counted;    /* it is taken off what is free there */
    bool told;       /* to leave, by this leader; last at told_ms (monotonic) */
    int64_t told_ms;
    int64_t gone_ms; /* wall clock: its grace is over */
    uint64_t decision_id;
    helio_move_t move;
    helio_transfer_t transfer;
    char from[33];
    mover_t *prev, *next;
    mover_t *held_prev, *held_next;
};

typedef struct moves {
    mover_t *movers;
    mover_t *held; /* of those, for whom room is held */
    uint32_t held_count;
    mover_t *at;              /* the next to be judged in this pass; NULL = none is under way */
    uint64_t facts, capacity; /* versions at the begin of the last pass */
    int64_t hour_ms;
    int64_t next_ms; /* monotonic: no pass begins before */
    int64_t due_ms;  /* wall clock: when the first of them has stayed long enough; INT64_MAX = none */
    int64_t look_ms; /* wall clock: a round is wanted then */
    bool blocked;    /* one of them would have moved, but for something that passes */
} moves_t;

#define CORE_MOVED_FROM "moved from " /* how the reason of such a transition begins */
enum { MIGRATION_OVERDUE_MS = 60000 }; /* past its grace, and it is there yet */

moves_t *core_moves_new(void);
void core_moves_destroy(moves_t **self_p);
void core_moves_move_by(helio_broker_core_t *self, int64_t by_ms); /* the wall clock was set */
void core_moves_follow(helio_broker_core_t *self, job_t *job); /* its state changed */
void core_moves_load(helio_broker_core_t *self, job_t *job);   /* it is live under a new leader */
void core_moves_forget(helio_broker_core_t *self, job_t *job);
void core_moves_release(helio_broker_core_t *self, job_t *job); /* no room is held for it any more */
void core_moves_site_drop(helio_broker_core_t *self, const site_t *site); /* its pools go */
/*  The site's pools are as it figured them: less what is held. */
void core_moves_rebase(helio_broker_core_t *self, const site_t *site);
void core_moves_review(helio_broker_core_t *self); /* begin of a round: gives up what comes to nothing */
/*  Room at the pool that is held for jobs that are still leaving, of other than critical queues: GPUs that will be in
 *  use at at_ms (0 = now), by the limits. */
uint64_t core_moves_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms);
uint64_t core_moves_stays_ms(const helio_broker_core_t *self, const job_t *job); /* yet, whatever it would gain */
bool core_moved_is(helio_text_t reason); /* whether a transition's reason is that of a move */
/*  Takes the capacity at the target off what is free there. */
void core_moves_hold(helio_broker_core_t *self, mover_t *mover, site_t *site, pool_t *pool, uint32_t gpus_per_node);
/*  A pass over those that can be migrated is due by then (wall clock). */
void core_moves_note_due(helio_broker_core_t *self, int64_t at_ms);

#endif
