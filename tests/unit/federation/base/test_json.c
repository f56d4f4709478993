/*  JSON comes out well-formed whatever goes in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "federation/base/json.h"

static void assert_written(const helio_buffer_t *out, const char *expected)
{
    assert_string_equal(out->data, expected);
}

static void object__has_its_members_in_order(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_json_writer_t json = helio_json_into(&out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "id", "a");
    helio_json_put_u64(&json, "most", UINT64_MAX);
    helio_json_put_i64(&json, "least", INT64_MIN);
    helio_json_put_bool(&json, "held", false);
    helio_json_put_null(&json, "site");
    helio_json_put_time(&json, "at", INT64_C(1772366400000));
    helio_json_put_time(&json, "ended", 0);
    helio_json_put_text_or_null(&json, "pool", (helio_text_t){0});
    helio_json_begin_array(&json, "list");
    helio_json_begin_object(&json, NULL);
    helio_json_end(&json);
    helio_json_begin_array(&json, NULL);
    helio_json_put_u64(&json, NULL, 1);
    helio_json_put_u64(&json, NULL, 2);
    helio_json_end(&json);
    helio_json_end(&json);
    helio_json_put_raw(&json, "raw", HELIO_TEXT("{\"x\": 1}"));
    helio_json_end(&json);
    assert_written(&out, "{\"id\":\"a\",\"most\":18446744073709551615,\"least\":-9223372036854775808,\"held\":false,"
                         "\"site\":null,\"at\":\"2026-03-01T12:00:00.000Z\",\"ended\":null,\"pool\":null,"
                         "\"list\":[{},[1,2]],\"raw\":{\"x\": 1}}");
}

static void text__is_escaped_in_values_and_names(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_json_writer_t json = helio_json_into(&out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_text(&json, "a\"b", HELIO_TEXT("\"\\\n\t\x7f\0z"));
    helio_json_put_text(&json, "utf8", HELIO_TEXT("gr\xc3\xbcn \xff\xc0\xaf \xf0\x9f\x98\x80"));
    helio_json_end(&json);
    assert_written(&out, "{\"a\\\"b\":\"\\\"\\\\\\n\\u0009\\u007f\\u0000z\","
                         "\"utf8\":\"gr\xc3\xbcn \\ufffd\\ufffd\\ufffd \xf0\x9f\x98\x80\"}");
}

static void real__is_short_and_gives_the_same_number_again(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.0"},        {2520, "2520.0"},  {312.45, "312.45"},    {0.1 + 0.2, "0.30000000000000004"},
                 {-1e-9, "-1e-09"}, {1e300, "1e+300"}, {(double)NAN, "null"}, {(double)INFINITY, "null"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_json_writer_t json = helio_json_into(&out);
        helio_json_put_real(&json, NULL, cases[i].value);
        assert_written(&out, cases[i].text);
    }
}

static void members__of_another_object_are_appended(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"{}", "{\"a\":1,\"b\":2}"},
                                           {" { } ", "{\"a\":1,\"b\":2}"},
                                           {"{\"x\" : [1, 2]}\n", "{\"a\":1,\"x\" : [1, 2],\"b\":2}"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_json_writer_t json = helio_json_into(&out);
        helio_json_begin_object(&json, NULL);
        helio_json_put_u64(&json, "a", 1);
        helio_json_put_members(&json, helio_text_of(cases[i][0]));
        helio_json_put_u64(&json, "b", 2);
        helio_json_end(&json);
        assert_written(&out, cases[i][1]);
    }
}

static void indented__has_one_member_per_line(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_json_writer_t json = helio_json_indented_into(&out);
    helio_json_begin_object(&json, NULL);
    helio_json_begin_array(&json, "enum");
    helio_json_put_string(&json, NULL, "a");
    helio_json_put_string(&json, NULL, "b");
    helio_json_end(&json);
    helio_json_begin_object(&json, "items");
    helio_json_put_string(&json, "type", "string");
    helio_json_end(&json);
    helio_json_end(&json);
    assert_written(&out, "{\n  \"enum\": [\"a\", \"b\"],\n  \"items\": {\n    \"type\": \"string\"\n  }\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object__has_its_members_in_order),
        cmocka_unit_test(text__is_escaped_in_values_and_names),
        cmocka_unit_test(real__is_short_and_gives_the_same_number_again),
        cmocka_unit_test(members__of_another_object_are_appended),
        cmocka_unit_test(indented__has_one_member_per_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
