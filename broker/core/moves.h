/*  moves.h -- running jobs that may be moved to where the rest of their run does better (moves.c): where that is
 *  (spots.c), and what is written and said of it (moved.c).
 *
 *  `placement.on_better_site: checkpoint`, and the job tells how it saves. What a move costs and must save is
 *  federation/policy/move.h. The room is taken off the pool's free room before the job is told to leave, as that of a
 *  placement is, so that nobody else can count on it; in the round after it left it is placed there before any class
 *  takes its turn. Held in memory only: under another leader, or when the room is lost, it goes the usual way.
 */
#ifndef HELIO_BROKER_CORE_MOVES_H
#define HELIO_BROKER_CORE_MOVES_H

#include "broker/core/nouns.h"
#include "federation/policy/move.h"

/*  Where the jobs of a class could go: of spots_t. */
typedef struct spot {
    site_t *site;
    pool_t *pool;
    helio_rejection_t rejection; /* NEVER_FITS and OVERFLOW alone: bounds are held against the rest of the run */
    uint32_t ask;
    uint32_t gpus_per_node;
    uint32_t step; /* of the class's overflow group */
    helio_spot_t of;
} spot_t;

/*  Of a class, while what they rest on stands. */
struct spots {
    uint64_t facts, pools;
    int64_t hour_ms;
    uint32_t count;
    spot_t items[];
};

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

/* moves.c */
void core_moves_follow(helio_broker_core_t *self, job_t *job); /* its state changed */
void core_moves_load(helio_broker_core_t *self, job_t *job);   /* it is live under a new leader */
void core_moves_forget(helio_broker_core_t *self, job_t *job);
void core_moves_release(helio_broker_core_t *self, job_t *job); /* no room is held for it any more */
void core_moves_site_drop(helio_broker_core_t *self, const site_t *site); /* its pools go */
/*  The site's pools are as it figured them: less what is held. */
void core_moves_rebase(helio_broker_core_t *self, const site_t *site);
void core_moves_review(helio_broker_core_t *self); /* begin of a round: gives up what comes to nothing */
/*  Before the turns: those that have left. Returns how many were tried. */
uint32_t core_moves_place(helio_broker_core_t *self);
/*  After the turns: who leaves. In pieces, when there is something new. */
void core_moves_judge(helio_broker_core_t *self);
/*  Room at the pool that is held for jobs that are still leaving, of other than critical queues: GPUs that will be in
 *  use at at_ms (0 = now), by the limits. */
uint64_t core_moves_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms);
uint64_t core_moves_stays_ms(const helio_broker_core_t *self, const job_t *job); /* yet, whatever it would gain */

/* spots.c */
uint32_t core_moves_gpus(const job_t *job, uint32_t gpus_per_node); /* of all its nodes, were they such ones */
/*  Where jobs of the class could go; valid until the next such call. */
const spots_t *core_moves_spots(helio_broker_core_t *self, job_class_t *class);
/*  It may go there: it fits, by all that does not pass, and is no step or alternative behind where it runs. */
bool core_moves_is_apt(const spots_t *spots, const job_t *job, const spot_t *spot);
/*  What would become of a job that runs, at that spot. */
helio_move_t core_moves_weigh(helio_broker_core_t *self, const job_t *job, const spot_t *spot);
/*  What keeps it from there now, whatever it saves, with words. Of one that has left: what keeps it from its place. */
helio_rejection_t core_moves_obstacle(helio_broker_core_t *self, const job_t *job, const spot_t *spot,
                                      const char **ret_detail);

/* moved.c */
/*  "moved from north to south: saves $3.10 and 1.2 kg CO2e of what is left" */
const char *core_moved_text(helio_broker_core_t *self, const job_t *job, const spot_t *to,
                            const helio_move_t *move);
bool core_moved_is(helio_text_t reason); /* whether a transition's reason is that of a move */
/*  The decision and its candidates; returns its number. */
uint64_t core_moved_write(helio_broker_core_t *self, const job_t *job, const spots_t *spots, const spot_t *to,
                          const char *detail);
/*  Of a job that runs and asked for it: whether another pool would be better, and why it is not moved; "" = it did not
 *  ask. */
const char *core_moved_explain(helio_broker_core_t *self, const job_t *job);

#endif
