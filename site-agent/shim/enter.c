/*  enter.c -- the command of a channel, and the process that watches over it. */
#include "site-agent/shim/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/file.h"
#include "site-agent/shim/kept_environment.h"
#include "site-agent/shim/rights.h"

enum {
    TERM_AFTER_MS = 2000, /* of a HUP */
    KILL_AFTER_MS = 3000, /* of a TERM */
    KILL_AGAIN_MS = 20,   /* a killed process may have forked meanwhile */
    NO_SUCH_PROGRAM = 127,
    NOT_EXECUTABLE = 126
};

typedef struct watch {
    const helio_enter_call_t *call;
    helio_inside_t inside;
    helio_environment_t env;
    char **argv;
    int signals;
    pid_t command;
    int exit_code;
    bool ended, childless;
    int64_t term_ms, kill_ms; /* when everything gets that; INT64_MAX = not */
} watch_t;

/* ---- in the child -------------------------------------------------------------------------------------- */

static const char *settle(const watch_t *watch, pid_t parent)
{
    const helio_inside_t *inside = &watch->inside;
    if (setpgid(0, 0))
        return "setpgid";
    if (watch->call->term)
        (void)tcsetpgrp(0, getpid()); /* TTOU is blocked */
    (void)umask(022);
    const char *step = helio_rights_limit(&inside->plan, inside->cgroup[0] ? inside->cgroup : NULL);
    if (!step)
        step = helio_rights_drop(&inside->plan, inside->user);
    if (!step)
        step = helio_rights_bind(&inside->plan, parent);
    if (step)
        return step;
    helio_rights_signals();
    return chdir(inside->workdir) ? "entering the working directory" : NULL;
}

static _Noreturn void child(const watch_t *watch, pid_t parent)
{
    const char *step = settle(watch, parent);
    if (step) {
        (void)dprintf(2, "helio: %s: %s\n", step, strerror(errno));
        _exit(HELIO_INSIDE_REFUSED);
    }
    (void)close_range(3, ~0U, 0);
    environ = watch->env.items;
    (void)execvp(watch->argv[0], watch->argv);
    int code = errno == ENOENT ? NO_SUCH_PROGRAM : NOT_EXECUTABLE;
    (void)dprintf(2, "helio: %s: %s\n", watch->argv[0], strerror(errno));
    _exit(code);
}

/* ---- what it runs -------------------------------------------------------------------------------------- */

/*  An account that nobody can log in to has no shell; its jobs run bash all the same. */
static const char *shell_of(uid_t uid)
{
    static const char usual[] = "/bin/bash";
    const struct passwd *account = getpwuid(uid);
    const char *shell = account && account->pw_shell && account->pw_shell[0] == '/' ? account->pw_shell : usual;
    const char *name = strrchr(shell, '/') + 1;
    return strcmp(name, "nologin") == 0 || strcmp(name, "false") == 0 || access(shell, X_OK) ? usual : shell;
}

static char *copy(helio_arena_t *arena, const char *text)
{
    char *own = helio_arena_alloc(arena, strlen(text) + 1, 1);
    memcpy(own, text, strlen(text) + 1);
    return own;
}

static helio_rc equip(watch_t *watch, helio_error_t *err)
{
    const helio_plan_t *plan = &watch->inside.plan;
    if (plan->image.size)
        return helio_fail(err, HELIO_INVALID, "%s", HELIO_INSIDE_CONTAINED);
    helio_rc rc = helio_kept_environment_read(watch->inside.shim.pid, &watch->env, err);
    if (rc)
        return rc;
    if (plan->launcher == HELIO_LAUNCHER_LOCAL)
        helio_environment_set_rank(&watch->env, watch->inside.node, plan->ranks[watch->inside.node]);
    if (watch->call->term && *watch->call->term)
        helio_environment_add(&watch->env, "TERM", helio_text_of(watch->call->term));
    watch->argv = watch->call->argv;
    if (watch->argv[0])
        return HELIO_OK;
    watch->argv = helio_arena_alloc(watch->env.arena, 2, sizeof *watch->argv);
    watch->argv[0] = copy(watch->env.arena, shell_of(plan->uid));
    return HELIO_OK;
}

