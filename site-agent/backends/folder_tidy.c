/*  folder_tidy.c -- folders of attempts that nobody asks for any more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/folder_inner.h"

enum { SWEEP_MAX = 256, SWEEP_MS = 60000, SWEEP_ON_MS = 5000, FILES_MAX = 4096, DEPTH_MAX = 4 };

static bool is_last(const char *name)
{
    return strcmp(name, "claim") == 0 || strcmp(name, "forget") == 0;
}

/*  Removes what is in the folder, without following links; a user who owns it may have put anything there. At
 * the top the two marks that say what it is stay for the last. Takes `folder`. True when all of it is gone.
 */
static bool empty(int folder, bool top, int depth, int *files)
{
    DIR *list = fdopendir(folder);
    if (!list) {
        (void)close(folder);
        return false;
    }
    bool all = true;
    for (struct dirent *entry; (entry = readdir(list));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (top && is_last(name)))
            continue;
        if ((*files)++ >= FILES_MAX) {
            all = false;
            break;
        }
        if (unlinkat(folder, name, 0) == 0)
            continue;
        int below =
            depth < DEPTH_MAX ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        bool gone =
            below >= 0 && empty(below, false, depth + 1, files) && unlinkat(folder, name, AT_REMOVEDIR) == 0;
        all = gone && all;
    }
    (void)closedir(list);
    return all;
}

void helio_folders_remove(helio_folders_t *self, const char *name)
{
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int again = folder >= 0 ? dup(folder) : -1;
    if (again >= 0) {
        int files = 0;
        /* The claim goes last: a folder that is half gone must not look like one that was never claimed; and
         * the mark of its removal only after the rest, so that the next sweep goes on with it. */
        if (empty(again, true, 0, &files)) {
            (void)unlinkat(folder, "forget", 0);
            (void)unlinkat(folder, "claim", 0);
        }
        (void)unlinkat(self->attempts_fd, name, AT_REMOVEDIR);
    }
    if (folder >= 0)
        (void)close(folder);
}

void helio_folders_forget(helio_folders_t *self, const char *name, int64_t now_wall_ms)
{
    char text[32];
    int folder = -1;
    if (helio_folders_open(self, name, &folder, NULL) || folder < 0)
        return;
    (void)snprintf(text, sizeof text, "%lld", (long long)now_wall_ms);
    if (!helio_mark_exists(folder, "forget")) /* what cannot be marked is kept: no harm */
        (void)!helio_mark_write(folder, "forget", helio_text_of(text), 0600, NULL);
    (void)close(folder);
}

static bool is_due(int attempts, const char *name, uint64_t retention_ms, int64_t now_wall_ms)
{
    int folder = openat(attempts, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return false;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    int64_t since;
    bool due = helio_mark_read(folder, "forget", 64, &text, NULL) == HELIO_OK &&
               helio_mark_number(helio_buffer_view(&text), 0, INT64_MAX / 4, &since) &&
               now_wall_ms - since >= (int64_t)retention_ms;
    (void)close(folder);
    return due;
}

int64_t helio_folders_sweep(helio_folders_t *self, int64_t now_wall_ms)
{
    int again = openat(self->attempts_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (!list) {
        if (again >= 0)
            (void)close(again);
        return SWEEP_MS;
    }
    /* From where the last sweep left off: a folder full of what must be kept hides nothing behind it. */
    if (self->sweep_at)
        seekdir(list, self->sweep_at);
    struct dirent *entry = NULL;
    for (int i = 0; i < SWEEP_MAX && (entry = readdir(list)); i++) {
        helio_job_key_t key;
        uint32_t epoch;
        if (helio_attempt_name_parse(helio_text_of(entry->d_name), &key, &epoch) == HELIO_OK &&
            is_due(self->attempts_fd, entry->d_name, self->rules.retention_ms, now_wall_ms))
            helio_folders_remove(self, entry->d_name);
    }
    self->sweep_at = entry ? telldir(list) : 0;
    (void)closedir(list);
    return entry ? SWEEP_ON_MS : SWEEP_MS;
}
