/*  watch.c -- one watched attempt: its shim by pidfd, and its status files whenever something happened. The folder is
 *  the truth; memory holds only what is still to be reported. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/local/internal.h"
#include "site-agent/shim/leftovers.h"

enum {
    STARTED_LOOK_MS = 10, /* until the file exists; a shim needs a few syncs of the disk */
    STARTED_LOOKS = 100,
    STARTED_SLOW_MS = 200,
    NO_PIDFD_MS = 1000,
    LEFT_MS = 50,
    ANSWER_MS = 5000, /* a shim reads its signals within milliseconds, unless the machine is short of everything */
    AGAIN_MS = 1000
};

/* ---- the list ------------------------------------------------------------------------------------------ */

helio_local_attempt_t *helio_local_find(const helio_local_t *self, helio_job_key_t key, uint32_t epoch)
{
    return helio_held_find(&self->attempts, key, epoch);
}

helio_local_attempt_t *helio_local_add(helio_local_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_local_attempt_t *attempt = helio_held_add(&self->attempts, key, epoch, sizeof *attempt);
    attempt->folder = attempt->pidfd = -1;
    self->next_ms = 0;
    return attempt;
}

void helio_local_unlink(helio_local_t *self, helio_local_attempt_t *attempt)
{
    helio_held_remove(&self->attempts, &attempt->held);
}

void helio_local_free(helio_local_attempt_t *attempt)
{
    if (attempt->folder >= 0)
        (void)close(attempt->folder);
    if (attempt->pidfd >= 0)
        (void)close(attempt->pidfd); /* leaves the epoll by itself: no other descriptor refers to it */
    free(attempt);
}

/* ---- reports ------------------------------------------------------------------------------------------------- */

void helio_local_say_end(helio_local_attempt_t *attempt, uint32_t word, uint32_t cause, const char *explanation)
{
    attempt->state = HELIO_LOCAL_OVER;
    attempt->due_ms = 0;
    attempt->end.word = word;
    attempt->end.cause = cause;
    (void)snprintf(attempt->explanation, sizeof attempt->explanation, "%s", explanation);
}

static void say_done(helio_local_attempt_t *attempt, const helio_done_t *done)
{
    attempt->end = helio_folder_end(attempt->folder, done);
    helio_local_say_end(attempt, done->failed ? HELIO_BACKEND_REPORT_FAILED_TO_START : HELIO_BACKEND_REPORT_ENDED,
                        done->cause, done->explanation);
}

/*  By its plan, for an agent that has lost the order. 0: the plan cannot be read. */
static uint32_t gpus_of(int folder)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_plan_t plan = {0};
    if (helio_status_file_read(folder, "plan", HELIO_STATUS_FILE_MAX, &text, NULL) ||
        helio_plan_parse(helio_buffer_view(&text), &plan, NULL))
        return 0;
    uint32_t gpus = 0;
    for (uint32_t rank = 0; rank < plan.rank_count; rank++) {
        gpus += plan.ranks[rank].size > 0;
        for (uint32_t i = 0; i < plan.ranks[rank].size; i++)
            gpus += plan.ranks[rank].data[i] == ',';
    }
    return gpus;
}

static void say(helio_local_t *self, helio_local_attempt_t *attempt, helio_aev_backend_t event)
{
    event.gpus = attempt->folder >= 0 ? gpus_of(attempt->folder) : 0;
    helio_held_report(&self->options.sink, &attempt->held, attempt->held.name, event);
}

/* ---- adoption ------------------------------------------------------------------------------------------------ */

static void watch(helio_local_t *self, helio_local_attempt_t *attempt)
{
    attempt->pidfd = pidfd_open(attempt->shim.pid, 0);
    /* Opened first and compared then: while the right process is open, its number cannot be reused. */
    if (attempt->pidfd >= 0 && !attempt->ours && !helio_process_alive(attempt->shim)) {
        (void)close(attempt->pidfd);
        attempt->pidfd = -1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = attempt};
    if (attempt->pidfd >= 0 && epoll_ctl(self->epoll, EPOLL_CTL_ADD, attempt->pidfd, &event)) {
        (void)close(attempt->pidfd);
        attempt->pidfd = -1;
    }
}

/*  shim: pid 0 = it is gone. */
void helio_local_take_stray(helio_local_t *self, helio_local_attempt_t *attempt, helio_process_t shim)
{
    attempt->state = HELIO_LOCAL_STRAY;
    attempt->due_ms = 0;
    self->next_ms = 0;
    if (!shim.pid || attempt->pidfd >= 0)
        return;
    attempt->shim = shim;
    watch(self, attempt);
}

