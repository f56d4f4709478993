/*  channels.h -- the channels of a site: bytes in both directions between the broker and processes inside attempts.
 *
 *  One table of open channels, each with one process: it has a terminal of its own, or three pipes. Nothing blocks and
 *  nothing is kept: at most a window of input waits for its process, and output is read only as far as the broker's
 *  side takes it (HELIO_CHANNEL_WINDOW). A turn carries a bounded number of bytes, and channels take turns. So neither a
 *  flood of output nor a broker that sends too much delays the agent's other work.
 *
 *  A channel ends with its process, by a close, by its time limit, when nothing was carried for too long, with its attempt,
 *  or with the session. Its process gets HUP then, TERM after 2 s, and KILL after 8 s; the shim that it is ends what it
 *  started by itself before that (site-agent/shim/enter.h). The channel counts until its process is gone.
 *
 *  Driven as a backend: fd, next_ms, process. One thread; callbacks come from every call but the first three below.
 */
#ifndef HELIO_CHANNELS_CHANNELS_H
#define HELIO_CHANNELS_CHANNELS_H

#include "federation/wire/messages.h"
#include "site-agent/backends/backend.h"

typedef struct helio_channels helio_channels_t;

typedef struct helio_channels_note {
    bool opened; /* else it ended, or was refused */
    const helio_msg_channel_open_t *open;
    const char *program, *user; /* argv[0] and the Unix user; arguments can hold secrets */
    helio_rc rc;
    uint32_t exit_code;
    const char *text;
    int64_t ran_ms;
    uint64_t in, out; /* bytes */
} helio_channels_note_t;

typedef struct helio_channels_options {
    uint32_t kinds;             /* bits: 1 << helio_channel_kind_t */
    uint32_t most;              /* open at once */
    uint64_t limit_ms, idle_ms; /* of every channel; the broker's, if they are less */
    void *arg;
    /*  As in helio_backend_class_t, and NOT_FOUND if the agent does not hold the attempt as running. */
    helio_rc (*enter)(void *arg, const helio_entry_t *entry, helio_arena_t *arena, helio_entry_command_t *ret_command,
                      helio_error_t *err);
    /*  To the broker. Not OK: it could not be sent, and the channel ends. */
    helio_rc (*on_output)(void *arg, const helio_msg_channel_output_t *message);
    void (*on_end)(void *arg, const helio_msg_channel_end_t *message);
    void (*on_note)(void *arg, const helio_channels_note_t *note); /* for the log; can be NULL */
} helio_channels_options_t;

HELIO_MUST_CHECK helio_rc helio_channels_new(const helio_channels_options_t *options, helio_channels_t **ret_channels,
                                             helio_error_t *err);
/*  Ends what is open, without waiting for it. */
void helio_channels_destroy(helio_channels_t **self_p);
uint32_t helio_channels_count(const helio_channels_t *self); /* open, or ending */

/*  ---- messages of the broker; nothing in them is trusted ---- */
void helio_channels_open(helio_channels_t *self, const helio_msg_channel_open_t *message);
void helio_channels_input(helio_channels_t *self, const helio_msg_channel_input_t *message);
void helio_channels_close(helio_channels_t *self, uint64_t channel);

/*  The attempt is over: its channels end. */
void helio_channels_attempt_over(helio_channels_t *self, helio_job_key_t key, uint32_t epoch);
/*  The session is over: all end, and nobody is told. */
void helio_channels_session_over(helio_channels_t *self);

int helio_channels_fd(const helio_channels_t *self);
int64_t helio_channels_next_ms(const helio_channels_t *self); /* CLOCK_BOOTTIME; 0: now; INT64_MAX: never */
void helio_channels_process(helio_channels_t *self, int64_t now_boot_ms);

#endif
