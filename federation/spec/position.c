/*  position.c -- where an error is: turns a range of bytes into a diagnostic with line, column and source text, and
 *  keeps the path of keys. The texts of errors are with the readers: scalar.c, reader.c, job_values.c, site_fields.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/utf8.h"
#include "federation/spec/reader.h"

enum { LINE_CHARS_MAX = 76, LINE_BEFORE = 36 };

/*  Bytes of the UTF-8 character at `at`, at least 1; invalid bytes count as one character each. */
static size_t char_size(const char *at, const char *end)
{
    size_t size = 1;
    while (at + size < end && size < 4 && ((unsigned char)at[size] & 0xc0) == 0x80)
        size++;
    return ((unsigned char)*at & 0x80) ? size : 1;
}

static bool is_broken(const char *at, size_t size)
{
    unsigned char first = (unsigned char)*at;
    size_t want = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    return want != size || (first >= 0x80 && first < 0xc2) || first > 0xf4;
}

/*  Copies whole characters while they fit; characters that are unsafe on a terminal become a space or '?'. */
static void copy_clean(const char *from, const char *end, uint32_t chars_max, char *ret_text, size_t capacity)
{
    size_t used = 0;
    for (uint32_t chars = 0; from < end && chars < chars_max; chars++) {
        size_t size = char_size(from, end);
        unsigned char c = (unsigned char)*from;
        if (used + size >= capacity)
            break;
        if (c < 0x20 || c == 0x7f)
            ret_text[used++] = ' ';
        else if (is_broken(from, size) || helio_utf8_is_control(from, size))
            ret_text[used++] = '?';
        else {
            memcpy(ret_text + used, from, size);
            used += size;
        }
        from += size;
    }
    ret_text[used] = '\0';
}

static bool line_ends(const char *at, const char *end)
{
    return *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] != '\n'));
}

static uint32_t count_chars(const char *at, const char *to, const char *end)
{
    uint32_t count = 0;
    for (; at < to; at += char_size(at, end))
        count++;
    return count;
}

