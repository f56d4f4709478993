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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/reason/codes.h"
#include "site-agent/shim/inner.h"
#include "site-agent/shim/slurm.h"

enum {
    BEAT_MS = 5000,
    KILL_AGAIN_MS = 20, /* a killed process may have forked meanwhile */
    RANK_FAILED_GRACE_MS = 30000,
    HEAD_SLACK_MS = 5000, /* for the ranks' shims, which have the same grace, to end by themselves */
    SRUN_KILL_MS = 10000,
    DONE_TRIES = 600,
    AFTERWARDS_MS = 200, /* Slurm signals a job's processes one by one, its own last */
    EXIT_NOT_STARTED = 125
};

static helio_rc claim(helio_shim_t *self, helio_error_t *err)
{
    helio_process_info_t me;
    if (helio_process_inspect(getpid(), &me))
        return helio_fail(err, HELIO_UNAVAILABLE, "/proc does not show this process");
    helio_claim_t mine = {.shim = me.process};
    memcpy(mine.boot_id, self->lease.boot_id, sizeof mine.boot_id);
    (void)gethostname(mine.host, sizeof mine.host - 1);
    if (self->call->mode != HELIO_SHIM_LOCAL)
        (void)helio_text_copy(helio_text_of(helio_slurm_job_id(self->call->environ_list)), mine.scheduler_id,
                              sizeof mine.scheduler_id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_text(&mine, &text);
    return helio_status_file_claim(self->status_files, "claim", helio_buffer_view(&text), err);
}

/* ---- while it runs ------------------------------------------------------------------------------------- */

/*  Until the ranks' shims must have heard and done what the head said. */
static int64_t slack_ms(const helio_shim_t *self)
{
    return HEAD_SLACK_MS + helio_gang_poll_ms(self->plan.nodes);
}

/*  A head's ranks are killed by their own shims; those that do not answer by Slurm, which ends all tasks at
 * once when srun gets TERM; srun at last, whose own child then has the step ended. */
static void kill_step(helio_shim_t *self, int64_t now_ms)
{
    int64_t since_ms = now_ms - self->killing_ms;
    bool over = self->ranks.ended == self->ranks.count; /* what is left is srun's child, at work */
    if (self->kill_steps == 0) {
        self->kill_steps = 1;
        (void)!helio_gang_say(self->folder, HELIO_GANG_KILL, 0, NULL);
    }
    if (self->kill_steps == 1 && since_ms >= slack_ms(self)) {
        self->kill_steps = 2;
        if (!over)
            (void)kill(self->ranks.items[0].leader.pid, SIGTERM);
    }
    if (self->kill_steps == 2 && since_ms >= slack_ms(self) + SRUN_KILL_MS) {
        self->kill_steps = 3;
        if (!over)
            (void)kill(self->ranks.items[0].leader.pid, SIGKILL);
    }
    if (since_ms >= slack_ms(self) + 2 * SRUN_KILL_MS)
        (void)helio_process_signal_tree(getpid(), SIGKILL, false);
}

/*  A batch script's own srun, killed at once, would leave tasks on other nodes that outlive our end mark.
 * TERM makes it have Slurm kill them, and wait for that; a program that is only called so dies later. */
static void kill_batch(helio_shim_t *self, int64_t now_ms)
{
    if (self->kill_steps++ == 0)
        (void)helio_process_signal_called(getpid(), SIGTERM, "srun");
    if (now_ms - self->killing_ms < SRUN_KILL_MS)
        (void)helio_process_signal_others(getpid(), SIGKILL, "srun");
    else
        (void)helio_process_signal_tree(getpid(), SIGKILL, false);
}

static void kill_again(helio_shim_t *self, int64_t now_ms)
{
    if (self->head)
        kill_step(self, now_ms);
    else if (self->plan.batch_script && self->call->mode == HELIO_SHIM_SLURM)
        kill_batch(self, now_ms);
    else
        (void)helio_process_signal_tree(getpid(), SIGKILL, false);
}

static void kill_now(helio_shim_t *self, int64_t now_ms)
{
    if (self->phase != HELIO_SHIM_KILLING)
        self->killing_ms = now_ms;
    self->phase = HELIO_SHIM_KILLING;
    kill_again(self, now_ms);
}

static void stop_politely(helio_shim_t *self, int64_t now_ms, uint64_t grace_ms)
{
    if (self->phase != HELIO_SHIM_RUNNING)
        return;
    self->phase = HELIO_SHIM_STOPPING;
    self->kill_at_ms = now_ms + (int64_t)grace_ms + (self->head ? slack_ms(self) : 0);
    int signal_number = (int)self->plan.checkpoint_signal;
    if (self->head)
        (void)!helio_gang_say(self->folder, HELIO_GANG_STOP, grace_ms,
                              NULL); /* unheard: they are killed in time */
    else if (!signal_number || helio_process_signal_tree(getpid(), signal_number, true) == 0)
        (void)helio_process_signal_tree(getpid(), SIGTERM, false);
}

static void take_signals(helio_shim_t *self, int64_t now_ms)
{
    struct signalfd_siginfo info;
    while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (self->phase != HELIO_SHIM_KILLING)
            self->done.stopped = true;
        if (info.ssi_signo == SIGTERM)
            stop_politely(self, now_ms, self->plan.grace_ms);
        else
            kill_now(self, now_ms);
    }
}

