/*  uplink.c -- keeps a connection to one broker: dials, opens the session, watches for silence, and gives up. */
#include "site-agent/uplink/uplink.h"

#include <stdio.h>
#include <stdlib.h>

#include "federation/wire/codec.h"
#include "site-agent/core/patience.h"

struct helio_uplink {
    helio_uplink_options_t options;
    helio_dialer_t *dialer;
    helio_framer_t *framer;
    helio_arena_t *arena;    /* of the message being read */
    helio_timer_t *watchdog; /* until the session opens, then against silence */
    int64_t silence_ms;
    uint32_t refusals; /* in a row that repeating does not cure */
    bool connected;    /* and not given up */
    bool open;
};

static void note(helio_uplink_t *self, helio_uplink_note_t what, const char *endpoint, const char *text)
{
    if (self->options.on_note)
        self->options.on_note(self->options.arg, what, endpoint, text);
}

/*  on_disconnected follows and tells the core; until then nothing is read or sent any more. */
static void give_up(helio_uplink_t *self, const char *why)
{
    if (!self->connected)
        return;
    self->connected = false;
    helio_timer_disarm(self->watchdog);
    helio_framer_drop(self->framer);
    note(self, HELIO_UPLINK_GIVEN_UP, helio_dialer_endpoint(self->dialer), why);
    helio_dialer_redial(self->dialer, why, self->refusals);
}

static void on_watchdog(void *arg)
{
    helio_uplink_t *self = arg;
    give_up(self, self->open ? "the broker has become silent" : "no session was opened in time");
}

static void on_connected(void *arg, const char *endpoint)
{
    helio_uplink_t *self = arg;
    static const helio_aev_nothing_t nothing = {0};
    self->connected = true;
    self->open = false;
    helio_framer_drop(self->framer);
    helio_framer_speak(self->framer, HELIO_PROTOCOL_VERSION_MIN);
    helio_timer_arm(self->watchdog, self->options.session_ms, 0);
    note(self, HELIO_UPLINK_CONNECTED, endpoint, "");
    self->options.on_event(self->options.arg, HELIO_AGENT_EV_CONNECTED, &nothing);
}

static void on_disconnected(void *arg, const char *endpoint, const char *why)
{
    helio_uplink_t *self = arg;
    static const helio_aev_nothing_t nothing = {0};
    self->connected = false;
    self->open = false;
    helio_timer_disarm(self->watchdog);
    helio_framer_drop(self->framer);
    note(self, HELIO_UPLINK_DISCONNECTED, endpoint, why);
    self->options.on_event(self->options.arg, HELIO_AGENT_EV_DISCONNECTED, &nothing);
}

static void on_failed(void *arg, const char *endpoint, const char *why)
{
    note(arg, HELIO_UPLINK_FAILED, endpoint, why);
}

static void watch_silence(helio_uplink_t *self, uint32_t message, const void *record)
{
    if (message == HELIO_MSG_WELCOME)
        self->silence_ms = helio_patience_silence_ms(((const helio_msg_welcome_t *)record)->renew_ms);
    if (message == HELIO_MSG_VERDICTS && ((const helio_msg_verdicts_t *)record)->last && !self->open) {
        self->open = true;
        self->refusals = 0;
        note(self, HELIO_UPLINK_OPEN, helio_dialer_endpoint(self->dialer), "");
    }
    if (self->open)
        helio_timer_arm(self->watchdog, self->silence_ms, 0);
}

static void on_refusal(helio_uplink_t *self, const helio_msg_refusal_t *refusal)
{
    char text[513];
    (void)helio_text_copy(refusal->text, text, sizeof text);
    note(self, HELIO_UPLINK_REFUSED, helio_dialer_endpoint(self->dialer), text);
    /* The broker has answered, so the connection works. Without this, the agent would ask the same every second for
     * days. */
    if (refusal->rc == HELIO_VERSION || refusal->rc == HELIO_FORBIDDEN || refusal->rc == HELIO_FENCED ||
        refusal->rc == HELIO_PROTOCOL || refusal->rc == HELIO_CONFLICT)
        self->refusals++;
    give_up(self, "refused");
}

/*  False: the agent cannot follow this broker. */
static bool take_version(helio_uplink_t *self, const helio_msg_welcome_t *welcome)
{
    if (helio_protocol_agreed(welcome->protocol, welcome->protocol)) {
        helio_framer_speak(self->framer, welcome->protocol);
        return true;
    }
    char text[120];
    (void)snprintf(text, sizeof text,
                   "the broker chose protocol version %u, but this agent supports %d to %d: update the older one",
                   welcome->protocol, HELIO_PROTOCOL_VERSION_MIN, HELIO_PROTOCOL_VERSION);
    self->refusals++;
    give_up(self, text);
    return false;
}

/*  What is not for the core. */
static void pass_on(helio_uplink_t *self, uint32_t message, const void *record)
{
    const helio_uplink_options_t *options = &self->options;
    if (message == HELIO_MSG_REFUSAL)
        on_refusal(self, record);
    else if (message == HELIO_MSG_DEMAND && options->on_demand)
        options->on_demand(options->arg, record);
    else if (message == HELIO_MSG_LOG_READ && options->on_log_read)
        options->on_log_read(options->arg, record);
    else if (message == HELIO_MSG_CHANNEL_OPEN && options->on_channel_open)
        options->on_channel_open(options->arg, record);
    else if (message == HELIO_MSG_CHANNEL_INPUT && options->on_channel_input)
        options->on_channel_input(options->arg, record);
    else if (message == HELIO_MSG_CHANNEL_CLOSE && options->on_channel_close)
        options->on_channel_close(options->arg, record);
}

