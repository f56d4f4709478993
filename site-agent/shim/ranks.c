/*  ranks.c -- forks the ranks, holds them until their release, and reaps them. */
#include "site-agent/shim/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "site-agent/shim/rights.h"

/*  What a child reports before its release: success, or which step failed. */
typedef struct word {
    int error;
    char step[60];
} word_t;

typedef struct launch {
    const helio_ranks_start_t *start;
    const char *user;
    const char *workdir;
    pid_t shim;
    char *const *argv;
    char *const *env;
    int file;
    int gate[2];  /* children wait for one byte each */
    int words[2]; /* children report how far they came */
} launch_t;

/* ---- in the child -------------------------------------------------------------------------------------- */

static const char *settle(const launch_t *launch)
{
    if (setsid() < 0)
        return "setsid";
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(launch->start->output, 1) < 0 || dup2(launch->start->errors, 2) < 0)
        return "redirection";
    (void)umask(022);
    const helio_plan_t *plan = launch->start->plan;
    const char *step = helio_rights_limit(plan, launch->start->cgroup);
    if (!step)
        step = helio_rights_drop(plan, launch->user);
    if (!step)
        step = helio_rights_bind(plan, launch->start->is_srun ? 0 : launch->shim);
    if (step)
        return step;
    helio_rights_signals();
    return chdir(launch->workdir) ? "entering the working directory" : NULL;
}

static _Noreturn void child(const launch_t *launch)
{
    word_t word = {0};
    const char *step = settle(launch);
    if (step) {
        word.error = errno ? errno : EINVAL;
        (void)snprintf(word.step, sizeof word.step, "%s", step);
    }
    (void)close(launch->gate[1]);
    if (write(launch->words[1], &word, sizeof word) != (ssize_t)sizeof word || step)
        _exit(127);
    char go = 0;
    ssize_t got;
    do
        got = read(launch->gate[0], &go, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) /* the shim died or gave up: this attempt never ran */
        _exit(127);
    int copy =
        launch->file < 0 ? -1 : fcntl(launch->file, F_DUPFD, HELIO_RANKS_FILE + 1); /* not itself already there */
    bool file = copy >= 0 && dup2(copy, HELIO_RANKS_FILE) >= 0;
    (void)close_range(HELIO_RANKS_FILE + file, ~0U, 0);
    (void)execve(launch->argv[0], launch->argv, launch->env);
    int code = errno == ENOENT ? 127 : 126;
    (void)dprintf(2, "helio: cannot execute the job's program: %s\n", strerror(errno));
    _exit(code);
}

/* ---- in the shim --------------------------------------------------------------------------------------- */

/*  A text with a #! line is executed itself; any other is a script of bash. */
bool helio_ranks_program_is_own(const char *folder_path)
{
    char path[4096], first[2] = {0};
    (void)snprintf(path, sizeof path, "%.4000s/run", folder_path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool own = fd >= 0 && read(fd, first, 2) == 2 && first[0] == '#' && first[1] == '!';
    if (fd >= 0)
        (void)close(fd);
    return own;
}

char **helio_ranks_program(helio_arena_t *arena, const char *folder_path)
{
    char **argv = helio_arena_alloc(arena, 3, sizeof *argv);
    helio_text_t path = helio_arena_printf(arena, "%s/run", folder_path);
    char *run = helio_arena_alloc(arena, path.size + 1, 1);
    memcpy(run, path.data, path.size);
    bool own = helio_ranks_program_is_own(folder_path);
    char *bash = helio_arena_alloc(arena, 16, 1);
    (void)snprintf(bash, 16, "/bin/bash");
    argv[0] = own ? run : bash;
    argv[1] = own ? NULL : run;
    return argv;
}

static helio_rc fork_rank(launch_t *launch, helio_rank_t *ret_rank, helio_error_t *err)
{
    pid_t pid = fork();
    if (pid < 0)
        return helio_fail(err, HELIO_IO, "fork: %s", strerror(errno));
    if (pid == 0)
        child(launch);
    helio_process_info_t info;
    if (helio_process_inspect(pid, &info)) /* its own child: it exists until it is reaped */
        return helio_fail(err, HELIO_IO, "/proc does not show a new process");
    *ret_rank = (helio_rank_t){.leader = info.process};
    return HELIO_OK;
}

static helio_rc hear_all(int words, uint32_t count, helio_error_t *err)
{
    for (uint32_t i = 0; i < count; i++) {
        word_t word;
        ssize_t got;
        do
            got = read(words, &word, sizeof word); /* small writes to a pipe are atomic */
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof word)
            return helio_fail(err, HELIO_IO, "a rank died before it was ready");
        if (word.error)
            return helio_fail(err, HELIO_IO, "%.59s: %s", word.step, strerror(word.error));
    }
    return HELIO_OK;
}

static helio_rc fork_all(launch_t *launch, helio_ranks_t *ranks, helio_error_t *err)
{
    for (; ranks->count < launch->start->count; ranks->count++) {
        launch->argv = launch->start->argvs[ranks->count];
        launch->env = launch->start->envs[ranks->count];
        launch->file = launch->start->files[ranks->count];
        helio_rc rc = fork_rank(launch, &ranks->items[ranks->count], err);
        if (rc)
            return rc;
    }
    (void)close(launch->words[1]); /* so that the death of a child ends the file instead of leaving it silent */
    launch->words[1] = -1;
    return hear_all(launch->words[0], ranks->count, err);
}

helio_rc helio_ranks_prepare(const helio_ranks_start_t *start, helio_ranks_t *ret_ranks, helio_error_t *err)
{
    helio_arena_t *arena = helio_arena_new();
    launch_t launch = {.start = start,
                       .shim = getpid(),
                       .user = helio_arena_string(arena, start->plan->user),
                       .workdir = helio_arena_string(arena, start->plan->workdir)};
    helio_rc rc = HELIO_OK;
    if (pipe2(launch.gate, O_CLOEXEC))
        rc = helio_fail(err, HELIO_IO, "pipe: %s", strerror(errno));
    else if (pipe2(launch.words, O_CLOEXEC)) {
        rc = helio_fail(err, HELIO_IO, "pipe: %s", strerror(errno));
        (void)close(launch.gate[0]);
        (void)close(launch.gate[1]);
    } else {
        helio_ranks_t ranks = {.gate = launch.gate[1]};
        rc = fork_all(&launch, &ranks, err);
        (void)close(launch.words[0]);
        if (launch.words[1] >= 0)
            (void)close(launch.words[1]);
        (void)close(launch.gate[0]);
        if (rc)
            (void)close(launch.gate[1]);
        else
            *ret_ranks = ranks;
    }
    helio_arena_destroy(&arena);
    return rc;
}

helio_rc helio_ranks_release(helio_ranks_t *self, helio_error_t *err)
{
    char go[HELIO_PLAN_RANKS_MAX];
    memset(go, 'g', sizeof go);
    ssize_t wrote = write(self->gate, go, self->count);
    (void)close(self->gate);
    self->gate = -1;
    if (wrote != (ssize_t)self->count)
        return helio_fail(err, HELIO_IO, "the ranks died before they could start");
    return HELIO_OK;
}

void helio_ranks_reaped(helio_ranks_t *self, pid_t pid, int status)
{
    for (uint32_t i = 0; i < self->count; i++) {
        helio_rank_t *rank = &self->items[i];
        if (rank->leader.pid != pid || rank->ended)
            continue;
        rank->ended = true;
        self->signalled += WIFSIGNALED(status);
        rank->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        self->ended++;
        if (rank->exit_code && !self->first_failure)
            self->first_failure = rank->exit_code;
        return;
    }
}
