/*  diagnostic.h -- one error in a file that a person wrote: the error, its position and the remedy.
 *
 *  A plain value without external pointers: it may be copied and outlives its source. Its texts contain no control
 *  characters of the source, and none that turn the direction of writing, so it is safe to print to a terminal. Readers make it (helio_spec_diagnose in reader.h),
 *  each with its own text.
 */
#ifndef HELIO_SPEC_DIAGNOSTIC_H
#define HELIO_SPEC_DIAGNOSTIC_H

#include "federation/base/memory.h"

/*  Programs see the word ("code" of a problem of the API); the order may change. */
#define HELIO_SPEC_PROBLEM_TABLE(X)                                              \
    X(NONE, "None")                                                              \
    X(MALFORMED, "Malformed")    /* not YAML, not UTF-8, control characters */   \
    X(TOO_BIG, "TooBig")         /* bytes, depth, entries */                     \
    X(FORBIDDEN, "NotSupported") /* aliases, anchors, tags, several documents */ \
    X(UNKNOWN_KEY, "UnknownKey")                                                 \
    X(DUPLICATE_KEY, "DuplicateKey")                                             \
    X(MISSING, "MissingKey")                                                     \
    X(WRONG_TYPE, "WrongType")                                                   \
    X(WRONG_UNIT, "WrongUnit")                                                   \
    X(OUT_OF_RANGE, "OutOfRange")                                                \
    X(UNKNOWN_WORD, "UnknownWord")    /* of an enumeration */                    \
    X(BAD_VALUE, "BadValue")          /* the value's own grammar */              \
    X(CONTRADICTION, "Contradiction") /* between fields */

typedef enum helio_spec_problem {
#define HELIO_SPEC_PROBLEM_ENUMERATOR(name, word) HELIO_SPEC_##name##_PROBLEM,
    HELIO_SPEC_PROBLEM_TABLE(HELIO_SPEC_PROBLEM_ENUMERATOR)
#undef HELIO_SPEC_PROBLEM_ENUMERATOR
} helio_spec_problem_t;

const char *helio_spec_problem_name(helio_spec_problem_t problem); /* never NULL */

typedef struct helio_diagnostic {
    helio_spec_problem_t problem;
    uint32_t line;   /* from 1; 0 = the file as a whole */
    uint32_t column; /* from 1, in characters */
    uint32_t span;   /* characters to underline, at least 1 */
    char source_name[128];
    char path[128];        /* "placement.flexible", "pools[2].gpu"; "" = the whole */
    char message[320];     /* "unknown key 'flexble' in placement" */
    char hint[320];        /* "did you mean 'flexible'?"; "" = none */
    char source_line[160]; /* the line, or the part of a long one around the column; "" = none */
    uint32_t source_skip;  /* characters of the line cut off before source_line */
} helio_diagnostic_t;

enum { HELIO_DIAGNOSTICS_MAX = 20 };

/*  The errors of one document, as far as it could be read, in its order; missing keys of a mapping follow the errors
 *  in it. */
typedef struct helio_diagnostics {
    uint32_t count;
    bool more; /* more errors were found than fit */
    helio_diagnostic_t items[HELIO_DIAGNOSTICS_MAX];
} helio_diagnostics_t;

/*  Prints "job.yaml:4:8: error: unknown key 'flexble' in placement", the line, a caret, and "help: did you mean …". */
void helio_diagnostic_text(const helio_diagnostic_t *self, bool colour, helio_buffer_t *out);

/*  The same for all errors, with a final line if more were found. */
void helio_diagnostics_text(const helio_diagnostics_t *self, bool colour, helio_buffer_t *out);

/*  Only the first line, without a newline: for logs and API replies. */
void helio_diagnostic_brief(const helio_diagnostic_t *self, helio_buffer_t *out);

#endif
