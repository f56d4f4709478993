/*  Slurm's short form of many node names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/shim/hostlist.h"

static bool add(void *arg, helio_text_t name)
{
    helio_buffer_t *out = arg;
    helio_buffer_printf(out, "%s%.*s", out->size ? " " : "", HELIO_TEXT_ARGS(name));
    return true;
}

static void hostlist__names_come_in_order(void **state)
{
    (void)state;
    const char *rows[][2] = {
        {"login1", "login1"},
        {"a,b,a", "a b a"},
        {"eu-n[1-2,04-06],login1", "eu-n1 eu-n2 eu-n04 eu-n05 eu-n06 login1"},
        {"n[8-11]", "n8 n9 n10 n11"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[098-101]", "n098 n099 n100 n101"},
        {"n[0,00,000]", "n0 n00 n000"},
        {"n[0-1]", "n0 n1"},
        {"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
        {"r[1,3]c[2]s[0-1]-ib", "r1c2s0-ib r1c2s1-ib r3c2s0-ib r3c2s1-ib"},
        {"[1-2].example.org", "1.example.org 2.example.org"},
        {"a_b-c.d", "a_b-c.d"},
        {"n[7-7]", "n7"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        assert_int_equal(helio_hostlist_each(helio_text_of(rows[i][0]), 100, add, &out), HELIO_OK);
        assert_string_equal(out.data, rows[i][1]);
    }
}

static void hostlist__other_texts_are_refused(void **state)
{
    (void)state;
    const char *rows[] = {"",
                          ",",
                          "a,",
                          ",a",
                          "a,,b",
                          "n[",
                          "n[]",
                          "n[1",
                          "n[1-",
                          "n[1-]",
                          "n[2-1]",
                          "n[1,]",
                          "n[,1]",
                          "n[a-b]",
                          "n[1-2-3]",
                          "n]",
                          "n[1]]",
                          "n[[1]]",
                          "n[1[2]]",
                          "a b",
                          "a\nb",
                          "a;b",
                          "$(id)",
                          "n[-1]",
                          "n[1234567890]",
                          "n[0-4294967296]",
                          "n[010-20]x[",
                          "a/b",
                          "a[1][2][3][4][5][6][7][8][9]"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        if (helio_hostlist_each(helio_text_of(rows[i]), 100, add, &out) != HELIO_INVALID)
            fail_msg("'%s' was taken: %s", rows[i], out.data ? out.data : "");
    }
}

static void hostlist__few_bytes_do_not_become_millions_of_names(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    assert_int_equal(helio_hostlist_each(HELIO_TEXT("n[1-1000]"), 1000, add, &out), HELIO_OK);
    assert_int_equal(helio_hostlist_each(HELIO_TEXT("n[1-1000]"), 999, add, &out), HELIO_INVALID);
    assert_int_equal(helio_hostlist_each(HELIO_TEXT("n[0-999999999]m[0-999999999]"), 500, add, &out), HELIO_INVALID);
    char name[600];
    memset(name, 'x', sizeof name);
    assert_int_equal(helio_hostlist_each((helio_text_t){name, 255}, 1, add, &out), HELIO_OK);
    assert_int_equal(helio_hostlist_each((helio_text_t){name, 256}, 1, add, &out), HELIO_INVALID);
}

static bool first_only(void *arg, helio_text_t name)
{
    uint32_t *count = arg;
    (void)name;
    return ++*count < 2;
}

static void hostlist__the_caller_can_stop_early(void **state)
{
    (void)state;
    uint32_t count = 0;
    assert_int_equal(helio_hostlist_each(HELIO_TEXT("n[1-1000],more"), 5, first_only, &count), HELIO_OK);
    assert_int_equal(count, 2);
}

static void hostlist__truncated_lists_are_read_without_harm(void **state)
{
    (void)state;
    const char whole[] = "r[1-2,004]n[01-02],x[9-12]y";
    for (uint32_t from = 0; from < sizeof whole; from++)
        for (uint32_t to = from; to < sizeof whole; to++) {
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
            char *cut = helio_new(to - from + 1, 1); /* of the right size, for the address sanitizer */
            memcpy(cut, whole + from, to - from);
            char *exact = helio_grow(cut, to - from ? to - from : 1, 1);
            helio_rc rc = helio_hostlist_each((helio_text_t){exact, to - from}, 50, add, &out);
            assert_true(rc == HELIO_OK || rc == HELIO_INVALID);
            free(exact);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostlist__names_come_in_order),
        cmocka_unit_test(hostlist__other_texts_are_refused),
        cmocka_unit_test(hostlist__few_bytes_do_not_become_millions_of_names),
        cmocka_unit_test(hostlist__the_caller_can_stop_early),
        cmocka_unit_test(hostlist__truncated_lists_are_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
