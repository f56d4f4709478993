/*  classes.h -- classes: jobs with equal requests wait in one class. And the start that a class waits for. */
#ifndef HELIO_BROKER_CORE_STATE_CLASSES_H
#define HELIO_BROKER_CORE_STATE_CLASSES_H

#include <uthash.h>

#include "broker/core/state/ask.h"
#include "broker/core/state/nouns.h"
#include "federation/base/heap.h"
#include "federation/base/memory.h"
#include "federation/policy/budget.h"
#include "federation/policy/choice.h"
#include "federation/policy/requirement.h"
#include "federation/reason/detail.h"

/*  The start that a class waits for, although it could start elsewhere or sooner. */
typedef struct window {
    site_t *site;
    pool_t *pool;     /* NULL = none */
    int64_t start_ms; /* wall clock, the start of an hour */
    uint32_t gpus;    /* promised for it at the pool, all jobs together */
    uint32_t hours;
} window_t;

enum { CLASS_DOUBTS_MAX = 8 };

typedef struct doubt {
    const pool_t *pool; /* compared, never followed; NULL = none */
    int64_t until_ms;
} doubt_t;

/*  Pools are compared by address, and by that of their site: the demand of a pool that was freed is dropped. */
typedef struct growth {
    site_t *site; /* NULL = none */
    const pool_t *pool;
    uint32_t gpus_per_node;
    helio_spend_t spend; /* of a job that starts there when this is chosen */
} growth_t;

struct job_class {
    uint64_t id;   /* in rows, the same under every leader while it has jobs */
    uint64_t hash; /* of what its jobs ask for, keyed: it is found by it */
    helio_arena_t *arena;
    union { /* what its jobs ask for; judged_ms is set in a plan only */
        ask_t ask;
        struct {
            CORE_ASK_MEMBERS
        };
    };
    helio_text_t summary;
    uint32_t refs;  /* submissions */
    job_t *waiting; /* FIFO: state QUEUED and eligible */
    uint32_t waiting_count;
    job_t *returned;     /* part of waiting: the last that came back from a site; NULL = none */
    uint64_t blocked_at; /* capacity_version at which nothing more fitted; 0 = not blocked */
    line_t *line;        /* where it waits for nothing but room; NULL = each round judges it */
    helio_heap_item_t in_line;
    job_class_t *prev, *next; /* of those that each round judges; prev is NULL if it is none of them */
    helio_reason_t reason;
    helio_details_t *why; /* its details; NULL = none */
    uint64_t decision_id; /* the last stored evaluation, its hash and its time */
    uint64_t decision_hash;
    int64_t decision_ms;
    window_t window;
    doubt_t doubts[CLASS_DOUBTS_MAX]; /* where jobs of this class failed at once; the next one replaces the oldest */
    uint32_t next_doubt;
    site_t *earliest; /* where its head could have started while it waits for a better hour */
    char earliest_pool[33];
    int64_t earliest_ms;      /* since when; 0 = it does not wait by choice */
    growth_t grows;           /* the elastic pool that it needs nodes of */
    pool_t *reserved;         /* where its head gang has a reservation; NULL = nowhere */
    int64_t next_check_ms;    /* wall clock: something that it waits for is due; 0 = nothing is */
    int64_t expected_ms;      /* wall clock, as in its row; 0 = unknown */
    uint32_t preemptions;     /* of other jobs, under way for it; at most waiting_count */
    uint64_t expected_gpus;   /* of the starts that these preemptions are for */
    int64_t patient_until_ms; /* wall clock: end of its wait for capacity that frees itself; 0 = not begun */
    targets_t *targets;       /* migration targets of its running jobs; NULL = not computed */
    struct option *options;   /* of a waiting class: the last evaluation, while the facts stand */
    uint32_t option_count;
    uint64_t options_facts, options_pools;
    int64_t options_step;       /* since 1970, of HELIO_SCORE_STEP_MS */
    const overflow_t *overflow; /* the group that applies, as of overflow_version; NULL = none */
    uint64_t overflow_version;
    uint32_t open_steps;     /* of its overflow group, for the head of the class */
    uint32_t priority_level; /* in this round: it is placed where its queue has this priority or more */
    uint64_t deferred_round; /* the round in which it let another tenant's jobs go first; it is asked again */
    UT_hash_handle hh, hh_id;
};

/*  Created when new; adds a reference. priority: 0 unless its jobs were edited. stored_id: of a row that a former
 *  leader wrote, which a class that is created then takes; 0 = none. */
job_class_t *core_class_get(helio_broker_core_t *self, const helio_requirement_t *want, int32_t priority,
                            struct tenant *tenant, struct queue *queue, uint64_t stored_id);
job_class_t *core_class_find(const helio_broker_core_t *self, uint64_t id); /* NULL: there is none */
void core_class_unref(helio_broker_core_t *self, job_class_t *class);       /* no job waits in it by then */

/*  Whether one of its jobs failed at once at the pool, and that still counts at now_ms. */
bool core_class_doubts(const job_class_t *class, const pool_t *pool, int64_t now_ms);
void core_class_doubt(job_class_t *class, const pool_t *pool, int64_t until_ms);
/*  The site's pools are about to be freed: others can come to be at their addresses. */
void core_class_forget_doubts(job_class_t *class, const site_t *site);

/*  The first waiting job that may start at the pool: a paused one (sites/losses.h) may not where jobs of the class failed
 *  at once. NULL: none may, or none waits. Jobs that came back are at the front; of these, CLASS_PAUSED_MAX are asked, so
 *  that a class of a hundred thousand paused jobs costs no more than that. */
enum { CLASS_PAUSED_MAX = 64 };
job_t *core_class_next(const job_class_t *class, const pool_t *pool, int64_t now_ms);
/*  When the first of these pauses ends, by the monotonic clock, if all these jobs are paused; else 0. */
int64_t core_class_paused_until_ms(const job_class_t *class, int64_t now_ms);

/*  < 0: a goes first. By the priority of the jobs, if both are of one account, then by age. Both have a waiting job. */
int core_class_by_place(const job_class_t *a, const job_class_t *b);

#endif
