/*  mps.c -- finds the daemon of a pool, or starts it. */
#include "site-agent/agent/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/shim/process.h"

enum { PATH_SIZE = 4200, SOCKET_MAX = 80, WAIT_MS = 10000, LOOK_MS = 20, CLOCK_SLACK_MS = 2000 };

helio_rc helio_mps_describe(const helio_share_rule_t *rule, const helio_pool_devices_t *devices, const char *state_dir,
                            helio_arena_t *arena, helio_mps_t *ret_mps, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    for (uint32_t i = 0; i < devices->count; i++) {
        helio_text_t name = devices->items[i].uuid.size ? devices->items[i].uuid : devices->items[i].name;
        if (name.size)
            helio_buffer_printf(&list, "%s%.*s", list.size ? "," : "", HELIO_TEXT_ARGS(name));
    }
    const char **argv = helio_arena_alloc(arena, rule->mps_command.count + 3, sizeof *argv);
    for (uint32_t i = 0; i < rule->mps_command.count; i++)
        argv[i] = helio_arena_string(arena, rule->mps_command.items[i].text);
    if (!rule->mps_command.count) {
        argv[0] = "nvidia-cuda-mps-control";
        argv[1] = "-d";
    }
    *ret_mps = (helio_mps_t){
        .pool = rule->pool,
        .pipe = helio_arena_printf(arena, "%s/mps/%.*s/pipe", state_dir, HELIO_TEXT_ARGS(rule->pool)).data,
        .log = helio_arena_printf(arena, "%s/mps/%.*s/log", state_dir, HELIO_TEXT_ARGS(rule->pool)).data,
        .devices = helio_arena_string(arena, helio_buffer_view(&list)),
        .argv = argv};
    if (strlen(ret_mps->pipe) > SOCKET_MAX)
        return helio_fail(err, HELIO_INVALID, "%.600s: too long for the sockets of an MPS daemon: shorten state_dir",
                          ret_mps->pipe);
    return HELIO_OK;
}

/* ---- whether it runs ----------------------------------------------------------------------------------- */

/*  The file's process began before the file was written: after a restart of the machine, another has its number. */
static bool wrote(pid_t pid, const struct stat *file)
{
    helio_process_info_t info;
    if (helio_process_inspect(pid, &info) != HELIO_OK || info.state == 'Z')
        return false;
    int64_t began_boot_ms = (int64_t)(info.process.start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
    int64_t began_wall_ms = helio_clock_wall_ms() - (helio_clock_boot_ms() - began_boot_ms);
    int64_t written_ms = (int64_t)file->st_mtim.tv_sec * 1000 + file->st_mtim.tv_nsec / 1000000;
    return began_wall_ms <= written_ms + CLOCK_SLACK_MS;
}

bool helio_mps_lives(const helio_mps_t *self)
{
    char path[PATH_SIZE], number[16] = "";
    (void)snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", self->pipe);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return false;
    ssize_t size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, number, sizeof number - 1) : -1;
    (void)close(fd);
    long pid = size > 0 ? strtol(number, NULL, 10) : 0;
    return pid > 1 && pid <= INT32_MAX && wrote((pid_t)pid, &status);
}

/* ---- starting it --------------------------------------------------------------------------------------- */

/*  Jobs pass through to the sockets, and write in none of the directories. */
static helio_rc make_folders(const helio_mps_t *self, helio_error_t *err)
{
    const char *const folders[] = {self->pipe, self->log};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "%s", folders[i]);
        char *ends[3] = {strrchr(path, '/')};
        *ends[0] = '\0';
        ends[1] = strrchr(path, '/');
        *ends[1] = '\0';
        for (int level = 1; level >= -1; level--) { /* mps, the pool's, its own */
            if (mkdir(path, 0755) && errno != EEXIST)
                return helio_fail(err, HELIO_IO, "%.600s: %s", path, strerror(errno));
            if (level >= 0)
                *ends[level] = '/';
        }
    }
    return HELIO_OK;
}