void helio_local_take(helio_local_t *self, helio_local_attempt_t *attempt, const helio_local_inspect_t *look)
{
    attempt->folder = look->folder;
    attempt->shim = look->shim;
    attempt->due_ms = 0;
    self->next_ms = 0;
    switch (look->found) {
    case HELIO_LOCAL_ABSENT:
        helio_local_say_end(attempt, HELIO_BACKEND_REPORT_ABSENT, HELIO_CAUSE_NONE, "");
        break;
    case HELIO_LOCAL_ALIVE:
        attempt->state = HELIO_LOCAL_SPAWNED;
        watch(self, attempt);
        break;
    case HELIO_LOCAL_DONE:
    case HELIO_LOCAL_DEAD:
        attempt->state = HELIO_LOCAL_LEFT;
        break;
    }
}

helio_local_attempt_t *helio_local_look_up(helio_local_t *self, helio_job_key_t key, uint32_t epoch,
                                           helio_local_found_t *ret_found)
{
    helio_local_attempt_t *attempt = helio_local_add(self, key, epoch);
    helio_local_inspect_t look;
    *ret_found = HELIO_LOCAL_DEAD;
    if (helio_local_inspect(self, attempt->held.name, &look, NULL)) {
        attempt->state = HELIO_LOCAL_LEFT;
        attempt->unseen = true;
        return attempt;
    }
    *ret_found = look.found;
    helio_local_take(self, attempt, &look);
    return attempt;
}

static helio_rc spawn_with(helio_local_t *self, helio_local_attempt_t *attempt, posix_spawn_file_actions_t *actions,
                           posix_spawnattr_t *attributes, helio_error_t *err)
{
    char folder[4096], log[4200];
    int size = snprintf(folder, sizeof folder, "%s/attempts/%s", self->options.state_dir, attempt->held.name);
    assert(size > 0 && (size_t)size < sizeof folder);
    (void)snprintf(log, sizeof log, "%s/shim.log", folder);
    sigset_t held, all;
    (void)sigemptyset(&held);
    (void)sigaddset(&held, SIGTERM);
    (void)sigaddset(&held, SIGINT);
    (void)sigaddset(&held, SIGUSR2);
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGKILL);
    (void)sigdelset(&all, SIGSTOP);
    /* Blocked from the first instruction on: a stop that comes before the shim listens stays pending. */
    (void)posix_spawnattr_setsigmask(attributes, &held);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)posix_spawn_file_actions_adddup2(actions, 1, 2);
    char name[] = "helio-shim";
    char *argv[] = {name, folder, NULL};
    char *env[] = {NULL};
    pid_t pid;
    int rc = posix_spawn(&pid, self->options.shim, actions, attributes, argv, env);
    if (rc)
        return helio_fail(err, HELIO_IO, "cannot run helio-shim: %s", strerror(rc));
    helio_process_info_t info = {.process = {.pid = pid}};
    (void)!helio_process_inspect(pid, &info); /* a child of this process: it exists until it is reaped */
    attempt->shim = info.process;
    return HELIO_OK;
}

helio_rc helio_local_spawn(helio_local_t *self, helio_local_attempt_t *attempt, helio_error_t *err)
{
    if (helio_folders_open(self->folders, attempt->held.name, &attempt->folder, NULL) || attempt->folder < 0)
        return helio_fail(err, HELIO_IO, "the attempt's folder cannot be opened");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    helio_rc rc = spawn_with(self, attempt, &actions, &attributes, err);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc)
        return rc;
    attempt->ours = attempt->spawned = true;
    attempt->state = HELIO_LOCAL_SPAWNED;
    watch(self, attempt);
    return HELIO_OK;
}

static void send_signal(const helio_local_attempt_t *attempt, int number)
{
    if (attempt->pidfd >= 0)
        (void)pidfd_send_signal(attempt->pidfd, number, NULL, 0);
    else if (attempt->shim.pid && (attempt->ours || helio_process_alive(attempt->shim)))
        (void)kill(attempt->shim.pid, number);
}

/*  A shim of an older release does nothing at a HUP. */
void helio_local_poke(const helio_local_attempt_t *attempt)
{
    if (attempt->state == HELIO_LOCAL_RUNNING)
        send_signal(attempt, SIGHUP);
}

/*  A shim that was stopped (SIGSTOP) reads nothing: it is continued as well. */
void helio_local_signal(helio_local_t *self, helio_local_attempt_t *attempt, uint32_t stop_mode)
{
    if (attempt->state == HELIO_LOCAL_STRAY)
        attempt->stray_stopping = attempt->stray_stopping || stop_mode == HELIO_STOP_MODE_KILL || !attempt->shim.pid;
    else if (attempt->state != HELIO_LOCAL_SPAWNED && attempt->state != HELIO_LOCAL_RUNNING)
        return;
    attempt->told = stop_mode == HELIO_STOP_MODE_KILL ? SIGUSR2 : SIGTERM;
    attempt->answer_boot_ms = 0;
    attempt->due_ms = self->next_ms = 0;
    send_signal(attempt, attempt->told);
    send_signal(attempt, SIGCONT);
}

