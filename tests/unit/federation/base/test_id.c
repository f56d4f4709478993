/*  Ids: creation, texts that people type, texts that enemies type. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/id.h"
#include "federation/base/rng.h"

static helio_uuid_t any_uuid(helio_rng_t *rng)
{
    helio_uuid_t id;
    helio_rng_bytes(rng, id.bytes, sizeof id.bytes);
    return id;
}

static void uuid__is_version_seven_as_the_example_of_rfc_9562(void **state)
{
    (void)state;
    /* RFC 9562, appendix A.6: 2022-02-22T19:22:22.00Z, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F */
    static const uint8_t random[10] = {0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f};
    helio_uuid_t id = helio_uuid_v7(INT64_C(1645557742000), random), expected;
    assert_int_equal(helio_uuid_parse(HELIO_TEXT("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), &expected), HELIO_OK);
    assert_memory_equal(id.bytes, expected.bytes, 16);
}

static void uuid__sets_version_and_variant_whatever_the_random_bits(void **state)
{
    (void)state;
    helio_rng_t rng = {1};
    for (int i = 0; i < 1000; i++) {
        uint8_t random[10];
        helio_rng_bytes(&rng, random, sizeof random);
        helio_uuid_t id = helio_uuid_v7((int64_t)(helio_rng_next(&rng) >> 16), random);
        assert_int_equal(id.bytes[6] >> 4, 7);
        assert_int_equal(id.bytes[8] >> 6, 2);
    }
}

static void uuid__orders_by_creation(void **state)
{
    (void)state;
    static const uint8_t high[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, low[10] = {0};
    helio_uuid_t before = helio_uuid_v7(1000, high), after = helio_uuid_v7(1001, low);
    assert_true(helio_uuid_compare(before, after) < 0);
    assert_true(helio_uuid_compare(after, before) > 0);
    assert_int_equal(helio_uuid_compare(after, after), 0);
    char x[HELIO_ID_SIZE], y[HELIO_ID_SIZE];
    helio_uuid_text(before, x);
    helio_uuid_text(after, y);
    assert_true(strcmp(x, y) < 0); /* texts sort alike */
}

static void text__known_values(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *text;
    } rows[] = {{"00000000-0000-0000-0000-000000000000", "00000000000000000000000000"},
                {"ffffffff-ffff-ffff-ffff-ffffffffffff", "7zzzzzzzzzzzzzzzzzzzzzzzzz"},
                {"00000000-0000-0000-0000-000000000001", "00000000000000000000000001"},
                {"00000000-0000-0000-0000-000000000020", "00000000000000000000000010"},
                {"80000000-0000-0000-0000-00000000001f", "4000000000000000000000000z"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_uuid_t id;
        char text[HELIO_ID_SIZE];
        assert_int_equal(helio_uuid_parse(helio_text_of(rows[i].hex), &id), HELIO_OK);
        helio_uuid_text(id, text);
        assert_string_equal(text, rows[i].text);
    }
    assert_true(helio_uuid_is_nil((helio_uuid_t){{0}}));
    assert_false(helio_uuid_is_nil((helio_uuid_t){{[15] = 1}}));
}

static void text__round_trips_in_any_case_and_with_look_alikes(void **state)
{
    (void)state;
    helio_rng_t rng = {2};
    for (int i = 0; i < 2000; i++) {
        helio_uuid_t id = any_uuid(&rng), back;
        char text[HELIO_ID_SIZE];
        helio_uuid_text(id, text);
        assert_int_equal(strlen(text), HELIO_ID_CHARS);
        for (int c = 0; c < HELIO_ID_CHARS; c++) {
            uint64_t draw = helio_rng_below(&rng, 3);
            if (text[c] == '1' && draw)
                text[c] = "iIlL"[helio_rng_below(&rng, 4)];
            else if (text[c] == '0' && draw)
                text[c] = "oO"[helio_rng_below(&rng, 2)];
            else if (text[c] >= 'a' && draw == 1)
                text[c] = (char)(text[c] - 'a' + 'A');
        }
        assert_int_equal(helio_uuid_parse(helio_text_of(text), &back), HELIO_OK);
        assert_true(helio_uuid_equal(id, back));
    }
}

static void text__hostile_ones_are_invalid_and_leave_the_output_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "0",
                                        "0000000000000000000000000",   /* 25 */
                                        "000000000000000000000000000", /* 27 */
                                        "80000000000000000000000000",  /* the first character carries three bits */
                                        "z0000000000000000000000000",
                                        "0000000000000000000000000u", /* not of the alphabet */
                                        "0000000000000 000000000000",
                                        "0000000000000-000000000000",
                                        "0000000000000\303\25100000000000",
                                        "00000000-0000-0000-0000-00000000000",   /* 35 */
                                        "00000000-0000-0000-0000-0000000000000", /* 37 */
                                        "00000000_0000-0000-0000-000000000000",
                                        "0000000-00000-0000-0000-000000000000",
                                        "00000000-0000-0000-0000-00000000000g",
                                        "00000000-0000-0000-0000-0000000000-0",
                                        "{0000000-0000-0000-0000-00000000000}",
                                        "000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        helio_uuid_t id = {{42}};
        if (helio_uuid_parse(helio_text_of(texts[i]), &id) != HELIO_INVALID)
            fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(id.bytes[0], 42);
    }
    helio_uuid_t id = {{42}};
    char with_nul[26];
    memset(with_nul, '0', sizeof with_nul);
    with_nul[9] = '\0';
    assert_int_equal(helio_uuid_parse((helio_text_t){with_nul, 26}, &id), HELIO_INVALID);
    assert_int_equal(helio_uuid_parse((helio_text_t){0}, &id), HELIO_INVALID);
    assert_int_equal(id.bytes[0], 42);
}

static void key__round_trips_with_and_without_a_task(void **state)
{
    (void)state;
    helio_rng_t rng = {3};
    static const int32_t tasks[] = {HELIO_NO_TASK, 0, 1, 9999999, 999999999};
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        helio_job_key_t key = {any_uuid(&rng), tasks[i]}, back;
        char text[HELIO_KEY_SIZE];
        helio_job_key_text(key, text);
        assert_true((strchr(text, '.') != NULL) == (tasks[i] != HELIO_NO_TASK));
        assert_int_equal(helio_job_key_parse(helio_text_of(text), &back), HELIO_OK);
        assert_true(helio_job_key_equal(key, back));
        back.task++;
        assert_false(helio_job_key_equal(key, back));
    }
    char text[HELIO_KEY_SIZE];
    helio_job_key_text((helio_job_key_t){{{0}}, INT32_MAX}, text); /* the longest fits */
    assert_string_equal(text, "00000000000000000000000000.2147483647");
}

