/*  command.h -- programs of the host that a backend calls (sbatch, squeue, …): argv, never a shell; an environment made
 *  from nothing; bounded output; a deadline; no call blocks.
 *
 *  One helio_commands_t is an epoll instance with its children. Commands are queued and at most `at_once` run at a
 *  time; each ends with exactly one call of its `done`, from helio_commands_process alone. A child that outlives its
 *  deadline gets TERM, then KILL, and ends as timed_out. Each child is a process group of its own, killed as such, with
 *  stdin from /dev/null (or from a text). Thread: one owner.
 */
#ifndef HELIO_BACKENDS_COMMAND_H
#define HELIO_BACKENDS_COMMAND_H

#include <sys/types.h>

#include "federation/base/memory.h"

enum { HELIO_COMMAND_ARGS_MAX = 128 };

typedef struct helio_commands helio_commands_t;

typedef struct helio_command_result {
    bool spawned; /* false: could not be run; `complaint` says why */
    bool timed_out;
    bool truncated;         /* it printed more than max_bytes: the output is incomplete */
    int exit_code;          /* 0..255, 128+n for signal n */
    helio_text_t out;       /* standard output; lives for the call only */
    helio_text_t complaint; /* the first 4 KiB of standard error, or why it could not be run */
    int64_t took_ms;
} helio_command_result_t;

typedef void helio_command_done_fn(void *arg, const helio_command_result_t *result);

/*  The user that a command runs as. name NULL: the caller. Another user needs root; its groups are looked up. */
typedef struct helio_command_user {
    const char *name;
    uid_t uid;
    gid_t gid;
} helio_command_user_t;

typedef struct helio_command {
    const char *const *argv; /* NULL-terminated; argv[0] is absolute or looked up in `path` of the commands. Copied */
    const char *const *env;  /* further "NAME=value" entries; NULL = none. Copied */
    helio_text_t input;      /* standard input; copied; "" = /dev/null */
    uint64_t timeout_ms;
    uint64_t left_ms;        /* what it leaves behind in its process group is killed so long after its end; 0 = never */
    size_t max_bytes;        /* of standard output */
    helio_command_user_t as; /* copied */
    helio_command_done_fn *done;
    void *arg;
} helio_command_t;

typedef struct helio_commands_options {
    const char *path;       /* PATH of the children; argv[0] without '/' is looked up in it. Copied */
    const char *const *env; /* "NAME=value" entries of every child; NULL-terminated. Copied */
    uint32_t at_once;       /* children at a time */
    uint32_t queue_max;     /* waiting commands; more are refused */
} helio_commands_options_t;

HELIO_MUST_CHECK helio_rc helio_commands_new(const helio_commands_options_t *options, helio_commands_t **ret_commands,
                                             helio_error_t *err);
/*  Kills what still runs; no `done` is called any more. */
void helio_commands_destroy(helio_commands_t **self_p);

/*  BUSY: the queue is full. urgent: before the commands that wait (a stop before submissions). */
HELIO_MUST_CHECK helio_rc helio_commands_run(helio_commands_t *self, const helio_command_t *command, bool urgent,
                                             helio_error_t *err);
/*  Calls no `done` with this arg any more; running commands continue and their results are dropped. */
void helio_commands_drop(helio_commands_t *self, const void *arg);
/*  Commands that left processes behind, which were then killed. */
uint64_t helio_commands_left_behind(const helio_commands_t *self);
uint32_t helio_commands_busy(const helio_commands_t *self); /* running and waiting */

int helio_commands_fd(const helio_commands_t *self);          /* readable when process has work to do */
int64_t helio_commands_next_ms(const helio_commands_t *self); /* CLOCK_BOOTTIME; INT64_MAX: never */
void helio_commands_process(helio_commands_t *self, int64_t now_boot_ms);

/*  For checks: runs one command and waits for its end. *ret_out is appended to. */
HELIO_MUST_CHECK helio_rc helio_command_wait(const helio_commands_options_t *options, const helio_command_t *command,
                                             int *ret_exit_code, helio_buffer_t *out, helio_buffer_t *complaint,
                                             helio_error_t *err);

#endif
