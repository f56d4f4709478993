/*  zone.h -- local time from the system's time-zone data. Pure: a shell reads the file, this room parses the bytes.
 *
 *  The format is TZif, versions 1 to 4 (RFC 8536, RFC 9636); times after the last stored transition follow the POSIX
 *  rule in the footer. Files with leap seconds ("right/…") are refused, because Unix time has none.
 *
 *  A zone is immutable and lives until it is destroyed; any thread may read it. Local times are seconds since
 *  1970-01-01T00:00 on the local clock.
 */
#ifndef HELIO_ENERGY_ZONE_H
#define HELIO_ENERGY_ZONE_H

#include "federation/base/memory.h"

enum { HELIO_ZONE_BYTES_MAX = 256 << 10, HELIO_ZONE_NAME_MAX = 64 };

typedef struct helio_zone helio_zone_t;

/*  "Europe/Berlin": non-empty parts of letters, digits, '_', '-' and '+', joined by '/'. A good name is neither
 *  absolute nor does it contain dots, so that it can only name a file below the directory of zones. */
bool helio_zone_name_is_good(helio_text_t name);

/*  Parses the bytes of a TZif file, which are copied. HELIO_INVALID: not a TZif file, or damaged. */
HELIO_MUST_CHECK helio_rc helio_zone_parse(helio_text_t bytes, helio_zone_t **ret_zone, helio_error_t *err);
/*  A zone without a file: one fixed offset. */
helio_zone_t *helio_zone_fixed(int32_t offset_s);
void helio_zone_destroy(helio_zone_t **self_p);

/*  The interval [begin_s, end_s) around a time in which the offset is constant; INT64_MIN and INT64_MAX if
 *  unbounded. local = utc + offset_s. */
typedef struct helio_zone_stretch {
    int64_t begin_s, end_s; /* UTC */
    int32_t offset_s;       /* east is positive */
    bool daylight;          /* daylight saving time */
} helio_zone_stretch_t;
helio_zone_stretch_t helio_zone_at(const helio_zone_t *self, int64_t utc_s);

int64_t helio_zone_local_s(const helio_zone_t *self, int64_t utc_s);

/*  The times at which the local clock shows a local time. ONCE: *ret_first, and *ret_second is the same. TWICE, if
 *  clocks were put back: *ret_first and the later *ret_second. NEVER, if clocks were put forward over it: both are
 *  the time of the jump. */
typedef enum helio_local_fit { HELIO_LOCAL_ONCE, HELIO_LOCAL_TWICE, HELIO_LOCAL_NEVER } helio_local_fit_t;
helio_local_fit_t helio_zone_utc_s(const helio_zone_t *self, int64_t local_s, int64_t *ret_first, int64_t *ret_second);

#endif
