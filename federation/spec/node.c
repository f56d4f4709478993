/*  node.c -- the only file that knows libfyaml: bytes in, a bounded tree out.
 *
 *  The parser's events are read rather than its documents, so that aliases are refused before they are
 * resolved and depth, entries and duplicates are checked while the tree grows.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <libfyaml.h>

#include "federation/spec/reader.h"

/*  Bytes of a well-formed UTF-8 character of YAML's printable set at `at`; 0 = not one. */
static size_t printable_size(const unsigned char *at, const unsigned char *end)
{
    unsigned char c = *at;
    if (c < 0x80)
        return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n' || c == '\r';
    size_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || (size_t)(end - at) < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] >= 0xa0) || (c == 0xf0 && at[1] < 0x90) ||
        (c == 0xf4 && at[1] >= 0x90) || (c == 0xc2 && at[1] < 0xa0 && at[1] != 0x85))
        return 0;
    return size;
}

static helio_rc check_bytes(helio_spec_reader_t *self, size_t source_max)
{
    helio_text_t text = self->source.text;
    if (text.size > source_max)
        return helio_spec_complain_at(self, 0, 0, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                      "the file has %u bytes; at most %zu are read", text.size, source_max);
    const unsigned char *data = (const unsigned char *)text.data, *end = data ? data + text.size : data;
    for (const unsigned char *at = data; at < end;) {
        size_t size = printable_size(at, end);
        if (size == 0) {
            size_t offset = (size_t)(at - data);
            if (*at >= 0x80)
                return helio_spec_complain_at(self, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM,
                                              "save the file as UTF-8",
                                              "the file is not valid UTF-8 here (byte 0x%02x)", *at);
            return helio_spec_complain_at(self, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM,
                                          "write it as an escape in double quotes, or remove it",
                                          "control character 0x%02x", *at);
        }
        at += size;
    }
    return HELIO_OK;
}

/*  What is open while events arrive. */
typedef struct builder {
    helio_spec_reader_t *reader;
    helio_spec_node_t *open[HELIO_SPEC_DEPTH_MAX];
    uint32_t depth;
    uint32_t nodes;
    uint32_t documents;
    helio_spec_node_t *root;
} builder_t;

static bool awaits_key(const helio_spec_node_t *mapping)
{
    return mapping->type == HELIO_SPEC_MAPPING && mapping->count % 2 == 0;
}

static helio_rc refuse_duplicate(builder_t *self, const helio_spec_node_t *mapping,
                                 const helio_spec_node_t *key)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    /* A key is only looked at when all before it have their values: keys are every second child. */
    for (const helio_spec_node_t *seen = mapping->first; seen; seen = seen->next->next)
        if (helio_text_equal(seen->text, key->text))
            return helio_spec_complain(self->reader, key, HELIO_SPEC_DUPLICATE_KEY_PROBLEM,
                                       "keep one of the two, or give them different names",
                                       "key %s is given twice", helio_spec_found(key, found));
    return HELIO_OK;
}

static helio_rc check_key(builder_t *self, const helio_spec_node_t *mapping, const helio_spec_node_t *key)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    if (key->type != HELIO_SPEC_SCALAR)
        return helio_spec_complain(self->reader, key, HELIO_SPEC_WRONG_TYPE_PROBLEM, NULL,
                                   "expected the name of a key, found %s", helio_spec_found(key, found));
    if (mapping->count / 2 >= HELIO_SPEC_KEYS_MAX)
        return helio_spec_complain(self->reader, key, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                   "more than %d keys in one mapping", HELIO_SPEC_KEYS_MAX);
    return refuse_duplicate(self, mapping, key);
}

