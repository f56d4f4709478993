/*  folder.c -- the root of the attempts' folders, the lease file in it, and the output of an attempt. */
#include "site-agent/backends/folder/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/folder/internal.h"

enum { ROOT_MAX = 3000, EACH_MAX = 1000000 };

/* ---- creation and end --------------------------------------------------------------------------------------- */

/*  Where jobs run as other users, anyone who can write into these folders decides which program runs as which user. So
 *  only the agent's user can. */
static helio_rc check_ours(const helio_folders_t *self, int folder, const char *name, helio_error_t *err)
{
    struct stat status;
    if (!self->users_own)
        return HELIO_OK;
    if (fstat(folder, &status))
        return helio_fail(err, HELIO_IO, "'%s%s': %s", self->root, name, strerror(errno));
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return helio_fail(err, HELIO_FORBIDDEN, "'%s%s' belongs to user %u, who could replace what is in it",
                          self->root, name, (unsigned)status.st_uid);
    if (status.st_mode & 022)
        return helio_fail(err, HELIO_FORBIDDEN, "'%s%s' can be written by others: chmod go-w it", self->root, name);
    return HELIO_OK;
}

static helio_rc make_room(const helio_folders_t *self, const char *name, int *ret_folder, helio_error_t *err)
{
    const char *plain = name + 1;
    if (mkdirat(self->root_fd, plain, 0711) && errno != EEXIST)
        return helio_fail(err, errno == EACCES || errno == EPERM ? HELIO_FORBIDDEN : HELIO_IO,
                          "cannot make '%s' in '%s': %s%s", plain, self->root, strerror(errno),
                          errno == EACCES ? "; give that folder to the agent's user" : "");
    int folder = openat(self->root_fd, plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return helio_fail(err, HELIO_IO, "cannot open '%s%s': %s", self->root, name, strerror(errno));
    helio_rc rc = check_ours(self, folder, name, err);
    /* Jobs' users can enter it, and only the owner can list it, whatever the umask was. */
    if (!rc && fchmod(folder, 0711))
        rc = helio_fail(err, errno == EPERM ? HELIO_FORBIDDEN : HELIO_IO, "'%s' in '%s': %s%s", plain, self->root,
                        strerror(errno), errno == EPERM ? "; it belongs to another user than the agent's" : "");
    if (rc)
        (void)close(folder);
    else
        *ret_folder = folder;
    return rc;
}

static helio_rc make_rooms(helio_folders_t *self, helio_error_t *err)
{
    static const char *const names[] = {"/output", "/checkpoints", "/attempts", "/forgotten"};
    int rooms[4] = {-1, -1, -1, -1};
    helio_rc rc = check_ours(self, self->root_fd, "", err);
    for (int i = 0; i < (self->users_own ? 4 : 3) && !rc; i++)
        rc = make_room(self, names[i], &rooms[i], err);
    for (int i = 0; i < 2; i++)
        if (rooms[i] >= 0)
            (void)close(rooms[i]);
    self->attempts_fd = rooms[2];
    self->forgotten_fd = rooms[3];
    if (rc)
        return rc;
    if (fsync(self->root_fd))
        return helio_fail(err, HELIO_IO, "cannot open the attempts in '%s': %s", self->root, strerror(errno));
    return HELIO_OK;
}

/*  The number must also rise over restarts of the agent. */
static uint64_t last_lease_number(const helio_folders_t *self, const char *name)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_lease_t lease;
    bool read = helio_status_file_read(self->root_fd, name, HELIO_LEASE_FILE_MAX, &text, NULL) == HELIO_OK &&
                helio_lease_parse(helio_buffer_view(&text), (helio_text_t){0}, &lease) == HELIO_OK;
    return read ? lease.number : 0;
}

