/*  status_files.h -- the files of one attempt's folder, through which the agent and the shim communicate durably.
 *    - run: the job's program text; the mapped user's, who reads and executes it
 *    - env: NUL-separated environment of every rank (the shim adds the rank's own variables); removed once they have
 *      it, since it can hold secrets
 *    - plan: how to run it (plan.h); written last: a folder without a plan was never complete
 *    - claim: the shim that runs it; linked into place, so that only one ever exists, and always complete; it is
 *      touched every few seconds, as a sign of life
 *    - started: the ranks' leaders, written before any of them executes an instruction of the job
 *    - reserve: disk space reserved for `done`
 *    - done: how it ended; written last
 *    - stop: the agent's command to end it ("grace" or "kill"), where a scheduler may fail to deliver a signal
 *    - signals: signals for the job's processes, one a line, numbered: "3=10 script"; each line is
 *      obeyed once
 *    - log: output of all ranks, bounded
 *    - report: HELIO_REPORT, the mapped user's
 *    - shim.log: the shim's own error messages; slurm.log where Slurm starts it
 *    - forget: the wall-clock time in ms of the broker's acknowledgement; beside the folders, not in them, if they are
 *      the users'
 *    - word, ranks, rank-<n>/: for several nodes (gang.h)
 *
 *  Status files are texts of "key=value" lines. Where the agent's user starts the shim, the job's user can write only
 *  `run` and `report` in a folder (if the agent is root). Where a scheduler starts it as the job's user, the whole
 *  folder is the user's. Paths are relative to an open folder, so that renaming the folder does no harm.
 */
#ifndef HELIO_SHIM_STATUS_FILES_H
#define HELIO_SHIM_STATUS_FILES_H

#include <sys/stat.h>
#include <sys/types.h>

#include "federation/base/memory.h"

enum { HELIO_STATUS_FILE_MAX = 1 << 20, HELIO_STATUS_FILE_RESERVE = 4096, HELIO_STATUS_FILE_SIGNALS_MAX = 4096 };

/*  ---- files ---- */

/*  Writes tmp, syncs it, renames it to `name` and syncs the folder: the file is complete or absent, and survives a
 *  power cut. */
HELIO_MUST_CHECK helio_rc helio_status_file_write(int folder, const char *name, helio_text_t text, mode_t mode,
                                                  helio_error_t *err);
/*  The same but for the last: for files of a folder that is synced once it has all of them. */
HELIO_MUST_CHECK helio_rc helio_status_file_put(int folder, const char *name, helio_text_t text, mode_t mode,
                                                helio_error_t *err);
/*  As helio_status_file_write, for a text that is replaced again and again, also while the disk is full: two files
 *  that have their space, `name` and .name, change places. Texts fit a block of the disk. */
HELIO_MUST_CHECK helio_rc helio_status_file_replace(int folder, const char *name, helio_text_t text, mode_t mode,
                                                    helio_error_t *err);
/*  As helio_status_file_write, but CONFLICT if `name` exists already: link (2) decides between two writers. */
HELIO_MUST_CHECK helio_rc helio_status_file_claim(int folder, const char *name, helio_text_t text, helio_error_t *err);
/*  Whose file it has to be in a folder of another user than the reader: the owner's of the folder, and, of a file that
 *  agents and shims write, also the agent's or root's. */
typedef enum helio_writer {
    HELIO_WRITER_SHIM,
    HELIO_WRITER_JOB, /* its output and its report: nobody is told what the job's user may not read */
} helio_writer_t;
/*  Opens it for reading, without following a link or waiting for a pipe; the caller closes it. NOT_FOUND; INVALID: it is
 *  no regular file, is another user's, or, of a job's, has another name, and the error's text says what to do. */
HELIO_MUST_CHECK helio_rc helio_status_file_open(int folder, const char *name, helio_writer_t writer, int *ret_fd,
                                                 struct stat *ret_status, helio_error_t *err);
/*  Opens it so, as a shim's, and appends its bytes to *out. TOO_BIG over `max`. */
HELIO_MUST_CHECK helio_rc helio_status_file_read(int folder, const char *name, size_t max, helio_buffer_t *out,
                                                 helio_error_t *err);
bool helio_status_file_exists(int folder, const char *name);

/*  ---- lines ---- */

/*  Line by line: *rest is what is left; false at the end. A line without '=' has an empty value. */
bool helio_status_file_line(helio_text_t *rest, helio_text_t *ret_key, helio_text_t *ret_value);
/*  Decimal, with an optional '-'; false if it is not a number, or outside least..most. */
bool helio_status_file_number(helio_text_t text, int64_t least, int64_t most, int64_t *ret_value);

/*  ---- records ---- */

/*  How an attempt ended, as recorded in `done`. */
typedef struct helio_done {
    bool failed; /* not one instruction of the job ran; cause says why */
    int32_t exit_code;
    bool limit_reached;
    bool stopped;
    int64_t started_wall_ms;
    int64_t ended_wall_ms;
    uint64_t run_ms;
    uint64_t max_rss_kib;
    uint64_t log_dropped_bytes;
    uint32_t cause;        /* helio_cause_t; in the file the line `reason` is its name, ": " and the explanation */
    char explanation[200]; /* one line */
} helio_done_t;

void helio_done_text(const helio_done_t *self, helio_buffer_t *out);
/*  INVALID: the text was cut, or it states no exit code of 0 to 255. Such a file proves no end. */
HELIO_MUST_CHECK helio_rc helio_done_parse(helio_text_t text, helio_done_t *ret_done);

/*  Reserves the space for `done`, and writes into that space at the end: a full disk delays no end. */
HELIO_MUST_CHECK helio_rc helio_done_reserve(int folder, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_done_write(int folder, const helio_done_t *done, helio_error_t *err);

#endif
