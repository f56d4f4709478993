/*  channels.c -- the table of channels, and what clients ask of them. Frames of agents: channel_frames.c. */
#include "broker/gateway/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/gateway/channel_table.h"
#include "broker/gateway/internal.h"
#include "federation/base/utf8.h"

enum {
    TOLD_KEPT_MS = 10000,  /* one whose end a client was told, in case that answer was lost */
    UNTOLD_KEPT_MS = 60000 /* one whose end no client was told */
};

_Static_assert((int)HELIO_CHANNEL_WORDS_MAX == (int)HELIO_CHANNEL_COMMAND_MAX, "what is taken can be sent");

static const char vanished[] = "its client has asked for nothing for a minute";

/* ---- the table ------------------------------------------------------------------------------------------------ */

helio_channels_t *helio_channels_new(helio_sessions_t *sessions)
{
    helio_channels_t *self = helio_new(1, sizeof *self);
    self->sessions = sessions;
    return self;
}

void helio_channel_answer_wait(helio_channel_wait_t *wait, const helio_channel_answer_t *answer)
{
    helio_channel_wait_t own = *wait;
    *wait = (helio_channel_wait_t){0};
    if (own.done)
        own.done(own.arg, answer);
}

static void begin_keeping(helio_channels_t *self, helio_gate_channel_t *channel)
{
    helio_channels_kept_t *kept = NULL;
    HASH_FIND(hh, self->kept, channel->tenant.data, channel->tenant.size, kept);
    if (!kept) {
        kept = helio_new(1, sizeof *kept + channel->tenant.size + 1);
        memcpy(kept->tenant, channel->tenant.data, channel->tenant.size);
        HASH_ADD_KEYPTR(hh, self->kept, kept->tenant, channel->tenant.size, kept);
    }
    kept->count++;
    channel->kept = kept;
    self->ended_count++;
}

static void end_keeping(helio_channels_t *self, helio_gate_channel_t *channel)
{
    helio_channels_kept_t *kept = channel->kept;
    self->ended_count--;
    if (--kept->count)
        return;
    HASH_DELETE(hh, self->kept, kept);
    free(kept);
}

static void forget(helio_channels_t *self, helio_gate_channel_t *channel)
{
    const helio_channel_answer_t gone = {.rc = HELIO_UNAVAILABLE, .why = ""};
    helio_channel_answer_wait(&channel->reader, &gone);
    helio_channel_answer_wait(&channel->writer, &gone);
    if (channel->told_core_is_due)
        DL_DELETE2(self->due, channel, due_prev, due_next);
    if (channel->state == CHANNEL_PREPARED)
        self->prepared_count--;
    if (channel->kept)
        end_keeping(self, channel);
    HASH_DELETE(hh, self->by_number, channel);
    HASH_DELETE(hh_id, self->by_id, channel);
    helio_buffer_clear(&channel->output);
    free(channel->pieces);
    helio_arena_destroy(&channel->arena);
    free(channel);
}

void helio_channels_destroy(helio_channels_t **self_p)
{
    helio_channels_t *self = *self_p;
    if (!self)
        return;
    while (self->by_number)
        forget(self, self->by_number);
    helio_buffer_clear(&self->frames);
    free(self);
    *self_p = NULL;
}

helio_gate_channel_t *helio_channel_by_number(const helio_channels_t *self, uint64_t number)
{
    helio_gate_channel_t *channel = NULL;
    HASH_FIND(hh, self->by_number, &number, sizeof number, channel);
    return channel;
}

/* ---- ended channels --------------------------------------------------------------------------------------------- */

/*  Of the tenant that keeps most; of those, one whose end its client knows; of those, the first that ended. */
static bool goes_before(const helio_gate_channel_t *one, const helio_gate_channel_t *other)
{
    if (one->kept->count != other->kept->count)
        return one->kept->count > other->kept->count;
    if (!one->told_ms != !other->told_ms)
        return one->told_ms != 0;
    return one->ended_ms < other->ended_ms;
}

