/*  json.c -- parses a document of plain JSON in one pass over its bytes.
 *
 *  Programs submit JSON by the thousand, and libyaml would take most of the time of such a submission. This parser
 *  accepts only what both grammars read alike, and rejects everything else without a message. node.c then parses the
 *  same bytes, and either accepts them or reports the error, so that there is only one set of messages. Rejected
 *  although valid JSON: characters that YAML treats as line breaks or as not printable, surrogate escapes, tabs and
 *  carriage returns, a key on another line than its colon or far from it, NUL, duplicate keys, and anything beyond a
 *  bound.
 */
#include <string.h>

#include "federation/spec/encoding.h"
#include "federation/base/char.h"
#include "federation/spec/reader.h"

enum {
    KEY_REACH_MAX = 1000 /* bytes from a key to its colon: the limit of libyaml is 1,024 */
};

typedef struct json {
    helio_arena_t *arena;
    const char *data;
    const char *at;
    const char *end;
    char *copy; /* of the source: texts are decoded into it in place */
    uint32_t nodes;
    uint32_t depth;
} json_t;

static bool take_value(json_t *self, helio_spec_node_t *node);

static void skip_blanks(json_t *self)
{
    while (self->at < self->end && (*self->at == ' ' || *self->at == '\n'))
        self->at++;
}

static bool take_char(json_t *self, char c)
{
    if (self->at == self->end || *self->at != c)
        return false;
    self->at++;
    return true;
}

static helio_spec_node_t *add_node(json_t *self, helio_spec_node_t *parent)
{
    if (++self->nodes > HELIO_SPEC_NODES_MAX)
        return NULL;
    helio_spec_node_t *node = helio_arena_alloc(self->arena, 1, sizeof *node);
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return node;
}

/*  ---- texts ---- */

/*  The four digits after \u, as UTF-8. An escape is longer than its character. */
static char *take_code(json_t *self, char *out)
{
    uint32_t code = 0;
    if (self->end - self->at < 4)
        return NULL;
    for (int i = 0; i < 4; i++) {
        int digit = helio_hex_digit(*self->at++);
        if (digit < 0)
            return NULL;
        code = code << 4 | (uint32_t)digit;
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        return NULL;
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/*  The escape after a backslash. */
static char *take_escape(json_t *self, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (self->at == self->end || *self->at == '\0')
        return NULL;
    char c = *self->at++;
    if (c == 'u')
        return take_code(self, out);
    const char *name = strchr(names, c);
    if (!name)
        return NULL;
    *out++ = values[name - names];
    return out;
}

/*  Bytes of a non-ASCII character that both grammars read alike; 0 = not such a character. YAML breaks lines at
 *  U+0085, U+2028 and U+2029, and refuses a byte order mark and non-characters. */
static size_t shared_size(const json_t *self)
{
    const unsigned char *at = (const unsigned char *)self->at;
    size_t size = helio_spec_printable_size(at, (const unsigned char *)self->end);
    bool apart = (size == 2 && at[0] == 0xc2 && at[1] < 0xa0) ||
                 (size == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9)) ||
                 (size == 3 && at[0] == 0xef && ((at[1] == 0xbb && at[2] == 0xbf) || (at[1] == 0xbf && at[2] >= 0xbe)));
    return apart ? 0 : size;
}

/*  The part of the text that stands for itself. False: a character that the grammars do not share. */
static bool skip_characters(json_t *self)
{
    for (;;) {
        self->at = helio_spec_skip_ordinary(self->at, self->end);
        if (self->at == self->end || (unsigned char)*self->at < 0x80)
            return true;
        size_t size = shared_size(self);
        if (!size)
            return false;
        self->at += size;
    }
}

static bool take_string(json_t *self, helio_spec_node_t *node)
{
    node->type = HELIO_SPEC_SCALAR;
    node->offset = (uint32_t)(self->at - self->data);
    if (!take_char(self, '"'))
        return false;
    char *text = self->copy + (self->at - self->data), *out = text;
    for (;;) {
        const char *from = self->at;
        if (!skip_characters(self))
            return false;
        size_t run = (size_t)(self->at - from);
        if (out != self->copy + (from - self->data)) /* after an escape; before it everything is in place */
            memmove(out, from, run);
        out += run;
        if (self->at == self->end)
            return false;
        if (*self->at++ == '"')
            break;
        if (self->at[-1] != '\\')
            return false;
        out = take_escape(self, out);
        if (!out)
            return false;
    }
    *out = '\0';
    node->text = (helio_text_t){text, (uint32_t)(out - text)};
    node->end = (uint32_t)(self->at - self->data);
    return true;
}

/*  ---- numbers and words ---- */

static bool take_digits(json_t *self)
{
    const char *from = self->at;
    while (self->at < self->end && helio_is_digit(*self->at))
        self->at++;
    return self->at > from;
}

static bool take_number(json_t *self)
{
    (void)take_char(self, '-');
    if (!take_char(self, '0') && !take_digits(self))
        return false;
    if (take_char(self, '.') && !take_digits(self))
        return false;
    if (take_char(self, 'e') || take_char(self, 'E')) {
        if (!take_char(self, '+'))
            (void)take_char(self, '-');
        return take_digits(self);
    }
    return true;
}

static bool take_word(json_t *self, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(self->end - self->at) < size || memcmp(self->at, word, size) != 0)
        return false;
    self->at += size;
    return true;
}

