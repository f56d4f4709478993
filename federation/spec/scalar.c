/*  scalar.c -- one function per kind of value; errors state the expectation and an example. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "federation/spec/scalar.h"
#include "federation/base/char.h"
#include "federation/base/clock.h"
#include "federation/base/duration.h"
#include "federation/base/suggest.h"
#include "federation/spec/value.h"

enum { TEXT_DEFAULT_MAX = 4096, HINT_SIZE = 256 };

/*  Ten years: longer durations are typing errors, and sums with a time stay far below 64 bits. */
static const double duration_most_ms = 3650.0 * 86400000.0;

typedef struct range {
    double least;
    double most;
} range_t;

static range_t range_of(const helio_spec_field_t *field)
{
    range_t range = {field->least, field->most};
    bool open = field->most == 0 && field->least <= 0;
    switch ((int)field->kind) {
    case HELIO_SPEC_U32:
        range.most = field->most == 0 ? UINT32_MAX : field->most;
        break;
    case HELIO_SPEC_DURATION:
        range.most = field->most == 0 ? duration_most_ms : field->most;
        break;
    case HELIO_SPEC_U64:
        range.most = field->most == 0 ? (double)INT64_MAX : field->most;
        break;
    default:
        if (field->most == 0)
            range.most = (double)INT64_MAX;
        if (open && field->least == 0)
            range.least = -(double)INT64_MAX;
        break;
    }
    return range;
}

static void range_text(const helio_spec_field_t *field, const char *noun, char *ret_text, size_t capacity)
{
    range_t range = range_of(field);
    char least[HELIO_VALUE_SIZE], most[HELIO_VALUE_SIZE];
    if (field->kind == HELIO_SPEC_DURATION) {
        helio_duration_text((uint64_t)range.least, least);
        helio_duration_text((uint64_t)range.most, most);
    } else {
        (void)snprintf(least, sizeof least, "%.15g", range.least);
        (void)snprintf(most, sizeof most, "%.15g", range.most);
    }
    if (field->most != 0)
        (void)snprintf(ret_text, capacity, "%s from %s to %s", noun, least, most);
    else if (field->least != 0)
        (void)snprintf(ret_text, capacity, "%s of at least %s", noun, least);
    else
        (void)snprintf(ret_text, capacity, "%s", noun);
}

static void words_text(const helio_spec_enum_t *words, char *ret_text, size_t capacity)
{
    size_t used = (size_t)snprintf(ret_text, capacity, "one of ");
    for (uint32_t i = 0; i < words->count && used < capacity; i++)
        used += (size_t)snprintf(ret_text + used, capacity - used, "%s%s", i ? ", " : "", words->word(i));
}

void helio_spec_expected(const helio_spec_field_t *field, char ret_text[HELIO_SPEC_EXPECTED_SIZE])
{
    static const char *const nouns[] = {
        [HELIO_SPEC_TEXT] = "text",
        [HELIO_SPEC_PATH] = "a path",
        [HELIO_SPEC_BOOL] = "true or false",
        [HELIO_SPEC_U32] = "a whole number",
        [HELIO_SPEC_U64] = "a whole number",
        [HELIO_SPEC_I64] = "a whole number",
        [HELIO_SPEC_F64] = "a number",
        [HELIO_SPEC_DURATION] = "a duration",
        [HELIO_SPEC_BYTES] = "a size",
        [HELIO_SPEC_MONEY] = "an amount in USD",
        [HELIO_SPEC_QUANTITY] = "a number with a unit",
        [HELIO_SPEC_TIME] = "a date and time (RFC 3339)",
        [HELIO_SPEC_CHOICE] = "a word",
        [HELIO_SPEC_STRINGS] = "a list of words",
        [HELIO_SPEC_PAIRS] = "a mapping of names to text",
        [HELIO_SPEC_LIST] = "a list of mappings",
        [HELIO_SPEC_GROUP] = "a mapping",
        [HELIO_SPEC_INCLUDE] = "",
        [HELIO_SPEC_SKIP] = "anything",
        [HELIO_SPEC_CUSTOM] = "a value",
    };
    size_t size = HELIO_SPEC_EXPECTED_SIZE;
    if (field->words)
        words_text(field->words, ret_text, size);
    else if (field->rule && (field->kind == HELIO_SPEC_TEXT || field->kind == HELIO_SPEC_PATH))
        (void)snprintf(ret_text, size, "%s", field->rule->expected);
    else if (field->kind == HELIO_SPEC_QUANTITY)
        (void)snprintf(ret_text, size, "a number of %s", field->unit);
    else if (field->kind == HELIO_SPEC_CUSTOM && field->rule)
        (void)snprintf(ret_text, size, "%s", field->rule->expected);
    else if (field->kind >= HELIO_SPEC_U32 && field->kind <= HELIO_SPEC_DURATION)
        range_text(field, nouns[field->kind], ret_text, size);
    else
        (void)snprintf(ret_text, size, "%s", nouns[field->kind]);
}

