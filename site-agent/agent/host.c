/*  host.c -- creates and locks the state directory, and notifies the supervisor. */
#include "site-agent/agent/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static helio_rc check_directory(int fd, const char *path, helio_error_t *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return helio_fail(err, HELIO_IO, "state_dir %s: %s", path, strerror(errno));
    if (status.st_uid != geteuid())
        return helio_fail(err, HELIO_FORBIDDEN,
                          "state_dir %s belongs to user %u, not to the agent's user (%u): chown it", path,
                          (unsigned)status.st_uid, (unsigned)geteuid());
    if (status.st_mode & 022)
        return helio_fail(err, HELIO_FORBIDDEN, "state_dir %s can be written by others: chmod go-w %s", path, path);
    return HELIO_OK;
}

helio_rc helio_state_dir_lock(const char *path, int *ret_fd, helio_error_t *err)
{
    bool made = mkdir(path, 0700) == 0;
    /*  Whatever the umask is: jobs' users pass through to their own folders, and can read none of the agent's files on
     *  the way. */
    if (!made ? errno != EEXIST : chmod(path, 0711) != 0)
        return helio_fail(err, HELIO_IO, "state_dir %s cannot be created: %s", path, strerror(errno));
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return helio_fail(err, HELIO_IO, "state_dir %s: %s", path, strerror(errno));
    helio_rc rc = check_directory(dir, path, err);
    int fd = rc == HELIO_OK ? openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    int code = errno;
    (void)close(dir);
    if (rc != HELIO_OK)
        return rc;
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "state_dir %s cannot be written: %s", path, strerror(code));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        code = errno;
        (void)close(fd);
        if (code == EWOULDBLOCK)
            return helio_fail(err, HELIO_CONFLICT,
                              "another agent runs with state_dir %s: stop it, or give this one its own state_dir",
                              path);
        return helio_fail(err, HELIO_IO, "state_dir %s cannot be locked: %s", path, strerror(code));
    }
    *ret_fd = fd;
    return HELIO_OK;
}

helio_rc helio_state_dir_inspect(const char *path, helio_error_t *err)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 && errno == ENOENT)
        return HELIO_OK; /* the first run creates it */
    if (dir < 0)
        return helio_fail(err, HELIO_IO, "state_dir %s: %s", path, strerror(errno));
    helio_rc rc = check_directory(dir, path, err);
    (void)close(dir);
    return rc;
}

void helio_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path ? strlen(path) : 0;
    if (size < 2 || size >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* a name without a file */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    (void)sent;
    (void)close(fd);
}
