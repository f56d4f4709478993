/*  spawn.c -- from a command to a process with a terminal or three pipes. Between fork and exec only system calls are
 *  made. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/channels/internal.h"

enum { GROUPS_MAX = 256, ROWS = 24, COLUMNS = 80 };

typedef struct launch {
    const helio_entry_command_t *command;
    int in, out, err, trouble;
    bool terminal, other_user;
    pid_t agent;
    gid_t groups[GROUPS_MAX];
    size_t group_count;
} launch_t;

/*  Raw system calls: the C library's functions also change the other threads, which do not exist in the child. */
static bool become(const launch_t *launch)
{
    const helio_command_user_t *as = &launch->command->as;
    return !launch->other_user || (syscall(SYS_setgroups, launch->group_count, launch->groups) == 0 &&
                                   syscall(SYS_setresgid, as->gid, as->gid, as->gid) == 0 &&
                                   syscall(SYS_setresuid, as->uid, as->uid, as->uid) == 0);
}

static _Noreturn void run_child(const launch_t *launch)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &usual, NULL);
    (void)umask(022);
    bool good = setsid() >= 0 && dup2(launch->in, 0) == 0 && dup2(launch->out, 1) == 1 && dup2(launch->err, 2) == 2 &&
                (!launch->terminal || ioctl(0, TIOCSCTTY, 0) == 0) && chdir("/") == 0 && become(launch) &&
                prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0;
    if (good && getppid() != launch->agent) { /* it has just died */
        errno = ESRCH;
        good = false;
    }
    if (good) {
        (void)syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve(launch->command->argv[0], (char *const *)(uintptr_t)launch->command->argv,
                     (char *const *)(uintptr_t)launch->command->env);
    }
    int why = errno;
    (void)!write(launch->trouble, &why, sizeof why);
    _exit(127);
}

/*  Blocks all signals while parent and child share one set of handlers. */
static pid_t fork_child(const launch_t *launch)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        run_child(launch);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* ---- streams ------------------------------------------------------------------------------------------- */

void channel_resize(const channel_t *channel, uint32_t rows, uint32_t columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    int terminal = channel->in >= 0 ? channel->in : channel->out[CHANNEL_OUT];
    if (channel->open.terminal && terminal >= 0)
        (void)ioctl(terminal, TIOCSWINSZ, &size);
}

static bool open_terminal(channel_t *channel, launch_t *launch)
{
    char name[64];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    channel->in = master;
    if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof name))
        return false;
    channel->out[CHANNEL_OUT] = fcntl(master, F_DUPFD_CLOEXEC, 3);
    launch->in = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    launch->out = launch->err = launch->in;
    uint32_t rows = channel->open.rows, columns = channel->open.columns;
    channel_resize(channel, rows ? rows : ROWS, columns ? columns : COLUMNS);
    return channel->out[CHANNEL_OUT] >= 0 && launch->in >= 0;
}

/*  [0] is the channel's end of it if it reads, [1] if it writes. */
static bool open_pipe(int *ret_own, int *ret_other, bool reads)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    *ret_own = ends[reads ? 0 : 1];
    *ret_other = ends[reads ? 1 : 0];
    return fcntl(*ret_own, F_SETFL, O_NONBLOCK) == 0;
}

static bool open_streams(channel_t *channel, launch_t *launch)
{
    if (channel->open.terminal)
        return open_terminal(channel, launch);
    return open_pipe(&channel->in, &launch->in, false) && open_pipe(&channel->out[CHANNEL_OUT], &launch->out, true) &&
           open_pipe(&channel->out[CHANNEL_ERR], &launch->err, true);
}

static helio_rc groups_of(const helio_entry_command_t *command, launch_t *launch, helio_error_t *err)
{
    int count = GROUPS_MAX;
    launch->other_user = command->as.name && command->as.uid != geteuid();
    if (launch->other_user && getgrouplist(command->as.name, command->as.gid, launch->groups, &count) < 0)
        return helio_fail(err, HELIO_TOO_BIG, "'%s' is in more than %d groups", command->as.name, (int)GROUPS_MAX);
    launch->group_count = launch->other_user ? (size_t)count : 0;
    return HELIO_OK;
}

/*  Waits until the program was executed, which takes no longer than the fork. */
static helio_rc start(channel_t *channel, launch_t *launch, helio_error_t *err)
{
    int trouble[2], why = 0;
    if (pipe2(trouble, O_CLOEXEC))
        return helio_fail(err, HELIO_IO, "pipe: %s", strerror(errno));
    launch->trouble = trouble[1];
    launch->agent = getpid();
    pid_t pid = fork_child(launch);
    int fork_error = errno;
    (void)close(trouble[1]);
    ssize_t got = -1;
    if (pid > 0)
        do
            got = read(trouble[0], &why, sizeof why);
        while (got < 0 && errno == EINTR);
    (void)close(trouble[0]);
    if (pid < 0)
        return helio_fail(err, HELIO_IO, "fork: %s", strerror(fork_error));
    channel->pidfd = got == 0 ? pidfd_open(pid, 0) : -1; /* not reaped yet, so the number is its own */
    channel->pid = pid;
    if (channel->pidfd >= 0)
        return HELIO_OK;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return helio_fail(err, HELIO_IO, "cannot run '%s': %s", launch->command->argv[0], strerror(why ? why : errno));
}

helio_rc channel_spawn(channel_t *channel, const helio_entry_command_t *command, helio_error_t *err)
{
    launch_t launch = {.command = command, .in = -1, .out = -1, .err = -1, .terminal = channel->open.terminal};
    helio_rc rc = groups_of(command, &launch, err);
    if (!rc && !open_streams(channel, &launch))
        rc = helio_fail(err, HELIO_IO, "cannot open a %s: %s", launch.terminal ? "terminal" : "pipe", strerror(errno));
    if (!rc)
        rc = start(channel, &launch, err);
    helio_close(&launch.in);
    if (!launch.terminal) {
        helio_close(&launch.out);
        helio_close(&launch.err);
    }
    return rc;
}
