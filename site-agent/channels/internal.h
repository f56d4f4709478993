/*  internal.h -- one channel, for the files of this room. */
#ifndef HELIO_CHANNELS_INTERNAL_H
#define HELIO_CHANNELS_INTERNAL_H

#include <sys/types.h>

#include "site-agent/channels/channels.h"

enum {
    CHANNEL_TEXT_SIZE = 512,
    CHANNEL_PROGRAM_SIZE = 128,
    CHANNEL_USER_SIZE = 64,
    CHANNEL_OUT = 0,
    CHANNEL_ERR = 1,
    CHANNEL_STREAMS = 2
};

typedef struct channel {
    struct channel *next;
    helio_msg_channel_open_t open; /* without command and term */
    char program[CHANNEL_PROGRAM_SIZE], user[CHANNEL_USER_SIZE];
    bool mute;      /* nobody is told anything any more */
    bool announces; /* its process says when it is in its place; until then its standard error is a report */
    bool announced; /* the broker knows that it is open */
    /* the process */
    pid_t pid;
    int pidfd; /* -1: it has ended and was reaped */
    int exit_code;
    /* its streams; -1 = closed. With a terminal, input and output are one descriptor, each closed by itself */
    int in, out[CHANNEL_STREAMS];
    bool in_watched, out_watched[CHANNEL_STREAMS], pid_watched;
    /* input */
    helio_buffer_t input;
    size_t input_at;      /* of it, given to the process */
    uint64_t taken, told; /* given to it since the opening; of that, what the broker knows */
    bool input_ends;      /* no more comes */
    char last;            /* byte that was given */
    /* output */
    uint64_t sent, received;
    uint32_t unheard;       /* messages since `received` rose */
    int64_t pause_until_ms; /* no output before that; 0 = none */
    helio_buffer_t report;  /* what it says of itself */
    /* the end */
    int64_t limit_at_ms, idle_ms, last_ms, opened_ms;
    int64_t term_at_ms, kill_at_ms; /* INT64_MAX: not, or done */
    bool ending;
    helio_rc rc;
    char text[CHANNEL_TEXT_SIZE];
} channel_t;

struct helio_channels {
    helio_channels_options_t options;
    channel_t *first; /* whose turn comes next */
    uint32_t count;
    uint32_t unheard; /* of all */
    int epoll;
    int64_t next_ms;
    char bytes[HELIO_CHANNEL_DATA_MAX];
};

/*  spawn.c: its process and streams, non-blocking. */
HELIO_MUST_CHECK helio_rc channel_spawn(channel_t *channel, const helio_entry_command_t *command, helio_error_t *err);
void channel_resize(const channel_t *channel, uint32_t rows, uint32_t columns);

/*  streams.c */
void channel_give(helio_channels_t *self, channel_t *channel, int64_t now_ms);
/*  At most `most` bytes of each stream; adds what it carried. */
void channel_take(helio_channels_t *self, channel_t *channel, size_t most, size_t *ret_carried, int64_t now_ms);
void channel_watch(helio_channels_t *self, channel_t *channel, int64_t now_ms);
void channel_close_streams(helio_channels_t *self, channel_t *channel);
/*  Its process has ended, and all of its output was sent. */
bool channel_is_through(const channel_t *channel);
void channel_tell(helio_channels_t *self, channel_t *channel, uint32_t stream, helio_text_t data);
/*  From now on it ends. rc OK: nothing went wrong. */
void channel_end(channel_t *channel, helio_rc rc, int64_t now_ms, const char *format, ...) HELIO_PRINTF(4, 5);

#endif
