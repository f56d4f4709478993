/*  file.h -- file descriptors. For shells only: a core opens no files. */
#ifndef HELIO_BASE_FILE_H
#define HELIO_BASE_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

/*  Closes an open descriptor (>= 0) and sets it to -1; usable with HELIO_AUTO. */
static inline void helio_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/*  False: errno has the cause, and a part may have been written. */
static inline bool helio_write_all(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = write(fd, (const char *)bytes + done, size - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

#endif
