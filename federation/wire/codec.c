/*  codec.c -- encodes records as msgpack, and whole frames. */
#include "federation/wire/codec.h"

#include <assert.h>
#include <math.h>
#include <msgpack.h>
#include <string.h>

#include "federation/base/utf8.h"
#include "federation/wire/messages.h"
#include "federation/wire/prescan.h"

enum { KEY_BYTES = 20, UUID_BYTES = 16 };

/* ---- writing ------------------------------------------------------------------------------------------- */

static int buffer_write(void *data, const char *bytes, size_t size)
{
    helio_buffer_append(data, bytes, size);
    return 0; /* overflow is checked once, at the end */
}

static void pack_bin(msgpack_packer *packer, const void *bytes, size_t size)
{
    (void)msgpack_pack_bin(packer, size);
    if (size)
        (void)msgpack_pack_bin_body(packer, bytes, size);
}

static void pack_key(msgpack_packer *packer, const helio_job_key_t *key)
{
    uint8_t bytes[KEY_BYTES];
    uint32_t task = (uint32_t)key->task;
    memcpy(bytes, key->job.bytes, UUID_BYTES);
    for (int i = 0; i < 4; i++)
        bytes[UUID_BYTES + i] = (uint8_t)(task >> (24 - 8 * i));
    pack_bin(packer, bytes, sizeof bytes);
}

static bool within(const helio_field_t *field, uint64_t value)
{
    return !field->bound || value <= field->bound;
}

static helio_rc pack_text(const helio_record_type_t *type, const helio_field_t *field, helio_text_t text,
                          msgpack_packer *packer, helio_error_t *err)
{
    if (!within(field, text.size))
        return helio_fail(err, HELIO_TOO_BIG, "%s.%s: %u bytes, at most %llu", type->name, field->name, text.size,
                          (unsigned long long)field->bound);
    if (field->kind == HELIO_KIND_BYTES) {
        pack_bin(packer, text.data, text.size);
        return HELIO_OK;
    }
    if (!helio_utf8_is_text(text))
        return helio_fail(err, HELIO_INVALID, "%s.%s: is not UTF-8 without NUL", type->name, field->name);
    (void)msgpack_pack_str(packer, text.size);
    if (text.size)
        (void)msgpack_pack_str_body(packer, text.data, text.size);
    return HELIO_OK;
}

static helio_rc pack_f64(const helio_record_type_t *type, const helio_field_t *field, double value,
                         msgpack_packer *packer, helio_error_t *err)
{
    if (!isfinite(value))
        return helio_fail(err, HELIO_INVALID, "%s.%s: is not a finite number", type->name, field->name);
    (void)msgpack_pack_double(packer, value);
    return HELIO_OK;
}

static helio_rc pack_u32(const helio_record_type_t *type, const helio_field_t *field, uint32_t value,
                         msgpack_packer *packer, helio_error_t *err)
{
    if (field->kind == HELIO_KIND_U32 && !within(field, value))
        return helio_fail(err, HELIO_TOO_BIG, "%s.%s: %u, at most %llu", type->name, field->name, value,
                          (unsigned long long)field->bound);
    (void)msgpack_pack_uint32(packer, value);
    return HELIO_OK;
}

static helio_rc pack_fields(const helio_record_type_t *type, const char *record, msgpack_packer *packer,
                            helio_error_t *err);

static helio_rc pack_record(const helio_record_type_t *type, const void *record, msgpack_packer *packer,
                            helio_error_t *err)
{
    (void)msgpack_pack_array(packer, helio_wire_fields(type, HELIO_PROTOCOL_VERSION));
    return pack_fields(type, record, packer, err);
}

static helio_rc pack_list(const helio_record_type_t *type, const helio_field_t *field, const helio_list_t *list,
                          msgpack_packer *packer, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    if (!within(field, list->count))
        return helio_fail(err, HELIO_TOO_BIG, "%s.%s: %u items, at most %llu", type->name, field->name, list->count,
                          (unsigned long long)field->bound);
    (void)msgpack_pack_array(packer, list->count);
    for (uint32_t i = 0; !rc && i < list->count; i++) {
        if (field->kind == HELIO_KIND_U32S)
            rc = pack_u32(type, field, ((const uint32_t *)list->items)[i], packer, err);
        else if (field->kind == HELIO_KIND_F64S)
            rc = pack_f64(type, field, ((const double *)list->items)[i], packer, err);
        else
            rc = pack_record(field->nested, (const char *)list->items + i * field->nested->size, packer, err);
    }
    return rc;
}

