/*  spec.h -- files that people write: jobs, sites, and the settings of the daemons.
 *
 *  One table of fields describes a kind of file. The reader (YAML 1.2, which includes JSON), the defaults, the JSON
 *  Schema and the reference page all follow from the table, so that they cannot disagree. Pure: no files, no clocks.
 *  Any thread: everything lives in the caller's arena.
 *
 *  Sources are treated as hostile: size, depth, encoding and the number of entries are bounded before anything is
 *  decoded. Aliases, anchors, tags, duplicate keys and unknown keys are errors with a position and a suggestion.
 */
#ifndef HELIO_SPEC_SPEC_H
#define HELIO_SPEC_SPEC_H

#include "federation/model/job.h"
#include "federation/model/site.h"
#include "federation/spec/diagnostic.h"

enum {
    HELIO_SPEC_SOURCE_MAX = 4 << 20,  /* bytes of a settings or fleet file; a job has HELIO_JOB_SOURCE_MAX */
    HELIO_SPEC_STREAM_MAX = 64 << 20, /* bytes of a stream of jobs */
    HELIO_SPEC_STREAM_JOBS_MAX = 100000,
    HELIO_SPEC_DEPTH_MAX = 16
};

/*  Text to read, and its name in messages. */
typedef struct helio_spec_source {
    helio_text_t text;
    const char *name; /* "job.yaml", "-"; NULL = "input" */
    uint32_t line;    /* of the text's first line within that file; 0 = 1 */
} helio_spec_source_t;

/*  ---- jobs and sites ---- */

/*  On failure *ret_spec is unchanged, and *ret_diagnostic (may be NULL) describes the error, its position and the
 *  remedy. All views of the spec point into the arena. HELIO_TOO_BIG beyond HELIO_JOB_SOURCE_MAX, otherwise
 *  HELIO_INVALID. */
HELIO_MUST_CHECK helio_rc helio_spec_parse_job(helio_spec_source_t source, helio_arena_t *arena,
                                               helio_job_spec_t *ret_spec, helio_diagnostic_t *ret_diagnostic);

/*  As helio_spec_parse_job, for documents that a broker has accepted, perhaps before a bound was as low as it is now. */
HELIO_MUST_CHECK helio_rc helio_spec_parse_stored_job(helio_spec_source_t source, helio_arena_t *arena,
                                                      helio_job_spec_t *ret_spec, helio_diagnostic_t *ret_diagnostic);

/*  A site file; keys under `agent:` belong to the agent's own table and are skipped. */
HELIO_MUST_CHECK helio_rc helio_spec_parse_site(helio_spec_source_t source, helio_arena_t *arena,
                                                helio_site_profile_t *ret_site, helio_diagnostic_t *ret_diagnostic);

/*  Splits a submission into jobs: a YAML stream (`---`), consecutive JSON objects (JSON lines), a JSON array, or
 *  {"jobs": […]}. The text of each part is the exact received bytes (a view into source.text); its line number is
 *  set for messages. Empty documents are skipped; a submission without a job is an error. The parts are not parsed
 *  yet. */
typedef struct helio_spec_parts {
    helio_spec_source_t *items; /* in the arena */
    uint32_t count;
} helio_spec_parts_t;
HELIO_MUST_CHECK helio_rc helio_spec_split(helio_spec_source_t source, helio_arena_t *arena,
                                           helio_spec_parts_t *ret_parts, helio_diagnostic_t *ret_diagnostic);

/*  ---- tables of fields ---- */

