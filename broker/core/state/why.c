/*  why.c -- reasons as details, in a step and beyond. */
#include "broker/core/state/why.h"

#include <string.h>

#include "broker/core/state/core.h"

helio_details_t core_why(helio_broker_core_t *self, helio_detail_t detail)
{
    helio_details_t why = {0};
    core_why_add(self, &why, detail);
    return why;
}

void core_why_add(helio_broker_core_t *self, helio_details_t *why, helio_detail_t detail)
{
    helio_details_add(why, self->effects->arena, detail);
}

void core_why_join(helio_broker_core_t *self, helio_details_t *why, const helio_details_t *more)
{
    helio_details_join(why, self->effects->arena, more);
}

/* ---- kept ---------------------------------------------------------------------------------------------- */

typedef struct kept {
    helio_details_t why;
    helio_detail_t details[];
    /* followed by all values, then all texts */
} kept_t;

static size_t size_of(const helio_details_t *why, uint32_t *ret_values)
{
    size_t texts = 0;
    *ret_values = 0;
    for (uint32_t i = 0; i < why->items.count; i++) {
        const helio_detail_t *detail = &why->items.items[i];
        *ret_values += detail->values.count;
        for (uint32_t k = 0; k < detail->values.count; k++)
            texts += detail->values.items[k].text.size;
    }
    return sizeof(kept_t) + why->items.count * sizeof(helio_detail_t) + *ret_values * sizeof(helio_value_t) + texts;
}

static void copy_values(const helio_detail_t *from, helio_value_t *values, char **texts)
{
    for (uint32_t k = 0; k < from->values.count; k++) {
        helio_text_t text = from->values.items[k].text;
        values[k].number = from->values.items[k].number;
        values[k].text = (helio_text_t){*texts, text.size};
        if (text.size)
            memcpy(*texts, text.data, text.size);
        *texts += text.size;
    }
}

helio_details_t *core_why_keep(const helio_details_t *why)
{
    uint32_t count = why->items.count, value_count;
    if (!count)
        return NULL;
    kept_t *kept = helio_grow(NULL, 1, size_of(why, &value_count));
    helio_value_t *values = (helio_value_t *)(void *)(kept->details + count);
    char *texts = (char *)(values + value_count);
    for (uint32_t i = 0; i < count; i++) {
        const helio_detail_t *from = &why->items.items[i];
        kept->details[i] = (helio_detail_t){.code = from->code, .values = {values, from->values.count}};
        copy_values(from, values, &texts);
        values += from->values.count;
    }
    kept->why = (helio_details_t){{kept->details, count}};
    return &kept->why;
}

helio_details_t core_why_kept(helio_broker_core_t *self, const helio_details_t *kept)
{
    helio_details_t copy = {0};
    if (kept)
        helio_record_copy(&helio_details_type, self->effects->arena, kept, &copy);
    return copy;
}

bool core_why_equal(const helio_details_t *kept, const helio_details_t *why)
{
    return kept ? helio_record_equal(&helio_details_type, kept, why) : !why->items.count;
}

bool core_why_has(const helio_details_t *kept, helio_detail_code_t code)
{
    return kept && helio_details_find(kept, code);
}