static void fill_place(helio_diagnostic_t *self, const helio_spec_source_t *source, size_t offset, size_t end_offset)
{
    const char *data = source->text.data, *end = data + source->text.size;
    if (!data)
        return;
    if (offset > source->text.size)
        offset = source->text.size;
    const char *at = data + offset, *line = data, *line_end = at;
    self->line = source->line ? source->line : 1;
    for (const char *scan = data; scan < at; scan++)
        if (line_ends(scan, end)) {
            self->line++;
            line = scan + 1;
        }
    while (line_end < end && *line_end != '\n' && *line_end != '\r')
        line_end++;
    if (line == data && source->text.size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        line += at >= data + 3 ? 3 : 0; /* a byte order mark takes no column */
    self->column = count_chars(line, at, end) + 1;
    const char *to = data + end_offset < line_end ? data + end_offset : line_end;
    self->span = to > at ? count_chars(at, to, end) : 1;
    self->source_skip = self->column > LINE_CHARS_MAX ? self->column - LINE_BEFORE : 0;
    for (uint32_t i = 0; i < self->source_skip; i++)
        line += char_size(line, end);
    copy_clean(line, line_end, LINE_CHARS_MAX, self->source_line, sizeof self->source_line);
    uint32_t room = LINE_CHARS_MAX - (self->column - 1 - self->source_skip);
    if (self->span > room)
        self->span = room ? room : 1;
}

/*  The slot of the next diagnostic; NULL = none. */
static helio_diagnostic_t *slot_of(helio_spec_reader_t *self)
{
    helio_diagnostics_t *all = self->all;
    if (!all)
        return self->diagnostic;
    all->more = all->count == HELIO_DIAGNOSTICS_MAX;
    return all->more ? NULL : &all->items[all->count++];
}

HELIO_PRINTF(6, 0)
static void diagnose(helio_spec_reader_t *self, size_t offset, size_t end, helio_spec_problem_t problem,
                     const char *hint, const char *format, va_list args)
{
    helio_diagnostic_t diagnostic = {.problem = problem, .span = 1};
    helio_diagnostic_t *slot = slot_of(self);
    if (!slot)
        return;
    char message[1024];
    const char *name = self->source.name ? self->source.name : "input";
    copy_clean(name, name + strlen(name), UINT32_MAX, diagnostic.source_name, sizeof diagnostic.source_name);
    copy_clean(self->path, self->path + self->path_size, UINT32_MAX, diagnostic.path, sizeof diagnostic.path);
    (void)vsnprintf(message, sizeof message, format, args);
    copy_clean(message, message + strlen(message), UINT32_MAX, diagnostic.message, sizeof diagnostic.message);
    if (hint)
        copy_clean(hint, hint + strlen(hint), UINT32_MAX, diagnostic.hint, sizeof diagnostic.hint);
    fill_place(&diagnostic, &self->source, offset, end);
    *slot = diagnostic;
}

helio_rc helio_spec_diagnose_at(helio_spec_reader_t *self, size_t offset, size_t end, helio_spec_problem_t problem,
                                const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diagnose(self, offset, end, problem, hint, format, args);
    va_end(args);
    return problem == HELIO_SPEC_TOO_BIG_PROBLEM ? HELIO_TOO_BIG : HELIO_INVALID;
}

helio_rc helio_spec_diagnose(helio_spec_reader_t *self, const helio_spec_node_t *node, helio_spec_problem_t problem,
                             const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    /* For a mapping or list mark only the first character: it may be pages long. */
    bool whole = node->type == HELIO_SPEC_SCALAR || node->type == HELIO_SPEC_NULL;
    diagnose(self, node->offset, whole ? node->end : node->offset, problem, hint, format, args);
    va_end(args);
    return problem == HELIO_SPEC_TOO_BIG_PROBLEM ? HELIO_TOO_BIG : HELIO_INVALID;
}

const char *helio_spec_found(const helio_spec_node_t *node, char ret_text[HELIO_SPEC_FOUND_SIZE])
{
    const char *text = node->text.data, *end = text ? text + node->text.size : text;
    char shown[HELIO_SPEC_FOUND_SIZE - 8];
    switch (node->type) {
    case HELIO_SPEC_MAPPING:
        return "a mapping";
    case HELIO_SPEC_SEQUENCE:
        return "a list";
    case HELIO_SPEC_NULL:
        return "nothing";
    case HELIO_SPEC_SCALAR:
        break;
    }
    if (node->text.size == 0)
        return "an empty text";
    copy_clean(text, end, 40, shown, sizeof shown);
    const char *shown_end = shown + strlen(shown);
    bool cut = count_chars(shown, shown_end, shown_end) < count_chars(text, end, end);
    (void)snprintf(ret_text, HELIO_SPEC_FOUND_SIZE, "'%s%s'", shown, cut ? "..." : "");
    return ret_text;
}

/*  Called for every key, so it is written by hand; a path that does not fit is truncated. */
size_t helio_spec_path_key(helio_spec_reader_t *self, helio_text_t key)
{
    size_t before = self->path_size;
    if (before && before + 1 < sizeof self->path)
        self->path[self->path_size++] = '.';
    size_t room = sizeof self->path - 1 - self->path_size;
    size_t size = key.size < room ? key.size : room;
    if (size)
        memcpy(self->path + self->path_size, key.data, size);
    self->path_size += size;
    self->path[self->path_size] = '\0';
    return before;
}

size_t helio_spec_path_index(helio_spec_reader_t *self, uint32_t index)
{
    size_t before = self->path_size, room = sizeof self->path - before;
    int size = snprintf(self->path + before, room, "[%u]", index);
    self->path_size += size < 0 ? 0 : (size_t)size < room ? (size_t)size : room - 1;
    return before;
}

void helio_spec_path_cut(helio_spec_reader_t *self, size_t size)
{
    self->path_size = size;
    self->path[size] = '\0';
}
