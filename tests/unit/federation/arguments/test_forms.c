/*  test_forms.c -- a command line means the same in whatever forms and order its options are written, and every word
 *  that is wrong is refused without harm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "federation/arguments/command_line.h"
#include "federation/base/rng.h"
#include "tests/support/arena_fixture.h"

enum { QUEUE, OUTPUT, FOLLOW, QUIET, STEP, NAME, OPTIONS, REPEATS = 3, WORDS_MAX = 40, ROUNDS = 3000 };

static const helio_option_t options[] = {
    [QUEUE] = {"queue", 0, "QUEUE", NULL, "Of this queue"},
    [OUTPUT] = {"output", 'o', "FORMAT", "table json", "How data is printed"},
    [FOLLOW] = {"follow", 'f', NULL, NULL, "Print what is new"},
    [QUIET] = {"quiet", 'q', NULL, NULL, "No progress"},
    [STEP] = {"step", 's', "STEP", NULL, "One step"},
    [NAME] = {"name", 'n', "NAME", NULL, "Of this name"},
};
static const helio_option_table_t table = {options, OPTIONS, HELIO_OPTION_BIT(STEP), REPEATS};
static const char *const values[] = {"a", "", "x=y", "=", "two words", "-", "--", "-q", "--follow", "--queue=b", "é"};
static const char *const formats[] = {"table", "json"};
static const char *const plain_words[] = {"a", "", "-", "x=y", "é", "queue", "0"};

/*  What is meant, and how it is written. */
typedef struct meant {
    const char *last[OPTIONS]; /* NULL = not given */
    uint32_t steps;
    const char *step[REPEATS];
    const char *words[WORDS_MAX];
    uint32_t word_count;
    char *argv[WORDS_MAX];
    int argc;
} meant_t;

static void write_word(meant_t *self, const char *word)
{
    self->argv[self->argc++] = (char *)(uintptr_t)word;
}

/*  An option with its value in one of its four forms. Letters in front share the dash. */
static void write_option(meant_t *self, helio_rng_t *rng, helio_arena_t *arena, uint32_t id, const char *value)
{
    const helio_option_t *option = &options[id];
    bool by_letter = option->letter && helio_rng_below(rng, 2), attached = helio_rng_below(rng, 2);
    const char *switches = "";
    if (by_letter && helio_rng_below(rng, 3) == 0) {
        switches = "qf";
        self->last[QUIET] = self->last[FOLLOW] = "";
    }
    /* -n=VALUE takes one '=' away, so a value that begins with one is written behind another; -n alone has no value */
    if (by_letter && attached && value[0] && value[0] != '=')
        write_word(self, helio_arena_printf(arena, "-%s%c%s", switches, option->letter, value).data);
    else if (by_letter && attached)
        write_word(self, helio_arena_printf(arena, "-%s%c=%s", switches, option->letter, value).data);
    else if (attached)
        write_word(self, helio_arena_printf(arena, "--%s=%s", option->name, value).data);
    else {
        write_word(self, by_letter ? helio_arena_printf(arena, "-%s%c", switches, option->letter).data
                                   : helio_arena_printf(arena, "--%s", option->name).data);
        write_word(self, value);
    }
}

static void add_option(meant_t *self, helio_rng_t *rng, helio_arena_t *arena)
{
    uint32_t id = (uint32_t)helio_rng_below(rng, OPTIONS);
    const char *value = id == OUTPUT ? formats[helio_rng_below(rng, 2)]
                                     : values[helio_rng_below(rng, sizeof values / sizeof values[0])];
    if (id == FOLLOW || id == QUIET) {
        write_word(self, helio_rng_below(rng, 2) ? helio_arena_printf(arena, "-%c", options[id].letter).data
                                                 : helio_arena_printf(arena, "--%s", options[id].name).data);
        self->last[id] = "";
        return;
    }
    if (id == STEP && self->steps == REPEATS)
        return;
    write_option(self, rng, arena, id, value);
    self->last[id] = value;
    if (id == STEP)
        self->step[self->steps++] = value;
}

static void add_plain_word(meant_t *self, helio_rng_t *rng, bool after_end)
{
    const char *word = after_end ? values[helio_rng_below(rng, sizeof values / sizeof values[0])]
                                 : plain_words[helio_rng_below(rng, sizeof plain_words / sizeof plain_words[0])];
    write_word(self, word);
    self->words[self->word_count++] = word;
}

static meant_t random_line(helio_rng_t *rng, helio_arena_t *arena)
{
    meant_t self = {.argc = 0};
    write_word(&self, "program");
    for (uint64_t left = helio_rng_below(rng, 10); left; left--)
        if (helio_rng_below(rng, 3))
            add_option(&self, rng, arena);
        else
            add_plain_word(&self, rng, false);
    if (helio_rng_below(rng, 3) == 0) {
        write_word(&self, "--");
        for (uint64_t left = helio_rng_below(rng, 4); left; left--)
            add_plain_word(&self, rng, true);
    }
    return self;
}

