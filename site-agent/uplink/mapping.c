/*  mapping.c -- turns the broker's messages into events of the core, and effects of the core into frames. */
#include "site-agent/uplink/mapping.h"

#include <assert.h>
#include <stdlib.h>

#include "federation/base/clock.h"
#include "federation/wire/codec.h"

enum { FEED_STATE_SINCE = 9 }; /* the version that has helio_series.feed_state */

/* ---- in ------------------------------------------------------------------------------------------------ */

static const void *welcome_event(const helio_msg_welcome_t *message, helio_arena_t *arena)
{
    helio_aev_welcome_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    *event = (helio_aev_welcome_t){.incarnation = message->incarnation,
                                   .broker_epoch = message->broker_epoch,
                                   .lease_ms = message->lease_ms,
                                   .renew_ms = message->renew_ms,
                                   .summary_ms = message->summary_ms,
                                   .memory_mark = message->memory_mark};
    return event;
}

static const void *verdicts_event(const helio_msg_verdicts_t *message, helio_arena_t *arena)
{
    helio_aev_verdicts_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->verdicts.items = message->verdicts.items;
    event->verdicts.count = message->verdicts.count;
    event->last = message->last;
    return event;
}

static const void *orders_event(const helio_msg_orders_t *message, helio_arena_t *arena)
{
    helio_aev_orders_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->incarnation = message->incarnation;
    event->orders.items = message->orders.items;
    event->orders.count = message->orders.count;
    return event;
}

static const void *stops_event(const helio_msg_stops_t *message, helio_arena_t *arena)
{
    helio_aev_stops_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->stops.items = message->stops.items;
    event->stops.count = message->stops.count;
    return event;
}

static const void *signals_event(const helio_msg_signals_t *message, helio_arena_t *arena)
{
    helio_aev_signals_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->signals.items = message->signals.items;
    event->signals.count = message->signals.count;
    return event;
}

static const void *ack_event(const helio_msg_reports_ack_t *message, helio_arena_t *arena)
{
    helio_aev_ack_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->seq = message->seq;
    return event;
}

static const void *renewed_event(const helio_msg_renewed_t *message, helio_arena_t *arena)
{
    helio_aev_renewed_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->sent_boot_ms = message->sent_boot_ms;
    event->lease_ms = message->lease_ms;
    return event;
}

helio_rc helio_mapping_event(uint32_t message, const void *record, helio_arena_t *arena, uint32_t *ret_event,
                             const void **ret_payload)
{
    switch (message) {
    case HELIO_MSG_WELCOME:
        *ret_event = HELIO_AGENT_EV_WELCOME;
        *ret_payload = welcome_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_VERDICTS:
        *ret_event = HELIO_AGENT_EV_VERDICTS;
        *ret_payload = verdicts_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_ORDERS:
        *ret_event = HELIO_AGENT_EV_ORDERS;
        *ret_payload = orders_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_STOPS:
        *ret_event = HELIO_AGENT_EV_STOPS;
        *ret_payload = stops_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_SIGNALS:
        *ret_event = HELIO_AGENT_EV_SIGNALS;
        *ret_payload = signals_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_REPORTS_ACK:
        *ret_event = HELIO_AGENT_EV_REPORTS_ACK;
        *ret_payload = ack_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_RENEWED:
        *ret_event = HELIO_AGENT_EV_RENEWED;
        *ret_payload = renewed_event(record, arena);
        return HELIO_OK;
    case HELIO_MSG_RESYNC:
        *ret_event = HELIO_AGENT_EV_RESYNC;
        *ret_payload = helio_arena_alloc(arena, 1, sizeof(helio_aev_nothing_t));
        return HELIO_OK;
    case HELIO_MSG_LOG_READ:
    case HELIO_MSG_DEMAND:
    case HELIO_MSG_CHANNEL_OPEN:
    case HELIO_MSG_CHANNEL_INPUT:
    case HELIO_MSG_CHANNEL_CLOSE:
    case HELIO_MSG_REFUSAL:
        return HELIO_NOT_FOUND;
    default: /* what agents send */
        return HELIO_PROTOCOL;
    }
}

