/*  reader.h -- the parsed tree of one document, and error reporting for readers of special grammars.
 *
 *  For CUSTOM fields and `check` functions (spec.h); all other callers use helio_spec_read. A tree lives in the
 *  reader's arena. A reader belongs to one call and is not shared between threads.
 */
#ifndef HELIO_SPEC_READER_H
#define HELIO_SPEC_READER_H

#include "federation/spec/spec.h"

enum {
    HELIO_SPEC_NODES_MAX = 1 << 18, /* scalars, lists and mappings of one document */
    HELIO_SPEC_KEYS_MAX = 1024,     /* per mapping: bounds the search for duplicates */
    HELIO_SPEC_FOUND_SIZE = 64
};

typedef enum helio_spec_node_type {
    HELIO_SPEC_NULL, /* nothing, ~, null */
    HELIO_SPEC_SCALAR,
    HELIO_SPEC_MAPPING, /* children: key, value, key, value … ; keys are scalars, each once */
    HELIO_SPEC_SEQUENCE
} helio_spec_node_type_t;

struct helio_spec_node {
    helio_spec_node_type_t type;
    bool plain;      /* a scalar without quotes, so that 2 may be a number */
    uint32_t offset; /* bytes into the source; for an absent value, those of its key */
    uint32_t end;
    uint32_t count;    /* children; of a mapping: pairs */
    helio_text_t text; /* SCALAR: decoded, without NUL */
    helio_spec_node_t *first;
    helio_spec_node_t *last;
    helio_spec_node_t *next;
};

struct helio_spec_reader {
    helio_spec_source_t source;
    helio_arena_t *arena;
    helio_diagnostic_t *diagnostic; /* NULL = not wanted, or `all` is used */
    helio_diagnostics_t *all;       /* not NULL: reading continues after a wrong value */
    bool stored;                    /* the document was accepted before: helio_spec_read_stored */
    char path[128];                 /* path of the current value */
    size_t path_size;
};

/*  Fills the diagnostic with the position of the node, the reader's path and the texts (hint NULL = none). Returns
 *  the code to pass on: HELIO_TOO_BIG for TOO_BIG, otherwise HELIO_INVALID. */
helio_rc helio_spec_diagnose(helio_spec_reader_t *self, const helio_spec_node_t *node, helio_spec_problem_t problem,
                             const char *hint, const char *format, ...) HELIO_PRINTF(5, 6);
/*  The same for a range of source bytes. */
helio_rc helio_spec_diagnose_at(helio_spec_reader_t *self, size_t offset, size_t end, helio_spec_problem_t problem,
                                const char *hint, const char *format, ...) HELIO_PRINTF(6, 7);

/*  The name of a value in messages: "'90'", "a list", "a mapping", "nothing". Returns ret_text. */
const char *helio_spec_found(const helio_spec_node_t *node, char ret_text[HELIO_SPEC_FOUND_SIZE]);

/*  The value of a mapping's key; NULL if absent. */
const helio_spec_node_t *helio_spec_find(const helio_spec_node_t *mapping, const char *key);

/*  Appends ".key" or "[index]" to the path; returns the size to pass to helio_spec_path_cut. */
size_t helio_spec_path_key(helio_spec_reader_t *self, helio_text_t key);
size_t helio_spec_path_index(helio_spec_reader_t *self, uint32_t index);
void helio_spec_path_cut(helio_spec_reader_t *self, size_t size);

/*  node.c: the source as a tree; *ret_root is a MAPPING (empty for the empty document). Uses json.c if possible,
 *  otherwise libyaml: the result is the same. */
HELIO_MUST_CHECK helio_rc helio_spec_tree(helio_spec_reader_t *self, size_t source_max, helio_spec_node_t **ret_root);
/*  The two parsers, for the tests that compare them. The YAML parser reports errors. */
HELIO_MUST_CHECK helio_rc helio_spec_yaml_tree(helio_spec_reader_t *self, size_t source_max,
                                               helio_spec_node_t **ret_root);
/*  json.c: false = not plain JSON, or invalid; reports nothing, because the YAML parser will. */
HELIO_MUST_CHECK bool helio_spec_json_tree(helio_spec_reader_t *self, size_t source_max, helio_spec_node_t **ret_root);

/*  Calls `each` for every field of a table, including INCLUDEd fields, until it returns false. `base` is the offset
 *  of the field's struct within the table's. */
typedef bool (*helio_spec_each_fn)(const helio_spec_field_t *field, size_t base, void *context);
bool helio_spec_each(const helio_spec_table_t *table, size_t base, helio_spec_each_fn each, void *context);

#endif
