/*  status_files.c -- one attempt's folder: opening it, and the status files that agent and shim leave in it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/folder/internal.h"

enum { STARTED_MAX = 64 << 10, CLAIM_MAX = 4096 };

helio_rc helio_folders_open(const helio_folders_t *self, const char *name, int *ret_folder, helio_error_t *err)
{
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* its owner may have removed its permissions, or put something else in its place */
    if (folder < 0 && errno != ENOENT)
        return helio_fail(err, errno == EACCES || errno == ENOTDIR || errno == ELOOP ? HELIO_FORBIDDEN : HELIO_IO,
                          "cannot open the folder of %s: %s", name, strerror(errno));
    *ret_folder = folder;
    return HELIO_OK;
}

helio_rc helio_folder_close_unclaimed(int folder, helio_error_t *err)
{
    helio_claim_t nobody = {0};
    helio_process_boot_id(nobody.boot_id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_text(&nobody, &text);
    return helio_status_file_claim(folder, "claim", helio_buffer_view(&text), err);
}

helio_rc helio_folder_claim(int folder, helio_claim_t *ret_claim, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_status_file_read(folder, "claim", CLAIM_MAX, &text, err);
    if (!rc && helio_claim_parse(helio_buffer_view(&text), ret_claim))
        rc = helio_fail(err, HELIO_INVALID, "a claim is damaged");
    return rc;
}

helio_rc helio_folder_started(int folder, helio_started_t *ret_started, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_status_file_read(folder, "started", STARTED_MAX, &text, err);
    if (!rc && helio_started_parse(helio_buffer_view(&text), ret_started))
        rc = helio_fail(err, HELIO_INVALID, "a start mark is damaged");
    return rc;
}

helio_rc helio_folder_done(int folder, helio_done_t *ret_done, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_status_file_read(folder, "done", HELIO_STATUS_FILE_MAX, &text, err);
    if (!rc && helio_done_parse(helio_buffer_view(&text), ret_done))
        rc = helio_fail(err, HELIO_INVALID, "an end mark is damaged");
    return rc;
}

helio_rc helio_folder_beat(int folder, int64_t *ret_ns)
{
    /* Opened instead of stat'ed: only an open makes a network file system ask its server. */
    int fd = openat(folder, "claim", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return HELIO_NOT_FOUND;
    int rc = fstat(fd, &status);
    (void)close(fd);
    if (rc)
        return HELIO_NOT_FOUND;
    *ret_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return HELIO_OK;
}

helio_rc helio_folder_stop(int folder, uint32_t stop_mode, helio_error_t *err)
{
    return helio_status_file_write(
        folder, "stop", stop_mode == HELIO_STOP_MODE_KILL ? HELIO_TEXT("kill") : HELIO_TEXT("grace"), 0644, err);
}
