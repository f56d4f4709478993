/*  option.c -- reads the options of a command line by their table. */
#include "client/invocation/option.h"

static const helio_option_t options[] = {
#define HELIO_OPTION_ROW(id, name, letter, value, choices, doc) {name, letter, value, choices, doc},
    HELIO_OPTION_TABLE(HELIO_OPTION_ROW)
#undef HELIO_OPTION_ROW
};
_Static_assert((int)HELIO_OPTION_COUNT <= (int)HELIO_OPTIONS_MAX, "a set has a bit for each");

enum { REPEATS_MAX = 8 };

/*  Options that users of other schedulers know. */
static const helio_option_instead_t instead[] = {
    {"test-only", "`helio plan` is the dry run: it shows where, when and at what cost a job would run"},
    {"json", "`-o json` prints data as JSON"},
    {0},
};

const helio_option_table_t helio_client_options = {
    options, HELIO_OPTION_COUNT,
    HELIO_OPTION(STEP) | HELIO_OPTION(BUDGET) | HELIO_OPTION(DOWN) | HELIO_OPTION(PRICE) | HELIO_OPTION(CHANGE),
    REPEATS_MAX};

helio_rc helio_client_options_parse(int argc, char *const *argv, bool (*takes_rest)(const char *first_word),
                                    helio_arena_t *arena, helio_command_line_t *ret_line, helio_error_t *err)
{
    helio_command_line_rules_t rules = {.options = &helio_client_options,
                                        .words_most = HELIO_OPERANDS_MAX,
                                        .takes_rest = takes_rest,
                                        .options_help = "`helio help COMMAND` lists what a command takes",
                                        .instead = instead,
                                        .words_help = "files and standard input (`-`) hold any number of jobs"};
    return helio_command_line_parse(argc, argv, &rules, arena, ret_line, err);
}