static void key__hostile_ones_are_invalid(void **state)
{
    (void)state;
    static const char *const tails[] = {".", ".-1", ".+1", ". 1", ".1 ", ".1a", ".0x1", "..1", ".1.", ".1000000000"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char text[64] = "00000000000000000000000001";
        memcpy(text + HELIO_ID_CHARS, tails[i], strlen(tails[i]) + 1);
        helio_job_key_t key = {.task = 42};
        if (helio_job_key_parse(helio_text_of(text), &key) != HELIO_INVALID)
            fail_msg("'%s' was taken", text);
        assert_int_equal(key.task, 42);
    }
    helio_job_key_t key;
    assert_int_equal(helio_job_key_parse(HELIO_TEXT(".1"), &key), HELIO_INVALID);
    assert_int_equal(helio_job_key_parse((helio_text_t){0}, &key), HELIO_INVALID);
    assert_int_equal(helio_job_key_parse(HELIO_TEXT("017F22E2-79B0-7CC3-98C4-DC0C0C07398F.7"), &key), HELIO_OK);
    assert_int_equal(key.task, 7);
}

static void hash__is_fnv_1a_and_chains(void **state)
{
    (void)state;
    assert_true(helio_hash(HELIO_HASH_SEED, "", 0) == HELIO_HASH_SEED);
    assert_true(helio_hash(HELIO_HASH_SEED, NULL, 0) == HELIO_HASH_SEED);
    assert_true(helio_hash(HELIO_HASH_SEED, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c)); /* published test vectors */
    assert_true(helio_hash(HELIO_HASH_SEED, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(helio_hash(helio_hash(HELIO_HASH_SEED, "foo", 3), "bar", 3) ==
                helio_hash(HELIO_HASH_SEED, "foobar", 6));
}

static void rng__is_splitmix64_and_its_ranges_hold(void **state)
{
    (void)state;
    helio_rng_t rng = {0};
    assert_true(helio_rng_next(&rng) == UINT64_C(0xe220a8397b1dcdaf)); /* of the reference, seed 0 */
    assert_true(helio_rng_next(&rng) == UINT64_C(0x6e789e6aa1b965f4));
    uint32_t seen = 0;
    for (int i = 0; i < 10000; i++) {
        double unit = helio_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        uint64_t below = helio_rng_below(&rng, 7);
        assert_true(below < 7);
        seen |= 1U << below;
        assert_int_equal(helio_rng_below(&rng, 1), 0);
    }
    assert_int_equal(seen, 127);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uuid__is_version_seven_as_the_example_of_rfc_9562),
        cmocka_unit_test(uuid__sets_version_and_variant_whatever_the_random_bits),
        cmocka_unit_test(uuid__orders_by_creation),
        cmocka_unit_test(text__known_values),
        cmocka_unit_test(text__round_trips_in_any_case_and_with_look_alikes),
        cmocka_unit_test(text__hostile_ones_are_invalid_and_leave_the_output_alone),
        cmocka_unit_test(key__round_trips_with_and_without_a_task),
        cmocka_unit_test(key__hostile_ones_are_invalid),
        cmocka_unit_test(hash__is_fnv_1a_and_chains),
        cmocka_unit_test(rng__is_splitmix64_and_its_ranges_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
