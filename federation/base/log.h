/*  log.h -- one line per event on standard error: a time, a level, the event's name, key=value pairs.
 *
 *  Thread-safe. Values are escaped (control characters, quotes, non-UTF-8), so a hostile peer cannot forge lines.
 *  Never log a secret: tokens, private keys, spec bodies, environment values. Used by main files and shells only.
 *  Format: "2026-11-22T07:00:00.000Z info site_connected site=lulea peer=3". Each call site is limited to a burst
 *  per second by the caller passing a helio_log_limit_t (zero-initialised) where floods are possible.
 */
#ifndef HELIO_BASE_LOG_H
#define HELIO_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "federation/base/memory.h"

typedef enum helio_level { HELIO_DEBUG, HELIO_INFO, HELIO_WARN, HELIO_ERROR } helio_level_t;

typedef struct helio_log helio_log_t;

helio_log_t *helio_log_new(int fd, helio_level_t least, const char *program);
void helio_log_destroy(helio_log_t **self_p);

/*  `fields` is printf-like and yields "key=value key=value"; values with spaces go through HELIO_LOG_Q ("%s" of
 *  helio_log_quote). Example: helio_log(log, HELIO_INFO, "job_placed", "job=%s site=%s", id, site). */
void helio_log(helio_log_t *self, helio_level_t level, const char *event, const char *fields, ...) HELIO_PRINTF(4, 5);

/*  Quotes and escapes into the caller's buffer, and truncates at its end. Returns ret_text. */
const char *helio_log_quote(helio_text_t value, char *ret_text, size_t capacity);

/*  At most `burst` true results a second for this limiter; the first line after a silence says how many lines were
 *  dropped. */
typedef struct helio_log_limit {
    int64_t second;
    uint32_t used;
    uint32_t dropped;
} helio_log_limit_t;
bool helio_log_allowed(helio_log_limit_t *limit, uint32_t burst, uint32_t *ret_dropped);

#endif
