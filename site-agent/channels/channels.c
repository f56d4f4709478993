/*  channels.c -- the table of channels: what the broker asks for, whose turn it is, and how each ends. */
#include "site-agent/channels/channels.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/file.h"
#include "federation/base/utf8.h"
#include "site-agent/channels/internal.h"
#include "site-agent/shim/inside.h"

enum { TURN_BYTES = 512 << 10, EVENTS_MAX = 64 };

/* ---- the table ----------------------------------------------------------------------------------------- */

/*  Numbers are unique in a session only: those of a former one are mute. */
static channel_t *find(const helio_channels_t *self, uint64_t number)
{
    channel_t *channel = self->first;
    while (channel && (channel->mute || channel->open.channel != number))
        channel = channel->next;
    return channel;
}

static void append(helio_channels_t *self, channel_t *channel)
{
    channel_t **at = &self->first;
    while (*at)
        at = &(*at)->next;
    channel->next = NULL;
    *at = channel;
}

static void take_out(helio_channels_t *self, channel_t *channel)
{
    channel_t **at = &self->first;
    while (*at != channel)
        at = &(*at)->next;
    *at = channel->next;
    channel->next = NULL;
}

static channel_t *new_channel(const helio_msg_channel_open_t *message)
{
    channel_t *channel = helio_new(1, sizeof *channel);
    channel->open = *message;
    channel->open.command.count = 0;
    channel->open.command.items = NULL;
    channel->open.term = (helio_text_t){0};
    channel->open.terminal = message->terminal && message->kind == HELIO_CHANNEL_KIND_COMMAND;
    channel->pidfd = channel->in = channel->out[CHANNEL_OUT] = channel->out[CHANNEL_ERR] = -1;
    channel->input.max = HELIO_CHANNEL_WINDOW;
    channel->term_at_ms = channel->kill_at_ms = INT64_MAX;
    return channel;
}

