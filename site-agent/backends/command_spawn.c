/*  command_spawn.c -- from a queued command to a process. Between fork and exec only system calls are made. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/backends/command_internal.h"

enum { GROUPS_MAX = 256 };

/*  What the child needs between fork and exec. It is made before the fork, since only system calls are allowed
 *  there. */
typedef struct launch {
    const char *file;
    char *const *argv;
    char *const *env;
    int in, out, err, trouble;
    bool other_user;
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    size_t group_count;
} launch_t;

static helio_rc find_file(const char *path, const char *name, char ret_file[4096], helio_error_t *err)
{
    if (strchr(name, '/')) {
        (void)helio_text_copy(helio_text_of(name), ret_file, 4096);
        return access(name, X_OK) ? helio_fail(err, HELIO_NOT_FOUND, "cannot run '%s': %s", name, strerror(errno))
                                  : HELIO_OK;
    }
    for (const char *at = path; *at;) {
        size_t size = strcspn(at, ":");
        struct stat status;
        int length = snprintf(ret_file, 4096, "%.*s/%s", (int)size, at, name);
        if (size && length < 4096 && access(ret_file, X_OK) == 0 && stat(ret_file, &status) == 0 &&
            S_ISREG(status.st_mode))
            return HELIO_OK;
        at += size + (at[size] == ':');
    }
    return helio_fail(err, HELIO_NOT_FOUND, "'%s' is not in %s", name, path);
}

static helio_rc groups_of(const helio_child_t *child, launch_t *launch, helio_error_t *err)
{
    launch->other_user = child->user && child->as.uid != geteuid();
    if (!launch->other_user)
        return HELIO_OK;
    launch->uid = child->as.uid;
    launch->gid = child->as.gid;
    int count = GROUPS_MAX;
    if (getgrouplist(child->user, launch->gid, launch->groups, &count) < 0)
        return helio_fail(err, HELIO_TOO_BIG, "'%s' is in more than %d groups", child->user, (int)GROUPS_MAX);
    launch->group_count = (size_t)count;
    return HELIO_OK;
}

/*  Raw system calls: the C library's functions also change the other threads, which do not exist in the child. */
static int become(const launch_t *launch)
{
    if (!launch->other_user)
        return 0;
    if (syscall(SYS_setgroups, launch->group_count, launch->groups) ||
        syscall(SYS_setresgid, launch->gid, launch->gid, launch->gid) ||
        syscall(SYS_setresuid, launch->uid, launch->uid, launch->uid))
        return -1;
    return 0;
}

static _Noreturn void run_child(const launch_t *launch)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &usual, NULL);
    (void)umask(022);
    if (setpgid(0, 0) == 0 && dup2(launch->in, 0) == 0 && dup2(launch->out, 1) == 1 && dup2(launch->err, 2) == 2 &&
        chdir("/") == 0 && become(launch) == 0) {
        (void)syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve(launch->file, launch->argv, launch->env);
    }
    int why = errno;
    (void)!write(launch->trouble, &why, sizeof why);
    _exit(127);
}

static int open_input(const helio_child_t *child)
{
    if (!child->input_size)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    for (size_t at = 0; at < child->input_size;) {
        ssize_t size = write(fd, child->input + at, child->input_size - at);
        if (size <= 0) {
            (void)close(fd);
            return -1;
        }
        at += (size_t)size;
    }
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
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
    if (pid > 0)
        (void)setpgid(pid, pid); /* parent and child both call it: the first call counts */
    return pid;
}

helio_rc helio_child_spawn(helio_child_t *child, const char *path, helio_error_t *err)
{
    char file[4096];
    launch_t launch = {.file = file, .argv = child->argv, .env = child->env, .in = -1};
    helio_rc rc = find_file(path, child->argv[0], file, err);
    if (!rc)
        rc = groups_of(child, &launch, err);
    if (rc)
        return rc;
    int out[2] = {-1, -1}, complaint[2] = {-1, -1}, trouble[2] = {-1, -1};
    launch.in = open_input(child);
    if (launch.in >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(complaint, O_CLOEXEC) == 0 &&
        pipe2(trouble, O_CLOEXEC) == 0) {
        launch.out = out[1];
        launch.err = complaint[1];
        launch.trouble = trouble[1];
        child->pid = fork_child(&launch);
    } else {
        child->pid = -1;
    }
    if (child->pid < 0)
        rc = helio_fail(err, HELIO_IO, "cannot run '%s': %s", child->argv[0], strerror(errno));
    helio_close(&launch.in);
    helio_close(&out[1]);
    helio_close(&complaint[1]);
    helio_close(&trouble[1]);
    child->out = out[0];
    child->err = complaint[0];
    child->trouble = trouble[0];
    if (rc)
        return rc;
    int fds[] = {child->out, child->err, child->trouble};
    for (int i = 0; i < 3; i++)
        (void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
    child->pidfd = pidfd_open(child->pid, 0); /* not reaped yet, so the number is still its own */
    return HELIO_OK;
}
