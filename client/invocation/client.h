/*  client.h -- everything that a command works with: the streams, environment and signals of the process, the
 *  command line, the settings and the broker. main.c passes the real ones, tests pass their own. One thread. */
#ifndef HELIO_CLIENT_CLIENT_H
#define HELIO_CLIENT_CLIENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/invocation/option.h"
#include "client/invocation/variables.h"
#include "client/output/humanise.h"
#include "client/output/output.h"
#include "federation/base/memory.h"

/*  name, code, meaning */
#define HELIO_EXIT_TABLE(X)                                                                         \
    X(OK, 0, "Success.")                                                                            \
    X(FAILURE, 1, "Failure; standard error says why.")                                              \
    X(USAGE, 2, "The command line, a settings file or a job file is invalid; nothing was sent.")    \
    X(NOT_FOUND, 3, "No such job, site or token.")                                                  \
    X(FORBIDDEN, 4, "Not allowed: no token, an invalid token, or a role that is not enough.")       \
    X(INFEASIBLE, 5, "No site can ever run the job, or none before its deadline.")                  \
    X(CONFLICT, 6, "Conflict, such as an idempotency key that was used for another job.")           \
    X(UNREACHABLE, 7, "The broker cannot be reached or is not ready.")                              \
    X(TIMEOUT, 8, "Timed out: --timeout or the limit of a request has passed, or the job is held.") \
    X(TIME_LIMIT, 124, "The job was ended at its time limit.")                                      \
    X(OWN, 125, "helio itself failed, or the job was lost and has no exit code of its own.")        \
    X(INTERRUPTED, 130, "Interrupted with Ctrl-C, or the job was cancelled.")                       \
    X(UNREAD, 141, "The reader of standard output stopped before its end, as `head` does.")

typedef enum helio_exit {
#define HELIO_EXIT_ENUMERATOR(name, code, meaning) HELIO_EXIT_##name = code,
    HELIO_EXIT_TABLE(HELIO_EXIT_ENUMERATOR)
#undef HELIO_EXIT_ENUMERATOR
} helio_exit_t;

typedef struct helio_client_io {
    FILE *in;
    FILE *out;
    FILE *err;
    bool in_tty, out_tty, err_tty;
    char *const *environment;                /* "NAME=value", ends with NULL */
    const char *directory;                   /* folder of ./.helio.yaml */
    const char *system_settings;             /* /etc/helio/client.yaml */
    const volatile sig_atomic_t *interrupts; /* number of Ctrl-C so far; NULL = none is ever counted */
    int interrupt_fd;                        /* non-blocking, becomes readable at each press; -1 = none */
    uint32_t patience_ms;                    /* the first wait between attempts; tests use a shorter one */
} helio_client_io_t;

typedef struct helio_settings helio_settings_t;
typedef struct helio_remote helio_remote_t;
typedef struct helio_command helio_command_t;
typedef struct helio_command_table helio_command_table_t;

/*  What the handler of a command works with; all of it is borrowed for the call. */
typedef struct helio_client {
    const helio_client_io_t *io;
    const helio_command_table_t *commands; /* the table of all commands, for help and completion */
    const helio_command_t *command;
    const helio_command_line_t *arguments; /* words without the command's own name */
    const helio_settings_t *settings;      /* NULL for commands that need none */
    helio_remote_t *remote;                /* NULL for commands that send no requests */
    helio_output_t output;
    helio_arena_t *arena;
} helio_client_t;

/*  ---- for handlers ---- */

/*  Prints "helio: text" and a newline on standard error; `text` may hold "\nhelp: …". Returns exit_code. Control
 *  characters never reach the terminal. */
int helio_client_fail(const helio_client_t *self, int exit_code, const char *format, ...) HELIO_PRINTF(3, 4);
/*  Prints a piece of a job's output: to a pipe or a file as it is, to a terminal so that it cannot control it. */
void helio_client_print_foreign(const helio_client_t *self, helio_safe_stream_t *stream, const char *bytes,
                                size_t size);
/*  A line of progress on standard error; nothing with --quiet. */
void helio_client_say(const helio_client_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
/*  Asks "question [y/N]" unless --yes is given. OK: yes; FAILURE: no; USAGE, after a message: standard input or
 *  error is not a terminal. */
HELIO_MUST_CHECK int helio_client_confirm(const helio_client_t *self, const char *question);

bool helio_client_has(const helio_client_t *self, uint32_t option);
const char *helio_client_value(const helio_client_t *self, uint32_t option); /* NULL = absent */
/*  The value of an option that takes a whole number or a duration; `fallback` if it is absent. False after a message
 *  if it is invalid (exit code USAGE). */
bool helio_client_number(const helio_client_t *self, uint32_t option, uint64_t fallback, uint64_t *ret_number);
/*  Whether a word is a duration such as 90s, 15m or 6h. */
bool helio_client_is_duration(const char *word, uint64_t *ret_ms);
bool helio_client_duration(const helio_client_t *self, uint32_t option, uint64_t fallback_ms, uint64_t *ret_ms);

/*  NULL when it is unset or empty. */
const char *helio_client_env(const helio_client_io_t *io, helio_variable_t variable);
int helio_client_interrupts(const helio_client_io_t *io);

/*  The exit code of a finished job: its own; 124 timeout, 130 cancelled, 125 lost. `exit_code` is the reported one,
 *  -1 = none. A failed job never gives 0. */
int helio_exit_of_job(const char *state, int exit_code);

#endif
