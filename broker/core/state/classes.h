/*  classes.h -- jobs that ask for the same wait in one class; the start that they wait for. */
#ifndef HELIO_BROKER_CORE_STATE_CLASSES_H
#define HELIO_BROKER_CORE_STATE_CLASSES_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"
#include "federation/policy/choice.h"
#include "federation/policy/requirement.h"
#include "federation/reason/detail.h"

/*  The start that a class waits for, though it could go elsewhere or sooner. */
typedef struct window {
    site_t *site;
    pool_t *pool;     /* NULL = none */
    int64_t start_ms; /* wall clock, the begin of an hour */
    uint32_t gpus;    /* promised for it at the pool, all jobs together */
    uint32_t hours;
} window_t;

struct job_class {
    uint64_t id;
    helio_arena_t *arena;
    helio_requirement_t want;
    queue_t *queue;
    account_t *account;
    int32_t priority; /* among the classes of its account: its tenant's jobs of its queue; part of what it is */
    helio_text_t summary;
    uint32_t refs;    /* submissions */
    job_t *waiting;   /* FIFO: state QUEUED and eligible */
    uint32_t waiting_count;
    job_t *returned;  /* of waiting: the last that came back from a site; NULL = none */
    uint64_t blocked_at; /* capacity_version at which nothing more fitted; 0 = not blocked */
    helio_reason_t reason;
    helio_details_t *why; /* its details; NULL = none */
    uint64_t decision_id; /* the last evaluation written, its hash and age */
    uint64_t decision_hash;
    int64_t decision_ms;
    window_t window;
    const pool_t *doubtful; /* where a job of this class failed at once (compared, never followed), and until when */
    int64_t doubtful_until_ms;
    site_t *earliest; /* where its head could have started while it waits for a better hour, and since when */
    char earliest_pool[33];
    int64_t earliest_ms; /* 0 = it does not wait by choice */
    pool_t *reserved;    /* where its head gang holds a reservation; NULL = nowhere */
    int64_t next_check_ms;     /* wall clock: something that it waits for is due then; 0 = nothing is */
    int64_t expected_ms; /* wall clock, as its row says; 0 = not foreseen */
    uint32_t preemptions;     /* of others, under way for it; at most waiting_count */
    uint64_t expected_gpus; /* of the starts that those are for */
    int64_t patient_until_ms; /* wall clock: so long it waits for room that comes by itself; 0 = it has not begun to */
    targets_t *targets;         /* where what runs of it could be moved to; NULL = not asked */
    struct option *options; /* of a class that waits: the last evaluation, while the facts stand */
    uint32_t option_count;
    uint64_t options_facts, options_pools;
    int64_t options_step; /* since 1970, of HELIO_SCORE_STEP_MS */
    const overflow_t *overflow; /* that it is bound to, NULL = none; as of overflow_version */
    uint64_t overflow_version;
    uint32_t open_steps;  /* of its overflow group, to the head of the class */
    uint32_t priority_level;       /* of its turn: its queue's priority at the sites where it may start in it */
    int64_t judged_ms;    /* of a plan: the time at which its job may start at the earliest; 0 = now */
    uint64_t deferred_round;     /* round in which it let another tenant's jobs go first, and will be asked again */
    UT_hash_handle hh;
};

/*  Made when new; one more reference. priority: 0 unless its jobs were edited. */
job_class_t *core_class_get(helio_broker_core_t *self, const helio_requirement_t *want, int32_t priority,
                            struct tenant *tenant, struct queue *queue);
void core_class_unref(helio_broker_core_t *self, job_class_t *class); /* freed with the last; nobody waits then */

#endif
