/*  table.c -- the table of sessions: which sites are connected, and what ends with a connection. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/gateway/internal.h"

helio_session_t *helio_session_find(const helio_sessions_t *self, uint64_t peer)
{
    helio_session_t *session = NULL;
    HASH_FIND(hh, self->items, &peer, sizeof peer, session);
    return session;
}

/*  Only HELLO and logs look up a session by its site, so a walk over a few hundred is fast enough. */
helio_session_t *helio_session_of_site(const helio_sessions_t *self, helio_text_t site)
{
    for (helio_session_t *session = self->items; session; session = session->hh.next)
        if (helio_text_is(site, session->site))
            return session;
    return NULL;
}

uint32_t helio_session_count(const helio_sessions_t *self)
{
    return HASH_COUNT(self->items);
}

uint32_t helio_session_count_of_site(const helio_sessions_t *self, helio_text_t site)
{
    uint32_t count = 0;
    for (const helio_session_t *session = self->items; session; session = session->hh.next)
        count += helio_text_is(site, session->site);
    return count;
}

helio_session_t *helio_session_add(helio_sessions_t *self, uint64_t peer, helio_text_t site, uint32_t protocol)
{
    assert(helio_session_count(self) < HELIO_SESSIONS_MAX && !helio_session_find(self, peer));
    helio_session_t *session = helio_new(1, sizeof *session);
    session->peer = peer;
    session->protocol = protocol;
    bool whole = helio_text_copy(site, session->site, sizeof session->site);
    assert(whole);
    (void)whole;
    HASH_ADD(hh, self->items, peer, sizeof session->peer, session);
    return session;
}

static void fail_waits(helio_sessions_t *self, uint64_t peer)
{
    for (uint32_t i = 0; i < HELIO_LOG_READS_MAX && self->wait_count; i++) {
        helio_log_wait_t wait = self->waits[i];
        if (!wait.request || wait.peer != peer)
            continue;
        self->waits[i].request = 0;
        self->wait_count--;
        wait.done(wait.arg, HELIO_UNAVAILABLE, NULL);
    }
}

void helio_session_end(helio_sessions_t *self, helio_session_t *session)
{
    uint64_t peer = session->peer;
    HASH_DEL(self->items, session);
    self->session_ends++;
    if (session->dirty)
        DL_DELETE2(self->dirty, session, dirty_prev, dirty_next);
    free(session->out.items);
    free(session);
    fail_waits(self, peer);
}
