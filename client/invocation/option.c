/*  The parser is our own rather than getopt's: it keeps no static state, takes flags before and after the
 * command's name alike, and can say which flag was probably meant. */
#include "client/invocation/option.h"

#include <assert.h>
#include <string.h>

#include "federation/base/suggest.h"

static const helio_option_t options[] = {
#define HELIO_OPTION_ROW(id, name, letter, value, choices, doc) {name, letter, value, choices, doc},
    HELIO_OPTION_TABLE(HELIO_OPTION_ROW)
#undef HELIO_OPTION_ROW
};
_Static_assert(HELIO_OPTION_COUNT < 64, "helio_options_t is one word");

const helio_option_t *helio_option(uint32_t id)
{
    assert(id < HELIO_OPTION_COUNT);
    return &options[id];
}

static bool choice_is_listed(const char *choices, const char *value)
{
    size_t size = strlen(value);
    for (const char *at = choices; size && *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strcspn(at, " ") == size && memcmp(at, value, size) == 0)
            return true;
    }
    return false;
}

static helio_rc take(helio_arguments_t *arguments, uint32_t id, const char *value, helio_error_t *err)
{
    const helio_option_t *option = &options[id];
    if (option->choices && !choice_is_listed(option->choices, value))
        return helio_fail(err, HELIO_INVALID, "--%s takes one of: %s; not '%.64s'", option->name,
                          option->choices, value);
    if (id == HELIO_OPTION_STEP || id == HELIO_OPTION_BUDGET) {
        bool step = id == HELIO_OPTION_STEP;
        uint32_t *count = step ? &arguments->step_count : &arguments->budget_count;
        if (*count == HELIO_STEPS_MAX)
            return helio_fail(err, HELIO_INVALID, "--%s: at most %d of them", option->name, HELIO_STEPS_MAX);
        (step ? arguments->steps : arguments->budgets)[(*count)++] = value;
    }
    arguments->values[id] = value;
    arguments->present |= UINT64_C(1) << id;
    return HELIO_OK;
}

static helio_rc complain_unknown(helio_text_t name, helio_error_t *err)
{
    helio_suggestion_t suggestion = {.written = name};
    for (uint32_t i = 0; i < HELIO_OPTION_COUNT; i++)
        helio_suggestion_offer(&suggestion, options[i].name);
    if (suggestion.best)
        return helio_fail(err, HELIO_INVALID, "unknown option '--%.*s'\nhelp: did you mean '--%s'?",
                          (int)(name.size > 64 ? 64 : name.size), name.data, suggestion.best);
    return helio_fail(err, HELIO_INVALID, "unknown option '--%.*s'", (int)(name.size > 64 ? 64 : name.size),
                      name.data);
}

static helio_rc parse_long(int argc, char *const *argv, int *at, helio_arguments_t *arguments,
                           helio_error_t *err)
{
    const char *word = argv[*at] + 2;
    size_t size = strcspn(word, "=");
    if (size > 256)
        return helio_fail(err, HELIO_INVALID, "unknown option: its name is %zu characters long", size);
    helio_text_t name = {word, (uint32_t)size};
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++) {
        if (!helio_text_is(name, options[id].name))
            continue;
        if (!options[id].value) {
            if (word[size] == '=')
                return helio_fail(err, HELIO_INVALID, "--%s takes no value", options[id].name);
            return take(arguments, id, "", err);
        }
        if (word[size] == '=')
            return take(arguments, id, word + size + 1, err);
        if (*at + 1 >= argc)
            return helio_fail(err, HELIO_INVALID, "--%s needs a value: --%s %s", options[id].name,
                              options[id].name, options[id].value);
        *at += 1;
        return take(arguments, id, argv[*at], err);
    }
    return complain_unknown(name, err);
}

static helio_rc parse_letters(int argc, char *const *argv, int *at, helio_arguments_t *arguments,
                              helio_error_t *err)
{
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        uint32_t id = 0;
        while (id < HELIO_OPTION_COUNT && options[id].letter != *letter)
            id++;
        if (id == HELIO_OPTION_COUNT)
            return helio_fail(err, HELIO_INVALID, "unknown option '-%.4s'", letter);
        if (!options[id].value) {
            helio_rc rc = take(arguments, id, "", err);
            if (rc != HELIO_OK)
                return rc;
            continue;
        }
        if (letter[1])
            return take(arguments, id, letter + (letter[1] == '=' ? 2 : 1), err);
        if (*at + 1 >= argc)
            return helio_fail(err, HELIO_INVALID, "-%c needs a value: -%c %s", *letter, *letter,
                              options[id].value);
        *at += 1;
        return take(arguments, id, argv[*at], err);
    }
    return HELIO_OK;
}

helio_rc helio_arguments_take(helio_arguments_t *self, const char *name, const char *value,
                              helio_error_t *err)
{
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++)
        if (strcmp(options[id].name, name) == 0)
            return take(self, id, value, err);
    return complain_unknown(helio_text_of(name), err);
}

helio_rc helio_arguments_parse(int argc, char *const *argv, helio_arguments_own_fn *is_own,
                               helio_arena_t *arena, helio_arguments_t *ret_arguments, helio_error_t *err)
{
    if (argc > HELIO_POSITIONALS_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "more than %d words; use a file or standard input",
                          HELIO_POSITIONALS_MAX);
    helio_arguments_t arguments = {0};
    arguments.positionals = helio_arena_alloc(arena, (size_t)(argc > 0 ? argc : 1), sizeof(char *));
    bool flags_over = false, raw = false;
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        if (raw || flags_over || word[0] != '-' || word[1] == '\0') {
            bool first = arguments.positional_count == 0;
            arguments.positionals[arguments.positional_count++] = word;
            raw = raw || (first && is_own && is_own(word));
            continue;
        }
        if (strcmp(word, "--") == 0) {
            flags_over = true;
            continue;
        }
        helio_rc rc = word[1] == '-' ? parse_long(argc, argv, &at, &arguments, err)
                                     : parse_letters(argc, argv, &at, &arguments, err);
        if (rc != HELIO_OK)
            return rc;
    }
    *ret_arguments = arguments;
    return HELIO_OK;
}
