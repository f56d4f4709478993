/*  base64.c -- four characters become three bytes. */
#include "site-agent/backends/kubernetes/base64.h"

/*  0..63; 64 for '=', 65 for white space, 66 for anything else. */
static uint32_t sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    if (c == '+' || c == '/')
        return c == '+' ? 62 : 63;
    return c == '=' ? 64 : c == ' ' || c == '\n' || c == '\r' || c == '\t' ? 65 : 66;
}

helio_rc helio_base64_decode(helio_text_t text, helio_arena_t *arena, helio_text_t *ret_bytes)
{
    char *bytes = helio_arena_alloc(arena, text.size / 4 * 3 + 4, 1);
    uint32_t size = 0, held = 0, count = 0, padding = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        uint32_t value = sextet(text.data[i]);
        if (value == 65)
            continue;
        if (value == 66 || (padding && value != 64))
            return HELIO_INVALID;
        padding += value == 64;
        held = held << 6 | (value & 63);
        if (++count % 4 || padding > 2)
            continue;
        for (uint32_t part = 0; part < 3 - padding; part++)
            bytes[size++] = (char)(held >> (16 - 8 * part) & 255);
    }
    if (count % 4 || padding > 2)
        return HELIO_INVALID;
    *ret_bytes = (helio_text_t){bytes, size};
    return HELIO_OK;
}
