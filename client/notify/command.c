/*  command.c -- starts a program and hears of its end. */
#include "client/notify/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/notify/core/reply.h"
#include "federation/base/file.h"

enum { VARIABLES_MAX = 32 };

typedef struct variables {
    char *items[VARIABLES_MAX + 1];
    int count;
} variables_t;

static void variables_clear(variables_t *self)
{
    for (int i = 0; i < self->count; i++)
        free(self->items[i]);
}

static void add(variables_t *self, const char *name, const char *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_printf(&text, "%s=%s", name, value);
    for (size_t i = 0; i < text.size; i++) /* they can become headers of a mail */
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            text.data[i] = ' ';
    if (self->count < VARIABLES_MAX)
        self->items[self->count++] = helio_strdup(text.data);
}

/*  None of its own HELIO_ variables: one of them can hold the token. */
static void keep(variables_t *self, char *const *environment)
{
    static const char *const kept[] = {"PATH=", "HOME=", "LANG=", "LC_ALL=", "TZ=", "TMPDIR="};
    for (char *const *at = environment; at && *at; at++)
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            if (strncmp(*at, kept[i], strlen(kept[i])) == 0 && self->count < VARIABLES_MAX)
                self->items[self->count++] = helio_strdup(*at);
}

static void describe(variables_t *self, const char *id, helio_text_t message)
{
    static const struct {
        const char *variable, *key;
    } of_job[] = {{"HELIO_JOB", "id"},    {"HELIO_JOB_NAME", "name"}, {"HELIO_JOB_STATE", "state"},
                  {"HELIO_USER", "user"}, {"HELIO_TENANT", "tenant"}, {"HELIO_QUEUE", "queue"},
                  {"HELIO_SITE", "site"}};
    json_t *parsed = json_loadb(message.data, message.size, 0, NULL);
    const json_t *job = json_object_get(parsed, "job"), *budget = json_object_get(parsed, "budget");
    add(self, "HELIO_EVENT", helio_reply_text(parsed, "event"));
    add(self, "HELIO_EVENT_ID", id);
    add(self, "HELIO_EVENT_AT", helio_reply_text(parsed, "at"));
    add(self, "HELIO_TEXT", helio_reply_text(parsed, "text"));
    for (size_t i = 0; i < sizeof of_job / sizeof of_job[0]; i++) {
        const char *value = helio_reply_text(job ? job : budget, of_job[i].key);
        if (*value)
            add(self, of_job[i].variable, value);
    }
    json_decref(parsed);
}

/*  A file without a name that begins with the body; -1: errno says why. */
static int file_of(helio_text_t body)
{
    int fd = memfd_create("helio-notify", MFD_CLOEXEC);
    if (fd >= 0 && (!helio_write_all(fd, body.data, body.size) || lseek(fd, 0, SEEK_SET) != 0))
        helio_close(&fd);
    return fd;
}

static int spawn(const char *const *argv, char *const *environment, int input, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
        abort();
    int code = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    code = code ? code : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    code = code ? code : posix_spawnattr_setpgroup(&attributes, 0);
    code = code ? code : posix_spawnattr_setsigmask(&attributes, &none);
    code = code ? code : posix_spawnattr_setsigdefault(&attributes, &all);
    code = code ? code
                : posix_spawnattr_setflags(&attributes,
                                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    code = code ? code
                : posix_spawnp(ret_pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return code;
}

helio_rc helio_notify_child_start(const char *const *argv, char *const *environment, const char *id,
                                  helio_text_t message, helio_text_t body, int64_t end_ms,
                                  helio_notify_child_t *ret_child, helio_error_t *err)
{
    helio_notify_child_t child = {.pidfd = -1, .end_ms = end_ms};
    HELIO_AUTO(variables_clear) variables_t variables = {.count = 0};
    keep(&variables, environment);
    describe(&variables, id, message);
    HELIO_AUTO(helio_close) int input = file_of(body);
    if (input < 0)
        return helio_fail(err, HELIO_IO, "no file for the body: %s", strerror(errno));
    int code = spawn(argv, variables.items, input, &child.pid);
    if (code)
        return helio_fail(err, HELIO_IO, "the command cannot be run: %s", strerror(code));
    child.pidfd = pidfd_open(child.pid, 0);
    if (child.pidfd < 0) {
        code = errno;
        helio_notify_child_kill(&child);
        return helio_fail(err, HELIO_IO, "the command cannot be watched: %s", strerror(code));
    }
    *ret_child = child;
    return HELIO_OK;
}

bool helio_notify_child_ended(helio_notify_child_t *self, int *ret_status)
{
    int status;
    pid_t pid = waitpid(self->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return false;
    helio_close(&self->pidfd);
    *ret_status = pid < 0 ? 255 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

void helio_notify_child_kill(helio_notify_child_t *self)
{
    (void)kill(-self->pid, SIGKILL);
    while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    helio_close(&self->pidfd);
}
