/*  sessions.c -- the life of all sessions together, and the pieces of logs that sites are asked for. */
#include "broker/gateway/sessions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/gateway/internal.h"
#include "federation/base/utf8.h"

static const char *const bad_frame_names[] = {
#define X(NAME, word) word,
    HELIO_BAD_FRAME_TABLE(X)
#undef X
};

const char *helio_bad_frame_name(uint32_t why)
{
    return why < HELIO_BAD_FRAME_COUNT ? bad_frame_names[why] : "unknown";
}

helio_sessions_t *helio_sessions_new(helio_sessions_ports_t ports)
{
    helio_sessions_t *self = helio_new(1, sizeof *self);
    self->ports = ports;
    self->waits = helio_new(HELIO_LOG_READS_MAX, sizeof *self->waits);
    self->arena = helio_arena_new();
    self->channels = helio_channels_new(self);
    self->buffer.max = 2 * (size_t)HELIO_WIRE_FRAME_MAX;
    return self;
}

void helio_sessions_destroy(helio_sessions_t **self_p)
{
    helio_sessions_t *self = *self_p;
    if (!self)
        return;
    while (self->items)
        helio_session_end(self, self->items);
    helio_channels_destroy(&self->channels);
    free(self->waits);
    helio_arena_destroy(&self->arena);
    helio_buffer_clear(&self->buffer);
    free(self);
    *self_p = NULL;
}

void helio_sessions_gone(helio_sessions_t *self, uint64_t peer, const char *why, bool bye)
{
    helio_session_t *session = helio_session_find(self, peer);
    if (!session)
        return;
    helio_session_end(self, session);
    helio_ev_site_gone_t gone = {.peer = peer, .reason = helio_utf8_cut(helio_text_of(why), 128), .bye = bye};
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
    ret_figures->sessions = helio_session_count(self);
}

helio_channels_t *helio_sessions_channels(helio_sessions_t *self)
{
    return self->channels;
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

enum { FROM_END_SINCE = 10 }; /* the protocol version of LOG_READ's from_end */

helio_rc helio_sessions_read_log(helio_sessions_t *self, const helio_log_ask_t *ask, int64_t now_ms)
{
    helio_session_t *session = helio_session_of_site(self, helio_text_of(ask->site));
    if (!session)
        return HELIO_UNAVAILABLE;
    if (ask->from_end && session->protocol < FROM_END_SINCE)
        return HELIO_VERSION;
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
    helio_msg_log_read_t message = {request, ask->key, ask->epoch, ask->offset, size_max, ask->from_end};
    helio_sessions_send(self, session->peer, HELIO_MSG_LOG_READ, &message);
    return HELIO_OK;
}

void helio_sessions_log_data(helio_sessions_t *self, const helio_session_t *session, const helio_msg_log_data_t *piece)
{
    helio_log_wait_t *slot = &self->waits[piece->request % HELIO_LOG_READS_MAX];
    /* The peer is compared, so that a site cannot answer a request to another site. */
    if (!piece->request || slot->request != piece->request || slot->peer != session->peer) {
        helio_sessions_bad(self, helio_text_of(session->site), HELIO_BAD_FRAME_UNASKED, "LOG_DATA without a request");
        return;
    }
    helio_log_wait_t wait = *slot;
    slot->request = 0;
    self->wait_count--;
    wait.done(wait.arg, (helio_rc)piece->rc, piece->rc == HELIO_OK ? piece : NULL);
}

void helio_sessions_tick(helio_sessions_t *self, int64_t now_ms)
{
    helio_channels_tick(self->channels, now_ms);
    for (uint32_t i = 0; i < HELIO_LOG_READS_MAX && self->wait_count; i++) {
        helio_log_wait_t wait = self->waits[i];
        if (!wait.request || wait.deadline_ms > now_ms)
            continue;
        self->waits[i].request = 0;
        self->wait_count--;
        wait.done(wait.arg, HELIO_TIMEOUT, NULL);
    }
}