static void reap(helio_shim_t *self)
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

static void look_at_clocks(helio_shim_t *self, int64_t now_ms)
{
    int64_t limit_ms = (int64_t)self->plan.time_limit_ms;
    if (limit_ms && self->call->mode != HELIO_SHIM_RANK && self->phase == HELIO_SHIM_RUNNING &&
        now_ms - self->started_boot_ms >= limit_ms) {
        self->done.limit_reached = true;
        stop_politely(self, now_ms, self->plan.grace_ms);
    }
#ifndef HELIO_MUTANT_lease_unheeded
    if (self->plan.lease.size) {
        if (self->phase == HELIO_SHIM_RUNNING && now_ms >= self->lease.stop_boot_ms)
            self->lease_read_ms = 0; /* it may have been renewed since the last look */
        helio_shim_read_lease(self, now_ms);
        if (self->phase == HELIO_SHIM_RUNNING && now_ms >= self->lease.stop_boot_ms) {
            self->done.stopped = true;
            self->done.cause = HELIO_CAUSE_LEASE_EXPIRED;
            stop_politely(self, now_ms, self->plan.grace_ms);
        }
        if (self->phase == HELIO_SHIM_STOPPING && now_ms >= self->lease.kill_boot_ms)
            kill_now(self, now_ms);
    }
#endif
    if (self->phase == HELIO_SHIM_STOPPING && now_ms >= self->kill_at_ms)
        kill_now(self, now_ms);
}

/*  Ranks that have ended: a gang does not go on without one of its own. */
static void look_at_ranks(helio_shim_t *self, int64_t now_ms)
{
    if (self->phase == HELIO_SHIM_RUNNING && self->ranks.ended == self->ranks.count)
        kill_now(self, now_ms);
    else if (self->phase == HELIO_SHIM_RUNNING && self->ranks.first_failure) {
        uint64_t grace_ms =
            self->plan.grace_ms < RANK_FAILED_GRACE_MS ? self->plan.grace_ms : RANK_FAILED_GRACE_MS;
        stop_politely(self, now_ms, grace_ms);
    }
}