helio_rc helio_folders_new(const helio_folders_options_t *options, helio_folders_t **ret_folders, helio_error_t *err)
{
    if (!options->root || options->root[0] != '/' || strlen(options->root) > ROOT_MAX || strchr(options->root, '\n'))
        return helio_fail(err, HELIO_INVALID, "the folder of the attempts needs an absolute path");
    helio_folders_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->attempts_fd = self->forgotten_fd = -1;
    self->root = helio_arena_string(self->arena, helio_text_of(options->root));
    self->site = helio_arena_text(self->arena, options->site);
    self->users_own = options->users_own;
    helio_job_rules_copy(options->rules, self->arena, &self->rules);
    self->root_fd = open(self->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    helio_rc rc = self->root_fd < 0 ? helio_fail(err, HELIO_IO, "cannot open '%s': %s", self->root, strerror(errno))
                                    : make_rooms(self, err);
    if (rc) {
        helio_folders_destroy(&self);
        return rc;
    }
    uint64_t own = last_lease_number(self, "leases"), former = last_lease_number(self, "lease");
    self->lease_number = own > former ? own : former;
    self->nameless_lease = helio_status_file_exists(self->root_fd, "lease");
    *ret_folders = self;
    return HELIO_OK;
}

void helio_folders_destroy(helio_folders_t **self_p)
{
    helio_folders_t *self = *self_p;
    if (!self)
        return;
    if (self->attempts_fd >= 0)
        (void)close(self->attempts_fd);
    if (self->forgotten_fd >= 0)
        (void)close(self->forgotten_fd);
    if (self->root_fd >= 0)
        (void)close(self->root_fd);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

/* ---- output -------------------------------------------------------------------------------------------- */

static helio_rc read_piece(int folder, uint64_t offset, size_t max, helio_buffer_t *out, uint64_t *ret_next,
                           helio_error_t *err)
{
    int log = -1;
    struct stat status;
    helio_rc rc = helio_status_file_open(folder, "log", HELIO_WRITER_JOB, &log, &status, err);
    if (rc && rc != HELIO_NOT_FOUND)
        return rc;
    char piece[16384];
    offset = helio_log_offset(offset, log >= 0 ? (uint64_t)status.st_size : 0);
    while (log >= 0 && max && offset <= INT64_MAX / 2) {
        ssize_t got = pread(log, piece, max < sizeof piece ? max : sizeof piece, (off_t)offset);
        if (got <= 0)
            break;
        helio_buffer_append(out, piece, (size_t)got);
        offset += (uint64_t)got;
        max -= (size_t)got;
    }
    if (log >= 0)
        (void)close(log);
    *ret_next = offset;
    return HELIO_OK;
}

helio_rc helio_folders_log_read(const helio_folders_t *self, const char *name, uint64_t offset, size_t max,
                                helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    int folder = -1;
    helio_rc rc = helio_folders_open(self, name, &folder, err);
    if (rc)
        return rc;
    if (folder < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "no output of %s is kept here", name);
    /* Checked before reading: otherwise what is written in between would be missed. */
    bool over = helio_status_file_exists(folder, "done");
    uint64_t next = offset;
    size_t before = out->size;
    rc = read_piece(folder, offset, max, out, &next, err);
    (void)close(folder);
    if (rc)
        return rc;
    *ret_next = next;
    *ret_end = over && out->size - before < max;
    return HELIO_OK;
}

helio_rc helio_folders_log_of(const helio_folders_t *self, const char *name, bool over, uint64_t offset, size_t max,
                              helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    size_t before = out->size;
    helio_rc rc = helio_folders_log_read(self, name, offset, max, out, ret_next, ret_end, err);
    if (!rc && over && out->size - before < max)
        *ret_end = true;
    return rc;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

helio_rc helio_folders_each(const helio_folders_t *self, helio_folders_fn *fn, void *arg, helio_error_t *err)
{
    int again = openat(self->attempts_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (!list) {
        helio_rc rc = helio_fail(err, HELIO_IO, "cannot list '%s/attempts': %s", self->root, strerror(errno));
        if (again >= 0)
            (void)close(again);
        return rc;
    }
    struct dirent *entry;
    uint32_t count = 0;
    helio_rc rc = HELIO_OK;
    while (errno = 0, (entry = readdir(list)) && count++ < EACH_MAX) {
        helio_job_key_t key;
        uint32_t epoch;
        if (helio_attempt_name_parse(helio_text_of(entry->d_name), &key, &epoch) == HELIO_OK &&
            !helio_folders_is_forgotten(self, entry->d_name))
            fn(arg, entry->d_name, key, epoch);
    }
    if (entry)
        rc = helio_fail(err, HELIO_TOO_BIG, "'%s/attempts' has over %d entries", self->root, EACH_MAX);
    else if (errno)
        rc = helio_fail(err, HELIO_IO, "cannot list '%s/attempts': %s", self->root, strerror(errno));
    (void)closedir(list);
    return rc;
}

helio_rc helio_folders_lease(helio_folders_t *self, const helio_lease_t *lease, const helio_afx_lease_t *granted,
                             helio_error_t *err)
{
    helio_lease_t mine = *lease;
    if (mine.number && mine.number <= self->lease_number)
        mine.number = self->lease_number + 1;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    mode_t mode = self->users_own ? 0644 : 0600;
    helio_lease_text(&mine, &text);
    helio_rc rc = self->nameless_lease
                      ? helio_status_file_replace(self->root_fd, "lease", helio_buffer_view(&text), mode, err)
                      : HELIO_OK;
    for (uint32_t i = 0; i < granted->attempts.count; i++) {
        char name[HELIO_ATTEMPT_NAME_SIZE];
        helio_attempt_name(granted->attempts.items[i].key, granted->attempts.items[i].epoch, name);
        helio_lease_name_text(helio_text_of(name), &text);
    }
    if (!rc)
        rc = helio_status_file_replace(self->root_fd, "leases", helio_buffer_view(&text), mode, err);
    if (!rc && mine.number)
        self->lease_number = mine.number;
    return rc;
}

int64_t helio_lease_kill_after_ms(int64_t left_ms, uint64_t margin_ms)
{
    int64_t third = left_ms > 0 ? left_ms / 3 : 0;
    return ((int64_t)margin_ms < third ? (int64_t)margin_ms : third) / 4 * 3;
}

helio_rc helio_folders_lease_left(helio_folders_t *self, uint64_t margin_ms, const helio_afx_lease_t *granted,
                                  helio_error_t *err)
{
    int64_t left_ms = granted->deadline_boot_ms - helio_clock_boot_ms(), wall_ms = helio_clock_wall_ms();
    if (left_ms < 0)
        left_ms = 0;
    helio_lease_t lease = {.number = wall_ms > 0 ? (uint64_t)wall_ms : 1,
                           .written_wall_ms = wall_ms,
                           .stop_in_ms = left_ms,
                           .kill_in_ms = left_ms + helio_lease_kill_after_ms(left_ms, margin_ms)};
    return helio_folders_lease(self, &lease, granted, err);
}
