/*  target.c -- decodes a target. The library's own decoding ends a path at %00 and turns an escaped slash into a
 *  separator. */
#include "broker/http/request/target.h"

#include <string.h>

#include "federation/base/char.h"
#include "federation/base/utf8.h"

/*  NULL: a bad escape, a byte that is not allowed in a name, or no UTF-8, which the database would not take. plus: '+' is
 *  a space, as in forms. */
static const char *decode(helio_text_t text, bool plus, helio_arena_t *arena)
{
    char *out = helio_arena_alloc(arena, (size_t)text.size + 1, 1);
    size_t size = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '%') {
            bool whole = text.size - i > 2;
            int high = whole ? helio_hex_digit(text.data[i + 1]) : -1;
            int low = whole ? helio_hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return NULL;
            c = (unsigned char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c < 0x20 || c == 0x7f)
            return NULL;
        out[size++] = (char)c;
    }
#ifdef HELIO_MUTANT_targets_of_any_bytes
    return out;
#endif
    return helio_utf8_is_text((helio_text_t){out, (uint32_t)size}) ? out : NULL;
}

static helio_rc read_path(helio_text_t path, helio_arena_t *arena, helio_target_t *target, helio_error_t *err)
{
    if (path.size == 0 || path.data[0] != '/')
        return helio_fail(err, HELIO_INVALID, "the request's target does not begin with '/'");
    const char *at = path.data + 1, *end = path.data + path.size;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash ? slash : end;
        if (target->segment_count == HELIO_TARGET_SEGMENTS_MAX)
            return helio_fail(err, HELIO_TOO_BIG, "the path has more than %d parts", HELIO_TARGET_SEGMENTS_MAX);
        const char *segment = decode((helio_text_t){at, (uint32_t)(stop - at)}, false, arena);
        if (!segment || !*segment || strchr(segment, '/') || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
            return helio_fail(err, HELIO_INVALID, "the path has a part that is empty, malformed or not UTF-8");
        target->segments[target->segment_count++] = segment;
        target->folder = slash && slash + 1 == end;
        at = stop + 1;
    }
    return HELIO_OK;
}

static helio_rc read_query(helio_text_t query, helio_arena_t *arena, helio_target_t *target, helio_error_t *err)
{
    const char *at = query.data, *end = query.data + query.size;
    while (at < end) {
        const char *ampersand = memchr(at, '&', (size_t)(end - at));
        const char *stop = ampersand ? ampersand : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        const char *name_end = equals ? equals : stop;
        if (stop > at) {
            if (target->query_count == HELIO_TARGET_QUERY_MAX)
                return helio_fail(err, HELIO_TOO_BIG, "more than %d query parameters", HELIO_TARGET_QUERY_MAX);
            const char *name = decode((helio_text_t){at, (uint32_t)(name_end - at)}, true, arena);
            const char *value =
                equals ? decode((helio_text_t){equals + 1, (uint32_t)(stop - equals - 1)}, true, arena) : "";
            if (!name || !value || !*name)
                return helio_fail(err, HELIO_INVALID, "a query parameter is malformed or not UTF-8");
            if (helio_target_query(target, name))
                return helio_fail(err, HELIO_INVALID, "the query parameter '%.64s' is given twice", name);
            target->query[target->query_count].name = name;
            target->query[target->query_count++].value = value;
        }
        at = stop + 1;
    }
    return HELIO_OK;
}

helio_rc helio_target_parse(helio_text_t text, helio_arena_t *arena, helio_target_t *ret_target, helio_error_t *err)
{
    if (text.size > HELIO_TARGET_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "the request's target is longer than %d bytes", HELIO_TARGET_MAX);
    if (text.size && memchr(text.data, '#', text.size)) /* no part of a target, and a client cuts off what follows it */
        return helio_fail(err, HELIO_INVALID, "the request's target has a '#': write %%23");
    helio_target_t target = {0};
    const char *question = text.size ? memchr(text.data, '?', text.size) : NULL;
    helio_text_t path = {text.data, question ? (uint32_t)(question - text.data) : text.size};
    helio_rc rc = read_path(path, arena, &target, err);
    if (rc == HELIO_OK && question) {
        helio_text_t query = {question + 1, (uint32_t)(text.size - path.size - 1)};
        rc = read_query(query, arena, &target, err);
    }
    if (rc == HELIO_OK)
        *ret_target = target;
    return rc;
}

const char *helio_target_query(const helio_target_t *self, const char *name)
{
    for (uint32_t i = 0; i < self->query_count; i++)
        if (strcmp(self->query[i].name, name) == 0)
            return self->query[i].value;
    return NULL;
}
