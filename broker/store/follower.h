/*  follower.h -- what a follower reads about the leader: its identity and its address, and
 *  the tokens and users as they change.
 *
 *  Thread: the engine's, while it waits for leadership. A connection of its own, read-only, which is kept between two
 *  looks: a look is one short statement, so several of them a second cost the database nothing that counts. */
#ifndef HELIO_BROKER_STORE_FOLLOWER_H
#define HELIO_BROKER_STORE_FOLLOWER_H

#include "broker/store/store.h"

/*  Texts live until the next look. */
typedef struct helio_leader {
    const char *name; /* host/process, as in helio.federation */
    const char *http; /* URL of its API for other brokers; "" = unknown */
    uint64_t epoch;
    uint64_t last_seq;       /* the last transition that is durable */
    helio_batch_mark_t last; /* batch */
    int64_t looked_ms;       /* boot clock, when the look began: it has seen all that was durable then */
} helio_leader_t;

/*  What a look reads besides: all tokens and users, revoked and enabled ones too, at the first look over a connection
 *  and whenever any of them has changed. */
typedef struct helio_follower_visitor {
    void (*on_begin)(void *arg); /* before the first of them */
    helio_store_token_fn *on_token;
    helio_store_principal_fn *on_user;
    void (*on_end)(void *arg); /* there are no others; not called after a failure */
    void *arg;
} helio_follower_visitor_t;

typedef struct helio_follower helio_follower_t;

/*  Copies conninfo. Connects at the first look. */
helio_follower_t *helio_follower_new(const char *conninfo);
void helio_follower_destroy(helio_follower_t **self_p);

/*  Blocking, for a few seconds at most once it is connected. *ret_leads: some broker leads now; then *ret_leader is
 *  that one, or for a moment still the one before it. On failure the connection is made anew at the next look. */
HELIO_MUST_CHECK helio_rc helio_follower_look(helio_follower_t *self, const helio_follower_visitor_t *visitor,
                                              bool *ret_leads, helio_leader_t *ret_leader, helio_error_t *err);

#endif
