/*  run.c -- runs one attempt: watches ranks, limit, lease, signals and folder, stops it, and writes `done`. */
#include "site-agent/shim/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/reason/codes.h"
#include "site-agent/shim/batch.h"
#include "site-agent/shim/cgroup.h"
#include "site-agent/shim/guardian.h"
#include "site-agent/shim/internal.h"
#include "site-agent/shim/signals.h"
#include "site-agent/shim/slurm.h"

enum {
    BEAT_MS = 5000,
    KILL_AGAIN_MS = 20, /* a killed process may have forked meanwhile */
    RANK_FAILED_GRACE_MS = 30000,
    HEAD_SLACK_MS = 5000, /* time for the ranks' shims, which have the same grace, to end by themselves */
    SRUN_KILL_MS = 10000,
    DONE_TRIES = 600,
    AFTERWARDS_MS =
        200,        /* Slurm signals a job's processes one by one, the shim last; at most so long after the first */
    AT_REST_MS = 5, /* between two looks whether its daemon still does */
    EXIT_NOT_STARTED = 125
};

/* ---- while it runs ------------------------------------------------------------------------------------- */

/*  The time by which the ranks' shims must have read and obeyed the head's command. */
static int64_t slack_ms(const helio_shim_t *self)
{
    return HEAD_SLACK_MS + helio_gang_poll_ms(self->plan.nodes);
}

/*  A head's ranks are killed by their own shims. Those that do not respond are killed by Slurm, which ends all tasks at
 *  once when srun gets TERM. In the end srun itself is killed, and its child makes Slurm end the step. */
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

/*  The srun of a batch script, killed at once, would leave tasks on other nodes that outlive `done`. On TERM it has
 *  Slurm kill them, and waits for that; another program that is called srun just dies later. */
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
    else {
        if (self->cgroup[0])
            (void)helio_cgroup_kill(self->cgroup);
        (void)helio_process_signal_tree(getpid(), SIGKILL, false);
    }
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
        (void)!helio_gang_say(self->folder, HELIO_GANG_STOP, grace_ms, NULL); /* if it fails: they are killed in time */
    else if (!signal_number || helio_shim_signal_programs(self, signal_number, true) == 0)
        (void)helio_shim_signal_programs(self, SIGTERM, false);
}

static void take_signals(helio_shim_t *self, int64_t now_ms)
{
    struct signalfd_siginfo info;
    while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (info.ssi_signo == SIGHUP && self->call->mode == HELIO_SHIM_LOCAL) { /* the agent's */
            helio_shim_obey_signals(self);
            continue;
        }
        if (helio_shim_is_for_job(self, info.ssi_signo)) {
            helio_shim_hand_on(self, info.ssi_signo);
            continue;
        }
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
    /*  A subreaper's descendants become its children when their parents die: without children nothing is left. */
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
            self->lease_read_ms = 0; /* it may have been renewed since the last read */
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

/*  The programs have ended by themselves, so what they left behind ends, too. A shell that the polite signal killed has
 *  left a program that may still save its work. */
static bool is_run_out(const helio_shim_t *self)
{
    bool stopping = self->phase == HELIO_SHIM_STOPPING && !self->head && !self->ranks.signalled;
    return (self->phase == HELIO_SHIM_RUNNING || stopping) && self->ranks.ended == self->ranks.count;
}

/*  Ranks that have ended: a gang does not go on with one rank missing. */
static void look_at_ranks(helio_shim_t *self, int64_t now_ms)
{
    if (is_run_out(self))
        kill_now(self, now_ms);
    else if (self->phase == HELIO_SHIM_RUNNING && self->ranks.first_failure) {
        uint64_t grace_ms = self->plan.grace_ms < RANK_FAILED_GRACE_MS ? self->plan.grace_ms : RANK_FAILED_GRACE_MS;
        stop_politely(self, now_ms, grace_ms);
    }
}

/*  A head reads the state of its ranks, a rank the head's command. */
static void look_at_gang(helio_shim_t *self, int64_t now_ms)
{
    bool rank = self->call->mode == HELIO_SHIM_RANK;
    if ((!rank && !self->head) || now_ms < self->gang_poll_ms)
        return;
    self->gang_poll_ms = now_ms + helio_gang_poll_ms(self->plan.nodes);
    if (rank) {
        uint64_t grace_ms = 0;
        helio_gang_command_t word = helio_gang_hear(self->folder, &grace_ms);
        helio_shim_obey_signals(self);
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
        self->env_there = unlinkat(self->folder, "env", 0) != 0; /* all ranks have it; secrets do not stay on disk */
    if (count.failed)
        stop_politely(self, now_ms,
                      self->plan.grace_ms < RANK_FAILED_GRACE_MS ? self->plan.grace_ms : RANK_FAILED_GRACE_MS);
}

static bool beats(const helio_shim_t *self)
{
    return self->call->mode != HELIO_SHIM_RANK;
}

/*  A job that runs as the shim's own user may have removed the permissions of its folder. */
static void open_up(int folder)
{
    struct stat status;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 0700) != 0700)
        (void)!fchmod(folder, status.st_mode | 0700);
}

