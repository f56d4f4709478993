/*  command_inner.h -- one child, between the queue (command.c) and its start (command_spawn.c). */
#ifndef HELIO_BACKENDS_COMMAND_INNER_H
#define HELIO_BACKENDS_COMMAND_INNER_H

#include "site-agent/backends/command.h"

typedef struct helio_child {
    struct helio_child *next;
    char **argv, **env; /* one block each with their texts behind them */
    char *input;
    size_t input_size;
    uint64_t timeout_ms;
    size_t max_bytes;
    helio_command_done_fn *done;
    void *arg;
    helio_command_user_t as;
    char *user;
    bool urgent;

    pid_t pid;
    int pidfd, out, err, trouble; /* -1 = closed */
    helio_buffer_t output, complaint;
    bool truncated, timed_out, killed;
    int64_t began_ms, due_ms;
} helio_child_t;

/*  Starts it: its pid and descriptors are set, which the caller closes also on failure. path: where its
 * program is looked for. */
HELIO_MUST_CHECK helio_rc helio_child_spawn(helio_child_t *child, const char *path, helio_error_t *err);

#endif