static helio_rc spawn(helio_mps_t *self, char *const *env, const char *output, helio_error_t *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_adddup2(&files, 1, 2);
    char *argv[HELIO_SHARES_COMMAND_MAX + 1];
    uint32_t count = 0;
    for (; self->argv[count] && count < HELIO_SHARES_COMMAND_MAX; count++)
        argv[count] = strdup(self->argv[count]);
    argv[count] = NULL;
    int code = posix_spawnp(&self->starting, argv[0], &files, &attributes, argv, env);
    for (uint32_t i = 0; i < count; i++)
        free(argv[i]);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    if (code == 0)
        return HELIO_OK;
    self->starting = 0;
    return helio_fail(err, HELIO_UNAVAILABLE, "%.300s: %s", self->argv[0], strerror(code));
}

/*  Whether the command that was started has ended. */
static bool reap(helio_mps_t *self, int *ret_status)
{
    if (self->starting && waitpid(self->starting, ret_status, WNOHANG) == 0)
        return false;
    self->starting = 0;
    return true;
}

helio_rc helio_mps_start(helio_mps_t *self, helio_error_t *err)
{
    int status;
    if (!reap(self, &status))
        return HELIO_OK;
    helio_rc rc = make_folders(self, err);
    if (rc)
        return rc;
    const char *path = getenv("PATH");
    helio_arena_t *arena = helio_arena_new();
    char *env[] = {helio_arena_alloc(arena, 1, PATH_SIZE), helio_arena_alloc(arena, 1, PATH_SIZE),
                   helio_arena_alloc(arena, 1, PATH_SIZE), helio_arena_alloc(arena, 1, 1 << 16), NULL};
    char output[PATH_SIZE];
    (void)snprintf(env[0], PATH_SIZE, "PATH=%.4000s", path ? path : "/usr/bin:/bin");
    (void)snprintf(env[1], PATH_SIZE, "CUDA_MPS_PIPE_DIRECTORY=%s", self->pipe);
    (void)snprintf(env[2], PATH_SIZE, "CUDA_MPS_LOG_DIRECTORY=%s", self->log);
    (void)snprintf(env[3], 1 << 16, "CUDA_VISIBLE_DEVICES=%s", self->devices);
    (void)snprintf(output, sizeof output, "%s/start.log", self->log);
    rc = spawn(self, env, output, err);
    helio_arena_destroy(&arena);
    return rc;
}

static helio_rc failed(const helio_mps_t *self, const char *why, helio_error_t *err)
{
    return helio_fail(err, HELIO_UNAVAILABLE,
                      "pool '%.*s': no MPS daemon runs (%s); %.300s/start.log has the words of `%.200s`, "
                      "mps_command under agent.shares names another",
                      HELIO_TEXT_ARGS(self->pool), why, self->log, self->argv[0]);
}

helio_rc helio_mps_begin(helio_mps_t *self, helio_error_t *err)
{
    char why[80] = "it has not begun within 10 s";
    if (helio_mps_lives(self))
        return HELIO_OK;
    helio_rc rc = helio_mps_start(self, err);
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    bool ended = false;
    for (int64_t until_ms = helio_clock_boot_ms() + WAIT_MS; !rc && helio_clock_boot_ms() < until_ms;) {
        int status = 0;
        if (helio_mps_lives(self) && (ended || reap(self, &status)))
            return HELIO_OK;
        if (!ended && reap(self, &status)) {
            ended = true;
            (void)snprintf(why, sizeof why, "its command ended with %d, and no daemon", WEXITSTATUS(status));
            if (!WIFEXITED(status) || WEXITSTATUS(status))
                break;
        }
        (void)nanosleep(&pause, NULL);
    }
    return rc ? rc : failed(self, why, err);
}

helio_rc helio_mps_check(const helio_mps_t *self, helio_error_t *err)
{
    const char *path = getenv("PATH");
    if (helio_mps_lives(self))
        return HELIO_OK;
    if (strchr(self->argv[0], '/'))
        return access(self->argv[0], X_OK) == 0
                   ? HELIO_OK
                   : helio_fail(err, HELIO_NOT_FOUND, "%.300s: %s", self->argv[0], strerror(errno));
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        char file[PATH_SIZE];
        int size = (int)strcspn(at, ":");
        (void)snprintf(file, sizeof file, "%.*s/%.300s", size < 3000 ? size : 3000, at, self->argv[0]);
        if (size && access(file, X_OK) == 0)
            return HELIO_OK;
        at += size + (at[size] == ':');
    }
    return helio_fail(err, HELIO_NOT_FOUND,
                      "no program '%.300s' in PATH: it comes with the NVIDIA driver; or name another in "
                      "mps_command",
                      self->argv[0]);
}
