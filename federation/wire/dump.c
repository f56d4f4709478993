/*  dump.c -- prints a record as one line for people. */
#include <assert.h>
#include <string.h>

#include "federation/base/utf8.h"
#include "federation/wire/codec.h"

enum { DUMP_BYTES = 8 };

static void dump_record(const helio_record_type_t *type, const char *record, helio_buffer_t *out);

static void dump_text(helio_text_t text, helio_buffer_t *out)
{
    bool utf8 = helio_utf8_is_text(text);
    helio_buffer_text(out, "\"");
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\')
            helio_buffer_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || (c > 0x7f && !utf8))
            helio_buffer_printf(out, "\\u%04x", c);
        else
            helio_buffer_append(out, &c, 1);
    }
    helio_buffer_text(out, "\"");
}

static void dump_bytes(helio_text_t bytes, helio_buffer_t *out)
{
    helio_buffer_printf(out, "\"%u:", bytes.size);
    for (uint32_t i = 0; i < bytes.size && i < DUMP_BYTES; i++)
        helio_buffer_printf(out, "%02x", (unsigned char)bytes.data[i]);
    helio_buffer_text(out, "\"");
}

static void dump_list(const helio_field_t *field, const helio_list_t *list, helio_buffer_t *out)
{
    helio_buffer_text(out, "[");
    for (uint32_t i = 0; i < list->count; i++) {
        if (i)
            helio_buffer_text(out, ",");
        if (field->kind == HELIO_KIND_U32S)
            helio_buffer_printf(out, "%u", ((const uint32_t *)list->items)[i]);
        else if (field->kind == HELIO_KIND_F64S)
            helio_buffer_printf(out, "%.17g", ((const double *)list->items)[i]);
        else
            dump_record(field->nested, (const char *)list->items + i * field->nested->size, out);
    }
    helio_buffer_text(out, "]");
}

static void dump_field(const helio_field_t *field, const void *at, helio_buffer_t *out)
{
    char text[HELIO_KEY_SIZE];
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        helio_buffer_text(out, *(const bool *)at ? "true" : "false");
        return;
    case HELIO_KIND_I32:
        helio_buffer_printf(out, "%d", *(const int32_t *)at);
        return;
    case HELIO_KIND_U32:
        helio_buffer_printf(out, "%u", *(const uint32_t *)at);
        return;
    case HELIO_KIND_I64:
        helio_buffer_printf(out, "%lld", (long long)*(const int64_t *)at);
        return;
    case HELIO_KIND_U64:
        helio_buffer_printf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
        return;
    case HELIO_KIND_F64:
        helio_buffer_printf(out, "%.17g", *(const double *)at);
        return;
    case HELIO_KIND_UUID:
        helio_uuid_text(*(const helio_uuid_t *)at, text);
        helio_buffer_printf(out, "\"%s\"", text);
        return;
    case HELIO_KIND_KEY:
        helio_job_key_text(*(const helio_job_key_t *)at, text);
        helio_buffer_printf(out, "\"%s\"", text);
        return;
    case HELIO_KIND_TEXT:
        dump_text(*(const helio_text_t *)at, out);
        return;
    case HELIO_KIND_BYTES:
        dump_bytes(*(const helio_text_t *)at, out);
        return;
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
        dump_list(field, at, out);
        return;
    case HELIO_KIND_RECORD:
        dump_record(field->nested, at, out);
        return;
    }
    assert(false);
}

static void dump_record(const helio_record_type_t *type, const char *record, helio_buffer_t *out)
{
    for (size_t i = 0; i < type->field_count; i++) {
        helio_buffer_printf(out, "%s\"%s\":", i ? "," : "{", type->fields[i].name);
        dump_field(&type->fields[i], record + type->fields[i].offset, out);
    }
    helio_buffer_text(out, "}");
}

void helio_wire_dump(const helio_record_type_t *type, const void *record, helio_buffer_t *out)
{
    dump_record(type, record, out);
}