typedef enum helio_spec_kind {
    HELIO_SPEC_TEXT,     /* helio_text_t; most = bytes */
    HELIO_SPEC_PATH,     /* helio_text_t: absolute, or relative to the directory that the field's doc names */
    HELIO_SPEC_BOOL,     /* bool */
    HELIO_SPEC_U32,      /* uint32_t, least..most */
    HELIO_SPEC_U64,      /* uint64_t, least..most */
    HELIO_SPEC_I64,      /* int64_t, least..most */
    HELIO_SPEC_F64,      /* double, finite, least..most */
    HELIO_SPEC_DURATION, /* uint64_t ms; least and most in ms: 90s 15m 6h 2d 1h30m 500ms */
    HELIO_SPEC_BYTES,    /* uint64_t: 256GB 2TB 512MiB */
    HELIO_SPEC_MONEY,    /* 64 bits, micro USD, not negative: 400 USD */
    HELIO_SPEC_QUANTITY, /* 64 bits, not negative: a number and `unit`, scaled by 10^decimals: 250 g/kWh */
    HELIO_SPEC_TIME,     /* int64_t Unix ms: RFC 3339 */
    HELIO_SPEC_CHOICE,   /* uint32_t: one of the words of an enumeration */
    HELIO_SPEC_STRINGS,  /* {helio_string_t *, count}: a list, or one word; most = entries */
    HELIO_SPEC_PAIRS,    /* {helio_pair_t *, count}: a mapping of text to text as written; most = entries */
    HELIO_SPEC_LIST,     /* {record *, count}: a list of mappings read by `table`; most = entries */
    HELIO_SPEC_GROUP,    /* a mapping read by `table` into the struct at `offset` (0 = the same struct) */
    HELIO_SPEC_INCLUDE,  /* the keys of `table` are among the parent's own; key is NULL; struct at `offset` */
    HELIO_SPEC_SKIP,     /* any value, ignored: a section that another reader parses */
    HELIO_SPEC_CUSTOM    /* read by `custom`, with a grammar of its own */
} helio_spec_kind_t;

typedef struct helio_spec_table helio_spec_table_t;
typedef struct helio_spec_reader helio_spec_reader_t; /* federation/spec/reader.h: for CUSTOM and `check` only */
typedef struct helio_spec_node helio_spec_node_t;

typedef struct helio_spec_enum {
    const char *(*word)(uint32_t value);
    helio_rc (*of)(helio_text_t word, uint32_t *ret_value);
    uint32_t count;
} helio_spec_enum_t;
extern const helio_spec_enum_t helio_spec_levels; /* debug, info, warn, error: helio_level_t */
#define HELIO_SPEC_ENUM(name, PREFIX) (&(const helio_spec_enum_t){name##_name, name##_of, PREFIX##_COUNT})

/*  A rule for texts (TEXT), entries (WORDS) and names (PAIRS). */
typedef struct helio_spec_rule {
    bool (*good)(helio_text_t text);
    const char *expected; /* "letters, digits, '.', '_' and '-', at most 63" */
    const char *pattern;  /* the same for JSON Schema, NULL = none */
} helio_spec_rule_t;

typedef struct helio_spec_field {
    const char *key;
    helio_spec_kind_t kind;
    size_t offset; /* into the struct of the table */
    bool required;
    double least; /* numbers; also DURATION (ms) */
    double most;  /* numbers, DURATION; bytes of TEXT; entries of WORDS, PAIRS, LIST. 0 = the kind's own bound */
    const helio_spec_enum_t *words;      /* WORD; TEXT that must be one of some words */
    const helio_spec_table_t *table;     /* LIST, GROUP, INCLUDE */
    const helio_spec_rule_t *rule;       /* of PAIRS: of the names, ... */
    const helio_spec_rule_t *value_rule; /* ... and of values that are not empty */
    const char *fallback;                /* the default as written in a file; NULL = zero or empty */
    const char *example;                 /* as written in a file */
    const char *doc;                     /* one or two sentences */
    /* CUSTOM: reads the node into the struct of the table; reports errors with helio_spec_diagnose. */
    helio_rc (*custom)(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct);
    const char *schema;    /* CUSTOM: JSON Schema of the value */
    const char *unit;      /* QUANTITY */
    uint32_t decimals;     /* QUANTITY */
    bool multiline;        /* TEXT, PAIRS: allows line breaks and other control characters except NUL */
    size_t set_offset;     /* of a bool that becomes true if the key is present; 0 = none */
    bool cut_if_stored;    /* DURATION: a longer one of a stored document is cut to `most` */
    const char *elsewhere; /* keys that mean this one in other systems' files, with a blank after each: for hints */
} helio_spec_field_t;

