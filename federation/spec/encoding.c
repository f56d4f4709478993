/*  encoding.c -- finds bytes that a source must not contain, and rewrites JSON's surrogate escapes. */
#include <stdio.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/base/utf8.h"
#include "federation/spec/encoding.h"

size_t helio_spec_printable_size(const unsigned char *at, const unsigned char *end)
{
    unsigned char c = *at;
    if (c < 0x80)
        return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n' || c == '\r';
    size_t size = helio_utf8_sequence(at, (size_t)(end - at));
    if (c == 0xc2 && size && at[1] < 0xa0 && at[1] != 0x85) /* C1 controls; in YAML NEL is printable */
        return 0;
    return size;
}

const char *helio_spec_skip_ordinary(const char *at, const char *end)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    /* Eight bytes at a time. Each term sets the high bit of the lowest matching byte, and no bit if no byte matches: a
     * subtraction can only borrow from a byte that already matched. */
    for (uint64_t word; end - at >= 8; at += 8) {
        memcpy(&word, at, sizeof word);
        uint64_t beyond = word, control = word - each * ' ', quote = (word ^ each * '"') - each,
                 backslash = (word ^ each * '\\') - each, rubout = (word ^ each * 0x7f) - each;
        if ((beyond | control | quote | backslash | rubout) & each << 7)
            break;
    }
    while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
        at++;
    return at;
}

helio_rc helio_spec_check_bytes(helio_spec_reader_t *self, size_t source_max)
{
    helio_text_t text = self->source.text;
    if (text.size > source_max)
        return helio_spec_diagnose_at(self, 0, 0, HELIO_SPEC_TOO_BIG_PROBLEM,
                                      "keep programs and data in files of their own, and name those",
                                      "the file has %u bytes; the limit is %zu", text.size, source_max);
    const unsigned char *data = (const unsigned char *)text.data, *end = data ? data + text.size : data;
    for (const unsigned char *at = data; at < end;) {
        size_t size = helio_spec_printable_size(at, end);
        if (size == 0) {
            size_t offset = (size_t)(at - data);
            if (*at >= 0x80)
                return helio_spec_diagnose_at(self, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM,
                                              "save the file as UTF-8",
                                              "the file is not valid UTF-8 here (byte 0x%02x)", *at);
            return helio_spec_diagnose_at(self, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM,
                                          "write it as an escape in double quotes, or remove it",
                                          "control character 0x%02x", *at);
        }
        at += size;
    }
    return HELIO_OK;
}

/*  The value of \uXXXX at `at`, -1 if the text has none. */
static int32_t escape_value(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = helio_hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

helio_text_t helio_spec_join_surrogates(helio_text_t text, helio_arena_t *arena)
{
    bool inside = false, json = false;
    char *copy = NULL;
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!inside) {
            if (!json && !strchr(" \t\r\n{[", c))
                return text;
            json = json || c == '{' || c == '[';
            inside = c == '"';
            if (c == '\'' || c == '#')
                return text; /* YAML's own quotes and comments: not JSON */
            continue;
        }
        const char *at = text.data + i, *end = text.data + text.size;
        int32_t high = escape_value(at, end), low = high >= 0 ? escape_value(at + 6, end) : -1;
        if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            char escape[13];
            if (!copy) {
                copy = helio_arena_alloc(arena, text.size, 1);
                memcpy(copy, text.data, text.size);
            }
            /* 10 characters after an escaped line break, which stands for nothing. */
            (void)snprintf(escape, sizeof escape, "\\\n\\U%08x",
                           (unsigned)(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
            memcpy(copy + i, escape, 12);
            i += 11;
        } else if (c == '\\')
            i++;
        else if (c == '"')
            inside = false;
    }
    return copy ? (helio_text_t){copy, text.size} : text;
}
