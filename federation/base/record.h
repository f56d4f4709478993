/*  record.h -- plain structs that know their own fields.
 *
 *  A record is declared once, as a table of fields, and yields a C struct and a constant description of it. Wire
 *  messages, core events and specs are records: the codec (wire/codec.h), the event log, the fuzzers and the protocol's
 *  reference page all walk the same description, so none of them can drift.
 *
 *      #define HELIO_POINT_FIELDS(F, R)                   kind, name, bound, type
 *          F (R, TEXT, name, 64, _)
 *          F (R, U32,  x,     0, _)
 *          F (R, LIST, tags, 16, helio_tag)
 *      HELIO_RECORD_DECLARE (helio_point, HELIO_POINT_FIELDS)      in the header: helio_point_t
 *      HELIO_RECORD_DEFINE (helio_point, HELIO_POINT_FIELDS)       in one .c: helio_point_type
 *
 *  bound: TEXT and BYTES, maximum bytes; lists, maximum items; U32, maximum value (0 = any). Fields are encoded by
 *  position: a newer version may append fields at the end, which an older reader skips; fields are never reordered,
 *  removed or given another kind. Text, bytes and lists are borrowed views into the source of the record.
 *
 *  The last argument of an appended field is the version since which it exists: F (R, U64, saved_run_ms, 0, _, 3);
 *  without it, the field exists since version 1. If an older writer omits the field, it is read as zero: 0, false, "",
 *  an empty list. For an appended field zero must therefore mean "not reported". Versions: HELIO_PROTOCOL_VERSION in
 *  wire/messages.h.
 */
#ifndef HELIO_BASE_RECORD_H
#define HELIO_BASE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "federation/base/id.h"
#include "federation/base/keyed_hash.h"
#include "federation/base/memory.h"

typedef enum helio_kind {
    HELIO_KIND_BOOL,
    HELIO_KIND_I32,
    HELIO_KIND_U32,
    HELIO_KIND_I64,
    HELIO_KIND_U64,
    HELIO_KIND_F64, /* finite */
    HELIO_KIND_UUID,
    HELIO_KIND_KEY,  /* helio_job_key_t */
    HELIO_KIND_TEXT, /* UTF-8 */
    HELIO_KIND_BYTES,
    HELIO_KIND_U32S, /* list of U32 */
    HELIO_KIND_F64S, /* list of F64 */
    HELIO_KIND_RECORD,
    HELIO_KIND_LIST /* list of records */
} helio_kind_t;

typedef struct helio_record_type helio_record_type_t;

typedef struct helio_field {
    const char *name;
    helio_kind_t kind;
    size_t offset;
    uint64_t bound;
    const helio_record_type_t *nested; /* RECORD, LIST */
    uint32_t since;                    /* version; ascends within a record */
} helio_field_t;

struct helio_record_type {
    const char *name;
    size_t size; /* of the C struct */
    const helio_field_t *fields;
    size_t field_count;
};

typedef struct helio_u32s {
    uint32_t *items;
    uint32_t count;
} helio_u32s_t;

typedef struct helio_f64s {
    double *items;
    uint32_t count;
} helio_f64s_t;

/*  The layout of every LIST for code that walks descriptions; items are nested->size apart. */
typedef struct helio_list {
    void *items;
    uint32_t count;
} helio_list_t;

#define HELIO_CTYPE_BOOL(type) bool
#define HELIO_CTYPE_I32(type) int32_t
#define HELIO_CTYPE_U32(type) uint32_t
#define HELIO_CTYPE_I64(type) int64_t
#define HELIO_CTYPE_U64(type) uint64_t
#define HELIO_CTYPE_F64(type) double
#define HELIO_CTYPE_UUID(type) helio_uuid_t
#define HELIO_CTYPE_KEY(type) helio_job_key_t
#define HELIO_CTYPE_TEXT(type) helio_text_t
#define HELIO_CTYPE_BYTES(type) helio_text_t
#define HELIO_CTYPE_U32S(type) helio_u32s_t
#define HELIO_CTYPE_F64S(type) helio_f64s_t
#define HELIO_CTYPE_RECORD(type) type##_t
#define HELIO_CTYPE_LIST(type) \
    struct {                   \
        type##_t *items;       \
        uint32_t count;        \
    }

#define HELIO_NESTED_BOOL(type) NULL
#define HELIO_NESTED_I32(type) NULL
#define HELIO_NESTED_U32(type) NULL
#define HELIO_NESTED_I64(type) NULL
#define HELIO_NESTED_U64(type) NULL
#define HELIO_NESTED_F64(type) NULL
#define HELIO_NESTED_UUID(type) NULL
#define HELIO_NESTED_KEY(type) NULL
#define HELIO_NESTED_TEXT(type) NULL
#define HELIO_NESTED_BYTES(type) NULL
#define HELIO_NESTED_U32S(type) NULL
#define HELIO_NESTED_F64S(type) NULL
#define HELIO_NESTED_RECORD(type) &type##_type
#define HELIO_NESTED_LIST(type) &type##_type

/*  `...` is the type and, unless it is 1, the version since which the field exists. */
#define HELIO_RECORD_FIRST_(first, ...) first
#define HELIO_RECORD_SECOND_(first, second, ...) second
#define HELIO_RECORD_MEMBER_(record, kind, name, bound, ...) \
    HELIO_RECORD_CTYPE_(kind, HELIO_RECORD_FIRST_(__VA_ARGS__, _)) name;
#define HELIO_RECORD_CTYPE_(kind, type) HELIO_CTYPE_##kind(type)
#define HELIO_RECORD_FIELD_(record, kind, name, bound, ...)           \
    {#name,                                                           \
     HELIO_KIND_##kind,                                               \
     offsetof(record##_t, name),                                      \
     bound,                                                           \
     HELIO_RECORD_NESTED_(kind, HELIO_RECORD_FIRST_(__VA_ARGS__, _)), \
     HELIO_RECORD_SECOND_(__VA_ARGS__, 1, _)},
#define HELIO_RECORD_NESTED_(kind, type) HELIO_NESTED_##kind(type)

#define HELIO_RECORD_DECLARE(record, FIELDS) \
    typedef struct record {                  \
        FIELDS(HELIO_RECORD_MEMBER_, record) \
    } record##_t;                            \
    extern const helio_record_type_t record##_type;

#define HELIO_RECORD_DEFINE(record, FIELDS)                                                  \
    static const helio_field_t record##_fields[] = {FIELDS(HELIO_RECORD_FIELD_, record)};    \
    const helio_record_type_t record##_type = {#record, sizeof(record##_t), record##_fields, \
                                               sizeof record##_fields / sizeof record##_fields[0]};

/*  Deep comparison of two records of one type. */
bool helio_record_equal(const helio_record_type_t *type, const void *a, const void *b);
/*  A hash of every field's value (helio_hash chained in field order): equal records have equal hashes. */
uint64_t helio_record_hash(const helio_record_type_t *type, const void *record, uint64_t hash);
/*  The same with a key, for records whose values strangers choose (keyed_hash.h). */
uint64_t helio_record_keyed_hash(const helio_record_type_t *type, const void *record, const helio_hash_key_t *secret);
/*  Deep copy into an arena: every view of *ret_copy points into the arena. */
void helio_record_copy(const helio_record_type_t *type, helio_arena_t *arena, const void *from, void *ret_copy);

#endif
