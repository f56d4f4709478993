/*  session.h -- a command in a running job with this program's own streams: what `exec`, `shell` and `run --interactive`
 *  share. */
#ifndef HELIO_CLIENT_SESSION_H
#define HELIO_CLIENT_SESSION_H

#include "client/invocation/client.h"
#include "client/jobs/terminal.h"

typedef struct helio_session_ask {
    const char *job;
    const char *const *command; /* none: the login shell */
    uint32_t command_count;
    uint64_t node;
    bool has_node;
    bool terminal; /* the command gets a terminal */
    bool input;    /* standard input is passed on */
} helio_session_ask_t;

/*  Until the command has ended, or the user leaves. Returns the exit code: the command's own, or helio's. */
HELIO_MUST_CHECK int helio_session_run(helio_client_t *client, helio_terminal_t *terminal,
                                       const helio_session_ask_t *ask);

/*  What the user typed, without escapes: `~.` after the begin of a line leaves, `~~` is a tilde. */
typedef struct helio_escape {
    enum { HELIO_ESCAPE_LINE_BEGIN, HELIO_ESCAPE_TILDE, HELIO_ESCAPE_INSIDE } state;
} helio_escape_t;
/*  Writes what is to be sent into `out`, which has room for size + 1 bytes, and returns how much. *ret_leave: the user
 *  wants to leave; what comes after that is dropped. */
size_t helio_escape_take(helio_escape_t *self, const char *bytes, size_t size, char *out, bool *ret_leave);

#endif