/*  If the shim is killed, its last touch of the claim is the proof of how long the attempt ran. Inside an allocation it
 *  can also be the agent's only sign of life, and the file `stop` its only way to reach the shim: a scheduler can lose,
 *  rename or give up a job whose processes live on. */
static void beat(helio_shim_t *self, int64_t now_ms)
{
    if (!beats(self) || now_ms < self->beat_ms)
        return;
    self->beat_ms = now_ms + BEAT_MS;
    bool batch = self->plan.launcher != HELIO_LAUNCHER_LOCAL;
    if (batch)
        open_up(self->folder);
    (void)utimensat(self->status_files, "claim", NULL, AT_SYMLINK_NOFOLLOW);
    if (!batch)
        return;
    helio_shim_obey_signals(self);
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
        int64_t lease = self->phase == HELIO_SHIM_RUNNING ? self->lease.stop_boot_ms : self->lease.kill_boot_ms;
        until = self->lease_read_ms < until ? self->lease_read_ms : until;
        until = lease < until ? lease : until;
    }
    if (beats(self) && self->beat_ms < until)
        until = self->beat_ms;
    return until > now_ms ? (int)(until - now_ms) : 0;
}

/*  Killed by the guardian, since this process did not answer when lease or limit were over: the clocks say so. */
static void look_back(helio_shim_t *self)
{
    if (self->phase == HELIO_SHIM_RUNNING && self->ranks.first_failure == 128 + SIGKILL)
        look_at_clocks(self, helio_clock_boot_ms());
}

