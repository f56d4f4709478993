/*  clock.h -- the only file that reads clocks. For shells only: cores receive the time in events. */
#ifndef HELIO_BASE_CLOCK_H
#define HELIO_BASE_CLOCK_H

#include <stdint.h>

#include "federation/base/memory.h"

enum { HELIO_RFC3339_SIZE = 32 };

int64_t helio_clock_boot_ms(void); /* CLOCK_BOOTTIME: intervals, leases; counts suspended time */
int64_t helio_clock_boot_us(void); /* the same in microseconds: durations for figures */
int64_t helio_clock_wall_ms(void); /* CLOCK_REALTIME: display, tariffs, expiry of signed things */

/*  "2026-11-22T07:00:00.000Z" from Unix time in ms, and back (Z or ±hh:mm; date and time required). Years 0000 to 9999:
 *  times outside are clamped. */
void helio_rfc3339(int64_t wall_ms, char ret_text[HELIO_RFC3339_SIZE]);
HELIO_MUST_CHECK helio_rc helio_rfc3339_parse(helio_text_t text, int64_t *ret_wall_ms);

#endif
