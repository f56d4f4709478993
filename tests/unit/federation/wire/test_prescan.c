#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <msgpack.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/wire/prescan.h"

#define BYTES(literal)               \
    {                                \
        literal, sizeof(literal) - 1 \
    }

static helio_rc scan(const char *bytes, size_t size, helio_error_t *err)
{
    /* An exact copy on the heap, so that a read beyond the end is found by the sanitizer. */
    char *copy = helio_grow(NULL, size, 1);
    memcpy(copy, bytes, size);
    helio_rc rc = helio_wire_prescan((helio_text_t){copy, (uint32_t)size}, 1000, err);
    free(copy);
    return rc;
}

static void prescan__accepts_arrays_of_plain_values(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        BYTES("\x90"),
        BYTES("\x93\x01\xff\xc0"),
        BYTES("\x92\xc2\xc3"),
        BYTES("\xdc\x00\x01\xd9\x02hi"),
        BYTES("\xdd\x00\x00\x00\x01\xa2hi"),
        BYTES("\x93\xcc\xff\xcd\xff\xff\xce\xff\xff\xff\xff"),
        BYTES("\x92\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xd3\x80\x00\x00\x00\x00\x00\x00\x00"),
        BYTES("\x92\xca\x00\x00\x00\x00\xcb\x00\x00\x00\x00\x00\x00\x00\x00"),
        BYTES("\x93\xc4\x00\xc5\x00\x01x\xc6\x00\x00\x00\x01x"),
        BYTES("\x91\x91\x91\x91\x91\x91\x91\x90"), /* 8 deep */
        BYTES("\x92\xda\x00\x01x\xdb\x00\x00\x00\x01x"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_error_t err = {0};
        if (scan(cases[i].bytes, cases[i].size, &err))
            fail_msg("case %zu: %s", i, err.text);
    }
}

static void prescan__refuses_hostile_bytes_and_says_why(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {"", 0, "truncated"},
        {"\x01", 1, "not an array"},
        {"\xa1x", 2, "not an array"},
        {"\xdd\x07\xff\xff\xff", 5, "more elements"}, /* four gigabytes in five bytes */
        {"\xdd\xff\xff\xff\xff", 5, "more elements"},
        {"\x91\xdd\xff\xff\xff\xff", 6, "more elements"},
        {"\xdc\xff\xff\x01", 4, "more elements"},
        {"\x92\x01", 2, "more elements"},
        {"\x92\x91\x01", 3, "more elements"}, /* the inner array takes what the outer needs */
        {"\xdc\x00", 2, "truncated"},
        {"\x91\xd9", 2, "truncated"},
        {"\x91\xa5hi", 4, "truncated"},
        {"\x91\xc6\xff\xff\xff\xff", 6, "truncated"},
        {"\x91\xcb\x00", 3, "truncated"},
        {"\x91\x81\x01\x01", 4, "a map"},
        {"\x91\xde\x00\x00", 4, "a map"},
        {"\x91\xdf\x00\x00\x00\x00", 6, "a map"},
        {"\x91\xd4\x01\x01", 4, "an extension type"},
        {"\x91\xd8\x01\x01", 4, "an extension type"},
        {"\x91\xc7\x01\x01\x01", 5, "an extension type"},
        {"\x91\xc1", 2, "an invalid tag"},
        {"\x91\x91\x91\x91\x91\x91\x91\x91\x90", 9, "nested deeper"},
        {"\x91\x01\x01", 3, "1 bytes follow"},
        {"\x90\x90", 2, "1 bytes follow"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_error_t err = {0};
        helio_rc rc = scan(cases[i].bytes, cases[i].size, &err);
        if (rc != HELIO_PROTOCOL || !strstr(err.text, cases[i].text))
            fail_msg("case %zu: %s, \"%s\" lacks \"%s\"", i, helio_rc_name(rc), err.text, cases[i].text);
    }
}

static void prescan__counts_elements_of_all_depths(void **state)
{
    (void)state;
    helio_text_t nine = HELIO_TEXT("\x94\x92\x01\x01\x92\x01\x01\x01\x01");
    helio_error_t err;
    assert_int_equal(helio_wire_prescan(nine, 9, NULL), HELIO_OK);
    assert_int_equal(helio_wire_prescan(nine, 8, &err), HELIO_PROTOCOL);
    assert_non_null(strstr(err.text, "more than 8 elements"));
}

static void prescan__accepts_only_what_msgpack_c_decodes_to_the_last_byte(void **state)
{
    (void)state;
    helio_rng_t rng = {20261121};
    unsigned accepted = 0;
    for (unsigned round = 0; round < 200000; round++) {
        char bytes[40];
        size_t size = 1 + helio_rng_below(&rng, sizeof bytes);
        helio_rng_bytes(&rng, (uint8_t *)bytes, size);
        bytes[0] = (char)(0x90 | helio_rng_below(&rng, 6));
        for (size_t i = 1; i < size; i++) /* mostly small values, else random bytes hardly ever nest well */
            if (helio_rng_below(&rng, 4))
                bytes[i] =
                    (char)(helio_rng_below(&rng, 3) ? helio_rng_below(&rng, 128) : 0x90 | helio_rng_below(&rng, 3));
        if (scan(bytes, size, NULL))
            continue;
        accepted++;
        msgpack_unpacked unpacked;
        msgpack_unpacked_init(&unpacked);
        size_t offset = 0;
        assert_int_equal(msgpack_unpack_next(&unpacked, bytes, size, &offset), MSGPACK_UNPACK_SUCCESS);
        assert_int_equal(offset, size);
        assert_int_equal(unpacked.data.type, MSGPACK_OBJECT_ARRAY);
        msgpack_unpacked_destroy(&unpacked);
    }
    assert_true(accepted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prescan__accepts_arrays_of_plain_values),
        cmocka_unit_test(prescan__refuses_hostile_bytes_and_says_why),
        cmocka_unit_test(prescan__counts_elements_of_all_depths),
        cmocka_unit_test(prescan__accepts_only_what_msgpack_c_decodes_to_the_last_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