helio_rc helio_spec_expect(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           helio_spec_problem_t problem, const char *hint)
{
    char expected[HELIO_SPEC_EXPECTED_SIZE], found[HELIO_SPEC_FOUND_SIZE], example[HINT_SIZE];
    helio_spec_expected(field, expected);
    if (!hint && field->multiline && field->kind == HELIO_SPEC_TEXT && node->type == HELIO_SPEC_SEQUENCE) {
        (void)snprintf(example, sizeof example, "write '%s: |', and below it each line, indented by two spaces",
                       field->key);
        hint = example;
    } else if (!hint && field->example) {
        bool block = strchr(field->example, '\n') != NULL;
        (void)snprintf(example, sizeof example, "for example '%s: %s'", field->key, field->example);
        hint = block ? NULL : example;
    }
    return helio_spec_diagnose(self, node, problem, hint, "%s: expected %s, found %s", self->path, expected,
                               helio_spec_found(node, found));
}

static bool one_line(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return true;
}

static helio_rc refuse_no_text(helio_spec_reader_t *self, const helio_spec_field_t *field,
                               const helio_spec_node_t *node)
{
    char found[HELIO_SPEC_FOUND_SIZE], hint[HINT_SIZE];
    const char *expected = field->rule ? field->rule->expected : "text";
    (void)snprintf(hint, sizeof hint, "for example '%s: %s'", field->key, field->example ? field->example : "");
    bool show = field->example && !strchr(field->example, '\n');
    return helio_spec_diagnose(self, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, show ? hint : NULL,
                               "%s: expected %s, found %s", self->path, expected, helio_spec_found(node, found));
}

static helio_rc refuse_by_rule(helio_spec_reader_t *self, const helio_spec_field_t *field,
                               const helio_spec_node_t *node)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    return helio_spec_diagnose(self, node, HELIO_SPEC_BAD_VALUE_PROBLEM, NULL, "%s: expected %s, found %s", self->path,
                               field->rule->expected, helio_spec_found(node, found));
}

helio_rc helio_spec_text(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                         double most, helio_text_t *target)
{
    if (node->type != HELIO_SPEC_SCALAR || node->text.size == 0)
        return refuse_no_text(self, field, node);
    if ((double)node->text.size > most)
        return helio_spec_diagnose(self, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, NULL,
                                   "%s: %u bytes exceed the limit of %.0f", self->path, node->text.size, most);
    if (!field->multiline && !one_line(node->text))
        return helio_spec_diagnose(self, node, HELIO_SPEC_BAD_VALUE_PROBLEM, NULL,
                                   "%s: expected one line of text without control characters", self->path);
    if (field->rule && !field->rule->good(node->text))
        return refuse_by_rule(self, field, node);
    *target = node->text;
    return HELIO_OK;
}

static helio_rc refuse_word(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node)
{
    char hint[HINT_SIZE];
    helio_suggestion_t suggestion = {.written = node->text};
    for (uint32_t i = 0; i < field->words->count; i++)
        helio_suggestion_offer(&suggestion, field->words->word(i));
    if (suggestion.best)
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", suggestion.best);
    return helio_spec_expect(self, field, node, HELIO_SPEC_UNKNOWN_WORD_PROBLEM, suggestion.best ? hint : NULL);
}

static helio_rc read_word(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                          uint32_t *target)
{
    return field->words->of(node->text, target) == HELIO_OK ? HELIO_OK : refuse_word(self, field, node);
}

static bool is_any_of(helio_text_t text, const char *const *words)
{
    for (; *words; words++)
        if (helio_text_is(text, *words))
            return true;
    return false;
}