/*  A head looks at its ranks, a rank listens to its head. */
static void look_at_gang(helio_shim_t *self, int64_t now_ms)
{
    bool rank = self->call->mode == HELIO_SHIM_RANK;
    if ((!rank && !self->head) || now_ms < self->gang_poll_ms)
        return;
    self->gang_poll_ms = now_ms + helio_gang_poll_ms(self->plan.nodes);
    if (rank) {
        uint64_t grace_ms = 0;
        helio_gang_command_t word = helio_gang_hear(self->folder, &grace_ms);
        if (word == HELIO_GANG_GO || self->phase == HELIO_SHIM_KILLING)
            return;
        self->done.stopped = true;
        if (word == HELIO_GANG_KILL)
            kill_now(self, now_ms);
        else
            stop_politely(self, now_ms, grace_ms);
        return;
    }
    helio_gang_count_t count;
    helio_gang_poll(self->folder, self->plan.nodes, &count);
    if (self->env_there && count.begun == self->plan.nodes)
        self->env_there =
            unlinkat(self->folder, "env", 0) != 0; /* all have it; secrets do not stay on disk */
    if (count.failed)
        stop_politely(self, now_ms,
                      self->plan.grace_ms < RANK_FAILED_GRACE_MS ? self->plan.grace_ms
                                                                 : RANK_FAILED_GRACE_MS);
}

static bool beats(const helio_shim_t *self)
{
    return self->plan.launcher == HELIO_LAUNCHER_SLURM && self->call->mode != HELIO_SHIM_RANK;
}

/*  A job that is of the shim's own user may have shut its folder to both. */
static void open_up(int folder)
{
    struct stat status;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 0700) != 0700)
        (void)!fchmod(folder, status.st_mode | 0700);
}

/*  Inside an allocation the agent may have no other sign of life than a claim that is touched, and no other
 * way to us than the mark `stop`: a scheduler may lose, rename or give up a job whose processes live on. */
static void beat(helio_shim_t *self, int64_t now_ms)
{
    if (!beats(self) || now_ms < self->beat_ms)
        return;
    self->beat_ms = now_ms + BEAT_MS;
    open_up(self->folder);
    (void)utimensat(self->status_files, "claim", NULL, AT_SYMLINK_NOFOLLOW);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t word = {0};
    if (self->phase == HELIO_SHIM_KILLING || helio_status_file_read(self->folder, "stop", 16, &word, NULL))
        return;
    self->done.stopped = true;
    if (helio_text_is(helio_buffer_view(&word), "kill"))
        kill_now(self, now_ms);
    else
        stop_politely(self, now_ms, self->plan.grace_ms);
}

static int wait_ms(const helio_shim_t *self, int64_t now_ms)
{
    if (self->phase == HELIO_SHIM_KILLING)
        return KILL_AGAIN_MS;
    bool gang = self->head || self->call->mode == HELIO_SHIM_RANK;
    int64_t until = gang ? self->gang_poll_ms : now_ms + 60000;
    if (self->phase == HELIO_SHIM_STOPPING && self->kill_at_ms < until)
        until = self->kill_at_ms;
    int64_t limit = self->started_boot_ms + (int64_t)self->plan.time_limit_ms;
    if (self->phase == HELIO_SHIM_RUNNING && self->plan.time_limit_ms && limit < until &&
        self->call->mode != HELIO_SHIM_RANK)
        until = limit;
    if (self->plan.lease.size) {
        int64_t lease =
            self->phase == HELIO_SHIM_RUNNING ? self->lease.stop_boot_ms : self->lease.kill_boot_ms;
        until = self->lease_read_ms < until ? self->lease_read_ms : until;
        until = lease < until ? lease : until;
    }
    if (beats(self) && self->beat_ms < until)
        until = self->beat_ms;
    return until > now_ms ? (int)(until - now_ms) : 0;
}

static void run(helio_shim_t *self)
{
    for (;;) {
        helio_output_pump(&self->output);
        reap(self);
        if (self->childless)
            return;
        int64_t now_ms = helio_clock_boot_ms();
        look_at_ranks(self, now_ms);
        look_at_clocks(self, now_ms);
        look_at_gang(self, now_ms);
        beat(self, now_ms);
        if (self->phase == HELIO_SHIM_KILLING)
            kill_again(self, now_ms);
        struct pollfd watched[] = {{.fd = self->signals, .events = POLLIN},
                                   {.fd = self->output.streams[0].pipe, .events = POLLIN},
                                   {.fd = self->output.streams[1].pipe, .events = POLLIN}};
        (void)poll(watched, 3, wait_ms(self, now_ms));
        take_signals(self, helio_clock_boot_ms());
    }
}

