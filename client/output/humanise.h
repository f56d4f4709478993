/*  humanise.h -- quantities for tables: three significant figures and a unit. Pure.
 *
 *  For display only. Files and options use federation/spec/value.h, which round-trips; this does not.
 */
#ifndef HELIO_CLIENT_HUMANISE_H
#define HELIO_CLIENT_HUMANISE_H

#include <stdint.h>

#include "federation/base/memory.h"

enum { HELIO_HUMAN_SIZE = 48 };

void helio_human_number(double value, char ret_text[HELIO_HUMAN_SIZE]);     /* 0.0312, 4.5, 398, 12000 */
void helio_human_duration(double seconds, char ret_text[HELIO_HUMAN_SIZE]); /* 4s 11m 2h05m 3d04h */
void helio_human_run(double seconds, char ret_text[HELIO_HUMAN_SIZE]);      /* 4s 11m 1m57s 2h05m */
void helio_human_money(double usd, char ret_text[HELIO_HUMAN_SIZE]);        /* $0.42 $12.30 $312 */
void helio_human_energy(double kwh, char ret_text[HELIO_HUMAN_SIZE]);       /* 350 Wh, 71 kWh, 1.2 MWh */
void helio_human_mass(double g, char ret_text[HELIO_HUMAN_SIZE]);           /* 850 g, 1.9 kg, 2.3 t */
void helio_human_bytes(double bytes, char ret_text[HELIO_HUMAN_SIZE]);      /* 512 B, 1.5 GB */

/*  "2026-11-22T07:00:00.123456Z" as "2026-11-22T07:00:00Z"; a text that is not a time is copied. */
void helio_human_time(const char *rfc3339, char ret_text[HELIO_HUMAN_SIZE]);

/*  The last 8 characters of an id, with its ".<index>", if any; shorter ids whole. */
void helio_short_id(const char *id, char ret_text[HELIO_HUMAN_SIZE]);

/*  Appends at most `most` bytes of a name and no incomplete character, so that the result stays UTF-8. */
void helio_short_name(const char *name, uint32_t most, helio_buffer_t *out);

/*  Appends foreign text so that it cannot control a terminal: control characters become '?', those that turn the
 *  direction of writing too; newlines stay only with keep_lines. Bytes that are not UTF-8, such as half of a truncated
 *  character, become '?'. */
void helio_safe_text(const char *text, bool keep_lines, helio_buffer_t *out);
/*  The same for JSON, where such a character becomes its \u escape: programs read the same value. */
void helio_safe_json(const char *text, helio_buffer_t *out);

/*  The same with keep_lines for a text that arrives in pieces: a character whose rest is missing waits for the next
 *  piece. Zero-initialised. */
typedef struct helio_safe_stream {
    char held[4];
    size_t held_size;
} helio_safe_stream_t;
void helio_safe_piece(helio_safe_stream_t *self, const char *bytes, size_t size, helio_buffer_t *out);

#endif
