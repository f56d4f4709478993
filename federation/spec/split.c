/*  split.c -- splits a submission into jobs without decoding them, so that each keeps its exact bytes.
 *
 *  YAML forbids `---` at the beginning of a line inside a document (YAML 1.2.2, §9.1.2), so a stream is split by lines.
 *  JSON is split by brackets outside strings. Input that is not consistent as JSON is treated as YAML.
 */
#include <string.h>

#include "federation/spec/encoding.h"
#include "federation/spec/reader.h"

typedef struct splitter {
    helio_spec_reader_t reader;
    helio_spec_source_t source;
    const char *counted; /* lines up to here are counted in `line` */
    uint32_t line;
    helio_spec_parts_t parts;
    uint32_t capacity;
} splitter_t;

static helio_rc add(splitter_t *self, const char *from, const char *to)
{
    if (self->parts.count == HELIO_SPEC_STREAM_JOBS_MAX)
        return helio_spec_diagnose_at(&self->reader, (size_t)(from - self->source.text.data),
                                      (size_t)(from - self->source.text.data), HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                      "more than %d jobs in one submission", HELIO_SPEC_STREAM_JOBS_MAX);
    if (self->parts.count == self->capacity) {
        uint32_t capacity = self->capacity ? self->capacity * 2 : 16;
        helio_spec_source_t *items = helio_arena_alloc(self->reader.arena, capacity, sizeof *items);
        if (self->parts.count)
            memcpy(items, self->parts.items, self->parts.count * sizeof *items);
        self->parts.items = items;
        self->capacity = capacity;
    }
    for (const char *newline;
         self->counted < from && (newline = memchr(self->counted, '\n', (size_t)(from - self->counted)));
         self->counted = newline + 1)
        self->line++;
    self->counted = from;
    self->parts.items[self->parts.count++] =
        (helio_spec_source_t){{from, (uint32_t)(to - from)}, self->source.name, self->line};
    return HELIO_OK;
}

static void forget(splitter_t *self)
{
    self->parts.count = 0;
    self->counted = self->source.text.data;
    self->line = self->source.line ? self->source.line : 1;
}

/*  ---- JSON ---- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at = helio_spec_skip_ordinary(at + 1, end); at < end && *at != '"'; at = helio_spec_skip_ordinary(at + 1, end))
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : NULL;
}

/*  The position after the object that begins at `at`; NULL if the object has no end or cannot be JSON. */
static const char *skip_object(const char *at, const char *end)
{
    uint32_t depth = 0;
    if (at == end || *at != '{')
        return NULL;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            if (!at)
                return NULL;
            continue;
        }
        if (c == '\'' || c == '#' || (c == '-' && end - at >= 3 && memcmp(at, "---", 3) == 0))
            return NULL; /* YAML's quotes, comments, markers */
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
        if (depth == 0)
            return at;
    }
    return NULL;
}

/*  Objects separated by white space up to the end. False: not such a text. */
static bool split_lines(splitter_t *self, const char *at, const char *end, helio_rc *ret_rc)
{
    while (at < end) {
        const char *behind = skip_object(at, end);
        if (!behind)
            return false;
        *ret_rc = add(self, at, behind);
        if (*ret_rc != HELIO_OK)
            return true;
        at = skip_blanks(behind, end);
    }
    return true;
}

/*  `[object, object …]` from its opening bracket; `ret_behind` is the position after the closing bracket. */
static bool split_array(splitter_t *self, const char *at, const char *end, const char **ret_behind, helio_rc *ret_rc)
{
    if (at == end || *at != '[')
        return false;
    at = skip_blanks(at + 1, end);
    if (at < end && *at == ']') {
        *ret_behind = at + 1;
        return true;
    }
    for (;;) {
        const char *behind = skip_object(at, end);
        if (!behind)
            return false;
        *ret_rc = add(self, at, behind);
        if (*ret_rc != HELIO_OK)
            return true;
        at = skip_blanks(behind, end);
        if (at == end || (*at != ',' && *at != ']'))
            return false;
        if (*at++ == ']') {
            *ret_behind = at;
            return true;
        }
        at = skip_blanks(at, end);
    }
}

