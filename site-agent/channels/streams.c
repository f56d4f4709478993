/*  streams.c -- the bytes of one channel, within its windows. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <termios.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/channels/internal.h"
#include "site-agent/shim/inside.h"

enum {
    TELL_EVERY = HELIO_CHANNEL_WINDOW / 4, /* bytes of input */
    REPORT_MAX = 4096,
    /* With so many messages that nobody has confirmed, each channel rests after every further one. The queue of the
     * connection holds thousands, and the agent's own messages must find room in it. */
    UNHEARD_MAX = 256,
    REST_MS = 500,
    TERM_AFTER_MS = 2000,
    KILL_AFTER_MS = 8000
};

/* ---- messages ------------------------------------------------------------------------------------------ */

void channel_end(channel_t *channel, helio_rc rc, int64_t now_ms, const char *format, ...)
{
    if (channel->ending)
        return;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(channel->text, sizeof channel->text, format, list);
    va_end(list);
    channel->ending = true;
    channel->rc = rc;
    channel->kill_at_ms = now_ms + KILL_AFTER_MS;
    channel->term_at_ms = now_ms + TERM_AFTER_MS;
    if (channel->pidfd >= 0)
        (void)kill(-channel->pid, SIGHUP);
}

void channel_tell(helio_channels_t *self, channel_t *channel, uint32_t stream, helio_text_t data)
{
    helio_msg_channel_output_t message = {
        .channel = channel->open.channel, .stream = stream, .data = data, .taken = channel->taken};
    if (channel->mute)
        return;
    channel->announced = true;
    channel->told = channel->taken;
    channel->sent += data.size;
    channel->unheard++;
    self->unheard++;
    if (self->options.on_output(self->options.arg, &message))
        channel_end(channel, HELIO_UNAVAILABLE, channel->last_ms, "the connection to the broker takes no more output");
}

/*  Input and output of a terminal are one file, which stays in the epoll until both are closed. */
static void close_stream(const helio_channels_t *self, int *fd, bool *watched)
{
    if (*fd >= 0 && *watched)
        (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, *fd, NULL);
    *watched = false;
    helio_close(fd);
}

/* ---- input --------------------------------------------------------------------------------------------- */

static size_t waiting(const channel_t *channel)
{
    return channel->input.size - channel->input_at;
}

/*  A terminal has no end of input: the program is told by the character that means it, at the beginning of a line. */
static void give_end(const helio_channels_t *self, channel_t *channel)
{
    struct termios mode;
    if (channel->open.terminal && tcgetattr(channel->in, &mode) == 0) {
        char twice[2] = {(char)mode.c_cc[VEOF], (char)mode.c_cc[VEOF]};
        bool within_line = channel->taken && channel->last != '\n' && channel->last != '\r';
        (void)!write(channel->in, twice, within_line ? 2 : 1);
    }
    close_stream(self, &channel->in, &channel->in_watched);
}

/*  A process that reads no more takes everything that still comes. */
static void give_nobody(const helio_channels_t *self, channel_t *channel)
{
    channel->taken += waiting(channel);
    helio_buffer_reset(&channel->input);
    channel->input_at = 0;
    close_stream(self, &channel->in, &channel->in_watched);
}

void channel_give(helio_channels_t *self, channel_t *channel, int64_t now_ms)
{
    while (channel->in >= 0 && waiting(channel)) {
        const char *from = channel->input.data + channel->input_at;
        ssize_t wrote = write(channel->in, from, waiting(channel));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && errno == EAGAIN)
            break;
        if (wrote < 0) {
            give_nobody(self, channel);
            break;
        }
        channel->last = from[wrote - 1];
        channel->input_at += (size_t)wrote;
        channel->taken += (uint64_t)wrote;
        channel->last_ms = now_ms;
    }
    if (channel->in < 0 && waiting(channel))
        give_nobody(self, channel);
    if (!waiting(channel)) {
        helio_buffer_reset(&channel->input);
        channel->input_at = 0;
    }
    if (channel->in >= 0 && channel->input_ends && !waiting(channel))
        give_end(self, channel);
    if (channel->announced && channel->taken - channel->told >= TELL_EVERY)
        channel_tell(self, channel, HELIO_CHANNEL_STREAM_NONE, (helio_text_t){0});
}

/* ---- output -------------------------------------------------------------------------------------------- */

static size_t room(const channel_t *channel)
{
    uint64_t under_way = channel->sent - channel->received;
#ifdef HELIO_MUTANT_output_without_window
    under_way = 0;
#endif
    return under_way < HELIO_CHANNEL_WINDOW ? (size_t)(HELIO_CHANNEL_WINDOW - under_way) : 0;
}

/*  What comes there is about the process, and not from it. A terminal has one stream for all. */
static bool is_report(const channel_t *channel, int stream)
{
    if (channel->open.kind == HELIO_CHANNEL_KIND_PORT)
        return stream == CHANNEL_ERR;
    return channel->announces && !channel->announced && stream == (channel->open.terminal ? CHANNEL_OUT : CHANNEL_ERR);
}

static bool wants_output(const channel_t *channel, int stream, int64_t now_ms)
{
    if (channel->out[stream] < 0)
        return false;
    if (is_report(channel, stream))
        return true;
    return channel->announced && room(channel) > 0 && now_ms >= channel->pause_until_ms;
}

