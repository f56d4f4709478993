/*  channels_testing.h -- channels over real terminals and pipes, and a broker in the test's hands. */
#ifndef HELIO_TESTS_SITE_AGENT_CHANNELS_CHANNELS_TESTING_H
#define HELIO_TESTS_SITE_AGENT_CHANNELS_CHANNELS_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/channels/channels.h"
#include "site-agent/shim/inside.h"

enum { SEATS = 64, PATIENCE_MS = 30000 };

/*  One channel, as the broker sees it. */
typedef struct seat {
    bool open, ended;
    helio_rc rc;
    uint32_t exit_code;
    char text[513];
    helio_buffer_t out, err;
    uint64_t sent, taken;    /* input */
    uint64_t came, received; /* output, and of it what was confirmed */
    uint32_t messages;
    bool overrun;   /* more output than the window */
    bool unhearing; /* the client takes nothing */
    size_t keep;    /* bytes of output that are kept; 0 = all */
} seat_t;

typedef struct hall {
    helio_channels_t *channels;
    helio_channels_options_t options;
    seat_t seats[SEATS];
    uint32_t strangers; /* messages of channels without a seat */
    helio_rc output_rc;
    uint32_t entered;
    uint32_t notes;
    char program[128];
    uint32_t ends;
    bool announced; /* commands say when they are in their place */
    void *place;    /* of the test */
} hall_t;

/*  The words of the command are executed as they are, with PATH and TERM; a port's are those of `port`. */
static const char *hall_port_command[] = {"/bin/sh", "-c", "exit 124", NULL};

static inline helio_rc hall_enter(void *arg, const helio_entry_t *entry, helio_arena_t *arena,
                                  helio_entry_command_t *ret_command, helio_error_t *err)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    hall_t *hall = arg;
    hall->entered++;
    if (entry->epoch != 1)
        return helio_fail(err, HELIO_NOT_FOUND, "no such attempt");
    const char **argv = helio_arena_alloc(arena, entry->command_count + 2, sizeof *argv);
    for (uint32_t i = 0; i < entry->command_count; i++)
        argv[i] = helio_arena_string(arena, entry->command[i].text);
    bool port = entry->kind == HELIO_CHANNEL_KIND_PORT;
    *ret_command = (helio_entry_command_t){
        .argv = port ? hall_port_command : argv, .env = env, .user = "ada", .announced = hall->announced};
    return HELIO_OK;
}

static inline seat_t *hall_seat(hall_t *hall, uint64_t channel)
{
    if (channel >= 1 && channel <= SEATS)
        return &hall->seats[channel - 1];
    hall->strangers++;
    return NULL;
}

static inline void hall_send(hall_t *hall, uint64_t channel, helio_text_t data, bool end)
{
    seat_t *seat = hall_seat(hall, channel);
    helio_msg_channel_input_t message = {
        .channel = channel, .data = data, .end = end, .received = seat ? seat->received : 0};
    if (seat)
        seat->sent += data.size;
    helio_channels_input(hall->channels, &message);
}

static inline helio_rc hall_on_output(void *arg, const helio_msg_channel_output_t *message)
{
    hall_t *hall = arg;
    seat_t *seat = hall_seat(hall, message->channel);
    if (hall->output_rc || !seat)
        return hall->output_rc;
    assert_false(seat->ended);
    assert_true(message->data.size <= HELIO_CHANNEL_DATA_MAX);
    assert_true(message->taken >= seat->taken && message->taken <= seat->sent);
    assert_true((message->stream == HELIO_CHANNEL_STREAM_NONE) == (message->data.size == 0));
    seat->open = true;
    seat->messages++;
    seat->taken = message->taken;
    helio_buffer_t *to = message->stream == HELIO_CHANNEL_STREAM_ERROR ? &seat->err : &seat->out;
    if (!seat->keep || to->size < seat->keep)
        helio_buffer_append(to, message->data.data, message->data.size);
    seat->came += message->data.size;
    if (seat->came > seat->received + HELIO_CHANNEL_WINDOW)
        seat->overrun = true;
    return HELIO_OK;
}

static inline void hall_on_end(void *arg, const helio_msg_channel_end_t *message)
{
    hall_t *hall = arg;
    hall->ends++;
    seat_t *seat = hall_seat(hall, message->channel);
    if (!seat)
        return;
    assert_false(seat->ended);
    seat->ended = true;
    seat->rc = (helio_rc)message->rc;
    seat->exit_code = message->exit_code;
    (void)helio_text_copy(message->text, seat->text, sizeof seat->text);
}