static bool take_plain(json_t *self, helio_spec_node_t *node)
{
    const char *from = self->at;
    bool null = take_word(self, "null");
    if (!null && !take_word(self, "true") && !take_word(self, "false") && !take_number(self))
        return false;
    if (self->at == self->end || !memchr(" \n,]}", *self->at, 5))
        return false;
    node->type = null ? HELIO_SPEC_NULL : HELIO_SPEC_SCALAR;
    node->plain = true;
    node->offset = (uint32_t)(from - self->data);
    node->end = (uint32_t)(self->at - self->data);
    self->copy[node->end] = '\0'; /* a space, a comma or a bracket: not part of a text */
    node->text = (helio_text_t){self->copy + node->offset, node->end - node->offset};
    return true;
}

/*  ---- collections ---- */

static bool take_key(json_t *self, helio_spec_node_t *mapping)
{
    if (mapping->count == HELIO_SPEC_KEYS_MAX)
        return false;
    const helio_spec_node_t *last = mapping->last;
    helio_spec_node_t *key = add_node(self, mapping);
    const char *from = self->at;
    if (!key || !take_string(self, key))
        return false;
    if (last)
        for (const helio_spec_node_t *seen = mapping->first; seen != key; seen = seen->next->next)
            if (helio_text_equal(seen->text, key->text))
                return false;
    while (self->at < self->end && *self->at == ' ')
        self->at++;
    return self->at - from <= KEY_REACH_MAX && take_char(self, ':');
}

static bool take_collection(json_t *self, helio_spec_node_t *node)
{
    bool mapping = *self->at == '{';
    char closing = mapping ? '}' : ']';
    node->type = mapping ? HELIO_SPEC_MAPPING : HELIO_SPEC_SEQUENCE;
    node->offset = (uint32_t)(self->at - self->data);
    node->end = node->offset + 1;
    if (self->depth == HELIO_SPEC_DEPTH_MAX)
        return false;
    self->depth++;
    self->at++;
    skip_blanks(self);
    for (bool more = !take_char(self, closing); more; more = !take_char(self, closing)) {
        if (node->count > 0) {
            if (!take_char(self, ','))
                return false;
            skip_blanks(self);
        }
        if (mapping && !take_key(self, node))
            return false;
        skip_blanks(self);
        helio_spec_node_t *value = add_node(self, node);
        if (!value || !take_value(self, value))
            return false;
        node->count++;
        skip_blanks(self);
    }
    self->depth--;
    return true;
}

static bool take_value(json_t *self, helio_spec_node_t *node)
{
    if (self->at == self->end)
        return false;
    if (*self->at == '{' || *self->at == '[')
        return take_collection(self, node);
    return *self->at == '"' ? take_string(self, node) : take_plain(self, node);
}

bool helio_spec_json_tree(helio_spec_reader_t *self, size_t source_max, helio_spec_node_t **ret_root)
{
    helio_text_t text = self->source.text;
    json_t json = {.arena = self->arena, .data = text.data, .at = text.data};
    if (text.size == 0 || text.size > source_max)
        return false;
    json.end = text.data + text.size;
    skip_blanks(&json);
    if (json.at == json.end || *json.at != '{')
        return false;
    json.copy = helio_arena_alloc(self->arena, (size_t)text.size + 1, 1);
    memcpy(json.copy, text.data, text.size);
    json.nodes = 1;
    helio_spec_node_t *root = helio_arena_alloc(self->arena, 1, sizeof *root);
    if (!take_collection(&json, root))
        return false;
    skip_blanks(&json);
    if (json.at < json.end)
        return false;
    *ret_root = root;
    return true;
}