static helio_rc read_bool(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                          bool *target)
{
    static const char *const yes[] = {"yes", "Yes", "YES", "on", "On", "ON", "1", "True", "TRUE", "true", NULL};
    static const char *const no[] = {"no", "No", "NO", "off", "Off", "OFF", "0", "False", "FALSE", "false", NULL};
    bool value = helio_text_is(node->text, "true");
    if (!node->plain || (!value && !helio_text_is(node->text, "false"))) {
        const char *hint = is_any_of(node->text, yes)  ? "write true, without quotes"
                           : is_any_of(node->text, no) ? "write false, without quotes"
                                                       : NULL;
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, hint);
    }
    *target = value;
    return HELIO_OK;
}

static helio_rc refuse_number(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                              helio_rc rc)
{
    double number;
    if (!node->plain && helio_f64_parse(node->text, &number) == HELIO_OK)
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM,
                                 "remove the quotes: a quoted number is text");
    return helio_spec_expect(
        self, field, node, rc == HELIO_TOO_BIG ? HELIO_SPEC_OUT_OF_RANGE_PROBLEM : HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL);
}

static bool in_range(const helio_spec_field_t *field, double value)
{
    range_t range = range_of(field);
    return value >= range.least && value <= range.most;
}

static helio_rc read_number(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                            void *target)
{
    uint64_t u64 = 0;
    int64_t i64 = 0;
    double f64 = 0;
    helio_rc rc = HELIO_INVALID;
    if (node->plain && field->kind == HELIO_SPEC_F64)
        rc = helio_f64_parse(node->text, &f64);
    else if (node->plain && (field->kind == HELIO_SPEC_I64 || node->text.data[0] == '-'))
        rc = helio_i64_parse(node->text, &i64);
    else if (node->plain)
        rc = helio_u64_parse(node->text, &u64);
    if (rc != HELIO_OK)
        return refuse_number(self, field, node, rc);
    bool whole = field->kind != HELIO_SPEC_F64;
    bool negative = whole && i64 < 0;
    if ((negative && field->kind != HELIO_SPEC_I64) || !in_range(field, f64 + (double)i64 + (double)u64))
        return helio_spec_expect(self, field, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, NULL);
    if (field->kind == HELIO_SPEC_F64)
        *(double *)target = f64;
    else if (field->kind == HELIO_SPEC_I64)
        *(int64_t *)target = i64;
    else if (field->kind == HELIO_SPEC_U64)
        *(uint64_t *)target = u64;
    else
        *(uint32_t *)target = (uint32_t)u64;
    return HELIO_OK;
}

static bool starts_with_digit(helio_text_t text)
{
    return text.size > 0 && helio_is_digit(text.data[0]);
}

static void duration_hint(const helio_spec_field_t *field, helio_text_t text, char *ret_hint, size_t capacity)
{
    static const char rule[] = "whole numbers with w, d, h, m, s or ms, largest first";
    char meant[HELIO_DURATION_SIZE];
    uint64_t ms;
    if (helio_duration_guess(text, &ms) == HELIO_OK) {
        helio_duration_text(ms, meant);
        (void)snprintf(ret_hint, capacity, "write '%s: %s' (%s)", field->key, meant, rule);
    } else {
        (void)snprintf(ret_hint, capacity, "write %s; for example '%s: %s'", rule, field->key,
                       field->example ? field->example : "1h30m");
    }
}

/*  A value that begins like a number has a wrong or missing unit, the most common error. */
static helio_rc refuse_unit(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                            helio_rc rc)
{
    char hint[HINT_SIZE] = "", bare[24];
    double number;
    if (rc == HELIO_TOO_BIG)
        return helio_spec_expect(self, field, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, NULL);
    if (!starts_with_digit(node->text))
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL);
    bool unitless = helio_f64_parse(node->text, &number) == HELIO_OK && helio_text_copy(node->text, bare, sizeof bare);
    switch ((int)field->kind) {
    case HELIO_SPEC_DURATION:
        if (unitless && !strpbrk(bare, ".eE"))
            (void)snprintf(hint, sizeof hint,
                           "the unit is missing: write '%ss' (seconds), '%sm' (minutes) or '%sh' (hours)", bare, bare,
                           bare);
        else
            duration_hint(field, node->text, hint, sizeof hint);
        break;
    case HELIO_SPEC_BYTES:
        if (unitless)
            (void)snprintf(hint, sizeof hint, "the unit is missing: write '%sGB' (10^9) or '%sGiB' (2^30)", bare, bare);
        else
            (void)snprintf(hint, sizeof hint, "the units are B, KB, MB, GB, TB, PB and KiB, MiB, GiB, TiB, PiB");
        break;
    case HELIO_SPEC_MONEY:
        (void)snprintf(hint, sizeof hint, "write '%s USD'", unitless ? bare : "400");
        break;
    default:
        (void)snprintf(hint, sizeof hint, "write at most %u decimals and the unit; for example '%s: %s'",
                       field->decimals, field->key, field->example ? field->example : "");
        break;
    }
    return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_UNIT_PROBLEM, hint);
}

