/*  columns.c -- rows as arrays in PostgreSQL's binary format. */
#include "broker/store/columns.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "federation/reason/detail_json.h"
#include "federation/reason/sentence.h"

#include "federation/base/utf8.h"

/*  Type numbers of PostgreSQL's catalogue, which never change (pg_type.dat). */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_FLOAT8 = 701,
    OID_UUID = 2950,
    ARRAY_HEADER = 20 /* dimensions, has nulls, element type, length, lower bound */
};

typedef struct column {
    uint32_t oid;
    bool has_nulls;
    helio_buffer_t bytes;
} column_t;

struct helio_columns {
    const helio_record_type_t *type;
    helio_columns_empty_t empty;
    bool has_id_text;
    uint32_t rows;
    uint32_t count;
    column_t items[HELIO_COLUMNS_MAX];
    helio_buffer_t scratch, details;
};

static void add_column(helio_columns_t *self, uint32_t oid)
{
    assert(self->count < HELIO_COLUMNS_MAX);
    self->items[self->count++].oid = oid;
}

static void add_field(helio_columns_t *self, const helio_field_t *field)
{
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        add_column(self, OID_BOOL);
        break;
    case HELIO_KIND_I32:
    case HELIO_KIND_U32:
        add_column(self, OID_INT4);
        break;
    case HELIO_KIND_I64:
    case HELIO_KIND_U64:
        add_column(self, OID_INT8);
        break;
    case HELIO_KIND_F64:
        add_column(self, OID_FLOAT8);
        break;
    case HELIO_KIND_UUID:
        add_column(self, OID_UUID);
        break;
    case HELIO_KIND_KEY:
        add_column(self, OID_UUID);
        add_column(self, OID_INT4);
        break;
    case HELIO_KIND_BYTES:
        add_column(self, OID_BYTEA);
        break;
    case HELIO_KIND_TEXT:
    case HELIO_KIND_U32S: /* SQL arrays are rectangular, so a list is sent as the text of an array literal */
    case HELIO_KIND_F64S:
        add_column(self, OID_TEXT);
        break;
    case HELIO_KIND_RECORD:
        assert(field->nested == &helio_details_type);
        add_column(self, OID_TEXT);
        add_column(self, OID_TEXT);
        break;
    case HELIO_KIND_LIST:
        assert(false); /* rows are flat */
    }
}

helio_columns_t *helio_columns_new(const helio_record_type_t *type, helio_columns_empty_t empty)
{
    helio_columns_t *self = helio_new(1, sizeof *self);
    self->type = type;
    self->empty = empty;
    for (size_t i = 0; i < type->field_count; i++)
        add_field(self, &type->fields[i]);
    helio_columns_reset(self);
    return self;
}

void helio_columns_add_id_text(helio_columns_t *self)
{
    assert(!self->rows && !self->has_id_text);
    assert(self->type->fields[0].kind == HELIO_KIND_UUID);
    add_column(self, OID_TEXT);
    self->has_id_text = true;
    helio_columns_reset(self);
}

void helio_columns_destroy(helio_columns_t **self_p)
{
    helio_columns_t *self = *self_p;
    if (!self)
        return;
    for (uint32_t i = 0; i < self->count; i++)
        helio_buffer_clear(&self->items[i].bytes);
    helio_buffer_clear(&self->scratch);
    helio_buffer_clear(&self->details);
    free(self);
    *self_p = NULL;
}

void helio_columns_reset(helio_columns_t *self)
{
    static const char header[ARRAY_HEADER];
    self->rows = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        helio_buffer_reset(&self->items[i].bytes);
        helio_buffer_append(&self->items[i].bytes, header, sizeof header);
        self->items[i].has_nulls = false;
    }
}

/*  Like helio_buffer_append, inlined: a row has about twenty small items, and the compiler knows the size of most of
 *  them. */
static inline void put_bytes(column_t *column, const void *bytes, size_t size)
{
    helio_buffer_t *out = &column->bytes;
    if (size >= out->capacity - out->size || out->overflow) {
        helio_buffer_append(out, bytes, size);
        return;
    }
    memcpy(out->data + out->size, bytes, size);
    out->size += size;
    out->data[out->size] = '\0';
}

