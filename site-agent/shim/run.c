#include "site-agent/shim/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/shim/output.h"
#include "site-agent/shim/ranks.h"

enum {
    ENV_MAX = 16 << 20,
    LEASE_READ_MS = 1000,
    KILL_AGAIN_MS = 20, /* a killed process may have forked meanwhile */
    RANK_FAILED_GRACE_MS = 30000,
    DONE_TRIES = 600
};

typedef enum phase { RUNNING, STOPPING, KILLING } phase_t;

typedef struct shim {
    int folder;
    const char *path;
    helio_plan_t plan;
    helio_buffer_t plan_text; /* the plan's views point here */
    char boot_id[HELIO_BOOT_ID_SIZE];
    helio_ranks_t ranks;
    helio_output_t output;
    int signals;
    phase_t phase;
    int64_t started_boot_ms;
    int64_t kill_at_ms; /* STOPPING */
    int64_t lease_read_ms;
    helio_lease_t lease;
    bool childless;
    helio_done_t done;
} shim_t;

/* ---- before it runs --------------------------------------------------------------------------------------
 */

static helio_rc claim(shim_t *self, helio_error_t *err)
{
    helio_process_info_t me;
    if (helio_process_look(getpid(), &me))
        return helio_fail(err, HELIO_UNAVAILABLE, "/proc does not show this process");
    helio_claim_t mine = {.shim = me.process};
    memcpy(mine.boot_id, self->boot_id, sizeof mine.boot_id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_text(&mine, &text);
    return helio_mark_claim(self->folder, "claim", helio_buffer_view(&text), err);
}

/*  The file is read anew each time: the agent replaces it. One that cannot be read leaves the last deadline
 * standing, since a deadline only ever moves away. */
static void read_lease(shim_t *self, int64_t now_ms)
{
    if (!self->plan.lease.size || now_ms < self->lease_read_ms)
        return;
    self->lease_read_ms = now_ms + LEASE_READ_MS;
    char path[4096];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_lease_t lease;
    if (helio_text_copy(self->plan.lease, path, sizeof path) &&
        helio_mark_read(AT_FDCWD, path, 4096, &text, NULL) == HELIO_OK &&
        helio_lease_parse(helio_buffer_view(&text), &lease) == HELIO_OK &&
        strcmp(lease.boot_id, self->boot_id) == 0)
        self->lease = lease;
}

static helio_rc write_started(shim_t *self, helio_error_t *err)
{
    helio_started_t started = {.wall_ms = helio_clock_wall_ms(), .boot_ms = helio_clock_boot_ms()};
    for (; started.rank_count < self->ranks.count; started.rank_count++)
        started.ranks[started.rank_count] = self->ranks.items[started.rank_count].leader;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_started_text(&started, &text);
    helio_rc rc = helio_mark_write(self->folder, "started", helio_buffer_view(&text), 0600, err);
    self->done.started_wall_ms = started.wall_ms;
    self->started_boot_ms = started.boot_ms;
    return rc;
}

static helio_rc start(shim_t *self, helio_error_t *err)
{
    helio_rc rc = helio_done_reserve(self->folder, err);
    if (rc)
        return rc;
    rc = helio_mark_read(self->folder, "plan", HELIO_MARK_MAX, &self->plan_text, err);
    if (!rc)
        rc = helio_plan_parse(helio_buffer_view(&self->plan_text), &self->plan, err);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t env = {0};
    if (!rc)
        rc = helio_mark_read(self->folder, "env", ENV_MAX, &env, err);
    if (rc)
        return rc;
    read_lease(self, helio_clock_boot_ms());
    if (self->plan.lease.size && helio_clock_boot_ms() >= self->lease.stop_boot_ms)
        return helio_fail(err, HELIO_TIMEOUT, "LeaseExpired");
    int writer = -1;
    rc = helio_output_open(self->folder, self->plan.log_max_bytes, &self->output, &writer, err);
    if (rc)
        return rc;
    rc = helio_ranks_prepare(&self->plan, self->path, helio_buffer_view(&env), writer, &self->ranks, err);
    (void)close(writer);
    if (rc)
        return rc;
    (void)unlinkat(self->folder, "env", 0); /* the ranks have it; secrets do not stay on disk */
#ifndef HELIO_MUTANT_started_unwritten
    rc = write_started(self, err);
#endif
    if (!rc)
        return helio_ranks_release(&self->ranks, err);
    (void)close(self->ranks.gate); /* the waiting ones go */
    (void)unlinkat(self->folder, "started", 0);
    return rc;
}

/* ---- while it runs ---------------------------------------------------------------------------------------
 */

static void kill_now(shim_t *self)
{
    self->phase = KILLING;
    (void)helio_process_signal_tree(getpid(), SIGKILL, false);
}

static void stop_politely(shim_t *self, int64_t now_ms, uint64_t grace_ms)
{
    if (self->phase != RUNNING)
        return;
    self->phase = STOPPING;
    self->kill_at_ms = now_ms + (int64_t)grace_ms;
    int signal_number = (int)self->plan.checkpoint_signal;
    if (!signal_number || helio_process_signal_tree(getpid(), signal_number, true) == 0)
        (void)helio_process_signal_tree(getpid(), SIGTERM, false);
}

static void take_signals(shim_t *self, int64_t now_ms)
{
    struct signalfd_siginfo info;
    while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (self->phase != KILLING)
            self->done.stopped = true;
        if (info.ssi_signo == SIGTERM)
            stop_politely(self, now_ms, self->plan.grace_ms);
        else
            kill_now(self);
    }
}

