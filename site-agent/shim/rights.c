/*  rights.c -- control group, user, life and signals of a process of the job. */
#include "site-agent/shim/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "site-agent/shim/cgroup.h"

const char *helio_rights_drop(const helio_plan_t *plan, const char *user)
{
    uid_t uid = plan->uid;
    gid_t gid = plan->gid;
    if (plan->launcher != HELIO_LAUNCHER_LOCAL) {
        if (getuid() == uid && geteuid() == uid)
            return NULL;
        errno = EPERM;
        return "the scheduler started it as another user";
    }
    if (geteuid() == 0) {
        if (initgroups(user, gid))
            return "initgroups";
        if (setresgid(gid, gid, gid))
            return "setresgid";
        if (setresuid(uid, uid, uid))
            return "setresuid";
    }
    if (getuid() != uid || geteuid() != uid || getgid() != gid || getegid() != gid) {
        errno = EPERM;
        return "change of user";
    }
    if (uid != 0 && setuid(0) == 0) {
        errno = EPERM;
        return "giving up root";
    }
    return NULL;
}

/*  The C library hides two of the real-time signals; a job finds them at their defaults too. Only after the change of
 *  user, for which the C library signals the other threads: a sanitizer has one even here. */
void helio_rights_signals(void)
{
    enum { KERNEL_SIGNALS = 64 };
    const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } plain = {.handler = SIG_DFL}; /* as the kernel has it */
    for (long number = 1; number <= KERNEL_SIGNALS; number++)
        (void)syscall(SYS_rt_sigaction, number, &plain, NULL, sizeof plain.mask);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*  A service manager may protect the agent from the kernel's choice of what to end when memory runs out; its jobs are
 *  not to inherit that. */
const char *helio_rights_limit(const helio_plan_t *plan, const char *cgroup)
{
    if (plan->launcher != HELIO_LAUNCHER_LOCAL)
        return NULL;
    if (cgroup && helio_cgroup_enter(cgroup))
        return "entering the control group";
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "0", 1);
        (void)close(score);
    }
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core))
        return "core limit";
    core.rlim_cur = 0; /* a job that wants core files says `ulimit -c` */
    return setrlimit(RLIMIT_CORE, &core) ? "core limit" : NULL;
}

/*  After the change of user, which would clear the signal of the parent's death. The parent may be dead already. */
const char *helio_rights_bind(const helio_plan_t *plan, pid_t parent)
{
#ifndef HELIO_MUTANT_rank_outlives_shim
    if (parent) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
            return "binding it to the shim's life";
        if (getppid() != parent) {
            errno = ESRCH;
            return "the shim";
        }
    }
#endif
    /* A container's runtime maps users by programs that are setuid; what runs in the container gains nothing. */
    bool plain = plan->launcher == HELIO_LAUNCHER_LOCAL && !plan->setuid_programs && !plan->image.size;
#ifdef HELIO_MUTANT_rights_gained
    plain = false;
#endif
    return plain && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? "no_new_privs" : NULL;
}
