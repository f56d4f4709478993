/*  test_hostile.c -- hostile sources: each soon ends in an error, and none of its control characters reaches a
 *  terminal. */
#include "spec_testing.h"

#include "federation/base/rng.h"

static helio_diagnostic_t refused(const void *bytes, size_t size, helio_rc want, helio_arena_t *arena)
{
    helio_job_spec_t job;
    helio_diagnostic_t diagnostic = {0};
    assert_int_equal(parse_job(bytes, size, arena, &job, &diagnostic), want);
    return diagnostic;
}

static void hostile__nul_bytes_and_controls_are_refused_where_they_are(void **state)
{
    static const char controls[] = {0x00, 0x01, 0x07, 0x0b, 0x0c, 0x1b, 0x7f};
    for (size_t i = 0; i < sizeof controls; i++) {
        char yaml[] = "run: x\nname: a?\n";
        yaml[14] = controls[i];
        helio_diagnostic_t diagnostic = refused(yaml, sizeof yaml - 1, HELIO_INVALID, *state);
        assert_int_equal(diagnostic.problem, HELIO_SPEC_MALFORMED_PROBLEM);
        assert_int_equal(diagnostic.line, 2);
        assert_int_equal(diagnostic.column, 8);
        assert_string_equal(diagnostic.source_line, "name: a ");
    }
    assert_non_null(strstr(refused("run: \"a\\0b\"", 11, HELIO_INVALID, *state).message, "NUL"));
}

static void hostile__invalid_utf8_is_refused(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe0\x80\xaf",
                                      "\xed\xa0\x80",
                                      "\xf0\x80\x80\xaf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xc3",
                                      "\xe2\x82",
                                      "\xf0\x9f\x98",
                                      "\xc2\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char yaml[64];
        int size = snprintf(yaml, sizeof yaml, "run: x%s", bad[i]);
        helio_diagnostic_t diagnostic = refused(yaml, (size_t)size, HELIO_INVALID, *state);
        assert_int_equal(diagnostic.problem, HELIO_SPEC_MALFORMED_PROBLEM);
        assert_int_equal(diagnostic.column, 7);
    }
}

static void hostile__a_job_can_have_exactly_256_kib(void **state)
{
    size_t size = HELIO_JOB_SOURCE_MAX + 1;
    char *yaml = malloc(size);
    helio_job_spec_t job;
    assert_non_null(yaml);
    memset(yaml, '#', size);
    memcpy(yaml, "run: x\n", 7);
    assert_int_equal(parse_job(yaml, size - 1, *state, &job, NULL), HELIO_OK);
    assert_int_equal(refused(yaml, size, HELIO_TOO_BIG, *state).problem, HELIO_SPEC_TOO_BIG_PROBLEM);
    free(yaml);
}

static void hostile__a_script_can_have_exactly_128_kib(void **state)
{
    static const char head[] = "{\"run\": \"";
    size_t size = sizeof head - 1 + HELIO_JOB_RUN_MAX;
    char *json = malloc(size + 3);
    helio_job_spec_t job;
    assert_non_null(json);
    memset(json, 'x', size);
    memcpy(json, head, sizeof head - 1);
    memcpy(json + size, "\"}", 2);
    assert_int_equal(parse_job(json, size + 2, *state, &job, NULL), HELIO_OK);
    assert_int_equal(job.run.size, HELIO_JOB_RUN_MAX);
    memcpy(json + size, "x\"}", 3);
    assert_int_equal(refused(json, size + 3, HELIO_INVALID, *state).problem, HELIO_SPEC_OUT_OF_RANGE_PROBLEM);
    free(json);
}

static void hostile__deep_nesting_ends_at_the_bound(void **state)
{
    static const char *const openings[] = {"[", "{a: ", "- ", "? ", "a:\n "};
    enum { SIZE = 200 << 10 };
    char *yaml = malloc(SIZE);
    assert_non_null(yaml);
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        size_t unit = strlen(openings[i]), size = 0;
        for (; size + unit <= SIZE; size += unit)
            memcpy(yaml + size, openings[i], unit);
        helio_job_spec_t job;
        helio_diagnostic_t diagnostic = {0};
        assert_int_not_equal(parse_job(yaml, size, *state, &job, &diagnostic), HELIO_OK);
    }
    helio_diagnostic_t diagnostic = refused("a: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", 36, HELIO_TOO_BIG, *state);
    assert_int_equal(diagnostic.column, 19);
    free(yaml);
}

