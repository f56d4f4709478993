/*  Sentences from the catalogue: each entry's template names its own parameters only, and shows every kind of value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "federation/reason/sentence.h"

static helio_arena_t *arena;

static int set_up(void **state)
{
    (void)state;
    arena = helio_arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

#define N(number) helio_value_number(number)
#define T(text) helio_value_string(text)

static void assert_sentence(helio_detail_t detail, const char *expected)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentence(&detail, &text);
    assert_string_equal(text.data ? text.data : "", expected);
}

static void a_value_is_shown_where_the_template_names_it(void **state)
{
    (void)state;
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_QUOTA_IN_USE, T("acme"), T("batch"), N(12), N(16), N(8)),
                    "quota of acme in queue batch: 12 of 16 GPUs in use, it needs 8");
}

static void an_optional_part_goes_with_its_value(void **state)
{
    (void)state;
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_QUOTA_IN_USE, T("acme"), T(""), N(0), N(16), N(8)),
                    "quota of acme: 0 of 16 GPUs in use, it needs 8");
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_PREEMPTS, N(1), T("lulea"), T("h100"), N(999), N(0)),
                    "preempts 1 job at lulea/h100, expected start 1970-01-01T00:00:01Z");
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_PREEMPTS, N(2), T("lulea"), T("h100"), N(1000), N(1)),
                    "preempts 2 jobs at lulea/h100 and elsewhere, expected start 1970-01-01T00:00:01Z");
}

/*  No hour is anywhere as clean as the bound: the least is that of all sites, not of the one beside the sentence. */
static void a_bound_below_every_forecast_names_the_least_and_its_site(void **state)
{
    (void)state;
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_CARBON_AT_LEAST, N(328000), T("california"), N(20000)),
                    "no forecast hour anywhere is below 328 g/kWh (california), and its `max_carbon` is 20");
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_START_MEMORY_LOST, T("lulea"), N(0)),
                    "the agent of lulea came back without its memory, and the job may still be running there");
    assert_sentence(
        HELIO_DETAIL(arena, HELIO_DETAIL_START_MEMORY_LOST, T("lulea"), N(1000)),
        "the agent of lulea came back without its memory, and the job may still be running there; it is placed again when its "
        "lease is over, at 1970-01-01T00:00:01Z");
}

static void a_word_follows_the_number(void **state)
{
    (void)state;
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_POOLS_FULL, N(1)), "1 pool could run it; it has no room now");
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_POOLS_FULL, N(3)), "3 pools could run it; none has room now");
}

static void names_are_listed_and_the_others_counted(void **state)
{
    (void)state;
    helio_value_t five = {.number = 5, .text = HELIO_TEXT("lulea,oregon,virginia")},
                  two = {.number = 2, .text = HELIO_TEXT("lulea,oregon")};
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_DATA_NO_LINK, five),
                    "no link from lulea, oregon, virginia and 2 more");
    assert_sentence(HELIO_DETAIL(arena, HELIO_DETAIL_DATA_NO_LINK, two), "no link from lulea, oregon");
}

