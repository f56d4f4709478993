/*  gang.c -- the files `word` and `ranks`, written by the head and by the ranks, and how an attempt's ranks ended. */
#include "site-agent/shim/gang.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/reason/codes.h"
#include "site-agent/shim/plan.h"

enum { WORD_SIZE = 24, LINE_SIZE = 8, NAME_SIZE = 24, DONE_LOOKS = 50, DONE_LOOK_MS = 100, LOOK_MOST_MS = 5000 };

int64_t helio_gang_poll_ms(uint32_t nodes)
{
    int64_t period_ms = 500 + (int64_t)nodes * 4;
    return period_ms < LOOK_MOST_MS ? period_ms : LOOK_MOST_MS;
}

static void write_word(char line[WORD_SIZE + 1], helio_gang_command_t word, uint64_t grace_ms)
{
    (void)snprintf(line, WORD_SIZE + 1, "%c %021llu\n", (char)word, (unsigned long long)grace_ms);
}

static void write_line(char line[LINE_SIZE + 1], char state, int32_t exit_code)
{
    (void)snprintf(line, LINE_SIZE + 1, "%c %05u\n", state, (unsigned)exit_code % 1000U);
}

static void rank_name(char name[NAME_SIZE], uint32_t rank)
{
    (void)snprintf(name, NAME_SIZE, "rank-%u", rank);
}

helio_rc helio_gang_make(int folder, uint32_t nodes, helio_error_t *err)
{
    char name[NAME_SIZE], word[WORD_SIZE + 1], line[LINE_SIZE + 1];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t lines = {0};
    write_line(line, '-', 0);
    for (uint32_t rank = 0; rank < nodes; rank++) {
        rank_name(name, rank);
        helio_buffer_append(&lines, line, LINE_SIZE);
        if (mkdirat(folder, name, 0700))
            return helio_fail(err, HELIO_IO, "cannot make '%s': %s", name, strerror(errno));
    }
    write_word(word, HELIO_GANG_GO, 0);
    helio_rc rc = helio_status_file_write(folder, "ranks", helio_buffer_view(&lines), 0600, err);
    return rc ? rc : helio_status_file_write(folder, "word", (helio_text_t){word, WORD_SIZE}, 0600, err);
}

