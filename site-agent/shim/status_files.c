/*  status_files.c -- writes status files durably, reads them with bounds, and the record `done`. */
#include "site-agent/shim/status_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "federation/reason/codes.h"

enum {
    REASON_SIZE = sizeof((helio_done_t *)0)->explanation + 32, /* with the word of its cause */
    EXIT_CODE_MAX = 255,
    /* Where everything runs as one user, a job can put a link or a pipe in its place, on which the shim must not wait. */
    RESERVE_FLAGS = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
};

static helio_rc failed(helio_error_t *err, const char *what, const char *name)
{
    return helio_fail(err, HELIO_IO, "cannot %s '%s': %s", what, name, strerror(errno));
}

/*  The process's own number makes the name of the temporary file unique. */
static helio_rc write_tmp(int folder, const char *name, helio_text_t text, mode_t mode, char ret_tmp[96],
                          helio_error_t *err)
{
    (void)snprintf(ret_tmp, 96, ".%s.%ld", name, (long)getpid());
    (void)unlinkat(folder, ret_tmp, 0);
    HELIO_AUTO(helio_close) int fd = openat(folder, ret_tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return failed(err, "create", name);
    if (!helio_write_all(fd, text.data, text.size) || fchmod(fd, mode) || fsync(fd)) {
        helio_rc rc = failed(err, "write", name);
        (void)unlinkat(folder, ret_tmp, 0);
        return rc;
    }
    return HELIO_OK;
}

helio_rc helio_status_file_put(int folder, const char *name, helio_text_t text, mode_t mode, helio_error_t *err)
{
    char tmp[96];
    helio_rc rc = write_tmp(folder, name, text, mode, tmp, err);
    if (!rc && renameat(folder, tmp, folder, name)) {
        rc = failed(err, "put in place", name);
        (void)unlinkat(folder, tmp, 0);
    }
    return rc;
}

helio_rc helio_status_file_write(int folder, const char *name, helio_text_t text, mode_t mode, helio_error_t *err)
{
    helio_rc rc = helio_status_file_put(folder, name, text, mode, err);
    if (!rc && fsync(folder))
        rc = failed(err, "put in place", name);
    return rc;
}

/*  The spare keeps its blocks: it is truncated only after it was written in place. */
static helio_rc fill_spare(int folder, const char *spare, helio_text_t text, mode_t mode, helio_error_t *err)
{
    HELIO_AUTO(helio_close) int fd = openat(folder, spare, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return failed(err, "create", spare);
    bool good = helio_write_all(fd, text.data, text.size) && ftruncate(fd, (off_t)text.size) == 0;
    return good && fchmod(fd, mode) == 0 && fsync(fd) == 0 ? HELIO_OK : failed(err, "write", spare);
}

helio_rc helio_status_file_replace(int folder, const char *name, helio_text_t text, mode_t mode, helio_error_t *err)
{
    char spare[96];
    (void)snprintf(spare, sizeof spare, ".%.80s", name);
    helio_rc rc = fill_spare(folder, spare, text, mode, err);
    if (rc)
        return rc;
    if (renameat2(folder, spare, folder, name, RENAME_EXCHANGE) == 0)
        return fsync(folder) ? failed(err, "put in place", name) : HELIO_OK;
    if (errno != ENOENT)
        return helio_status_file_write(folder, name, text, mode, err); /* a file system that exchanges nothing */
    if (renameat(folder, spare, folder, name))                         /* the first text */
        return failed(err, "put in place", name);
    return fill_spare(folder, spare, text, mode, err) || fsync(folder) ? failed(err, "put in place", name) : HELIO_OK;
}

helio_rc helio_status_file_claim(int folder, const char *name, helio_text_t text, helio_error_t *err)
{
    char tmp[96];
    helio_rc rc = write_tmp(folder, name, text, 0600, tmp, err);
    if (rc)
        return rc;
    if (linkat(folder, tmp, folder, name, 0))
#ifdef HELIO_MUTANT_claim_shared
        rc = HELIO_OK;
#else
        rc =
            errno == EEXIST ? helio_fail(err, HELIO_CONFLICT, "'%s' exists already", name) : failed(err, "claim", name);
#endif
    (void)unlinkat(folder, tmp, 0);
    if (!rc && fsync(folder))
        rc = failed(err, "sync", name);
    return rc;
}

static helio_rc not_taken(int folder, const char *name, const char *why, helio_error_t *err)
{
    char link[64], path[4096];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    return helio_fail(err, HELIO_INVALID, "'%s' in '%s' %s: remove it there", name, path, why);
}

/*  Nobody else can put files into a folder of the reader's or root's. Into one of another user, that user can have put
 *  another name of any file, which the reader alone may read. */
static helio_rc check_writer(int folder, const char *name, const struct stat *status, helio_writer_t writer,
                             helio_error_t *err)
{
    struct stat place;
    if (!S_ISREG(status->st_mode))
        return not_taken(folder, name, "is no regular file", err);
    if (writer == HELIO_WRITER_JOB && status->st_nlink > 1)
        return not_taken(folder, name, "has another name", err);
    if (folder == AT_FDCWD)
        return HELIO_OK;
    if (fstat(folder, &place))
        return failed(err, "look at the folder of", name);
    bool by_agent = status->st_uid == geteuid() || status->st_uid == 0;
    if (place.st_uid == geteuid() || place.st_uid == 0 || status->st_uid == place.st_uid ||
        (by_agent && writer == HELIO_WRITER_SHIM))
        return HELIO_OK;
    return not_taken(folder, name, "belongs to another user than that folder", err);
}

helio_rc helio_status_file_open(int folder, const char *name, helio_writer_t writer, int *ret_fd,
                                struct stat *ret_status, helio_error_t *err)
{
    HELIO_AUTO(helio_close) int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? helio_fail(err, HELIO_NOT_FOUND, "'%s' does not exist", name)
                               : failed(err, "open", name);
    if (fstat(fd, ret_status))
        return failed(err, "look at", name);
    helio_rc rc = check_writer(folder, name, ret_status, writer, err);
    if (rc)
        return rc;
    *ret_fd = fd;
    fd = -1;
    return HELIO_OK;
}

helio_rc helio_status_file_read(int folder, const char *name, size_t max, helio_buffer_t *out, helio_error_t *err)
{
    HELIO_AUTO(helio_close) int fd = -1;
    struct stat status;
    helio_rc rc = helio_status_file_open(folder, name, HELIO_WRITER_SHIM, &fd, &status, err);
    if (rc)
        return rc;
    size_t total = 0;
    for (;;) {
        char piece[8192];
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(err, "read", name);
        if (got == 0)
            return HELIO_OK;
        total += (size_t)got;
        if (total > max)
            return helio_fail(err, HELIO_TOO_BIG, "'%s' is larger than %zu bytes", name, max);
        helio_buffer_append(out, piece, (size_t)got);
    }
}

bool helio_status_file_exists(int folder, const char *name)
{
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool helio_status_file_line(helio_text_t *rest, helio_text_t *ret_key, helio_text_t *ret_value)
{
    while (rest->size) {
        const char *end = memchr(rest->data, '\n', rest->size);
        helio_text_t line = {rest->data, end ? (uint32_t)(end - rest->data) : rest->size};
        uint32_t used = end ? line.size + 1 : line.size;
        *rest = (helio_text_t){rest->data + used, rest->size - used};
        if (!line.size)
            continue;
        const char *equals = memchr(line.data, '=', line.size);
        uint32_t key = equals ? (uint32_t)(equals - line.data) : line.size;
        *ret_key = (helio_text_t){line.data, key};
        *ret_value = equals ? (helio_text_t){equals + 1, line.size - key - 1} : (helio_text_t){0};
        return true;
    }
    return false;
}

bool helio_status_file_number(helio_text_t text, int64_t least, int64_t most, int64_t *ret_value)
{
    bool negative = text.size && text.data[0] == '-';
    uint32_t at = negative ? 1 : 0;
    if (at == text.size || text.size > 19 + at)
        return false;
    uint64_t value = 0;
    for (; at < text.size; at++) {
        if (text.data[at] < '0' || text.data[at] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[at] - '0');
    }
    if (value > INT64_MAX)
        return false;
    int64_t number = negative ? -(int64_t)value : (int64_t)value;
    if (number < least || number > most)
        return false;
    *ret_value = number;
    return true;
}

/* ---- done ---------------------------------------------------------------------------------------------- */

void helio_done_text(const helio_done_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out,
                        "failed=%d\nexit_code=%d\nlimit_reached=%d\nstopped=%d\nstarted_wall_ms=%lld\n"
                        "ended_wall_ms=%lld\nrun_ms=%llu\nmax_rss_kib=%llu\nlog_dropped_bytes=%llu\n",
                        self->failed, self->exit_code, self->limit_reached, self->stopped,
                        (long long)self->started_wall_ms, (long long)self->ended_wall_ms,
                        (unsigned long long)self->run_ms, (unsigned long long)self->max_rss_kib,
                        (unsigned long long)self->log_dropped_bytes);
    char reason[REASON_SIZE];
    (void)helio_cause_text(self->cause, helio_text_of(self->explanation), reason, sizeof reason);
    helio_buffer_text(out, "reason=");
    for (const char *c = reason; *c; c++)
        helio_buffer_append(out, (unsigned char)*c < ' ' ? " " : c, 1);
    helio_buffer_text(out, "\nend=1\n");
}

/*  It is printed on terminals and in documents, and a user can have written it: printable ASCII only. */
static void read_reason(helio_text_t text, helio_done_t *done)
{
    char reason[REASON_SIZE];
    helio_text_t explanation;
    (void)helio_text_copy(text, reason, sizeof reason);
    for (char *c = reason; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    done->cause = helio_cause_of_text(helio_text_of(reason), &explanation);
    (void)helio_text_copy(explanation, done->explanation, sizeof done->explanation);
}

helio_rc helio_done_parse(helio_text_t text, helio_done_t *ret_done)
{
    helio_done_t done = {0};
    bool whole = false, has_exit_code = false;
    helio_text_t key, value;
    while (helio_status_file_line(&text, &key, &value)) {
        int64_t number = 0;
        if (helio_text_is(key, "reason")) {
            read_reason(value, &done);
            continue;
        }
        if (!helio_status_file_number(value, INT64_MIN + 1, INT64_MAX, &number))
            return HELIO_INVALID;
        uint64_t size = number < 0 ? 0 : (uint64_t)number;
        if (helio_text_is(key, "failed"))
            done.failed = number != 0;
        else if (helio_text_is(key, "exit_code")) {
            if (number < 0 || number > EXIT_CODE_MAX)
                return HELIO_INVALID;
            done.exit_code = (int32_t)number;
            has_exit_code = true;
        } else if (helio_text_is(key, "limit_reached"))
            done.limit_reached = number != 0;
        else if (helio_text_is(key, "stopped"))
            done.stopped = number != 0;
        else if (helio_text_is(key, "started_wall_ms"))
            done.started_wall_ms = number;
        else if (helio_text_is(key, "ended_wall_ms"))
            done.ended_wall_ms = number;
        else if (helio_text_is(key, "run_ms"))
            done.run_ms = size;
        else if (helio_text_is(key, "max_rss_kib"))
            done.max_rss_kib = size;
        else if (helio_text_is(key, "log_dropped_bytes"))
            done.log_dropped_bytes = size;
        else if (helio_text_is(key, "end"))
            whole = true;
    }
    if (!whole || !has_exit_code) /* no exit code is not 0: that would be success */
        return HELIO_INVALID;
    *ret_done = done;
    return HELIO_OK;
}

helio_rc helio_done_reserve(int folder, helio_error_t *err)
{
    HELIO_AUTO(helio_close) int fd = openat(folder, "reserve", RESERVE_FLAGS, 0600);
    if (fd < 0)
        return failed(err, "create", "reserve");
    int rc = posix_fallocate(fd, 0, HELIO_STATUS_FILE_RESERVE);
    if (rc)
        return helio_fail(err, HELIO_IO, "no space for the end mark: %s", strerror(rc));
    if (fsync(fd)) /* its name has time until the next status file */
        return failed(err, "sync", "reserve");
    return HELIO_OK;
}

helio_rc helio_done_write(int folder, const helio_done_t *done, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_done_text(done, &text);
    HELIO_AUTO(helio_close) int fd = openat(folder, "reserve", RESERVE_FLAGS, 0600);
    if (fd < 0)
        return failed(err, "open", "reserve");
    /* The file is truncated only after it was written in place: it keeps its blocks until then. */
    if (!helio_write_all(fd, text.data, text.size) || ftruncate(fd, (off_t)text.size) || fsync(fd))
        return failed(err, "write", "done");
    if (renameat(folder, "reserve", folder, "done") || fsync(folder))
        return failed(err, "put in place", "done");
    return HELIO_OK;
}
