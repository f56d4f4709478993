/*  test_settings_keys.c -- every key of a site file by itself, as its table describes it: what it may be is
 * taken, and anything else is refused at its line, with the key's name and a remedy. The tables are walked,
 * so that a new key is tried as well. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "site-agent/agent/settings.h"
#include "tests/support/one_arena.h"

enum { DEPTH_MAX = 6 };

/*  Where a field stands: the keys from the top of the file, and which of them are lists. */
typedef struct place {
    const helio_spec_field_t *path[DEPTH_MAX];
    uint32_t depth; /* of groups and lists above the field */
} place_t;

typedef void on_field_fn(const place_t *place, const helio_spec_field_t *field);

static void walk(const helio_spec_table_t *table, place_t *place, on_field_fn *on_field)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const helio_spec_field_t *field = &table->fields[i];
        if (field->kind == HELIO_SPEC_INCLUDE) {
            walk(field->table, place, on_field);
            continue;
        }
        on_field(place, field);
        if (field->kind != HELIO_SPEC_GROUP && field->kind != HELIO_SPEC_LIST)
            continue;
        assert_true(place->depth < DEPTH_MAX);
        place->path[place->depth++] = field;
        walk(field->table, place, on_field);
        place->depth--;
    }
}

static void each_field(on_field_fn *on_field)
{
    place_t place = {.depth = 0};
    walk(&helio_agent_settings_table, &place, on_field);
}

/*  A file with this one line at the field's place. Returns the number of that line. */
static uint32_t write_line(const place_t *place, const char *key, const char *value, helio_buffer_t *out)
{
    uint32_t indent = 0, line = 1;
    for (uint32_t i = 0; i < place->depth; i++, line++) {
        bool list = i && place->path[i - 1]->kind == HELIO_SPEC_LIST;
        helio_buffer_printf(out, "%*s%s%s:\n", (int)indent, "", list ? "- " : "", place->path[i]->key);
        indent += list ? 4 : 2;
    }
    bool list = place->depth && place->path[place->depth - 1]->kind == HELIO_SPEC_LIST;
    helio_buffer_printf(out, "%*s%s%s: %s\n", (int)indent, "", list ? "- " : "", key, value);
    return line;
}

/*  What is wrong on the line of this key; NULL = nothing. Missing keys beside it are not of interest. */
static const helio_diagnostic_t *fault_at(const place_t *place, const char *key, const char *value,
                                          helio_diagnostics_t *wrong)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    uint32_t line = write_line(place, key, value, &text);
    helio_agent_settings_t settings;
    helio_spec_source_t source = {.text = helio_arena_text(arena, helio_buffer_view(&text)), .name = "site.yaml"};
    *wrong = (helio_diagnostics_t){0};
    (void)!helio_spec_judge(&helio_agent_settings_table, source, HELIO_SPEC_SOURCE_MAX, arena, &settings, wrong);
    for (uint32_t i = 0; i < wrong->count; i++)
        if (wrong->items[i].line == line && wrong->items[i].problem != HELIO_SPEC_MISSING_PROBLEM)
            return &wrong->items[i];
    return NULL;
}

static uint32_t tried;

static void expect_refused(const place_t *place, const helio_spec_field_t *field, const char *value)
{
    helio_diagnostics_t wrong;
    const helio_diagnostic_t *fault = fault_at(place, field->key, value, &wrong);
    tried++;
    if (!fault)
        fail_msg("%s: %s is taken", field->key, value);
    if (!strstr(fault->path, field->key) && !strstr(fault->message, field->key))
        fail_msg("%s: %s: '%s' at '%s' does not name it", field->key, value, fault->message, fault->path);
    if (!fault->message[0] || fault->column == 0)
        fail_msg("%s: %s: nothing is said of it", field->key, value);
}

static void expect_taken(const place_t *place, const helio_spec_field_t *field, const char *value)
{
    helio_diagnostics_t wrong;
    const helio_diagnostic_t *fault = fault_at(place, field->key, value, &wrong);
    tried++;
    if (fault)
        fail_msg("%s: %s is refused: %s (%s)", field->key, value, fault->message, fault->hint);
}

