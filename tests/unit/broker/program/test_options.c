/*  test_options.c -- the options of helio-broker, by their table: each is taken in each way of writing it, and refused
 *  with a remedy where it lacks its value, has one too many, or is written wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/program/settings.h"

enum { WORDS_MAX = 24 };

typedef struct line {
    helio_arguments_t arguments;
    helio_error_t err;
    helio_rc rc;
} line_t;

static line_t parse(const char *const *words)
{
    char *argv[WORDS_MAX] = {"helio-broker"};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        assert_true(argc < WORDS_MAX);
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    line_t line = {.err = {.text = ""}};
    line.rc = helio_arguments_parse(argc, argv, &line.arguments, &line.err);
    return line;
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

/*  Where the value of an option is kept, by its name. */
static const char *kept(const helio_arguments_t *arguments, const char *name)
{
    const struct {
        const char *name, *value;
    } rows[] = {
        {"config", arguments->config},
        {"database", arguments->database},
        {"listen-sites", arguments->listen_sites},
        {"listen-http", arguments->listen_http},
        {"key-file", arguments->key_file},
        {"record", arguments->record},
        {"log-level", arguments->log_level},
        {"older-than", arguments->older_than},
        {"tenant", arguments->tenant},
        {"user", arguments->user},
        {"role", arguments->role},
        {"ttl", arguments->ttl},
        {"home", arguments->home},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].value;
    fail_msg("--%s is kept nowhere", name);
    return NULL;
}

/*  How many of the values were given. */
static uint32_t given(const helio_arguments_t *arguments)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < helio_broker_options.count; i++)
        count += helio_broker_options.items[i].value && kept(arguments, helio_broker_options.items[i].name);
    return count;
}

static void option__with_a_value_is_taken_however_it_is_written(void **state)
{
    (void)state;
    uint32_t checked = 0;
    for (uint32_t i = 0; i < helio_broker_options.count; i++) {
        const helio_option_t *option = &helio_broker_options.items[i];
        char name[64], joined[64];
        if (!option->value)
            continue;
        checked++;
        (void)snprintf(name, sizeof name, "--%s", option->name);
        (void)snprintf(joined, sizeof joined, "--%s=a=b", option->name);
        line_t apart = PARSE(name, "x y", "run"), together = PARSE("run", joined),
               last = PARSE(name, "1", joined, "run");
        line_t dashed = PARSE("run", name, "-x");
        assert_true(apart.rc == HELIO_OK && together.rc == HELIO_OK && last.rc == HELIO_OK && dashed.rc == HELIO_OK);
        assert_string_equal(kept(&apart.arguments, option->name), "x y");
        assert_string_equal(kept(&together.arguments, option->name), "a=b"); /* only the first '=' parts them */
        assert_string_equal(kept(&last.arguments, option->name), "a=b");
        assert_string_equal(kept(&dashed.arguments, option->name), "-x");
        assert_int_equal(given(&apart.arguments), 1); /* and is kept as no other */
        assert_int_equal(apart.arguments.word_count, 1);
        assert_string_equal(apart.arguments.words[0], "run");
    }
    assert_int_equal(checked, 13);
}

static void option__without_its_value_or_with_one_too_many_is_refused_by_name(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < helio_broker_options.count; i++) {
        const helio_option_t *option = &helio_broker_options.items[i];
        char name[64], joined[64];
        (void)snprintf(name, sizeof name, "--%s", option->name);
        (void)snprintf(joined, sizeof joined, option->value ? "--%s=" : "--%s=yes", option->name);
        line_t bare = PARSE("run", name), odd = PARSE("run", joined), empty = PARSE("run", name, "");
        assert_int_equal(bare.rc, option->value ? HELIO_INVALID : HELIO_OK);
        assert_int_equal(odd.rc, HELIO_INVALID);
        assert_non_null(strstr(odd.err.text, name));
        if (!option->value)
            continue;
        assert_non_null(strstr(bare.err.text, option->value)); /* what kind of value it wants */
        assert_int_equal(empty.rc, HELIO_INVALID);
        assert_non_null(strstr(empty.err.text, name));
    }
}

/*  A slip of one letter: the remedy names the option that was meant, and nothing is taken. */
static void option__with_a_letter_missing_is_suggested(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < helio_broker_options.count; i++) {
        const helio_option_t *option = &helio_broker_options.items[i];
        size_t size = strlen(option->name);
        char slip[64], remedy[96];
        if (size < 5)
            continue;
        (void)snprintf(slip, sizeof slip, "--%.*s%s", (int)size / 2, option->name, option->name + size / 2 + 1);
        (void)snprintf(remedy, sizeof remedy, "did you mean '--%s'?", option->name);
        line_t line = PARSE("run", slip);
        assert_int_equal(line.rc, HELIO_INVALID);
        if (!strstr(line.err.text, remedy) || !strstr(line.err.text, slip))
            fail_msg("%s: %s", slip, line.err.text);
    }
    line_t far = PARSE("run", "--zzzzzz");
    assert_int_equal(far.rc, HELIO_INVALID);
    assert_non_null(strstr(far.err.text, "`helio-broker --help` lists commands and options"));
}

static void options__end_at_two_dashes_and_switches_have_letters(void **state)
{
    (void)state;
    line_t line = PARSE("site", "add", "--", "--dry-run", "-h");
    assert_int_equal(line.rc, HELIO_OK);
    assert_int_equal(line.arguments.word_count, 4);
    assert_string_equal(line.arguments.words[2], "--dry-run");
    assert_false(line.arguments.dry_run || line.arguments.help);
    line = PARSE("-h");
    assert_true(line.rc == HELIO_OK && line.arguments.help && line.arguments.word_count == 0);
    line = PARSE("--version", "--dry-run");
    assert_true(line.rc == HELIO_OK && line.arguments.version && line.arguments.dry_run && !line.arguments.help);
    line = PARSE("-x", "run");
    assert_int_equal(line.rc, HELIO_INVALID);
    assert_non_null(strstr(line.err.text, "-x"));
    line = PARSE("-", "run");
    assert_true(line.rc == HELIO_OK && line.arguments.word_count == 2);
}

static void words__are_kept_in_order_up_to_their_bound(void **state)
{
    (void)state;
    line_t line = PARSE("1", "--ttl", "9d", "2", "3", "4", "5", "--role=user", "6", "7", "8");
    assert_int_equal(line.rc, HELIO_OK);
    assert_int_equal(line.arguments.word_count, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(line.arguments.words[i][0], '1' + i);
    line = PARSE("1", "2", "3", "4", "5", "6", "7", "8", "9");
    assert_int_equal(line.rc, HELIO_TOO_BIG);
    assert_int_equal(line.arguments.word_count, 0); /* untouched */
    line = parse((const char *const[]){NULL});
    assert_true(line.rc == HELIO_OK && line.arguments.word_count == 0 && given(&line.arguments) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option__with_a_value_is_taken_however_it_is_written),
        cmocka_unit_test(option__without_its_value_or_with_one_too_many_is_refused_by_name),
        cmocka_unit_test(option__with_a_letter_missing_is_suggested),
        cmocka_unit_test(options__end_at_two_dashes_and_switches_have_letters),
        cmocka_unit_test(words__are_kept_in_order_up_to_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
