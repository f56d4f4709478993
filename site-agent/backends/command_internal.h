/*  command_internal.h -- one child, shared by the queue (command.c) and its start (command_spawn.c). */
#ifndef HELIO_BACKENDS_COMMAND_INTERNAL_H
#define HELIO_BACKENDS_COMMAND_INTERNAL_H

#include "site-agent/backends/command.h"

typedef struct helio_child {
    struct helio_child *next;
    char **argv, **env; /* one block each; the texts follow the pointers */
    char *input;
    size_t input_size;
    uint64_t timeout_ms, left_ms;
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

/*  Starts it: sets its pid and descriptors, which the caller closes on failure too. path: where its program is looked
 *  up. */
HELIO_MUST_CHECK helio_rc helio_child_spawn(helio_child_t *child, const char *path, helio_error_t *err);

#endif
