/*  command.c -- finds a command by its words, and the most similar one for a misspelt name. */
#include "client/invocation/command.h"

#include <string.h>

#include "federation/base/suggest.h"

const helio_command_t *helio_command_find(const helio_command_table_t *self, const char *const *words, uint32_t count,
                                          uint32_t *ret_taken)
{
    for (size_t i = 0; count && i < self->count; i++) {
        const char *name = self->items[i].name;
        size_t first = strcspn(name, " ");
        if (strlen(words[0]) != first || strncmp(words[0], name, first) != 0)
            continue;
        bool two = name[first] == ' ';
        if (two && (count < 2 || strcmp(words[1], name + first + 1) != 0))
            continue;
        *ret_taken = two ? 2 : 1;
        return &self->items[i];
    }
    return NULL;
}

bool helio_command_names_operands(const helio_command_table_t *self, const char *word)
{
    for (size_t i = 0; i < self->count; i++)
        if ((self->items[i].words == HELIO_OPERANDS_BATCH || self->items[i].words == HELIO_OPERANDS_PROGRAM) &&
            strcmp(self->items[i].name, word) == 0)
            return true;
    return false;
}

bool helio_command_is_group(const helio_command_table_t *self, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i < self->count; i++)
        if (strncmp(self->items[i].name, word, size) == 0 && self->items[i].name[size] == ' ')
            return true;
    return false;
}

/*  Commands of other schedulers, and the commands here that correspond to them. */
static const char *const synonyms[][2] = {
    {"list", "ls"},      {"ps", "ls"},          {"jobs", "ls"},          {"queue", "queues"},
    {"status", "show"},  {"get", "show"},       {"describe", "explain"}, {"why", "explain"},
    {"log", "logs"},     {"kill", "cancel"},    {"delete", "cancel"},    {"rm", "cancel"},
    {"sinfo", "sites"},  {"resume", "release"}, {"modify", "edit"},      {"update", "edit"},
    {"apply", "run"},    {"create", "submit"},  {"whoami", "doctor"},    {"login", "doctor"},
    {"budget", "quota"}, {"budgets", "quota"},  {"limits", "quota"},
};

const char *helio_command_instead(const char *word)
{
    static const char *const instead[][2] = {
        {"sattach", "`helio logs -f ID` follows the output of a job"},
        {"strigger", "`helio wait ID` and `helio events` tell of the ends of jobs"},
    };
    for (size_t i = 0; i < sizeof instead / sizeof instead[0]; i++)
        if (strcmp(instead[i][0], word) == 0)
            return instead[i][1];
    return NULL;
}

/*  Words for what groups do, and those that some group uses instead. */
static const char *const group_synonyms[][2] = {
    {"list", "ls"}, {"ls", "list"},    {"delete", "rm"}, {"remove", "rm"},  {"delete", "revoke"}, {"rm", "revoke"},
    {"new", "add"}, {"create", "add"}, {"add", "set"},   {"create", "set"}, {"check", "verify"},
};

const helio_command_t *helio_command_suggest_in(const helio_command_table_t *self, const char *group, const char *word)
{
    size_t size = strlen(group);
    helio_suggestion_t suggestion = {.written = helio_text_of(word)};
    const helio_command_t *synonym = NULL, *similar = NULL;
    for (size_t i = 0; i < self->count; i++) {
        const char *name = self->items[i].name;
        if (strncmp(name, group, size) != 0 || name[size] != ' ')
            continue;
        helio_suggestion_offer(&suggestion, name + size + 1);
        if (suggestion.best == name + size + 1)
            similar = &self->items[i];
        for (size_t k = 0; k < sizeof group_synonyms / sizeof group_synonyms[0]; k++)
            if (strcmp(word, group_synonyms[k][0]) == 0 && strcmp(name + size + 1, group_synonyms[k][1]) == 0)
                synonym = &self->items[i];
    }
    return synonym ? synonym : similar;
}

const char *helio_command_suggest(const helio_command_table_t *self, const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (strcmp(word, synonyms[i][0]) == 0)
            return synonyms[i][1];
    helio_suggestion_t suggestion = {.written = helio_text_of(word)};
    for (size_t i = 0; i < self->count; i++)
        helio_suggestion_offer(&suggestion, self->items[i].name);
    return suggestion.best;
}
