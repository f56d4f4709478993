/*  test_hints.c -- invalid YAML is explained at the position that has to be changed, with a remedy. What libyaml could not read
 *  follows from where it stopped and from what begins there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "federation/spec/reader.h"

#define COLON "write a colon and a space after the key"
#define COLUMN "begin this key in the column of the keys that it belongs to, or put text that contains ': ' in quotes"
#define QUOTES "put text that contains ': ' in quotes"
#define BEFORE "check quotes, brackets and indentation before this position"

static void hint__follows_from_where_the_reader_stopped(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *message, *hint; /* the beginning of the message */
    } cases[] = {
        /* a key without its colon: at the key */
        {"a: 1\nname\nb: 2\n", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n\"name\"\nb: 2\n", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n'it''s'\nb: 2\n", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n\"a\\\"b\"\nb: 2\n", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n[b, c]\nd: 2\n", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n&b\n", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n&b", 2, 1, "could not find expected ':'", COLON},
        {"a: 1\n!b c\nd: 2\n", 2, 1, "could not find expected ':'", COLON},
        /* quotes that are not closed: at the quotes */
        {"a: 1\nb: \"c\nd: 2\n", 2, 4, "found unexpected end of stream", BEFORE},
        {"a: 1\nb: 'it''s\n", 2, 4, "found unexpected end of stream", BEFORE},
        {"a: 1\n\"b\n", 2, 1, "found unexpected end of stream", BEFORE},
        /* a key where the block allows none */
        {"a: 1\n  b: 2\n", 2, 4, "mapping values are not allowed", COLUMN},
        {"a:\n    b: 1\n  c: 2\n", 3, 3, "did not find expected key", COLUMN},
        {"a: 1\n- b\n", 2, 1, "did not find expected key", COLUMN},
        {"a: b: c\n", 1, 5, "mapping values are not allowed", QUOTES},
        /* and what only looks like one of these */
        {"a: {b: 1\nc: 2\n", 2, 2, "did not find expected ',' or '}'", QUOTES},
        {"a: [b\nc: 2\n", 2, 2, "did not find expected ',' or ']'", QUOTES},
        {"a:\n  - b\n  c: d\n", 3, 3, "did not find expected '-' indicator", QUOTES},
        {"a: \"b\\qc\"\n", 1, 6, "found unknown escape character", BEFORE},
        {"a: 1\n& b\n", 2, 2, "did not find expected alphabetic", BEFORE},
        {"a: b\n...\nc\n", 3, 1, "unexpected content after the end of the document", BEFORE},
        {"%YAML 1.1\n%YAML 1.1\n---\na: b\n", 2, 1, "found duplicate %YAML directive",
         "put text that begins with this character in quotes"},
        {"!x!a: b\n", 1, 1, "found undefined tag handle", QUOTES},
        {"a: @b\n", 1, 4, "found character that cannot start any token",
         "put text that begins with this character in quotes"},
        {"a:\n\tb: 1\n", 2, 1, "a tab is not allowed in indentation", "indent with spaces"},
    };
    static const char start[] = "not valid YAML: ";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_arena_t *arena = helio_arena_new();
        helio_diagnostic_t found = {0};
        helio_spec_node_t *root = NULL;
        helio_spec_reader_t reader = {
            .source = {.text = helio_text_of(cases[i].text), .name = "x"}, .arena = arena, .diagnostic = &found};
        if (helio_spec_tree(&reader, 1 << 20, &root) != HELIO_INVALID ||
            strncmp(found.message, start, sizeof start - 1) != 0 ||
            strncmp(found.message + sizeof start - 1, cases[i].message, strlen(cases[i].message)) != 0 ||
            strcmp(found.hint, cases[i].hint) != 0 || found.line != cases[i].line || found.column != cases[i].column)
            fail_msg("%s: %u:%u: %s (%s)", cases[i].text, found.line, found.column, found.message, found.hint);
        helio_arena_destroy(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hint__follows_from_where_the_reader_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
