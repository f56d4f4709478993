/*  sample.h -- records to test with, made by walking descriptions: filled examples that a person can read,
 * and random ones that reach the edges of their tables. */
#ifndef TESTS_WIRE_SAMPLE_H
#define TESTS_WIRE_SAMPLE_H

#include <string.h>

#include "federation/base/rng.h"
#include "federation/wire/messages.h"

static inline size_t sample_item_size(const helio_field_t *field)
{
    return field->kind == HELIO_KIND_U32S   ? sizeof(uint32_t)
           : field->kind == HELIO_KIND_F64S ? sizeof(double)
                                            : field->nested->size;
}

/*  A filled example: texts are their own field's name, numbers count up, lists have two items. */
static inline void sample_fill(const helio_record_type_t *type, helio_arena_t *arena, uint32_t *counter, void *record);

static inline void sample_fill_field(const helio_field_t *field, helio_arena_t *arena, uint32_t *counter, void *at)
{
    uint32_t n = ++*counter;
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        *(bool *)at = n % 2;
        break;
    case HELIO_KIND_I32:
        *(int32_t *)at = -(int32_t)n;
        break;
    case HELIO_KIND_U32:
        *(uint32_t *)at = field->bound && n > field->bound ? (uint32_t)field->bound : n;
        break;
    case HELIO_KIND_I64:
        *(int64_t *)at = INT64_C(1795000000000) + n;
        break;
    case HELIO_KIND_U64:
        *(uint64_t *)at = n;
        break;
    case HELIO_KIND_F64:
        *(double *)at = n + 0.5;
        break;
    case HELIO_KIND_UUID:
    case HELIO_KIND_KEY:
        memset(at, 0, sizeof(helio_uuid_t));
        for (unsigned i = 0; i < 16; i++)
            ((helio_uuid_t *)at)->bytes[i] = (uint8_t)(16 * i + n % 16);
        if (field->kind == HELIO_KIND_KEY)
            ((helio_job_key_t *)at)->task = n % 2 ? HELIO_NO_TASK : (int32_t)n;
        break;
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES: {
        helio_text_t text = helio_text_of(field->name);
        if (field->bound && text.size > field->bound)
            text.size = (uint32_t)field->bound;
        *(helio_text_t *)at = text;
        break;
    }
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST: {
        size_t size = sample_item_size(field);
        char *items = helio_arena_alloc(arena, 2, size);
        for (uint32_t i = 0; i < 2; i++) {
            if (field->kind == HELIO_KIND_U32S)
                ((uint32_t *)(void *)items)[i] = 100 * (i + 1);
            else if (field->kind == HELIO_KIND_F64S)
                ((double *)(void *)items)[i] = 0.25 * (i + 1);
            else
                sample_fill(field->nested, arena, counter, items + i * size);
        }
        *(helio_list_t *)at = (helio_list_t){items, 2};
        break;
    }
    case HELIO_KIND_RECORD:
        sample_fill(field->nested, arena, counter, at);
        break;
    }
}

static inline void sample_fill(const helio_record_type_t *type, helio_arena_t *arena, uint32_t *counter, void *record)
{
    for (size_t i = 0; i < type->field_count; i++)
        sample_fill_field(&type->fields[i], arena, counter, (char *)record + type->fields[i].offset);
}

/*  Integers near the borders of their encodings, as well as anywhere. */
static inline uint64_t sample_random_int(helio_rng_t *rng)
{
    uint64_t value = helio_rng_next(rng) >> helio_rng_below(rng, 64);
    return helio_rng_below(rng, 4) ? value : (UINT64_C(1) << helio_rng_below(rng, 64)) - helio_rng_below(rng, 3);
}