static void reap(shim_t *self)
{
    int status;
    struct rusage use;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &use)) > 0) {
        helio_ranks_reaped(&self->ranks, pid, status);
        if ((uint64_t)use.ru_maxrss > self->done.max_rss_kib)
            self->done.max_rss_kib = (uint64_t)use.ru_maxrss;
    }
    /* A subreaper's descendants become its children when their parents die: without a child there is nothing
     * left. */
    self->childless = pid < 0 && errno == ECHILD;
}

static void look_at_clocks(shim_t *self, int64_t now_ms)
{
    int64_t limit_ms = (int64_t)self->plan.time_limit_ms;
    if (limit_ms && self->phase == RUNNING && now_ms - self->started_boot_ms >= limit_ms) {
        self->done.limit_reached = true;
        stop_politely(self, now_ms, self->plan.grace_ms);
    }
#ifndef HELIO_MUTANT_lease_unheeded
    if (self->plan.lease.size) {
        if (self->phase == RUNNING && now_ms >= self->lease.stop_boot_ms)
            self->lease_read_ms = 0; /* it may have been renewed since the last look */
        read_lease(self, now_ms);
        if (self->phase == RUNNING && now_ms >= self->lease.stop_boot_ms) {
            self->done.stopped = true;
            (void)snprintf(self->done.reason, sizeof self->done.reason, "LeaseExpired");
            stop_politely(self, now_ms, self->plan.grace_ms);
        }
        if (self->phase == STOPPING && now_ms >= self->lease.kill_boot_ms)
            kill_now(self);
    }
#endif
    if (self->phase == STOPPING && now_ms >= self->kill_at_ms)
        kill_now(self);
}

/*  Ranks that have ended: a gang does not go on without one of its own. */
static void look_at_ranks(shim_t *self, int64_t now_ms)
{
    if (self->phase == RUNNING && self->ranks.ended == self->ranks.count)
        kill_now(self);
    else if (self->phase == RUNNING && self->ranks.first_failure) {
        uint64_t grace_ms =
            self->plan.grace_ms < RANK_FAILED_GRACE_MS ? self->plan.grace_ms : RANK_FAILED_GRACE_MS;
        stop_politely(self, now_ms, grace_ms);
    }
}

