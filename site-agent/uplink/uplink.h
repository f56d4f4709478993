/*  uplink.h -- the agent's connection to the federation: a dialer, the codec, and the mapping between them and the
 *  core.
 *
 *  It uses one broker at a time. It gives the connection up and tries another one when the broker refuses, when the
 *  broker's messages cannot be read, when its own messages are no longer sent (a report left out would be acknowledged
 *  with the ones after it), when no session opens, or when an open session falls silent. Thread: the loop's; callbacks
 *  as in dialer.h.
 */
#ifndef HELIO_UPLINK_UPLINK_H
#define HELIO_UPLINK_UPLINK_H

#include "federation/net/dialer.h"
#include "site-agent/uplink/mapping.h"

typedef struct helio_uplink helio_uplink_t;

typedef enum helio_uplink_note {
    HELIO_UPLINK_CONNECTED,
    HELIO_UPLINK_OPEN,         /* the last verdict has come */
    HELIO_UPLINK_DISCONNECTED, /* was connected */
    HELIO_UPLINK_FAILED,       /* could not connect */
    HELIO_UPLINK_REFUSED,      /* the broker refused; text is the broker's */
    HELIO_UPLINK_GIVEN_UP,     /* the agent closed the connection; text says why */
} helio_uplink_note_t;

typedef struct helio_uplink_options {
    const helio_dialer_target_t *targets; /* copied */
    size_t target_count;
    const char *secret_key;    /* own, Z85; wiped when the uplink ends */
    helio_identity_t identity; /* borrowed: lives as long as the uplink */
    uint64_t seed;             /* of the back-off's jitter */
    int64_t session_ms;        /* from connection to open session at most; 0 = 60 s */
    /* an event for the core; the payload lives for the call */
    void (*on_event)(void *arg, uint32_t event, const void *payload);
    void (*on_log_read)(void *arg, const helio_msg_log_read_t *request); /* can be NULL */
    /* messages of channels; each can be NULL */
    void (*on_channel_open)(void *arg, const helio_msg_channel_open_t *message);
    void (*on_channel_input)(void *arg, const helio_msg_channel_input_t *message);
    void (*on_channel_close)(void *arg, const helio_msg_channel_close_t *message);
    void (*on_demand)(void *arg, const helio_msg_demand_t *demand);                               /* can be NULL */
    void (*on_note)(void *arg, helio_uplink_note_t note, const char *endpoint, const char *text); /* can be NULL */
    void *arg;
} helio_uplink_options_t;

HELIO_MUST_CHECK helio_rc helio_uplink_new(helio_net_t *net, helio_loop_t *loop, const helio_uplink_options_t *options,
                                           helio_uplink_t **ret_uplink, helio_error_t *err);
void helio_uplink_destroy(helio_uplink_t **self_p);

/*  A SEND_* effect of the core. Without a connection it is dropped: the core sends everything again in the next
 *  session. */
void helio_uplink_put(helio_uplink_t *self, const helio_effect_t *effect, int64_t wall_ms);
/*  After a series of put. */
void helio_uplink_flush(helio_uplink_t *self);
void helio_uplink_log_data(helio_uplink_t *self, const helio_msg_log_data_t *data);
/*  Not OK: it was not sent. An end that cannot be sent ends the connection, since the broker would wait for it. */
HELIO_MUST_CHECK helio_rc helio_uplink_channel_output(helio_uplink_t *self, const helio_msg_channel_output_t *message);
void helio_uplink_channel_end(helio_uplink_t *self, const helio_msg_channel_end_t *message);
void helio_uplink_bye(helio_uplink_t *self, const char *reason);

#endif