/* ---- what is tried ------------------------------------------------------------------------------------- */

static void take_example(const place_t *place, const helio_spec_field_t *field)
{
    if (!field->example || field->kind == HELIO_SPEC_GROUP || field->kind == HELIO_SPEC_LIST)
        return; /* what is in those is tried key by key */
    expect_taken(place, field, field->example);
    if (!field->fallback || !*field->fallback)
        return;
    const char *quote = field->kind == HELIO_SPEC_TEXT ? "\"" : ""; /* a bare * is an alias */
    helio_text_t value = helio_arena_printf(arena, "%s%s%s", quote, field->fallback, quote);
    expect_taken(place, field, helio_arena_string(arena, value));
}

static void keys__take_their_examples_and_their_defaults(void **state)
{
    (void)state;
    tried = 0;
    each_field(take_example);
    assert_true(tried > 60);
}

/*  Values that no key of a kind can have. */
static const struct wrong_value {
    helio_spec_kind_t kind;
    const char *values[8];
} wrong_values[] = {
    {HELIO_SPEC_TEXT, {"[a, b]", "{a: b}", "\"a\\u0001b\"", "null"}},
    {HELIO_SPEC_PATH, {"[a, b]", "{a: b}", "\"a\\u0007b\""}},
    {HELIO_SPEC_BOOL, {"perhaps", "1", "[true]", "\"true \"", "yess"}},
    {HELIO_SPEC_U32, {"-1", "word", "1.5", "[1]", "4294967296", "1e3x", "0x10z"}},
    {HELIO_SPEC_U64, {"-1", "word", "1.5", "[1]", "18446744073709551616"}},
    {HELIO_SPEC_F64, {"word", ".nan", ".inf", "-.inf", "[1]", "1e999", "1,5"}},
    {HELIO_SPEC_DURATION, {"word", "-5s", "5 parsecs", "[5s]", "10", "99999999999999999999s"}},
    {HELIO_SPEC_BYTES, {"word", "-5GB", "5 parsecs", "[5GB]", "99999999999999999999GB"}},
    {HELIO_SPEC_MONEY, {"word", "-5 USD", "5 EUR", "[5]"}},
    {HELIO_SPEC_CHOICE, {"no-such-word", "[info]", "{a: b}"}},
    {HELIO_SPEC_STRINGS, {"{a: b}", "[[a]]", "[{a: b}]"}},
    {HELIO_SPEC_PAIRS, {"word", "[a, b]", "{a: [b]}"}},
    {HELIO_SPEC_LIST, {"word", "{a: b}", "5", "[word]"}},
    {HELIO_SPEC_GROUP, {"word", "[a, b]", "5"}},
};

static void refuse_wrong_kinds(const place_t *place, const helio_spec_field_t *field)
{
    for (size_t i = 0; i < sizeof wrong_values / sizeof wrong_values[0]; i++)
        for (size_t n = 0; wrong_values[i].kind == field->kind && n < 8 && wrong_values[i].values[n]; n++)
            expect_refused(place, field, wrong_values[i].values[n]);
}

static void keys__refuse_what_is_not_of_their_kind(void **state)
{
    (void)state;
    tried = 0;
    each_field(refuse_wrong_kinds);
    assert_true(tried > 250);
}

static const char *number(const helio_spec_field_t *field, double value)
{
    bool duration = field->kind == HELIO_SPEC_DURATION;
    return helio_arena_string(arena, field->kind == HELIO_SPEC_F64
                                         ? helio_arena_printf(arena, "%.17g", value)
                                         : helio_arena_printf(arena, "%.0f%s", value, duration ? "ms" : ""));
}

static bool is_number(const helio_spec_field_t *field)
{
    return field->kind == HELIO_SPEC_U32 || field->kind == HELIO_SPEC_U64 || field->kind == HELIO_SPEC_I64 ||
           field->kind == HELIO_SPEC_F64 || field->kind == HELIO_SPEC_DURATION;
}

