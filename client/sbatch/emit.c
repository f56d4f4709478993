/*  emit.c -- YAML as people would write it. */
#include <string.h>

#include "client/sbatch/internal.h"

/*  The size of the character at `at` if it can stand in YAML as it is, 0 if it must be escaped. The text is UTF-8. */
static uint32_t printable(helio_text_t text, uint32_t at)
{
    unsigned char c = (unsigned char)text.data[at];
    if (c < 0x80)
        return c == '\t' || (c >= 0x20 && c < 0x7f);
    uint32_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (at + size > text.size)
        return 0;
    const unsigned char *b = (const unsigned char *)text.data + at;
    bool control = c == 0xc2 && b[1] < 0xa0;                       /* C1, NEL among them */
    bool breaks = c == 0xe2 && b[1] == 0x80 && (b[2] | 1) == 0xa9; /* line and paragraph separator */
    bool strange = c == 0xef && (b[1] == 0xbb || b[1] == 0xbf);    /* byte order mark, U+FFFE */
    return control || breaks || strange ? 0 : size;
}

static uint32_t code_of(helio_text_t text, uint32_t at, uint32_t *ret_size)
{
    const unsigned char *b = (const unsigned char *)text.data + at;
    uint32_t size = b[0] < 0x80 ? 1 : b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    uint32_t code = size == 1 ? b[0] : b[0] & (0x7fu >> size);
    for (uint32_t i = 1; i < size && at + i < text.size; i++)
        code = code << 6 | (b[i] & 0x3fu);
    *ret_size = size;
    return code;
}

static void quoted(helio_text_t text, helio_buffer_t *out)
{
    helio_buffer_text(out, "\"");
    for (uint32_t at = 0; at < text.size;) {
        char c = text.data[at];
        uint32_t size = printable(text, at);
        if (c == '"' || c == '\\')
            helio_buffer_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t')
            helio_buffer_text(out, c == '\n' ? "\\n" : "\\t");
        else if (size)
            helio_buffer_append(out, text.data + at, size);
        else {
            uint32_t code = code_of(text, at, &size);
            helio_buffer_printf(out, code > 0xffff ? "\\U%08X" : "\\u%04X", code);
        }
        at += size ? size : 1;
    }
    helio_buffer_text(out, "\"");
}

static bool is_plain(helio_text_t text, bool in_flow)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", NULL};
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+%:=@^";
    if (text.size == 0 || !strchr(safe, text.data[0]) || strchr("-%:=@+", text.data[0]) ||
        text.data[text.size - 1] == ':')
        return false;
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool inner = c == ' ' && i + 1 < text.size && text.data[i - 1] != ':';
        if (c == '\0' || !(strchr(safe, c) || inner || (c == ',' && !in_flow)))
            return false;
    }
    for (const char *const *word = words; *word; word++)
        if (text.size == strlen(*word) && strncasecmp(text.data, *word, text.size) == 0)
            return false;
    return true;
}

void sbatch_yaml_text(helio_text_t text, bool in_flow, helio_buffer_t *out)
{
    if (is_plain(text, in_flow))
        helio_buffer_append(out, text.data, text.size);
    else
        quoted(text, out);
}

/*  The words true and false without quotes are not strings. */
static void scalar(const helio_spec_node_t *node, bool in_flow, helio_buffer_t *out)
{
    if (node->plain && (helio_text_is(node->text, "true") || helio_text_is(node->text, "false")))
        helio_buffer_append(out, node->text.data, node->text.size);
    else
        sbatch_yaml_text(node->text, in_flow, out);
}

void sbatch_yaml_node(const helio_spec_node_t *node, bool in_flow, helio_buffer_t *out)
{
    bool mapping = node->type == HELIO_SPEC_MAPPING;
    if (node->type == HELIO_SPEC_NULL) {
        helio_buffer_text(out, "~");
        return;
    }
    if (node->type == HELIO_SPEC_SCALAR) {
        scalar(node, in_flow, out);
        return;
    }
    helio_buffer_text(out, mapping ? "{" : "[");
    for (const helio_spec_node_t *item = node->first; item; item = item->next) {
        helio_buffer_text(out, item == node->first ? "" : ", ");
        sbatch_yaml_node(item, true, out);
        if (!mapping)
            continue;
        item = item->next;
        helio_buffer_text(out, ": ");
        sbatch_yaml_node(item, true, out);
    }
    helio_buffer_text(out, mapping ? "}" : "]");
}

void sbatch_yaml_script(helio_text_t script, helio_buffer_t *out)
{
    bool ended = script.size > 0 && script.data[script.size - 1] == '\n', block = script.size > 0;
    for (uint32_t at = 0; at < script.size && block;) {
        uint32_t size = script.data[at] == '\n' ? 1 : printable(script, at);
        block = size > 0;
        at += size;
    }
    if (!block) {
        quoted(script, out);
        helio_buffer_text(out, "\n");
        return;
    }
    bool more = ended && script.size > 1 && script.data[script.size - 2] == '\n';
    helio_buffer_text(out, more ? "|2+\n" : ended ? "|2\n" : "|2-\n");
    size_t next;
    for (size_t at = 0; at < script.size; at = next) {
        helio_text_t line = sbatch_line_at(script, at, &next);
        helio_buffer_text(out, line.size ? "  " : "");
        helio_buffer_append(out, line.data, line.size);
        helio_buffer_text(out, "\n");
    }
}
