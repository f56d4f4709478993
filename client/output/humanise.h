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

/*  "2026-11-22T07:00:00.123456Z" as "2026-11-22T07:00:00Z"; what is no time is copied. */
void helio_human_time(const char *rfc3339, char ret_text[HELIO_HUMAN_SIZE]);

/*  The last 8 characters of an id, with ".<index>" where it has one; shorter ids whole. */
void helio_short_id(const char *id, char ret_text[HELIO_HUMAN_SIZE]);

/*  Appends text from elsewhere so that it cannot drive a terminal: control characters become '?'; newlines
 * stay only when keep_lines. */
void helio_safe_text(const char *text, bool keep_lines, helio_buffer_t *out);

#endif
