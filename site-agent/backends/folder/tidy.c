/*  tidy.c -- removes the folders of attempts that are over and acknowledged.
 *
 *  An acknowledgement is recorded where the job's user cannot write: in the attempt's folder if that is the agent's,
 *  else in forgotten/.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/folder/internal.h"

enum { SWEEP_MAX = 256, SWEEP_MS = 60000, SWEEP_ON_MS = 5000, STEPS_MAX = 4096, NAMES_MAX = 64 };

/*  What one call may still do. */
typedef struct work {
    uint32_t steps;
    uint32_t gone;  /* entries that were removed */
    uint32_t names; /* number for the names of folders that were moved up */
} work_t;

static bool take_step(work_t *work)
{
    if (!work->steps)
        return false;
    work->steps--;
    return true;
}

/* ---- contents of a folder ----------------------------------------------------------------------------------- */

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*  A folder of that name is not a status file. */
static bool is_last(int top, const char *name)
{
    struct stat status;
    return (strcmp(name, "claim") == 0 || strcmp(name, "forget") == 0) &&
           !(fstatat(top, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode));
}

static DIR *list_of(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (!list && again >= 0)
        (void)close(again);
    return list;
}

/*  Where agent and jobs run as one user, a job may have removed the permissions of its folders. */
static void unlock(int folder, const char *name)
{
    char path[64];
    struct stat status;
    int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid())
        (void)!chmod(path, 0700);
    (void)close(fd);
}

/*  -1: no folder, or not the agent's: another file system may be mounted there. */
static int open_below(int top, const char *name)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    struct stat above, status;
    int below = openat(top, name, FLAGS);
    if (below < 0 && errno == EACCES) {
        unlock(top, name);
        below = openat(top, name, FLAGS);
    }
    if (below < 0)
        return -1;
    if (fstat(top, &above) || fstat(below, &status) || above.st_dev != status.st_dev) {
        (void)close(below);
        return -1;
    }
    if ((status.st_mode & 0700) != 0700 && status.st_uid == geteuid())
        (void)!fchmod(below, 0700);
    return below;
}

/*  Moves it to the top, under a name that is free there. Its own mode must allow that. */
static bool move_up(int from, const char *name, int top, work_t *work)
{
    char fresh[32];
    for (int i = 0; i < NAMES_MAX; i++) {
        (void)snprintf(fresh, sizeof fresh, ".deep-%u", work->names++);
        if (renameat(from, name, top, fresh) == 0)
            return true;
        if (errno == EACCES)
            unlock(from, name);
        else if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return false;
    }
    return false;
}

/*  Removes files; moves folders up, so that any depth needs only one descriptor. False: something is left. */
static bool flatten(int below, int top, work_t *work)
{
    DIR *list = list_of(below);
    bool all = list != NULL;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (is_dots(entry->d_name))
            continue;
        if (!take_step(work)) {
            all = false;
            break;
        }
        bool went = unlinkat(below, entry->d_name, 0) == 0 || move_up(below, entry->d_name, top, work);
        work->gone += went;
        all = all && went;
    }
    if (list)
        (void)closedir(list);
    return all;
}

/*  One pass over the top; *ret_again is true when folders may have been moved up meanwhile. */
static bool empty_once(int top, work_t *work, bool *ret_again)
{
    DIR *list = list_of(top);
    bool all = list != NULL;
    *ret_again = false;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        const char *name = entry->d_name;
        if (is_dots(name) || is_last(top, name))
            continue;
        if (!take_step(work)) {
            all = false;
            break;
        }
        bool gone = unlinkat(top, name, 0) == 0;
        int below = gone ? -1 : open_below(top, name);
        if (below >= 0) {
            gone = flatten(below, top, work) && unlinkat(top, name, AT_REMOVEDIR) == 0;
            *ret_again = true;
            (void)close(below);
        }
        work->gone += gone;
        all = all && gone;
    }
    if (list)
        (void)closedir(list);
    return all;
}

/*  Removes the contents of the folder, without following links: its owner may have put anything there. The status files
 *  that identify it stay until last. True when all else is gone. */
static bool empty(int top, work_t *work)
{
    bool again = true, all = false;
    for (uint32_t before = UINT32_MAX; again && work->gone != before && work->steps;) {
        before = work->gone;
        all = empty_once(top, work, &again);
    }
    return all && !again;
}

