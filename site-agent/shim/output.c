/*  output.c -- moves the ranks' output from their pipes into the log and into the user's files. */
#include "site-agent/shim/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static helio_rc open_pipe(helio_stream_t *stream, int *ret_writer, helio_error_t *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return helio_fail(err, HELIO_IO, "pipe: %s", strerror(errno));
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* of the read end alone: the two ends are separate descriptions */
    stream->pipe = ends[0];
    *ret_writer = ends[1];
    return HELIO_OK;
}

helio_rc helio_output_open(int folder, uint64_t max_bytes, bool apart, helio_output_t *ret_output,
                           int ret_writers[HELIO_OUTPUT_STREAMS], helio_error_t *err)
{
    helio_output_t output = HELIO_OUTPUT_NONE;
    int writers[HELIO_OUTPUT_STREAMS] = {-1, -1};
    output.max_bytes = max_bytes;
    output.log = openat(folder, "log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (output.log < 0)
        return helio_fail(err, HELIO_IO, "cannot open the log: %s", strerror(errno));
    helio_rc rc = open_pipe(&output.streams[0], &writers[0], err);
    if (!rc && apart)
        rc = open_pipe(&output.streams[1], &writers[1], err);
    if (rc) {
        helio_output_close(&output);
        if (writers[0] >= 0)
            (void)close(writers[0]);
        return rc;
    }
    *ret_output = output;
    ret_writers[0] = writers[0];
    ret_writers[1] = apart ? writers[1] : writers[0];
    return HELIO_OK;
}

helio_rc helio_output_copy(helio_output_t *self, uint32_t stream, const char *path, bool truncate, helio_error_t *err)
{
    /* A pipe that is not read must not block the shim. */
    int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | (truncate ? O_TRUNC : 0) | O_APPEND;
    int copy = open(path, flags, 0666);
    if (copy < 0)
        return helio_fail(err, HELIO_IO, "cannot open the job's standard %s '%.300s': %s", stream ? "error" : "output",
                          path, strerror(errno));
    self->streams[stream].copy = copy;
    return HELIO_OK;
}

static size_t write_what_fits(int fd, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t wrote = write(fd, bytes + done, size - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break; /* no space: lost */
        done += (size_t)wrote;
    }
    return done;
}

static void keep(helio_output_t *self, const char *bytes, size_t size)
{
    uint64_t room = self->max_bytes - self->kept_bytes;
    size_t done = write_what_fits(self->log, bytes, size < room ? size : (size_t)room);
    self->kept_bytes += done;
    self->dropped_bytes += size - done;
    if (self->kept_bytes == self->max_bytes && self->dropped_bytes && !self->told) {
        self->told = true;
        (void)dprintf(self->log, "\nhelio: the log has reached its bound of %llu bytes; further output is not kept\n",
                      (unsigned long long)self->max_bytes);
    }
}

static void pump(helio_output_t *self, helio_stream_t *stream)
{
    char piece[1 << 16];
    for (int i = 0; i < 64 && stream->pipe >= 0; i++) {
        ssize_t got = read(stream->pipe, piece, sizeof piece);
        if (got > 0) {
            keep(self, piece, (size_t)got);
            if (stream->copy >= 0)
                (void)write_what_fits(stream->copy, piece, (size_t)got);
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        (void)close(stream->pipe);
        stream->pipe = -1;
    }
}

void helio_output_pump(helio_output_t *self)
{
    for (int i = 0; i < HELIO_OUTPUT_STREAMS; i++)
        pump(self, &self->streams[i]);
}

void helio_output_close(helio_output_t *self)
{
    if (self->log >= 0 && self->dropped_bytes && !self->told)
        (void)dprintf(self->log, "\nhelio: %llu bytes of output could not be written\n",
                      (unsigned long long)self->dropped_bytes);
    for (int i = 0; i < HELIO_OUTPUT_STREAMS; i++) {
        if (self->streams[i].pipe >= 0)
            (void)close(self->streams[i].pipe);
        if (self->streams[i].copy >= 0)
            (void)close(self->streams[i].copy);
    }
    if (self->log >= 0)
        (void)close(self->log);
    *self = HELIO_OUTPUT_NONE;
}