static void put_item(column_t *column, const void *bytes, uint32_t size)
{
    uint32_t length = htobe32(size);
    put_bytes(column, &length, sizeof length);
    if (size)
        put_bytes(column, bytes, size);
}

static void put_null(column_t *column)
{
    static const uint32_t no_length = UINT32_MAX;
    put_bytes(column, &no_length, sizeof no_length);
    column->has_nulls = true;
}

static void put_32(column_t *column, uint32_t value)
{
    uint32_t item[2] = {htobe32(sizeof value), htobe32(value)};
    put_bytes(column, item, sizeof item);
}

static void put_64(column_t *column, uint64_t value)
{
    unsigned char item[12];
    uint32_t length = htobe32(sizeof value);
    value = htobe64(value);
    memcpy(item, &length, 4);
    memcpy(item + 4, &value, 8);
    put_bytes(column, item, sizeof item);
}

static bool plain_ascii(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if ((unsigned char)(text.data[i] - 1) >= 0x7f)
            return false;
    return true;
}

/*  PostgreSQL accepts neither NUL nor invalid UTF-8 in a text: '?' replaces them. */
static void put_text(helio_columns_t *self, column_t *column, helio_text_t text)
{
    if (plain_ascii(text)) {
        put_item(column, text.data, text.size);
        return;
    }
    helio_buffer_reset(&self->scratch);
    for (uint32_t i = 0; i < text.size;) {
        const char *at = text.data + i;
        uint32_t size = *at ? (uint32_t)helio_utf8_sequence(at, text.size - i) : 0;
        helio_buffer_append(&self->scratch, size ? at : "?", size ? size : 1);
        i += size ? size : 1;
    }
    put_item(column, self->scratch.data, (uint32_t)self->scratch.size);
}

static void put_list(helio_columns_t *self, column_t *column, helio_kind_t kind, const void *field)
{
    const helio_list_t *list = field;
    helio_buffer_reset(&self->scratch);
    helio_buffer_text(&self->scratch, "{");
    for (uint32_t i = 0; i < list->count; i++) {
        if (kind == HELIO_KIND_U32S)
            helio_buffer_printf(&self->scratch, "%s%u", i ? "," : "", ((const uint32_t *)list->items)[i]);
        else
            helio_buffer_printf(&self->scratch, "%s%.17g", i ? "," : "", ((const double *)list->items)[i]);
    }
    helio_buffer_text(&self->scratch, "}");
    put_item(column, self->scratch.data, (uint32_t)self->scratch.size);
}

/*  jsonb accepts no NUL: U+FFFD replaces it, as the JSON writer does for invalid UTF-8. */
static void replace_nuls(helio_buffer_t *json)
{
    static const char nul[] = "\\u0000", replacement[] = "\\ufffd";
    for (char *at = json->data; (at = strchr(at, '\\')); at += 2)
        if (strncmp(at, nul, sizeof nul - 1) == 0)
            memcpy(at, replacement, sizeof replacement - 1);
}

/*  The sentences, and their JSON; null when the list is empty. */
static void put_details(helio_columns_t *self, column_t *column, const helio_details_t *details)
{
    if (!details->items.count) {
        if (self->empty == HELIO_COLUMNS_EMPTY_IS_NULL)
            put_null(column);
        else
            put_item(column, "", 0);
        put_null(column + 1);
        return;
    }
    helio_buffer_t *text = &self->details; /* put_text uses self->scratch */
    helio_buffer_reset(text);
    helio_sentences(details, text);
    put_text(self, column, helio_buffer_view(text));
    helio_buffer_reset(text);
    helio_json_writer_t json = helio_json_into(text);
    helio_details_write(&json, NULL, details);
    replace_nuls(text);
    put_text(self, column + 1, helio_buffer_view(text));
}

