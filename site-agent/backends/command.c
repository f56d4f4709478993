/*  command.c -- the queue of commands, their output, their deadlines and their ends. */
#include "site-agent/backends/command.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/file.h"
#include "site-agent/backends/command_internal.h"

enum {
    COMPLAINT_MAX = 4096,
    POLITE_MS = 2000, /* from TERM to KILL, and from KILL until the command no longer waits for it */
    STUCK_MAX = 32,   /* children that outlived KILL (a dead file system): with this many, nothing new is run */
    PIECE = 65536,
    PIECES_AT_ONCE =
        64 /* a command that writes faster than they are read must not keep its deadline, or the agent, waiting */
};

typedef helio_child_t child_t;

struct helio_commands {
    char *path;
    char **env;
    uint32_t at_once, queue_max;
    int epoll;
    child_t *waiting, *running, *stuck;
    child_t *left; /* over, and others of their group are not */
    uint32_t waiting_count, running_count, stuck_count;
    uint64_t left_behind;
};

/* ---- texts --------------------------------------------------------------------------------------------- */

/*  One block: the pointers, then the bytes that they point to. */
static char **copy_texts(const char *const *first, const char *const *second)
{
    size_t count = 0, bytes = 0;
    for (const char *const *at = first; at && *at; at++, count++)
        bytes += strlen(*at) + 1;
    for (const char *const *at = second; at && *at; at++, count++)
        bytes += strlen(*at) + 1;
    char **texts = helio_new(1, (count + 1) * sizeof *texts + bytes);
    char *end = (char *)(texts + count + 1);
    size_t i = 0;
    for (int list = 0; list < 2; list++)
        for (const char *const *at = list ? second : first; at && *at; at++) {
            size_t size = strlen(*at) + 1;
            memcpy(end, *at, size);
            texts[i++] = end;
            end += size;
        }
    return texts;
}

static void free_child(child_t *child)
{
    helio_close(&child->pidfd);
    helio_close(&child->out);
    helio_close(&child->err);
    helio_close(&child->trouble);
    helio_buffer_clear(&child->output);
    helio_buffer_clear(&child->complaint);
    free(child->argv);
    free(child->env);
    free(child->input);
    free(child->user);
    free(child);
}

static void unlink_child(child_t **list, child_t *child)
{
    while (*list != child)
        list = &(*list)->next;
    *list = child->next;
    child->next = NULL;
}

/* ---- running one --------------------------------------------------------------------------------------- */

static void watch(const helio_commands_t *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event);
}

static helio_rc spawn(helio_commands_t *self, child_t *child, helio_error_t *err)
{
    helio_rc rc = helio_child_spawn(child, self->path, err);
    if (rc)
        return rc;
    watch(self, child->out);
    watch(self, child->err);
    if (child->pidfd >= 0)
        watch(self, child->pidfd);
    return HELIO_OK;
}

/* ---- hearing it ---------------------------------------------------------------------------------------- */

/*  Reads what has arrived, up to a bound; the rest is read at the next look. Closes the descriptor at its end. True when output was cut. */
static bool hear(int *fd, helio_buffer_t *into, size_t max)
{
    char piece[PIECE];
    bool cut = false;
    for (int i = 0; i < PIECES_AT_ONCE && *fd >= 0; i++) {
        ssize_t size = read(*fd, piece, sizeof piece);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            break;
        if (size <= 0) {
            helio_close(fd);
            break;
        }
        size_t room = max - into->size, take = (size_t)size < room ? (size_t)size : room;
        helio_buffer_append(into, piece, take);
        cut = cut || take < (size_t)size;
    }
    return cut;
}

static void listen_to(child_t *child)
{
    if (hear(&child->out, &child->output, child->max_bytes))
        child->truncated = true;
    (void)hear(&child->err, &child->complaint, COMPLAINT_MAX);
}

static int exit_code_of(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED ? info->si_status & 255 : 128 + info->si_status;
}