/* ---- its end ------------------------------------------------------------------------------------------- */

static void end_failed(helio_shim_t *self, const helio_error_t *why)
{
    self->done.failed = true;
    self->done.cause = why->code == HELIO_FENCED ? HELIO_CAUSE_LEASE_EXPIRED : HELIO_CAUSE_START_FAILED;
    (void)snprintf(self->done.explanation, sizeof self->done.explanation, "%.180s", why->text);
    self->head = false; /* there is no srun, or none that got beyond its gate */
    for (;;) {
        kill_now(self, helio_clock_boot_ms());
        reap(self);
        if (self->childless)
            break;
        (void)poll(NULL, 0, KILL_AGAIN_MS);
    }
    helio_output_close(&self->output);
}

static void explain_refusal(helio_shim_t *self, const helio_gang_end_t *end)
{
    self->done.cause = end->cause == HELIO_CAUSE_NONE ? HELIO_CAUSE_START_FAILED : end->cause;
    memcpy(self->done.explanation, end->explanation, sizeof self->done.explanation);
}

/*  What srun's tasks came to. UNAVAILABLE: one of them began and left no end: it may still run. */
static helio_rc end_gang(helio_shim_t *self, helio_error_t *err)
{
    helio_gang_end_t end;
    int srun_code = self->ranks.first_failure;
    (void)!helio_gang_say(self->folder, HELIO_GANG_KILL, 0, NULL); /* srun may have died alone */
    helio_gang_gather(self->folder, self->plan.nodes, &end);
    if (end.silent)
        return helio_fail(err, HELIO_UNAVAILABLE, "%u of %u ranks left no end (srun: %d)", end.silent,
                          self->plan.nodes, srun_code);
    if (!end.ran && !self->done.stopped) {
        self->done.failed = true;
        explain_refusal(self, &end);
        if (!end.refused)
            (void)snprintf(self->done.explanation, sizeof self->done.explanation,
                           "srun ended with %d before any rank began; the job's log has its message", srun_code);
        return HELIO_OK;
    }
    self->done.max_rss_kib =
        end.max_rss_kib > self->done.max_rss_kib ? end.max_rss_kib : self->done.max_rss_kib;
    if (end.lease_expired) {
        self->done.stopped = true;
        self->done.cause = HELIO_CAUSE_LEASE_EXPIRED;
    } else if (end.refused && !self->done.stopped)
        explain_refusal(self, &end);
    self->done.exit_code = end.exit_code;
    if (!end.ran)
        self->done.exit_code = 128 + SIGTERM;
    else if (end.refused && !self->done.stopped)
        self->done.exit_code = EXIT_NOT_STARTED;
    return HELIO_OK;
}

static helio_rc end_ran(helio_shim_t *self, helio_error_t *err)
{
    self->done.run_ms = (uint64_t)(helio_clock_boot_ms() - self->started_boot_ms);
    self->done.exit_code = self->ranks.first_failure;
    helio_output_pump(&self->output);
    self->done.log_dropped_bytes = self->output.dropped_bytes;
    helio_output_close(&self->output);
    helio_rc rc = self->head ? end_gang(self, err) : HELIO_OK;
    if (self->done.limit_reached)
        self->done.exit_code = 124;
    return rc;
}

/*  A script whose program Slurm has just killed may go on to its end, and end well, before Slurm has come to
 * it and to us. That we are told to stop shows that it was no end of its own; whose doing it was, Slurm
 * knows. */