static int wait_ms(const shim_t *self, int64_t now_ms)
{
    if (self->phase == KILLING)
        return KILL_AGAIN_MS;
    int64_t until = now_ms + 60000;
    if (self->phase == STOPPING && self->kill_at_ms < until)
        until = self->kill_at_ms;
    int64_t limit = self->started_boot_ms + (int64_t)self->plan.time_limit_ms;
    if (self->phase == RUNNING && self->plan.time_limit_ms && limit < until)
        until = limit;
    if (self->plan.lease.size) {
        int64_t lease = self->phase == RUNNING ? self->lease.stop_boot_ms : self->lease.kill_boot_ms;
        until = self->lease_read_ms < until ? self->lease_read_ms : until;
        until = lease < until ? lease : until;
    }
    return until > now_ms ? (int)(until - now_ms) : 0;
}

static void run(shim_t *self)
{
    for (;;) {
        helio_output_pump(&self->output);
        reap(self);
        if (self->childless)
            return;
        int64_t now_ms = helio_clock_boot_ms();
        look_at_ranks(self, now_ms);
        look_at_clocks(self, now_ms);
        if (self->phase == KILLING)
            (void)helio_process_signal_tree(getpid(), SIGKILL, false);
        struct pollfd watched[] = {{.fd = self->signals, .events = POLLIN},
                                   {.fd = self->output.pipe, .events = POLLIN}};
        (void)poll(watched, 2, wait_ms(self, now_ms));
        take_signals(self, helio_clock_boot_ms());
    }
}

/* ---- its end ---------------------------------------------------------------------------------------------
 */

static void end_failed(shim_t *self, const helio_error_t *why)
{
    self->done.failed = true;
    bool word = strcmp(why->text, "LeaseExpired") == 0;
    (void)snprintf(self->done.reason, sizeof self->done.reason, "%s%.180s",
                   word ? "" : "StartFailed: ", why->text);
    for (;;) {
        kill_now(self);
        reap(self);
        if (self->childless)
            return;
        (void)poll(NULL, 0, KILL_AGAIN_MS);
    }
}

static void end_ran(shim_t *self)
{
    self->done.run_ms = (uint64_t)(helio_clock_boot_ms() - self->started_boot_ms);
    self->done.exit_code = self->done.limit_reached ? 124 : self->ranks.first_failure;
    helio_output_pump(&self->output);
    self->done.log_dropped_bytes = self->output.dropped_bytes;
    helio_output_close(&self->output);
}

/*  The space was put aside; what still fails (a disk that is being mended) is tried for ten minutes. */
static helio_rc tell(shim_t *self, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (int i = 0; i < DONE_TRIES; i++) {
        rc = helio_done_write(self->folder, &self->done, err);
        if (!rc)
            return rc;
        (void)poll(NULL, 0, 1000);
    }
    return rc;
}

static helio_rc open_signals(int *ret_fd, helio_error_t *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGUSR2);
    (void)sigaddset(&set, SIGCHLD);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "signalfd: %s", strerror(errno));
    *ret_fd = fd;
    return HELIO_OK;
}

helio_rc helio_shim_run(const char *folder, helio_error_t *err)
{
    shim_t *self = helio_new(1, sizeof *self);
    self->path = folder;
    self->output = (helio_output_t){.log = -1, .pipe = -1};
    helio_process_boot_id(self->boot_id);
    self->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    helio_rc rc = HELIO_OK;
    if (self->folder < 0)
        rc = helio_fail(err, HELIO_NOT_FOUND, "cannot open '%s': %s", folder, strerror(errno));
#ifndef HELIO_MUTANT_orphans_left
    if (!rc && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        rc = helio_fail(err, HELIO_UNAVAILABLE, "cannot become a subreaper: %s", strerror(errno));
#endif
    if (!rc)
        rc = open_signals(&self->signals, err);
    if (!rc)
        rc = claim(self, err);
    if (!rc) {
        helio_error_t why = {0};
        if (start(self, &why))
            end_failed(self, &why);
        else {
            run(self);
            end_ran(self);
        }
        self->done.ended_wall_ms = helio_clock_wall_ms();
        rc = tell(self, err);
    }
    helio_buffer_clear(&self->plan_text);
    free(self);
    return rc;
}