/*  Waits without reaping first, so that the group's number cannot be reused until the group is killed. */
static bool is_over(child_t *child, int *ret_exit_code)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0)
        return false;
    *ret_exit_code = exit_code_of(&info);
    if (child->timed_out)
        (void)kill(-child->pid, SIGKILL);
    (void)waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG);
    return true;
}

/*  After its end. While others are in its group, the kernel gives its number to no new process; if one has it, they are
 *  gone, and the group of that number is not ours. */
static bool leaves_others(const child_t *child)
{
#ifdef HELIO_MUTANT_left_running
    return false;
#endif
    return child->left_ms && kill(child->pid, 0) && errno == ESRCH && kill(-child->pid, 0) == 0;
}

static helio_text_t bounded_view(const helio_buffer_t *buffer)
{
    helio_text_t view = helio_buffer_view(buffer);
    return view.data ? view : HELIO_TEXT("");
}

static void tell(child_t *child, helio_command_result_t *result, int64_t now_ms)
{
    int why = 0;
    char text[300];
    if (child->trouble >= 0 && read(child->trouble, &why, sizeof why) == (ssize_t)sizeof why) {
        (void)snprintf(text, sizeof text, "cannot run '%.200s': %s", child->argv[0], strerror(why));
        result->spawned = false;
        result->complaint = helio_text_of(text);
    }
    if (result->spawned) {
        result->out = bounded_view(&child->output);
        result->complaint = bounded_view(&child->complaint);
        result->timed_out = child->timed_out;
        result->truncated = child->truncated;
        result->took_ms = now_ms > child->began_ms ? now_ms - child->began_ms : 0;
    }
    if (child->done)
        child->done(child->arg, result);
    child->done = NULL;
}

/*  It exceeded its time: TERM, then KILL; then its end is reported without waiting for it. */
static void urge(helio_commands_t *self, child_t *child, int64_t now_ms)
{
    if (now_ms < child->due_ms)
        return;
    child->due_ms = now_ms + POLITE_MS;
    if (!child->timed_out) {
        child->timed_out = true;
        (void)kill(-child->pid, SIGTERM);
    } else if (!child->killed) {
        child->killed = true;
        (void)kill(-child->pid, SIGKILL);
    } else {
        unlink_child(&self->running, child);
        self->running_count--;
        child->next = self->stuck;
        self->stuck = child;
        self->stuck_count++;
        helio_close(&child->out);
        helio_close(&child->err);
        tell(child, &(helio_command_result_t){.spawned = true, .exit_code = 128 + SIGKILL}, now_ms);
    }
}

static void serve(helio_commands_t *self, child_t *child, int64_t now_ms)
{
    helio_command_result_t result = {.spawned = true};
    listen_to(child);
    if (!is_over(child, &result.exit_code)) {
        urge(self, child, now_ms);
        return;
    }
    listen_to(child); /* what it wrote before its end has arrived; output of its own children is not waited for */
    unlink_child(&self->running, child);
    self->running_count--;
    tell(child, &result, now_ms);
    if (!leaves_others(child)) {
        free_child(child);
        return;
    }
    child->due_ms = now_ms + (int64_t)child->left_ms;
    child->next = self->left;
    self->left = child;
}

static void end_left(helio_commands_t *self, int64_t now_ms)
{
    for (child_t *child = self->left, *next; child; child = next) {
        next = child->next;
        bool gone = !leaves_others(child);
        if (!gone && now_ms < child->due_ms)
            continue;
        if (!gone) {
            (void)kill(-child->pid, SIGKILL);
            self->left_behind++;
        }
        unlink_child(&self->left, child);
        free_child(child);
    }
}

static void reap_stuck(helio_commands_t *self)
{
    for (child_t *child = self->stuck, *next; child; child = next) {
        int code;
        next = child->next;
        if (!is_over(child, &code))
            continue;
        unlink_child(&self->stuck, child);
        self->stuck_count--;
        free_child(child);
    }
}