/*  As much as there is, since a terminal gives it in small pieces. *ret_open: more can come. */
static size_t read_piece(int fd, char *bytes, size_t most, bool *ret_open)
{
    size_t size = 0;
    *ret_open = true;
    while (size < most) {
        ssize_t got = read(fd, bytes + size, most - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0) {
            size += (size_t)got;
            continue;
        }
        *ret_open = got < 0 && errno == EAGAIN; /* EIO: nobody has the terminal open any more */
        break;
    }
    return size;
}

static void tell_output(helio_channels_t *self, channel_t *channel, int stream, helio_text_t data)
{
    channel_tell(self, channel, stream == CHANNEL_OUT ? HELIO_CHANNEL_STREAM_OUTPUT : HELIO_CHANNEL_STREAM_ERROR, data);
}

/*  Once it is in its place, a command's own output follows. */
static void take_report(helio_channels_t *self, channel_t *channel, int stream, helio_text_t piece)
{
    static const char word[] = HELIO_INSIDE_CONNECTED;
    enum { SIZE = sizeof word - 2 }; /* without the line's end, which a terminal changes */
    channel->report.max = REPORT_MAX;
    helio_buffer_append(&channel->report, piece.data, piece.size);
    helio_text_t all = helio_buffer_view(&channel->report);
    const char *said = all.size ? memmem(all.data, all.size, word, SIZE) : NULL;
    const char *line = said ? memchr(said, '\n', all.size - (size_t)(said - all.data)) : NULL;
    if (channel->announced || !line)
        return;
    channel_tell(self, channel, HELIO_CHANNEL_STREAM_NONE, (helio_text_t){0});
    uint32_t rest = all.size - (uint32_t)(line + 1 - all.data);
    if (rest && channel->open.kind == HELIO_CHANNEL_KIND_COMMAND)
        tell_output(self, channel, stream, (helio_text_t){line + 1, rest});
    helio_buffer_reset(&channel->report);
}

static size_t take_stream(helio_channels_t *self, channel_t *channel, int stream, size_t most, int64_t now_ms)
{
    bool report = is_report(channel, stream), is_open;
    if (!wants_output(channel, stream, now_ms))
        return 0;
    size_t bound = report ? REPORT_MAX / 2 : room(channel);
    most = most < bound ? most : bound;
    size_t size = read_piece(channel->out[stream], self->bytes, most, &is_open);
    if (!is_open || (!size && channel->pidfd < 0)) /* after its end nothing more is written */
        close_stream(self, &channel->out[stream], &channel->out_watched[stream]);
    if (!size)
        return 0;
    channel->last_ms = now_ms;
    if (report)
        take_report(self, channel, stream, (helio_text_t){self->bytes, (uint32_t)size});
    else
        tell_output(self, channel, stream, (helio_text_t){self->bytes, (uint32_t)size});
    if (self->unheard > UNHEARD_MAX)
        channel->pause_until_ms = now_ms + REST_MS;
    return size;
}

void channel_take(helio_channels_t *self, channel_t *channel, size_t most, size_t *ret_carried, int64_t now_ms)
{
    if (most > sizeof self->bytes)
        most = sizeof self->bytes;
    for (int stream = CHANNEL_STREAMS - 1; stream >= 0 && !channel->mute; stream--) /* errors first: they are few */
        *ret_carried += take_stream(self, channel, stream, most, now_ms);
}

bool channel_is_through(const channel_t *channel)
{
    bool drained = channel->out[CHANNEL_ERR] < 0 &&
                   (channel->out[CHANNEL_OUT] < 0 || (!channel->announced && !channel->open.terminal));
    return channel->pidfd < 0 && (channel->mute || drained);
}

/* ---- what is waited for -------------------------------------------------------------------------------- */

/*  An epoll tells of a closed other end even of what it is not to watch, so such descriptors are taken out of it. */
static void set_watch(const helio_channels_t *self, channel_t *channel, int fd, uint32_t events, bool wanted,
                      bool *watched)
{
    struct epoll_event event = {.events = events, .data.ptr = channel};
    if (fd < 0)
        *watched = false;
    if (fd < 0 || wanted == *watched)
        return;
    if (epoll_ctl(self->epoll, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event) == 0)
        *watched = wanted;
}

void channel_watch(helio_channels_t *self, channel_t *channel, int64_t now_ms)
{
    set_watch(self, channel, channel->pidfd, EPOLLIN, true, &channel->pid_watched);
    set_watch(self, channel, channel->in, EPOLLOUT, waiting(channel) > 0, &channel->in_watched);
    for (int i = 0; i < CHANNEL_STREAMS; i++)
        set_watch(self, channel, channel->out[i], EPOLLIN, !channel->mute && wants_output(channel, i, now_ms),
                  &channel->out_watched[i]);
}

void channel_close_streams(helio_channels_t *self, channel_t *channel)
{
    close_stream(self, &channel->in, &channel->in_watched);
    for (int i = 0; i < CHANNEL_STREAMS; i++)
        close_stream(self, &channel->out[i], &channel->out_watched[i]);
}
