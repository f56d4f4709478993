/*  target.h -- a request's target as received, split into path segments and query parameters.
 *
 *  It is strict where laxness invites attacks: a bad escape, a NUL or control character, bytes that are not UTF-8, an
 *  empty, "." or ".." segment, an escaped slash and a repeated parameter are errors. Pure; everything lives in the caller's arena. */
#ifndef HELIO_BROKER_HTTP_REQUEST_TARGET_H
#define HELIO_BROKER_HTTP_REQUEST_TARGET_H

#include "federation/base/memory.h"

enum { HELIO_TARGET_MAX = 4096, HELIO_TARGET_SEGMENTS_MAX = 8, HELIO_TARGET_QUERY_MAX = 16 };

typedef struct helio_target {
    const char *segments[HELIO_TARGET_SEGMENTS_MAX]; /* decoded; none for "/" */
    uint32_t segment_count;
    bool folder; /* the path ends with a slash after its last segment */
    struct {
        const char *name;
        const char *value; /* decoded; "" without '=' */
    } query[HELIO_TARGET_QUERY_MAX];
    uint32_t query_count;
} helio_target_t;

/*  HELIO_TOO_BIG: a bound is exceeded; HELIO_INVALID: any other error; err says which. *ret_target is untouched on
 *  failure. */
HELIO_MUST_CHECK helio_rc helio_target_parse(helio_text_t text, helio_arena_t *arena, helio_target_t *ret_target,
                                             helio_error_t *err);
const char *helio_target_query(const helio_target_t *self, const char *name); /* NULL = absent */

#endif