/*  A channel that the core has opened takes the place of one that has ended, if all places are taken. */
static void make_room(helio_channels_t *self)
{
    while (HASH_COUNT(self->by_number) - self->prepared_count > HELIO_CHANNELS_KEPT_MAX) {
        helio_gate_channel_t *first = NULL, *channel, *next;
        HASH_ITER(hh, self->by_number, channel, next)
        {
            bool is_over = channel->state == CHANNEL_OVER && !channel->told_core_is_due;
            if (is_over && (!first || goes_before(channel, first)))
                first = channel;
        }
        if (!first)
            return;
        forget(self, first);
    }
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static void keep_opening(helio_gate_channel_t *channel, const helio_channel_opening_t *opening)
{
    helio_msg_channel_open_t *message = &channel->opening;
    message->channel = channel->number;
    message->node = opening->node;
    message->kind = opening->kind;
    message->port = opening->port;
    message->terminal = opening->terminal;
    message->rows = opening->rows;
    message->columns = opening->columns;
    message->term = helio_arena_text(channel->arena, opening->term);
    message->command.count = opening->command_count;
    message->command.items = helio_arena_alloc(channel->arena, opening->command_count, sizeof *message->command.items);
    for (uint32_t i = 0; i < opening->command_count; i++)
        message->command.items[i].text = helio_arena_text(channel->arena, opening->command[i].text);
}

uint64_t helio_channels_prepare(helio_channels_t *self, const helio_channel_opening_t *opening, int64_t now_ms)
{
    helio_gate_channel_t *same = NULL;
    self->now_ms = now_ms;
    HASH_FIND(hh_id, self->by_id, opening->id, HELIO_CHANNEL_ID_SIZE - 1, same);
    if (same || HASH_COUNT(self->by_number) - self->ended_count >= HELIO_CHANNELS_KEPT_MAX)
        return 0;
    helio_gate_channel_t *channel = helio_new(1, sizeof *channel);
    channel->number = ++self->last_number;
    channel->arena = helio_arena_new();
    channel->output.max = HELIO_CHANNEL_WINDOW;
    channel->asked_ms = now_ms;
    memcpy(channel->id, opening->id, sizeof channel->id);
    channel->principal = helio_arena_text(channel->arena, opening->principal);
    channel->tenant = helio_arena_text(channel->arena, opening->tenant);
    channel->credential = opening->credential;
    channel->is_in_force = opening->is_in_force;
    self->prepared_count++;
    keep_opening(channel, opening);
    HASH_ADD(hh, self->by_number, number, sizeof channel->number, channel);
    HASH_ADD(hh_id, self->by_id, id, HELIO_CHANNEL_ID_SIZE - 1, channel);
    return channel->number;
}

void helio_channels_drop(helio_channels_t *self, uint64_t number)
{
    helio_gate_channel_t *channel = helio_channel_by_number(self, number);
    if (channel && channel->state == CHANNEL_PREPARED)
        forget(self, channel);
}

/* ---- ends ----------------------------------------------------------------------------------------------------- */

void helio_channel_close(helio_channels_t *self, uint64_t peer, uint64_t number)
{
    const helio_msg_channel_close_t message = {number};
    (void)helio_sessions_send(self->sessions, peer, HELIO_MSG_CHANNEL_CLOSE, &message);
}

/*  Answers a reader from what there is, if there is something. */
static void serve_reader(helio_channels_t *self, helio_gate_channel_t *channel, bool at_once)
{
    if (!channel->reader.done)
        return;
    uint64_t end = channel->output_from + channel->output.size;
    if (!at_once && end == channel->reader.offset && channel->state != CHANNEL_OVER &&
        channel->reader.opened == channel->opened)
        return;
    helio_channel_answer_t answer = {.offset = end,
                                     .frames = helio_channel_frames(self, channel, channel->reader.offset),
                                     .opened = channel->opened,
                                     .ended = channel->state == CHANNEL_OVER,
                                     .end_rc = channel->end_rc,
                                     .exit_code = channel->exit_code,
                                     .why = channel->why};
    if (answer.ended)
        channel->told_ms = self->now_ms;
    channel->asked_ms = self->now_ms;
    helio_channel_answer_wait(&channel->reader, &answer);
}

static void serve_writer(helio_gate_channel_t *channel)
{
    const helio_channel_answer_t answer = {.offset = channel->input_sent,
                                           .opened = channel->opened,
                                           .ended = channel->state == CHANNEL_OVER,
                                           .end_rc = channel->end_rc,
                                           .exit_code = channel->exit_code,
                                           .why = channel->why};
    helio_channel_answer_wait(&channel->writer, &answer);
}

void helio_channel_end(helio_channels_t *self, helio_gate_channel_t *channel, helio_rc rc, uint32_t exit_code,
                       helio_text_t why)
{
    if (channel->state == CHANNEL_OVER)
        return;
    bool is_counted = channel->state == CHANNEL_OPEN;
    if (channel->state == CHANNEL_PREPARED)
        self->prepared_count--;
    channel->state = CHANNEL_OVER;
    begin_keeping(self, channel);
    channel->end_rc = rc;
    channel->exit_code = exit_code;
    channel->ended_ms = self->now_ms;
    (void)helio_text_copy(why, channel->why, sizeof channel->why);
    if (is_counted) {
        channel->told_core_is_due = true;
        DL_APPEND2(self->due, channel, due_prev, due_next);
    }
    serve_reader(self, channel, true);
    serve_writer(channel);
}

bool helio_channels_next_end(helio_channels_t *self, helio_ev_channel_ended_t *ret_event)
{
    helio_gate_channel_t *channel = self->due;
    if (!channel)
        return false;
    DL_DELETE2(self->due, channel, due_prev, due_next);
    channel->told_core_is_due = false;
    *ret_event = (helio_ev_channel_ended_t){.channel = channel->number,
                                            .rc = (uint32_t)channel->end_rc,
                                            .exit_code = channel->exit_code,
                                            .bytes_in = channel->input_sent,
                                            .bytes_out = channel->output_from + channel->output.size,
                                            .text = helio_utf8_cut(helio_text_of(channel->why), 128)};
    return true;
}

void helio_channels_open(helio_channels_t *self, const helio_fx_channel_t *fx)
{
    helio_gate_channel_t *channel = helio_channel_by_number(self, fx->channel);
    if (!channel || channel->state != CHANNEL_PREPARED)
        return;
    channel->state = CHANNEL_OPEN;
    self->prepared_count--;
    make_room(self);
    channel->peer = fx->peer;
    channel->until_ms = self->now_ms + (int64_t)fx->limit_ms;
    helio_msg_channel_open_t message = channel->opening;
    message.key = fx->key;
    message.epoch = fx->epoch;
    message.limit_ms = fx->limit_ms;
    message.idle_ms = fx->idle_ms;
    if (!helio_session_find(self->sessions, fx->peer))
        helio_channel_end(self, channel, HELIO_UNAVAILABLE, 0,
                          HELIO_TEXT("the site's session with the broker is over"));
    else if (!helio_sessions_send(self->sessions, fx->peer, HELIO_MSG_CHANNEL_OPEN, &message))
        helio_channel_end(self, channel, HELIO_UNAVAILABLE, 0, HELIO_TEXT("the site's connection is over"));
}

void helio_channels_settle(helio_channels_t *self, int64_t now_ms)
{
    self->now_ms = now_ms;
    if (self->session_ends == self->sessions->session_ends)
        return;
    self->session_ends = self->sessions->session_ends;
    helio_gate_channel_t *channel, *next;
    HASH_ITER(hh, self->by_number, channel, next)
    {
        if (channel->state == CHANNEL_OPEN && !helio_session_find(self->sessions, channel->peer))
            helio_channel_end(self, channel, HELIO_UNAVAILABLE, 0,
                              HELIO_TEXT("the site's session with the broker is over"));
    }
}

/* ---- what clients ask ----------------------------------------------------------------------------------------- */

static void send_input(helio_channels_t *self, helio_gate_channel_t *channel, const helio_msg_channel_input_t *what)
{
    helio_msg_channel_input_t message = *what;
    message.channel = channel->number;
    message.received = channel->output_from;
    (void)helio_sessions_send(self->sessions, channel->peer, HELIO_MSG_CHANNEL_INPUT, &message);
}

static void answer_conflict(const helio_channel_ask_t *ask, uint64_t least, uint64_t offset)
{
    const helio_channel_answer_t answer = {.rc = HELIO_CONFLICT, .least = least, .offset = offset, .why = ""};
    ask->done(ask->arg, &answer);
}

static void read_output(helio_channels_t *self, helio_gate_channel_t *channel, const helio_channel_ask_t *ask)
{
    uint64_t end = channel->output_from + channel->output.size;
    if (ask->offset < channel->output_from || ask->offset > end) {
        answer_conflict(ask, channel->output_from, end);
        return;
    }
    serve_reader(self, channel, true); /* an earlier one, of a connection that broke */
    if (ask->offset > channel->output_from) {
        helio_channel_acknowledge(channel, ask->offset);
        if (channel->state == CHANNEL_OPEN)
            send_input(self, channel, &(helio_msg_channel_input_t){0});
    }
    channel->reader = (helio_channel_wait_t){.done = ask->done,
                                             .arg = ask->arg,
                                             .offset = ask->offset,
                                             .opened = channel->opened,
                                             .until_ms = self->now_ms + ask->wait_ms};
    serve_reader(self, channel, ask->wait_ms == 0);
}

/*  Sends as much of the writer's bytes as the window has room for, and answers the writer if any went. */
void helio_channel_push(helio_channels_t *self, helio_gate_channel_t *channel)
{
    helio_channel_wait_t *writer = &channel->writer;
    if (!writer->done || channel->state != CHANNEL_OPEN)
        return;
    uint64_t known = channel->input_sent - writer->offset; /* of a repeated request */
    uint64_t skipped = known < writer->data.size ? known : writer->data.size;
    helio_text_t left = {writer->data.data + skipped, writer->data.size - (uint32_t)skipped};
    uint64_t room = HELIO_CHANNEL_WINDOW - (channel->input_sent - channel->input_taken);
    uint32_t size = left.size < room ? left.size : (uint32_t)room;
    bool all = size == left.size;
    bool ends = all && writer->end && !channel->input_ended;
    if (size || ends) {
        channel->input_sent += size;
        channel->input_ended |= ends;
        send_input(self, channel, &(helio_msg_channel_input_t){.data = {left.data, size}, .end = ends});
    }
    if (size || all)
        serve_writer(channel);
}

static void write_input(helio_channels_t *self, helio_gate_channel_t *channel, const helio_channel_ask_t *ask)
{
    if (ask->offset > channel->input_sent) {
        answer_conflict(ask, channel->input_sent, channel->input_sent);
        return;
    }
    serve_writer(channel); /* an earlier one */
    channel->writer = (helio_channel_wait_t){.done = ask->done,
                                             .arg = ask->arg,
                                             .offset = ask->offset,
                                             .data = ask->data,
                                             .end = ask->end,
                                             .until_ms = self->now_ms + ask->wait_ms};
    bool is_known = ask->offset + ask->data.size <= channel->input_sent && (!ask->end || channel->input_ended);
    if (channel->state == CHANNEL_OVER || channel->input_ended || is_known)
        serve_writer(channel);
    else
        helio_channel_push(self, channel);
}

static void answer_plain(const helio_channel_ask_t *ask, helio_gate_channel_t *channel)
{
    const helio_channel_answer_t answer = {.ended = channel->state == CHANNEL_OVER,
                                           .opened = channel->opened,
                                           .end_rc = channel->end_rc,
                                           .exit_code = channel->exit_code,
                                           .why = channel->why};
    ask->done(ask->arg, &answer);
}

static void shut(helio_channels_t *self, helio_gate_channel_t *channel, const helio_channel_ask_t *ask)
{
    if (channel->state == CHANNEL_OPEN)
        helio_channel_close(self, channel->peer, channel->number);
    helio_channel_end(self, channel, HELIO_BUSY, 0, HELIO_TEXT("its client has closed it"));
    channel->told_ms = self->now_ms;
    answer_plain(ask, channel);
}

void helio_channels_ask(helio_channels_t *self, const helio_channel_ask_t *ask, int64_t now_ms)
{
    helio_gate_channel_t *channel = NULL;
    self->now_ms = now_ms;
    if (strlen(ask->id) == HELIO_CHANNEL_ID_SIZE - 1)
        HASH_FIND(hh_id, self->by_id, ask->id, HELIO_CHANNEL_ID_SIZE - 1, channel);
#ifndef HELIO_MUTANT_channels_of_any_principal
    if (channel && !helio_text_equal(channel->principal, ask->principal))
        channel = NULL;
#endif
    if (!channel || channel->state == CHANNEL_PREPARED) {
        ask->done(ask->arg, &(helio_channel_answer_t){.rc = HELIO_NOT_FOUND, .why = ""});
        return;
    }
    channel->asked_ms = now_ms;
    switch (ask->verb) {
    case HELIO_CHANNEL_READ:
        read_output(self, channel, ask);
        break;
    case HELIO_CHANNEL_WRITE:
        write_input(self, channel, ask);
        break;
    case HELIO_CHANNEL_RESIZE:
        if (channel->state == CHANNEL_OPEN)
            send_input(self, channel, &(helio_msg_channel_input_t){.rows = ask->rows, .columns = ask->columns});
        answer_plain(ask, channel);
        break;
    case HELIO_CHANNEL_SHUT:
        shut(self, channel, ask);
        break;
    }
}

void helio_channel_serve(helio_channels_t *self, helio_gate_channel_t *channel)
{
    serve_reader(self, channel, false);
}

/* ---- time ----------------------------------------------------------------------------------------------------- */

static bool is_forgotten(const helio_gate_channel_t *channel, int64_t now_ms)
{
    if (channel->state != CHANNEL_OVER || channel->told_core_is_due)
        return false;
    return channel->told_ms ? now_ms - channel->told_ms >= TOLD_KEPT_MS : now_ms - channel->ended_ms >= UNTOLD_KEPT_MS;
}

static bool has_lost_its_credential(const helio_gate_channel_t *channel)
{
    return channel->state == CHANNEL_OPEN && channel->is_in_force && !channel->is_in_force(channel->credential);
}

/*  The agent keeps the limit; the broker does not rely on it. */
static helio_text_t overdue(const helio_gate_channel_t *channel, int64_t now_ms)
{
    enum { AGENT_MS = 30000 };
    if (channel->state != CHANNEL_OPEN)
        return (helio_text_t){0};
    if (!channel->reader.done && !channel->writer.done && now_ms - channel->asked_ms >= HELIO_CHANNEL_VANISHED_MS)
        return helio_text_of(vanished);
    if (now_ms >= channel->until_ms + AGENT_MS)
        return HELIO_TEXT("its time limit is over");
    return (helio_text_t){0};
}

void helio_channels_tick(helio_channels_t *self, int64_t now_ms)
{
    self->now_ms = now_ms;
    helio_gate_channel_t *channel, *next;
    HASH_ITER(hh, self->by_number, channel, next)
    {
        helio_text_t why = overdue(channel, now_ms);
        if (channel->reader.done && now_ms >= channel->reader.until_ms)
            serve_reader(self, channel, true);
        if (channel->writer.done && now_ms >= channel->writer.until_ms)
            serve_writer(channel);
        if (has_lost_its_credential(channel)) {
            helio_channel_close(self, channel->peer, channel->number);
            helio_channel_end(self, channel, HELIO_FORBIDDEN, 0,
                              HELIO_TEXT("the token that opened it is not in force any more"));
        } else if (why.size) {
            helio_channel_close(self, channel->peer, channel->number);
            helio_channel_end(self, channel, HELIO_TIMEOUT, 0, why);
        }
        if (is_forgotten(channel, now_ms))
            forget(self, channel);
    }
}
