/*  node.c -- builds a bounded tree from bytes; the only file that uses libyaml.
 *
 *  It reads the parser's events instead of its documents, so that aliases are refused before they are resolved, and
 *  depth, entries and duplicates are checked while the tree grows. It uses libyaml instead of libfyaml because Debian
 *  12's libfyaml 0.7.12 crashes on small hostile documents ("? x:<TAB>?<TAB>b", a newline, "c"), and tenants write
 *  these documents.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "federation/spec/encoding.h"

/*  The open containers while events arrive. */
typedef struct builder {
    helio_spec_reader_t *reader;
    helio_spec_node_t *open[HELIO_SPEC_DEPTH_MAX];
    bool in_braces[HELIO_SPEC_DEPTH_MAX]; /* whether an open mapping is one in braces */
    uint32_t depth;
    uint32_t nodes;
    uint32_t documents;
    helio_spec_node_t *root;
    size_t cursor; /* a position in the source: the same in bytes and in characters */
    size_t cursor_index;
} builder_t;

static bool awaits_key(const helio_spec_node_t *mapping)
{
    return mapping->type == HELIO_SPEC_MAPPING && mapping->count % 2 == 0;
}

static helio_rc refuse_duplicate(builder_t *self, const helio_spec_node_t *mapping, const helio_spec_node_t *key)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    /* A key is checked only if all keys before it have their values: keys are every second child. */
    for (const helio_spec_node_t *seen = mapping->first; seen; seen = seen->next->next)
        if (helio_text_equal(seen->text, key->text))
            return helio_spec_diagnose(self->reader, key, HELIO_SPEC_DUPLICATE_KEY_PROBLEM,
                                       "remove one of the two, or rename it", "key %s is given twice",
                                       helio_spec_found(key, found));
    return HELIO_OK;
}

static helio_rc check_key(builder_t *self, const helio_spec_node_t *mapping, const helio_spec_node_t *key)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    if (key->type != HELIO_SPEC_SCALAR)
        return helio_spec_diagnose(self->reader, key, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL,
                                   "expected the name of a key, found %s", helio_spec_found(key, found));
    if (mapping->count / 2 >= HELIO_SPEC_KEYS_MAX)
        return helio_spec_diagnose(self->reader, key, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                   "more than %d keys in one mapping", HELIO_SPEC_KEYS_MAX);
    return refuse_duplicate(self, mapping, key);
}

/*  Appends a node to the open container. While a mapping grows, its count includes keys and values. */
static helio_rc attach(builder_t *self, helio_spec_node_t *node)
{
    if (++self->nodes > HELIO_SPEC_NODES_MAX)
        return helio_spec_diagnose(self->reader, node, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                   "more than %d values in one file", HELIO_SPEC_NODES_MAX);
    if (self->depth == 0) {
        self->root = node;
        return HELIO_OK;
    }
    helio_spec_node_t *parent = self->open[self->depth - 1];
    if (awaits_key(parent)) {
        helio_rc rc = check_key(self, parent, node);
        if (rc != HELIO_OK)
            return rc;
    } else if (node->type == HELIO_SPEC_NULL && node->offset == node->end) {
        const helio_spec_node_t *near = parent->last ? parent->last : parent;
        node->offset = near->offset; /* an absent value has the position of its key */
        node->end = near->end;
    }
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
    return HELIO_OK;
}

/*  libyaml counts characters from the beginning of its input; here all positions are bytes of the source. Marks
 *  arrive nearly in order, so a cursor that moves in both directions is cheap. */
static size_t byte_of(builder_t *self, size_t index)
{
    helio_text_t text = self->reader->source.text;
    for (; self->cursor_index < index && self->cursor < text.size; self->cursor_index++)
        do
            self->cursor++;
        while (self->cursor < text.size && ((unsigned char)text.data[self->cursor] & 0xc0) == 0x80);
    for (; self->cursor_index > index; self->cursor_index--)
        do
            self->cursor--;
        while (((unsigned char)text.data[self->cursor] & 0xc0) == 0x80);
    return self->cursor;
}

static helio_spec_node_t *node_of(builder_t *self, const yaml_event_t *event, helio_spec_node_type_t type)
{
    helio_spec_node_t *node = helio_arena_alloc(self->reader->arena, 1, sizeof *node);
    node->type = type;
    node->offset = (uint32_t)byte_of(self, event->start_mark.index);
    node->end = (uint32_t)byte_of(self, event->end_mark.index);
    return node;
}