static void free_channel(helio_channels_t *self, channel_t *channel)
{
    channel_close_streams(self, channel);
    helio_close(&channel->pidfd);
    self->unheard -= channel->unheard;
    if (channel->input.data)
        explicit_bzero(channel->input.data, channel->input.size);
    helio_buffer_clear(&channel->input);
    helio_buffer_clear(&channel->report);
    free(channel);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void note(const helio_channels_t *self, const channel_t *channel, bool opened, int64_t now_ms)
{
    helio_channels_note_t what = {.opened = opened,
                                  .open = &channel->open,
                                  .program = channel->program,
                                  .user = channel->user,
                                  .rc = channel->rc,
                                  .exit_code = (uint32_t)channel->exit_code,
                                  .text = channel->text,
                                  .ran_ms = now_ms - channel->opened_ms,
                                  .in = channel->taken,
                                  .out = channel->sent};
    if (self->options.on_note)
        self->options.on_note(self->options.arg, &what);
}

static void say_end(const helio_channels_t *self, const channel_t *channel)
{
    helio_msg_channel_end_t message = {.channel = channel->open.channel,
                                       .rc = channel->rc,
                                       .exit_code = (uint32_t)channel->exit_code,
                                       .text = helio_text_of(channel->text)};
    if (!channel->mute)
        self->options.on_end(self->options.arg, &message);
}

/*  The last line that it has written says why it did not come to its place. The user can have written it. */
static void explain(channel_t *channel)
{
    helio_text_t text = helio_buffer_view(&channel->report);
    while (text.size && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r'))
        text.size--;
    for (uint32_t i = text.size; i > 0; i--)
        if (text.data[i - 1] == '\n') {
            text = (helio_text_t){text.data + i, text.size - i};
            break;
        }
    channel->rc = channel->exit_code == HELIO_INSIDE_NO_PORT ? HELIO_NOT_FOUND : HELIO_UNAVAILABLE;
    helio_utf8_show(text, channel->text, sizeof channel->text);
    if (!text.size)
        (void)snprintf(channel->text, sizeof channel->text, "the site could not start it in the job (exit code %d)",
                       channel->exit_code);
}

static void finish(helio_channels_t *self, channel_t *channel, int64_t now_ms)
{
    if (!channel->ending && !channel->announced)
        explain(channel);
    take_out(self, channel);
    self->count--;
    say_end(self, channel);
    note(self, channel, false, now_ms);
    free_channel(self, channel);
}

/*  Nobody listens any more: its streams close at once. */
static void silence(helio_channels_t *self, channel_t *channel, const char *why)
{
    channel_end(channel, HELIO_OK, helio_clock_boot_ms(), "%s", why);
    channel->mute = true;
    channel_close_streams(self, channel);
    self->next_ms = 0;
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static helio_rc check(const helio_channels_t *self, const helio_msg_channel_open_t *message, helio_error_t *err)
{
    bool port = message->kind == HELIO_CHANNEL_KIND_PORT;
    if (!message->channel || find(self, message->channel))
        return helio_fail(err, HELIO_CONFLICT, "the channel's number is in use");
    if (message->kind >= HELIO_CHANNEL_KIND_COUNT || !(self->options.kinds & 1U << message->kind))
        return helio_fail(err, HELIO_FORBIDDEN, "the site does not allow %s",
                          port ? "connections to ports of jobs" : "commands in jobs");
    if (self->count >= self->options.most)
        return helio_fail(err, HELIO_BUSY, "the site has %u channels open, and allows no more", self->options.most);
    if (port && !message->port)
        return helio_fail(err, HELIO_INVALID, "the port is missing");
    for (uint32_t i = 0; i < message->command.count; i++) {
        helio_text_t word = message->command.items[i].text;
        if (word.size && memchr(word.data, '\0', word.size))
            return helio_fail(err, HELIO_INVALID, "a word of the command has a NUL");
    }
    return HELIO_OK;
}

static uint64_t lesser(uint64_t site, uint64_t broker)
{
    return broker && broker < site ? broker : site;
}

static helio_rc start(helio_channels_t *self, channel_t *channel, const helio_msg_channel_open_t *message,
                      helio_arena_t *arena, helio_error_t *err)
{
    helio_entry_t entry = {.key = message->key,
                           .epoch = message->epoch,
                           .node = message->node,
                           .kind = message->kind,
                           .command = message->command.items,
                           .command_count = message->command.count,
                           .port = (uint16_t)message->port,
                           .terminal = channel->open.terminal,
                           .term = message->term};
    helio_entry_command_t command = {0};
    helio_rc rc = self->options.enter(self->options.arg, &entry, arena, &command, err);
    if (rc)
        return rc;
    channel->announces = command.announced || message->kind == HELIO_CHANNEL_KIND_PORT;
    (void)snprintf(channel->user, sizeof channel->user, "%s", command.user ? command.user : "");
    return channel_spawn(channel, &command, err);
}

void helio_channels_open(helio_channels_t *self, const helio_msg_channel_open_t *message)
{
    int64_t now_ms = helio_clock_boot_ms();
    helio_error_t err = {0};
    channel_t *channel = new_channel(message);
    channel->opened_ms = channel->last_ms = now_ms;
    channel->limit_at_ms = now_ms + (int64_t)lesser(self->options.limit_ms, message->limit_ms);
    channel->idle_ms = (int64_t)lesser(self->options.idle_ms, message->idle_ms);
    helio_text_t program = message->command.count ? message->command.items[0].text : HELIO_TEXT("shell");
    (void)helio_text_copy(program, channel->program, sizeof channel->program);
    helio_arena_t *arena = helio_arena_new();
    helio_rc rc = check(self, message, &err);
    if (!rc)
        rc = start(self, channel, message, arena, &err);
    helio_arena_destroy(&arena);
    if (rc) {
        channel->rc = rc;
        helio_utf8_show(helio_text_of(err.text), channel->text, sizeof channel->text);
        say_end(self, channel);
        note(self, channel, false, now_ms);
        free_channel(self, channel);
        return;
    }
    append(self, channel);
    self->count++;
    self->next_ms = 0;
    note(self, channel, true, now_ms);
    if (!channel->announces)
        channel_tell(self, channel, HELIO_CHANNEL_STREAM_NONE, (helio_text_t){0});
}

static void broken(channel_t *channel, const char *what)
{
    channel_end(channel, HELIO_PROTOCOL, helio_clock_boot_ms(), "the broker %s", what);
}

static void take_received(helio_channels_t *self, channel_t *channel, uint64_t received)
{
    if (received > channel->sent) {
        broken(channel, "has confirmed output that was never sent");
    } else if (received > channel->received) {
        channel->received = received;
        self->unheard -= channel->unheard;
        channel->unheard = 0;
        channel->pause_until_ms = 0;
    }
}

static void take_input(channel_t *channel, const helio_msg_channel_input_t *message)
{
    size_t waits = channel->input.size - channel->input_at;
    uint64_t unknown = channel->taken - channel->told; /* the broker counts from what it was told */
#ifdef HELIO_MUTANT_input_of_any_size
    unknown = 0;
    waits = 0;
#endif
    if (waits + unknown + message->data.size > HELIO_CHANNEL_WINDOW) {
        broken(channel, "has sent more input than was asked for");
        return;
    }
    if (message->data.size && channel->input_ends)
        return;
    if (channel->input_at) { /* what was given makes room */
        memmove(channel->input.data, channel->input.data + channel->input_at, waits);
        channel->input.size = waits;
        channel->input_at = 0;
    }
    helio_buffer_append(&channel->input, message->data.data, message->data.size);
    channel->input_ends = channel->input_ends || message->end;
}

void helio_channels_input(helio_channels_t *self, const helio_msg_channel_input_t *message)
{
    channel_t *channel = find(self, message->channel);
    if (!channel) {
        helio_msg_channel_end_t unknown = {
            .channel = message->channel, .rc = HELIO_NOT_FOUND, .text = HELIO_TEXT("the channel has ended")};
        self->options.on_end(self->options.arg, &unknown);
        return;
    }
    self->next_ms = 0;
    if (message->data.size)
        channel->last_ms = helio_clock_boot_ms();
    take_received(self, channel, message->received);
    if (channel->ending)
        return;
    take_input(channel, message);
    if (message->rows && message->columns)
        channel_resize(channel, message->rows, message->columns);
}

void helio_channels_close(helio_channels_t *self, uint64_t number)
{
    channel_t *channel = find(self, number);
    if (channel)
        silence(self, channel, "closed");
}

void helio_channels_attempt_over(helio_channels_t *self, helio_job_key_t key, uint32_t epoch)
{
    for (channel_t *channel = self->first; channel; channel = channel->next)
        if (channel->open.epoch == epoch && helio_job_key_equal(channel->open.key, key)) {
            channel_end(channel, HELIO_NOT_FOUND, helio_clock_boot_ms(), "the attempt has ended");
            self->next_ms = 0;
        }
}

void helio_channels_session_over(helio_channels_t *self)
{
    for (channel_t *channel = self->first; channel; channel = channel->next)
        silence(self, channel, "the session with the broker is over");
}

/* ---- turns --------------------------------------------------------------------------------------------- */

static void reap(const helio_channels_t *self, channel_t *channel)
{
    int status;
    if (channel->pidfd < 0 || waitpid(channel->pid, &status, WNOHANG) != channel->pid)
        return;
    (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, channel->pidfd, NULL);
    helio_close(&channel->pidfd);
    channel->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*  The group of its process is its session's first; a terminal's foreground has had the HUP of the terminal. */
static void escalate(channel_t *channel, int64_t now_ms)
{
    if (now_ms >= channel->kill_at_ms && channel->pidfd >= 0) {
        (void)kill(-channel->pid, SIGKILL);
        channel->kill_at_ms = now_ms + 1000;
    } else if (now_ms >= channel->term_at_ms && channel->pidfd >= 0) {
        (void)kill(-channel->pid, SIGTERM);
        channel->term_at_ms = INT64_MAX;
    }
}

static void look_at_clock(channel_t *channel, int64_t now_ms)
{
    if (now_ms >= channel->limit_at_ms)
        channel_end(channel, HELIO_TIMEOUT, now_ms, "the time limit of the channel is over");
    else if (now_ms - channel->last_ms >= channel->idle_ms)
        channel_end(channel, HELIO_TIMEOUT, now_ms, "the channel carried nothing for %lld s",
                    (long long)(channel->idle_ms / 1000));
    if (channel->ending)
        escalate(channel, now_ms);
}

static void serve(helio_channels_t *self, channel_t *channel, size_t *carried, int64_t now_ms)
{
    reap(self, channel);
    if (now_ms >= channel->pause_until_ms)
        channel->pause_until_ms = 0;
    channel_give(self, channel, now_ms);
    channel_take(self, channel, TURN_BYTES - *carried, carried, now_ms);
    look_at_clock(channel, now_ms);
    bool forced = channel->ending && channel->pidfd < 0 && now_ms >= channel->kill_at_ms;
    if (channel_is_through(channel) || forced) {
        finish(self, channel, now_ms);
        return;
    }
    channel_watch(self, channel, now_ms);
}

static int64_t due_ms(const channel_t *channel)
{
    int64_t next = channel->limit_at_ms, idle = channel->last_ms + channel->idle_ms;
    if (channel->ending) {
        next = channel->kill_at_ms;
        if (channel->pidfd >= 0 && channel->term_at_ms < next)
            next = channel->term_at_ms;
    } else if (idle < next) {
        next = idle;
    }
    return channel->pause_until_ms && channel->pause_until_ms < next ? channel->pause_until_ms : next;
}

void helio_channels_process(helio_channels_t *self, int64_t now_boot_ms)
{
    struct epoll_event events[EVENTS_MAX];
    (void)epoll_wait(self->epoll, events, EVENTS_MAX, 0); /* each is looked at anyway */
    size_t carried = 0;
    self->next_ms = INT64_MAX;
    for (uint32_t turns = self->count; turns && carried < TURN_BYTES; turns--) {
        channel_t *channel = self->first; /* the last to be served is the last of the next turn */
        take_out(self, channel);
        append(self, channel);
        serve(self, channel, &carried, now_boot_ms);
    }
    if (carried >= TURN_BYTES)
        self->next_ms = 0;
    for (const channel_t *channel = self->first; channel && self->next_ms; channel = channel->next) {
        int64_t due = due_ms(channel);
        self->next_ms = due < self->next_ms ? due : self->next_ms;
    }
}

int helio_channels_fd(const helio_channels_t *self)
{
    return self->epoll;
}

int64_t helio_channels_next_ms(const helio_channels_t *self)
{
    return self->next_ms;
}

uint32_t helio_channels_count(const helio_channels_t *self)
{
    return self->count;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

helio_rc helio_channels_new(const helio_channels_options_t *options, helio_channels_t **ret_channels,
                            helio_error_t *err)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno));
    helio_channels_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    self->epoll = epoll;
    self->next_ms = INT64_MAX;
    *ret_channels = self;
    return HELIO_OK;
}

void helio_channels_destroy(helio_channels_t **self_p)
{
    helio_channels_t *self = *self_p;
    if (!self)
        return;
    helio_channels_session_over(self);
    while (self->first) {
        channel_t *channel = self->first;
        if (channel->pidfd >= 0)
            (void)kill(-channel->pid, SIGTERM);
        take_out(self, channel);
        free_channel(self, channel);
    }
    (void)close(self->epoll);
    free(self);
    *self_p = NULL;
}
