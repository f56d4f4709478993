/*  inspect.c -- the header of the file tells what wrote it, the kernel who has locked it. SQLite reads only a file that
 *  is complete by itself, with `immutable`, which takes no lock and makes no file. */
#include "site-agent/journal/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "site-agent/journal/format.h"

enum {
    PATH_SIZE = 4096,
    HEADER_SIZE = 100,
    USER_VERSION_AT = 60,
    APPLICATION_AT = 68,
    LOCKS_AT = 0x40000000, /* in SQLite's file format: processes lock 512 bytes from here on */
    LOCKS_SIZE = 512
};

static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/*  log: the first pages can be in the write-ahead log alone, until they are moved into the file. */
static helio_rc read_header(int fd, const char *path, bool log, helio_error_t *err)
{
    static const char magic[16] = "SQLite format 3";
    uint8_t header[HEADER_SIZE] = {0};
    ssize_t size = pread(fd, header, sizeof header, 0);
    uint32_t application = be32(header + APPLICATION_AT), format = be32(header + USER_VERSION_AT);
    bool whole = size == (ssize_t)sizeof header && memcmp(header, magic, sizeof magic) == 0;
    if (log && (size == 0 || (whole && !application)))
        return HELIO_OK;
    if (!whole || application != HELIO_JOURNAL_APPLICATION)
        return helio_fail(
            err, HELIO_PROTOCOL,
            "%s is no journal of this program: the agent would move it aside, and know nothing of its jobs", path);
    if (format > HELIO_JOURNAL_FORMAT)
        return helio_fail(err, HELIO_VERSION,
                          "%s was written by a newer release (format %u, this one knows %d): install that one again",
                          path, format, HELIO_JOURNAL_FORMAT);
    return HELIO_OK;
}

/*  The process that has it open; 0 = none, or unknown. */
static long holder_of(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS_AT, .l_len = LOCKS_SIZE};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? (long)lock.l_pid : 0;
}

static bool has_log(const char *path)
{
    char log[PATH_SIZE + 8];
    struct stat status;
    (void)snprintf(log, sizeof log, "%s-wal", path);
    return stat(log, &status) == 0 && status.st_size > 0;
}

static helio_rc check_rows(const char *path, helio_error_t *err)
{
    char uri[PATH_SIZE * 3 + 40];
    size_t size = (size_t)snprintf(uri, sizeof uri, "file:");
    for (const char *at = path; *at; at++) /* '?', '#' and '%' have a meaning in a URI */
        size +=
            (size_t)snprintf(uri + size, sizeof uri - size, strchr("?#%", *at) ? "%%%02x" : "%c", (unsigned char)*at);
    (void)snprintf(uri + size, sizeof uri - size, "?immutable=1");
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    const char *said = NULL;
    bool good =
        sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW;
    if (good) {
        said = (const char *)sqlite3_column_text(statement, 0);
        good = said && strcmp(said, "ok") == 0;
    }
    helio_rc rc = HELIO_OK;
    if (!good)
        rc = helio_fail(err, HELIO_PROTOCOL,
                        "%s is damaged (%.200s): the agent would move it aside, and find its jobs by their folders",
                        path, said ? said : sqlite3_errmsg(db));
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return rc;
}

static helio_rc may_write(const char *directory, const char *path, helio_error_t *err)
{
    const char *what = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0        ? path
                       : faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0 ? directory
                                                                                      : NULL;
    if (what)
        return helio_fail(err, HELIO_FORBIDDEN, "%s: %s; it must be the agent's own user's", what, strerror(errno));
    return HELIO_OK;
}

static helio_rc look(const char *directory, const char *path, int fd, char ret_text[HELIO_JOURNAL_INSPECT_SIZE],
                     helio_error_t *err)
{
    bool log = has_log(path);
    helio_rc rc = may_write(directory, path, err);
    if (rc == HELIO_OK)
        rc = read_header(fd, path, log, err);
    if (rc != HELIO_OK)
        return rc;
    long pid = holder_of(fd);
    if (!pid && !log)
        rc = check_rows(path, err);
    if (rc != HELIO_OK)
        return rc;
    if (pid)
        (void)snprintf(ret_text, HELIO_JOURNAL_INSPECT_SIZE, "%.300s, held by the agent that runs (process %ld)", path,
                       pid);
    else
        (void)snprintf(ret_text, HELIO_JOURNAL_INSPECT_SIZE, "%.300s, %s; no agent has it open", path,
                       log ? "not closed in order: the next run reads its log" : "whole");
    return HELIO_OK;
}

helio_rc helio_journal_inspect(const char *directory, char ret_text[HELIO_JOURNAL_INSPECT_SIZE], helio_error_t *err)
{
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof path, "%s/journal.db", directory) >= sizeof path)
        return helio_fail(err, HELIO_INVALID, "the directory's name is too long");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        (void)snprintf(ret_text, HELIO_JOURNAL_INSPECT_SIZE, "none yet: the first run makes %.300s", path);
        return HELIO_OK;
    }
    if (fd < 0)
        return helio_fail(err, errno == EACCES ? HELIO_FORBIDDEN : HELIO_IO, "%s: %s", path, strerror(errno));
    helio_rc rc = look(directory, path, fd, ret_text, err);
    (void)close(fd);
    return rc;
}