static helio_rc write_in_place(int folder, const char *name, const char *bytes, size_t size, off_t at,
                               helio_error_t *err)
{
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && pwrite(fd, bytes, size, at) == (ssize_t)size && fsync(fd) == 0;
    helio_rc rc = good ? HELIO_OK : helio_fail(err, HELIO_IO, "cannot write '%s': %s", name, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* ---- the head's side ----------------------------------------------------------------------------------- */

helio_rc helio_gang_say(int folder, helio_gang_command_t word, uint64_t grace_ms, helio_error_t *err)
{
    char line[WORD_SIZE + 1];
    write_word(line, word, grace_ms);
    return write_in_place(folder, "word", line, WORD_SIZE, 0, err);
}

void helio_gang_poll(int folder, uint32_t nodes, helio_gang_count_t *ret_count)
{
    helio_gang_count_t count = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (helio_status_file_read(folder, "ranks", HELIO_STATUS_FILE_MAX, &text, NULL) == HELIO_OK)
        for (uint32_t rank = 0; rank < nodes && (size_t)(rank + 1) * LINE_SIZE <= text.size; rank++) {
            const char *line = text.data + (size_t)rank * LINE_SIZE;
            count.begun += line[0] == 's' || line[0] == 'e';
            count.ended += line[0] == 'e';
            count.failed += line[0] == 'e' && memcmp(line + 2, "00000", 5) != 0;
        }
    *ret_count = count;
}

/*  Its `done`, if it has one; a server that is slow to report the file gets some time. */
static bool read_done(int folder, const char *name, int *looks, helio_done_t *ret_done)
{
    for (;; (*looks)--) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        int status_files = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        helio_rc rc = status_files < 0
                          ? HELIO_NOT_FOUND
                          : helio_status_file_read(status_files, "done", HELIO_STATUS_FILE_MAX, &text, NULL);
        if (status_files >= 0)
            (void)close(status_files);
        if (rc == HELIO_OK)
            return helio_done_parse(helio_buffer_view(&text), ret_done) == HELIO_OK;
        if (*looks <= 0)
            return false;
        (void)poll(NULL, 0, DONE_LOOK_MS);
    }
}

/*  Claims the rank for no shim; false: its shim has it. */
static bool close_rank(int folder, const char *name)
{
    int status_files = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (status_files < 0)
        return false;
    helio_claim_t nobody = {0};
    helio_process_boot_id(nobody.boot_id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_text(&nobody, &text);
    helio_rc rc = helio_status_file_claim(status_files, "claim", helio_buffer_view(&text), NULL);
    (void)close(status_files);
    return rc == HELIO_OK;
}

typedef struct firsts {
    int64_t failed_ms, stopped_ms;
    int32_t stopped_code;
} firsts_t;

static void add_done(helio_gang_end_t *end, firsts_t *firsts, uint32_t rank, const helio_done_t *done)
{
    if (done->max_rss_kib > end->max_rss_kib)
        end->max_rss_kib = done->max_rss_kib;
    end->lease_expired |= done->cause == HELIO_CAUSE_LEASE_EXPIRED;
    if (done->failed) {
        if (!end->refused++) {
            end->cause = done->cause;
            (void)snprintf(end->explanation, sizeof end->explanation, "%.150s%s(rank %u)", done->explanation,
                           done->explanation[0] ? " " : "", rank);
        }
        return;
    }
    end->ran++;
    if (done->exit_code && !done->stopped && done->ended_wall_ms < firsts->failed_ms) {
        firsts->failed_ms = done->ended_wall_ms;
        end->exit_code = done->exit_code;
    }
    if (done->exit_code && done->stopped && done->ended_wall_ms < firsts->stopped_ms) {
        firsts->stopped_ms = done->ended_wall_ms;
        firsts->stopped_code = done->exit_code;
    }
}

void helio_gang_gather(int folder, uint32_t nodes, helio_gang_end_t *ret_end)
{
    helio_gang_end_t end = {0};
    firsts_t firsts = {.failed_ms = INT64_MAX, .stopped_ms = INT64_MAX};
    int looks = DONE_LOOKS; /* for all of them together */
    for (uint32_t rank = 0; rank < nodes; rank++) {
        char name[NAME_SIZE];
        helio_done_t done;
        rank_name(name, rank);
        if (close_rank(folder, name))
            continue;
        if (read_done(folder, name, &looks, &done)) {
            add_done(&end, &firsts, rank, &done);
            continue;
        }
        end.ran++;
#ifndef HELIO_MUTANT_rank_end_assumed
        end.silent++;
#endif
    }
    if (firsts.failed_ms == INT64_MAX)
        end.exit_code = firsts.stopped_code;
    *ret_end = end;
}

/* ---- a rank's side ------------------------------------------------------------------------------------- */

helio_rc helio_gang_open(int folder, uint32_t rank, int *ret_status_files, helio_error_t *err)
{
    char name[NAME_SIZE];
    rank_name(name, rank);
    int status_files = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (status_files < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "cannot open '%s' of the attempt: %s", name, strerror(errno));
    *ret_status_files = status_files;
    return HELIO_OK;
}

helio_gang_command_t helio_gang_hear(int folder, uint64_t *ret_grace_ms)
{
    int64_t grace_ms = 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (helio_status_file_read(folder, "word", WORD_SIZE, &text, NULL) || text.size != WORD_SIZE)
        return HELIO_GANG_GO;
    const char *digits = text.data + 2;
    uint32_t size = WORD_SIZE - 3;
    for (; size > 1 && *digits == '0'; size--)
        digits++;
    if (!helio_status_file_number((helio_text_t){digits, size}, 0, INT64_MAX / 4, &grace_ms))
        return HELIO_GANG_GO;
    *ret_grace_ms = (uint64_t)grace_ms;
    return text.data[0] == 's' ? HELIO_GANG_STOP : text.data[0] == 'k' ? HELIO_GANG_KILL : HELIO_GANG_GO;
}

helio_rc helio_gang_tell(int folder, uint32_t rank, bool ended, int32_t exit_code, helio_error_t *err)
{
    char line[LINE_SIZE + 1];
    write_line(line, ended ? 'e' : 's', exit_code);
    return write_in_place(folder, "ranks", line, LINE_SIZE, (off_t)rank * LINE_SIZE, err);
}
