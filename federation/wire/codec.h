/*  codec.h -- any record to and from msgpack, by walking its description (base/record.h).
 *
 *  A record is an array of its fields in order. BOOL is bool; integers take the shortest form; F64 is always
 * float 64; UUID is bin of 16 bytes; KEY is bin of 20: the job's 16, then the task as big-endian int32; TEXT
 * is str, BYTES bin; lists and nested records are arrays. One record has exactly one encoding, so equal
 * records give equal bytes: this is also the canonical form of what the cores record.
 *
 *  Both directions enforce the same: the bounds of the field table, U32 in range, F64 finite, TEXT valid
 * UTF-8 without NUL. Reading is strict about kinds (no float for an int, no str for a bin). An older writer
 * may have left out what was appended since (record.h): that is read as zero. Fewer fields than
 * HELIO_PROTOCOL_VERSION_MIN had are HELIO_PROTOCOL; more than the table has are a newer writer's and are
 * skipped, after the pre-scan has held them to its bounds like all others. Integers are accepted in any of msgpack's
 * integer forms that hold the value. Errors name record and field: "helio_report.reason: …".
 *
 *  Any thread; no state. Reading first checks everything with helio_wire_prescan and allocates only in the
 * arena, for lists, never more than a fixed multiple of the bytes given.
 */
#ifndef HELIO_WIRE_CODEC_H
#define HELIO_WIRE_CODEC_H

#include "federation/base/memory.h"
#include "federation/base/record.h"

/*  Appends one array. HELIO_INVALID: a value breaks its table; HELIO_TOO_BIG: a bound, or the buffer's
 * maximum. What was appended before the failure is taken back. */
HELIO_MUST_CHECK helio_rc helio_wire_pack(const helio_record_type_t *type, const void *record,
                                          helio_buffer_t *out, helio_error_t *err);
/*  TEXT and BYTES become views into `bytes`, which the caller keeps alive; lists live in the arena.
 * HELIO_PROTOCOL; *ret_record is untouched on failure (the arena may have grown). */
HELIO_MUST_CHECK helio_rc helio_wire_unpack(const helio_record_type_t *type, helio_text_t bytes,
                                            helio_arena_t *arena, void *ret_record, helio_error_t *err);

/*  A frame: [message, fields…], as messages.h numbers them. HELIO_TOO_BIG beyond HELIO_WIRE_FRAME_MAX: split
 * lists. */
HELIO_MUST_CHECK helio_rc helio_wire_encode(uint32_t message, const void *record, helio_buffer_t *out,
                                            helio_error_t *err);
/*  The record lives in the arena, its texts in the frame. HELIO_VERSION: a message number that is not in the
 * table
 *  (*ret_message is set even then, so that it can be named); HELIO_PROTOCOL for everything else. */
HELIO_MUST_CHECK helio_rc helio_wire_decode(helio_text_t frame, helio_arena_t *arena, uint32_t *ret_message,
                                            void **ret_record, helio_error_t *err);

/*  What a HELLO says of the versions that its sender speaks, even if the rest of it cannot be read here: these
 * two fields keep their place in every version, so that a peer that nobody understands is told so. False: the
 * frame is no HELLO. */
bool helio_wire_hello_versions(helio_text_t frame, uint32_t *ret_least, uint32_t *ret_most);

/*  One line for people, JSON-like: {"seq":7,"data":"4:deadbeef"}; BYTES as length and the first 16 hex
 * digits. For any record, valid or not: quotes, control characters and bytes that are not UTF-8 are escaped.
 */
void helio_wire_dump(const helio_record_type_t *type, const void *record, helio_buffer_t *out);

#endif
