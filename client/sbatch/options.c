/*  options.c -- the table of sbatch's options, looked up by name or letter. */
#include "client/sbatch/options.h"

#include <assert.h>
#include <string.h>

#include "federation/base/suggest.h"

static const helio_sbatch_option_t options[] = {
#define ROW(id, name, letter, argument, policy, variable) \
    {name, letter, HELIO_SBATCH_##argument, HELIO_SBATCH_##policy, variable},
    HELIO_SBATCH_OPTION_TABLE(ROW)
#undef ROW
};

const helio_sbatch_option_t *helio_sbatch_option(uint32_t id)
{
    assert(id < HELIO_SBATCH_COUNT);
    return &options[id];
}

uint32_t helio_sbatch_option_named(helio_text_t name, bool *ret_ambiguous)
{
    if (helio_text_is(name, "tasks-per-node")) /* sbatch knows it by both names */
        name = HELIO_TEXT("ntasks-per-node");
    uint32_t found = HELIO_SBATCH_COUNT;
    *ret_ambiguous = false;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        if (helio_text_is(name, options[id].name)) {
            *ret_ambiguous = false;
            return id;
        }
        bool begins = name.size && options[id].policy != HELIO_SBATCH_CLIENT &&
                      strncmp(options[id].name, name.data, name.size) == 0;
        if (!begins)
            continue;
        *ret_ambiguous = found != HELIO_SBATCH_COUNT;
        found = id;
        if (*ret_ambiguous)
            break;
    }
    if (!*ret_ambiguous)
        return found;
    /* the exact name may still follow */
    for (uint32_t id = found; id < HELIO_SBATCH_COUNT; id++)
        if (helio_text_is(name, options[id].name)) {
            *ret_ambiguous = false;
            return id;
        }
    return HELIO_SBATCH_COUNT;
}

uint32_t helio_sbatch_option_lettered(char letter)
{
    uint32_t id = 0;
    while (id < HELIO_SBATCH_COUNT && (letter == '\0' || options[id].letter != letter))
        id++;
    return id;
}

const char *helio_sbatch_option_suggest(helio_text_t name)
{
    helio_suggestion_t suggestion = {.written = name};
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++)
        if (options[id].policy != HELIO_SBATCH_CLIENT)
            helio_suggestion_offer(&suggestion, options[id].name);
    return suggestion.best;
}
