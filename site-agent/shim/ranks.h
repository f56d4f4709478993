/*  ranks.h -- the processes of one attempt: one a node of the order, each the leader of its own session.
 *
 *  They are made in two steps, so that what is recorded of them is durable before any of them executes an
 * instruction of the job: prepare forks them, drops their rights and stops them at a gate; release opens it.
 */
#ifndef HELIO_SHIM_RANKS_H
#define HELIO_SHIM_RANKS_H

#include "site-agent/shim/plan.h"

typedef struct helio_rank {
    helio_process_t leader;
    bool ended;
    int exit_code; /* 0..255, 128+n for signal n */
} helio_rank_t;

typedef struct helio_ranks {
    helio_rank_t items[HELIO_PLAN_RANKS_MAX];
    uint32_t count;
    uint32_t ended;
    int first_failure; /* exit code of the first to end with one that is not 0 */
    int gate;          /* written to at release; closing it lets the waiting ones go without having run */
} helio_ranks_t;

/*  What the ranks are to be; all of it borrowed for the call. */
typedef struct helio_ranks_start {
    const helio_plan_t *plan; /* uid, gid, user, workdir, launcher */
    char *const *argv;
    char *const *const *envs; /* one a rank */
    uint32_t count;
    int output, errors; /* where standard output and error go */
} helio_ranks_start_t;

/*  On failure nothing has run, but children may exist for a moment: reap them. */
HELIO_MUST_CHECK helio_rc helio_ranks_prepare(const helio_ranks_start_t *start, helio_ranks_t *ret_ranks,
                                              helio_error_t *err);
/*  How `run` is executed: by itself when it has a #! line, else by bash. NULL-terminated, in the arena. */
char **helio_ranks_program(helio_arena_t *arena, const char *folder_path);
HELIO_MUST_CHECK helio_rc helio_ranks_release(helio_ranks_t *self, helio_error_t *err);
/*  Notes the end of a leader; other processes are none of ours. status as of wait (2). */
void helio_ranks_reaped(helio_ranks_t *self, pid_t pid, int status);

#endif
