/*  session.c -- passes bytes between the streams of this program and a channel. */
#include "client/jobs/session.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/jobs/channel.h"
#include "client/output/output.h"

enum { READ_BYTES = 16 << 10, LEFT = 255 };

typedef struct session {
    helio_client_t *client;
    const helio_session_ask_t *ask;
    helio_terminal_t *terminal;
    helio_channel_t *channel;
    helio_safe_stream_t safe;
    helio_escape_t escape;
    bool reads;     /* standard input, still */
    bool shows_raw; /* its output goes to the terminal as it is */
    bool has_begun; /* the terminal is raw, if it is to be */
} session_t;

size_t helio_escape_take(helio_escape_t *self, const char *bytes, size_t size, char *out, bool *ret_leave)
{
    size_t count = 0;
    *ret_leave = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (self->state == HELIO_ESCAPE_LINE_BEGIN && c == '~') {
            self->state = HELIO_ESCAPE_TILDE;
            continue;
        }
        if (self->state == HELIO_ESCAPE_TILDE) {
            if (c == '.') {
                *ret_leave = true;
                return count;
            }
            out[count++] = '~'; /* `~~` is one tilde, `~x` both */
            self->state = HELIO_ESCAPE_INSIDE;
            if (c == '~')
                continue;
        }
        out[count++] = c;
        self->state = c == '\r' || c == '\n' ? HELIO_ESCAPE_LINE_BEGIN : HELIO_ESCAPE_INSIDE;
    }
    return count;
}

static void show(void *arg, uint32_t stream, const char *bytes, size_t size)
{
    session_t *self = arg;
    const helio_client_io_t *io = self->client->io;
    FILE *to = stream == 2 ? io->err : io->out;
    if (stream == 1 && io->out_tty && !self->shows_raw)
        helio_client_print_foreign(self->client, &self->safe, bytes, size);
    else
        (void)fwrite(bytes, 1, size, to);
    (void)fflush(to);
}

static void put_size(json_t *body, const helio_terminal_t *terminal)
{
    uint32_t rows, columns;
    if (!helio_terminal_size(terminal, &rows, &columns))
        return;
    (void)json_object_set_new(body, "rows", json_integer(rows));
    (void)json_object_set_new(body, "columns", json_integer(columns));
}

/*  NULL after a message: a word that JSON cannot carry. */
static json_t *body_of(const helio_client_t *client, const helio_session_ask_t *ask, const helio_terminal_t *terminal)
{
    json_t *body = json_object(), *words = json_array();
    for (uint32_t i = 0; i < ask->command_count; i++)
        if (json_array_append_new(words, json_string(ask->command[i])) != 0) {
            (void)helio_client_fail(client, HELIO_EXIT_USAGE, "word %u of the command is not UTF-8", i + 1);
            json_decref(words);
            json_decref(body);
            return NULL;
        }
    if (ask->command_count)
        (void)json_object_set(body, "command", words);
    json_decref(words);
    if (ask->has_node)
        (void)json_object_set_new(body, "node", json_integer((json_int_t)ask->node));
    if (ask->terminal) {
        const char *term = helio_client_env(client->io, HELIO_VARIABLE_TERM);
        (void)json_object_set_new(body, "terminal", json_true());
        (void)json_object_set_new(body, "term", json_string(term && strlen(term) <= 64 ? term : "dumb"));
        put_size(body, terminal);
    }
    return body;
}

/*  True: the user leaves. */
static bool pass_input(session_t *self)
{
    char bytes[READ_BYTES], sent[READ_BYTES + 1];
    bool leave = false;
    size_t room = helio_channel_room(self->channel);
    ssize_t size = read(fileno(self->client->io->in), bytes, room < sizeof bytes ? room : sizeof bytes);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (size <= 0) {
        self->reads = false;
        helio_channel_write_end(self->channel);
        return false;
    }
    if (!self->terminal->is_raw) {
        helio_channel_write(self->channel, bytes, (size_t)size);
        return false;
    }
    size_t count = helio_escape_take(&self->escape, bytes, (size_t)size, sent, &leave);
    helio_channel_write(self->channel, sent, count);
    return leave;
}

/*  The terminal is the command's from the moment on that there is one, so that a refusal is printed on a plain one. */
static void take_terminal(session_t *self)
{
    if (self->has_begun || !helio_channel_is_open(self->channel))
        return;
    self->has_begun = true;
    if (self->ask->terminal && self->ask->input && self->client->io->in_tty)
        (void)helio_terminal_make_raw(self->terminal);
}

/*  HELIO_EXIT_OK: goes on; otherwise the exit code with which the user leaves. */
static int turn(session_t *self, int interrupts)
{
    enum { INPUT, SIGNALS, COUNT };
    bool takes = self->reads && helio_channel_room(self->channel) && (self->has_begun || !self->ask->terminal);
    struct pollfd fds[COUNT] = {[INPUT] = {.fd = takes ? fileno(self->client->io->in) : -1, .events = POLLIN},
                                [SIGNALS] = {.fd = self->terminal->signal_fd, .events = POLLIN}};
    bool resized = false;
    helio_channel_turn(self->channel);
    take_terminal(self);
    if (helio_channel_is_over(self->channel))
        return HELIO_EXIT_OK;
    helio_remote_pump_with(self->client->remote, helio_channel_wait_ms(self->channel), fds, COUNT);
    int ended_by = fds[SIGNALS].revents ? helio_terminal_signals(self->terminal, &resized) : 0;
    if (ended_by)
        return 128 + ended_by;
    uint32_t rows, columns;
    if (resized && self->ask->terminal && helio_terminal_size(self->terminal, &rows, &columns))
        helio_channel_resize(self->channel, rows, columns);
    if (takes && fds[INPUT].revents && pass_input(self))
        return LEFT;
    if (helio_client_interrupts(self->client->io) != interrupts)
        return HELIO_EXIT_INTERRUPTED;
    return ferror(self->client->io->out) ? HELIO_EXIT_UNREAD : HELIO_EXIT_OK;
}

int helio_session_run(helio_client_t *client, helio_terminal_t *terminal, const helio_session_ask_t *ask)
{
    json_t *body = body_of(client, ask, terminal);
    if (!body)
        return HELIO_EXIT_USAGE;
    session_t self = {.client = client, .ask = ask, .terminal = terminal, .reads = ask->input};
    self.shows_raw = ask->terminal;
    int interrupts = helio_client_interrupts(client->io);
    int code = helio_channel_open(client, ask->job, body, show, &self, &self.channel);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!ask->input)
        helio_channel_write_end(self.channel);
    while (!helio_channel_is_over(self.channel) && code == HELIO_EXIT_OK)
        code = turn(&self, interrupts);
    bool was_raw = terminal->is_raw;
    helio_terminal_give_back(terminal);
    if (code == HELIO_EXIT_OK)
        code = helio_channel_exit(self.channel);
    else if (code == LEFT && was_raw)
        helio_client_say(client, "left %s", ask->job);
    helio_channel_destroy(&self.channel);
    return code == LEFT ? HELIO_EXIT_OK : code;
}
