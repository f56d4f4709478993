/*  detail_json.c -- writes and reads details as JSON, with the units of JSON. */
#include "federation/reason/detail_json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "federation/base/clock.h"

/*  How many of the stored unit are one of JSON's; 0 = the number itself. */
static double unit_of(helio_value_kind_t kind)
{
    switch (kind) {
    case HELIO_VALUE_USD:
        return 1e6;
    case HELIO_VALUE_ENERGY:
        return 3.6e6;
    case HELIO_VALUE_SPAN:
    case HELIO_VALUE_CARBON:
    case HELIO_VALUE_MASS:
    case HELIO_VALUE_MILLI:
        return 1e3;
    case HELIO_VALUE_TEXT:
    case HELIO_VALUE_NAMES:
    case HELIO_VALUE_COUNT:
    case HELIO_VALUE_FLAG:
    case HELIO_VALUE_MINUTE:
    case HELIO_VALUE_SECOND:
    case HELIO_VALUE_BYTES:
    case HELIO_VALUE_PERCENT:
    case HELIO_VALUE_KIND_COUNT:
        break;
    }
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void total_name(const char *name, char ret_name[64])
{
    (void)snprintf(ret_name, 64, "%.55s_total", name);
}

static void write_names(helio_json_writer_t *json, const char *name, const helio_value_t *value)
{
    char total[64];
    helio_json_begin_array(json, name);
    const char *at = value->text.data, *end = at ? at + value->text.size : at;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        helio_json_put_text(json, NULL, (helio_text_t){at, (uint32_t)(stop - at)});
        at = stop + 1;
    }
    helio_json_end(json);
    total_name(name, total);
    helio_json_put_i64(json, total, value->number);
}

static void write_value(helio_json_writer_t *json, const helio_param_t *param, const helio_value_t *value)
{
    double unit = unit_of(param->kind);
    if (param->kind == HELIO_VALUE_NAMES)
        write_names(json, param->name, value);
    else if (param->kind == HELIO_VALUE_TEXT && value->text.size)
        helio_json_put_text(json, param->name, value->text);
    else if ((param->kind == HELIO_VALUE_MINUTE || param->kind == HELIO_VALUE_SECOND) && value->number)
        helio_json_put_time(json, param->name, value->number);
    else if (param->kind == HELIO_VALUE_FLAG)
        helio_json_put_bool(json, param->name, value->number != 0);
    else if (unit > 0)
        helio_json_put_real(json, param->name, (double)value->number / unit);
    else if (param->kind == HELIO_VALUE_COUNT || param->kind == HELIO_VALUE_BYTES || param->kind == HELIO_VALUE_PERCENT)
        helio_json_put_i64(json, param->name, value->number);
}

void helio_details_write(helio_json_writer_t *json, const char *name, const helio_details_t *details)
{
    helio_json_begin_array(json, name);
    for (uint32_t i = 0; i < details->items.count; i++) {
        const helio_detail_t *detail = &details->items.items[i];
        const helio_detail_entry_t *entry = helio_detail_entry(detail->code);
        if (!entry)
            continue;
        helio_json_begin_object(json, NULL);
        helio_json_put_string(json, "code", entry->word);
        helio_json_begin_object(json, "params");
        for (uint32_t k = 0; k < entry->param_count; k++) {
            helio_value_t value = helio_detail_value(detail, k);
            write_value(json, &entry->params[k], &value);
        }
        helio_json_end(json);
        helio_json_end(json);
    }
    helio_json_end(json);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static helio_text_t text_of(const json_t *string)
{
    return (helio_text_t){json_string_value(string), (uint32_t)json_string_length(string)};
}

static helio_value_t read_names(const json_t *params, const char *name, helio_arena_t *arena)
{
    char total[64];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t joined = {0};
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(params, name), i, one)
    {
        helio_text_t text = text_of(one);
        helio_buffer_text(&joined, i ? "," : "");
        helio_buffer_append(&joined, text.data, text.size);
    }
    total_name(name, total);
    return (helio_value_t){.number = json_integer_value(json_object_get(params, total)),
                           .text = helio_arena_text(arena, helio_buffer_view(&joined))};
}

static helio_value_t read_value(const json_t *params, const helio_param_t *param, helio_arena_t *arena)
{
    const json_t *json = json_object_get(params, param->name);
    helio_value_t value = {0};
    double unit = unit_of(param->kind);
    if (param->kind == HELIO_VALUE_NAMES)
        return read_names(params, param->name, arena);
    if (param->kind == HELIO_VALUE_TEXT)
        value.text = text_of(json);
    else if (param->kind == HELIO_VALUE_MINUTE || param->kind == HELIO_VALUE_SECOND)
        (void)!helio_rfc3339_parse(text_of(json), &value.number);
    else if (param->kind == HELIO_VALUE_FLAG)
        value.number = json_is_true(json);
    else if (unit > 0 && fabs(json_number_value(json)) < 9e15 / unit)
        value.number = llround(json_number_value(json) * unit);
    else
        value.number = json_integer_value(json);
    return value;
}

static void read_detail(const json_t *json, helio_arena_t *arena, helio_details_t *details)
{
    helio_detail_code_t code = helio_detail_code_of(text_of(json_object_get(json, "code")));
    const helio_detail_entry_t *entry = helio_detail_entry(code);
    helio_value_t values[HELIO_DETAIL_VALUES_MAX];
    if (!entry)
        return;
    for (uint32_t i = 0; i < entry->param_count; i++)
        values[i] = read_value(json_object_get(json, "params"), &entry->params[i], arena);
    helio_details_add(details, arena, helio_detail_make(arena, code, values, entry->param_count));
}

helio_rc helio_details_read(helio_text_t json, helio_arena_t *arena, helio_details_t *ret_details)
{
    helio_details_t details = {0};
    json_t *list = json_loadb(json.data, json.size, 0, NULL), *one;
    size_t i;
    if (!json_is_array(list)) {
        json_decref(list);
        return HELIO_INVALID;
    }
    json_array_foreach(list, i, one) read_detail(one, arena, &details);
    json_decref(list);
    *ret_details = details;
    return HELIO_OK;
}
