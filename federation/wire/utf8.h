/*  utf8.h -- is this text valid UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF) without
 * NUL? */
#ifndef HELIO_WIRE_UTF8_H
#define HELIO_WIRE_UTF8_H

#include <stdbool.h>

#include "federation/base/memory.h"

bool helio_wire_utf8_is_valid(helio_text_t text);

#endif