static void run(helio_shim_t *self)
{
    for (;;) {
        helio_output_pump(&self->output);
        reap(self);
        look_back(self);
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
    self->head = false; /* srun was not found, or did not start its program */
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

/*  How srun's tasks ended. UNAVAILABLE: one of them began and left no `done`: it may still run. */
static helio_rc end_gang(helio_shim_t *self, helio_error_t *err)
{
    helio_gang_end_t end;
    int launch_code = self->ranks.first_failure;
    const char *launch = self->plan.launcher == HELIO_LAUNCHER_BATCH ? "the adapter's launcher" : "srun";
    (void)!helio_gang_say(self->folder, HELIO_GANG_KILL, 0, NULL); /* srun may have died alone */
    helio_gang_gather(self->folder, self->plan.nodes, &end);
    if (end.silent)
        return helio_fail(err, HELIO_UNAVAILABLE, "%u of %u ranks left no end (%s: %d)", end.silent, self->plan.nodes,
                          launch, launch_code);
    if (!end.ran && !self->done.stopped) {
        self->done.failed = true;
        explain_refusal(self, &end);
        if (!end.refused)
            (void)snprintf(self->done.explanation, sizeof self->done.explanation,
                           "%s ended with %d before any rank began; the job's log has its message", launch,
                           launch_code);
        return HELIO_OK;
    }
    self->done.max_rss_kib = end.max_rss_kib > self->done.max_rss_kib ? end.max_rss_kib : self->done.max_rss_kib;
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
    if (self->done.exit_code && !self->done.stopped && self->cgroup[0] && helio_cgroup_oom_kills(self->cgroup)) {
        self->done.cause = HELIO_CAUSE_OUT_OF_MEMORY;
        (void)snprintf(self->done.explanation, sizeof self->done.explanation,
                       "the job's processes used more than the memory that it asked for");
    }
    helio_output_pump(&self->output);
    self->done.log_dropped_bytes = self->output.dropped_bytes;
    helio_output_close(&self->output);
    helio_rc rc = self->head ? end_gang(self, err) : HELIO_OK;
    if (self->done.limit_reached)
        self->done.exit_code = 124;
    return rc;
}

/*  If Slurm has just killed a script's program, the script can go on and end with 0 before Slurm kills it and tells the
 *  shim. That a stop is pending shows that the end was not its own; Slurm knows the cause. Its daemon signals the
 *  processes one after the other without a pause: while all of that sleeps, no further signal is on its way. */
static void listen_afterwards(helio_shim_t *self)
{
    int64_t until_ms = helio_clock_boot_ms() + AFTERWARDS_MS;
    bool quiet = self->call->mode != HELIO_SHIM_SLURM && self->call->mode != HELIO_SHIM_BATCH;
    while (!self->done.stopped && !self->done.limit_reached && !quiet) {
        struct pollfd fd = {.fd = self->signals, .events = POLLIN};
        struct signalfd_siginfo info;
#ifdef HELIO_MUTANT_deaf_to_late_signals
        quiet = true;
#else
        quiet = helio_clock_boot_ms() >= until_ms || helio_process_is_at_rest(getppid(), "slurmstepd");
#endif
        (void)poll(&fd, 1, quiet ? 0 : AT_REST_MS);
        while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info)
            self->done.stopped =
                self->done.stopped || (info.ssi_signo != SIGCHLD && !helio_shim_is_for_job(self, info.ssi_signo));
    }
}

/*  The space was reserved. What still fails (a disk that is being repaired) is tried for ten minutes. But what
 *  is written to a folder that was removed is never read, and its agent waits for this process. */
static helio_rc tell(helio_shim_t *self, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (int i = 0; i < DONE_TRIES; i++) {
        if (helio_shim_folder_was_removed(self) && helio_shim_take_copy(self, err))
            return HELIO_NOT_FOUND;
        open_up(self->folder);
        open_up(self->status_files);
        rc = helio_done_write(self->status_files, &self->done, err);
        if (!rc)
            return rc;
        (void)poll(NULL, 0, 1000);
    }
    return rc;
}

/*  Opens the folder, and, for a rank, its own. */
static helio_rc open_status_files(helio_shim_t *self, helio_error_t *err)
{
    self->folder = open(self->call->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "cannot open '%s': %s", self->call->folder, strerror(errno));
    self->status_files = self->folder;
    if (self->call->mode != HELIO_SHIM_RANK)
        return HELIO_OK;
    if (!helio_batch_node_rank(self->call->environ_list, &self->rank) &&
        !helio_slurm_node_rank(self->call->environ_list, &self->rank))
        return helio_fail(err, HELIO_INVALID, "neither SLURM_NODEID nor HELIO_BATCH_RANK says which rank this is");
    return helio_gang_open(self->folder, self->rank, &self->status_files, err);
}

/*  The folder belongs to this shim alone. */
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
    self->leash = -1;
    helio_process_boot_id(self->lease.boot_id);
    helio_rc rc = open_status_files(self, err);
    if (!rc)
        rc = helio_shim_open_signals(&self->signals, err);
    if (!rc)
        rc = helio_shim_claim(self, err);
    if (!rc)
        rc = run_claimed(self, ret_exit_code, err);
    helio_guardian_dismiss(self->leash); /* nothing of the attempt runs any more */
    if (self->cgroup[0])
        helio_cgroup_remove(self->cgroup);
    helio_buffer_clear(&self->plan_text);
    free(self);
    return rc;
}