/* ---- out ----------------------------------------------------------------------------------------------- */

struct helio_framer {
    helio_identity_t identity;
    uint32_t protocol;
    helio_framer_fn *send;
    void *arg;
    helio_buffer_t frame;
    helio_arena_t *arena; /* of the gathered messages */
    helio_report_t *reports;
    uint32_t report_count;
};

helio_framer_t *helio_framer_new(const helio_identity_t *identity, helio_framer_fn *send, void *arg)
{
    helio_framer_t *self = helio_new(1, sizeof *self);
    self->identity = *identity;
    self->protocol = HELIO_PROTOCOL_VERSION_MIN;
    self->send = send;
    self->arg = arg;
    self->arena = helio_arena_new();
    self->reports = helio_new(HELIO_WIRE_BATCH_MAX, sizeof *self->reports);
    return self;
}

void helio_framer_destroy(helio_framer_t **self_p)
{
    helio_framer_t *self = *self_p;
    if (!self)
        return;
    helio_buffer_clear(&self->frame);
    helio_arena_destroy(&self->arena);
    free(self->reports);
    free(self);
    *self_p = NULL;
}

void helio_framer_speak(helio_framer_t *self, uint32_t protocol)
{
    self->protocol = protocol;
}

bool helio_framer_takes(uint32_t effect)
{
    return effect == HELIO_AGENT_FX_SEND_HELLO || effect == HELIO_AGENT_FX_SEND_INVENTORY ||
           effect == HELIO_AGENT_FX_SEND_SUMMARY || effect == HELIO_AGENT_FX_SEND_RENEW ||
           effect == HELIO_AGENT_FX_SEND_REPORT;
}

static helio_rc send_now(helio_framer_t *self, uint32_t message, const void *record, helio_error_t *err)
{
    helio_buffer_reset(&self->frame);
    helio_rc rc = helio_wire_encode(message, record, &self->frame, err);
    if (rc != HELIO_OK)
        return rc;
    rc = self->send(self->arg, helio_buffer_view(&self->frame));
    return rc == HELIO_OK ? rc : helio_fail(err, rc, "%s: %s", helio_message_name(message), helio_rc_text(rc));
}

/*  Halves the list until it fits: a frame's size is known only once it is encoded. */
static helio_rc send_reports(helio_framer_t *self, helio_report_t *items, uint32_t count, helio_error_t *err)
{
    helio_msg_reports_t message = {.reports = {items, count}};
    helio_rc rc = send_now(self, HELIO_MSG_REPORTS, &message, err);
    if (rc != HELIO_TOO_BIG || count < 2)
        return rc;
    rc = send_reports(self, items, count / 2, err);
    return rc == HELIO_OK ? send_reports(self, items + count / 2, count - count / 2, err) : rc;
}

void helio_framer_drop(helio_framer_t *self)
{
    self->report_count = 0;
    helio_arena_reset(self->arena);
}

helio_rc helio_framer_flush(helio_framer_t *self, helio_error_t *err)
{
    helio_rc rc = self->report_count ? send_reports(self, self->reports, self->report_count, err) : HELIO_OK;
    helio_framer_drop(self);
    return rc;
}

helio_rc helio_framer_message(helio_framer_t *self, uint32_t message, const void *record, helio_error_t *err)
{
    helio_rc rc = helio_framer_flush(self, err);
    return rc == HELIO_OK ? send_now(self, message, record, err) : rc;
}

static helio_rc put_report(helio_framer_t *self, const helio_report_t *report, helio_error_t *err)
{
    if (self->report_count == HELIO_WIRE_BATCH_MAX) {
        helio_rc rc = helio_framer_flush(self, err);
        if (rc != HELIO_OK)
            return rc;
    }
    helio_record_copy(&helio_report_type, self->arena, report, &self->reports[self->report_count++]);
    return HELIO_OK;
}

