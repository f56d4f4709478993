/*  brokers.h -- the brokers of one federation, from a text such as "https://a.example, https://b.example": any of them
 *  serves every request. */
#ifndef HELIO_CLIENT_BROKERS_H
#define HELIO_CLIENT_BROKERS_H

#include "federation/base/error.h"
#include "federation/base/memory.h"

enum { HELIO_BROKERS_MAX = 8 };

typedef struct helio_brokers {
    const char *urls[HELIO_BROKERS_MAX]; /* without a final '/' */
    uint32_t count;
    const char *text; /* all of them, for messages and for comparison */
} helio_brokers_t;

/*  HELIO_INVALID: one of them is not a URL with http:// or https://, or they are too many. Everything lives in the
 *  arena. */
HELIO_MUST_CHECK helio_rc helio_brokers_parse(helio_text_t text, helio_arena_t *arena, helio_brokers_t *ret_brokers);

#endif
