/*  status_files.c -- one attempt's folder: opening it, and the status files that agent and shim leave in it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/folder/internal.h"

enum { STARTED_MAX = 64 << 10, CLAIM_MAX = 4096, BEAT_SILENT_MS = 30000 };

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

helio_folder_taken_t helio_folder_taken(int folder, helio_claim_t *ret_claim)
{
    helio_claim_t claim = {0};
    helio_rc rc = helio_folder_claim(folder, &claim, NULL);
    *ret_claim = rc ? (helio_claim_t){0} : claim;
    if (rc == HELIO_NOT_FOUND)
        return HELIO_FOLDER_OPEN;
    return rc == HELIO_OK && claim.shim.pid == 0 ? HELIO_FOLDER_CLOSED : HELIO_FOLDER_TAKEN;
}

helio_rc helio_folders_close(const helio_folders_t *self, const char *name, helio_folder_taken_t *ret_taken,
                             helio_claim_t *ret_claim, helio_error_t *err)
{
    int folder = -1;
    *ret_taken = HELIO_FOLDER_OPEN;
    helio_rc rc = helio_folders_open(self, name, &folder, err);
    if (!rc && folder >= 0)
        rc = helio_folder_close_unclaimed(folder, err);
    if (rc == HELIO_OK)
        *ret_taken = HELIO_FOLDER_CLOSED;
    if (rc == HELIO_CONFLICT)
        *ret_taken = helio_folder_taken(folder, ret_claim);
    if (folder >= 0)
        (void)close(folder);
    return rc == HELIO_CONFLICT && *ret_taken == HELIO_FOLDER_CLOSED ? HELIO_OK : rc; /* by a former agent */
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
    int fd = -1;
    struct stat status;
    if (helio_status_file_open(folder, "claim", HELIO_WRITER_SHIM, &fd, &status, NULL))
        return HELIO_NOT_FOUND;
    (void)close(fd);
    *ret_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return HELIO_OK;
}

int64_t helio_beat_note(helio_beat_t *self, int folder, int64_t now_boot_ms)
{
    int64_t ns = 0;
    if (helio_folder_beat(folder, &ns) || (self->seen_ms && ns == self->ns))
        return 0;
    int64_t silent_ms = self->seen_ms ? now_boot_ms - self->seen_ms : 0;
    self->ns = ns;
    self->seen_ms = now_boot_ms ? now_boot_ms : 1;
    return silent_ms;
}

bool helio_beat_is_fresh(const helio_beat_t *self, int64_t now_boot_ms)
{
    return self->seen_ms && now_boot_ms - self->seen_ms < BEAT_SILENT_MS;
}

helio_rc helio_folder_stop(int folder, uint32_t stop_mode, helio_error_t *err)
{
    return helio_status_file_write(
        folder, "stop", stop_mode == HELIO_STOP_MODE_KILL ? HELIO_TEXT("kill") : HELIO_TEXT("grace"), 0644, err);
}

void helio_folders_mark_stop(const helio_folders_t *self, const char *name, uint32_t stop_mode, uint32_t *marked)
{
    int folder = -1;
    if (*marked == stop_mode + 1 || helio_folders_open(self, name, &folder, NULL) || folder < 0)
        return;
    if (helio_folder_stop(folder, stop_mode, NULL) == HELIO_OK)
        *marked = stop_mode + 1;
    (void)close(folder);
}

static const int signal_numbers[HELIO_JOB_SIGNAL_COUNT] = {
    [HELIO_JOB_SIGNAL_HUP] = SIGHUP,   [HELIO_JOB_SIGNAL_INT] = SIGINT,   [HELIO_JOB_SIGNAL_QUIT] = SIGQUIT,
    [HELIO_JOB_SIGNAL_KILL] = SIGKILL, [HELIO_JOB_SIGNAL_USR1] = SIGUSR1, [HELIO_JOB_SIGNAL_USR2] = SIGUSR2,
    [HELIO_JOB_SIGNAL_TERM] = SIGTERM, [HELIO_JOB_SIGNAL_CONT] = SIGCONT};

/*  The number of the last line, and where the newest KEPT - 1 lines begin. */
static int64_t last_signal(helio_text_t lines, uint32_t *ret_from)
{
    enum { KEPT = 32 };
    uint32_t begins[KEPT] = {0}, count = 0;
    int64_t last = 0, number;
    helio_text_t rest = lines, key, value;
    for (uint32_t at = 0; helio_status_file_line(&rest, &key, &value); at = lines.size - rest.size) {
        if (helio_status_file_number(key, 1, INT64_MAX - 1, &number))
            last = number;
        begins[count++ % KEPT] = at;
    }
    *ret_from = count < KEPT ? 0 : begins[(count + 1) % KEPT];
    return last;
}

helio_rc helio_folders_signal(const helio_folders_t *self, const char *name, const helio_attempt_signal_t *signal,
                              helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t before = {0}, text = {0};
    int folder = -1;
    helio_rc rc = helio_folders_open(self, name, &folder, err);
    if (rc)
        return rc;
    if (folder < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has no folder");
    uint32_t from = 0;
    if (helio_status_file_read(folder, "signals", HELIO_STATUS_FILE_SIGNALS_MAX, &before, NULL))
        helio_buffer_reset(&before);
    int64_t last = last_signal(helio_buffer_view(&before), &from);
    if (before.size)
        helio_buffer_append(&text, before.data + from, before.size - from);
    helio_buffer_printf(&text, "%lld=%d %s\n", (long long)last + 1, signal_numbers[signal->signal],
                        helio_signal_to_name(signal->to));
    rc = helio_status_file_write(folder, "signals", helio_buffer_view(&text), 0644, err);
    (void)close(folder);
    return rc;
}
