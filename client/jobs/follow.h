/*  follow.h -- follows the states of some jobs until they are over.
 *
 *  The event stream only wakes the follower up; GET /v1/jobs/{id} gives the state. So nothing depends on an event:
 *  every job is requested again whenever the stream breaks, and from time to time; without a stream, at intervals. Once
 *  a broker has answered, the follower waits for it without limit.
 */
#ifndef HELIO_CLIENT_FOLLOW_H
#define HELIO_CLIENT_FOLLOW_H

#include <jansson.h>

#include "client/invocation/client.h"
#include "federation/base/id.h"

typedef struct helio_followed {
    const char *asked;       /* as the user wrote it */
    char id[HELIO_KEY_SIZE]; /* the whole id; "" before the first reply */
    char state[16];
    char site[64];
    uint32_t epoch;
    bool over;
    bool is_array;
    int exit_code; /* when over: the exit code for the program */
    json_t *reply; /* the newest reply; owned */
    /* the follower's own */
    bool dirty;
    int64_t asked_ms;
} helio_followed_t;

typedef struct helio_follow helio_follow_t;
/*  A job's reply has another state, site or epoch than the one before. */
typedef void helio_follow_fn(void *arg, const helio_followed_t *job);

/*  reached: the broker has answered this program before, so the follower waits for it without limit from the start. */
helio_follow_t *helio_follow_new(const helio_client_t *client, bool reached, helio_follow_fn *on_change, void *arg);
void helio_follow_destroy(helio_follow_t **self_p);
void helio_follow_add(helio_follow_t *self, const char *id); /* borrowed */

/*  Does what is due, then waits at most wait_ms. An exit code other than OK is final, and its cause was printed. */
HELIO_MUST_CHECK int helio_follow_turn(helio_follow_t *self, uint32_t wait_ms);

uint32_t helio_follow_count(const helio_follow_t *self);
const helio_followed_t *helio_follow_job(const helio_follow_t *self, uint32_t index);
bool helio_follow_is_done(const helio_follow_t *self);
/*  The first held job, if every job that is not over is held; otherwise NULL. */
const helio_followed_t *helio_follow_held(const helio_follow_t *self);
/*  0, or the first other exit code in the order of adding. */
int helio_follow_exit(const helio_follow_t *self);

#endif