static inline void hall_on_note(void *arg, const helio_channels_note_t *note)
{
    hall_t *hall = arg;
    hall->notes++;
    (void)snprintf(hall->program, sizeof hall->program, "%s", note->program);
}

static inline hall_t *hall_open(void)
{
    hall_t *hall = calloc(1, sizeof *hall);
    assert_non_null(hall);
    (void)signal(SIGPIPE, SIG_IGN);
    hall->options = (helio_channels_options_t){.kinds = 3,
                                               .most = 8,
                                               .limit_ms = 60000,
                                               .idle_ms = 60000,
                                               .arg = hall,
                                               .enter = hall_enter,
                                               .on_output = hall_on_output,
                                               .on_end = hall_on_end,
                                               .on_note = hall_on_note};
    assert_int_equal(helio_channels_new(&hall->options, &hall->channels, NULL), HELIO_OK);
    return hall;
}

/*  With other options. */
static inline void hall_renew(hall_t *hall)
{
    helio_channels_destroy(&hall->channels);
    assert_int_equal(helio_channels_new(&hall->options, &hall->channels, NULL), HELIO_OK);
}

static inline void hall_close(hall_t **hall_p)
{
    hall_t *hall = *hall_p;
    helio_channels_destroy(&hall->channels);
    for (size_t i = 0; i < SEATS; i++) {
        helio_buffer_clear(&hall->seats[i].out);
        helio_buffer_clear(&hall->seats[i].err);
    }
    free(hall);
    *hall_p = NULL;
}

/*  The client confirms all that has come, in one message for each channel. */
static inline void hall_confirm(hall_t *hall)
{
    for (uint64_t channel = 1; channel <= SEATS; channel++) {
        seat_t *seat = hall_seat(hall, channel);
        if (!seat->open || seat->ended || seat->unhearing || seat->came == seat->received)
            continue;
        seat->received = seat->came;
        hall_send(hall, channel, (helio_text_t){0}, false);
    }
}

static inline void hall_turn(hall_t *hall, int most_ms)
{
    int64_t now_ms = helio_clock_boot_ms(), next_ms = helio_channels_next_ms(hall->channels);
    int64_t wait_ms = next_ms <= now_ms ? 0 : next_ms - now_ms < most_ms ? next_ms - now_ms : most_ms;
    struct pollfd fd = {.fd = helio_channels_fd(hall->channels), .events = POLLIN};
    (void)poll(&fd, 1, (int)wait_ms);
    helio_channels_process(hall->channels, helio_clock_boot_ms());
}

#define HALL_WAIT(hall, condition)                                 \
    do {                                                           \
        int64_t patience_ms = helio_clock_boot_ms() + PATIENCE_MS; \
        while (!(condition)) {                                     \
            if (helio_clock_boot_ms() > patience_ms)               \
                fail_msg("still not: %s", #condition);             \
            hall_turn(hall, 20);                                   \
            hall_confirm(hall);                                    \
        }                                                          \
    } while (0)

typedef struct want {
    bool terminal, port;
    uint32_t rows, columns;
    uint64_t limit_ms, idle_ms;
    uint32_t epoch; /* 0 = 1 */
} want_t;

static inline void hall_ask(hall_t *hall, uint64_t channel, want_t want, const char *const *words)
{
    helio_argument_t command[16];
    helio_msg_channel_open_t message = {.channel = channel,
                                        .epoch = want.epoch ? want.epoch : 1,
                                        .kind = want.port ? HELIO_CHANNEL_KIND_PORT : HELIO_CHANNEL_KIND_COMMAND,
                                        .port = want.port ? 8888 : 0,
                                        .terminal = want.terminal,
                                        .rows = want.rows,
                                        .columns = want.columns,
                                        .term = HELIO_TEXT("xterm"),
                                        .limit_ms = want.limit_ms,
                                        .idle_ms = want.idle_ms};
    for (; words && words[message.command.count]; message.command.count++)
        command[message.command.count] = (helio_argument_t){helio_text_of(words[message.command.count])};
    message.command.items = command;
    helio_channels_open(hall->channels, &message);
}

static inline void hall_shell(hall_t *hall, uint64_t channel, want_t want, const char *script)
{
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    hall_ask(hall, channel, want, words);
}

static inline bool hall_says(const helio_buffer_t *buffer, const char *text)
{
    return buffer->size && memmem(buffer->data, buffer->size, text, strlen(text));
}

#endif