static void hostile__many_keys_and_entries_end_at_their_bounds(void **state)
{
    helio_buffer_t yaml = {0};
    helio_buffer_text(&yaml, "run: x\nenv: {");
    for (int i = 0; i < 2000; i++)
        helio_buffer_printf(&yaml, "K%d: 1, ", i);
    helio_buffer_text(&yaml, "}\n");
    assert_int_equal(refused(yaml.data, yaml.size, HELIO_TOO_BIG, *state).problem, HELIO_SPEC_TOO_BIG_PROBLEM);

    helio_buffer_reset(&yaml);
    helio_buffer_text(&yaml, "run: x\nenv: {");
    for (int i = 0; i < HELIO_JOB_LIST_MAX + 1; i++)
        helio_buffer_printf(&yaml, "K%d: 1, ", i);
    helio_buffer_text(&yaml, "}\n");
    assert_int_equal(refused(yaml.data, yaml.size, HELIO_TOO_BIG, *state).problem, HELIO_SPEC_TOO_BIG_PROBLEM);

    helio_buffer_reset(&yaml);
    helio_buffer_text(&yaml, "run: x\nsecrets: [");
    for (int i = 0; i < 60000; i++)
        helio_buffer_text(&yaml, "a, ");
    helio_buffer_text(&yaml, "]\n");
    assert_int_equal(refused(yaml.data, yaml.size, HELIO_TOO_BIG, *state).problem, HELIO_SPEC_TOO_BIG_PROBLEM);
    helio_buffer_clear(&yaml);
}

static void hostile__alias_bombs_do_not_grow(void **state)
{
    static const char bomb[] = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nrun: *c\n";
    helio_diagnostic_t diagnostic = refused(bomb, sizeof bomb - 1, HELIO_INVALID, *state);
    assert_int_equal(diagnostic.problem, HELIO_SPEC_FORBIDDEN_PROBLEM);
    assert_int_equal(diagnostic.line, 1);
    assert_int_equal(diagnostic.column, 4);
}

static void hostile__documents_that_crashed_another_parser_are_refused(void **state)
{
    static const char *const seen[] = {"? x:\t?\tb\nc", "? /{\"jobs\":\t?\tegn\nr?= f", "{\"r\\", "\"ry:b6a\n!\\",
                                       "{\":\n '"};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        (void)refused(seen[i], strlen(seen[i]), HELIO_INVALID, *state);
}

static void hostile__json_surrogates_are_joined_and_lone_ones_refused(void **state)
{
    helio_job_spec_t job = good_job("{\"run\": \"a \\ud83d\\uDE00 b\\\\ud83d\\\\ude00\"}", *state);
    assert_text(job.run, "a \xf0\x9f\x98\x80 b\\ud83d\\ude00");
    job = good_job("run: |\n  echo '\\ud83d\\ude00'\n", *state);
    assert_text(job.run, "echo '\\ud83d\\ude00'\n");
    assert_int_equal(bad_job("{\"run\": \"\\ud83d\"}", *state).problem, HELIO_SPEC_MALFORMED_PROBLEM);
    assert_int_equal(bad_job("{\"run\": \"\\ude00\\ud83d\"}", *state).problem, HELIO_SPEC_MALFORMED_PROBLEM);
    helio_diagnostic_t diagnostic = bad_job("{\"run\": \"\\ud83d\\ude00\", \"x\": 1}", *state);
    assert_int_equal(diagnostic.line, 1);
    assert_int_equal(diagnostic.column, 25);
}

static void hostile__a_second_document_is_refused(void **state)
{
    helio_diagnostic_t diagnostic = refused("run: x\n---\nrun: y\n", 18, HELIO_INVALID, *state);
    assert_int_equal(diagnostic.problem, HELIO_SPEC_FORBIDDEN_PROBLEM);
    assert_int_equal(diagnostic.line, 2);
}

/*  Rendering is the last thing that touches hostile text, so it is looked at here: printable, bounded,
 * aligned. */
static void assert_printable(const helio_diagnostic_t *diagnostic)
{
    helio_buffer_t out = {0};
    helio_diagnostic_text(diagnostic, false, &out);
    assert_in_range(out.size, 1, 2048);
    for (size_t i = 0; i < out.size; i++)
        if (((unsigned char)out.data[i] < 0x20 && out.data[i] != '\n') || out.data[i] == 0x7f)
            fail_msg("byte 0x%02x in: %s", (unsigned char)out.data[i], out.data);
    helio_buffer_clear(&out);
}

