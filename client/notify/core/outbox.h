/*  outbox.h -- what waits to be delivered, and when each delivery is tried: pure, in the time that it is given.
 *
 *  Each target has a line of its own, so that one which is slow or gone delays no other. Deliveries about the same
 *  thing reach a target in their order: the next is tried when the one before it was delivered or given up. Others pass
 *  a delivery that fails. While a target fails, it gets one attempt at a time, after waits that double.
 *
 *  The bodies are elsewhere, by their numbers, and survive this process there. Times are those of one clock that only
 *  goes forward.
 */
#ifndef HELIO_CLIENT_NOTIFY_OUTBOX_H
#define HELIO_CLIENT_NOTIFY_OUTBOX_H

#include "federation/base/memory.h"
#include "federation/base/rng.h"

enum {
    HELIO_OUTBOX_AT_ONCE = 4,             /* attempts at one target */
    HELIO_OUTBOX_FIRST_WAIT_MS = 1000,    /* doubled with each failure in a row */
    HELIO_OUTBOX_LONGEST_WAIT_MS = 300000 /* but for what a receiver asks for */
};

typedef struct helio_outbox helio_outbox_t;

typedef struct helio_outbox_target {
    uint32_t keep; /* deliveries that may wait */
} helio_outbox_target_t;

helio_outbox_t *helio_outbox_new(const helio_outbox_target_t *targets, uint32_t count, uint64_t seed);
void helio_outbox_destroy(helio_outbox_t **self_p);

/*  One more delivery, behind all others of its target. Numbers ascend. about: a hash of what it is about.
 *  Returns the number of the delivery that was dropped to make room; 0 = none. */
HELIO_MUST_CHECK uint64_t helio_outbox_add(helio_outbox_t *self, uint32_t target, uint64_t number, uint64_t about,
                                           int64_t give_up_ms);

typedef struct helio_outbox_attempt {
    uint32_t target;
    uint64_t number;
} helio_outbox_attempt_t;

/*  The next attempt that is due, which is under way then; false = none. */
HELIO_MUST_CHECK bool helio_outbox_next(helio_outbox_t *self, int64_t now_ms, helio_outbox_attempt_t *ret_attempt);
/*  A delivery that is not under way and too old, which is forgotten then; false = none. */
HELIO_MUST_CHECK bool helio_outbox_expired(helio_outbox_t *self, int64_t now_ms, helio_outbox_attempt_t *ret_attempt);
/*  When to ask again; INT64_MAX = when something was added or has ended. */
int64_t helio_outbox_due_ms(const helio_outbox_t *self);

typedef enum helio_outbox_verdict {
    HELIO_OUTBOX_DELIVERED,
    HELIO_OUTBOX_RETRY,   /* it stays */
    HELIO_OUTBOX_REFUSED, /* the receiver will not take it: given up */
    HELIO_OUTBOX_TOO_OLD  /* it failed, and was tried for long enough: given up */
} helio_outbox_verdict_t;

typedef struct helio_outbox_outcome {
    bool answered;   /* status is that of an answer, or the exit code of a command */
    bool by_command; /* 0 is well; anything else is tried again */
    long status;
    uint64_t retry_after_ms; /* what the receiver asks for; 0 = nothing */
} helio_outbox_outcome_t;

/*  An attempt has ended. Unless the verdict is RETRY, the delivery is forgotten. *ret_wait_ms: if RETRY. */
helio_outbox_verdict_t helio_outbox_settle(helio_outbox_t *self, helio_outbox_attempt_t attempt,
                                           const helio_outbox_outcome_t *outcome, int64_t now_ms,
                                           uint64_t *ret_wait_ms);

/*  What an answer means, by itself: DELIVERED, RETRY or REFUSED. */
helio_outbox_verdict_t helio_outbox_judge(const helio_outbox_outcome_t *outcome);

uint32_t helio_outbox_waiting(const helio_outbox_t *self, uint32_t target); /* with those under way */

#endif