static bool may_start(const helio_commands_t *self)
{
    return self->waiting && self->running_count < self->at_once && self->stuck_count < STUCK_MAX;
}

static void start_next(helio_commands_t *self, int64_t now_ms)
{
    child_t *child = self->waiting;
    helio_error_t err = {0};
    unlink_child(&self->waiting, child);
    self->waiting_count--;
    child->began_ms = now_ms;
    child->due_ms = now_ms + (int64_t)child->timeout_ms;
    if (spawn(self, child, &err) == HELIO_OK) {
        child->next = self->running;
        self->running = child;
        self->running_count++;
        return;
    }
    helio_command_result_t result = {.complaint = helio_text_of(err.text)};
    tell(child, &result, now_ms);
    free_child(child);
}

/* ---- called by the loop ------------------------------------------------------------------------------------- */

void helio_commands_process(helio_commands_t *self, int64_t now_boot_ms)
{
    /*  A `done` can queue and drop, but neither starts nor frees: only this function changes the list of running
     *  commands. */
    for (child_t *child = self->running, *next; child; child = next) {
        next = child->next;
        serve(self, child, now_boot_ms);
    }
    reap_stuck(self);
    end_left(self, now_boot_ms);
    for (uint32_t i = self->waiting_count; i && may_start(self);
         i--) /* a command that cannot be run may queue another in its `done` */
        start_next(self, now_boot_ms);
}

int helio_commands_fd(const helio_commands_t *self)
{
    return self->epoll;
}

int64_t helio_commands_next_ms(const helio_commands_t *self)
{
    if (may_start(self))
        return 0;
    int64_t next = INT64_MAX;
    for (const child_t *child = self->running; child; child = child->next)
        next = child->due_ms < next ? child->due_ms : next;
    for (const child_t *child = self->left; child; child = child->next)
        next = child->due_ms < next ? child->due_ms : next;
    return next;
}

uint64_t helio_commands_left_behind(const helio_commands_t *self)
{
    return self->left_behind;
}

uint32_t helio_commands_busy(const helio_commands_t *self)
{
    return self->waiting_count + self->running_count;
}

helio_rc helio_commands_run(helio_commands_t *self, const helio_command_t *command, bool urgent, helio_error_t *err)
{
    assert(command->argv && command->argv[0] && command->max_bytes);
    size_t args = 0;
    while (command->argv[args])
        args++;
    if (args > HELIO_COMMAND_ARGS_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "more than %d arguments", (int)HELIO_COMMAND_ARGS_MAX);
    if (self->waiting_count >= self->queue_max)
        return helio_fail(err, HELIO_BUSY, "%u commands wait already", self->waiting_count);
    child_t *child = helio_new(1, sizeof *child);
    child->pidfd = child->out = child->err = child->trouble = -1;
    child->argv = copy_texts(command->argv, NULL);
    child->env = copy_texts((const char *const *)self->env, command->env);
    child->input_size = command->input.size;
    child->input = helio_new(1, child->input_size + 1);
    if (child->input_size)
        memcpy(child->input, command->input.data, child->input_size);
    child->timeout_ms = command->timeout_ms;
    child->left_ms = command->left_ms;
    child->max_bytes = command->max_bytes;
    child->output.max = command->max_bytes + 1;
    child->complaint.max = COMPLAINT_MAX + 1;
    child->done = command->done;
    child->arg = command->arg;
    child->as = command->as;
    child->user = command->as.name ? helio_strdup(command->as.name) : NULL;
    child->as.name = NULL;
    child->urgent = urgent;
    child_t **at = &self->waiting;
    while (*at && (!urgent || (*at)->urgent))
        at = &(*at)->next;
    child->next = *at;
    *at = child;
    self->waiting_count++;
    return HELIO_OK;
}

void helio_commands_drop(helio_commands_t *self, const void *arg)
{
    for (child_t **at = &self->waiting; *at;) {
        child_t *child = *at;
        if (child->arg != arg) {
            at = &child->next;
            continue;
        }
        *at = child->next;
        self->waiting_count--;
        free_child(child);
    }
    for (child_t *child = self->running; child; child = child->next)
        if (child->arg == arg)
            child->done = NULL;
}

