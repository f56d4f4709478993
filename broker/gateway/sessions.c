/*  The table of sessions: who is connected, and what ends with a connection. */
#include "broker/gateway/sessions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/gateway/internal.h"

static const char *const bad_words[] = {
#define X(NAME, word) word,
    HELIO_BAD_FRAME_TABLE(X)
#undef X
};

const char *helio_bad_frame_word(uint32_t why)
{
    return why < HELIO_BAD_FRAME_COUNT ? bad_words[why] : "unknown";
}

helio_sessions_t *helio_sessions_new(helio_sessions_ports_t ports)
{
    helio_sessions_t *self = helio_new(1, sizeof *self);
    self->ports = ports;
    self->waits = helio_new(HELIO_LOG_READS_MAX, sizeof *self->waits);
    self->index_size = 2 * HELIO_SESSIONS_MAX; /* never more than half full */
    self->index = helio_new(self->index_size, sizeof *self->index);
    self->arena = helio_arena_new();
    self->buffer.max = 2 * (size_t)HELIO_WIRE_FRAME_MAX;
    return self;
}

void helio_sessions_destroy(helio_sessions_t **self_p)
{
    helio_sessions_t *self = *self_p;
    if (!self)
        return;
    while (self->count)
        helio_session_end(self, self->items[self->count - 1]);
    free(self->items);
    free(self->index);
    free(self->dirty);
    free(self->waits);
    helio_arena_destroy(&self->arena);
    helio_buffer_clear(&self->buffer);
    free(self);
    *self_p = NULL;
}

helio_text_t helio_text_cut(helio_text_t text, uint32_t size_max)
{
    if (text.size <= size_max)
        return text;
    while (size_max && ((unsigned char)text.data[size_max] & 0xc0) == 0x80)
        size_max--;
    return (helio_text_t){text.data, size_max};
}

static uint32_t home_of(const helio_sessions_t *self, uint64_t peer)
{
    return (uint32_t)(helio_hash(HELIO_HASH_SEED, &peer, sizeof peer) % self->index_size);
}

static uint32_t slot_of(const helio_sessions_t *self, uint64_t peer)
{
    uint32_t slot = home_of(self, peer);
    while (self->index[slot] && self->items[self->index[slot] - 1]->peer != peer)
        slot = (slot + 1) % self->index_size;
    return slot;
}

helio_session_t *helio_session_find(const helio_sessions_t *self, uint64_t peer)
{
    uint32_t position = self->index[slot_of(self, peer)];
    return position ? self->items[position - 1] : NULL;
}

/*  Sites are looked up for HELLO and for logs only: a walk over some hundreds is good enough. */
helio_session_t *helio_session_of_site(const helio_sessions_t *self, helio_text_t site)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (helio_text_is(site, self->items[i]->site))
            return self->items[i];
    return NULL;
}

helio_session_t *helio_session_add(helio_sessions_t *self, uint64_t peer, helio_text_t site,
                                   uint32_t protocol)
{
    assert(self->count < HELIO_SESSIONS_MAX && !helio_session_find(self, peer));
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? self->capacity * 2 : 16;
        self->items = helio_grow(self->items, self->capacity, sizeof(helio_session_t *));
        self->dirty = helio_grow(self->dirty, self->capacity, sizeof(helio_session_t *));
    }
    helio_session_t *session = helio_new(1, sizeof *session);
    session->peer = peer;
    session->protocol = protocol;
    bool whole = helio_text_copy(site, session->site, sizeof session->site);
    assert(whole);
    (void)whole;
    self->items[self->count++] = session;
    self->index[slot_of(self, peer)] = self->count;
    return session;
}