/*  Programs open their terminal and their standard streams by name, too. */
static void hand_over_streams(const watch_t *watch)
{
    for (int fd = 0; fd < 3 && watch->inside.plan.launcher == HELIO_LAUNCHER_LOCAL && geteuid() == 0; fd++) {
        struct stat status;
        if (fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || (watch->call->term && isatty(fd))))
            (void)!fchown(fd, watch->inside.plan.uid, (gid_t)-1);
    }
}

static helio_rc start(watch_t *watch, helio_error_t *err)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    watch->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        return helio_fail(err, HELIO_IO, "cannot watch over the command: %s", strerror(errno));
    hand_over_streams(watch);
    if (watch->inside.plan.launcher != HELIO_LAUNCHER_LOCAL)
        (void)dprintf(2, HELIO_INSIDE_CONNECTED);
    pid_t self = getpid();
    watch->command = fork();
    if (watch->command == 0)
        child(watch, self);
    return watch->command < 0 ? helio_fail(err, HELIO_IO, "fork: %s", strerror(errno)) : HELIO_OK;
}

/* ---- the watch ----------------------------------------------------------------------------------------- */

static void end_at(int64_t *at_ms, int64_t ms)
{
    if (ms < *at_ms)
        *at_ms = ms;
}

static void reap(watch_t *watch)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(status) && pid == watch->command) { /* nobody could continue it */
            (void)kill(-pid, SIGCONT);
            continue;
        }
        if (pid != watch->command || watch->ended)
            continue;
        watch->ended = true;
        watch->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        watch->kill_ms = 0;
    }
    watch->childless = pid < 0 && errno == ECHILD;
}

static void take_signals(watch_t *watch, int64_t now_ms)
{
    struct signalfd_siginfo info;
    while (read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (number == SIGHUP) {
            (void)helio_process_signal_tree(getpid(), SIGHUP, false);
            end_at(&watch->term_ms, now_ms + TERM_AFTER_MS);
        } else if (number == SIGTERM || number == SIGINT || number == SIGQUIT) {
            end_at(&watch->term_ms, now_ms);
        }
    }
}

static void follow_clock(watch_t *watch, int64_t now_ms)
{
    if (now_ms >= watch->term_ms) {
        watch->term_ms = INT64_MAX;
        (void)helio_process_signal_tree(getpid(), SIGTERM, false);
        (void)helio_process_signal_tree(getpid(), SIGCONT, false);
        end_at(&watch->kill_ms, now_ms + KILL_AFTER_MS);
    }
    if (now_ms >= watch->kill_ms)
        (void)helio_process_signal_tree(getpid(), SIGKILL, false);
}

static int wait_ms(const watch_t *watch, int64_t now_ms)
{
    int64_t next = watch->term_ms < watch->kill_ms ? watch->term_ms : watch->kill_ms;
    if (now_ms >= watch->kill_ms)
        return KILL_AGAIN_MS;
    return next == INT64_MAX ? -1 : (int)(next - now_ms);
}

static int follow(watch_t *watch)
{
    bool over = false;
    for (;;) {
        int64_t now_ms = helio_clock_boot_ms();
        take_signals(watch, now_ms);
        reap(watch);
        if (watch->childless)
            return watch->exit_code;
        follow_clock(watch, now_ms);
        struct pollfd fds[] = {{.fd = watch->signals, .events = POLLIN},
                               {.fd = over ? -1 : watch->inside.over, .events = POLLIN}};
        (void)poll(fds, 2, wait_ms(watch, now_ms));
        if (over || !fds[1].revents)
            continue;
        over = true; /* nothing of an attempt outlives it */
#ifndef HELIO_MUTANT_channel_outlives_attempt
        watch->kill_ms = 0;
#endif
    }
}

static int refuse(const helio_error_t *err)
{
    (void)dprintf(2, "helio: %s\n", err->text);
    return HELIO_INSIDE_REFUSED;
}

int helio_enter_command(const helio_enter_call_t *call)
{
    watch_t watch = {
        .call = call, .signals = -1, .env = {.arena = helio_arena_new()}, .term_ms = INT64_MAX, .kill_ms = INT64_MAX};
    helio_error_t err = {0};
    helio_rc rc = helio_inside_find(call->folder, call->node, &watch.inside, &err);
    if (!rc)
        rc = equip(&watch, &err);
    if (!rc)
        rc = start(&watch, &err);
    int code = rc ? refuse(&err) : follow(&watch);
    helio_close(&watch.signals);
    helio_inside_clear(&watch.inside);
    helio_arena_destroy(&watch.env.arena);
    return code;
}