static helio_rc open_node(builder_t *self, helio_spec_node_t *node)
{
    helio_rc rc = attach(self, node);
    if (rc != HELIO_OK)
        return rc;
    if (self->depth == HELIO_SPEC_DEPTH_MAX)
        return helio_spec_diagnose(self->reader, node, HELIO_SPEC_TOO_BIG_PROBLEM, NULL, "nested deeper than %d levels",
                                   HELIO_SPEC_DEPTH_MAX);
    self->open[self->depth++] = node;
    return HELIO_OK;
}

static helio_rc open_mapping(builder_t *self, const yaml_event_t *event)
{
    helio_rc rc = open_node(self, node_of(self, event, HELIO_SPEC_MAPPING));
    if (rc == HELIO_OK)
        self->in_braces[self->depth - 1] = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    return rc;
}

static void close_node(builder_t *self)
{
    helio_spec_node_t *node = self->open[--self->depth];
    if (node->type == HELIO_SPEC_MAPPING)
        node->count /= 2;
}

static helio_rc refuse_feature(builder_t *self, const yaml_event_t *event, const char *what, const char *hint)
{
    size_t offset = byte_of(self, event->start_mark.index), end = offset;
    helio_text_t text = self->reader->source.text;
    while (end < text.size && (unsigned char)text.data[end] > ' ' && !strchr(",]}", text.data[end]))
        end++;
    return helio_spec_diagnose_at(self->reader, offset, end, HELIO_SPEC_FORBIDDEN_PROBLEM, hint, "%s are not supported",
                                  what);
}

static helio_rc refuse_properties(builder_t *self, const yaml_event_t *event, const yaml_char_t *anchor,
                                  const yaml_char_t *tag)
{
    if (anchor)
        return refuse_feature(self, event, "anchors (&name)",
                              "repeat the value, or put text that begins with '&' in quotes");
    if (tag)
        return refuse_feature(self, event, "tags (!name)", "put text that begins with '!' in quotes");
    return HELIO_OK;
}

static bool is_null_word(helio_text_t text)
{
    return text.size == 0 || helio_text_is(text, "~") || helio_text_is(text, "null");
}

static helio_rc add_scalar(builder_t *self, const yaml_event_t *event)
{
    helio_text_t text = {(const char *)event->data.scalar.value, (uint32_t)event->data.scalar.length};
    helio_rc rc = refuse_properties(self, event, event->data.scalar.anchor, event->data.scalar.tag);
    if (rc != HELIO_OK)
        return rc;
    helio_spec_node_t *node = node_of(self, event, HELIO_SPEC_SCALAR);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (text.size && memchr(text.data, '\0', text.size))
        return helio_spec_diagnose(self->reader, node, HELIO_SPEC_MALFORMED_PROBLEM, NULL,
                                   "text must not contain NUL characters");
    node->text = helio_arena_text(self->reader->arena, text);
    if (node->plain && is_null_word(text))
        node->type = HELIO_SPEC_NULL;
    return attach(self, node);
}