/*  Both bounds are taken, and the next numbers beyond them are not. */
static void try_bounds(const place_t *place, const helio_spec_field_t *field)
{
    if (!is_number(field))
        return;
    bool whole = field->kind != HELIO_SPEC_F64;
    if (field->most > 0) {
        expect_taken(place, field, number(field, field->most));
        expect_refused(place, field, number(field, whole ? field->most + 1 : nextafter(field->most, INFINITY)));
    }
    if (field->least > 0 || (!whole && field->most > 0)) {
        expect_taken(place, field, number(field, field->least));
        expect_refused(place, field, number(field, whole ? field->least - 1 : nextafter(field->least, -INFINITY)));
    }
}

static void keys__hold_their_bounds_to_the_last_number(void **state)
{
    (void)state;
    tried = 0;
    each_field(try_bounds);
    assert_true(tried > 60);
}

/*  As many bytes and entries as the table says, and not one more. */
static void try_sizes(const place_t *place, const helio_spec_field_t *field)
{
    if (field->most <= 0 || field->most > 100000 || field->rule || field->words)
        return;
    uint32_t most = (uint32_t)field->most;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t long_one = {0};
    if (field->kind == HELIO_SPEC_TEXT || field->kind == HELIO_SPEC_PATH) {
        for (uint32_t i = 0; i <= most; i++)
            helio_buffer_append(&long_one, "x", 1);
    } else if (field->kind == HELIO_SPEC_STRINGS) {
        for (uint32_t i = 0; i <= most; i++)
            helio_buffer_printf(&long_one, "%sx%u", i ? ", " : "[", i);
        helio_buffer_append(&long_one, "]", 1);
    } else {
        return;
    }
    expect_refused(place, field, helio_arena_string(arena, helio_buffer_view(&long_one)));
}

static void keys__refuse_texts_and_lists_that_are_too_long(void **state)
{
    (void)state;
    tried = 0;
    each_field(try_sizes);
    assert_true(tried > 20);
}

/*  "brokerx", and the line says what is near. */
static void misspell(const place_t *place, const helio_spec_field_t *field)
{
    if (strlen(field->key) < 5)
        return;
    const char *key = helio_arena_string(arena, helio_arena_printf(arena, "%sx", field->key));
    helio_diagnostics_t wrong;
    const helio_diagnostic_t *fault = fault_at(place, key, "1", &wrong);
    const char *expected = helio_arena_string(arena, helio_arena_printf(arena, "'%s'", field->key));
    tried++;
    if (!fault || fault->problem != HELIO_SPEC_UNKNOWN_KEY_PROBLEM)
        fail_msg("%s is no unknown key", key);
    else if (!strstr(fault->hint, expected))
        fail_msg("%s: '%s' does not suggest %s", key, fault->hint, expected);
}

static void keys__that_are_misspelt_are_named_with_the_right_one(void **state)
{
    (void)state;
    tried = 0;
    each_field(misspell);
    assert_true(tried > 60);
}

/*  A key that is given twice is refused; otherwise the second value would silently win. At the top of the file, where
 *  nothing is indented. */
static void say_twice(const place_t *place, const helio_spec_field_t *field)
{
    if (place->depth || !field->example)
        return;
    helio_diagnostics_t wrong;
    const char *twice =
        helio_arena_string(arena, helio_arena_printf(arena, "%s\n%s: %s", field->example, field->key, field->example));
    (void)fault_at(place, field->key, twice, &wrong);
    bool told = false;
    for (uint32_t i = 0; i < wrong.count; i++)
        told |= wrong.items[i].problem == HELIO_SPEC_DUPLICATE_KEY_PROBLEM && wrong.items[i].line == 2 &&
                strstr(wrong.items[i].message, field->key);
    tried++;
    if (!told)
        fail_msg("%s twice is taken", field->key);
}

static void keys__of_the_file_that_are_said_twice_are_refused(void **state)
{
    (void)state;
    tried = 0;
    each_field(say_twice);
    assert_true(tried > 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(keys__take_their_examples_and_their_defaults),
        TEST(keys__refuse_what_is_not_of_their_kind),
        TEST(keys__hold_their_bounds_to_the_last_number),
        TEST(keys__refuse_texts_and_lists_that_are_too_long),
        TEST(keys__that_are_misspelt_are_named_with_the_right_one),
        TEST(keys__of_the_file_that_are_said_twice_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