static const helio_command_line_rules_t rules = {.options = &table, .words_most = WORDS_MAX};

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void a_line__means_the_same_in_every_form(void **state)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        helio_rng_t rng = {.state = seed};
        meant_t meant = random_line(&rng, *state);
        helio_command_line_t line;
        helio_error_t err = {0};
        bool good = helio_command_line_parse(meant.argc, meant.argv, &rules, *state, &line, &err) == HELIO_OK &&
                    line.word_count == meant.word_count && line.values[STEP].count == meant.steps;
        for (uint32_t id = 0; good && id < OPTIONS; id++)
            good = same(helio_command_line_value(&line, id), meant.last[id]) &&
                   helio_command_line_has(&line, id) == (meant.last[id] != NULL);
        for (uint32_t i = 0; good && i < meant.word_count; i++)
            good = same(line.words[i], meant.words[i]);
        for (uint32_t i = 0; good && i < meant.steps; i++)
            good = same(line.values[STEP].items[i], meant.step[i]);
        if (good)
            continue;
        for (int i = 0; i < meant.argc; i++)
            print_error("[%s] ", meant.argv[i]);
        fail_msg("\nseed %llu: %s", (unsigned long long)seed, err.text);
    }
}

/*  One word that can be nothing, somewhere before `--` and not as a value. */
static void a_line_with_one_wrong_word__is_refused_by_that_word_and_changes_nothing(void **state)
{
    static const char *const wrong[][2] = {
        {"--nonsense", "unknown option '--nonsense'"},
        {"--quee=a", "did you mean '--queue'"},
        {"--follow=yes", "--follow takes no value"},
        {"-qx", "unknown option '-x'"},
        {"--output=xml", "--output takes one of: table json; not 'xml'"},
        {"-oxml", "--output takes one of: table json; not 'xml'"},
        {"-é", "unknown option '-"},
    };
    for (uint64_t seed = 1; seed <= ROUNDS / 4; seed++) {
        helio_rng_t rng = {.state = seed};
        size_t w = seed % (sizeof wrong / sizeof wrong[0]);
        meant_t meant = {.argc = 0};
        write_word(&meant, "program");
        for (uint64_t left = helio_rng_below(&rng, 4); left; left--)
            add_option(&meant, &rng, *state);
        write_word(&meant, wrong[w][0]);
        for (uint64_t left = helio_rng_below(&rng, 4); left; left--)
            add_option(&meant, &rng, *state);
        helio_command_line_t line = {.word_count = 77};
        helio_error_t err = {0};
        if (helio_command_line_parse(meant.argc, meant.argv, &rules, *state, &line, &err) != HELIO_INVALID ||
            !strstr(err.text, wrong[w][1]) || line.word_count != 77)
            fail_msg("seed %llu, %s: %s", (unsigned long long)seed, wrong[w][0], err.text);
    }
}

static void a_value_that_is_missing__is_named_with_what_it_is(void **state)
{
    static const char *const cases[][2] = {
        {"--queue", "--queue needs a value: --queue QUEUE"},
        {"-o", "--output needs a value: --output FORMAT"},
        {"-qfn", "--name needs a value: --name NAME"},
        {"--step", "--step needs a value: --step STEP"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t)cases[i][0]};
        helio_command_line_t line;
        helio_error_t err = {0};
        assert_int_equal(helio_command_line_parse(2, argv, &rules, *state, &line, &err), HELIO_INVALID);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void words__are_bounded_and_the_error_says_the_bound(void **state)
{
    char *argv[WORDS_MAX + 2];
    helio_command_line_t line;
    for (uint32_t most = 0; most < 4; most++) {
        helio_command_line_rules_t few = {.options = &table, .words_most = most, .words_help = "use a file"};
        for (uint32_t count = 0; count < 6; count++) {
            helio_error_t err = {0};
            for (uint32_t i = 0; i <= count; i++)
                argv[i] = (char *)(uintptr_t) "w";
            helio_rc rc = helio_command_line_parse((int)count + 1, argv, &few, *state, &line, &err);
            assert_int_equal(rc, count > most ? HELIO_TOO_BIG : HELIO_OK);
            if (rc != HELIO_OK)
                assert_true(strstr(err.text, "more than ") && strstr(err.text, "help: use a file"));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line__means_the_same_in_every_form),
        TEST(a_line_with_one_wrong_word__is_refused_by_that_word_and_changes_nothing),
        TEST(a_value_that_is_missing__is_named_with_what_it_is),
        TEST(words__are_bounded_and_the_error_says_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
