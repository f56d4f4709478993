/*  send.c -- makes frames for sites from effects of the core; orders, stops and verdicts are collected into few large
 *  frames. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/gateway/internal.h"
#include "federation/base/utf8.h"
#include "federation/wire/codec.h"

bool helio_sessions_send(helio_sessions_t *self, uint64_t peer, uint32_t message, const void *record)
{
    helio_error_t err = {0};
    helio_buffer_reset(&self->buffer);
    helio_rc rc = helio_wire_encode(message, record, &self->buffer, &err);
    assert(rc == HELIO_OK); /* our own records are within their bounds, and collected frames within their size */
    bool sent = rc == HELIO_OK && self->ports.send(self->ports.arg, peer, helio_buffer_view(&self->buffer)) == HELIO_OK;
    self->figures.frames_out_total += sent;
    return sent;
}

bool helio_sessions_probe(helio_sessions_t *self, uint64_t peer)
{
    helio_msg_resync_t resync = {.reason = HELIO_TEXT("another connection of this site said HELLO")};
    return helio_sessions_send(self, peer, HELIO_MSG_RESYNC, &resync);
}

void helio_sessions_refuse(helio_sessions_t *self, uint64_t peer, helio_rc rc, const char *text)
{
    helio_msg_refusal_t refusal = {(uint32_t)rc, helio_text_of(text), HELIO_PROTOCOL_VERSION,
                                   HELIO_PROTOCOL_VERSION_MIN};
    helio_sessions_send(self, peer, HELIO_MSG_REFUSAL, &refusal);
}

/* ---- collecting ---------------------------------------------------------------------------------------- */

static void flush(helio_sessions_t *self, helio_session_t *session, bool last)
{
    helio_outgoing_t *out = &session->out;
    if (out->message == HELIO_MSG_ORDERS && out->count) {
        helio_msg_orders_t orders = {.incarnation = out->incarnation};
        orders.orders.items = (helio_order_t *)(void *)out->items;
        orders.orders.count = out->count;
        helio_sessions_send(self, session->peer, HELIO_MSG_ORDERS, &orders);
    } else if (out->message == HELIO_MSG_STOPS && out->count) {
        helio_msg_stops_t stops = {0};
        stops.stops.items = (helio_stop_t *)(void *)out->items;
        stops.stops.count = out->count;
        helio_sessions_send(self, session->peer, HELIO_MSG_STOPS, &stops);
    } else if (out->message == HELIO_MSG_SIGNALS && out->count) {
        helio_msg_signals_t signals = {0};
        signals.signals.items = (helio_attempt_signal_t *)(void *)out->items;
        signals.signals.count = out->count;
        helio_sessions_send(self, session->peer, HELIO_MSG_SIGNALS, &signals);
    } else if (last || (out->message == HELIO_MSG_VERDICTS && out->count)) {
        helio_msg_verdicts_t verdicts = {.last = last};
        verdicts.verdicts.items = (helio_attempt_verdict_t *)(void *)out->items;
        verdicts.verdicts.count = out->message == HELIO_MSG_VERDICTS ? out->count : 0;
        helio_sessions_send(self, session->peer, HELIO_MSG_VERDICTS, &verdicts);
    }
    out->message = 0;
    out->count = 0;
    out->bytes = 0;
}

/*  Adds an item; first sends the collected items if the new one does not fit into their frame. */
static void collect(helio_sessions_t *self, helio_session_t *session, uint32_t message, const void *item, size_t size,
                    size_t bytes)
{
    helio_outgoing_t *out = &session->out;
    if (out->message != message || out->count == HELIO_WIRE_BATCH_MAX || out->bytes + bytes > HELIO_FLUSH_BYTES)
        flush(self, session, false);
    out->message = message;
    if (((size_t)out->count + 1) * size > out->capacity_bytes) {
        size_t count = out->count ? (size_t)out->count * 2 : 8;
        out->items = helio_grow(out->items, count, size);
        out->capacity_bytes = count * size;
    }
    memcpy(out->items + (size_t)out->count * size, item, size);
    out->count++;
    out->bytes += bytes;
    if (!session->dirty) {
        session->dirty = true;
        DL_APPEND2(self->dirty, session, dirty_prev, dirty_next);
    }
}

void helio_sessions_flush(helio_sessions_t *self)
{
    while (self->dirty) {
        helio_session_t *session = self->dirty;
        DL_DELETE2(self->dirty, session, dirty_prev, dirty_next);
        session->dirty = false;
        flush(self, session, false);
    }
}

/* ---- effects ------------------------------------------------------------------------------------------- */

/*  Upper bounds of the encoded sizes: every number and head at its longest form. */
static size_t order_bytes(const helio_order_t *order)
{
    return 192 + order->tenant.size + order->user.size + order->pool.size + order->source.size;
}

