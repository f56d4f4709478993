/*  Cutting submissions: exact bytes, right lines. */
#include "spec_testing.h"

typedef struct split_case {
    const char *source;
    uint32_t count;
    const char *parts[4];
    uint32_t lines[4];
} split_case_t;

static const split_case_t cases[] = {
    {"run: a\n", 1, {"run: a\n"}, {1}},
    {"run: a", 1, {"run: a"}, {1}},
    {"# c\nrun: a\n---\nrun: b\n", 2, {"# c\nrun: a\n", "---\nrun: b\n"}, {1, 3}},
    {"---\nrun: a\n---\nrun: b\n", 2, {"---\nrun: a\n", "---\nrun: b\n"}, {1, 3}},
    {"---\n---\nrun: a\n---\n# no\n---\n", 1, {"---\nrun: a\n"}, {2}},
    {"--- {run: a}\n--- {run: b}\n", 2, {"--- {run: a}\n", "--- {run: b}\n"}, {1, 2}},
    {"run: a\n...\n%YAML 1.2\n---\nrun: b\n", 2, {"run: a\n...\n", "%YAML 1.2\n---\nrun: b\n"}, {1, 3}},
    {"run: a\n... junk\n", 1, {"run: a\n... junk\n"}, {1}},
    {"run: a\r\n---\r\nrun: b\r\n", 2, {"run: a\r\n", "---\r\nrun: b\r\n"}, {1, 2}},
    {"run: |\n  ---\n  x\n", 1, {"run: |\n  ---\n  x\n"}, {1}},
    {"run: a\n----: x\n", 1, {"run: a\n----: x\n"}, {1}},
    {"\xef\xbb\xbf# c\n---\nrun: a\n", 1, {"---\nrun: a\n"}, {2}},
    {"{\"run\":\"a\"}\n{\"run\":\"b\"}\n", 2, {"{\"run\":\"a\"}", "{\"run\":\"b\"}"}, {1, 2}},
    {" {\n\"run\": \"}{\\\"\"}\n", 1, {" {\n\"run\": \"}{\\\"\"}\n"}, {1}},
    {"[{\"run\":\"a\"},\n {\"run\":\"b\"} ]\n", 2, {"{\"run\":\"a\"}", "{\"run\":\"b\"}"}, {1, 2}},
    {"{\"jobs\": [{\"run\":\"a\"}, {\"env\": {\"A\": \"]\"}, \"run\":\"b\"}]}\n",
     2,
     {"{\"run\":\"a\"}", "{\"env\": {\"A\": \"]\"}, \"run\":\"b\"}"},
     {1, 1}},
    {"{run: 'a}{b'}\n", 1, {"{run: 'a}{b'}\n"}, {1}},
    {"{run: a}\n---\n{run: b}\n", 2, {"{run: a}\n", "---\n{run: b}\n"}, {1, 2}},
    {"{\"run\":\"a\"", 1, {"{\"run\":\"a\""}, {1}},
    {"[1, 2]", 1, {"[1, 2]"}, {1}},
};

static void split__parts_are_exact_runs_of_the_received_bytes(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const split_case_t *expected = &cases[i];
        exact_t exact = exact_of("-", expected->source, strlen(expected->source));
        helio_spec_parts_t parts = {0};
        helio_diagnostic_t diagnostic = {0};
        assert_int_equal(helio_spec_split(exact.source, *state, &parts, &diagnostic), HELIO_OK);
        if (parts.count != expected->count)
            fail_msg("'%s': %u parts", expected->source, parts.count);
        for (uint32_t j = 0; j < parts.count; j++) {
            helio_text_t text = parts.items[j].text;
            if (!helio_text_is(text, expected->parts[j]) || parts.items[j].line != expected->lines[j])
                fail_msg("'%s' part %u: line %u '%.*s'", expected->source, j, parts.items[j].line,
                         HELIO_TEXT_ARGS(text));
            assert_true(text.data >= exact.bytes && text.data + text.size <= exact.bytes + exact.source.text.size);
        }
        free(exact.bytes);
    }
}

static void split__a_submission_without_a_job_is_an_error(void **state)
{
    static const char *const empty[] = {"", "\n", "# only\n", "---\n", "---\n# a\n...\n", "[]", "{\"jobs\": []}"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        exact_t exact = exact_of("-", empty[i], strlen(empty[i]));
        helio_spec_parts_t parts = {.count = 77};
        helio_diagnostic_t diagnostic = {0};
        assert_int_equal(helio_spec_split(exact.source, *state, &parts, &diagnostic), HELIO_INVALID);
        assert_int_equal(diagnostic.problem, HELIO_SPEC_MISSING_PROBLEM);
        assert_int_equal(parts.count, 77);
        free(exact.bytes);
    }
}

static void split__errors_of_a_part_name_the_line_of_the_whole_stream(void **state)
{
    static const char stream[] = "run: a\n---\n# second\nrun: b\nndes: 2\n";
    helio_spec_parts_t parts;
    helio_diagnostic_t diagnostic = {0};
    helio_job_spec_t job;
    helio_spec_source_t source = {HELIO_TEXT(stream), "-", 0};
    assert_int_equal(helio_spec_split(source, *state, &parts, &diagnostic), HELIO_OK);
    assert_int_equal(helio_spec_parse_job(parts.items[0], *state, &job, &diagnostic), HELIO_OK);
    assert_int_equal(helio_spec_parse_job(parts.items[1], *state, &job, &diagnostic), HELIO_INVALID);
    assert_int_equal(diagnostic.line, 5);
    assert_int_equal(diagnostic.column, 1);
    assert_string_equal(diagnostic.source_line, "ndes: 2");
}

static void split__more_jobs_than_the_bound_are_refused(void **state)
{
    helio_buffer_t buffer = {0};
    helio_spec_parts_t parts;
    helio_diagnostic_t diagnostic = {0};
    for (int i = 0; i < HELIO_SPEC_STREAM_JOBS_MAX; i++)
        helio_buffer_text(&buffer, "{}\n");
    helio_spec_source_t source = {helio_buffer_view(&buffer), "-", 0};
    assert_int_equal(helio_spec_split(source, *state, &parts, &diagnostic), HELIO_OK);
    assert_int_equal(parts.count, HELIO_SPEC_STREAM_JOBS_MAX);
    assert_int_equal(parts.items[parts.count - 1].line, HELIO_SPEC_STREAM_JOBS_MAX);
    helio_buffer_text(&buffer, "{}\n");
    source.text = helio_buffer_view(&buffer);
    assert_int_equal(helio_spec_split(source, *state, &parts, &diagnostic), HELIO_TOO_BIG);
    assert_int_equal(diagnostic.line, HELIO_SPEC_STREAM_JOBS_MAX + 1);
    helio_buffer_clear(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(split__parts_are_exact_runs_of_the_received_bytes, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(split__a_submission_without_a_job_is_an_error, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(split__errors_of_a_part_name_the_line_of_the_whole_stream, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(split__more_jobs_than_the_bound_are_refused, arena_setup, arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
