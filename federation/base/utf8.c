/*  utf8.c -- validates and truncates UTF-8. */
#include "federation/base/utf8.h"

#include <string.h>

/*  The range of the second byte excludes overlong forms (after E0, F0), surrogates (ED) and code points beyond the last
 *  (F4). */
size_t helio_utf8_sequence(const void *bytes, size_t left)
{
    const unsigned char *at = bytes;
    unsigned first = at[0];
    if (first < 0x80)
        return 1;
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < size)
        return 0;
    unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < least || at[1] > most)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

bool helio_utf8_is_control(const void *character, size_t size)
{
    const unsigned char *at = character;
    if (size == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    if (size == 2)
        return (at[0] == 0xc2 && at[1] <= 0x9f) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (size != 3 || at[0] != 0xe2)
        return false;
    return (at[1] == 0x80 && (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xaa && at[2] <= 0xae))) ||
           (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
}

size_t helio_utf8_prefix(helio_text_t text)
{
    size_t at = 0;
    while (at < text.size) {
        uint64_t word; /* most text is ASCII: eight bytes at a time */
        for (; text.size - at >= sizeof word; at += sizeof word) {
            memcpy(&word, text.data + at, sizeof word);
            if (word & UINT64_C(0x8080808080808080))
                break;
        }
        if (at == text.size)
            break;
        size_t size = helio_utf8_sequence(text.data + at, text.size - at);
        if (!size)
            break;
        at += size;
    }
    return at;
}

bool helio_utf8_is_text(helio_text_t text)
{
    return !text.size || (!memchr(text.data, '\0', text.size) && helio_utf8_prefix(text) == text.size);
}

helio_text_t helio_utf8_cut(helio_text_t text, uint32_t size_max)
{
    if (text.size <= size_max)
        return text;
    while (size_max && ((unsigned char)text.data[size_max] & 0xc0) == 0x80)
        size_max--;
    return (helio_text_t){text.data, size_max};
}

void helio_utf8_show(helio_text_t bytes, char *ret_text, size_t capacity)
{
    size_t size = 0;
    for (uint32_t at = 0; at < bytes.size;) {
        const char *from = bytes.data + at;
        size_t character = helio_utf8_sequence(from, bytes.size - at);
        at += character ? (uint32_t)character : 1;
        if (!character || helio_utf8_is_control(from, character)) {
            from = "?";
            character = 1;
        }
        if (size + character >= capacity)
            break;
        memcpy(ret_text + size, from, character);
        size += character;
    }
    ret_text[size] = '\0';
}