static void listen_afterwards(helio_shim_t *self)
{
    int64_t until_ms = helio_clock_boot_ms() + AFTERWARDS_MS, left_ms = AFTERWARDS_MS;
    if (self->call->mode != HELIO_SHIM_SLURM)
        return;
    while (!self->done.stopped && !self->done.limit_reached && left_ms > 0) {
        struct pollfd fd = {.fd = self->signals, .events = POLLIN};
        struct signalfd_siginfo info;
        (void)poll(&fd, 1, (int)left_ms);
        while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info)
            self->done.stopped = self->done.stopped || info.ssi_signo != SIGCHLD;
        left_ms = until_ms - helio_clock_boot_ms();
    }
}

/*  The space was put aside; what still fails (a disk that is being mended) is tried for ten minutes. */
static helio_rc tell(helio_shim_t *self, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (int i = 0; i < DONE_TRIES; i++) {
        open_up(self->folder);
        open_up(self->status_files);
        rc = helio_done_write(self->status_files, &self->done, err);
        if (!rc)
            return rc;
        (void)poll(NULL, 0, 1000);
    }
    return rc;
}

void helio_shim_signals(sigset_t *ret_set)
{
    (void)sigemptyset(ret_set);
    (void)sigaddset(ret_set, SIGTERM);
    (void)sigaddset(ret_set, SIGINT);
    (void)sigaddset(ret_set, SIGUSR2);
    (void)sigaddset(ret_set, SIGCHLD);
}

static helio_rc open_signals(int *ret_fd, helio_error_t *err)
{
    sigset_t set;
    helio_shim_signals(&set);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "signalfd: %s", strerror(errno));
    *ret_fd = fd;
    return HELIO_OK;
}

/*  Opens the folder, and of a rank its own. */
static helio_rc open_status_files(helio_shim_t *self, helio_error_t *err)
{
    self->folder = open(self->call->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "cannot open '%s': %s", self->call->folder, strerror(errno));
    self->status_files = self->folder;
    if (self->call->mode != HELIO_SHIM_RANK)
        return HELIO_OK;
    if (!helio_slurm_node_rank(self->call->environ_list, &self->rank))
        return helio_fail(err, HELIO_INVALID, "SLURM_NODEID does not say which rank this is");
    return helio_gang_open(self->folder, self->rank, &self->status_files, err);
}

/*  It is ours alone. */
static helio_rc run_claimed(helio_shim_t *self, int *ret_exit_code, helio_error_t *err)
{
    helio_error_t why = {0};
    helio_rc rc = HELIO_OK;
    if (helio_shim_start(self, &why))
        end_failed(self, &why);
    else {
        run(self);
        rc = end_ran(self, err);
        listen_afterwards(self);
    }
    if (self->env_there && self->call->mode != HELIO_SHIM_RANK)
        (void)unlinkat(self->folder, "env", 0);
    *ret_exit_code = self->done.failed ? EXIT_NOT_STARTED : self->done.exit_code;
    if (rc) {
        *ret_exit_code = self->ranks.first_failure ? self->ranks.first_failure : 128 + SIGKILL;
        return rc;
    }
    self->done.ended_wall_ms = helio_clock_wall_ms();
    rc = tell(self, err);
    if (!rc && self->call->mode == HELIO_SHIM_RANK)
        (void)!helio_gang_tell(self->folder, self->rank, true, *ret_exit_code, NULL);
    return rc;
}

helio_rc helio_shim_run(const helio_shim_call_t *call, int *ret_exit_code, helio_error_t *err)
{
    helio_shim_t *self = helio_new(1, sizeof *self);
    self->call = call;
    self->output = HELIO_OUTPUT_NONE;
    helio_process_boot_id(self->lease.boot_id);
    helio_rc rc = open_status_files(self, err);
#ifndef HELIO_MUTANT_orphans_left
    if (!rc && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        rc = helio_fail(err, HELIO_UNAVAILABLE, "cannot become a subreaper: %s", strerror(errno));
#endif
    if (!rc)
        rc = open_signals(&self->signals, err);
    if (!rc)
        rc = claim(self, err);
    if (!rc)
        rc = run_claimed(self, ret_exit_code, err);
    helio_buffer_clear(&self->plan_text);
    free(self);
    return rc;
}