static helio_rc read_quantity(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                              uint64_t *target)
{
    uint64_t value = 0;
    int64_t money = 0;
    helio_rc rc = HELIO_INVALID;
    if (field->kind == HELIO_SPEC_DURATION)
        rc = helio_duration_parse(node->text, &value);
    else if (field->kind == HELIO_SPEC_BYTES)
        rc = helio_bytes_parse(node->text, &value);
    else if (field->kind == HELIO_SPEC_QUANTITY)
        rc = helio_quantity_parse(node->text, field->unit, field->decimals, &value);
    else if ((rc = helio_money_parse(node->text, &money)) == HELIO_OK)
        value = (uint64_t)money;
    if (rc != HELIO_OK)
        return refuse_unit(self, field, node, rc);
    if (self->stored && field->cut_if_stored && (double)value > field->most)
        value = (uint64_t)field->most;
    bool bounded = field->kind == HELIO_SPEC_DURATION || field->least != 0 || field->most != 0;
    if (bounded && !in_range(field, (double)value)) {
        bool unsaid = field->kind == HELIO_SPEC_DURATION && field->most == 0 && (double)value > duration_most_ms;
        return helio_spec_expect(self, field, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, unsaid ? "at most 3650d" : NULL);
    }
    *target = value;
    return HELIO_OK;
}

static helio_rc read_time(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                          int64_t *target)
{
    int64_t wall_ms;
    if (helio_rfc3339_parse(node->text, &wall_ms) != HELIO_OK)
        return helio_spec_expect(self, field, node, HELIO_SPEC_BAD_VALUE_PROBLEM, NULL);
    if (wall_ms <= 0)
        return helio_spec_expect(self, field, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, NULL);
    *target = wall_ms;
    return HELIO_OK;
}

static helio_rc read_text(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                          helio_text_t *target)
{
    uint32_t value;
    if (field->words) {
        helio_rc rc = read_word(self, field, node, &value);
        if (rc == HELIO_OK)
            *target = node->text;
        return rc;
    }
    return helio_spec_text(self, field, node, field->most != 0 ? field->most : TEXT_DEFAULT_MAX, target);
}

bool helio_spec_is_scalar(helio_spec_kind_t kind)
{
    return kind <= HELIO_SPEC_CHOICE;
}

helio_rc helio_spec_scalar(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           void *target)
{
    assert(helio_spec_is_scalar(field->kind));
    bool textual = field->kind == HELIO_SPEC_TEXT || field->kind == HELIO_SPEC_PATH;
    if (node->type != HELIO_SPEC_SCALAR || (node->text.size == 0 && !textual))
        return helio_spec_expect(self, field, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL);
    switch ((int)field->kind) {
    case HELIO_SPEC_TEXT:
    case HELIO_SPEC_PATH:
        return read_text(self, field, node, target);
    case HELIO_SPEC_BOOL:
        return read_bool(self, field, node, target);
    case HELIO_SPEC_CHOICE:
        return read_word(self, field, node, target);
    case HELIO_SPEC_TIME:
        return read_time(self, field, node, target);
    case HELIO_SPEC_DURATION:
    case HELIO_SPEC_BYTES:
    case HELIO_SPEC_MONEY:
    case HELIO_SPEC_QUANTITY:
        return read_quantity(self, field, node, target);
    default:
        return read_number(self, field, node, target);
    }
}

void helio_spec_fallback(const helio_spec_field_t *field, helio_arena_t *arena, void *target)
{
    helio_spec_field_t free_field = *field;
    helio_spec_reader_t reader = {.arena = arena};
    helio_spec_node_t node = {.type = HELIO_SPEC_SCALAR, .plain = true, .text = helio_text_of(field->fallback)};
    if (field->kind != HELIO_SPEC_TEXT && field->kind != HELIO_SPEC_PATH)
        free_field.least = free_field.most = 0;
    helio_rc rc = helio_spec_scalar(&reader, &free_field, &node, target);
    assert(rc == HELIO_OK);
    (void)rc;
}
