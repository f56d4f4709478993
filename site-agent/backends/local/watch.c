/*  watch.c -- one attempt under the eyes of the agent: its shim by pidfd, its status files when something
 *  happened. The folder is the truth; what is held here is only what has still to be said.
 */
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
#include "site-agent/backends/local/inner.h"

enum {
    STARTED_LOOK_MS = 10, /* until the mark is there; a shim needs a few syncs of the disk */
    STARTED_LOOKS = 100,
    STARTED_SLOW_MS = 200,
    NO_PIDFD_MS = 1000,
    LEFT_MS = 50,
    AGAIN_MS = 1000
};

/* ---- the list ------------------------------------------------------------------------------------------ */

static helio_local_attempt_t **bucket_of(const helio_local_t *self, helio_job_key_t key, uint32_t epoch)
{
    uint64_t hash = helio_attempt_hash(key, epoch);
    return (helio_local_attempt_t **)(uintptr_t)&self->buckets[hash % HELIO_LOCAL_BUCKETS];
}

helio_local_attempt_t *helio_local_find(const helio_local_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_local_attempt_t *attempt = *bucket_of(self, key, epoch);
    while (attempt && !(attempt->epoch == epoch && helio_job_key_equal(attempt->key, key)))
        attempt = attempt->next;
    return attempt;
}

helio_local_attempt_t *helio_local_add(helio_local_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_local_attempt_t *attempt = helio_new(1, sizeof *attempt);
    attempt->key = key;
    attempt->epoch = epoch;
    attempt->folder = attempt->pidfd = -1;
    helio_attempt_name(key, epoch, attempt->name);
    helio_local_attempt_t **bucket = bucket_of(self, key, epoch);
    attempt->next = *bucket;
    *bucket = attempt;
    attempt->after = self->first;
    if (self->first)
        self->first->before = attempt;
    self->first = attempt;
    self->next_ms = 0;
    return attempt;
}

void helio_local_unlink(helio_local_t *self, helio_local_attempt_t *attempt)
{
    helio_local_attempt_t **link = bucket_of(self, attempt->key, attempt->epoch);
    while (*link != attempt)
        link = &(*link)->next;
    *link = attempt->next;
    if (attempt->before)
        attempt->before->after = attempt->after;
    else
        self->first = attempt->after;
    if (attempt->after)
        attempt->after->before = attempt->before;
}

void helio_local_free(helio_local_attempt_t *attempt)
{
    if (attempt->folder >= 0)
        (void)close(attempt->folder);
    if (attempt->pidfd >= 0)
        (void)close(attempt->pidfd); /* leaves the epoll by itself: there is no other descriptor for it */
    free(attempt);
}

/* ---- what there is to say ------------------------------------------------------------------------------ */

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
    attempt->end = (helio_aev_backend_t){
        .exit_code = done->exit_code,
        .limit_reached = done->limit_reached,
        .stopped = done->stopped,
        .started_wall_ms = done->started_wall_ms,
        .ended_wall_ms = done->ended_wall_ms,
        .run_ms = done->run_ms,
    };
    if (!done->failed) {
        helio_progress_t progress = helio_folder_progress(attempt->folder, done);
        attempt->end.units_done = progress.units;
        attempt->end.saved_run_ms = progress.saved_run_ms;
    }
    helio_local_say_end(attempt, done->failed ? HELIO_BACKEND_REPORT_FAILED_TO_START : HELIO_BACKEND_REPORT_ENDED,
                        done->cause, done->explanation);
    attempt->end.ended_wall_ms = done->ended_wall_ms;
}

static void say(helio_local_t *self, helio_local_attempt_t *attempt, helio_aev_backend_t event)
{
    event.key = attempt->key;
    event.epoch = attempt->epoch;
    event.local_id = helio_text_of(attempt->name);
    self->options.sink.on_event(self->options.sink.arg, &event);
}

/* ---- taking up ----------------------------------------------------------------------------------------- */

