/*  channel_frames.c -- what agents send of channels. They can lie: a channel belongs to the session that it was opened in,
 *  and its agent has promised how much it sends. */
#include <stdio.h>

#include "broker/gateway/channel_table.h"

static const char *violation(helio_channels_t *self, helio_gate_channel_t *channel, const char *what)
{
    char text[160];
    (void)snprintf(text, sizeof text, "its agent violates the protocol: %s", what);
    helio_channel_close(self, channel->peer, channel->number);
    helio_channel_end(self, channel, HELIO_PROTOCOL, 0, helio_text_of(text));
    channel->ended_by_agent = true;
    return what;
}

static const char *flaw(const helio_gate_channel_t *channel, const helio_msg_channel_output_t *message)
{
    if (!message->data.size != (message->stream == HELIO_CHANNEL_STREAM_NONE))
        return "bytes without a stream, or a stream without bytes";
#ifndef HELIO_MUTANT_output_beyond_the_window
    if (channel->output.size + message->data.size > HELIO_CHANNEL_WINDOW)
        return "output beyond the window";
#endif
    if (message->taken < channel->input_taken || message->taken > channel->input_sent)
        return "it took input that it was not given, or gave some back";
    return NULL;
}

const char *helio_channels_output(helio_channels_t *self, uint64_t peer, const helio_msg_channel_output_t *message)
{
    helio_gate_channel_t *channel = helio_channel_by_number(self, message->channel);
    if (!channel || channel->state == CHANNEL_PREPARED) {
        helio_channel_close(self, peer, message->channel);
        return channel ? "output of a channel that is not open" : NULL;
    }
    if (channel->peer != peer)
        return "output of another site's channel";
    if (channel->state == CHANNEL_OVER) { /* it can have been under way when the broker ended the channel */
        helio_channel_close(self, peer, message->channel);
        return channel->ended_by_agent ? "output after the end" : NULL;
    }
    const char *wrong = flaw(channel, message);
    if (wrong)
        return violation(self, channel, wrong);
    channel->opened = true;
    channel->input_taken = message->taken;
    if (message->data.size)
        helio_channel_append(channel, message->stream, message->data);
    helio_channel_serve(self, channel);
    helio_channel_push(self, channel);
    return NULL;
}

const char *helio_channels_end(helio_channels_t *self, uint64_t peer, const helio_msg_channel_end_t *message)
{
    helio_gate_channel_t *channel = helio_channel_by_number(self, message->channel);
    if (!channel)
        return NULL;
    if (channel->state == CHANNEL_PREPARED || channel->peer != peer)
        return "the end of another site's channel";
    channel->ended_by_agent = true; /* a second end answers input that was under way when it sent the first */
    helio_channel_end(self, channel, (helio_rc)message->rc, message->exit_code, message->text);
    return NULL;
}
