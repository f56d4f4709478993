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
        if (self->items[i].words == HELIO_OPERANDS_BATCH && strcmp(self->items[i].name, word) == 0)
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
    {"list", "ls"},     {"ps", "ls"},         {"jobs", "ls"},          {"queue", "queues"},
    {"status", "show"}, {"get", "show"},      {"describe", "explain"}, {"why", "explain"},
    {"log", "logs"},    {"kill", "cancel"},   {"delete", "cancel"},    {"rm", "cancel"},
    {"sinfo", "sites"}, {"squeue", "ls"},     {"scancel", "cancel"},   {"resume", "release"},
    {"modify", "edit"}, {"update", "edit"},   {"scontrol", "edit"},
    {"apply", "run"},   {"create", "submit"}, {"whoami", "doctor"},    {"login", "doctor"},
};

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
