/*  process.h -- which process is which, and ending what is left of an attempt.
 *
 *  A process number alone names nobody for long: with the start time (clock ticks since boot) and the boot's
 * id it does.
 */
#ifndef HELIO_SHIM_PROCESS_H
#define HELIO_SHIM_PROCESS_H

#include <sys/types.h>

#include "federation/base/memory.h"

enum { HELIO_BOOT_ID_SIZE = 37 };

typedef struct helio_process {
    pid_t pid;
    uint64_t start_ticks; /* field 22 of /proc/<pid>/stat */
} helio_process_t;

/*  One entry of /proc. */
typedef struct helio_process_info {
    helio_process_t process;
    pid_t parent;
    pid_t session;
    char state; /* 'Z': dead, not yet reaped */
} helio_process_info_t;

HELIO_MUST_CHECK helio_rc helio_process_inspect(pid_t pid, helio_process_info_t *ret_info); /* NOT_FOUND */
/*  The same process still exists and is no zombie. */
bool helio_process_alive(helio_process_t process);
/*  This boot of this machine. */
void helio_process_boot_id(char ret_id[HELIO_BOOT_ID_SIZE]);

/*  Every process of /proc that `fn` wants; returns how many it said yes to. Bounded by what exists. */
typedef bool helio_process_fn(void *arg, const helio_process_info_t *info);
size_t helio_process_each(helio_process_fn *fn, void *arg);

/*  Sends `signal` to every process below `root` (its children, theirs, …); with `only_catchers`, to those
 * alone that have a handler for it or wait for it otherwise (it is blocked: sigwait, signalfd; srun does so).
 * Returns how many were sent one. root must be this process or its child, lest numbers be reused. */
size_t helio_process_signal_tree(pid_t root, int signal, bool only_catchers);
/*  As signal_tree, of the programs called `name` (at most 15 characters) alone, or of all others. */
size_t helio_process_signal_called(pid_t root, int signal, const char *name);
size_t helio_process_signal_others(pid_t root, int signal, const char *name);

/*  Kills what is left of an attempt whose shim is gone: members of the sessions of `leaders` (checked by
 * start time while the leader exists, else by `uid`), and whatever carries `mark` ("NAME=value") in its
 * environment. Returns how many were found alive: call again until it is 0. */
size_t helio_process_kill_left(const helio_process_t *leaders, size_t count, uid_t uid, const char *mark);

#endif
