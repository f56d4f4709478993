/*  output.h -- what the ranks print: read from one pipe, kept in `log` up to a bound, counted beyond it.
 *
 *  The ranks never wait for the disk to have room: what cannot be written is dropped and counted.
 */
#ifndef HELIO_SHIM_OUTPUT_H
#define HELIO_SHIM_OUTPUT_H

#include "federation/base/memory.h"

typedef struct helio_output {
    int log;
    int pipe; /* read end, non-blocking; -1 after its end */
    uint64_t max_bytes;
    uint64_t kept_bytes;
    uint64_t dropped_bytes;
    bool told; /* the line that says that output is being dropped */
} helio_output_t;

/*  *ret_writer: the pipe's other end, for the ranks; the caller closes it once they have it. */
HELIO_MUST_CHECK helio_rc helio_output_open(int folder, uint64_t max_bytes, helio_output_t *ret_output,
                                            int *ret_writer, helio_error_t *err);
/*  Reads what there is, at most a few MiB a call. */
void helio_output_pump(helio_output_t *self);
void helio_output_close(helio_output_t *self);

#endif
