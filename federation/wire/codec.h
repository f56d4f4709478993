/*  codec.h -- encodes and decodes any record as msgpack, by walking its description (base/record.h).
 *
 *  A record is an array of its fields in order. BOOL is bool; integers take the shortest form; F64 is always float 64;
 *  UUID is bin of 16 bytes; KEY is bin of 20: the job's 16, then the task as big-endian int32; TEXT is str, BYTES bin;
 *  lists and nested records are arrays. One record has exactly one encoding, so equal records give equal bytes: this is
 *  also the canonical form of what the cores record.
 *
 *  Both directions enforce the same rules: the bounds of the field table, U32 in range, F64 finite, TEXT valid UTF-8
 *  without NUL. Decoding is strict about kinds (no float for an int, no str for a bin). Fields that were appended later
 *  (record.h) are missing in the messages of older writers and are read as zero. Fewer fields than
 *  HELIO_PROTOCOL_VERSION_MIN had are HELIO_PROTOCOL. Fields beyond the table come from a newer writer and are skipped;
 *  the pre-scan has checked their bounds too. Integers are accepted in any msgpack integer form that holds the value.
 *  Errors name record and field: "helio_report.reason: …".
 *
 *  Any thread; stateless. Decoding first checks everything with helio_wire_prescan. It allocates only in the arena, for
 *  lists, and never more than a fixed multiple of the given bytes.
 */
#ifndef HELIO_WIRE_CODEC_H
#define HELIO_WIRE_CODEC_H

#include "federation/base/memory.h"
#include "federation/base/record.h"

/*  Appends one array. HELIO_INVALID: a value violates the field table; HELIO_TOO_BIG: a bound, or the buffer's
 *  maximum. On failure the buffer is restored. */
HELIO_MUST_CHECK helio_rc helio_wire_pack(const helio_record_type_t *type, const void *record, helio_buffer_t *out,
                                          helio_error_t *err);
/*  TEXT and BYTES become views into `bytes`, which the caller keeps alive; lists live in the arena. HELIO_PROTOCOL;
 *  on failure *ret_record is unchanged (the arena may have grown). */
HELIO_MUST_CHECK helio_rc helio_wire_unpack(const helio_record_type_t *type, helio_text_t bytes, helio_arena_t *arena,
                                            void *ret_record, helio_error_t *err);

/*  A frame is [message, fields…], with the numbers of messages.h. HELIO_TOO_BIG beyond HELIO_WIRE_FRAME_MAX: split
 *  lists. */
HELIO_MUST_CHECK helio_rc helio_wire_encode(uint32_t message, const void *record, helio_buffer_t *out,
                                            helio_error_t *err);
/*  The record lives in the arena, its texts in the frame. HELIO_VERSION: an unknown message number (*ret_message is
 *  set even then, for the error message); HELIO_PROTOCOL: everything else. */
HELIO_MUST_CHECK helio_rc helio_wire_decode(helio_text_t frame, helio_arena_t *arena, uint32_t *ret_message,
                                            void **ret_record, helio_error_t *err);

/*  The versions that the sender of a HELLO supports, even if the rest of the message cannot be decoded: these two
 *  fields keep their position in every version, so that an incompatible peer can be told so. False: the frame is not
 *  a HELLO. */
bool helio_wire_hello_versions(helio_text_t frame, uint32_t *ret_least, uint32_t *ret_most);

/*  One JSON-like line for people: {"seq":7,"data":"4:deadbeef"}; BYTES as length and the first 16 hex digits. Works
 *  for any record, valid or not: quotes, control characters and bytes that are not UTF-8 are escaped. */
void helio_wire_dump(const helio_record_type_t *type, const void *record, helio_buffer_t *out);

#endif