/* ---- what is due --------------------------------------------------------------------------------------- */

/*  True once it has ended; reaps it if it is a child. */
static bool shim_is_gone(helio_local_attempt_t *attempt)
{
    if (attempt->ours) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)attempt->shim.pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
            return false;
        attempt->ours = false;
        return true;
    }
    return !helio_process_alive(attempt->shim);
}

static bool runs(const helio_local_attempt_t *attempt)
{
    helio_started_t started;
    if (helio_folder_started(attempt->folder, &started, NULL))
        return false;
    for (uint32_t i = 0; i < started.rank_count; i++)
        if (helio_process_alive(started.ranks[i]))
            return true;
    return false;
}

/*  A shim that has left the signal of a stop unread while its ranks run (it is traced, or frozen) enforces nothing. It
 *  is killed, and what it ran is ended as after any death of a shim. One without ranks may be writing its `done`. */
static void look_for_answer(helio_local_attempt_t *attempt, int64_t now_boot_ms)
{
    if (!attempt->told)
        return;
    if (!attempt->answer_boot_ms)
        attempt->answer_boot_ms = now_boot_ms + ANSWER_MS;
    if (now_boot_ms >= attempt->answer_boot_ms) {
        if (helio_process_has_pending(attempt->shim, attempt->told) && runs(attempt))
            send_signal(attempt, SIGKILL);
        attempt->told = 0;
    } else if (attempt->due_ms > attempt->answer_boot_ms)
        attempt->due_ms = attempt->answer_boot_ms;
}

static const char *why_lost(const helio_local_inspect_t *look)
{
    if (look->done_damaged)
        return "its status file `done` is damaged";
    return look->other_boot ? "the machine was restarted" : "helio-shim was killed";
}

/*  Wall clock: the last proof of life that the folder keeps; 0 = none. */
static int64_t last_beat_wall_ms(int folder)
{
    int64_t ns;
    return helio_folder_beat(folder, &ns) ? 0 : ns / 1000000;
}

/*  It left no end. It ran from its start to the last proof of life: the agent's own observation by one clock, or, if
 *  it died while no agent watched, the shim's last sign of life. NOT_FOUND, INVALID: it never began, as far as
 *  anything tells. IO: unknown now. */
static helio_rc estimate_run(helio_local_attempt_t *attempt, bool other_boot)
{
    helio_started_t started;
    helio_rc rc = helio_folder_started(attempt->folder, &started, NULL);
    if (rc || !started.wall_ms)
        return rc ? rc : HELIO_NOT_FOUND;
    int64_t ran_ms = last_beat_wall_ms(attempt->folder) - started.wall_ms;
    if (!other_boot && attempt->alive_boot_ms && started.boot_ms)
        ran_ms = attempt->alive_boot_ms - started.boot_ms;
    attempt->end.started_wall_ms = started.wall_ms;
    attempt->end.run_ms = ran_ms > 0 ? (uint64_t)ran_ms : 1; /* it ran */
    attempt->end.ended_wall_ms = started.wall_ms + (int64_t)attempt->end.run_ms;
    attempt->end.estimated = true;
    return HELIO_OK;
}

/*  Its shim is gone: the folder says how that is to be read. */
static void look_again(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms)
{
    helio_local_inspect_t look;
    helio_error_t err = {0};
    if (helio_local_inspect(self, attempt->held.name, &look, &err)) {
        attempt->due_ms = now_boot_ms + AGAIN_MS;
        return;
    }
    attempt->unseen = false;
    if (attempt->folder >= 0)
        (void)close(attempt->folder);
    attempt->folder = look.folder;
    switch (look.found) {
    case HELIO_LOCAL_ABSENT:
        if (attempt->spawned)
            helio_local_say_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_START_FAILED,
                                "helio-shim ended before it began");
        else
            helio_local_say_end(attempt, HELIO_BACKEND_REPORT_ABSENT, HELIO_CAUSE_NONE, "");
        return;
    case HELIO_LOCAL_DONE:
        say_done(attempt, &look.done);
        return;
    case HELIO_LOCAL_ALIVE: /* another shim has claimed it */
        attempt->shim = look.shim;
        attempt->state = attempt->state == HELIO_LOCAL_LEFT ? HELIO_LOCAL_SPAWNED : attempt->state;
        watch(self, attempt);
        return;
    case HELIO_LOCAL_DEAD:
        break;
    }
    if (!look.other_boot && !helio_leftovers_kill(attempt->folder)) {
        attempt->alive_boot_ms = now_boot_ms;
        attempt->due_ms = now_boot_ms + LEFT_MS;
        return;
    }
    helio_rc ran = estimate_run(attempt, look.other_boot);
    if (ran == HELIO_IO)
        attempt->due_ms = now_boot_ms + AGAIN_MS;
    else if (ran == HELIO_OK)
        helio_local_say_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED, why_lost(&look));
    else
        helio_local_say_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_START_FAILED,
                            look.done_damaged ? why_lost(&look) : "helio-shim was killed");
}