/* ---- creation and end --------------------------------------------------------------------------------------- */

helio_rc helio_commands_new(const helio_commands_options_t *options, helio_commands_t **ret_commands,
                            helio_error_t *err)
{
    assert(options->at_once);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno));
    helio_commands_t *self = helio_new(1, sizeof *self);
    self->epoll = epoll;
    self->path = helio_strdup(options->path);
    self->at_once = options->at_once;
    self->queue_max = options->queue_max;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "PATH=%s", options->path);
    const char *const own[] = {path.data, NULL};
    self->env = copy_texts(options->env, own);
    *ret_commands = self;
    return HELIO_OK;
}

void helio_commands_destroy(helio_commands_t **self_p)
{
    helio_commands_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    for (child_t *child; (child = self->running);) {
        self->running = child->next;
        (void)kill(-child->pid, SIGKILL);
        siginfo_t info; /* a child that does not die now is reaped by the parent of this process */
        (void)waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG);
        free_child(child);
    }
    for (child_t *child; (child = self->left);) {
        self->left = child->next;
        if (leaves_others(child))
            (void)kill(-child->pid, SIGKILL);
        free_child(child);
    }
    for (child_t *child; (child = self->waiting);) {
        self->waiting = child->next;
        free_child(child);
    }
    for (child_t *child; (child = self->stuck);) {
        self->stuck = child->next;
        free_child(child);
    }
    (void)close(self->epoll);
    free(self->path);
    free(self->env);
    free(self);
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

typedef struct waited {
    helio_rc rc;
    bool over;
    int exit_code;
    helio_buffer_t *out, *complaint;
    helio_error_t *err;
} waited_t;

static void on_waited(void *arg, const helio_command_result_t *result)
{
    waited_t *waited = arg;
    waited->over = true;
    waited->exit_code = result->exit_code;
    if (result->out.size)
        helio_buffer_append(waited->out, result->out.data, result->out.size);
    if (waited->complaint && result->complaint.size)
        helio_buffer_append(waited->complaint, result->complaint.data, result->complaint.size);
    if (!result->spawned)
        waited->rc = helio_fail(waited->err, HELIO_NOT_FOUND, "%.*s", HELIO_TEXT_ARGS(result->complaint));
    else if (result->timed_out)
        waited->rc = helio_fail(waited->err, HELIO_TIMEOUT, "no answer within its time");
    else if (result->truncated)
        waited->rc = helio_fail(waited->err, HELIO_TOO_BIG, "more output than was asked for");
}

helio_rc helio_command_wait(const helio_commands_options_t *options, const helio_command_t *command, int *ret_exit_code,
                            helio_buffer_t *out, helio_buffer_t *complaint, helio_error_t *err)
{
    helio_commands_t *commands = NULL;
    helio_rc rc = helio_commands_new(options, &commands, err);
    if (rc)
        return rc;
    waited_t waited = {.out = out, .complaint = complaint, .err = err};
    helio_command_t mine = *command;
    mine.done = on_waited;
    mine.arg = &waited;
    rc = helio_commands_run(commands, &mine, false, err);
    while (!rc && !waited.over) {
        int64_t now_ms = helio_clock_boot_ms(), next_ms = helio_commands_next_ms(commands);
        int64_t left_ms = next_ms > now_ms ? next_ms - now_ms : 0;
        struct pollfd poll_fd = {.fd = commands->epoll, .events = POLLIN};
        (void)poll(&poll_fd, 1, left_ms < 1000 ? (int)left_ms : 1000);
        helio_commands_process(commands, helio_clock_boot_ms());
    }
    helio_commands_destroy(&commands);
    if (rc || waited.rc)
        return rc ? rc : waited.rc;
    *ret_exit_code = waited.exit_code;
    return HELIO_OK;
}