/*  Hangs a node under what is open. While a mapping grows its count counts keys and values. */
static helio_rc attach(builder_t *self, helio_spec_node_t *node)
{
    if (++self->nodes > HELIO_SPEC_NODES_MAX)
        return helio_spec_complain(self->reader, node, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
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
    } else if (node->type == HELIO_SPEC_NULL && node->end == 0) {
        const helio_spec_node_t *near = parent->last ? parent->last : parent;
        node->offset = near->offset; /* an absent value is pointed at by its key */
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

static helio_spec_node_t *node_of(builder_t *self, struct fy_event *event, helio_spec_node_type_t type)
{
    helio_spec_node_t *node = helio_arena_alloc(self->reader->arena, 1, sizeof *node);
    const struct fy_mark *start = fy_event_start_mark(event), *end = fy_event_end_mark(event);
    node->type = type;
    node->offset = start ? (uint32_t)start->input_pos : 0;
    node->end = end ? (uint32_t)end->input_pos : node->offset;
    return node;
}

static helio_rc open_node(builder_t *self, helio_spec_node_t *node)
{
    helio_rc rc = attach(self, node);
    if (rc != HELIO_OK)
        return rc;
    if (self->depth == HELIO_SPEC_DEPTH_MAX)
        return helio_spec_complain(self->reader, node, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                   "nested deeper than %d levels", HELIO_SPEC_DEPTH_MAX);
    self->open[self->depth++] = node;
    return HELIO_OK;
}

static void close_node(builder_t *self)
{
    helio_spec_node_t *node = self->open[--self->depth];
    if (node->type == HELIO_SPEC_MAPPING)
        node->count /= 2;
}

static helio_rc refuse_feature(builder_t *self, struct fy_token *token, const char *what, const char *hint)
{
    const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
    size_t offset = start ? start->input_pos : 0;
    char sign = self->reader->source.text.data[offset > 0 ? offset - 1 : 0];
    if (offset > 0 && (sign == '*' || sign == '&'))
        offset--; /* the mark of a name is behind its sign */
    return helio_spec_complain_at(self->reader, offset, end ? end->input_pos : offset,
                                  HELIO_SPEC_FORBIDDEN_PROBLEM, hint, "%s are not supported", what);
}

static helio_rc refuse_properties(builder_t *self, struct fy_token *anchor, struct fy_token *tag)
{
    if (anchor)
        return refuse_feature(self, anchor, "anchors (&name)",
                              "write the value out, or quote a text that begins with '&'");
    if (tag)
        return refuse_feature(self, tag, "tags (!name)", "quote a text that begins with '!'");
    return HELIO_OK;
}

static bool is_null_word(helio_text_t text)
{
    return text.size == 0 || helio_text_is(text, "~") || helio_text_is(text, "null");
}

static helio_rc add_scalar(builder_t *self, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    helio_rc rc = refuse_properties(self, event->scalar.anchor, event->scalar.tag);
    if (rc != HELIO_OK)
        return rc;
    helio_spec_node_t *node = node_of(self, event, HELIO_SPEC_SCALAR);
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    size_t size = 0;
    const char *text = token ? fy_token_get_text(token, &size) : NULL;
    node->plain = style == FYSS_PLAIN;
    if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && node->offset > 0) {
        node->offset--; /* the mark of a quoted text is behind its quote */
        node->end++;
    }
    if (text && memchr(text, '\0', size))
        return helio_spec_complain(self->reader, node, HELIO_SPEC_MALFORMED_PROBLEM, NULL,
                                   "a text may not contain NUL characters");
    node->text = helio_arena_text(self->reader->arena, (helio_text_t){text, (uint32_t)size});
    if (node->plain && is_null_word(node->text))
        node->type = HELIO_SPEC_NULL;
    return attach(self, node);
}

static helio_rc take_event(builder_t *self, struct fy_event *event)
{
    helio_rc rc = HELIO_OK;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (++self->documents > 1) {
            size_t at = event->document_start.document_start
                            ? fy_token_start_mark(event->document_start.document_start)->input_pos
                            : self->reader->source.text.size;
            rc = helio_spec_complain_at(self->reader, at, at, HELIO_SPEC_FORBIDDEN_PROBLEM, NULL,
                                        "a second document begins here; one is expected");
        }
        break;
    case FYET_SCALAR:
        rc = add_scalar(self, event);
        break;
    case FYET_MAPPING_START:
        rc = refuse_properties(self, event->mapping_start.anchor, event->mapping_start.tag);
        if (rc == HELIO_OK)
            rc = open_node(self, node_of(self, event, HELIO_SPEC_MAPPING));
        break;
    case FYET_SEQUENCE_START:
        rc = refuse_properties(self, event->sequence_start.anchor, event->sequence_start.tag);
        if (rc == HELIO_OK)
            rc = open_node(self, node_of(self, event, HELIO_SPEC_SEQUENCE));
        break;
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        close_node(self);
        break;
    case FYET_ALIAS:
        rc = refuse_feature(self, event->alias.anchor, "aliases (*name)",
                            "write the value out, or quote a text that begins with '*'");
        break;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        break;
    }
    return rc;
}

