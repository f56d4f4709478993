/*  detail.c -- makes, copies and finds details; the table of their codes. */
#include "federation/reason/detail.h"

#include <assert.h>
#include <string.h>

HELIO_RECORD_DEFINE(helio_value, HELIO_VALUE_FIELDS)
HELIO_RECORD_DEFINE(helio_detail, HELIO_DETAIL_FIELDS)
HELIO_RECORD_DEFINE(helio_details, HELIO_DETAILS_FIELDS)

#define P(kind, name)             \
    {                             \
        HELIO_VALUE_##kind, #name \
    }
#define DETAIL0(name, word_, sentence_) [HELIO_DETAIL_##name] = {.word = word_, .sentence = sentence_},
#define DETAIL(name, word_, sentence_, ...)                                                              \
    [HELIO_DETAIL_##name] = {                                                                            \
        .word = word_,                                                                                   \
        .sentence = sentence_,                                                                           \
        .params = {__VA_ARGS__},                                                                         \
        .param_count = (uint32_t)(sizeof((const helio_param_t[]){__VA_ARGS__}) / sizeof(helio_param_t)), \
    },
static const helio_detail_entry_t entries[HELIO_DETAIL_CODE_COUNT] = {
    [HELIO_DETAIL_NONE] = {.word = "", .sentence = ""},
#include "federation/reason/details.def"
};
#undef P

const helio_detail_entry_t *helio_detail_entry(uint32_t code)
{
    return code > HELIO_DETAIL_NONE && code < HELIO_DETAIL_CODE_COUNT ? &entries[code] : NULL;
}

helio_detail_code_t helio_detail_code_of(helio_text_t word)
{
    for (uint32_t i = HELIO_DETAIL_NONE + 1; i < HELIO_DETAIL_CODE_COUNT; i++)
        if (helio_text_is(word, entries[i].word))
            return (helio_detail_code_t)i;
    return HELIO_DETAIL_NONE;
}

static helio_text_t cut(helio_text_t text)
{
    if (text.size <= HELIO_DETAIL_TEXT_MAX)
        return text;
    uint32_t size = HELIO_DETAIL_TEXT_MAX;
    while (size && ((unsigned char)text.data[size] & 0xc0) == 0x80) /* in the middle of a character */
        size--;
    return (helio_text_t){text.data, size};
}

helio_detail_t helio_detail_make(helio_arena_t *arena, helio_detail_code_t code, const helio_value_t *values,
                                 uint32_t count)
{
    const helio_detail_entry_t *entry = helio_detail_entry(code);
    assert(entry && count == entry->param_count);
    helio_detail_t detail = {.code = code};
    if (!count)
        return detail;
    detail.values.items = helio_arena_alloc(arena, count, sizeof *detail.values.items);
    detail.values.count = count;
    for (uint32_t i = 0; i < count; i++)
        detail.values.items[i] =
            (helio_value_t){.number = values[i].number, .text = helio_arena_text(arena, cut(values[i].text))};
    return detail;
}

_Static_assert((int)HELIO_DETAIL_VALUES_MAX *(int)HELIO_DETAIL_TEXT_MAX <= (int)HELIO_DETAILS_TEXT_MAX,
               "the first detail always has room");

static uint32_t text_size(const helio_detail_t *detail)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < detail->values.count; i++)
        size += detail->values.items[i].text.size;
    return size;
}

uint32_t helio_details_text_size(const helio_details_t *self)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < self->items.count; i++)
        size += text_size(&self->items.items[i]);
    return size;
}

void helio_details_add(helio_details_t *self, helio_arena_t *arena, helio_detail_t detail)
{
    uint32_t count = self->items.count;
    if (detail.code == HELIO_DETAIL_NONE || count == HELIO_DETAILS_MAX ||
        helio_details_text_size(self) + text_size(&detail) > HELIO_DETAILS_TEXT_MAX)
        return;
    helio_detail_t *items = helio_arena_alloc(arena, count + 1, sizeof *items);
    if (count)
        memcpy(items, self->items.items, count * sizeof *items);
    items[count] = detail;
    self->items.items = items;
    self->items.count = count + 1;
    assert(helio_details_text_size(self) <= HELIO_DETAILS_TEXT_MAX);
}

void helio_details_join(helio_details_t *self, helio_arena_t *arena, const helio_details_t *more)
{
    for (uint32_t i = 0; i < more->items.count; i++)
        helio_details_add(self, arena, more->items.items[i]);
}

const helio_detail_t *helio_details_find(const helio_details_t *self, helio_detail_code_t code)
{
    for (uint32_t i = 0; i < self->items.count; i++)
        if (self->items.items[i].code == code)
            return &self->items.items[i];
    return NULL;
}

helio_value_t helio_detail_value(const helio_detail_t *self, uint32_t position)
{
    return position < self->values.count ? self->values.items[position] : (helio_value_t){0};
}
