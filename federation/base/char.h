/*  char.h -- classes of ASCII characters, the same in every locale. Pure. */
#ifndef HELIO_BASE_CHAR_H
#define HELIO_BASE_CHAR_H

#include "federation/base/memory.h"

static inline bool helio_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool helio_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool helio_is_letter_or_digit(char c)
{
    return helio_is_letter(c) || helio_is_digit(c);
}

/*  0 to 15; -1 = none. */
static inline int helio_hex_digit(char c)
{
    if (helio_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/*  A letter or digit, then letters, digits, '.', '_' and '-': names of queues, tenants, sites. */
static inline bool helio_is_name(helio_text_t text, uint32_t size_max)
{
    if (!text.size || text.size > size_max)
        return false;
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!helio_is_letter_or_digit(c) && (i == 0 || (c != '.' && c != '_' && c != '-')))
            return false;
    }
    return true;
}

#endif
