/*  folder_report.c -- what a job tells of its progress in HELIO_REPORT. The file is the user's: hostile until
 * read. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/folder_inner.h"

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

uint64_t helio_folder_units_done(int folder)
{
    int fd = openat(folder, "report", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return 0;
    uint64_t units = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        off_t at = status.st_size > TAIL_MAX ? status.st_size - TAIL_MAX : 0;
        char piece[8192];
        ssize_t got;
        while (text.size < TAIL_MAX && (got = pread(fd, piece, sizeof piece, at)) > 0) {
            helio_buffer_append(&text, piece, (size_t)got);
            at += got;
        }
        units = helio_report_units(helio_buffer_view(&text));
    }
    (void)close(fd);
    return units;
}