/*  {"jobs": [...]} and nothing else. */
static bool split_jobs_key(splitter_t *self, const char *at, const char *end, helio_rc *ret_rc)
{
    static const char key[] = "\"jobs\"";
    const char *behind = NULL;
    at = skip_blanks(at + 1, end);
    if ((size_t)(end - at) < sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0)
        return false;
    at = skip_blanks(at + sizeof key - 1, end);
    if (at == end || *at != ':')
        return false;
    if (!split_array(self, skip_blanks(at + 1, end), end, &behind, ret_rc))
        return false;
    if (*ret_rc != HELIO_OK)
        return true;
    at = skip_blanks(behind, end);
    return at < end && *at == '}' && skip_blanks(at + 1, end) == end;
}

static bool split_json(splitter_t *self, const char *at, const char *end, helio_rc *ret_rc)
{
    const char *behind = NULL;
    if (*at == '[')
        return split_array(self, at, end, &behind, ret_rc) && (*ret_rc != HELIO_OK || skip_blanks(behind, end) == end);
    if (*at != '{')
        return false;
    if (split_jobs_key(self, at, end, ret_rc))
        return true;
    forget(self);
    if (!split_lines(self, at, end, ret_rc))
        return false;
    if (self->parts.count == 1 && *ret_rc == HELIO_OK)
        self->parts.items[0].text = self->source.text; /* one document: all of its bytes, including white space */
    return true;
}

/*  ---- YAML ---- */

static const char *line_end(const char *at, const char *end)
{
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return newline ? newline + 1 : end;
}

static bool is_marker(const char *at, const char *end, const char *marker)
{
    return end - at >= 3 && memcmp(at, marker, 3) == 0 &&
           (end - at == 3 || at[3] == ' ' || at[3] == '\t' || at[3] == '\n' || at[3] == '\r');
}

/*  Whether a line has content: not blank, not a comment, not a directive, not a bare marker. */
static bool says_something(const char *at, const char *end)
{
    if (is_marker(at, end, "---"))
        at += 3;
    else if (at < end && *at == '%')
        return false;
    at = skip_blanks(at, end);
    return at < end && *at != '#';
}

/*  A part extends from its marker, or from the end of the last part, to the next marker. Directives belong to their
 *  document. */
static helio_rc split_yaml(splitter_t *self, const char *at, const char *end)
{
    const char *from = at, *line = at;
    bool says = false, directive = false;
    helio_rc rc = HELIO_OK;
    if (end - line >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    while (line < end && rc == HELIO_OK) {
        const char *next = line_end(line, end);
        bool begins = is_marker(line, end, "---"), ends = is_marker(line, end, "...");
        if (says && (begins || ends))
            rc = add(self, from, begins ? line : next);
        if (ends || (begins && (says || !directive)))
            from = begins ? line : next;
        if (begins || ends)
            says = directive = false;
        if (!says && *line == '%')
            directive = true;
        says = says || (!ends && says_something(line, next)); /* content after `...` belongs to the part that it ends */
        line = next;
    }
    return rc == HELIO_OK && says ? add(self, from, end) : rc;
}

helio_rc helio_spec_split(helio_spec_source_t source, helio_arena_t *arena, helio_spec_parts_t *ret_parts,
                          helio_diagnostic_t *ret_diagnostic)
{
    splitter_t self = {.source = source, .reader = {.source = source, .arena = arena, .diagnostic = ret_diagnostic}};
    const char *data = source.text.data ? source.text.data : "", *end = data + source.text.size;
    helio_rc rc = HELIO_OK;
    if (source.text.size > HELIO_SPEC_STREAM_MAX)
        return helio_spec_diagnose_at(&self.reader, 0, 0, HELIO_SPEC_TOO_BIG_PROBLEM, "split the submission",
                                      "the submission has %u bytes; the limit is %d", source.text.size,
                                      HELIO_SPEC_STREAM_MAX);
    self.source.text.data = data;
    forget(&self);
    const char *at = skip_blanks(data, end);
    if (at < end && !split_json(&self, at, end, &rc)) {
        forget(&self);
        rc = split_yaml(&self, data, end);
    }
    if (rc == HELIO_OK && self.parts.count == 0)
        rc = helio_spec_diagnose_at(&self.reader, 0, 0, HELIO_SPEC_MISSING_PROBLEM, "a job needs at least 'run: ...'",
                                    "the input contains no job");
    if (rc == HELIO_OK)
        *ret_parts = self.parts;
    return rc;
}