static void on_message(void *arg, helio_text_t frame)
{
    helio_uplink_t *self = arg;
    if (!self->connected)
        return;
    helio_arena_reset(self->arena);
    uint32_t message = 0, event = 0;
    void *record = NULL;
    const void *payload = NULL;
    helio_error_t err;
    helio_rc rc = helio_wire_decode(frame, self->arena, &message, &record, &err);
    if (rc == HELIO_VERSION)
        return; /* of a newer broker: an unknown message is not meant for this agent */
    if (rc != HELIO_OK) {
        give_up(self, err.text);
        return;
    }
    if (message == HELIO_MSG_WELCOME && !take_version(self, record))
        return;
    rc = helio_mapping_event(message, record, self->arena, &event, &payload);
    if (rc == HELIO_PROTOCOL) {
        give_up(self, "the peer is not a broker");
        return;
    }
    watch_silence(self, message, record);
    if (rc == HELIO_OK)
        self->options.on_event(self->options.arg, event, payload);
    else
        pass_on(self, message, record);
}

static helio_rc send_frame(void *arg, helio_text_t frame)
{
    helio_uplink_t *self = arg;
    return helio_dialer_send(self->dialer, frame);
}

helio_rc helio_uplink_new(helio_net_t *net, helio_loop_t *loop, const helio_uplink_options_t *options,
                          helio_uplink_t **ret_uplink, helio_error_t *err)
{
    helio_uplink_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    self->options.targets = NULL;
    self->options.secret_key = NULL;
    if (!self->options.session_ms)
        self->options.session_ms = HELIO_PATIENCE_SESSION_MS;
    self->silence_ms = helio_patience_silence_ms(0); /* until a broker says how often leases are renewed */
    self->arena = helio_arena_new();
    self->framer = helio_framer_new(&options->identity, send_frame, self);
    self->watchdog = helio_timer_new(loop, on_watchdog, self);
    helio_dialer_options_t dial = {.targets = options->targets,
                                   .target_count = options->target_count,
                                   .secret_key = options->secret_key,
                                   .frame_max_bytes = HELIO_WIRE_FRAME_MAX,
                                   .queue_messages = 4096, /* see channels/streams.c */
                                   .backoff_min_ms = HELIO_PATIENCE_REDIAL_LEAST_MS,
                                   .backoff_max_ms = helio_patience_redial_most_ms(options->target_count),
                                   .seed = options->seed,
                                   .on_message = on_message,
                                   .on_connected = on_connected,
                                   .on_disconnected = on_disconnected,
                                   .on_failed = on_failed,
                                   .arg = self};
    helio_rc rc = helio_dialer_new(net, loop, &dial, &self->dialer, err);
    if (rc != HELIO_OK) {
        helio_uplink_destroy(&self);
        return rc;
    }
    *ret_uplink = self;
    return HELIO_OK;
}

void helio_uplink_destroy(helio_uplink_t **self_p)
{
    helio_uplink_t *self = *self_p;
    if (!self)
        return;
    helio_dialer_destroy(&self->dialer);
    helio_timer_destroy(&self->watchdog);
    helio_framer_destroy(&self->framer);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

void helio_uplink_put(helio_uplink_t *self, const helio_effect_t *effect, int64_t wall_ms)
{
    helio_error_t err = {0};
    if (self->connected && helio_framer_put(self->framer, effect, wall_ms, &err) != HELIO_OK)
        give_up(self, err.text);
}

void helio_uplink_flush(helio_uplink_t *self)
{
    helio_error_t err = {0};
    if (self->connected && helio_framer_flush(self->framer, &err) != HELIO_OK)
        give_up(self, err.text);
}

/*  Messages that can be dropped: nothing depends on them. */
static void say(helio_uplink_t *self, uint32_t message, const void *record)
{
    helio_uplink_flush(self); /* the failure of any other message matters */
    if (self->connected && helio_framer_message(self->framer, message, record, NULL) != HELIO_OK)
        return;
}

void helio_uplink_log_data(helio_uplink_t *self, const helio_msg_log_data_t *data)
{
    say(self, HELIO_MSG_LOG_DATA, data); /* the broker asks again */
}

helio_rc helio_uplink_channel_output(helio_uplink_t *self, const helio_msg_channel_output_t *message)
{
    helio_uplink_flush(self);
    return self->connected ? helio_framer_message(self->framer, HELIO_MSG_CHANNEL_OUTPUT, message, NULL)
                           : HELIO_UNAVAILABLE;
}

/*  A text that cannot be sent costs itself, not the session with all of the site's jobs: users influence such texts. */
void helio_uplink_channel_end(helio_uplink_t *self, const helio_msg_channel_end_t *message)
{
    helio_error_t err = {0};
    helio_uplink_flush(self);
    if (!self->connected)
        return;
    helio_rc rc = helio_framer_message(self->framer, HELIO_MSG_CHANNEL_END, message, &err);
    if (rc == HELIO_INVALID || rc == HELIO_TOO_BIG) {
        helio_msg_channel_end_t plain = *message;
        plain.text = HELIO_TEXT("the channel has ended, and the site cannot say why");
        rc = helio_framer_message(self->framer, HELIO_MSG_CHANNEL_END, &plain, &err);
    }
    if (rc != HELIO_OK)
        give_up(self, err.text);
}

void helio_uplink_bye(helio_uplink_t *self, const char *reason)
{
    helio_msg_bye_t bye = {helio_text_of(reason)};
    say(self, HELIO_MSG_BYE, &bye);
}
