/*  record.c -- compares, hashes and copies records by their descriptions. */
#include "federation/base/record.h"

#include <assert.h>
#include <string.h>

static bool list_equal(const helio_record_type_t *type, const helio_list_t *a, const helio_list_t *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!helio_record_equal(type, (const char *)a->items + i * type->size, (const char *)b->items + i * type->size))
            return false;
    return true;
}

static bool field_equal(const helio_field_t *field, const void *a, const void *b)
{
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case HELIO_KIND_I32:
    case HELIO_KIND_U32:
        return *(const uint32_t *)a == *(const uint32_t *)b;
    case HELIO_KIND_I64:
    case HELIO_KIND_U64:
    case HELIO_KIND_F64: /* bit for bit: a record is data, not arithmetic */
        return memcmp(a, b, 8) == 0;
    case HELIO_KIND_UUID:
        return memcmp(a, b, sizeof(helio_uuid_t)) == 0;
    case HELIO_KIND_KEY:
        return helio_job_key_equal(*(const helio_job_key_t *)a, *(const helio_job_key_t *)b);
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES:
        return helio_text_equal(*(const helio_text_t *)a, *(const helio_text_t *)b);
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S: {
        const helio_list_t *x = a, *y = b;
        size_t size = field->kind == HELIO_KIND_U32S ? sizeof(uint32_t) : sizeof(double);
        return x->count == y->count && (!x->count || memcmp(x->items, y->items, x->count * size) == 0);
    }
    case HELIO_KIND_RECORD:
        return helio_record_equal(field->nested, a, b);
    case HELIO_KIND_LIST:
        return list_equal(field->nested, a, b);
    }
    assert(false);
    return false;
}

bool helio_record_equal(const helio_record_type_t *type, const void *a, const void *b)
{
    for (size_t i = 0; i < type->field_count; i++) {
        size_t offset = type->fields[i].offset;
        if (!field_equal(&type->fields[i], (const char *)a + offset, (const char *)b + offset))
            return false;
    }
    return true;
}

/*  secret NULL: without a key. Otherwise what was hashed so far keys the hash of what follows. */
static uint64_t mix(uint64_t hash, const helio_hash_key_t *secret, const void *bytes, size_t size)
{
    if (!secret)
        return helio_hash(hash, bytes, size);
    helio_hash_key_t chained = {{secret->words[0] ^ hash, secret->words[1]}};
    return helio_keyed_hash(&chained, bytes, size);
}

static uint64_t fields_hash(const helio_record_type_t *type, const void *record, uint64_t hash,
                            const helio_hash_key_t *secret);

static uint64_t field_hash(const helio_field_t *field, const void *at, uint64_t hash, const helio_hash_key_t *secret)
{
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        return mix(hash, secret, at, sizeof(bool));
    case HELIO_KIND_I32:
    case HELIO_KIND_U32:
        return mix(hash, secret, at, 4);
    case HELIO_KIND_I64:
    case HELIO_KIND_U64:
    case HELIO_KIND_F64:
        return mix(hash, secret, at, 8);
    case HELIO_KIND_UUID:
        return mix(hash, secret, at, sizeof(helio_uuid_t));
    case HELIO_KIND_KEY: {
        const helio_job_key_t *key = at;
        hash = mix(hash, secret, key->job.bytes, sizeof key->job.bytes);
        return mix(hash, secret, &key->task, sizeof key->task);
    }
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES: {
        const helio_text_t *text = at;
        hash = mix(hash, secret, &text->size, sizeof text->size);
        return mix(hash, secret, text->data, text->size);
    }
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S: {
        const helio_list_t *list = at;
        hash = mix(hash, secret, &list->count, sizeof list->count);
        return mix(hash, secret, list->items,
                   list->count * (field->kind == HELIO_KIND_U32S ? sizeof(uint32_t) : sizeof(double)));
    }
    case HELIO_KIND_RECORD:
        return fields_hash(field->nested, at, hash, secret);
    case HELIO_KIND_LIST: {
        const helio_list_t *list = at;
        hash = mix(hash, secret, &list->count, sizeof list->count);
        for (uint32_t i = 0; i < list->count; i++)
            hash = fields_hash(field->nested, (const char *)list->items + i * field->nested->size, hash, secret);
        return hash;
    }
    }
    assert(false);
    return hash;
}

static uint64_t fields_hash(const helio_record_type_t *type, const void *record, uint64_t hash,
                            const helio_hash_key_t *secret)
{
    for (size_t i = 0; i < type->field_count; i++)
        hash = field_hash(&type->fields[i], (const char *)record + type->fields[i].offset, hash, secret);
    return hash;
}

uint64_t helio_record_hash(const helio_record_type_t *type, const void *record, uint64_t hash)
{
    return fields_hash(type, record, hash, NULL);
}

uint64_t helio_record_keyed_hash(const helio_record_type_t *type, const void *record, const helio_hash_key_t *secret)
{
    return fields_hash(type, record, 0, secret);
}

static void deepen(const helio_field_t *field, helio_arena_t *arena, void *at)
{
    switch (field->kind) {
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES: {
        helio_text_t *text = at;
        *text = helio_arena_text(arena, *text);
        break;
    }
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S: {
        helio_list_t *list = at;
        size_t size = field->kind == HELIO_KIND_U32S ? sizeof(uint32_t) : sizeof(double);
        void *items = helio_arena_alloc(arena, list->count, size);
        if (list->count)
            memcpy(items, list->items, list->count * size);
        list->items = items;
        break;
    }
    case HELIO_KIND_RECORD:
        for (size_t i = 0; i < field->nested->field_count; i++)
            deepen(&field->nested->fields[i], arena, (char *)at + field->nested->fields[i].offset);
        break;
    case HELIO_KIND_LIST: {
        helio_list_t *list = at;
        char *items = helio_arena_alloc(arena, list->count, field->nested->size);
        for (uint32_t i = 0; i < list->count; i++)
            helio_record_copy(field->nested, arena, (const char *)list->items + i * field->nested->size,
                              items + i * field->nested->size);
        list->items = items;
        break;
    }
    case HELIO_KIND_BOOL:
    case HELIO_KIND_I32:
    case HELIO_KIND_U32:
    case HELIO_KIND_I64:
    case HELIO_KIND_U64:
    case HELIO_KIND_F64:
    case HELIO_KIND_UUID:
    case HELIO_KIND_KEY:
        break;
    }
}

void helio_record_copy(const helio_record_type_t *type, helio_arena_t *arena, const void *from, void *ret_copy)
{
    if (from != ret_copy)
        memcpy(ret_copy, from, type->size);
    for (size_t i = 0; i < type->field_count; i++)
        deepen(&type->fields[i], arena, (char *)ret_copy + type->fields[i].offset);
}