/*  STARTED is reported before any end of an attempt that ran. */
static void say_started(helio_local_t *self, helio_local_attempt_t *attempt, int64_t wall_ms)
{
    attempt->said_started = true;
    say(self, attempt, (helio_aev_backend_t){.word = HELIO_BACKEND_REPORT_STARTED, .started_wall_ms = wall_ms});
}

static void look_for_start(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms)
{
    int64_t wall_ms =
        helio_status_file_exists(attempt->folder, "started") ? helio_local_started_wall_ms(attempt->folder) : 0;
    if (!wall_ms) {
        attempt->due_ms = now_boot_ms + (attempt->looks++ < STARTED_LOOKS ? STARTED_LOOK_MS : STARTED_SLOW_MS);
        return;
    }
    attempt->state = HELIO_LOCAL_RUNNING;
    attempt->due_ms = attempt->pidfd >= 0 ? INT64_MAX : now_boot_ms + NO_PIDFD_MS;
    say_started(self, attempt, wall_ms);
}

static void finish(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_wall_ms)
{
    bool ran = attempt->end.word == HELIO_BACKEND_REPORT_ENDED || attempt->end.word == HELIO_BACKEND_REPORT_VANISHED;
    if (ran && !attempt->said_started)
        say_started(self, attempt, attempt->end.started_wall_ms);
    if (self->options.energy_give) {
        int64_t ended_ms = attempt->end.ended_wall_ms ? attempt->end.ended_wall_ms : now_wall_ms;
        attempt->end.energy_j = self->options.energy_give(self->options.energy_arg, attempt->held.name, ran, ended_ms);
    }
    helio_local_unlink(self, attempt); /* before the report: the reply can be another start of it */
    attempt->end.explanation = helio_text_of(attempt->explanation);
    say(self, attempt, attempt->end);
    helio_local_free(attempt);
}

/*  How it ended is unknown: only that nothing of it runs any more, and since when and until when something of it
 *  did. */
static void serve_stray(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms, int64_t now_wall_ms)
{
    bool gone = helio_local_stray_is_gone(self, attempt);
    int64_t began_boot_ms = attempt->stray_began_boot_ms ? attempt->stray_began_boot_ms : now_boot_ms;
    int64_t began_wall_ms = now_wall_ms - (now_boot_ms - began_boot_ms);
    if (!attempt->said_started)
        say_started(self, attempt, began_wall_ms);
    if (!gone) {
        attempt->due_ms = now_boot_ms + AGAIN_MS;
        return;
    }
    if (attempt->stray_began_boot_ms) {
        int64_t ran_ms = attempt->alive_boot_ms - began_boot_ms;
        attempt->end.started_wall_ms = began_wall_ms;
        attempt->end.run_ms = ran_ms > 0 ? (uint64_t)ran_ms : 1; /* it ran */
        attempt->end.ended_wall_ms = began_wall_ms + (int64_t)attempt->end.run_ms;
        attempt->end.estimated = true;
    }
    helio_local_say_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED, "its folder was removed");
}

void helio_local_serve(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms, int64_t now_wall_ms)
{
    if (attempt->state == HELIO_LOCAL_STRAY)
        serve_stray(self, attempt, now_boot_ms, now_wall_ms);
    if (attempt->state == HELIO_LOCAL_SPAWNED || attempt->state == HELIO_LOCAL_RUNNING) {
        if (shim_is_gone(attempt)) {
            if (attempt->pidfd >= 0)
                (void)close(attempt->pidfd);
            attempt->pidfd = -1;
            attempt->alive_boot_ms = now_boot_ms; /* until now, as far as this agent saw */
            attempt->state = HELIO_LOCAL_LEFT;
        } else if (attempt->state == HELIO_LOCAL_SPAWNED) {
            look_for_start(self, attempt, now_boot_ms);
        } else {
            attempt->due_ms = attempt->pidfd >= 0 ? INT64_MAX : now_boot_ms + NO_PIDFD_MS;
        }
        look_for_answer(attempt, now_boot_ms);
    }
    if (attempt->state == HELIO_LOCAL_LEFT)
        look_again(self, attempt, now_boot_ms);
    if (attempt->state == HELIO_LOCAL_OVER)
        finish(self, attempt, now_wall_ms);
}