struct helio_spec_table {
    const char *name; /* "job", "placement": used in messages */
    size_t size;      /* of the struct */
    const helio_spec_field_t *fields;
    size_t field_count;
    /* Rules across fields, checked after all fields. NULL = none; reports errors with helio_spec_diagnose. */
    helio_rc (*check)(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct);
};
#define HELIO_SPEC_TABLE(name, type, fields, check)                             \
    {                                                                           \
        name, sizeof(type), fields, sizeof(fields) / sizeof((fields)[0]), check \
    }

/*  Tables for composition: a daemon's settings may INCLUDE the keys of a site file, a fleet file may LIST them. */
extern const helio_spec_table_t helio_spec_job_table;
extern const helio_spec_table_t helio_spec_site_table;

/*  Reads one document by any table into *ret_struct (table->size bytes; unchanged on failure; the empty document is
 *  an empty mapping). source_max limits the size of the text. */
HELIO_MUST_CHECK helio_rc helio_spec_read(const helio_spec_table_t *table, helio_spec_source_t source,
                                          size_t source_max, helio_arena_t *arena, void *ret_struct,
                                          helio_diagnostic_t *ret_diagnostic);

/*  As helio_spec_read, but continues after a wrong value, an unknown key or a wrong list entry: *ret_wrong has all
 *  errors, none on success. Invalid YAML ends the reading; rules across values are not checked if one of the values
 *  is wrong. Returns the code of the first error. Slower than helio_spec_read only if there are errors. */
HELIO_MUST_CHECK helio_rc helio_spec_judge(const helio_spec_table_t *table, helio_spec_source_t source,
                                           size_t source_max, helio_arena_t *arena, void *ret_struct,
                                           helio_diagnostics_t *ret_wrong);

/*  helio_spec_read for many documents: `defaults` is the result of helio_spec_defaults for this table; its views
 *  must live as long as those of the struct. NULL = the defaults are computed. */
HELIO_MUST_CHECK helio_rc helio_spec_read_from(const helio_spec_table_t *table, const void *defaults,
                                               helio_spec_source_t source, size_t source_max, helio_arena_t *arena,
                                               void *ret_struct, helio_diagnostic_t *ret_diagnostic);

/*  helio_spec_read for documents that were accepted before: fields with cut_if_stored are cut to their bounds. */
HELIO_MUST_CHECK helio_rc helio_spec_read_stored(const helio_spec_table_t *table, helio_spec_source_t source,
                                                 size_t source_max, helio_arena_t *arena, void *ret_struct,
                                                 helio_diagnostic_t *ret_diagnostic);

/*  Sets every field to its default, as reading an empty mapping would, without checking for required fields. */
void helio_spec_defaults(const helio_spec_table_t *table, helio_arena_t *arena, void *ret_struct);

/*  ---- derived from a table ---- */

/*  JSON Schema 2020-12 of a file, as one JSON object. */
void helio_spec_schema(const helio_spec_table_t *table, const char *title, helio_buffer_t *out);
/*  The fields as Markdown, one table per mapping; the caller writes the surrounding text. */
void helio_spec_reference(const helio_spec_table_t *table, helio_buffer_t *out);

void helio_spec_job_schema(helio_buffer_t *out);
void helio_spec_site_schema(helio_buffer_t *out);
void helio_spec_job_reference(helio_buffer_t *out);  /* docs/reference/job.md */
void helio_spec_site_reference(helio_buffer_t *out); /* docs/reference/site.md */

#endif