static helio_rc pack_field(const helio_record_type_t *type, const helio_field_t *field, const void *at,
                           msgpack_packer *packer, helio_error_t *err)
{
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        (void)(*(const bool *)at ? msgpack_pack_true(packer) : msgpack_pack_false(packer));
        return HELIO_OK;
    case HELIO_KIND_I32:
        (void)msgpack_pack_int32(packer, *(const int32_t *)at);
        return HELIO_OK;
    case HELIO_KIND_U32:
        return pack_u32(type, field, *(const uint32_t *)at, packer, err);
    case HELIO_KIND_I64:
        (void)msgpack_pack_int64(packer, *(const int64_t *)at);
        return HELIO_OK;
    case HELIO_KIND_U64:
        (void)msgpack_pack_uint64(packer, *(const uint64_t *)at);
        return HELIO_OK;
    case HELIO_KIND_F64:
        return pack_f64(type, field, *(const double *)at, packer, err);
    case HELIO_KIND_UUID:
        pack_bin(packer, at, UUID_BYTES);
        return HELIO_OK;
    case HELIO_KIND_KEY:
        pack_key(packer, at);
        return HELIO_OK;
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES:
        return pack_text(type, field, *(const helio_text_t *)at, packer, err);
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
        return pack_list(type, field, at, packer, err);
    case HELIO_KIND_RECORD:
        return pack_record(field->nested, at, packer, err);
    }
    assert(false);
    return HELIO_INVALID;
}

static helio_rc pack_fields(const helio_record_type_t *type, const char *record, msgpack_packer *packer,
                            helio_error_t *err)
{
    size_t count = helio_wire_fields(type, HELIO_PROTOCOL_VERSION);
    for (size_t i = 0; i < count; i++) {
        helio_rc rc = pack_field(type, &type->fields[i], record + type->fields[i].offset, packer, err);
        if (rc)
            return rc;
    }
    return HELIO_OK;
}

/*  Restores the buffer on failure, so that the caller can continue appending. */
static helio_rc finish_packing(helio_rc rc, const char *name, helio_buffer_t *out, size_t start, size_t size_max,
                               helio_error_t *err)
{
    if (!rc && (out->overflow || out->size - start > size_max))
        rc = helio_fail(err, HELIO_TOO_BIG, "%s: the encoded message is larger than its maximum", name);
    if (rc) {
        out->size = start;
        out->overflow = false;
        if (out->data)
            out->data[start] = '\0';
    }
    return rc;
}

helio_rc helio_wire_pack(const helio_record_type_t *type, const void *record, helio_buffer_t *out, helio_error_t *err)
{
    size_t start = out->size;
    if (out->overflow)
        return helio_fail(err, HELIO_TOO_BIG, "%s: the buffer has overflowed before", type->name);
    msgpack_packer packer;
    msgpack_packer_init(&packer, out, buffer_write);
    helio_rc rc = pack_record(type, record, &packer, err);
    return finish_packing(rc, type->name, out, start, SIZE_MAX, err);
}

helio_rc helio_wire_encode(uint32_t message, const void *record, helio_buffer_t *out, helio_error_t *err)
{
    const helio_record_type_t *type = helio_message_type(message);
    assert(type); /* the number is this program's own */
    size_t start = out->size;
    if (out->overflow)
        return helio_fail(err, HELIO_TOO_BIG, "%s: the buffer has overflowed before", type->name);
    msgpack_packer packer;
    msgpack_packer_init(&packer, out, buffer_write);
    (void)msgpack_pack_array(&packer, 1 + helio_wire_fields(type, HELIO_PROTOCOL_VERSION));
    (void)msgpack_pack_uint32(&packer, message);
    helio_rc rc = pack_fields(type, record, &packer, err);
    return finish_packing(rc, type->name, out, start, HELIO_WIRE_FRAME_MAX, err);
}
