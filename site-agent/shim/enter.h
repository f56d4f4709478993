/*  enter.h -- a command or a connection inside an attempt that runs: the process of a channel.
 *
 *  The process becomes what the attempt's own are: their user and groups, control group, limits, working directory and
 *  environment, and no right more. The caller gives it standard input, output and error, and no other descriptor.
 *
 *  A command is the child of this process, which stays the agent's: a subreaper that ends what the command leaves behind,
 *  and everything at once when the attempt is over. HUP: HUP to all, TERM after 2 s, KILL after 5 s. TERM: TERM to all, KILL
 *  after 3 s. If standard input is this session's terminal, the command is in its foreground.
 */
#ifndef HELIO_SHIM_ENTER_H
#define HELIO_SHIM_ENTER_H

#include "site-agent/shim/inside.h"

typedef struct helio_enter_call {
    const char *folder; /* absolute path of the attempt's */
    uint32_t node;      /* of the attempt, from 0 */
    const char *term;   /* TERM of the terminal; NULL = there is none */
    char **argv;        /* NULL-terminated; empty: the user's shell */
} helio_enter_call_t;

/*  Returns the exit code: the command's, 128 + n for signal n, 125 if it was not started, 126 or 127 if its program could
 *  not be executed. */
int helio_enter_command(const helio_enter_call_t *call);

/*  A connection to a TCP port on which a process of the attempt listens, and nobody else at the same address: standard input goes there, its
 *  bytes to standard output, until the other side ends it. The end of the input is passed on. Says HELIO_INSIDE_CONNECTED on
 *  standard error. Returns 0, HELIO_INSIDE_NO_PORT or HELIO_INSIDE_REFUSED. */
int helio_enter_port(const char *folder, uint32_t node, uint16_t port);

#endif
