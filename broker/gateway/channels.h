/*  channels.h -- the bytes of channels, between clients and sites.
 *
 *  A channel is prepared when a client asks for it, is opened by an effect of the core, once the audit's row of it is
 *  durable, and ends by its agent, its client, or with the session. Nothing waits here beyond a window: output that the
 *  client has not acknowledged is kept, and input goes on to the site at once, as far as its window has room.
 *
 *  One that has ended stays until its client has read that, or for a while. Thread: the engine's. */
#ifndef HELIO_BROKER_GATEWAY_CHANNELS_H
#define HELIO_BROKER_GATEWAY_CHANNELS_H

#include "broker/model/channels.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/wire/messages.h"

typedef struct helio_sessions helio_sessions_t;
typedef struct helio_channels helio_channels_t;

enum {
    HELIO_CHANNELS_KEPT_MAX = 2048,   /* open, and ended ones that were not read to the end: tenants share these */
    HELIO_CHANNEL_VANISHED_MS = 60000 /* a client that asks for nothing for so long is gone */
};

helio_channels_t *helio_channels_new(helio_sessions_t *sessions);
void helio_channels_destroy(helio_channels_t **self_p); /* whoever waits is answered UNAVAILABLE */

/*  Keeps what a client asks for until the core decides. 0: too many are kept. */
uint64_t helio_channels_prepare(helio_channels_t *self, const helio_channel_opening_t *opening, int64_t now_ms);
/*  The core refused it. */
void helio_channels_drop(helio_channels_t *self, uint64_t channel);
/*  The core has opened it. */
void helio_channels_open(helio_channels_t *self, const helio_fx_channel_t *fx);
void helio_channels_ask(helio_channels_t *self, const helio_channel_ask_t *ask, int64_t now_ms);

/*  What an agent sends. NULL: it is in order; otherwise what is wrong with it. */
const char *helio_channels_output(helio_channels_t *self, uint64_t peer, const helio_msg_channel_output_t *message);
const char *helio_channels_end(helio_channels_t *self, uint64_t peer, const helio_msg_channel_end_t *message);
/*  After sessions have ended: their channels have, too. */
void helio_channels_settle(helio_channels_t *self, int64_t now_ms);
/*  Once a second. Ends what clients have left, and what was opened with a token that is not in force any more; answers
 *  what has waited long enough, and forgets what is over. */
void helio_channels_tick(helio_channels_t *self, int64_t now_ms);
/*  The next channel that has ended and that the core has not been told of. False: none. Texts live until the next call. */
bool helio_channels_next_end(helio_channels_t *self, helio_ev_channel_ended_t *ret_event);

#endif
