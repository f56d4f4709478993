#include "federation/wire/utf8.h"

#include <string.h>

/*  Length of the sequence at `at`, 0 when there is none. The second byte's range is what rules out overlong
 * forms (E0, F0), surrogates (ED) and code points beyond the last (F4). */
static unsigned sequence(const unsigned char *at, size_t left)
{
    unsigned first = at[0], low = 0x80, high = 0xbf, size;
    if (first >= 0xc2 && first <= 0xdf)
        size = 2;
    else if (first >= 0xe0 && first <= 0xef)
        size = 3;
    else if (first >= 0xf0 && first <= 0xf4)
        size = 4;
    else
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (left < size || at[1] < low || at[1] > high)
        return 0;
    for (unsigned i = 2; i < size; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return size;
}

bool helio_wire_utf8_is_valid(helio_text_t text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t left = text.size;
    while (left) {
        /* Most text is ASCII: eight bytes at a time, none of them zero or above 0x7f. */
        uint64_t word;
        while (left >= sizeof word) {
            memcpy(&word, at, sizeof word);
            if ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080))
                break;
            at += sizeof word;
            left -= sizeof word;
        }
        if (!left)
            break;
        unsigned size = *at && *at < 0x80 ? 1 : sequence(at, left);
        if (!size)
            return false;
        at += size;
        left -= size;
    }
    return true;
}