static inline helio_text_t sample_random_text(const helio_field_t *field, helio_rng_t *rng, helio_arena_t *arena)
{
    static const char *const pieces[] = {
        "a", "Z", "9", " ", "\"", "\\", "\x01", "\x7f", "é", "\xef\xbf\xbf", "光", "\xf4\x8f\xbf\xbf"};
    uint64_t most = field->bound && field->bound < 300 ? field->bound : 300;
    uint64_t size = helio_rng_below(rng, 8) ? helio_rng_below(rng, 20) : most;
    if (size > most)
        size = most;
    char *bytes = helio_arena_alloc(arena, size + 1, 1);
    uint32_t used = 0;
    if (field->kind == HELIO_KIND_BYTES) {
        helio_rng_bytes(rng, (uint8_t *)bytes, size);
        return (helio_text_t){bytes, (uint32_t)size};
    }
    while (used < size) {
        const char *piece = pieces[helio_rng_below(rng, sizeof pieces / sizeof pieces[0])];
        size_t length = strlen(piece);
        if (used + length > size)
            piece = "x", length = 1;
        memcpy(bytes + used, piece, length);
        used += (uint32_t)length;
    }
    return (helio_text_t){bytes, used};
}

static inline double sample_random_f64(helio_rng_t *rng)
{
    double value;
    do {
        uint64_t bits = helio_rng_next(rng);
        memcpy(&value, &bits, sizeof value);
    } while (value - value != 0.0); /* infinities and NaNs */
    return helio_rng_below(rng, 4) ? value : (double)helio_rng_below(rng, 1000) / 8;
}

static inline void sample_random(const helio_record_type_t *type, helio_rng_t *rng, helio_arena_t *arena, void *record);

static inline void sample_random_list(const helio_field_t *field, helio_rng_t *rng, helio_arena_t *arena, void *at)
{
    size_t size = sample_item_size(field);
    uint64_t count = helio_rng_below(rng, helio_rng_below(rng, 6) ? 4 : 20);
    if (field->bound && count > field->bound)
        count = field->bound;
    char *items = helio_arena_alloc(arena, count, size);
    for (uint64_t i = 0; i < count; i++) {
        if (field->kind == HELIO_KIND_U32S)
            ((uint32_t *)(void *)items)[i] = (uint32_t)sample_random_int(rng);
        else if (field->kind == HELIO_KIND_F64S)
            ((double *)(void *)items)[i] = sample_random_f64(rng);
        else
            sample_random(field->nested, rng, arena, items + i * size);
    }
    *(helio_list_t *)at = (helio_list_t){items, (uint32_t)count};
}

static inline void sample_random_field(const helio_field_t *field, helio_rng_t *rng, helio_arena_t *arena, void *at)
{
    uint64_t value = sample_random_int(rng);
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        *(bool *)at = value & 1;
        break;
    case HELIO_KIND_I32:
        *(int32_t *)at = (int32_t)(uint32_t)value;
        break;
    case HELIO_KIND_U32:
        *(uint32_t *)at = (uint32_t)(field->bound ? value % (field->bound + 1) : value);
        break;
    case HELIO_KIND_I64:
        *(int64_t *)at = (int64_t)(helio_rng_below(rng, 2) ? value : -value);
        break;
    case HELIO_KIND_U64:
        *(uint64_t *)at = value;
        break;
    case HELIO_KIND_F64:
        *(double *)at = sample_random_f64(rng);
        break;
    case HELIO_KIND_UUID:
        helio_rng_bytes(rng, ((helio_uuid_t *)at)->bytes, 16);
        break;
    case HELIO_KIND_KEY:
        helio_rng_bytes(rng, ((helio_job_key_t *)at)->job.bytes, 16);
        ((helio_job_key_t *)at)->task = (int32_t)(uint32_t)value;
        break;
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES:
        *(helio_text_t *)at = sample_random_text(field, rng, arena);
        break;
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
        sample_random_list(field, rng, arena, at);
        break;
    case HELIO_KIND_RECORD:
        sample_random(field->nested, rng, arena, at);
        break;
    }
}

static inline void sample_random(const helio_record_type_t *type, helio_rng_t *rng, helio_arena_t *arena, void *record)
{
    for (size_t i = 0; i < type->field_count; i++)
        sample_random_field(&type->fields[i], rng, arena, (char *)record + type->fields[i].offset);
}

#endif
