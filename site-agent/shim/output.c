#include "site-agent/shim/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

helio_rc helio_output_open(int folder, uint64_t max_bytes, helio_output_t *ret_output, int *ret_writer,
                           helio_error_t *err)
{
    int log = openat(folder, "log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (log < 0)
        return helio_fail(err, HELIO_IO, "cannot open the log: %s", strerror(errno));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        (void)close(log);
        return helio_fail(err, HELIO_IO, "pipe: %s", strerror(errno));
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* of the read end alone: the two ends are two descriptions */
    *ret_output = (helio_output_t){.log = log, .pipe = ends[0], .max_bytes = max_bytes};
    *ret_writer = ends[1];
    return HELIO_OK;
}

static void keep(helio_output_t *self, const char *bytes, size_t size)
{
    uint64_t room = self->max_bytes - self->kept_bytes;
    size_t take = size < room ? size : (size_t)room;
    size_t done = 0;
    while (done < take) {
        ssize_t wrote = write(self->log, bytes + done, take - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break; /* no space: lost, and counted */
        done += (size_t)wrote;
    }
    self->kept_bytes += done;
    self->dropped_bytes += size - done;
    if (self->kept_bytes == self->max_bytes && self->dropped_bytes && !self->told) {
        self->told = true;
        (void)dprintf(self->log,
                      "\nhelio: the log has reached its bound of %llu bytes; further output is not kept\n",
                      (unsigned long long)self->max_bytes);
    }
}

void helio_output_pump(helio_output_t *self)
{
    char piece[1 << 16];
    for (int i = 0; i < 64 && self->pipe >= 0; i++) {
        ssize_t got = read(self->pipe, piece, sizeof piece);
        if (got > 0) {
            keep(self, piece, (size_t)got);
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        (void)close(self->pipe);
        self->pipe = -1;
    }
}

void helio_output_close(helio_output_t *self)
{
    if (self->pipe >= 0)
        (void)close(self->pipe);
    if (self->dropped_bytes && !self->told)
        (void)dprintf(self->log, "\nhelio: %llu bytes of output could not be written\n",
                      (unsigned long long)self->dropped_bytes);
    (void)close(self->log);
    self->pipe = self->log = -1;
}
