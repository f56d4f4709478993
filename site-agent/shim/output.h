/*  output.h -- what the ranks print: read from pipes, kept in `log` up to a bound and counted beyond it, and copied
 *  whole to the user's files.
 *
 *  The ranks never wait for free disk space: what cannot be written is dropped and counted.
 */
#ifndef HELIO_SHIM_OUTPUT_H
#define HELIO_SHIM_OUTPUT_H

#include "federation/base/memory.h"

enum { HELIO_OUTPUT_STREAMS = 2 }; /* standard output, standard error */

typedef struct helio_stream {
    int pipe; /* read end, non-blocking; -1 after its end, or if it does not exist */
    int copy; /* -1 = none */
} helio_stream_t;

typedef struct helio_output {
    int log;
    helio_stream_t streams[HELIO_OUTPUT_STREAMS];
    uint64_t max_bytes;
    uint64_t kept_bytes;
    uint64_t dropped_bytes;
    bool told; /* the line that says that output is dropped */
} helio_output_t;

#define HELIO_OUTPUT_NONE ((helio_output_t){.log = -1, .streams = {{-1, -1}, {-1, -1}}})

/*  apart: two pipes; otherwise both streams use the first. ret_writers: the pipes' other ends, for the ranks' standard
 *  output and error. The caller closes them (both are the same if not apart) once the ranks have them. */
HELIO_MUST_CHECK helio_rc helio_output_open(int folder, uint64_t max_bytes, bool apart, helio_output_t *ret_output,
                                            int ret_writers[HELIO_OUTPUT_STREAMS], helio_error_t *err);
/*  Opens the user's file for a stream. The process must run as the user. */
HELIO_MUST_CHECK helio_rc helio_output_copy(helio_output_t *self, uint32_t stream, const char *path, bool truncate,
                                            helio_error_t *err);
/*  Reads what is available, at most a few MiB a call. */
void helio_output_pump(helio_output_t *self);
void helio_output_close(helio_output_t *self);

#endif
