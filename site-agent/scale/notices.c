/*  notices.c -- who can write into the folder of interruption notices.
 *
 *  The owner of a folder above it, and whoever can write there, can put another in its place. In a sticky folder, as
 *  /tmp, only the owner of an entry can do so. */
#include "site-agent/scale/notices.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/memory.h"

static helio_rc fail_of(const char *path, int fault, helio_error_t *err)
{
    if (fault == ENOENT || fault == ENOTDIR)
        return helio_fail(err, HELIO_NOT_FOUND,
                          "%.300s: there is no such folder, so that no notice is heard; `install -d -m 755 PATH` as "
                          "the agent's user",
                          path);
    return helio_fail(err, HELIO_IO, "%.300s: %s", path, strerror(fault));
}

/*  above: a folder on the way to that of the notices. A symbolic link has no mode of its own: what it names is checked
 *  by its own path. */
static helio_rc check_one(const char *path, bool above, helio_error_t *err)
{
    struct stat status;
    if (lstat(path, &status))
        return fail_of(path, errno, err);
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return helio_fail(err, HELIO_FORBIDDEN,
                          "%.300s belongs to user %u, who can have the jobs of others stopped: give it to root, or to "
                          "user %u, as whom the agent runs",
                          path, (unsigned)status.st_uid, (unsigned)geteuid());
    if (S_ISLNK(status.st_mode))
        return HELIO_OK;
    if (!S_ISDIR(status.st_mode))
        return fail_of(path, ENOTDIR, err);
    if (status.st_mode & 022 && !(above && status.st_mode & S_ISVTX))
        return helio_fail(err, HELIO_FORBIDDEN,
                          "%.300s can be written by others, who can have any job there stopped: `chmod go-w` it", path);
    return HELIO_OK;
}

/*  Each folder from the root down to the path itself. */
static helio_rc check_way(const char *path, helio_error_t *err)
{
    char part[PATH_MAX];
    helio_rc rc = HELIO_OK;
    if (path[0] != '/' || !helio_text_copy(helio_text_of(path), part, sizeof part))
        return helio_fail(err, HELIO_INVALID, "%.300s: no absolute path", path);
    for (size_t size = strlen(part); size > 1 && part[size - 1] == '/'; size--)
        part[size - 1] = '\0'; /* or a symbolic link would be followed */
    for (char *end = part; end && !rc; end = strchr(end + 1, '/')) {
        char after = end[1];
        if (end == part) {
            rc = check_one("/", true, err);
        } else if (after && after != '/') {
            *end = '\0';
            rc = check_one(part, true, err);
            *end = '/';
        }
    }
    return rc ? rc : check_one(part, false, err);
}

helio_rc helio_notices_check(const char *path, helio_error_t *err)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return fail_of(path, errno, err);
    helio_rc rc = check_way(real, err);
    return rc || strcmp(real, path) == 0 ? rc : check_way(path, err);
}
