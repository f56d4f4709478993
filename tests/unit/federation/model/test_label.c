/*  test_label.c -- which texts are labels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "federation/model/label.h"

static const char longest[] = "a23456789012345678901234567890123456789012345678901234567890123";

static void key__is_a_word_that_may_have_a_prefix(void **state)
{
    (void)state;
    static const char *const good[] = {"team", "a", "A1", "9", "a-b_c.d", "example.com/team", longest};
    static const char *const bad[] = {"",   "-a",   "a-",    ".a",   "a.", "a b", "a=b", "/a",
                                      "a/", "a//b", "a/b/c", "a/-b", "ä",  "a,b", "a\nb"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(helio_label_is_key(helio_text_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(helio_label_is_key(helio_text_of(bad[i])));
    char longer[sizeof longest + 1];
    (void)snprintf(longer, sizeof longer, "%sx", longest);
    assert_false(helio_label_is_key(helio_text_of(longer)));
    assert_false(helio_label_is_value(helio_text_of(longer)));
    assert_true(helio_label_is_value(helio_text_of(longest)));
}

static void value__has_no_prefix_and_may_be_empty(void **state)
{
    (void)state;
    assert_true(helio_label_is_value((helio_text_t){0}));
    assert_true(helio_label_is_value(HELIO_TEXT("v1.2-rc_3")));
    assert_false(helio_label_is_value(HELIO_TEXT("a/b")));
    assert_false(helio_label_is_value(HELIO_TEXT("a ")));
}

static void split__gives_key_and_value(void **state)
{
    (void)state;
    helio_text_t key, value;
    assert_true(helio_label_split(HELIO_TEXT("team=nlp"), false, &key, &value));
    assert_true(helio_text_is(key, "team") && helio_text_is(value, "nlp"));
    assert_true(helio_label_split(HELIO_TEXT("team="), false, &key, &value) && value.size == 0 && value.data);
    assert_true(helio_label_split(HELIO_TEXT("team"), true, &key, &value) && !value.data);
    assert_false(helio_label_split(HELIO_TEXT("team"), false, &key, &value));
    assert_false(helio_label_split(HELIO_TEXT("=nlp"), true, &key, &value));
    assert_false(helio_label_split(HELIO_TEXT("team=a=b"), true, &key, &value));
    assert_false(helio_label_split((helio_text_t){0}, true, &key, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key__is_a_word_that_may_have_a_prefix),
        cmocka_unit_test(value__has_no_prefix_and_may_be_empty),
        cmocka_unit_test(split__gives_key_and_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
