/*  points_json.c -- responses in JSON. jansson bounds the depth; the size is checked before parsing. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/spec/value.h"
#include "site-agent/feeds/points.h"

enum { PATH_PARTS_MAX = 16 };

static void drop(json_t **json_p)
{
    json_decref(*json_p);
}

static helio_rc load(helio_text_t answer, json_t **ret_root, helio_error_t *err)
{
    json_error_t why;
    if (answer.size > HELIO_ANSWER_BYTES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "an answer of more than %d bytes", HELIO_ANSWER_BYTES_MAX);
    *ret_root = json_loadb(answer.data ? answer.data : "", answer.size, JSON_REJECT_DUPLICATES, &why);
    if (!*ret_root)
        return helio_fail(err, HELIO_INVALID, "not JSON: line %d: %s", why.line, why.text);
    return HELIO_OK;
}

/*  The value at "a.0.b"; NULL if it does not exist. "" is the value itself. */
static json_t *find(json_t *from, helio_text_t path)
{
    if (!path.size)
        return from;
    const char *at = path.data, *end = path.data + path.size;
    for (int parts = 0; from && at <= end && parts < PATH_PARTS_MAX; parts++) {
        const char *dot = at < end ? memchr(at, '.', (size_t)(end - at)) : NULL;
        helio_text_t name = {at, (uint32_t)((dot ? dot : end) - at)};
        uint64_t index;
        if (json_is_array(from))
            from = helio_u64_parse(name, &index) == HELIO_OK ? json_array_get(from, (size_t)index) : NULL;
        else
            from = json_object_getn(from, name.data, name.size);
        if (!dot)
            return from;
        at = dot + 1;
    }
    return NULL;
}

static bool time_of(const json_t *json, int64_t *ret_ms)
{
    if (json_is_string(json))
        return helio_rfc3339_parse((helio_text_t){json_string_value(json), (uint32_t)json_string_length(json)},
                                   ret_ms) == HELIO_OK;
    double seconds = json_is_number(json) ? json_number_value(json) : NAN;
    if (!(fabs(seconds) < 1e11)) /* the year 5138 */
        return false;
    *ret_ms = (int64_t)llround(seconds * 1000);
    return true;
}

static bool number_of(const json_t *json, double *ret_value)
{
    helio_text_t text = {json_string_value(json), (uint32_t)json_string_length(json)};
    if (json_is_string(json)) /* some services write their numbers so */
        return helio_f64_parse(text, ret_value) == HELIO_OK;
    if (!json_is_number(json))
        return false;
    *ret_value = json_number_value(json);
    return isfinite(*ret_value);
}

static void add(helio_points_t *points, json_t *entry, helio_text_t path, double factor, helio_point_t point)
{
    if (!path.size || !number_of(find(entry, path), &point.value))
        return;
    point.value *= factor;
    if (fabs(point.value) <= HELIO_POINT_VALUE_MAX)
        points->items[points->count++] = point;
}

helio_rc helio_points_json(const helio_feed_t *feed, helio_text_t answer, bool forecast, helio_arena_t *arena,
                           helio_points_t *ret_points, helio_error_t *err)
{
    HELIO_AUTO(drop) json_t *root = NULL;
    helio_rc rc = load(answer, &root, err);
    if (rc != HELIO_OK)
        return rc;
    const helio_feed_fields_t *fields = &feed->fields;
    helio_text_t path = forecast ? fields->forecast_list : fields->list;
    json_t *list = find(root, path);
    bool one = json_is_object(list); /* a service that gives only the latest value has no list */
    size_t count = one ? 1 : json_array_size(list);
    if (!one && !json_is_array(list))
        return helio_fail(err, HELIO_INVALID, "the answer has no list at '%.*s'", HELIO_TEXT_ARGS(path));
    if (count > HELIO_POINTS_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "a list of more than %d entries", HELIO_POINTS_MAX);
    double factor;
    (void)helio_feed_unit(feed, &factor);
    helio_points_t points = {.items = helio_arena_alloc(arena, count * 2, sizeof *points.items)};
    for (size_t i = 0; i < count; i++) {
        json_t *entry = one ? list : json_array_get(list, i);
        helio_point_t point = {.estimated = fields->estimated.size && json_is_true(find(entry, fields->estimated))};
        if (!time_of(find(entry, forecast ? fields->forecast_time : fields->time), &point.time_ms))
            continue;
        if (!forecast) {
            add(&points, entry, fields->value, factor, point);
            point.estimated = false;
        }
        point.forecast = true;
        add(&points, entry, forecast ? fields->forecast_value : fields->forecast, factor, point);
    }
    *ret_points = points;
    return HELIO_OK;
}

helio_rc helio_json_text(helio_text_t answer, helio_text_t path, helio_arena_t *arena, helio_text_t *ret_text,
                         helio_error_t *err)
{
    HELIO_AUTO(drop) json_t *root = NULL;
    helio_rc rc = load(answer, &root, err);
    if (rc != HELIO_OK)
        return rc;
    const json_t *found = find(root, path);
    if (!json_is_string(found))
        return helio_fail(err, HELIO_INVALID, "the answer has no text at '%.*s'", HELIO_TEXT_ARGS(path));
    *ret_text = helio_arena_text(arena, (helio_text_t){json_string_value(found), (uint32_t)json_string_length(found)});
    return HELIO_OK;
}
