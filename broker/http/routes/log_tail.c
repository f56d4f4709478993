/*  log_tail.c -- finds the last lines of a log. */
#include "broker/http/routes/log_tail.h"

#include <string.h>

uint32_t helio_log_tail(helio_text_t piece, bool whole, uint32_t lines)
{
    for (uint32_t at = piece.size, seen = 0; at > 0; at--) {
        bool ends_a_line = piece.data[at - 1] == '\n' && at < piece.size;
        if (ends_a_line && ++seen == lines)
            return at;
    }
    const char *first = whole || !piece.size ? NULL : memchr(piece.data, '\n', piece.size - 1);
    return first ? (uint32_t)(first - piece.data) + 1 : 0;
}