/* ---- one attempt's ------------------------------------------------------------------------------------- */

static void remove_with(helio_folders_t *self, const char *name, work_t *work)
{
    int folder = open_below(self->attempts_fd, name);
    if (folder >= 0) {
        /*  The claim is removed last: a folder that is half removed must not look unclaimed. The acknowledgement is
         *  removed only after the rest, so that the next sweep goes on with it. */
        if (empty(folder, work)) {
            (void)unlinkat(folder, "forget", 0);
            (void)unlinkat(folder, "claim", 0);
        }
        (void)close(folder);
        work->gone += unlinkat(self->attempts_fd, name, AT_REMOVEDIR) == 0;
    }
    struct stat status;
    if (self->forgotten_fd >= 0 && fstatat(self->attempts_fd, name, &status, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
        (void)unlinkat(self->forgotten_fd, name, 0);
}

void helio_folders_remove(helio_folders_t *self, const char *name)
{
    work_t work = {.steps = STEPS_MAX};
    remove_with(self, name, &work);
}

void helio_folders_forget(helio_folders_t *self, const char *name, int64_t now_wall_ms)
{
    char text[32];
    int folder = -1, place = self->forgotten_fd;
    helio_rc rc = helio_folders_open(self, name, &folder, NULL);
    if (place < 0)
        place = folder;
    const char *status_file = self->forgotten_fd < 0 ? "forget" : name;
    bool there = rc == HELIO_FORBIDDEN || folder >= 0;
    (void)snprintf(text, sizeof text, "%lld", (long long)now_wall_ms);
    if (there && place >= 0 &&
        !helio_status_file_exists(place, status_file)) /* what cannot be recorded is kept, which is harmless */
        (void)!helio_status_file_write(place, status_file, helio_text_of(text), 0600, NULL);
    if (folder >= 0)
        (void)close(folder);
}

bool helio_folders_is_forgotten(const helio_folders_t *self, const char *name)
{
    char status_file[300];
    if (self->forgotten_fd >= 0)
        return helio_status_file_exists(self->forgotten_fd, name);
    (void)snprintf(status_file, sizeof status_file, "%.255s/forget", name);
    return helio_status_file_exists(self->attempts_fd, status_file);
}

static bool is_due(const helio_folders_t *self, const char *name, int64_t now_wall_ms)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    char status_file[300];
    int64_t since;
    bool own = self->forgotten_fd >= 0;
    (void)snprintf(status_file, sizeof status_file, own ? "%.255s" : "%.255s/forget", name);
    return helio_status_file_read(own ? self->forgotten_fd : self->attempts_fd, status_file, 64, &text, NULL) ==
               HELIO_OK &&
           helio_status_file_number(helio_buffer_view(&text), 0, INT64_MAX / 4, &since) &&
           now_wall_ms - since >= (int64_t)self->rules.retention_ms;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static void sweep_one(helio_folders_t *self, const char *name, int64_t now_wall_ms, work_t *work)
{
    helio_job_key_t key;
    uint32_t epoch;
    if (helio_attempt_name_parse(helio_text_of(name), &key, &epoch) == HELIO_OK && is_due(self, name, now_wall_ms))
        remove_with(self, name, work);
}

int64_t helio_folders_sweep(helio_folders_t *self, int64_t now_wall_ms)
{
    DIR *list = list_of(self->forgotten_fd >= 0 ? self->forgotten_fd : self->attempts_fd);
    if (!list)
        return SWEEP_MS;
    /* Continues where the last sweep ended: a folder full of entries that must be kept hides nothing behind it. */
    if (self->sweep_at)
        seekdir(list, self->sweep_at);
    work_t work = {.steps = STEPS_MAX};
    struct dirent *entry = NULL;
    long at = telldir(list);
    for (int i = 0; i < SWEEP_MAX && work.steps && (entry = readdir(list)); i++) {
        sweep_one(self, entry->d_name, now_wall_ms, &work);
        if (work.steps || !work.gone) /* the next sweep continues with it, unless that makes no progress */
            at = telldir(list);
    }
    self->sweep_at = entry ? at : 0;
    (void)closedir(list);
    return entry ? SWEEP_ON_MS : SWEEP_MS;
}
