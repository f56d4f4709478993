/*  decode.c -- reads PostgreSQL's binary format into records. */
#include "broker/store/decode.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "federation/reason/detail_json.h"

enum { RECORD_BYTES_MAX = 1024 };

static uint32_t read_32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return be32toh(value);
}

static uint64_t read_64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return be64toh(value);
}

/*  A one-dimensional binary array without nulls, of items of `width` bytes. False: it is not one. */
static bool read_array(helio_text_t bytes, uint32_t width, helio_arena_t *arena, helio_list_t *ret_list)
{
    enum { DIMENSIONS = 0, NULLS = 4, LENGTH = 12, ITEMS = 20, EMPTY_SIZE = 12 };
    if (bytes.size < EMPTY_SIZE || read_32(bytes.data + NULLS) != 0)
        return false;
    *ret_list = (helio_list_t){NULL, 0};
    if (read_32(bytes.data + DIMENSIONS) == 0)
        return true;
    if (read_32(bytes.data + DIMENSIONS) != 1 || bytes.size < ITEMS)
        return false;
    uint32_t count = read_32(bytes.data + LENGTH);
    if ((uint64_t)count * (4 + width) != bytes.size - ITEMS)
        return false;
    char *items = helio_arena_alloc(arena, count, width);
    for (uint32_t i = 0; i < count; i++) {
        const char *item = bytes.data + ITEMS + (size_t)i * (4 + width);
        if (read_32(item) != width)
            return false;
        uint64_t value = width == 8 ? read_64(item + 4) : 0;
        uint32_t narrow = width == 4 ? read_32(item + 4) : 0;
        memcpy(items + (size_t)i * width, width == 8 ? (void *)&value : (void *)&narrow, width);
    }
    *ret_list = (helio_list_t){items, count};
    return true;
}

static int columns_of(helio_kind_t kind)
{
    return kind == HELIO_KIND_KEY ? 2 : 1;
}

static bool read_scalar(helio_text_t bytes, void *ret_value, size_t width)
{
    if (bytes.size != width)
        return false;
    if (width == 4) {
        uint32_t value = read_32(bytes.data);
        memcpy(ret_value, &value, width);
    } else {
        uint64_t value = read_64(bytes.data);
        memcpy(ret_value, &value, width);
    }
    return true;
}

static bool read_uuid(helio_text_t bytes, helio_uuid_t *ret_id)
{
    if (bytes.size != sizeof *ret_id)
        return false;
    memcpy(ret_id, bytes.data, sizeof *ret_id);
    return true;
}

/*  bytes: one view for each column, two for a KEY. False: the column does not fit the field. */
static bool read_field(const helio_field_t *field, const helio_text_t *bytes, helio_arena_t *arena, void *ret_value)
{
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        if (bytes->size != 1)
            return false;
        *(bool *)ret_value = bytes->data[0] != 0;
        return true;
    case HELIO_KIND_I32:
    case HELIO_KIND_U32:
        return read_scalar(*bytes, ret_value, 4);
    case HELIO_KIND_I64:
    case HELIO_KIND_U64:
    case HELIO_KIND_F64:
        return read_scalar(*bytes, ret_value, 8);
    case HELIO_KIND_UUID:
        return read_uuid(*bytes, ret_value);
    case HELIO_KIND_KEY: {
        helio_job_key_t *key = ret_value;
        return read_uuid(bytes[0], &key->job) && read_scalar(bytes[1], &key->task, 4);
    }
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES:
        *(helio_text_t *)ret_value = *bytes;
        return true;
    case HELIO_KIND_U32S:
        return read_array(*bytes, 4, arena, ret_value);
    case HELIO_KIND_F64S:
        return read_array(*bytes, 8, arena, ret_value);
    case HELIO_KIND_RECORD:
        assert(field->nested == &helio_details_type);
        *(helio_details_t *)ret_value = (helio_details_t){0};
        return !bytes->size || helio_details_read(*bytes, arena, ret_value) == HELIO_OK;
    case HELIO_KIND_LIST:
        break;
    }
    assert(false);
    return false;
}

helio_rc helio_decode_row(const PGresult *result, int row, const helio_record_type_t *type, const char *query,
                          helio_arena_t *arena, void *ret_record, helio_error_t *err)
{
    int column = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        const helio_field_t *field = &type->fields[i];
        helio_text_t bytes[2] = {{NULL, 0}, {NULL, 0}};
        for (int part = 0; part < columns_of(field->kind); part++, column++) {
            if (column >= PQnfields(result) || PQgetisnull(result, row, column))
                return helio_fail(err, HELIO_INVALID, "database: %s: no value for %s", query, field->name);
            bytes[part] = (helio_text_t){PQgetvalue(result, row, column), (uint32_t)PQgetlength(result, row, column)};
        }
        if (!read_field(field, bytes, arena, (char *)ret_record + field->offset))
            return helio_fail(err, HELIO_INVALID, "database: %s: column %s is of another type", query, field->name);
    }
    if (column != PQnfields(result))
        return helio_fail(err, HELIO_INVALID, "database: %s: more columns than fields", query);
    return HELIO_OK;
}

helio_rc helio_decode_each(PGconn *connection, const char *query, const char *parameter,
                           const helio_record_type_t *type, helio_decode_visit_fn *visit, void *arg, helio_error_t *err)
{
    _Alignas(max_align_t) char record[RECORD_BYTES_MAX];
    assert(type->size <= sizeof record);
    if (!PQsendQueryParams(connection, helio_sql_query(query), parameter ? 1 : 0, NULL, &parameter, NULL, NULL, 1) ||
        !PQsetSingleRowMode(connection))
        return helio_session_lost(connection, query, err);
    helio_arena_t *arena = helio_arena_new();
    helio_rc rc = HELIO_OK;
    /* The connection is usable again only after the last result. After a failure, the remaining results are read and
     * dropped. */
    for (PGresult *result; (result = PQgetResult(connection)); PQclear(result)) {
        if (rc == HELIO_OK)
            rc = helio_session_check(connection, result, query, err);
        for (int row = 0; rc == HELIO_OK && row < PQntuples(result); row++) {
            helio_arena_reset(arena);
            memset(record, 0, sizeof record);
            rc = helio_decode_row(result, row, type, query, arena, record, err);
            if (rc == HELIO_OK)
                rc = visit(arg, record, err);
        }
    }
    helio_arena_destroy(&arena);
    return rc;
}
