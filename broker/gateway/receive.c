/*  receive.c -- makes events of the core from frames of sites. Only this file decides which message is legal when. */
#include <assert.h>
#include <stdio.h>

#include "broker/gateway/internal.h"
#include "federation/base/utf8.h"
#include "federation/reason/codes.h"
#include "federation/wire/codec.h"

/*  Refuses a site for a reason that its agent cannot know otherwise. The core shows the reason to operators. */
static void refuse_site(helio_sessions_t *self, helio_text_t site, uint64_t peer, helio_bad_frame_t why, helio_rc rc,
                        const char *text)
{
    helio_sessions_bad(self, site, why, text);
    helio_sessions_refuse(self, peer, rc, text);
    helio_ev_site_refused_t event = {
        .site = site, .rc = (uint32_t)rc, .text = helio_utf8_cut(helio_text_of(text), 256)};
    self->ports.emit(self->ports.emit_arg, HELIO_BROKER_EV_SITE_REFUSED, &event);
}

static void version_text(uint32_t least, uint32_t most, char *ret_text, size_t text_size)
{
    (void)snprintf(ret_text, text_size,
                   "no protocol version in common: the broker speaks %d to %d, the agent %u to %u: update the %s",
                   HELIO_PROTOCOL_VERSION_MIN, HELIO_PROTOCOL_VERSION, least, most,
                   least > HELIO_PROTOCOL_VERSION ? "broker" : "agent");
}

/*  The checks that HELLO must pass. Versions come first: without a common version not even the name can be believed.
 *  Version 0 is `helio-agent check`, which asks beside a running agent: it learns whether its name is wrong, and opens
 *  no session. */
static bool hello_is_welcome(helio_sessions_t *self, helio_text_t site, uint64_t peer, const helio_msg_hello_t *hello)
{
    char text[256];
    if (hello->protocol && !helio_protocol_agreed(hello->protocol_min, hello->protocol)) {
        version_text(hello->protocol_min, hello->protocol, text, sizeof text);
        refuse_site(self, site, peer, HELIO_BAD_FRAME_VERSION, HELIO_VERSION, text);
        return false;
    }
    if (!helio_text_equal(hello->profile.name, site)) {
        (void)snprintf(text, sizeof text, "this key belongs to site '%.*s', but the site file says '%.*s': correct one",
                       HELIO_TEXT_ARGS(site), HELIO_TEXT_ARGS(hello->profile.name));
        if (hello->protocol) {
            refuse_site(self, site, peer, HELIO_BAD_FRAME_IDENTITY, HELIO_FORBIDDEN, text);
        } else {
            helio_sessions_bad(self, site, HELIO_BAD_FRAME_IDENTITY, text);
            helio_sessions_refuse(self, peer, HELIO_FORBIDDEN, text);
        }
        return false;
    }
    if (!hello->protocol) {
        version_text(hello->protocol_min, hello->protocol, text, sizeof text);
        helio_sessions_refuse(self, peer, HELIO_VERSION, text);
        return false;
    }
    return true;
}

static void on_hello(helio_sessions_t *self, helio_text_t site, uint64_t peer, const helio_msg_hello_t *hello)
{
    if (helio_session_find(self, peer)) {
        /* Both sides have lost track of the session: it ends, so that the next HELLO starts a new one. */
        helio_sessions_bad(self, site, HELIO_BAD_FRAME_REPEATED, "HELLO within a session");
        helio_sessions_refuse(self, peer, HELIO_PROTOCOL,
                              "HELLO within a session: the session is over, say HELLO again");
        helio_sessions_gone(self, peer, "HELLO within a session", false);
        return;
    }
    if (!hello_is_welcome(self, site, peer, hello))
        return;
    helio_session_t *older = helio_session_of_site(self, site);
    if (older && !helio_sessions_probe(self, older->peer)) /* a process that was killed */
        helio_sessions_gone(self, older->peer, "its connection has ended", false);
    /* If the site has a session on another connection, the core refuses one of the two. Until that refusal leaves, no
     * third is admitted: one site must not fill the table. */
    if (helio_session_count_of_site(self, site) >= 2) {
        helio_sessions_refuse(self, peer, HELIO_BUSY, "two connections of this site have sent HELLO; try again");
        return;
    }
    if (helio_session_count(self) == HELIO_SESSIONS_MAX) {
        helio_sessions_refuse(self, peer, HELIO_BUSY, "the broker has reached its limit of sites");
        return;
    }
    self->figures.sessions_total++;
    (void)helio_session_add(self, peer, site, helio_protocol_agreed(hello->protocol_min, hello->protocol));
    helio_ev_site_hello_t event = {.site = site,
                                   .peer = peer,
                                   .agent_version = hello->agent_version,
                                   .boot_id = hello->boot_id,
                                   .incarnation_seen = hello->incarnation_seen,
                                   .broker_epoch_seen = hello->broker_epoch_seen,
                                   .reconcile_only = hello->reconcile_only,
                                   .memory_since_ms = hello->memory_since_ms,
                                   .memory_mark = hello->memory_mark,
                                   .former_boot_id = hello->former_boot_id,
                                   .protocol = helio_protocol_agreed(hello->protocol_min, hello->protocol),
                                   .profile = hello->profile};
    self->ports.emit(self->ports.emit_arg, HELIO_BROKER_EV_SITE_HELLO, &event);
}

/*  Agents before protocol version 4 send the text alone: here every report gets its cause. */
static void on_reports(helio_sessions_t *self, uint64_t peer, const helio_msg_reports_t *reports)
{
    helio_ev_site_reports_t event = {.peer = peer};
    event.reports.items = reports->reports.items;
    event.reports.count = reports->reports.count;
    for (uint32_t i = 0; i < event.reports.count; i++) {
        helio_report_t *report = &event.reports.items[i];
        helio_cause_derive(report->reason, &report->cause, &report->explanation);
    }
    self->ports.emit(self->ports.emit_arg, HELIO_BROKER_EV_SITE_REPORTS, &event);
}

