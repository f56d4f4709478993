/*  Details as JSON: units, what is left out, and that what was written is read back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "federation/reason/detail_json.h"

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

static void assert_json(const helio_details_t *details, const char *expected)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_details_write(&json, NULL, details);
    assert_string_equal(text.data, expected);
}

static void a_parameter_has_the_unit_of_its_kind(void **state)
{
    (void)state;
    helio_details_t details = {0};
    helio_details_add(
        &details, arena,
        HELIO_DETAIL(arena, HELIO_DETAIL_ABOVE_MAX_COST, N(12345678), N(400000000), N(INT64_C(1772373600000))));
    helio_value_t sites = {.number = 3, .text = HELIO_TEXT("lulea,\"x\"")};
    helio_details_add(&details, arena, HELIO_DETAIL(arena, HELIO_DETAIL_DATA_BROUGHT, N(1500), sites, N(2500)));
    assert_json(&details,
                "[{\"code\":\"AboveMaxCost\",\"params\":{\"cost_usd\":12.345678,\"max_cost_usd\":400.0,"
                "\"until\":\"2026-03-01T14:00:00.000Z\"}},"
                "{\"code\":\"DataBrought\",\"params\":{\"size_bytes\":1500,\"sites\":[\"lulea\",\"\\\"x\\\"\"],"
                "\"sites_total\":3,\"time_s\":2.5}}]");
}

static void what_says_nothing_is_left_out(void **state)
{
    (void)state;
    helio_details_t details = {0};
    assert_json(&details, "[]");
    helio_details_add(&details, arena, (helio_detail_t){.code = UINT32_MAX}); /* of a newer peer */
    helio_details_add(&details, arena,
                      HELIO_DETAIL(arena, HELIO_DETAIL_PREEMPTED_LEAVE, T("lulea"), T(""), N(0), N(1)));
    assert_json(&details, "[{\"code\":\"PreemptedLeave\",\"params\":{\"site\":\"lulea\",\"elsewhere\":true}}]");
}

/*  Whole units only: what JSON would round is another test's. */
static void what_was_written_is_read_back(void **state)
{
    (void)state;
    for (uint32_t code = HELIO_DETAIL_NONE + 1; code < HELIO_DETAIL_CODE_COUNT; code++) {
        const helio_detail_entry_t *entry = helio_detail_entry(code);
        helio_value_t values[HELIO_DETAIL_VALUES_MAX];
        for (uint32_t i = 0; i < entry->param_count; i++) {
            helio_value_kind_t kind = entry->params[i].kind;
            values[i] = kind == HELIO_VALUE_TEXT    ? T("a text, with \xc3\xa9")
                        : kind == HELIO_VALUE_NAMES ? (helio_value_t){.number = 9, .text = HELIO_TEXT("a,b")}
                        : kind == HELIO_VALUE_FLAG  ? N(1)
                                                    : N(INT64_C(1767225600000) + (int64_t)i * 1000);
        }
        helio_details_t details = {0}, again = {0};
        helio_details_add(&details, arena,
                          helio_detail_make(arena, (helio_detail_code_t)code, values, entry->param_count));
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_json_writer_t json = helio_json_into(&text);
        helio_details_write(&json, NULL, &details);
        assert_int_equal(helio_details_read(helio_buffer_view(&text), arena, &again), HELIO_OK);
        assert_true(helio_record_equal(&helio_details_type, &details, &again));
    }
}

static void what_is_not_known_is_passed_over_and_what_is_no_list_is_refused(void **state)
{
    (void)state;
    helio_details_t details = {0};
    assert_int_equal(
        helio_details_read(HELIO_TEXT("[{\"code\":\"Newer\"},{\"code\":\"ExitCode\",\"params\":{\"exit_code\":3,"
                                      "\"newer\":1}},{\"code\":\"ExitCode\"},7,null]"),
                           arena, &details),
        HELIO_OK);
    assert_int_equal(details.items.count, 2);
    assert_int_equal(helio_detail_value(&details.items.items[0], 0).number, 3);
    assert_int_equal(helio_detail_value(&details.items.items[1], 0).number, 0);
    static const char *const wrong[] = {"", "{}", "[", "null", "\"x\""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(helio_details_read(helio_text_of(wrong[i]), arena, &details), HELIO_INVALID);
    assert_int_equal(details.items.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_parameter_has_the_unit_of_its_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_says_nothing_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_written_is_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_passed_over_and_what_is_no_list_is_refused, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