/*  A broker of an older version learns from the source's text that a feed failed, and since when. */
static helio_text_t source_with_state(helio_arena_t *arena, const helio_series_t *series)
{
    enum {
        HOUR_SIZE = 13, /* "2026-11-20T06", which a Z follows */
        SOURCE_MAX = 64
    };
    char time[HELIO_RFC3339_SIZE];
    const char *state = series->feed_state == HELIO_FEED_STATE_LAST_GOOD ? "last good"
                        : series->feed_state == HELIO_FEED_STATE_NO_DATA ? "no data since"
                                                                         : NULL;
    if (!state)
        return series->source;
    helio_rfc3339(series->last_value_ms, time);
    helio_text_t text =
        helio_arena_printf(arena, "%.*s, %s %.*sZ", HELIO_TEXT_ARGS(series->source), state, HOUR_SIZE, time);
    return text.size <= SOURCE_MAX ? text : series->source;
}

/*  Leaves out series whose signal the other side does not know: it would refuse the whole message. The arena is empty,
 *  since what was gathered has been sent. */
static helio_rc send_summary(helio_framer_t *self, const helio_site_summary_t *summary, helio_error_t *err)
{
    helio_msg_summary_t message = {*summary};
    uint32_t kept = 0;
    message.summary.series.items = helio_arena_alloc(self->arena, summary->series.count, sizeof *summary->series.items);
    for (uint32_t i = 0; i < summary->series.count; i++) {
        const helio_series_t *series = &summary->series.items[i];
        if (helio_wire_value_since(&helio_series_type, "signal", series->signal) > self->protocol)
            continue;
        message.summary.series.items[kept] = *series;
        if (self->protocol < FEED_STATE_SINCE)
            message.summary.series.items[kept].source = source_with_state(self->arena, series);
        kept++;
    }
    message.summary.series.count = kept;
    helio_rc rc = send_now(self, HELIO_MSG_SUMMARY, &message, err);
    helio_arena_reset(self->arena);
    return rc;
}

static helio_rc put_hello(helio_framer_t *self, const helio_afx_hello_t *hello, int64_t wall_ms, helio_error_t *err)
{
    helio_msg_hello_t message = {.protocol = HELIO_PROTOCOL_VERSION,
                                 .protocol_min = HELIO_PROTOCOL_VERSION_MIN,
                                 .agent_version = helio_text_of(self->identity.agent_version),
                                 .boot_id = self->identity.boot_id,
                                 .incarnation_seen = hello->incarnation_seen,
                                 .broker_epoch_seen = hello->broker_epoch_seen,
                                 .wall_ms = wall_ms,
                                 .reconcile_only = hello->reconcile_only,
                                 .profile = *self->identity.profile,
                                 .memory_since_ms = hello->memory_since_ms,
                                 .memory_mark = hello->memory_mark,
                                 .former_boot_id = self->identity.former_boot_id};
    return helio_framer_message(self, HELIO_MSG_HELLO, &message, err);
}

helio_rc helio_framer_put(helio_framer_t *self, const helio_effect_t *effect, int64_t wall_ms, helio_error_t *err)
{
    switch (effect->kind) {
    case HELIO_AGENT_FX_SEND_REPORT:
        return put_report(self, effect->payload, err);
    case HELIO_AGENT_FX_SEND_HELLO:
        return put_hello(self, effect->payload, wall_ms, err);
    case HELIO_AGENT_FX_SEND_INVENTORY: {
        const helio_afx_inventory_t *part = effect->payload;
        helio_msg_inventory_t message = {.holdings = {part->holdings.items, part->holdings.count}, .last = part->last};
        return helio_framer_message(self, HELIO_MSG_INVENTORY, &message, err);
    }
    case HELIO_AGENT_FX_SEND_SUMMARY: {
        helio_rc rc = helio_framer_flush(self, err);
        return rc == HELIO_OK ? send_summary(self, effect->payload, err) : rc;
    }
    case HELIO_AGENT_FX_SEND_RENEW: {
        helio_msg_renew_t message = {((const helio_afx_renew_t *)effect->payload)->sent_boot_ms};
        return helio_framer_message(self, HELIO_MSG_RENEW, &message, err);
    }
    default:
        assert(false);
        return HELIO_INVALID;
    }
}
