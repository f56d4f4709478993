/*  answer.h -- what an adapter prints: JSON lines, each an object with one of the keys `node`, `attempt` and `end`; the
 *  line with `end` is the last one. Pure: it knows bytes alone, and believes no number that a site could not have.
 */
#ifndef HELIO_BACKENDS_EXEC_ANSWER_H
#define HELIO_BACKENDS_EXEC_ANSWER_H

#include "site-agent/backends/backend.h"

enum {
    HELIO_EXEC_ID_SIZE = 64,
    HELIO_EXEC_NODE_SIZE = 64,
    HELIO_EXEC_LINES_MAX = 262144,
    HELIO_EXEC_LINE_MAX = 64 << 10,
    HELIO_EXEC_PROTOCOL = 1
};

typedef enum helio_exec_state {
    HELIO_EXEC_WAITING,
    HELIO_EXEC_RUNNING,
    HELIO_EXEC_SUSPENDED,
    HELIO_EXEC_ENDED,
    HELIO_EXEC_STATES
} helio_exec_state_t;

/*  Texts are in the arena of the answer. */
typedef struct helio_exec_seen {
    helio_job_key_t key;
    uint32_t epoch;
    helio_text_t id; /* the engine's own */
    helio_exec_state_t state;
    helio_text_t node;          /* where it runs; "" = not said */
    helio_text_t reason;        /* what it waits for, or why it ended */
    uint32_t cause;             /* ENDED: helio_cause_t; NONE = not said */
    int64_t begun_ms, ended_ms; /* UTC; 0 = not said */
} helio_exec_seen_t;

typedef struct helio_exec_node {
    helio_text_t name;
    helio_text_t pool; /* "" = the site's only pool */
    bool up;           /* it starts jobs, now or once there is room */
    uint32_t gpus, gpus_used, cpus, cpus_used;
    uint64_t memory_bytes, memory_used_bytes;
} helio_exec_node_t;

/*  Of the engine's own queue: when a job that is submitted now, and takes a whole node of the pool, is expected to
 *  start. */
typedef struct helio_exec_queue {
    helio_text_t pool;
    uint32_t wait_s;
} helio_exec_queue_t;

/*  The object under `end`. */
typedef struct helio_exec_end {
    bool counted; /* it states how many nodes and attempts the lines before it have, and they have as many */
    helio_text_t submitted, refused, later;
    bool has_fenced, fenced;
    uint32_t protocol; /* 0 = not said */
    helio_text_t engine;
    bool carries;
    bool gangs; /* it runs jobs on several nodes */
    helio_exec_queue_t queues[HELIO_SITE_POOLS_MAX];
    uint32_t queue_count;
} helio_exec_end_t;

typedef struct helio_exec_answer {
    helio_exec_node_t *nodes;
    uint32_t node_count;
    helio_exec_seen_t *attempts;
    uint32_t attempt_count;
    helio_exec_end_t end;
} helio_exec_answer_t;

/*  INVALID with the line's number and what is wrong: then nothing of it counts. */
HELIO_MUST_CHECK helio_rc helio_exec_answer_read(helio_text_t text, helio_arena_t *arena,
                                                 helio_exec_answer_t *ret_answer, helio_error_t *err);

#endif
