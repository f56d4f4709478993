/*  command.h -- a program that is run for one delivery: the body on its standard input, what it is about in its
 *  environment, no shell. */
#ifndef HELIO_CLIENT_NOTIFY_COMMAND_H
#define HELIO_CLIENT_NOTIFY_COMMAND_H

#include <sys/types.h>

#include "federation/base/memory.h"

typedef struct helio_notify_child {
    pid_t pid;
    int pidfd; /* readable when it has ended; -1 = none */
    int64_t end_ms;
} helio_notify_child_t;

/*  HELIO_IO: err says why it cannot be run. */
HELIO_MUST_CHECK helio_rc helio_notify_child_start(const char *const *argv, char *const *environment, const char *id,
                                                   helio_text_t message, helio_text_t body, int64_t end_ms,
                                                   helio_notify_child_t *ret_child, helio_error_t *err);
/*  If so, *ret_status is its exit code, or 128 and the signal, and the child is no more. */
HELIO_MUST_CHECK bool helio_notify_child_ended(helio_notify_child_t *self, int *ret_status);
/*  With all that it has started in its process group. */
void helio_notify_child_kill(helio_notify_child_t *self);

#endif
