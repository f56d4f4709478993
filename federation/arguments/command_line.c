/*  command_line.c -- reads the words of a command line by a table of options. */
#include "federation/arguments/command_line.h"

#include <assert.h>
#include <string.h>

#include "federation/base/suggest.h"

enum { SHOWN_MAX = 64 }; /* bytes of a wrong word that an error repeats */

void helio_command_line_init(helio_command_line_t *self, const helio_option_table_t *options, helio_arena_t *arena)
{
    assert(options->count <= HELIO_OPTIONS_MAX);
    *self = (helio_command_line_t){.options = options, .arena = arena};
    self->values = helio_arena_alloc(arena, options->count ? options->count : 1, sizeof *self->values);
}

bool helio_command_line_has(const helio_command_line_t *self, uint32_t option)
{
    assert(option < self->options->count);
    return self->values[option].count > 0;
}

const char *helio_command_line_value(const helio_command_line_t *self, uint32_t option)
{
    assert(option < self->options->count);
    const helio_option_values_t *values = &self->values[option];
    return values->count ? values->items[values->count - 1] : NULL;
}

/* ---- one option ---------------------------------------------------------------------------------------- */

static bool choice_is_listed(const char *choices, const char *value)
{
    size_t size = strlen(value);
    for (const char *at = choices; size && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == size && memcmp(at, value, size) == 0)
            return true;
    return false;
}

static helio_rc keep(helio_command_line_t *self, uint32_t id, const char *value, helio_error_t *err)
{
    const helio_option_t *option = &self->options->items[id];
    helio_option_values_t *values = &self->values[id];
    bool repeats = (self->options->repeats & HELIO_OPTION_BIT(id)) != 0;
    uint32_t most = repeats ? self->options->repeats_most : 1;
    if (option->choices && !choice_is_listed(option->choices, value)) {
        helio_text_t meant = helio_suggestion_among(helio_text_of(value), helio_text_of(option->choices), ' ');
        return helio_fail(err, HELIO_INVALID, "--%s takes one of: %s; not '%.64s'%s%.*s%s", option->name,
                          option->choices, value, meant.size ? "\nhelp: did you mean '" : "", HELIO_TEXT_ARGS(meant),
                          meant.size ? "'?" : "");
    }
    if (repeats && values->count == most)
        return helio_fail(err, HELIO_INVALID, "--%s: at most %u of them", option->name, most);
    if (!values->items)
        values->items = helio_arena_alloc(self->arena, most, sizeof *values->items);
    if (!repeats)
        values->count = 0;
    values->items[values->count++] = value;
    return HELIO_OK;
}

static const char *help_instead(const helio_command_line_rules_t *rules, helio_text_t name)
{
    for (const helio_option_instead_t *row = rules->instead; row && row->name; row++)
        if (helio_text_is(name, row->name))
            return row->help;
    return NULL;
}

/*  help: the remedy if no option resembles it. */
static helio_rc fail_unknown(const helio_command_line_t *self, helio_text_t name, const char *help, helio_error_t *err)
{
    helio_suggestion_t suggestion = {.written = name};
    int shown = name.size > SHOWN_MAX ? SHOWN_MAX : (int)name.size;
    for (uint32_t i = 0; i < self->options->count; i++)
        helio_suggestion_offer(&suggestion, self->options->items[i].name);
    if (suggestion.best)
        return helio_fail(err, HELIO_INVALID, "unknown option '--%.*s'\nhelp: did you mean '--%s'?", shown, name.data,
                          suggestion.best);
    return helio_fail(err, HELIO_INVALID, "unknown option '--%.*s'%s%s", shown, name.data, help ? "\nhelp: " : "",
                      help ? help : "");
}

helio_rc helio_command_line_take(helio_command_line_t *self, const char *name, const char *value, helio_error_t *err)
{
    uint32_t id;
    helio_text_t text = helio_text_of(name);
    return helio_option_find(self->options, text, &id) == HELIO_OK ? keep(self, id, value, err)
                                                                   : fail_unknown(self, text, NULL, err);
}

/* ---- all words ----------------------------------------------------------------------------------------- */

typedef struct parsing {
    int argc;
    char *const *argv;
    int at;
    const helio_command_line_rules_t *rules;
    helio_command_line_t *line;
} parsing_t;

