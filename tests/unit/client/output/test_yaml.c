/*  test_yaml.c -- JSON values as YAML: their layout, and what has to be quoted. */
#include "tests/unit/client/output/output_testing.h"

static void yaml__has_the_layout_that_people_write(void **state)
{
    (void)state;
    static const struct {
        const char *json, *yaml;
    } cases[] = {
        {"[]", "[]\n"},
        {"{}", "{}\n"},
        {"[{\"id\":\"01k9\",\"name\":\"train\",\"gpus\":8,\"site\":null,\"tasks\":{},\"details\":[]},{\"id\":\"01ka\"}]",
         "- id: \"01k9\"\n  name: train\n  gpus: 8\n  site: null\n  tasks: {}\n  details: []\n- id: \"01ka\"\n"},
        {"{\"a\":{\"b\":[1,[2,3],{\"c\":true,\"d\":[]}]},\"e\":1.5}",
         "a:\n  b:\n    - 1\n    - - 2\n      - 3\n    - c: true\n      d: []\ne: 1.5\n"},
        {"{\"run\":\"set -e\\n\\n  python a.py # x\\n\",\"b\":\"x: y\\nz\"}",
         "run: |\n  set -e\n\n    python a.py # x\nb: |-\n  x: y\n  z\n"},
        {"[\"a\\nb\\n\"]", "- |\n  a\n  b\n"},
        {"[1e-05,1e20,1.25e-07,0.0,-3]", "- 1.0e-5\n- 1.0e+20\n- 1.25e-7\n- 0.0\n- -3\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool object = cases[i].json[0] == '{';
        char *text = print_text(cases[i].json, HELIO_FORMAT_YAML, false, object, (helio_columns_t){0});
        assert_string_equal(text, cases[i].yaml);
        free(text);
    }
}

static void yaml__quotes_text_that_could_be_read_as_something_else(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"lulea", "lulea"},
        {"held after 3 attempts (see lulea/h100; x=1)", "held after 3 attempts (see lulea/h100; x=1)"},
        {"", "\"\""},
        {"true", "\"true\""},
        {"NO", "\"NO\""},
        {"Null", "\"Null\""},
        {"12", "\"12\""},
        {"2026-03-01T12:00:00Z", "\"2026-03-01T12:00:00Z\""},
        {"a: b", "\"a: b\""},
        {"a #b", "\"a #b\""},
        {"a ", "\"a \""},
        {"- a", "\"- a\""},
        {"*a", "\"*a\""},
        {"say \"x\\y\"", "\"say \\\"x\\\\y\\\"\""},
        {"a\tb", "\"a\\tb\""},
        {"a\033[2J", "\"a\\x1B[2J\""},
        {"a\xC2\x9B", "\"a\\x9B\""},
        {"a\xE2\x80\xAE", "\"a\\u202E\""},
        {"a\n\n", "\"a\\n\\n\""},
        {" a\nb", "\" a\\nb\""},
        {"a\nb\033", "\"a\\nb\\x1B\""},
        {"Luleå ✔😀", "\"Luleå ✔😀\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[128];
        json_t *object = json_pack("{s:s}", cases[i][0][0] ? cases[i][0] : "empty", cases[i][0]);
        char *text = print_json(object, HELIO_FORMAT_YAML, false, true, (helio_columns_t){0});
        (void)snprintf(expected, sizeof expected, "%s: %s\n", cases[i][0][0] ? cases[i][1] : "empty", cases[i][1]);
        assert_string_equal(text, expected);
        free(text);
        json_decref(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml__has_the_layout_that_people_write),
        cmocka_unit_test(yaml__quotes_text_that_could_be_read_as_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
