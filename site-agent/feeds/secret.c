/*  secret.c -- reads a secret from its file, after checking who may read that file. */
#include "site-agent/feeds/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static helio_rc check(const char *path, int fd, helio_error_t *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return helio_fail(err, HELIO_INVALID, "%s: not a regular file", path);
    if (status.st_mode & (S_IRWXG | S_IRWXO))
        return helio_fail(err, HELIO_FORBIDDEN, "%s: other users can read it; chmod 600", path);
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return helio_fail(err, HELIO_FORBIDDEN, "%s: belongs to another user", path);
    return HELIO_OK;
}

/*  The file's bytes, at most HELIO_SECRET_MAX - 1 of them, cut to one line. */
static helio_rc one_line(const char *path, char *bytes, size_t size, helio_error_t *err)
{
    if (size && bytes[size - 1] == '\n')
        size--;
    if (size && bytes[size - 1] == '\r')
        size--;
    bytes[size] = '\0';
    if (size == 0)
        return helio_fail(err, HELIO_INVALID, "%s: empty", path);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
            return helio_fail(err, HELIO_INVALID, "%s: not one line of text", path);
    return HELIO_OK;
}

helio_rc helio_secret_read(const char *path, char ret_secret[HELIO_SECRET_MAX], helio_error_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "%s: %s", path, strerror(errno));
    char bytes[HELIO_SECRET_MAX + 1];
    helio_rc rc = check(path, fd, err);
    ssize_t size = rc == HELIO_OK ? read(fd, bytes, HELIO_SECRET_MAX) : 0;
    (void)close(fd);
    if (rc == HELIO_OK && (size < 0 || size >= HELIO_SECRET_MAX))
        rc = helio_fail(err, HELIO_INVALID, "%s: cannot be read, or is larger than %d bytes", path,
                        HELIO_SECRET_MAX - 1);
    if (rc == HELIO_OK)
        rc = one_line(path, bytes, (size_t)size, err);
    if (rc == HELIO_OK)
        memcpy(ret_secret, bytes, strlen(bytes) + 1);
    explicit_bzero(bytes, sizeof bytes);
    return rc;
}
