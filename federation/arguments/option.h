/*  option.h -- the options that a program accepts, as one table: the parser, the help and "did you mean" read it, so
 *  they cannot differ. Pure. */
#ifndef HELIO_ARGUMENTS_OPTION_H
#define HELIO_ARGUMENTS_OPTION_H

#include "federation/base/memory.h"

typedef struct helio_option {
    const char *name;    /* "queue" for --queue */
    char letter;         /* 'q' for -q; 0 = none */
    const char *value;   /* its value, "NAME"; NULL = none: a switch */
    const char *choices; /* the values it accepts, separated by blanks; NULL = any */
    const char *doc;     /* one line, no full stop */
} helio_option_t;

/*  A set of options: bit i stands for row i of the table. */
__extension__ typedef unsigned __int128 helio_options_t;
#define HELIO_OPTIONS_ALL (~(helio_options_t)0)
#define HELIO_OPTION_BIT(row) ((helio_options_t)1 << (row))
enum { HELIO_OPTIONS_MAX = 128 };

typedef struct helio_option_table {
    const helio_option_t *items;
    uint32_t count;          /* at most HELIO_OPTIONS_MAX */
    helio_options_t repeats; /* every value of these is kept; of the others the last one counts */
    uint32_t repeats_most;   /* values of one of them */
} helio_option_table_t;

/*  The row of a long name or a letter; HELIO_NOT_FOUND. */
HELIO_MUST_CHECK helio_rc helio_option_find(const helio_option_table_t *self, helio_text_t name, uint32_t *ret_option);
HELIO_MUST_CHECK helio_rc helio_option_find_letter(const helio_option_table_t *self, char letter, uint32_t *ret_option);

/*  Appends a line for each option of the set: "  -o, --output FORMAT     How data is printed (table json)". */
void helio_option_lines(const helio_option_table_t *self, helio_options_t set, helio_buffer_t *out);

#endif