/*  Removal closes the gap in the probe chain (Knuth 6.4, algorithm R), so no tombstones gather. */
static void unindex(helio_sessions_t *self, uint32_t hole)
{
    uint32_t size = self->index_size;
    self->index[hole] = 0;
    for (uint32_t at = (hole + 1) % size; self->index[at]; at = (at + 1) % size) {
        uint32_t home = home_of(self, self->items[self->index[at] - 1]->peer);
        if ((at + size - home) % size >= (at + size - hole) % size) {
            self->index[hole] = self->index[at];
            self->index[at] = 0;
            hole = at;
        }
    }
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
    uint32_t slot = slot_of(self, session->peer);
    uint32_t position = self->index[slot] - 1;
    assert(self->items[position] == session);
    unindex(self, slot);
    if (position != self->count - 1) {
        helio_session_t *last = self->items[self->count - 1];
        self->index[slot_of(self, last->peer)] = position + 1;
        self->items[position] = last;
    }
    self->count--;
    for (uint32_t i = 0; session->dirty && i < self->dirty_count; i++)
        if (self->dirty[i] == session) {
            memmove(&self->dirty[i], &self->dirty[i + 1],
                    (self->dirty_count - i - 1) * sizeof(helio_session_t *));
            self->dirty_count--;
            break;
        }
    uint64_t peer = session->peer;
    helio_outgoing_clear(&session->out);
    free(session);
    fail_waits(self, peer);
}

void helio_sessions_gone(helio_sessions_t *self, uint64_t peer, const char *why)
{
    helio_session_t *session = helio_session_find(self, peer);
    if (!session)
        return;
    helio_session_end(self, session);
    helio_ev_site_gone_t gone = {.peer = peer, .reason = helio_text_cut(helio_text_of(why), 128)};
    self->ports.emit(self->ports.emit_arg, HELIO_BROKER_EV_SITE_GONE, &gone);
}

void helio_sessions_shed(helio_sessions_t *self, bool shed)
{
    self->shed = shed;
}

void helio_sessions_bad(helio_sessions_t *self, helio_text_t site, helio_bad_frame_t why, const char *text)
{
    self->figures.frames_bad_total[why]++;
    if (self->ports.bad)
        self->ports.bad(self->ports.arg, site, why, text);
}

void helio_sessions_figures(const helio_sessions_t *self, helio_sessions_figures_t *ret_figures)
{
    *ret_figures = self->figures;
    ret_figures->sessions = self->count;
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

helio_rc helio_sessions_read_log(helio_sessions_t *self, const helio_log_ask_t *ask, int64_t now_ms)
{
    helio_session_t *session = helio_session_of_site(self, helio_text_of(ask->site));
    if (!session)
        return HELIO_UNAVAILABLE;
    if (self->wait_count == HELIO_LOG_READS_MAX)
        return HELIO_BUSY;
    uint64_t request;
    do
        request = ++self->last_request;
    while (self->waits[request % HELIO_LOG_READS_MAX].request);
    self->waits[request % HELIO_LOG_READS_MAX] =
        (helio_log_wait_t){request, session->peer, now_ms + HELIO_LOG_READ_TIMEOUT_MS, ask->done, ask->arg};
    self->wait_count++;
    uint32_t size_max = ask->size_max < (256u << 10) ? ask->size_max : 256u << 10;
    helio_msg_log_read_t message = {request, ask->key, ask->epoch, ask->offset, size_max};
    helio_sessions_send(self, session->peer, HELIO_MSG_LOG_READ, &message);
    return HELIO_OK;
}

void helio_sessions_log_data(helio_sessions_t *self, const helio_session_t *session,
                             const helio_msg_log_data_t *piece)
{
    helio_log_wait_t *slot = &self->waits[piece->request % HELIO_LOG_READS_MAX];
    /* The peer is compared: a site must not answer what was asked of another. */
    if (!piece->request || slot->request != piece->request || slot->peer != session->peer) {
        helio_sessions_bad(self, helio_text_of(session->site), HELIO_BAD_FRAME_UNASKED,
                           "LOG_DATA nobody waits for");
        return;
    }
    helio_log_wait_t wait = *slot;
    slot->request = 0;
    self->wait_count--;
    wait.done(wait.arg, (helio_rc)piece->rc, piece->rc == HELIO_OK ? piece : NULL);
}

void helio_sessions_tick(helio_sessions_t *self, int64_t now_ms)
{
    for (uint32_t i = 0; i < HELIO_LOG_READS_MAX && self->wait_count; i++) {
        helio_log_wait_t wait = self->waits[i];
        if (!wait.request || wait.deadline_ms > now_ms)
            continue;
        self->waits[i].request = 0;
        self->wait_count--;
        wait.done(wait.arg, HELIO_TIMEOUT, NULL);
    }
}