static void carry_welcome(helio_sessions_t *self, const helio_session_t *session, const helio_fx_welcome_t *fx,
                          int64_t wall_ms)
{
    helio_msg_welcome_t welcome = {.protocol = session->protocol,
                                   .incarnation = fx->incarnation,
                                   .broker_epoch = fx->broker_epoch,
                                   .lease_ms = fx->lease_ms,
                                   .renew_ms = fx->renew_ms,
                                   .summary_ms = fx->summary_ms,
                                   .wall_ms = wall_ms,
                                   .memory_mark = fx->memory_mark};
    helio_sessions_send(self, session->peer, HELIO_MSG_WELCOME, &welcome);
}

/*  The refusal is also sent to a connection without a session, so that its agent learns the reason. */
static void carry_refusal(helio_sessions_t *self, const helio_fx_peer_t *fx)
{
    helio_session_t *session = helio_session_find(self, fx->peer);
    helio_msg_refusal_t refusal = {fx->rc, fx->text, HELIO_PROTOCOL_VERSION, HELIO_PROTOCOL_VERSION_MIN};
    if (session)
        flush(self, session, false);
    helio_sessions_send(self, fx->peer, HELIO_MSG_REFUSAL, &refusal);
    if (session && self->ports.refused)
        self->ports.refused(self->ports.arg, helio_text_of(session->site), (helio_rc)fx->rc, fx->text);
    if (session)
        helio_session_end(self, session); /* the core ended it, so no event is emitted */
}

static void carry_resync(helio_sessions_t *self, const helio_session_t *session, const helio_fx_peer_t *fx)
{
    helio_msg_resync_t resync = {.reason = helio_utf8_cut(fx->text, 128)};
    helio_sessions_send(self, session->peer, HELIO_MSG_RESYNC, &resync);
}

static void carry_order(helio_sessions_t *self, helio_session_t *session, const helio_fx_order_t *fx)
{
    /* A frame has one incarnation. */
    if (session->out.message == HELIO_MSG_ORDERS && session->out.incarnation != fx->incarnation)
        flush(self, session, false);
    collect(self, session, HELIO_MSG_ORDERS, &fx->order, sizeof fx->order, order_bytes(&fx->order));
    session->out.incarnation = fx->incarnation;
}

/*  Every record for a site begins with its peer. */
static helio_session_t *session_of(const helio_sessions_t *self, const helio_effect_t *effect)
{
    uint64_t peer;
    memcpy(&peer, effect->payload, sizeof peer);
    return helio_session_find(self, peer);
}

void helio_sessions_carry(helio_sessions_t *self, const helio_effect_t *effect, int64_t wall_ms)
{
    assert(effect->kind != HELIO_BROKER_FX_CHANNEL); /* helio_channels_open */
    if (effect->kind == HELIO_BROKER_FX_REFUSAL) {
        carry_refusal(self, effect->payload);
        return;
    }
    helio_session_t *session = session_of(self, effect);
    if (!session)
        return;
    const void *payload = effect->payload;
    switch (effect->kind) {
    case HELIO_BROKER_FX_ORDER:
        carry_order(self, session, payload);
        break;
    case HELIO_BROKER_FX_STOP: {
        const helio_stop_t *stop = &((const helio_fx_stop_t *)payload)->stop;
        collect(self, session, HELIO_MSG_STOPS, stop, sizeof *stop, 64 + stop->reason.size);
        break;
    }
    case HELIO_BROKER_FX_SIGNAL: {
        const helio_attempt_signal_t *signal = &((const helio_fx_signal_t *)payload)->signal;
        collect(self, session, HELIO_MSG_SIGNALS, signal, sizeof *signal, 64);
        break;
    }
    case HELIO_BROKER_FX_VERDICT: {
        const helio_attempt_verdict_t *attempt_verdict = &((const helio_fx_verdict_t *)payload)->attempt_verdict;
        collect(self, session, HELIO_MSG_VERDICTS, attempt_verdict, sizeof *attempt_verdict, 64);
        break;
    }
    case HELIO_BROKER_FX_VERDICTS_DONE:
        if (session->out.message != HELIO_MSG_VERDICTS)
            flush(self, session, false);
        flush(self, session, true);
        break;
    case HELIO_BROKER_FX_REPORTS_ACK: {
        helio_msg_reports_ack_t ack = {((const helio_fx_reports_ack_t *)payload)->seq};
        helio_sessions_send(self, session->peer, HELIO_MSG_REPORTS_ACK, &ack);
        break;
    }
    case HELIO_BROKER_FX_WELCOME:
        carry_welcome(self, session, payload, wall_ms);
        break;
    case HELIO_BROKER_FX_RENEWED: {
        const helio_fx_renewed_t *fx = payload;
        helio_msg_renewed_t renewed = {fx->sent_boot_ms, fx->lease_ms};
        helio_sessions_send(self, session->peer, HELIO_MSG_RENEWED, &renewed);
        break;
    }
    case HELIO_BROKER_FX_DEMAND: {
        const helio_fx_demand_t *fx = payload;
        helio_msg_demand_t demand = {.pools = {fx->pools.items, fx->pools.count}};
        helio_sessions_send(self, session->peer, HELIO_MSG_DEMAND, &demand);
        break;
    }
    case HELIO_BROKER_FX_RESYNC:
        carry_resync(self, session, payload);
        break;
    default:
        assert(!"an effect that is not for a site");
    }
}
