/*  log_tail.h -- the last lines of a log. Pure. */
#ifndef HELIO_ROUTES_LOG_TAIL_H
#define HELIO_ROUTES_LOG_TAIL_H

#include "federation/base/memory.h"

enum {
    HELIO_LOG_TAIL_BYTES = 256 << 10, /* of a log, from which its last lines are taken */
    HELIO_LOG_TAIL_LINES = 10000
};

/*  Where the last lines of a piece begin, whose end is that of the log. whole: it begins with the log; otherwise the line in which it begins
 *  is left out, unless there is no other. A last line needs no newline. */
uint32_t helio_log_tail(helio_text_t piece, bool whole, uint32_t lines);

#endif
