/*  zone.h -- local time of a place from the system's time-zone data. Pure: a shell reads the file, this reads
 * the bytes.
 *
 *  Format: TZif versions 1 to 4 (RFC 8536, RFC 9636); times after the last stored transition follow the
 * footer's POSIX rule. Files that count leap seconds ("right/…") are refused, since Unix time has none.
 *
 *  A zone is immutable and lives until destroyed; any thread may read it. Local times are seconds since
 *  1970-01-01T00:00 as the clock on the wall shows them.
 */
#ifndef HELIO_ENERGY_ZONE_H
#define HELIO_ENERGY_ZONE_H

#include "federation/base/memory.h"

enum { HELIO_ZONE_BYTES_MAX = 256 << 10, HELIO_ZONE_NAME_MAX = 64 };

typedef struct helio_zone helio_zone_t;

/*  "Europe/Berlin": parts of letters, digits, '_', '-' and '+', none empty, joined by '/'. Neither absolute
 * nor with dots, so that it names a file below the folder of zones and nothing else. */
bool helio_zone_name_is_good(helio_text_t name);

/*  The bytes of a TZif file; they are copied. HELIO_INVALID: not such a file, or damaged. */
HELIO_MUST_CHECK helio_rc helio_zone_parse(helio_text_t bytes, helio_zone_t **ret_zone, helio_error_t *err);
/*  Without a file: one offset for all time. */
helio_zone_t *helio_zone_fixed(int32_t offset_s);
void helio_zone_destroy(helio_zone_t **self_p);

/*  The run of time around an instant in which the clocks are not moved: [begin_s, end_s), INT64_MIN and
 * INT64_MAX when it has no end. local = utc + offset_s. */
typedef struct helio_zone_stretch {
    int64_t begin_s, end_s; /* UTC */
    int32_t offset_s;       /* east is positive */
    bool daylight;          /* daylight saving time */
} helio_zone_stretch_t;
helio_zone_stretch_t helio_zone_at(const helio_zone_t *self, int64_t utc_s);

int64_t helio_zone_local_s(const helio_zone_t *self, int64_t utc_s);

/*  The instants at which the wall shows a local time. ONCE: *ret_first. TWICE, when clocks were put back:
 * *ret_first and the later *ret_second. NEVER, when they were put forward over it: both are the instant of
 * the jump. Else *ret_second is *ret_first. */
typedef enum helio_local_fit { HELIO_LOCAL_ONCE, HELIO_LOCAL_TWICE, HELIO_LOCAL_NEVER } helio_local_fit_t;
helio_local_fit_t helio_zone_utc_s(const helio_zone_t *self, int64_t local_s, int64_t *ret_first,
                                   int64_t *ret_second);

#endif