static void hostile__every_truncation_and_mutation_ends_in_a_result(void **state)
{
    static const char whole[] =
        "# caf\xc3\xa9\nname: \"a\\u00e9b\"\ngpu: {H100: 8, \"80GB..:4\"}\nenv: {A: 'x''y', B: >-\n  f\n}\n"
        "data:\n- uri: s3://x\n  size: 2TB\nrun: |\n  a\n\n  b\nplacement: {sites: [a, \"!b\"]}\n"
        "array: 0-9%3\n---\n{\"run\": \"x\"}\n";
    helio_rng_t rng = {11};
    helio_arena_t *arena = *state;
    for (size_t round = 0; round < 6000; round++) {
        char bytes[sizeof whole];
        size_t size = round < sizeof whole ? round : sizeof whole - 1;
        memcpy(bytes, whole, sizeof whole);
        for (size_t k = 0; round >= sizeof whole && k < 1 + round % 4; k++)
            bytes[helio_rng_below(&rng, size)] = "{}[]:,-'\"|>&*!%#\n \t~x\x80\0"[helio_rng_below(&rng, 24)];
        helio_job_spec_t job;
        helio_diagnostic_t diagnostic = {0};
        helio_spec_parts_t parts;
        exact_t exact = exact_of("fuzz\033[31m", bytes, size);
        if (helio_spec_parse_job(exact.source, arena, &job, &diagnostic) != HELIO_OK)
            assert_printable(&diagnostic);
        if (helio_spec_split(exact.source, arena, &parts, &diagnostic) == HELIO_OK)
            for (uint32_t i = 0; i < parts.count; i++)
                if (helio_spec_parse_job(parts.items[i], arena, &job, &diagnostic) != HELIO_OK)
                    assert_printable(&diagnostic);
        free(exact.bytes);
        helio_arena_reset(arena);
    }
}

static void hostile__control_sequences_in_values_are_not_printed(void **state)
{
    helio_diagnostic_t diagnostic = bad_job("run: x\nkind: \"\\e[31mred\\r\\n\"\n", *state);
    assert_printable(&diagnostic);
    diagnostic = bad_job("run: x\n\"\\e]0;title\\a\": 1\n", *state);
    assert_printable(&diagnostic);
    diagnostic = bad_job("run: x\nkind: a\xe2\x80\xae\xd8\x9c\xe2\x81\xa6z\xe2\x80\xa6\n", *state);
    assert_non_null(strstr(diagnostic.message, "found 'a???z\xe2\x80\xa6'"));
    assert_string_equal(diagnostic.source_line, "kind: a???z\xe2\x80\xa6");
}

static void hostile__long_lines_are_shown_around_the_error(void **state)
{
    helio_buffer_t yaml = {0}, out = {0};
    helio_buffer_text(&yaml, "{run: x, env: {");
    for (int i = 0; i < 50; i++)
        helio_buffer_printf(&yaml, "K\xc3\xa9%d: 1, ", i);
    helio_diagnostic_t diagnostic = refused(yaml.data, yaml.size, HELIO_INVALID, *state);
    helio_diagnostic_text(&diagnostic, false, &out);
    const char *line = strstr(out.data, "| "), *caret = strchr(line, '\n') + 1;
    assert_non_null(strchr(caret, '^'));
    assert_true(strlen(diagnostic.source_line) < sizeof diagnostic.source_line);
    helio_buffer_clear(&yaml);
    helio_buffer_clear(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)
    const struct CMUnitTest tests[] = {
        TEST(hostile__nul_bytes_and_controls_are_refused_where_they_are),
        TEST(hostile__invalid_utf8_is_refused),
        TEST(hostile__a_job_can_have_exactly_256_kib),
        TEST(hostile__a_script_can_have_exactly_128_kib),
        TEST(hostile__deep_nesting_ends_at_the_bound),
        TEST(hostile__many_keys_and_entries_end_at_their_bounds),
        TEST(hostile__alias_bombs_do_not_grow),
        TEST(hostile__documents_that_crashed_another_parser_are_refused),
        TEST(hostile__json_surrogates_are_joined_and_lone_ones_refused),
        TEST(hostile__a_second_document_is_refused),
        TEST(hostile__every_truncation_and_mutation_ends_in_a_result),
        TEST(hostile__control_sequences_in_values_are_not_printed),
        TEST(hostile__long_lines_are_shown_around_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
