/*  command.h -- describes a command, and finds one in the table of commands (commands.h). Dispatch, help, manual
 *  page and completion all read that table, so they cannot differ. */
#ifndef HELIO_CLIENT_COMMAND_H
#define HELIO_CLIENT_COMMAND_H

#include "client/invocation/client.h"

typedef enum helio_needs {
    HELIO_NEEDS_NOTHING,
    HELIO_NEEDS_SETTINGS, /* settings are read; the broker can be absent */
    HELIO_NEEDS_BROKER
} helio_needs_t;

/*  What the arguments of a command are, for completion. */
typedef enum helio_operands {
    HELIO_OPERANDS_NONE,
    HELIO_OPERANDS_FILES,
    HELIO_OPERANDS_BATCH,   /* files, by the rules of another program: helio_sbatch_take_options reads them first
                        */
    HELIO_OPERANDS_PROGRAM, /* files and options of another program, which the command executes */
    HELIO_OPERANDS_JOBS,
    HELIO_OPERANDS_SITES,
    HELIO_OPERANDS_COMMANDS,
    HELIO_OPERANDS_SHELLS
} helio_operands_t;

struct helio_command {
    const char *name;        /* "ls"; "token add" for two words */
    const char *synopsis;    /* its words: "ID…" */
    const char *summary;     /* one line, no full stop */
    const char *doc;         /* paragraphs, separated by empty lines */
    const char *example;     /* one command line, "" = none */
    helio_options_t options; /* besides HELIO_OPTIONS_EVERYWHERE */
    uint32_t least, most;    /* words */
    helio_needs_t needs;
    helio_operands_t words;
    int (*handler)(helio_client_t *client); /* returns the exit code */
    const helio_option_table_t
        *own; /* of the program whose rules its words follow, which it reads itself; NULL = none */
};

struct helio_command_table {
    const helio_command_t *items;
    size_t count;
};

/*  The command that the first words name, and how many words its name has; NULL if no command has that name. */
const helio_command_t *helio_command_find(const helio_command_table_t *self, const char *const *words, uint32_t count,
                                          uint32_t *ret_taken);
/*  Whether the arguments after this first word follow the rules of another program. */
bool helio_command_names_operands(const helio_command_table_t *self, const char *word);
/*  What to do instead of a command of Slurm that a federation cannot have; NULL = it is none. */
const char *helio_command_instead(const char *word);
/*  The most similar command name; NULL = none is similar. */
const char *helio_command_suggest(const helio_command_table_t *self, const char *word);
/*  The same among the commands of a group, by the word after the group's. */
const helio_command_t *helio_command_suggest_in(const helio_command_table_t *self, const char *group, const char *word);
/*  Whether this is the first word of two-word commands ("token"). */
bool helio_command_is_group(const helio_command_table_t *self, const char *word);

#endif
