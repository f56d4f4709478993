/*  value.h -- the notation of quantities: durations, sizes, money and whole numbers.
 *
 *  Job files, settings and command-line flags use the same grammars. Pure. A parser returns HELIO_INVALID for a syntax
 *  error (including a number without a unit) and HELIO_TOO_BIG for a value beyond 64 bits or beyond the bound.
 */
#ifndef HELIO_SPEC_VALUE_H
#define HELIO_SPEC_VALUE_H

#include "federation/base/memory.h"

enum { HELIO_VALUE_SIZE = 48 };

/*  Whole numbers, each unit once, largest first: 90s 15m 6h 2d 1h30m 500ms; units w d h m s ms. "0" is 0. */
HELIO_MUST_CHECK helio_rc helio_duration_parse(helio_text_t text, uint64_t *ret_ms);
/*  The duration that is meant by a text which is none: "1.5h", "6hours", "1:30:00" (hours, minutes, seconds).
 *  HELIO_INVALID if none is sure. */
HELIO_MUST_CHECK helio_rc helio_duration_guess(helio_text_t text, uint64_t *ret_ms);
/*  256GB 2TB 512MiB 1.5GB 0; a space before the unit is allowed; units B, K M G T P followed by B or iB. */
HELIO_MUST_CHECK helio_rc helio_bytes_parse(helio_text_t text, uint64_t *ret_bytes);
/*  "400 USD", "0.5 USD"; at most 6 decimals, not negative; ret in micro USD. */
HELIO_MUST_CHECK helio_rc helio_money_parse(helio_text_t text, int64_t *ret_micro_usd);
/*  "200 USD/t": money per `unit`. */
HELIO_MUST_CHECK helio_rc helio_rate_parse(helio_text_t text, const char *unit, int64_t *ret_micro_usd);
/*  A decimal number with at most `decimals` decimals, an optional space and a unit; the result is scaled by
 *  10^decimals: ("250 g/kWh", "g/kWh", 3) gives 250000. */
HELIO_MUST_CHECK helio_rc helio_quantity_parse(helio_text_t text, const char *unit, uint32_t decimals,
                                               uint64_t *ret_scaled);
/*  Decimal digits only. */
HELIO_MUST_CHECK helio_rc helio_u64_parse(helio_text_t text, uint64_t *ret_value);
HELIO_MUST_CHECK helio_rc helio_i64_parse(helio_text_t text, int64_t *ret_value);
/*  The number grammar of JSON; a leading '.' or '+' is refused; finite. */
HELIO_MUST_CHECK helio_rc helio_f64_parse(helio_text_t text, double *ret_value);

/*  Back: "256GB" (decimal when exact, else binary when exact, else bytes), "400 USD". Round trips, as
 *  helio_duration_text does (federation/base/duration.h). */
void helio_bytes_text(uint64_t bytes, char ret_text[HELIO_VALUE_SIZE]);
void helio_money_text(int64_t micro_usd, char ret_text[HELIO_VALUE_SIZE]);

#endif
