/*  leadership.h -- whether this broker leads, and else which one does: what the server asks before it answers.
 *
 *  One thread (the engine's) writes, and many read without locks. A view of a leader never changes and is never freed
 *  before the end: there are as many as takeovers. */
#ifndef HELIO_BROKER_HTTP_REQUEST_LEADERSHIP_H
#define HELIO_BROKER_HTTP_REQUEST_LEADERSHIP_H

#include "broker/store/follower.h"

/*  A broker that has not reached the database for this time serves no request: it could miss a revoked token. */
enum { HELIO_FOLLOWING_FRESH_MS = 4000 };

typedef struct helio_leader_view {
    struct helio_leader_view *next; /* private */
    char name[96];
    char http[256]; /* URL without a final '/' */
    uint64_t epoch;
} helio_leader_view_t;

typedef struct helio_leadership helio_leadership_t;

helio_leadership_t *helio_leadership_new(void);
void helio_leadership_destroy(helio_leadership_t **self_p);

/*  Writer only. leader NULL: this broker is about to lead. seen_ms: boot clock, when the look began. */
void helio_leadership_follow(helio_leadership_t *self, const helio_leader_t *leader, int64_t seen_ms);
void helio_leadership_lead(helio_leadership_t *self);

/*  Any thread. */
bool helio_leadership_leads(const helio_leadership_t *self);
/*  The broker that leads instead of this one. NULL: this one does, or is about to; or no leader is known. */
const helio_leader_view_t *helio_leadership_other(const helio_leadership_t *self, int64_t now_ms);
/*  It follows, and its last look began after since_ms. */
bool helio_leadership_has_looked(const helio_leadership_t *self, int64_t since_ms);
/*  This broker follows and has lost sight of the database: what it knows of tokens may be old. */
bool helio_leadership_is_blind(const helio_leadership_t *self, int64_t now_ms);

#endif
