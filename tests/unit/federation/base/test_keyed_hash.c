/*  test_keyed_hash.c -- SipHash-2-4 against the vector of its paper, and against chosen collisions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "federation/base/keyed_hash.h"

static void hash__is_that_of_the_paper(void **state)
{
    (void)state;
    const helio_hash_key_t key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    uint8_t input[15];
    for (uint8_t i = 0; i < sizeof input; i++)
        input[i] = i;
    assert_true(helio_keyed_hash(&key, input, sizeof input) == UINT64_C(0xa129ca6149be45e5));
}

static void hash__depends_on_key_bytes_and_length(void **state)
{
    (void)state;
    const helio_hash_key_t one = {{1, 2}}, other = {{1, 3}};
    static const uint8_t zeros[17];
    for (size_t size = 0; size + 1 < sizeof zeros; size++) {
        assert_true(helio_keyed_hash(&one, zeros, size) != helio_keyed_hash(&other, zeros, size));
        assert_true(helio_keyed_hash(&one, zeros, size) != helio_keyed_hash(&one, zeros, size + 1));
    }
    for (size_t at = 0; at < sizeof zeros; at++) {
        uint8_t changed[17] = {0};
        changed[at] = 1;
        assert_true(helio_keyed_hash(&one, zeros, 17) != helio_keyed_hash(&one, changed, 17));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash__is_that_of_the_paper),
        cmocka_unit_test(hash__depends_on_key_bytes_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
