/*  command_line.h -- splits the words of a command line into options with their values and all other words.
 *
 *  Options can stand anywhere: --name VALUE, --name=VALUE, -nVALUE, -n VALUE; letters of switches can share a dash
 *  (-qf). `--` ends the options; `-` alone is a word. Unlike getopt, it has no static state. Results point into argv
 *  and the arena and live as long as both. Pure; one thread.
 */
#ifndef HELIO_ARGUMENTS_COMMAND_LINE_H
#define HELIO_ARGUMENTS_COMMAND_LINE_H

#include "federation/arguments/option.h"

/*  The values of one option, in order. A switch has the value "". */
typedef struct helio_option_values {
    const char **items;
    uint32_t count;
} helio_option_values_t;

typedef struct helio_command_line {
    const helio_option_table_t *options;
    helio_option_values_t *values; /* one for each option of the table */
    const char **words;
    uint32_t word_count;
    helio_arena_t *arena;
} helio_command_line_t;

/*  An option that a program has not, and what does the same there. */
typedef struct helio_option_instead {
    const char *name;
    const char *help;
} helio_option_instead_t;

/*  The form of a program's command line. Members left out are zero. */
typedef struct helio_command_line_rules {
    const helio_option_table_t *options;
    uint32_t words_most;
    /*  a word that begins with a dash and is not an option; NULL = none */
    bool (*is_word)(const char *word);
    /*  everything after this first word is words, by another program's rules; NULL = never */
    bool (*takes_rest)(const char *first_word);
    bool refuses_empty;                    /* an empty value counts as a missing one */
    const char *options_help;              /* ends the error on an unknown option that resembles none; NULL = nothing */
    const helio_option_instead_t *instead; /* ends with an empty one; NULL = none */
    const char *words_help;                /* ends the error on too many words; NULL = nothing */
} helio_command_line_rules_t;

/*  Skips argv[0]. HELIO_INVALID, HELIO_TOO_BIG: err says which word is wrong, why, and behind "\nhelp: " the remedy. */
HELIO_MUST_CHECK helio_rc helio_command_line_parse(int argc, char *const *argv, const helio_command_line_rules_t *rules,
                                                   helio_arena_t *arena, helio_command_line_t *ret_line,
                                                   helio_error_t *err);

/*  A command line without any words. */
void helio_command_line_init(helio_command_line_t *self, const helio_option_table_t *options, helio_arena_t *arena);
/*  Adds one more option by its long name, as if it had been given last. */
HELIO_MUST_CHECK helio_rc helio_command_line_take(helio_command_line_t *self, const char *name, const char *value,
                                                  helio_error_t *err);

bool helio_command_line_has(const helio_command_line_t *self, uint32_t option);
/*  The last value given; NULL = the option is absent. */
const char *helio_command_line_value(const helio_command_line_t *self, uint32_t option);

#endif
