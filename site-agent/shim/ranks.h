/*  ranks.h -- the processes of one attempt: one for each node of the order, each the leader of its own session.
 *
 *  They are made in two steps, so that their record is durable before any of them executes an instruction of the job:
 *  prepare forks them, drops their rights and makes them wait; release lets them go.
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
    uint32_t signalled; /* of those: by a signal that they did not catch */
    int first_failure;  /* exit code of the first that ended with one other than 0 */
    int gate;           /* written to at release; closing it ends the waiting children without a run */
} helio_ranks_t;

enum { HELIO_RANKS_FILE = 3 };
#define HELIO_RANKS_FILE_PATH "/proc/self/fd/3"

/*  The inputs of prepare; all of it is borrowed for the call. */
typedef struct helio_ranks_start {
    const helio_plan_t *plan;  /* uid, gid, user, workdir, launcher, setuid_programs */
    char *const *const *argvs; /* one a rank */
    char *const *const *envs;  /* one a rank */
    const int *files;          /* one a rank, which it finds as HELIO_RANKS_FILE; -1 = none */
    uint32_t count;
    int output, errors; /* where standard output and error go */
    const char *cgroup; /* control group that they enter; NULL = none */
    bool is_srun;       /* the only rank is srun, which ends the tasks of other nodes itself when it is told to */
} helio_ranks_start_t;

/*  On failure nothing has run, but children can exist for a moment: reap them. */
HELIO_MUST_CHECK helio_rc helio_ranks_prepare(const helio_ranks_start_t *start, helio_ranks_t *ret_ranks,
                                              helio_error_t *err);
/*  How `run` is executed: itself if it has a #! line, else by bash. NULL-terminated, in the arena. */
char **helio_ranks_program(helio_arena_t *arena, const char *folder_path);
bool helio_ranks_program_is_own(const char *folder_path); /* it has one */
HELIO_MUST_CHECK helio_rc helio_ranks_release(helio_ranks_t *self, helio_error_t *err);
/*  Records the end of a leader; other processes are ignored. status as of wait (2). */
void helio_ranks_reaped(helio_ranks_t *self, pid_t pid, int status);

#endif