/*  `attached`: the value in the same word; NULL = the next word is the value. */
static helio_rc take_value(parsing_t *self, uint32_t id, const char *attached, helio_error_t *err)
{
    const helio_option_t *option = &self->rules->options->items[id];
    const char *value = attached;
    if (!value && self->at + 1 < self->argc)
        value = self->argv[++self->at];
    if (!value || (self->rules->refuses_empty && !*value))
        return helio_fail(err, HELIO_INVALID, "--%s needs a value: --%s %s", option->name, option->name, option->value);
    return keep(self->line, id, value, err);
}

static helio_rc take_long(parsing_t *self, const char *word, helio_error_t *err)
{
    uint32_t id;
    helio_text_t name = {word + 2, (uint32_t)strcspn(word + 2, "=")};
    const char *attached = name.data[name.size] == '=' ? name.data + name.size + 1 : NULL;
    if (helio_option_find(self->rules->options, name, &id) != HELIO_OK) {
        const char *instead = help_instead(self->rules, name);
        return instead
                   ? helio_fail(err, HELIO_INVALID, "unknown option '--%.*s'\nhelp: %s", HELIO_TEXT_ARGS(name), instead)
                   : fail_unknown(self->line, name, self->rules->options_help, err);
    }
    const helio_option_t *option = &self->rules->options->items[id];
    if (option->value)
        return take_value(self, id, attached, err);
    if (attached)
        return helio_fail(err, HELIO_INVALID, "--%s takes no value", option->name);
    return keep(self->line, id, "", err);
}

static helio_rc take_letters(parsing_t *self, const char *word, helio_error_t *err)
{
    const char *help = self->rules->options_help;
    helio_rc rc = HELIO_OK;
    for (const char *letter = word + 1; *letter && rc == HELIO_OK; letter++) {
        uint32_t id;
        if (helio_option_find_letter(self->rules->options, *letter, &id) != HELIO_OK)
            return helio_fail(err, HELIO_INVALID, "unknown option '-%.4s'%s%s", letter, help ? "\nhelp: " : "",
                              help ? help : "");
        if (self->rules->options->items[id].value)
            return take_value(self, id, letter[1] ? letter + (letter[1] == '=' ? 2 : 1) : NULL, err);
        rc = keep(self->line, id, "", err);
    }
    return rc;
}

static helio_rc take_word(parsing_t *self, const char *word, helio_error_t *err)
{
    const char *help = self->rules->words_help;
    if (self->line->word_count == self->rules->words_most)
        return helio_fail(err, HELIO_TOO_BIG, "more than %u words%s%s", self->rules->words_most, help ? "\nhelp: " : "",
                          help ? help : "");
    self->line->words[self->line->word_count++] = word;
    return HELIO_OK;
}

static bool looks_like_option(const helio_command_line_rules_t *rules, const char *word)
{
    return word[0] == '-' && word[1] && !(rules->is_word && rules->is_word(word));
}

helio_rc helio_command_line_parse(int argc, char *const *argv, const helio_command_line_rules_t *rules,
                                  helio_arena_t *arena, helio_command_line_t *ret_line, helio_error_t *err)
{
    helio_command_line_t line;
    parsing_t parsing = {.argc = argc, .argv = argv, .at = 1, .rules = rules, .line = &line};
    bool options_over = false;
    helio_rc rc = HELIO_OK;
    helio_command_line_init(&line, rules->options, arena);
    line.words = helio_arena_alloc(arena, argc > 0 ? (size_t)argc : 1, sizeof *line.words);
    for (; parsing.at < argc && rc == HELIO_OK; parsing.at++) {
        const char *word = argv[parsing.at];
        if (options_over || !looks_like_option(rules, word)) {
            bool first = line.word_count == 0;
            rc = take_word(&parsing, word, err);
            options_over = options_over || (first && rules->takes_rest && rules->takes_rest(word));
        } else if (strcmp(word, "--") == 0) {
            options_over = true;
        } else {
            rc = word[1] == '-' ? take_long(&parsing, word, err) : take_letters(&parsing, word, err);
        }
    }
    if (rc == HELIO_OK)
        *ret_line = line;
    return rc;
}
