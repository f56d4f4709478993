/*  state_files.c -- names and the files that they meant, by device and inode. */
#include "site-agent/agent/state_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"

/*  The folder first: without it no other is there. The journal's log appears with its first write. */
static const char *const names[HELIO_STATE_FILES] = {"", "/lock", "/journal.db", "/journal.db-wal"};

/*  O_PATH: closing it drops no lock that SQLite has on the file. */
static void hold(helio_state_files_t *self, int i)
{
    if (self->fds[i] < 0)
        self->fds[i] = open(self->paths[i], O_PATH | O_CLOEXEC);
}

helio_rc helio_state_files_open(helio_state_files_t *self, const char *state_dir, helio_error_t *err)
{
    for (int i = 0; i < HELIO_STATE_FILES; i++) {
        self->fds[i] = -1;
        if (snprintf(self->paths[i], sizeof self->paths[i], "%s%s", state_dir, names[i]) >= PATH_MAX)
            return helio_fail(err, HELIO_INVALID, "state_dir: the directory's name is too long");
    }
    self->fds[0] = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < HELIO_STATE_FILES; i++)
        hold(self, i);
    return self->fds[0] >= 0 ? HELIO_OK : helio_fail(err, HELIO_IO, "state_dir %s: %s", state_dir, strerror(errno));
}

void helio_state_files_close(helio_state_files_t *self)
{
    for (int i = 0; i < HELIO_STATE_FILES; i++)
        helio_close(&self->fds[i]);
}

const char *helio_state_files_lost(helio_state_files_t *self, bool *ret_replaced)
{
    for (int i = 0; i < HELIO_STATE_FILES; i++) {
        struct stat first, now;
        hold(self, i);
        if (self->fds[i] < 0)
            continue;
        *ret_replaced = stat(self->paths[i], &now) == 0;
        if (!*ret_replaced && errno != ENOENT && errno != ENOTDIR)
            return NULL; /* a disk that does not answer has not lost it */
        if (fstat(self->fds[i], &first))
            return NULL;
        if (!*ret_replaced || first.st_dev != now.st_dev || first.st_ino != now.st_ino)
            return self->paths[i];
    }
    return NULL;
}
