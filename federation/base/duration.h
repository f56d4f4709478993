/*  duration.h -- lengths of time as text. Pure. The inverse is helio_duration_parse in federation/spec/value.h. */
#ifndef HELIO_BASE_DURATION_H
#define HELIO_BASE_DURATION_H

#include <stddef.h>
#include <stdint.h>

enum { HELIO_DURATION_SIZE = 48 };

/*  The units, largest first: w d h m s ms. */
typedef struct helio_duration_unit {
    const char *name;
    uint64_t ms;
} helio_duration_unit_t;
enum { HELIO_DURATION_UNITS = 6 };
extern const helio_duration_unit_t helio_duration_units[HELIO_DURATION_UNITS];

/*  Exact, for texts that are parsed again: "1h30m", "500ms", "10d", "0s". */
void helio_duration_text(uint64_t ms, char ret_text[HELIO_DURATION_SIZE]);

/*  Whole minutes, rounded up, for limits and forecasts: the text is never too short. "45m", "4h05m", "100h00m". */
void helio_duration_text_up(uint64_t ms, char ret_text[HELIO_DURATION_SIZE]);

/*  The two largest units, rounded to seconds and then truncated, for tables: "4s", "11m", "2h05m", "3d04h". */
void helio_duration_text_brief(uint64_t ms, char ret_text[HELIO_DURATION_SIZE]);
/*  The same with seconds for lengths below an hour: "1m57s". */
void helio_duration_text_brief_seconds(uint64_t ms, char ret_text[HELIO_DURATION_SIZE]);

#endif
