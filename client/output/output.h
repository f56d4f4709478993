/*  output.h -- prints data on standard output in the requested format.
 *
 *  Rows are JSON objects as the broker sent them; columns define how a table shows them. Tables are for people
 *  (aligned, rounded, short ids); csv, json, jsonl and yaml have the plain values; name prints one identifier per line.
 */
#ifndef HELIO_CLIENT_OUTPUT_H
#define HELIO_CLIENT_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "federation/base/error.h"
#include "federation/base/memory.h"
#include "federation/energy/zone.h"

typedef enum helio_format {
    HELIO_FORMAT_TABLE,
    HELIO_FORMAT_WIDE,
    HELIO_FORMAT_JSON,
    HELIO_FORMAT_JSONL,
    HELIO_FORMAT_CSV,
    HELIO_FORMAT_NAME,
    HELIO_FORMAT_YAML
} helio_format_t;

typedef struct helio_output {
    FILE *stream;
    helio_format_t format;
    bool colour;
    bool terminal;            /* the stream is one: what could control it is shown as '?' in every format */
    int64_t wall_ms;          /* now, for ages and distances in time; 0 = they are not shown */
    const helio_zone_t *zone; /* of the reader; NULL = UTC. Borrowed */
} helio_output_t;

typedef enum helio_cell {
    HELIO_CELL_TEXT,
    HELIO_CELL_STATE,   /* coloured */
    HELIO_CELL_ID,      /* the last 8 characters; whole in wide */
    HELIO_CELL_COUNT,   /* whole number */
    HELIO_CELL_NUMBER,  /* three significant figures */
    HELIO_CELL_TIME,    /* RFC 3339, to the second, in the reader's zone */
    HELIO_CELL_AGE,     /* RFC 3339, shown as time since */
    HELIO_CELL_SECONDS, /* a duration */
    HELIO_CELL_MONEY,   /* USD */
    HELIO_CELL_ENERGY,  /* kWh */
    HELIO_CELL_CARBON,  /* g */
    HELIO_CELL_LIST,    /* texts, joined with commas */
    HELIO_CELL_PAIRS,   /* an object of texts: a=1,b=2 */
    HELIO_CELL_START,   /* RFC 3339, as instant.h shows it, or "now" */
    HELIO_CELL_SAID     /* a sentence of the broker; times in it are shown as in instant.h */
} helio_cell_t;

typedef struct helio_column {
    const char *title;
    const char *key; /* "a|b": the first that is present; the csv column is named after the first */
    helio_cell_t cell;
    bool wide; /* only in wide and csv */
} helio_column_t;

typedef struct helio_columns {
    const helio_column_t *items;
    size_t count;
    const char *name_key; /* what -o name prints, "a|b" */
} helio_columns_t;
#define HELIO_COLUMNS(array, name) ((helio_columns_t){(array), sizeof(array) / sizeof((array)[0]), (name)})

/*  False if no format has that name. */
bool helio_format_of(const char *word, helio_format_t *ret_format);
/*  Whether an object keeps its form in it: lists and objects within it are not made columns. */
bool helio_format_is_nested(helio_format_t format);

/*  rows: an array of objects, borrowed. An empty table prints only its header. HELIO_IO when the stream fails. */
HELIO_MUST_CHECK helio_rc helio_output_rows(const helio_output_t *self, const json_t *rows, helio_columns_t columns);

/*  One object. In table and wide: "Title  value" lines without absent values; in wide, then the scalars that no column
 *  names. */
HELIO_MUST_CHECK helio_rc helio_output_object(const helio_output_t *self, const json_t *object,
                                              helio_columns_t columns);

/*  "queued            3": one line for each member of an object of counts, for table and wide. indent: blanks before
 *  each. */
void helio_output_counts(const helio_output_t *self, const json_t *counts, int indent);

/*  JSON text of a value: indented, or on one line. */
void helio_output_json(const json_t *value, bool indent, helio_buffer_t *out);

/*  The value of a key ("a|b") of an object; NULL when absent or null. */
const json_t *helio_output_find(const json_t *object, const char *key);
const char *helio_output_string(const json_t *object, const char *key);              /* "" if absent or not a string */
double helio_output_number(const json_t *object, const char *key, double otherwise); /* if absent or not a number */

/*  A cell as a table shows it; "" if empty. */
void helio_output_cell(const helio_output_t *self, const json_t *object, const helio_column_t *column,
                       helio_buffer_t *out);

#endif