static void every_kind_is_shown_in_its_unit(void **state)
{
    (void)state;
    static const struct {
        helio_value_kind_t kind;
        int64_t number;
        const char *expected;
    } cases[] = {
        {HELIO_VALUE_COUNT, -3, "-3"},
        {HELIO_VALUE_USD, 12304999, "$12.30"},
        {HELIO_VALUE_USD, 10000, "$0.01"},
        {HELIO_VALUE_USD, 9999, "$0.01"},
        {HELIO_VALUE_USD, -5000, "-$0.005"},
        {HELIO_VALUE_USD, 4600, "$0.0046"},
        {HELIO_VALUE_USD, 100, "$0.0001"},
        {HELIO_VALUE_USD, 1, "$0.000001"},
        {HELIO_VALUE_USD, 0, "$0.00"},
        {HELIO_VALUE_USD, INT64_MIN, "-$9223372036854.78"},
        {HELIO_VALUE_MINUTE, INT64_C(1772373599999), "2026-03-01T13:59Z"},
        {HELIO_VALUE_SECOND, INT64_C(1772373605001), "2026-03-01T14:00:06Z"},
        {HELIO_VALUE_SPAN, 1, "1s"},
        {HELIO_VALUE_SPAN, 60000, "1m"},
        {HELIO_VALUE_SPAN, 124500, "2m05s"},
        {HELIO_VALUE_SPAN, 600001, "11m"},
        {HELIO_VALUE_SPAN, 3600000, "1h00m"},
        {HELIO_VALUE_SPAN, 16201000, "4h31m"},
        {HELIO_VALUE_CARBON, 411500, "412"},
        {HELIO_VALUE_MASS, 340000, "340 g"},
        {HELIO_VALUE_MASS, 1900000, "1.9 kg"},
        {HELIO_VALUE_ENERGY, 255600000, "71 kWh"},
        {HELIO_VALUE_BYTES, INT64_C(80000000000), "80 GB"},
        {HELIO_VALUE_BYTES, INT64_C(1500000000000), "1.5 TB"},
        {HELIO_VALUE_BYTES, 999, "999 B"},
        {HELIO_VALUE_MILLI, 1250, "1.25"},
        {HELIO_VALUE_MILLI, 4980000, "4,980"},
        {HELIO_VALUE_MILLI, -1234567005, "-1,234,567.005"},
        {HELIO_VALUE_PERCENT, 12, "12 %"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_value_t value = helio_value_number(cases[i].number);
        helio_value_show(cases[i].kind, &value, &text);
        assert_string_equal(text.data, cases[i].expected);
    }
}

static void several_details_are_joined_and_an_unknown_one_adds_nothing(void **state)
{
    (void)state;
    helio_details_t details = {0};
    helio_details_add(&details, arena, HELIO_DETAIL(arena, HELIO_DETAIL_EXIT_CODE, N(3)));
    helio_details_add(&details, arena, (helio_detail_t){.code = UINT32_MAX});
    helio_details_add(&details, arena, HELIO_DETAIL0(HELIO_DETAIL_HELD_AFTER_FAILURES));
    assert_true(helio_text_is(helio_sentences_text(&details, arena), "exit code 3; held until it is released"));
    assert_non_null(helio_details_find(&details, HELIO_DETAIL_EXIT_CODE));
    assert_null(helio_details_find(&details, HELIO_DETAIL_CANCELLED));
}

static void a_list_has_a_bound_and_a_long_text_is_cut_at_a_character(void **state)
{
    (void)state;
    helio_details_t details = {0};
    char longer[HELIO_DETAIL_TEXT_MAX + 3];
    memset(longer, 'x', sizeof longer);
    memcpy(longer + HELIO_DETAIL_TEXT_MAX - 1, "\xc3\xa9", 3); /* one character over the bound, and the end */
    for (int i = 0; i < HELIO_DETAILS_MAX + 3; i++)
        helio_details_add(&details, arena, HELIO_DETAIL(arena, HELIO_DETAIL_STATE_REPORTED, T(longer)));
    assert_int_equal(details.items.count, HELIO_DETAILS_MAX);
    assert_int_equal(helio_detail_value(&details.items.items[0], 0).text.size, HELIO_DETAIL_TEXT_MAX - 1);
    assert_int_equal(helio_detail_value(&details.items.items[0], 7).number, 0);
}

static void the_texts_of_a_reason_have_a_bound_together(void **state)
{
    (void)state;
    helio_details_t details = {0};
    char text[HELIO_DETAIL_TEXT_MAX + 1];
    memset(text, 'x', HELIO_DETAIL_TEXT_MAX);
    text[HELIO_DETAIL_TEXT_MAX] = '\0';
    const helio_value_t value = T(text);
    for (int i = 0; i < 6; i++) /* 5 of them are 15 texts of 16 */
        helio_details_add(&details, arena, HELIO_DETAIL(arena, HELIO_DETAIL_RULE_SET, N(1), value, value, value, N(1)));
    assert_int_equal(helio_details_text_size(&details), 5 * 3 * HELIO_DETAIL_TEXT_MAX);
    assert_int_equal(details.items.count, 5);
    helio_details_add(&details, arena,
                      HELIO_DETAIL(arena, HELIO_DETAIL_STATE_REPORTED, value)); /* a smaller one fits */
    assert_int_equal(helio_details_text_size(&details), HELIO_DETAILS_TEXT_MAX);
    helio_details_add(&details, arena, HELIO_DETAIL(arena, HELIO_DETAIL_STATE_REPORTED, T("x")));
    assert_int_equal(details.items.count, 6);
    helio_details_add(&details, arena, HELIO_DETAIL(arena, HELIO_DETAIL_EXIT_CODE, N(3))); /* a number is no text */
    assert_int_equal(details.items.count, 7);
}

/*  Renders every entry twice, with all of its values and with none: a template that names a parameter that is not there
 *  fails an assert, and a word that stands twice could not be told apart. */
static void every_entry_can_be_said_and_has_a_word_of_its_own(void **state)
{
    (void)state;
    for (uint32_t code = HELIO_DETAIL_NONE + 1; code < HELIO_DETAIL_CODE_COUNT; code++) {
        const helio_detail_entry_t *entry = helio_detail_entry(code);
        helio_value_t values[HELIO_DETAIL_VALUES_MAX];
        for (uint32_t i = 0; i < HELIO_DETAIL_VALUES_MAX; i++)
            values[i] = (helio_value_t){.number = 7, .text = HELIO_TEXT("x")};
        uint32_t count = entry->param_count;
        helio_detail_t whole = helio_detail_make(arena, (helio_detail_code_t)code, values, count),
                       bare = {.code = code};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, nothing = {0};
        helio_sentence(&whole, &text);
        helio_sentence(&bare, &nothing);
        assert_true(text.size > 0);
        assert_null(strpbrk(text.data, "{}[]"));
        assert_int_equal(helio_detail_code_of(helio_text_of(entry->word)), code);
        for (uint32_t i = 0; i < count; i++) { /* a parameter that no sentence shows would not be missed */
            char name[64];
            (void)snprintf(name, sizeof name, "{%s", entry->params[i].name);
            bool shown = strstr(entry->sentence, name) != NULL;
            bool beside = strstr(entry->params[i].name, "_bytes") || strstr(entry->params[i].name, "_s") ||
                          strstr(entry->params[i].name, "_usd") || strstr(entry->params[i].name, "_g");
            bool own = code == HELIO_DETAIL_RESERVED_FOR_IT && strcmp(entry->params[i].name, "job_id") == 0;
            assert_true(shown || own || beside); /* or the reader's own job, or the exact figure of a rounded one */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_is_shown_where_the_template_names_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_optional_part_goes_with_its_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bound_below_every_forecast_names_the_least_and_its_site, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_word_follows_the_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_listed_and_the_others_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_kind_is_shown_in_its_unit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_details_are_joined_and_an_unknown_one_adds_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_has_a_bound_and_a_long_text_is_cut_at_a_character, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_texts_of_a_reason_have_a_bound_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_entry_can_be_said_and_has_a_word_of_its_own, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
