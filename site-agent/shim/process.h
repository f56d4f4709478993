/*  process.h -- identifies processes, and ends what is left of an attempt.
 *
 *  A process number identifies a process only for a while; together with the start time (clock ticks since boot) and
 *  the boot's id it is unique.
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
/*  The same process still exists and is not a zombie. */
bool helio_process_alive(helio_process_t process);
/*  Whether it is a program of that name (at most 15 characters) of which every thread sleeps: it is in the middle of
 *  nothing. False also if /proc does not show its threads. */
bool helio_process_is_at_rest(pid_t pid, const char *name);
/*  It was sent `signal` as a process, and has not taken it yet. */
bool helio_process_has_pending(helio_process_t process, int signal);
/*  The id of this boot of this machine. */
void helio_process_boot_id(char ret_id[HELIO_BOOT_ID_SIZE]);

/*  An argument of the process's command line, or what follows `prefix` ("NAME=") in its environment. False: it has
 *  none, or more than fits. Its owner wrote both, and can have written anything. */
bool helio_process_argument(pid_t pid, uint32_t index, char *ret_text, size_t capacity);
bool helio_process_entry(pid_t pid, const char *prefix, char *ret_text, size_t capacity);
/*  Its real user; in a user namespace, as containers have, the one who made the outermost of them. -1 = it is gone. */
int64_t helio_process_owner(pid_t pid);

/*  Calls fn for every process of /proc; returns for how many it returned true. Bounded by the number of processes. */
typedef bool helio_process_fn(void *arg, const helio_process_info_t *info);
size_t helio_process_each(helio_process_fn *fn, void *arg);

/*  Calls fn for every process below `root` (its children, theirs, …) that is not a zombie. */
typedef void helio_process_below_fn(void *arg, pid_t pid);
void helio_process_below(pid_t root, helio_process_below_fn *fn, void *arg);

/*  Sends `signal` to every process below `root` (its children, theirs, …); with `only_catchers`, only to those that
 *  have a handler for it or wait for it otherwise (it is blocked: sigwait, signalfd; srun does so). Returns how many
 *  got one. root must be this process or its child, since numbers are reused. */
size_t helio_process_signal_tree(pid_t root, int signal, bool only_catchers);
/*  As signal_tree, but only to processes in a PID namespace of their own, as the programs in a container are. */
size_t helio_process_signal_contained(pid_t root, int signal, bool only_catchers);
/*  As signal_tree, but only to programs with the name `name` (at most 15 characters), or only to all others. */
size_t helio_process_signal_called(pid_t root, int signal, const char *name);
size_t helio_process_signal_others(pid_t root, int signal, const char *name);

typedef struct helio_account {
    uid_t uid;
    gid_t gid;
} helio_account_t;

/*  Kills what is left of an attempt whose shim is gone: members of the sessions of `leaders` (identified by start time
 *  while the leader exists, else by its user), and every process of the account that has
 *  `mark` ("NAME=value") in its environment.
 *  Returns how many were found alive: call again until it is 0. */
size_t helio_process_kill_left(const helio_process_t *leaders, size_t count, helio_account_t account, const char *mark);

#endif
