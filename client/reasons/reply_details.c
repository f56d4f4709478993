/*  reply_details.c -- reads the codes and parameters of a reply, and makes sentences of them. */
#include "client/reasons/reply_details.h"

#include <stdlib.h>
#include <string.h>

#include "client/output/output.h"
#include "federation/reason/detail_json.h"
#include "federation/reason/sentence.h"

static const json_t *details_of(const json_t *object)
{
    return json_object_get(object, "details");
}

bool helio_reply_has_detail(const json_t *object, helio_detail_code_t code)
{
    size_t i;
    json_t *detail;
    json_array_foreach(details_of(object), i, detail)
    {
        if (helio_detail_code_of(helio_text_of(helio_output_string(detail, "code"))) == code)
            return true;
    }
    return false;
}

const json_t *helio_reply_param(const json_t *details, const char *name)
{
    size_t i;
    json_t *detail;
    json_array_foreach(details, i, detail)
    {
        const json_t *value = json_object_get(json_object_get(detail, "params"), name);
        if (value)
            return value;
    }
    return NULL;
}

bool helio_reply_details_equal(const json_t *a, const json_t *b)
{
    return json_array_size(details_of(a)) > 0 && json_equal(details_of(a), details_of(b));
}

/*  The index of the parameter `until`, if that time has passed; UINT32_MAX = it has not, or the parameter is
 *  missing. */
static uint32_t past_until(const helio_detail_t *detail, int64_t now_ms)
{
    const helio_detail_entry_t *entry = helio_detail_entry(detail->code);
    for (uint32_t k = 0; entry && k < entry->param_count; k++) {
        int64_t until_ms = helio_detail_value(detail, k).number;
        if (strcmp(entry->params[k].name, "until") == 0 && until_ms && until_ms <= now_ms)
            return k;
    }
    return UINT32_MAX;
}

/*  The details without any `until` that has passed: their sentence omits a time that is 0. A detail that consists of
 *  such a time alone is left out. False = none has passed. */
static bool drop_past(const helio_details_t *details, int64_t now_ms, helio_arena_t *arena, helio_details_t *ret_rest)
{
    bool dropped = false;
    for (uint32_t i = 0; i < details->items.count; i++) {
        const helio_detail_t *detail = &details->items.items[i];
        helio_value_t values[HELIO_DETAIL_VALUES_MAX];
        uint32_t count = detail->values.count, until = past_until(detail, now_ms);
        for (uint32_t k = 0; k < count; k++)
            values[k] = k == until ? (helio_value_t){0} : helio_detail_value(detail, k);
        dropped |= until != UINT32_MAX;
        if (until == UINT32_MAX || detail->code != HELIO_DETAIL_BOUND_ENDS)
            helio_details_add(ret_rest, arena, helio_detail_make(arena, detail->code, values, count));
    }
    return dropped;
}

void helio_reply_sentences(const json_t *list, helio_buffer_t *out)
{
    char *text = json_dumps(list, JSON_COMPACT);
    helio_arena_t *arena = helio_arena_new();
    helio_details_t details = {0};
    if (text && helio_details_read(helio_text_of(text), arena, &details) == HELIO_OK)
        helio_sentences(&details, out);
    helio_arena_destroy(&arena);
    free(text);
}

bool helio_reply_sentence_without_past(const json_t *object, int64_t now_ms, helio_buffer_t *out)
{
    char *text = json_dumps(details_of(object), JSON_COMPACT);
    helio_arena_t *arena = helio_arena_new();
    helio_details_t details = {0}, rest = {0};
    bool known = text && helio_details_read(helio_text_of(text), arena, &details) == HELIO_OK &&
                 details.items.count == json_array_size(details_of(object));
    bool dropped = known && drop_past(&details, now_ms, arena, &rest);
    if (dropped)
        helio_sentences(&rest, out);
    helio_arena_destroy(&arena);
    free(text);
    return dropped;
}
