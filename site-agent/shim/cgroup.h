/*  cgroup.h -- the control group (version 2) of one attempt: what it may use, and its end as a whole.
 *
 *  No process of the attempt can leave its group, even with another session, user or environment, unless it is root.
 *  Groups are made below a *parent*, a group that was delegated to the agent's user. Calls take absolute paths, and
 *  hold nothing open.
 */
#ifndef HELIO_SHIM_CGROUP_H
#define HELIO_SHIM_CGROUP_H

#include "federation/base/memory.h"

/*  Which limits a parent lets its groups have. */
typedef struct helio_cgroup_powers {
    bool pids, memory;
} helio_cgroup_powers_t;

/*  The path of a group of the version 2 hierarchy: where this machine has that mounted, and `group` below it.
 *  NOT_FOUND: it is mounted nowhere. TOO_BIG. */
HELIO_MUST_CHECK helio_rc helio_cgroup_path(const char *group, char *ret_path, size_t capacity, helio_error_t *err);

/*  Reads what a parent offers, and changes nothing. NOT_FOUND: there is no such group; FORBIDDEN: it is another
 *  user's. */
HELIO_MUST_CHECK helio_rc helio_cgroup_look(const char *parent, helio_cgroup_powers_t *ret_powers, helio_error_t *err);
/*  Moves the processes that are in the parent itself into its group `keeper`, since a group has either processes or
 *  limits for its children, and passes on what it offers. Failures as in look. */
HELIO_MUST_CHECK helio_rc helio_cgroup_delegate(const char *parent, helio_cgroup_powers_t *ret_powers,
                                                helio_error_t *err);

typedef struct helio_cgroup_limits {
    uint64_t processes;    /* threads count as processes; 0 = none */
    uint64_t memory_bytes; /* when it is used up, the kernel ends the whole group; 0 = none */
} helio_cgroup_limits_t;

/*  Makes a group, or takes an empty one of that name. Limits that the parent has no power over are left out. */
HELIO_MUST_CHECK helio_rc helio_cgroup_make(const char *path, const helio_cgroup_limits_t *limits,
                                            helio_cgroup_powers_t powers, helio_error_t *err);
/*  Moves the calling process into it. */
HELIO_MUST_CHECK helio_rc helio_cgroup_enter(const char *path);
/*  Kills all that is in it. True: nothing is, or there is no such group. Otherwise call it again. */
bool helio_cgroup_kill(const char *path);
/*  How many of its processes the kernel has ended for want of memory. */
uint64_t helio_cgroup_oom_kills(const char *path);
/*  Removes an empty group. */
void helio_cgroup_remove(const char *path);

#endif
