/*  prescan.h -- checks before any decoding that bytes are one well-formed msgpack array within the project's limits.
 *
 *  In msgpack five bytes can announce gigabytes. This walk allocates nothing, does not recurse and reads each byte of
 *  structure once. It checks that nesting is at most HELIO_WIRE_DEPTH_MAX, that no more elements are announced than
 *  bytes remain, that at most elements_max elements exist, without maps and extension types (messages are arrays of
 *  plain values), and that the message ends exactly at the last byte. Only the top level must be an array. Any thread.
 */
#ifndef HELIO_WIRE_PRESCAN_H
#define HELIO_WIRE_PRESCAN_H

#include "federation/base/memory.h"

enum { HELIO_WIRE_DEPTH_MAX = 8, HELIO_WIRE_ELEMENTS_MAX = 1 << 20 };

/*  HELIO_PROTOCOL; the error's text names the problem and the byte. */
HELIO_MUST_CHECK helio_rc helio_wire_prescan(helio_text_t bytes, uint32_t elements_max, helio_error_t *err);

#endif
