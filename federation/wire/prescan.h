/*  prescan.h -- is this run of bytes one well-formed msgpack array within our limits? Asked before any
 * decoding.
 *
 *  msgpack lets five bytes announce gigabytes. This walk allocates nothing, never recurses and looks at each
 * byte of structure once: nesting at most HELIO_WIRE_DEPTH_MAX, no more announced elements than bytes left to
 * hold them, at most elements_max in all, no maps and no extension types (messages are arrays of plain
 * values), an end exactly at the last byte. Only the top level must be an array. Any thread.
 */
#ifndef HELIO_WIRE_PRESCAN_H
#define HELIO_WIRE_PRESCAN_H

#include "federation/base/memory.h"

enum { HELIO_WIRE_DEPTH_MAX = 8, HELIO_WIRE_ELEMENTS_MAX = 1 << 20 };

/*  HELIO_PROTOCOL with a text that says what and at which byte. */
HELIO_MUST_CHECK helio_rc helio_wire_prescan(helio_text_t bytes, uint32_t elements_max, helio_error_t *err);

#endif