static helio_rc take_event(builder_t *self, const yaml_event_t *event)
{
    helio_rc rc = HELIO_OK;
    size_t at;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        at = byte_of(self, event->start_mark.index);
        if (++self->documents > 1)
            rc = helio_spec_diagnose_at(self->reader, at, at, HELIO_SPEC_FORBIDDEN_PROBLEM, NULL,
                                        "a second document begins here, but only one is expected");
        break;
    case YAML_SCALAR_EVENT:
        rc = add_scalar(self, event);
        break;
    case YAML_MAPPING_START_EVENT:
        rc = refuse_properties(self, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        if (rc == HELIO_OK)
            rc = open_mapping(self, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        rc = refuse_properties(self, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        if (rc == HELIO_OK)
            rc = open_node(self, node_of(self, event, HELIO_SPEC_SEQUENCE));
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        close_node(self);
        break;
    case YAML_ALIAS_EVENT:
        rc = refuse_feature(self, event, "aliases (*name)",
                            "repeat the value, or put text that begins with '*' in quotes");
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return rc;
}

/*  What libyaml could not read. It has no codes for that, so it follows from where libyaml stopped and what begins at
 *  the element that it was reading, its context; libyaml's sentences are shown and never compared. */
typedef enum fault {
    OTHER_FAULT,
    SECOND_DOCUMENT, /* content after the end of the document */
    MISPLACED_KEY,   /* a key or its colon where the block allows none */
    UNFINISHED_KEY,  /* a line that ought to be a key, without a colon */
    OPEN_QUOTE,      /* quotes that are not closed */
} fault_t;

/*  Whether the quotes that open at `from` are closed before `to`. */
static bool is_closed(helio_text_t text, size_t from, size_t to)
{
    char quote = text.data[from];
    for (size_t at = from + 1; at < to; at++)
        if (text.data[at] == '\\' && quote == '"')
            at++;
        else if (text.data[at] == quote && quote == '\'' && at + 1 < to && text.data[at + 1] == quote)
            at++; /* '' is one of the text */
        else if (text.data[at] == quote)
            return true;
    return false;
}

static bool has_space(helio_text_t text, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++)
        if (strchr(" \t\r\n", text.data[at]))
            return true;
    return false;
}

/*  Whether a tag, an anchor or an alias is whole: something follows its name, if only the end of the text. */
static bool is_named(helio_text_t text, size_t from, size_t to)
{
    return has_space(text, from, to) || (to >= text.size && (text.data[from] == '!' || to > from + 1));
}

/*  Of the scanner, while it read the element at context_at. Only a whole element can lack the colon of a key. */
static fault_t fault_of_element(helio_text_t text, size_t problem_at, size_t context_at)
{
    bool whole = true;
    if (context_at >= problem_at || context_at >= text.size)
        return OTHER_FAULT;
    switch (text.data[context_at]) {
    case '"':
    case '\'':
        whole = is_closed(text, context_at, problem_at);
        if (!whole && problem_at >= text.size)
            return OPEN_QUOTE;
        break;
    case '|':
    case '>': /* block scalars */
    case '%': /* directives */
        whole = false;
        break;
    case '!':
    case '&':
    case '*':
        whole = is_named(text, context_at, problem_at);
        break;
    default: /* plain text, which only a tab can break, and brackets */
        whole = problem_at >= text.size || text.data[problem_at] != '\t';
    }
    return whole ? UNFINISHED_KEY : OTHER_FAULT;
}

static fault_t fault_of(const builder_t *self, const yaml_parser_t *parser, size_t problem_at, size_t context_at)
{
    helio_text_t text = self->reader->source.text;
    const helio_spec_node_t *in = self->depth ? self->open[self->depth - 1] : NULL;
    char here = problem_at < text.size ? text.data[problem_at] : '\0';
    if (parser->error == YAML_PARSER_ERROR && !parser->context)
        return here == '%' ? OTHER_FAULT : SECOND_DOCUMENT; /* directives have no context either */
    if (parser->error == YAML_PARSER_ERROR)
        return in && in->type == HELIO_SPEC_MAPPING && !self->in_braces[self->depth - 1] && in->offset == context_at &&
                       context_at < problem_at
                   ? MISPLACED_KEY
                   : OTHER_FAULT;
    if (parser->error != YAML_SCANNER_ERROR)
        return OTHER_FAULT;
    if (!parser->context)
        return here == ':' ? MISPLACED_KEY : OTHER_FAULT;
    return fault_of_element(text, problem_at, context_at);
}

static size_t line_of(helio_text_t text, size_t offset)
{
    while (offset > 0 && text.data[offset - 1] != '\n')
        offset--;
    return offset;
}

/*  A tab that indents this line or the next: the parser reports the position before it. text.size if there is none. */
static size_t find_tab(helio_text_t text, size_t offset)
{
    size_t at = line_of(text, offset);
    for (int lines = 0; lines < 2; lines++) {
        for (; at < text.size && (text.data[at] == ' ' || text.data[at] == '\t'); at++)
            if (text.data[at] == '\t')
                return at;
        while (at < text.size && text.data[at] != '\n')
            at++;
        at += at < text.size;
    }
    return text.size;
}

/*  The first key of its line: where its block allows none, the line is most often indented wrongly. */
static bool is_first_of_line(helio_text_t text, size_t offset)
{
    for (size_t at = line_of(text, offset); at + 1 < offset; at++)
        if (text.data[at] == ':' && text.data[at + 1] == ' ')
            return false;
    return true;
}

static const char *syntax_hint(helio_text_t text, size_t offset, fault_t fault)
{
    if (fault == UNFINISHED_KEY)
        return "write a colon and a space after the key";
    if (offset < text.size && text.data[offset] && strchr("@`%", text.data[offset]))
        return "put text that begins with this character in quotes";
    for (size_t at = line_of(text, offset); at + 1 < text.size && text.data[at] != '\n'; at++)
        if (text.data[at] && strchr(" [{,", text.data[at]) && text.data[at + 1] == '!')
            return "put text that begins with '!' in quotes"; /* unquoted it is a tag, which swallows brackets */
    if (fault == MISPLACED_KEY && is_first_of_line(text, offset))
        return "begin this key in the column of the keys that it belongs to, or put text that contains ': ' in quotes";
    for (size_t at = offset; at + 1 < text.size && text.data[at] != '\n'; at++)
        if (text.data[at] == ':' && text.data[at + 1] == ' ')
            return "put text that contains ': ' in quotes";
    return "check quotes, brackets and indentation before this position";
}

static helio_rc diagnose_syntax(builder_t *self, const yaml_parser_t *parser)
{
    helio_text_t text = self->reader->source.text;
    size_t problem_at = byte_of(self, parser->problem_mark.index);
    size_t context_at = parser->context ? byte_of(self, parser->context_mark.index) : problem_at;
    fault_t fault = fault_of(self, parser, problem_at, context_at);
    /* For an unterminated element, the position where the parser gave up is not useful. */
    bool open = fault == UNFINISHED_KEY || fault == OPEN_QUOTE;
    size_t offset = open ? context_at : problem_at;
    size_t tab = find_tab(text, offset);
    if (tab < text.size)
        return helio_spec_diagnose_at(self->reader, tab, tab, HELIO_SPEC_MALFORMED_PROBLEM, "indent with spaces",
                                      "not valid YAML: a tab is not allowed in indentation");
    const char *hint = syntax_hint(text, offset, fault), *problem = parser->problem;
    if (fault == SECOND_DOCUMENT)
        problem = "unexpected content after the end of the document"; /* libyaml's text is about its internals */
    else if (!problem)
        problem = "unknown syntax error";
    if (!parser->context || open)
        return helio_spec_diagnose_at(self->reader, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM, hint,
                                      "not valid YAML: %s%s%s", problem, open ? " " : "", open ? parser->context : "");
    uint32_t first = self->reader->source.line ? self->reader->source.line : 1;
    return helio_spec_diagnose_at(self->reader, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM, hint,
                                  "not valid YAML: %s %s that begins on line %u", problem, parser->context,
                                  (uint32_t)parser->context_mark.line + first);
}

static helio_rc read_events(builder_t *self, yaml_parser_t *parser)
{
    helio_rc rc = HELIO_OK;
    for (bool more = true; more && rc == HELIO_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            if (parser->error == YAML_MEMORY_ERROR)
                abort();
            return diagnose_syntax(self, parser);
        }
        rc = take_event(self, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return rc;
}

static helio_rc finish(builder_t *self, helio_spec_node_t **ret_root)
{
    helio_spec_node_t *root = self->root;
    char found[HELIO_SPEC_FOUND_SIZE];
    if (!root || root->type == HELIO_SPEC_NULL) {
        root = helio_arena_alloc(self->reader->arena, 1, sizeof *root);
        root->type = HELIO_SPEC_MAPPING;
    }
    if (root->type != HELIO_SPEC_MAPPING)
        return helio_spec_diagnose(
            self->reader, root, HELIO_SPEC_WRONG_TYPE_PROBLEM,
            root->type == HELIO_SPEC_SEQUENCE ? "separate several documents by lines with ---" : NULL,
            "expected a mapping of keys to values, found %s", helio_spec_found(root, found));
    *ret_root = root;
    return HELIO_OK;
}

helio_rc helio_spec_yaml_tree(helio_spec_reader_t *self, size_t source_max, helio_spec_node_t **ret_root)
{
    static const char mark[] = "\xef\xbb\xbf";
    yaml_parser_t parser;
    helio_rc rc = helio_spec_check_bytes(self, source_max);
    if (rc != HELIO_OK)
        return rc;
    helio_text_t text = helio_spec_join_surrogates(self->source.text, self->arena);
    bool marked = text.size >= 3 && memcmp(text.data, mark, 3) == 0;
    builder_t builder = {.reader = self, .cursor = marked ? 3 : 0};
    if (!yaml_parser_initialize(&parser))
        abort(); /* out of memory */
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.data ? text.data : "") + (marked ? 3 : 0),
                                 text.size - (marked ? 3 : 0));
    rc = read_events(&builder, &parser);
    yaml_parser_delete(&parser);
    return rc == HELIO_OK ? finish(&builder, ret_root) : rc;
}

helio_rc helio_spec_tree(helio_spec_reader_t *self, size_t source_max, helio_spec_node_t **ret_root)
{
    if (helio_spec_json_tree(self, source_max, ret_root))
        return HELIO_OK;
    return helio_spec_yaml_tree(self, source_max, ret_root);
}
