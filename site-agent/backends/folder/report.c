/*  report.c -- what a job reports of its progress in HELIO_REPORT. The file is the user's and is not trusted. */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/backends/folder/internal.h"

enum {
    TAIL_MAX = 256 << 10, /* a running total stands near the end */
    LINE_MAX_BYTES = 4096
};

static uint64_t units_of(helio_text_t line)
{
    json_t *object = json_loadb(line.data, line.size, JSON_REJECT_DUPLICATES, NULL);
    double units = json_number_value(json_object_get(object, "units"));
    json_decref(object);
    return isfinite(units) && units > 0 && units < 9e15 ? (uint64_t)units : 0;
}

uint64_t helio_report_units(helio_text_t report)
{
    uint64_t most = 0;
    while (report.size) {
        const char *end = memchr(report.data, '\n', report.size);
        helio_text_t line = {report.data, end ? (uint32_t)(end - report.data) : report.size};
        uint32_t used = end ? line.size + 1 : line.size;
        report = (helio_text_t){report.data + used, report.size - used};
        if (!line.size || line.size > LINE_MAX_BYTES || line.data[0] != '{')
            continue;
        uint64_t units = units_of(line);
        most = units > most ? units : most;
    }
    return most;
}

bool helio_report_saves(helio_text_t report)
{
    uint32_t size = report.size;
    while (size && report.data[size - 1] == '\n')
        size--;
    uint32_t at = size;
    while (at && report.data[at - 1] != '\n' && size - at <= LINE_MAX_BYTES)
        at--;
    if (size - at > LINE_MAX_BYTES || at == size || report.data[at] != '{')
        return false;
    json_t *object = json_loadb(report.data + at, size - at, JSON_REJECT_DUPLICATES, NULL);
    bool saves = json_string_length(json_object_get(object, "checkpoint")) > 0;
    json_decref(object);
    return saves;
}

/*  A modification time that was set back or ahead saves nothing, or all of the run: only the job's owner can do
 *  either. */
static uint64_t saved_run_ms(const struct stat *status, const helio_done_t *done)
{
    int64_t written_ms = 0, ran_ms = 0;
    if (__builtin_mul_overflow((int64_t)status->st_mtim.tv_sec, INT64_C(1000), &written_ms) ||
        __builtin_sub_overflow(written_ms + status->st_mtim.tv_nsec / 1000000, done->started_wall_ms, &ran_ms) ||
        !done->started_wall_ms || ran_ms <= 0)
        return 0;
    return (uint64_t)ran_ms < done->run_ms ? (uint64_t)ran_ms : done->run_ms;
}

helio_progress_t helio_folder_progress(int folder, const helio_done_t *done)
{
    int fd = -1;
    struct stat status;
    helio_progress_t progress = {0};
    if (helio_status_file_open(folder, "report", HELIO_WRITER_JOB, &fd, &status, NULL))
        return progress;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    off_t at = status.st_size > TAIL_MAX ? status.st_size - TAIL_MAX : 0;
    char piece[8192];
    ssize_t got;
    while (text.size < TAIL_MAX && (got = pread(fd, piece, sizeof piece, at)) > 0) {
        helio_buffer_append(&text, piece, (size_t)got);
        at += got;
    }
    progress.units = helio_report_units(helio_buffer_view(&text));
    if (helio_report_saves(helio_buffer_view(&text)))
        progress.saved_run_ms = saved_run_ms(&status, done);
    (void)close(fd);
    return progress;
}

helio_aev_backend_t helio_folder_end(int folder, const helio_done_t *done)
{
    helio_progress_t progress = {0};
    if (!done->failed)
        progress = helio_folder_progress(folder, done);
    return (helio_aev_backend_t){.exit_code = done->exit_code,
                                 .limit_reached = done->limit_reached,
                                 .stopped = done->stopped,
                                 .started_wall_ms = done->started_wall_ms,
                                 .ended_wall_ms = done->ended_wall_ms,
                                 .run_ms = done->run_ms,
                                 .units_done = progress.units,
                                 .saved_run_ms = progress.saved_run_ms};
}