static void watch(helio_local_t *self, helio_local_attempt_t *attempt)
{
    attempt->pidfd = pidfd_open(attempt->shim.pid, 0);
    /* Opened first and compared then: the number cannot be given to another while we hold the right one. */
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

static helio_rc spawn_with(helio_local_t *self, helio_local_attempt_t *attempt,
                           posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                           helio_error_t *err)
{
    char folder[4096], log[4200];
    int size = snprintf(folder, sizeof folder, "%s/attempts/%s", self->options.state_dir, attempt->name);
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
    /* Held from the first instruction on: a stop that comes before the shim listens waits for it. */
    (void)posix_spawnattr_setsigmask(attributes, &held);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setflags(attributes,
                                   POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
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
    (void)!helio_process_inspect(pid, &info); /* our child: there until we reap it */
    attempt->shim = info.process;
    return HELIO_OK;
}

helio_rc helio_local_spawn(helio_local_t *self, helio_local_attempt_t *attempt, helio_error_t *err)
{
    if (helio_folders_open(self->folders, attempt->name, &attempt->folder, NULL) || attempt->folder < 0)
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

void helio_local_signal(helio_local_attempt_t *attempt, uint32_t stop_mode)
{
    if (attempt->state != HELIO_LOCAL_SPAWNED && attempt->state != HELIO_LOCAL_RUNNING)
        return;
    int number = stop_mode == HELIO_STOP_MODE_KILL ? SIGUSR2 : SIGTERM;
    if (attempt->pidfd >= 0)
        (void)pidfd_send_signal(attempt->pidfd, number, NULL, 0);
    else if (attempt->ours || helio_process_alive(attempt->shim))
        (void)kill(attempt->shim.pid, number);
}

/* ---- what is due --------------------------------------------------------------------------------------- */

/*  True once it is gone; a child of ours is reaped with that. */
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

/*  Its shim is gone: the folder says how that is to be read. */
static void look_again(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms)
{
    helio_local_inspect_t look;
    helio_error_t err = {0};
    if (helio_local_inspect(self, attempt->name, &look, &err)) {
        attempt->due_ms = now_boot_ms + AGAIN_MS;
        return;
    }
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
    case HELIO_LOCAL_ALIVE: /* another shim has it */
        attempt->shim = look.shim;
        attempt->state = attempt->state == HELIO_LOCAL_LEFT ? HELIO_LOCAL_SPAWNED : attempt->state;
        watch(self, attempt);
        return;
    case HELIO_LOCAL_DEAD:
        break;
    }
    if (!look.other_boot && !helio_local_kill_left(attempt->folder)) {
        attempt->due_ms = now_boot_ms + LEFT_MS;
        return;
    }
    attempt->end.started_wall_ms = helio_local_started_wall_ms(attempt->folder);
    if (attempt->end.started_wall_ms)
        helio_local_say_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                            look.other_boot ? "the machine was restarted" : "helio-shim was killed");
    else
        helio_local_say_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_START_FAILED,
                            "helio-shim was killed");
}

/*  STARTED is said before any end of an attempt that ran. */
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
        attempt->due_ms =
            now_boot_ms + (attempt->looks++ < STARTED_LOOKS ? STARTED_LOOK_MS : STARTED_SLOW_MS);
        return;
    }
    attempt->state = HELIO_LOCAL_RUNNING;
    attempt->due_ms = attempt->pidfd >= 0 ? INT64_MAX : now_boot_ms + NO_PIDFD_MS;
    say_started(self, attempt, wall_ms);
}

static void finish(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_wall_ms)
{
    bool ran =
        attempt->end.word == HELIO_BACKEND_REPORT_ENDED || attempt->end.word == HELIO_BACKEND_REPORT_VANISHED;
    if (ran && !attempt->said_started)
        say_started(self, attempt, attempt->end.started_wall_ms);
    if (self->options.energy_give) {
        bool known = attempt->end.word == HELIO_BACKEND_REPORT_ENDED;
        int64_t ended_ms = attempt->end.ended_wall_ms ? attempt->end.ended_wall_ms : now_wall_ms;
        attempt->end.energy_j = self->options.energy_give(self->options.energy_arg, attempt->name, known, ended_ms);
    }
    helio_local_unlink(self, attempt); /* before it is said: the answer may be another start of it */
    attempt->end.explanation = helio_text_of(attempt->explanation);
    say(self, attempt, attempt->end);
    helio_local_free(attempt);
}

void helio_local_serve(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms,
                       int64_t now_wall_ms)
{
    if (attempt->state == HELIO_LOCAL_SPAWNED || attempt->state == HELIO_LOCAL_RUNNING) {
        if (shim_is_gone(attempt)) {
            if (attempt->pidfd >= 0)
                (void)close(attempt->pidfd);
            attempt->pidfd = -1;
            attempt->state = HELIO_LOCAL_LEFT;
        } else if (attempt->state == HELIO_LOCAL_SPAWNED) {
            look_for_start(self, attempt, now_boot_ms);
        } else {
            attempt->due_ms = attempt->pidfd >= 0 ? INT64_MAX : now_boot_ms + NO_PIDFD_MS;
        }
    }
    if (attempt->state == HELIO_LOCAL_LEFT)
        look_again(self, attempt, now_boot_ms);
    if (attempt->state == HELIO_LOCAL_OVER)
        finish(self, attempt, now_wall_ms);
}