/*  libfyaml speaks in lines and columns; back to bytes, so that one function makes places. */
static size_t offset_of(helio_text_t text, int line, int column)
{
    size_t at = 0;
    for (; line > 1 && at < text.size; at++)
        if (text.data[at] == '\n' ||
            (text.data[at] == '\r' && (at + 1 == text.size || text.data[at + 1] != '\n')))
            line--;
    for (; column > 1 && at < text.size && text.data[at] != '\n'; column--)
        for (at++; at < text.size && ((unsigned char)text.data[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

static size_t line_of(helio_text_t text, size_t offset)
{
    while (offset > 0 && text.data[offset - 1] != '\n')
        offset--;
    return offset;
}

/*  A tab that indents this line or the next: libfyaml blames what stands before it. text.size when there is
 * none. */
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

static const char *syntax_hint(helio_text_t text, size_t offset)
{
    if (offset < text.size && text.data[offset] && strchr("@`%", text.data[offset]))
        return "quote a text that begins with this character";
    for (size_t at = line_of(text, offset); at + 1 < text.size && text.data[at] != '\n'; at++)
        if (text.data[at] && strchr(" [{,", text.data[at]) && text.data[at + 1] == '!')
            return "quote a text that begins with '!'"; /* unquoted it is a tag, which swallows brackets */
    for (size_t at = offset; at + 1 < text.size && text.data[at] != '\n'; at++)
        if (text.data[at] == ':' && text.data[at + 1] == ' ')
            return "quote a text that contains ': '";
    return "check quotes, brackets and indentation above this place";
}

static helio_rc complain_syntax(helio_spec_reader_t *self, struct fy_diag *diag)
{
    void *previous = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(diag, &previous);
    helio_text_t text = self->source.text;
    size_t offset = error ? offset_of(text, error->line, error->column) : 0, tab = find_tab(text, offset);
    if (tab < text.size)
        return helio_spec_complain_at(self, tab, tab, HELIO_SPEC_MALFORMED_PROBLEM, "indent with spaces",
                                      "not valid YAML: a tab may not indent");
    return helio_spec_complain_at(self, offset, offset, HELIO_SPEC_MALFORMED_PROBLEM,
                                  syntax_hint(text, offset), "not valid YAML: %s",
                                  error && error->msg ? error->msg : "the parser gave up");
}

static void swallow(struct fy_diag *diag, void *user, const char *text, size_t size)
{
    (void)diag, (void)user, (void)text, (void)size;
}

static helio_rc read_events(builder_t *self, struct fy_parser *parser, struct fy_diag *diag)
{
    helio_rc rc = HELIO_OK;
    struct fy_event *event;
    while (rc == HELIO_OK && (event = fy_parser_parse(parser))) {
        rc = take_event(self, event);
        fy_parser_event_free(parser, event);
    }
    if (rc == HELIO_OK && fy_parser_get_stream_error(parser))
        rc = complain_syntax(self->reader, diag);
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
        return helio_spec_complain(
            self->reader, root, HELIO_SPEC_WRONG_TYPE_PROBLEM,
            root->type == HELIO_SPEC_SEQUENCE ? "separate several documents by lines of ---" : NULL,
            "expected a mapping of keys to values, found %s", helio_spec_found(root, found));
    *ret_root = root;
    return HELIO_OK;
}

helio_rc helio_spec_tree(helio_spec_reader_t *self, size_t source_max, helio_spec_node_t **ret_root)
{
    helio_rc rc = check_bytes(self, source_max);
    if (rc != HELIO_OK)
        return rc;
    builder_t builder = {.reader = self};
    if (self->source.text.size > 0) {
        struct fy_diag_cfg diag_config;
        fy_diag_cfg_default(&diag_config);
        diag_config.fp = NULL;
        diag_config.output_fn = swallow;
        diag_config.colorize = false;
        struct fy_diag *diag = fy_diag_create(&diag_config);
        const struct fy_parse_cfg config = {.flags = FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
                                            .diag = diag};
        struct fy_parser *parser = diag ? fy_parser_create(&config) : NULL;
        if (!parser)
            abort(); /* no memory */
        fy_diag_set_collect_errors(diag, true);
        if (fy_parser_set_string(parser, self->source.text.data, self->source.text.size) != 0)
            abort();
        rc = read_events(&builder, parser, diag);
        fy_parser_destroy(parser);
        fy_diag_destroy(diag);
    }
    return rc == HELIO_OK ? finish(&builder, ret_root) : rc;
}
