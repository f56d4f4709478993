/*  stray.c -- attempts whose folder is gone while their processes run: the state folder was deleted, or an older copy
 *  of it was put back. They are found by what their processes carry: a shim by its command line, the processes of the
 *  job by HELIO_REPORT in their environment. Both name the attempt's folder, so attempts of another agent are not
 *  touched. Anybody can give a process such a mark, so it is believed only of a user as whom the attempt can run. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/local/internal.h"

enum { PATH_SIZE = 4200, FORGERY_SIZE = 512, KILL_AFTER_LOOKS = 4 };
enum { EMPTY_LOOKS = 2 }; /* a process that is replaced (exec) has no environment for a moment */

typedef struct search {
    helio_local_t *self;
    const char *only; /* the name of one attempt; NULL = any */
    helio_local_stray_fn *fn;
    void *arg;
} search_t;

/*  The attempt's name in "<state folder>/attempts/<name><rest>". */
static bool name_in(const helio_local_t *self, const char *path, const char *rest,
                    char ret_name[HELIO_ATTEMPT_NAME_SIZE])
{
    char attempts[PATH_SIZE];
    int size = snprintf(attempts, sizeof attempts, "%s/attempts/", self->options.state_dir);
    if (size <= 0 || (size_t)size >= sizeof attempts || strncmp(path, attempts, (size_t)size) != 0)
        return false;
    helio_text_t name = helio_text_of(path + size);
    size_t after = strlen(rest);
    if (name.size <= after || strcmp(name.data + name.size - after, rest) != 0)
        return false;
    name.size -= (uint32_t)after;
    return helio_text_copy(name, ret_name, HELIO_ATTEMPT_NAME_SIZE);
}

/*  Said once: whoever forges one mark can forge many. */
static bool is_forged(helio_local_t *self, const char *name, pid_t pid)
{
#ifdef HELIO_MUTANT_marks_of_anybody
    return false;
#endif
    int64_t owner = helio_process_owner(pid);
    if (owner >= 0 && helio_folders_may_run_as(self->folders, name, (uid_t)owner))
        return false;
    if (owner >= 0 && !self->forgery_said && self->options.sink.on_doubt) {
        char text[FORGERY_SIZE];
        (void)snprintf(text, sizeof text,
                       "process %ld of user %lld has the marks of attempt %s, which cannot run as that user: it is not "
                       "counted, nor is any other such process; look at it (ps -fp %ld), and end it if nobody needs it",
                       (long)pid, (long long)owner, name, (long)pid);
        self->options.sink.on_doubt(self->options.sink.arg, text);
        self->forgery_said = true;
    }
    return true;
}

static bool look_at(void *arg, const helio_process_info_t *info)
{
    const search_t *search = arg;
    char path[PATH_SIZE], name[HELIO_ATTEMPT_NAME_SIZE];
    helio_job_key_t key;
    uint32_t epoch;
    pid_t pid = info->process.pid;
    if (pid == getpid() || info->state == 'Z' || info->state == 'X')
        return false;
    bool shim = helio_process_argument(pid, 1, path, sizeof path) && name_in(search->self, path, "", name) &&
                helio_process_owner(pid) == (int64_t)geteuid() && helio_process_argument(pid, 0, path, sizeof path) &&
                strcmp(path, "helio-shim") == 0;
    if (!shim &&
        !(helio_process_entry(pid, "HELIO_REPORT=", path, sizeof path) && name_in(search->self, path, "/report", name)))
        return false;
    if ((search->only && strcmp(search->only, name) != 0) ||
        helio_attempt_name_parse(helio_text_of(name), &key, &epoch) || (!shim && is_forged(search->self, name, pid)))
        return false;
    search->fn(search->arg, key, epoch, info->process, shim);
    return true;
}

static bool is_self(void *arg, const helio_process_info_t *info)
{
    (void)arg;
    return info->process.pid == getpid();
}

bool helio_local_sees_processes(void)
{
    return helio_process_each(is_self, NULL) == 1;
}

size_t helio_local_strays(helio_local_t *self, const char *only, helio_local_stray_fn *fn, void *arg)
{
    search_t search = {self, only, fn, arg};
    return helio_process_each(look_at, &search);
}

/*  What one look at an attempt kills, and what it sees: when the eldest process began, in ticks since boot. */
typedef struct look {
    bool kill_jobs, kill_shims;
    uint64_t eldest_ticks;
} look_t;

static void look_or_kill(void *arg, helio_job_key_t key, uint32_t epoch, helio_process_t process, bool shim)
{
    look_t *look = arg;
    (void)key;
    (void)epoch;
    if (!look->eldest_ticks || process.start_ticks < look->eldest_ticks)
        look->eldest_ticks = process.start_ticks;
    if (shim ? look->kill_shims : look->kill_jobs)
        (void)kill(process.pid, SIGKILL);
}

static bool is_child(void *arg, const helio_process_info_t *info)
{
    return info->parent == *(const pid_t *)arg && info->state != 'Z';
}

void helio_local_stray_seen(helio_local_attempt_t *attempt, uint64_t start_ticks)
{
    int64_t began_ms = (int64_t)(start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
    attempt->alive_boot_ms = helio_clock_boot_ms();
    if (!attempt->stray_began_boot_ms || began_ms < attempt->stray_began_boot_ms)
        attempt->stray_began_boot_ms = began_ms;
}

/*  A shim without its folder still ends its processes when it is told to. But it has nowhere to write that they ended,
 *  and waits for a disk that takes it. So a shim that has had no process for a few looks is killed; so is what does
 *  not obey. */
bool helio_local_stray_is_gone(helio_local_t *self, helio_local_attempt_t *attempt)
{
    bool shim_lives = helio_process_alive(attempt->shim), stops = attempt->stray_stopping;
    bool childless = shim_lives && helio_process_each(is_child, &attempt->shim.pid) == 0;
    attempt->looks = stops || childless ? attempt->looks + 1 : 0;
    bool late = attempt->looks > KILL_AFTER_LOOKS;
    look_t look = {.kill_jobs = stops && (late || !shim_lives), .kill_shims = late};
    bool found = helio_local_strays(self, attempt->held.name, look_or_kill, &look) > 0;
    attempt->stray_empty = found ? 0 : attempt->stray_empty + 1;
    if (found)
        helio_local_stray_seen(attempt, look.eldest_ticks);
    return attempt->stray_empty >= EMPTY_LOOKS;
}
