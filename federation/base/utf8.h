/*  utf8.h -- UTF-8 as defined by RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF. Pure. */
#ifndef HELIO_BASE_UTF8_H
#define HELIO_BASE_UTF8_H

#include "federation/base/memory.h"

/*  Size of the character at the beginning of the bytes, 1 to 4; 0 = invalid. NUL is a character. left > 0. */
size_t helio_utf8_sequence(const void *bytes, size_t left);

/*  Whether a whole character could do more to a terminal, or to the text around it, than show itself: the control characters,
 *  also U+0080 to U+009F (0x9B opens an escape sequence on some terminals), and those that turn the direction of what
 *  follows, so that a name can look like another one: U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069. */
bool helio_utf8_is_control(const void *character, size_t size);

/*  The number of bytes from the beginning that are UTF-8: the index of the first byte that is not, or the text's
 *  size. */
size_t helio_utf8_prefix(helio_text_t text);

/*  UTF-8 without NUL: what a PostgreSQL text, a message and a C string can all hold. */
bool helio_utf8_is_text(helio_text_t text);

/*  The beginning of a UTF-8 text, at most size_max bytes, without an incomplete character. */
helio_text_t helio_utf8_cut(helio_text_t text, uint32_t size_max);

/*  Copies bytes of unknown origin as UTF-8 for people: whole characters, as many as fit, with '?' for each byte that is not
 *  UTF-8 and for each control character. capacity > 0; the result ends with a NUL. */
void helio_utf8_show(helio_text_t bytes, char *ret_text, size_t capacity);

#endif
