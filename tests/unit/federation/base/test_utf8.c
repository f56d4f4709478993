/*  What is UTF-8 and what is not: every code point, every first two bytes, and the cases that decoders get wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/utf8.h"

static size_t encode(uint32_t code, unsigned char ret_bytes[4])
{
    if (code < 0x80) {
        ret_bytes[0] = (unsigned char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6)
        ret_bytes[i] = (unsigned char)(0x80 | (code & 0x3f));
    ret_bytes[0] = (unsigned char)((size == 2 ? 0xc0 : size == 3 ? 0xe0 : 0xf0) | code);
    return size;
}

static void sequence__every_code_point_but_the_surrogates_is_a_character(void **state)
{
    (void)state;
    unsigned char bytes[4];
    for (uint32_t code = 0; code <= 0x1fffff; code++) {
        size_t size = encode(code, bytes);
        bool good = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        if (helio_utf8_sequence(bytes, size) != (good ? size : 0))
            fail_msg("U+%06x: %zu", code, helio_utf8_sequence(bytes, size));
        if (good && size > 1 && helio_utf8_sequence(bytes, size - 1))
            fail_msg("U+%06x is taken with its last byte missing", code);
    }
}

/*  What is accepted are exactly the shortest forms: as many as there are code points of each size. */
static void sequence__no_other_bytes_are_characters(void **state)
{
    (void)state;
    uint32_t counts[5] = {0};
    for (uint32_t bytes = 0; bytes < 1u << 24; bytes++) {
        const unsigned char text[] = {(unsigned char)(bytes >> 16), (unsigned char)(bytes >> 8), (unsigned char)bytes,
                                      0x80};
        size_t size = helio_utf8_sequence(text, 4);
        if (size < 3 && (bytes & (size == 2 ? 0xff : 0xffff)))
            continue; /* counted once, whatever follows */
        counts[size]++;
    }
    assert_int_equal(counts[1], 0x80);
    assert_int_equal(counts[2], 0x800 - 0x80);
    assert_int_equal(counts[3], 0x10000 - 0x800 - 0x800);
    assert_int_equal(counts[4], 0x100000 / 64);
}

static void prefix__ends_at_the_first_byte_that_is_not_utf8(void **state)
{
    (void)state;
    const struct {
        helio_text_t text;
        size_t prefix;
    } cases[] = {
        {{NULL, 0}, 0},
        {HELIO_TEXT("plain ASCII, longer than a word"), 31},
        {HELIO_TEXT("gr\xc3\xbc\xc3\x9f"
                    "e"),
         7},
        {HELIO_TEXT("\xc3"), 0},         /* cut */
        {HELIO_TEXT("12345678\x80"), 8}, /* continues nothing */
        {HELIO_TEXT("1234567\xff"), 7},
        {HELIO_TEXT("a\xc0\xaf"), 1},         /* an overlong slash */
        {HELIO_TEXT("a\xe0\x80\xaf"), 1},     /* the same in three bytes */
        {HELIO_TEXT("a\xed\xa0\x80"), 1},     /* a surrogate */
        {HELIO_TEXT("a\xf4\x90\x80\x80"), 1}, /* beyond the last */
        {HELIO_TEXT("\xf0\x9f\x98\x80\xf0\x9f\x98"), 4},
        {HELIO_TEXT("a\0b"), 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(helio_utf8_prefix(cases[i].text), cases[i].prefix);
        bool whole = cases[i].prefix == cases[i].text.size;
        bool nul = cases[i].text.size && memchr(cases[i].text.data, '\0', cases[i].text.size);
        assert_int_equal(helio_utf8_is_text(cases[i].text), whole && !nul);
    }
}

static void cut__keeps_whole_characters(void **state)
{
    (void)state;
    const helio_text_t text = HELIO_TEXT("a\xc3\xbc\xf0\x9f\x98\x80"
                                         "b"); /* 1 + 2 + 4 + 1 bytes */
    static const uint32_t sizes[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
    for (uint32_t max = 0; max < sizeof sizes / sizeof sizes[0]; max++)
        assert_int_equal(helio_utf8_cut(text, max).size, sizes[max]);
}

static void show__gives_characters_that_people_can_read(void **state)
{
    (void)state;
    const struct {
        helio_text_t bytes;
        const char *shown;
    } rows[] = {{{NULL, 0}, ""},
                {HELIO_TEXT("gr\xc3\xbc\xc3\x9f"), ("gr\xc3\xbc\xc3\x9f")},
                {HELIO_TEXT("\xff\xfe"), "??"},
                {HELIO_TEXT("a\0b\tc\x7f"), "a?b?c?"},
                {HELIO_TEXT("\xc2\x9b\xc2\xa0"), "?\xc2\xa0"}, /* CSI in one character; a blank that is none */
                {HELIO_TEXT("\xf0\x9f\x98"), "???"},           /* cut */
                {HELIO_TEXT("123456\xc3\xbc"), "123456"},      /* does not fit */
                {HELIO_TEXT("12345\xc3\xbc"), ("12345\xc3\xbc")},
                {HELIO_TEXT("123456789"), "1234567"}};
    char text[8];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_utf8_show(rows[i].bytes, text, sizeof text);
        assert_string_equal(text, rows[i].shown);
    }
    helio_utf8_show(HELIO_TEXT("x"), text, 1);
    assert_string_equal(text, "");
}

static void control__is_what_could_steer_a_terminal(void **state)
{
    (void)state;
    unsigned char bytes[4];
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        bool want = code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
                    code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
        size_t size = encode(code, bytes);
        if (helio_utf8_is_control(bytes, size) != want)
            fail_msg("U+%06x is %s", code, want ? "no control" : "one");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence__every_code_point_but_the_surrogates_is_a_character),
        cmocka_unit_test(sequence__no_other_bytes_are_characters),
        cmocka_unit_test(prefix__ends_at_the_first_byte_that_is_not_utf8),
        cmocka_unit_test(control__is_what_could_steer_a_terminal),
        cmocka_unit_test(cut__keeps_whole_characters),
        cmocka_unit_test(show__gives_characters_that_people_can_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
