/*  Options and words of a command line, and what an error says of the one that is wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "federation/arguments/command_line.h"
#include "tests/support/arena_fixture.h"

enum { QUEUE, OUTPUT, FOLLOW, QUIET, STEP, OPTIONS };

static const helio_option_t options[] = {
    [QUEUE] = {"queue", 0, "QUEUE", NULL, "Of this queue"},
    [OUTPUT] = {"output", 'o', "FORMAT", "table json", "How data is printed"},
    [FOLLOW] = {"follow", 'f', NULL, NULL, "Print what is new"},
    [QUIET] = {"quiet", 'q', NULL, NULL, "No progress"},
    [STEP] = {"step", 0, "STEP", NULL, "One step"},
};
static const helio_option_table_t table = {options, OPTIONS, HELIO_OPTION_BIT(STEP), 2};

static bool begins_with_two_dashes_and_a_digit(const char *word)
{
    return strncmp(word, "--", 2) == 0 && word[2] >= '0' && word[2] <= '9';
}

static bool is_sbatch(const char *word)
{
    return strcmp(word, "sbatch") == 0;
}

static const helio_command_line_rules_t plain = {.options = &table, .words_most = 4};

/*  Parses up to 12 words. */
static helio_rc parse(void **state, const helio_command_line_rules_t *rules, const char *const *words,
                      helio_command_line_t *ret_line, helio_error_t *err)
{
    char *argv[14] = {(char *)(uintptr_t) "program"};
    int argc = 1;
    for (; argc < 13 && words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    return helio_command_line_parse(argc, argv, rules, *state, ret_line, err);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_value(const helio_command_line_t *line, uint32_t option, const char *value)
{
    assert_int_equal(helio_command_line_has(line, option), value != NULL);
    if (value)
        assert_string_equal(helio_command_line_value(line, option), value);
    else
        assert_null(helio_command_line_value(line, option));
}

static void options__can_stand_anywhere_in_every_form_and_the_last_counts(void **state)
{
    static const struct {
        const char *words[8];
        const char *queue, *output, *follow, *quiet;
        uint32_t word_count;
    } cases[] = {
        {{NULL}, NULL, NULL, NULL, NULL, 0},
        {{"--queue", "a", "x"}, "a", NULL, NULL, NULL, 1},
        {{"x", "--queue=a"}, "a", NULL, NULL, NULL, 1},
        {{"--queue=a", "--queue", "b"}, "b", NULL, NULL, NULL, 0},
        {{"--queue=", "x"}, "", NULL, NULL, NULL, 1},
        {{"--queue=a=b"}, "a=b", NULL, NULL, NULL, 0},
        {{"--queue", "--follow"}, "--follow", NULL, NULL, NULL, 0},
        {{"-ojson"}, NULL, "json", NULL, NULL, 0},
        {{"-o=json"}, NULL, "json", NULL, NULL, 0},
        {{"-o", "json", "--output", "table"}, NULL, "table", NULL, NULL, 0},
        {{"-qfo", "json", "x"}, NULL, "json", "", "", 1},
        {{"-q", "-q"}, NULL, NULL, NULL, "", 0},
        {{"--", "--follow", "-q"}, NULL, NULL, NULL, NULL, 2},
        {{"-", "--quiet", "-"}, NULL, NULL, NULL, "", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_command_line_t line;
        helio_error_t err = {0};
        if (parse(state, &plain, cases[i].words, &line, &err) != HELIO_OK)
            fail_msg("case %zu: %s", i, err.text);
        assert_value(&line, QUEUE, cases[i].queue);
        assert_value(&line, OUTPUT, cases[i].output);
        assert_value(&line, FOLLOW, cases[i].follow);
        assert_value(&line, QUIET, cases[i].quiet);
        assert_int_equal(line.word_count, cases[i].word_count);
    }
}

static void words__keep_their_order(void **state)
{
    helio_command_line_t line;
    assert_int_equal(parse(state, &plain, WORDS("a", "-q", "b", "--", "--queue"), &line, NULL), HELIO_OK);
    assert_int_equal(line.word_count, 3);
    assert_string_equal(line.words[0], "a");
    assert_string_equal(line.words[1], "b");
    assert_string_equal(line.words[2], "--queue");
}

static void values__of_a_repeated_option_are_all_kept_up_to_the_bound(void **state)
{
    helio_command_line_t line;
    helio_error_t err = {0};
    assert_int_equal(parse(state, &plain, WORDS("--step", "a", "--step=b"), &line, &err), HELIO_OK);
    assert_int_equal(line.values[STEP].count, 2);
    assert_string_equal(line.values[STEP].items[0], "a");
    assert_value(&line, STEP, "b");
    assert_int_equal(parse(state, &plain, WORDS("--step=a", "--step=b", "--step=c"), &line, &err), HELIO_INVALID);
    assert_string_equal(err.text, "--step: at most 2 of them");
}

static void errors__name_the_wrong_word_and_the_remedy(void **state)
{
    helio_command_line_rules_t rules = plain;
    rules.options_help = "`program --help` lists them";
    rules.words_help = "use a file";
    static const struct {
        const char *words[6];
        helio_rc rc;
        const char *text;
    } cases[] = {
        {{"--quee=x"}, HELIO_INVALID, "unknown option '--quee'\nhelp: did you mean '--queue'?"},
        {{"--xyzzy"}, HELIO_INVALID, "unknown option '--xyzzy'\nhelp: `program --help` lists them"},
        {{"-qZ"}, HELIO_INVALID, "unknown option '-Z'\nhelp: `program --help` lists them"},
        {{"--queue"}, HELIO_INVALID, "--queue needs a value: --queue QUEUE"},
        {{"-o"}, HELIO_INVALID, "--output needs a value: --output FORMAT"},
        {{"--quiet=1"}, HELIO_INVALID, "--quiet takes no value"},
        {{"-o", "yaml"}, HELIO_INVALID, "--output takes one of: table json; not 'yaml'"},
        {{"--output="}, HELIO_INVALID, "--output takes one of: table json; not ''"},
        {{"-o", "tabl"}, HELIO_INVALID, "--output takes one of: table json; not 'tabl'\nhelp: did you mean 'table'?"},
        {{"a", "b", "c", "d", "e"}, HELIO_TOO_BIG, "more than 4 words\nhelp: use a file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_command_line_t line = {.word_count = 77};
        helio_error_t err = {0};
        assert_int_equal(parse(state, &rules, cases[i].words, &line, &err), cases[i].rc);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(line.word_count, 77); /* nothing is returned on failure */
    }
}

static void rules__name_words_that_only_look_like_options(void **state)
{
    helio_command_line_rules_t rules = plain;
    helio_command_line_t line;
    assert_int_equal(parse(state, &rules, WORDS("--1key", "-q"), &line, NULL), HELIO_INVALID);
    rules.is_word = begins_with_two_dashes_and_a_digit;
    assert_int_equal(parse(state, &rules, WORDS("--1key", "-q"), &line, NULL), HELIO_OK);
    assert_int_equal(line.word_count, 1);
    assert_value(&line, QUIET, "");
}

static void rules__can_leave_the_rest_to_another_program(void **state)
{
    helio_command_line_rules_t rules = plain;
    helio_command_line_t line;
    rules.takes_rest = is_sbatch;
    assert_int_equal(parse(state, &rules, WORDS("-q", "sbatch", "--", "-Z", "-o"), &line, NULL), HELIO_OK);
    assert_int_equal(line.word_count, 4);
    assert_string_equal(line.words[1], "--");
    assert_value(&line, OUTPUT, NULL);
    /* Only the first word decides. */
    assert_int_equal(parse(state, &rules, WORDS("help", "sbatch", "-q"), &line, NULL), HELIO_OK);
    assert_int_equal(line.word_count, 2);
    assert_value(&line, QUIET, "");
}

static void rules__can_refuse_empty_values(void **state)
{
    helio_command_line_rules_t rules = plain;
    helio_command_line_t line;
    rules.refuses_empty = true;
    assert_int_equal(parse(state, &rules, WORDS("--queue="), &line, NULL), HELIO_INVALID);
    assert_int_equal(parse(state, &rules, WORDS("--queue", ""), &line, NULL), HELIO_INVALID);
    assert_int_equal(parse(state, &rules, WORDS("--quiet"), &line, NULL), HELIO_OK);
}

static void options__are_taken_by_name_as_if_given_last(void **state)
{
    helio_command_line_t line;
    helio_error_t err = {0};
    helio_command_line_init(&line, &table, *state);
    assert_value(&line, QUEUE, NULL);
    assert_int_equal(helio_command_line_take(&line, "queue", "a", &err), HELIO_OK);
    assert_int_equal(helio_command_line_take(&line, "queue", "b", &err), HELIO_OK);
    assert_value(&line, QUEUE, "b");
    assert_int_equal(helio_command_line_take(&line, "qeue", "b", &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "did you mean '--queue'?"));
}

static void help__has_a_line_for_each_option_of_the_set(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_option_lines(&table, HELIO_OPTION_BIT(OUTPUT) | HELIO_OPTION_BIT(STEP), &text);
    assert_string_equal(text.data, "  -o, --output FORMAT          How data is printed (table json)\n"
                                   "      --step STEP              One step\n");
}

/*  The column of the texts stays straight whatever an option is called. */
static void help__of_a_long_option_begins_on_a_line_of_its_own(void **state)
{
    (void)state;
    static const helio_option_t two[] = {{"as-long-as-it-may-be", 0, "V", NULL, "It fits"},
                                         {"longer-than-it-may-be", 0, "V", NULL, "It does not"}};
    static const helio_option_table_t of_two = {two, 2, 0, 0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_option_lines(&of_two, 3, &text);
    assert_string_equal(text.data, "      --as-long-as-it-may-be V It fits\n"
                                   "      --longer-than-it-may-be V\n"
                                   "                               It does not\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options__can_stand_anywhere_in_every_form_and_the_last_counts),
        cmocka_unit_test(words__keep_their_order),
        cmocka_unit_test(values__of_a_repeated_option_are_all_kept_up_to_the_bound),
        cmocka_unit_test(errors__name_the_wrong_word_and_the_remedy),
        cmocka_unit_test(rules__name_words_that_only_look_like_options),
        cmocka_unit_test(rules__can_leave_the_rest_to_another_program),
        cmocka_unit_test(rules__can_refuse_empty_values),
        cmocka_unit_test(options__are_taken_by_name_as_if_given_last),
        cmocka_unit_test(help__has_a_line_for_each_option_of_the_set),
        cmocka_unit_test(help__of_a_long_option_begins_on_a_line_of_its_own),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
