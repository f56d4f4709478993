/*  guardian.c -- waits for the shim's death or for a deadline that the shim has missed, and ends the attempt then. */
#include "site-agent/shim/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/number.h"
#include "site-agent/shim/leftovers.h"
#include "site-agent/shim/lease_file.h"

enum {
    READ_MS = 1000,     /* between two reads of the lease, as the shim reads it */
    LATE_MS = 250,      /* the shim kills at the deadline itself; this is its time to do so */
    KILL_AGAIN_MS = 20, /* a killed process may have forked meanwhile */
    NOTICE_MS = 60000,  /* between two looks when nothing has a deadline */
    DISMISSED = 'd'
};

typedef struct guardian {
    const helio_ward_t *ward;
    helio_lease_watch_t lease;
    helio_process_t shim;
    int64_t limit_boot_ms; /* 0: not known yet, or none */
    bool killed;           /* the deadline is over, and nothing was left at the last look */
    int leash;             /* the guardian's end */
} guardian_t;

/*  When the time limit and its grace are over; the clock of the limit starts with the ranks. */
static void look_for_start(guardian_t *self)
{
    const helio_plan_t *plan = self->ward->plan;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_started_t started;
    if (self->limit_boot_ms || !plan->time_limit_ms ||
        helio_status_file_read(self->ward->folder, "started", HELIO_STATUS_FILE_MAX, &text, NULL) ||
        helio_started_parse(helio_buffer_view(&text), &started))
        return;
    self->limit_boot_ms = started.boot_ms + (int64_t)(plan->time_limit_ms + plan->grace_ms);
}

/*  The time from which on nothing of the attempt may run. */
static int64_t deadline_ms(guardian_t *self)
{
    const helio_plan_t *plan = self->ward->plan;
    look_for_start(self);
    if (plan->lease.size)
        helio_lease_file_read(plan, &self->lease);
    int64_t deadline = self->limit_boot_ms ? self->limit_boot_ms : INT64_MAX - LATE_MS;
    if (plan->lease.size)
        deadline = helio_lesser_i64(deadline, self->lease.kill_boot_ms);
    return deadline + LATE_MS;
}

static int wait_ms(const guardian_t *self, int64_t now_ms, int64_t deadline)
{
    const helio_plan_t *plan = self->ward->plan;
    bool waits_for_start = plan->time_limit_ms && !self->limit_boot_ms;
    if (now_ms >= deadline)
        return self->killed ? READ_MS : KILL_AGAIN_MS;
    int64_t most = plan->lease.size || waits_for_start ? READ_MS : NOTICE_MS;
    return (int)helio_lesser_i64(deadline - now_ms, most);
}

static void end_leftovers(const guardian_t *self)
{
    while (!helio_leftovers_kill(self->ward->folder))
        (void)poll(NULL, 0, KILL_AGAIN_MS);
}

static _Noreturn void guard(guardian_t *self)
{
    for (;;) {
        int64_t deadline = deadline_ms(self), now_ms = helio_clock_boot_ms();
        struct pollfd leash = {.fd = self->leash, .events = POLLIN};
        if (poll(&leash, 1, wait_ms(self, now_ms, deadline)) > 0) {
            char word = 0;
            if (read(self->leash, &word, 1) != 1 || word != DISMISSED)
                end_leftovers(self);
            _exit(0);
        }
        if (now_ms < deadline)
            continue;
        self->killed = helio_leftovers_kill(self->ward->folder);
        if (helio_process_alive(self->shim))
            (void)kill(self->shim.pid, SIGCONT);
    }
}

/*  In the grandchild: nothing of the shim stays open here but the folder and the leash. */
static _Noreturn void become(const helio_ward_t *ward, helio_process_t shim, int leash)
{
    enum { FOLDER = 3, LEASH = 4 };
    guardian_t self = {.ward = ward, .lease = *ward->lease, .shim = shim, .leash = LEASH};
    helio_ward_t own = *ward;
    int folder = fcntl(ward->folder, F_DUPFD_CLOEXEC, LEASH + 1), end = fcntl(leash, F_DUPFD_CLOEXEC, LEASH + 1);
    if (folder < 0 || end < 0 || dup2(folder, FOLDER) < 0 || dup2(end, LEASH) < 0 || close_range(LEASH + 1, ~0U, 0))
        _exit(1);
    own.folder = FOLDER;
    self.ward = &own;
    (void)prctl(PR_SET_NAME, "helio-guardian");
    guard(&self);
}

helio_rc helio_guardian_start(const helio_ward_t *ward, int *ret_leash, helio_error_t *err)
{
    int ends[2], status = 0;
    helio_process_info_t me;
    if (helio_process_inspect(getpid(), &me))
        return helio_fail(err, HELIO_IO, "/proc does not show this process");
    if (pipe2(ends, O_CLOEXEC))
        return helio_fail(err, HELIO_IO, "pipe: %s", strerror(errno));
    pid_t between = fork(); /* a process in between, so that the guardian is not the shim's child */
    if (between == 0) {
        pid_t guardian = fork();
        if (guardian == 0)
            become(ward, me.process, ends[0]);
        _exit(guardian < 0 ? 1 : 0);
    }
    (void)close(ends[0]);
    while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR)
        continue;
    if (between < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
        (void)close(ends[1]);
        return helio_fail(err, HELIO_IO, "cannot start a guardian for the job's processes");
    }
    *ret_leash = ends[1];
    return HELIO_OK;
}

void helio_guardian_dismiss(int leash)
{
    char word = DISMISSED;
    if (leash < 0)
        return;
    (void)!write(leash, &word, 1);
    (void)close(leash);
}