static bool is_null(const helio_columns_t *self, uint32_t size)
{
    return !size && self->empty == HELIO_COLUMNS_EMPTY_IS_NULL;
}

/*  Returns how many columns the field took. */
static uint32_t put_field(helio_columns_t *self, column_t *column, helio_kind_t kind, const void *field)
{
    switch (kind) {
    case HELIO_KIND_BOOL:
        put_item(column, &(const char){*(const bool *)field}, 1);
        return 1;
    case HELIO_KIND_I32:
        put_32(column, (uint32_t) * (const int32_t *)field);
        return 1;
    case HELIO_KIND_U32: {
        /* Only a site's nonsense exceeds int4: the value saturates rather than turning negative. */
        uint32_t value = *(const uint32_t *)field;
        put_32(column, value > INT32_MAX ? INT32_MAX : value);
        return 1;
    }
    case HELIO_KIND_I64:
    case HELIO_KIND_U64: /* identifiers can use all 64 bits: stored bit by bit */
    case HELIO_KIND_F64: {
        uint64_t bits;
        memcpy(&bits, field, sizeof bits);
        put_64(column, bits);
        return 1;
    }
    case HELIO_KIND_UUID:
        put_item(column, field, sizeof(helio_uuid_t));
        return 1;
    case HELIO_KIND_KEY: {
        const helio_job_key_t *key = field;
        put_item(column, key->job.bytes, sizeof key->job.bytes);
        put_32(column + 1, (uint32_t)key->task);
        return 2;
    }
    case HELIO_KIND_TEXT:
        if (is_null(self, ((const helio_text_t *)field)->size))
            put_null(column);
        else
            put_text(self, column, *(const helio_text_t *)field);
        return 1;
    case HELIO_KIND_BYTES: {
        const helio_text_t *bytes = field;
        put_item(column, bytes->data, bytes->size);
        return 1;
    }
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
        if (is_null(self, ((const helio_list_t *)field)->count))
            put_null(column);
        else
            put_list(self, column, kind, field);
        return 1;
    case HELIO_KIND_RECORD:
        put_details(self, column, field);
        return 2;
    case HELIO_KIND_LIST:
        break;
    }
    assert(false);
    return 0;
}

static void put_id_text(column_t *column, const helio_uuid_t *id)
{
    char text[HELIO_ID_SIZE];
    helio_uuid_text(*id, text);
    put_item(column, text, HELIO_ID_CHARS);
}

void helio_columns_append(helio_columns_t *self, const void *record)
{
    column_t *column = self->items;
    for (size_t i = 0; i < self->type->field_count; i++) {
        const helio_field_t *field = &self->type->fields[i];
        column += put_field(self, column, field->kind, (const char *)record + field->offset);
    }
    if (self->has_id_text)
        put_id_text(column, (const void *)((const char *)record + self->type->fields[0].offset));
    self->rows++;
}

size_t helio_columns_bytes(const helio_columns_t *self)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < self->count; i++)
        bytes += self->items[i].bytes.size;
    return bytes;
}

bool helio_columns_full(const helio_columns_t *self)
{
    return self->rows >= HELIO_COLUMNS_ROWS_MAX || helio_columns_bytes(self) >= HELIO_COLUMNS_BYTES_MAX;
}

uint32_t helio_columns_rows(const helio_columns_t *self)
{
    return self->rows;
}

int helio_columns_params(helio_columns_t *self, const char *ret_values[HELIO_COLUMNS_MAX],
                         int ret_lengths[HELIO_COLUMNS_MAX])
{
    assert(self->rows > 0);
    for (uint32_t i = 0; i < self->count; i++) {
        column_t *column = &self->items[i];
        uint32_t header[ARRAY_HEADER / 4] = {htobe32(1), htobe32(column->has_nulls), htobe32(column->oid),
                                             htobe32(self->rows), htobe32(1)};
        assert(!column->bytes.overflow);
        memcpy(column->bytes.data, header, sizeof header);
        ret_values[i] = column->bytes.data;
        ret_lengths[i] = (int)column->bytes.size;
    }
    return (int)self->count;
}