static void note_channel(helio_sessions_t *self, helio_text_t site, const char *wrong)
{
    if (wrong)
        helio_sessions_bad(self, site, HELIO_BAD_FRAME_CHANNEL, wrong);
}

/*  Messages within a session. `site` lives as long as the frame. The session can end while an event is carried out. */
static void on_message(helio_sessions_t *self, helio_text_t site, helio_session_t *session, uint32_t message,
                       const void *record)
{
    uint64_t peer = session->peer;
    void *arg = self->ports.emit_arg;
    switch (message) {
    case HELIO_MSG_INVENTORY: {
        const helio_msg_inventory_t *inventory = record;
        helio_ev_site_inventory_t event = {.peer = peer, .last = inventory->last};
        event.holdings.items = inventory->holdings.items;
        event.holdings.count = inventory->holdings.count;
        self->ports.emit(arg, HELIO_BROKER_EV_SITE_INVENTORY, &event);
        break;
    }
    case HELIO_MSG_SUMMARY: {
        if (self->shed) {
            self->figures.summaries_shed_total++;
            helio_ev_site_alive_t alive = {peer};
            self->ports.emit(arg, HELIO_BROKER_EV_SITE_ALIVE, &alive);
            break;
        }
        helio_ev_site_summary_t event = {peer, ((const helio_msg_summary_t *)record)->summary};
        self->ports.emit(arg, HELIO_BROKER_EV_SITE_SUMMARY, &event);
        break;
    }
    case HELIO_MSG_REPORTS:
        on_reports(self, peer, record);
        break;
    case HELIO_MSG_RENEW: {
        helio_ev_site_renew_t event = {peer, ((const helio_msg_renew_t *)record)->sent_boot_ms};
        self->ports.emit(arg, HELIO_BROKER_EV_SITE_RENEW, &event);
        break;
    }
    case HELIO_MSG_LOG_DATA:
        helio_sessions_log_data(self, session, record);
        break;
    case HELIO_MSG_CHANNEL_OUTPUT:
        note_channel(self, site, helio_channels_output(self->channels, peer, record));
        break;
    case HELIO_MSG_CHANNEL_END:
        note_channel(self, site, helio_channels_end(self->channels, peer, record));
        break;
    case HELIO_MSG_BYE: {
        char reason[129];
        (void)helio_text_copy(((const helio_msg_bye_t *)record)->reason, reason, sizeof reason);
        helio_sessions_gone(self, peer, reason, true);
        break;
    }
    default: /* a message for us to send, not for them */
        helio_sessions_bad(self, site, HELIO_BAD_FRAME_DIRECTION, helio_message_name(message));
    }
}

/*  An unreadable frame can be a report that the site now believes delivered. So its session ends: the site sends HELLO
 *  again and repeats what was not acknowledged. For an unreadable HELLO the refusal names the versions, if the site
 *  speaks others. */
static void on_unreadable(helio_sessions_t *self, helio_text_t site, uint64_t peer, helio_text_t frame, const char *why)
{
    char text[256];
    uint32_t least, most;
    bool hello = helio_wire_hello_versions(frame, &least, &most);
    helio_session_t *session = helio_session_find(self, peer);
    if (hello && !session && most && !helio_protocol_agreed(least, most)) {
        version_text(least, most, text, sizeof text);
        refuse_site(self, site, peer, HELIO_BAD_FRAME_VERSION, HELIO_VERSION, text);
    } else if (hello || session) {
        (void)snprintf(text, sizeof text, "a message of this site cannot be read: %.200s", why);
        refuse_site(self, site, peer, HELIO_BAD_FRAME_MALFORMED, HELIO_PROTOCOL, text);
        helio_sessions_gone(self, peer, "a message that cannot be read", false);
    } else {
        helio_sessions_bad(self, site, HELIO_BAD_FRAME_MALFORMED, why);
    }
}

void helio_sessions_frame(helio_sessions_t *self, helio_text_t site, uint64_t peer, helio_text_t frame)
{
    assert(self->arena_depth == 0);
    helio_error_t err = {0};
    uint32_t message = 0;
    void *record = NULL;
    self->figures.frames_in_total++;
    if (site.size == 0 || site.size > HELIO_SITE_NAME_MAX) {
        helio_sessions_bad(self, site, HELIO_BAD_FRAME_IDENTITY, "the principal is not a site's name");
        return;
    }
    self->arena_depth++;
    helio_rc rc = helio_wire_decode(frame, self->arena, &message, &record, &err);
    if (rc == HELIO_VERSION) {
        helio_sessions_bad(self, site, HELIO_BAD_FRAME_UNKNOWN, err.text);
    } else if (rc != HELIO_OK) {
        on_unreadable(self, site, peer, frame, err.text);
    } else if (message == HELIO_MSG_HELLO) {
        on_hello(self, site, peer, record);
    } else {
        helio_session_t *session = helio_session_find(self, peer);
        if (!session)
            helio_sessions_bad(self, site, message % 2 ? HELIO_BAD_FRAME_NO_SESSION : HELIO_BAD_FRAME_DIRECTION,
                               helio_message_name(message));
        else if (!helio_text_is(site, session->site))
            helio_sessions_gone(self, peer, "the connection's key was given to another site", false);
        else
            on_message(self, site, session, message, record);
    }
    self->arena_depth--;
    helio_arena_reset(self->arena);
}
