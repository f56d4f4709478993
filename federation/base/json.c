/*  json.c -- the JSON writer: separators, indentation, escapes, numbers. */
#include "federation/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/utf8.h"

helio_json_writer_t helio_json_into(helio_buffer_t *out)
{
    return (helio_json_writer_t){.out = out};
}

helio_json_writer_t helio_json_indented_into(helio_buffer_t *out)
{
    return (helio_json_writer_t){.out = out, .indented = true};
}

/*  Characters that need no escape are written in one piece. */
static void put_quoted(helio_buffer_t *out, helio_text_t text)
{
    uint32_t from = 0;
    helio_buffer_text(out, "\"");
    for (uint32_t at = 0; at < text.size;) {
        unsigned char c = (unsigned char)text.data[at];
        uint32_t size = (uint32_t)helio_utf8_sequence(text.data + at, text.size - at);
        bool plain = size && c >= ' ' && c != '"' && c != '\\' && c != 0x7f;
        if (!plain) {
            helio_buffer_append(out, text.data + from, at - from);
            if (!size)
                helio_buffer_text(out, "\\ufffd");
            else if (c == '"' || c == '\\')
                helio_buffer_printf(out, "\\%c", c);
            else if (c == '\n')
                helio_buffer_text(out, "\\n");
            else
                helio_buffer_printf(out, "\\u%04x", c);
            from = at + (size ? size : 1);
        }
        at += size ? size : 1;
    }
    helio_buffer_append(out, text.data + from, text.size - from);
    helio_buffer_text(out, "\"");
}

static uint32_t bit(const helio_json_writer_t *self)
{
    return 1u << (self->depth - 1);
}

static bool is_in_array(const helio_json_writer_t *self)
{
    return self->depth && (self->arrays & bit(self));
}

static void new_line(const helio_json_writer_t *self)
{
    if (self->indented)
        helio_buffer_printf(self->out, "\n%*s", (int)(self->depth * 2), "");
}

/*  Writes the separator before a value: a comma, a new line, its name. */
static void lead(helio_json_writer_t *self, const char *name)
{
    bool in_object = self->depth && !is_in_array(self);
    assert(in_object == (name != NULL));
    if (!self->depth)
        return;
    if (self->filled & bit(self))
        helio_buffer_text(self->out, self->indented && !in_object ? ", " : ",");
    self->filled |= bit(self);
    if (!in_object)
        return;
    new_line(self);
    put_quoted(self->out, helio_text_of(name));
    helio_buffer_text(self->out, self->indented ? ": " : ":");
}

static void begin(helio_json_writer_t *self, const char *name, bool array)
{
    lead(self, name);
    assert(self->depth < HELIO_JSON_DEPTH_MAX);
    self->depth++;
    self->filled &= ~bit(self);
    self->arrays = array ? self->arrays | bit(self) : self->arrays & ~bit(self);
    helio_buffer_text(self->out, array ? "[" : "{");
}

void helio_json_begin_object(helio_json_writer_t *self, const char *name)
{
    begin(self, name, false);
}

void helio_json_begin_array(helio_json_writer_t *self, const char *name)
{
    begin(self, name, true);
}

void helio_json_end(helio_json_writer_t *self)
{
    assert(self->depth);
    bool array = is_in_array(self), filled = self->filled & bit(self);
    self->depth--;
    if (!array && filled)
        new_line(self);
    helio_buffer_text(self->out, array ? "]" : "}");
}

void helio_json_put_text(helio_json_writer_t *self, const char *name, helio_text_t value)
{
    lead(self, name);
    put_quoted(self->out, value);
}

void helio_json_put_string(helio_json_writer_t *self, const char *name, const char *value)
{
    helio_json_put_text(self, name, helio_text_of(value));
}

void helio_json_put_text_or_null(helio_json_writer_t *self, const char *name, helio_text_t value)
{
    if (value.size)
        helio_json_put_text(self, name, value);
    else
        helio_json_put_null(self, name);
}

void helio_json_put_time(helio_json_writer_t *self, const char *name, int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    if (!wall_ms) {
        helio_json_put_null(self, name);
        return;
    }
    helio_rfc3339(wall_ms, text);
    helio_json_put_string(self, name, text);
}

void helio_json_put_u64(helio_json_writer_t *self, const char *name, uint64_t value)
{
    lead(self, name);
    helio_buffer_printf(self->out, "%" PRIu64, value);
}

void helio_json_put_i64(helio_json_writer_t *self, const char *name, int64_t value)
{
    lead(self, name);
    helio_buffer_printf(self->out, "%" PRId64, value);
}

/*  With as few digits as give the same number again, and a point or an exponent, since readers distinguish reals from
 *  integers. */
void helio_json_put_real(helio_json_writer_t *self, const char *name, double value)
{
    char text[32];
    if (!isfinite(value)) {
        helio_json_put_null(self, name);
        return;
    }
    (void)snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) < value || strtod(text, NULL) > value)
        (void)snprintf(text, sizeof text, "%.17g", value);
    lead(self, name);
    helio_buffer_text(self->out, text);
    if (!strpbrk(text, ".e"))
        helio_buffer_text(self->out, ".0");
}

void helio_json_put_bool(helio_json_writer_t *self, const char *name, bool value)
{
    lead(self, name);
    helio_buffer_text(self->out, value ? "true" : "false");
}

void helio_json_put_null(helio_json_writer_t *self, const char *name)
{
    lead(self, name);
    helio_buffer_text(self->out, "null");
}

void helio_json_put_raw(helio_json_writer_t *self, const char *name, helio_text_t json)
{
    lead(self, name);
    helio_buffer_append(self->out, json.data, json.size);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

void helio_json_put_members(helio_json_writer_t *self, helio_text_t object)
{
    while (object.size && is_blank(object.data[object.size - 1]))
        object.size--;
    while (object.size && is_blank(object.data[0]))
        object = (helio_text_t){object.data + 1, object.size - 1};
    assert(self->depth && !is_in_array(self));
    assert(object.size >= 2 && object.data[0] == '{' && object.data[object.size - 1] == '}');
    object = (helio_text_t){object.data + 1, object.size - 2};
    while (object.size && is_blank(object.data[0]))
        object = (helio_text_t){object.data + 1, object.size - 1};
    if (!object.size)
        return;
    if (self->filled & bit(self))
        helio_buffer_text(self->out, ",");
    self->filled |= bit(self);
    helio_buffer_append(self->out, object.data, object.size);
}
