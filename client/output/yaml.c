/*  yaml.c -- writes YAML: a value is a scalar on its line, or a block that is indented by two columns more. */
#include "client/output/yaml.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "federation/base/char.h"

/*  ---- text ---- */

/*  Readers of YAML 1.1 take these for truth values, for nothing or for numbers. */
static bool is_a_word_of_yaml(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/*  Without quotes: a letter, then what means nothing to YAML wherever it stands. */
static bool is_plain(const char *text, size_t size)
{
    if (!size || !helio_is_letter(text[0]) || text[size - 1] == ' ' || is_a_word_of_yaml(text))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!text[i] || (!helio_is_letter_or_digit(text[i]) && !strchr(" _./@+-();,=", text[i])))
            return false;
    return true;
}

/*  The character at `at`, of valid UTF-8, and its bytes. */
static uint32_t character_at(const char *at, size_t *ret_bytes)
{
    const unsigned char *b = (const unsigned char *)at;
    size_t bytes = b[0] < 0x80 ? 1 : b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    uint32_t character = bytes == 1 ? b[0] : b[0] & (0xFFu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++)
        character = character << 6 | (b[i] & 0x3F);
    *ret_bytes = bytes;
    return character;
}

/*  Controls, breaks of lines and pages, marks that turn the direction of writing, and what is no character. */
static bool must_be_escaped(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
           c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
}

static void put_quoted(const char *text, size_t size, helio_buffer_t *out)
{
    helio_buffer_text(out, "\"");
    for (size_t i = 0, bytes = 0; i < size; i += bytes) {
        uint32_t c = character_at(text + i, &bytes);
        if (c == '\n')
            helio_buffer_text(out, "\\n");
        else if (c == '\t')
            helio_buffer_text(out, "\\t");
        else if (must_be_escaped(c))
            helio_buffer_printf(out, c < 0x100 ? "\\x%02X" : "\\u%04X", c);
        else if (c == '"' || c == '\\')
            helio_buffer_printf(out, "\\%c", (int)c);
        else
            helio_buffer_append(out, text + i, bytes);
    }
    helio_buffer_text(out, "\"");
}

static void put_text(const char *text, size_t size, helio_buffer_t *out)
{
    if (is_plain(text, size))
        helio_buffer_append(out, text, size);
    else
        put_quoted(text, size, out);
}

/*  Whether a text of several lines, such as a script, can stand as it is: no end of it is lost, and nothing in it has to be
 *  escaped. */
static bool can_be_literal(const char *text, size_t size)
{
    if (size < 3 || !memchr(text, '\n', size - 1) || strchr(" \t\n", text[0]) ||
        (text[size - 1] == '\n' && text[size - 2] == '\n'))
        return false;
    for (size_t i = 0, bytes = 0; i < size; i += bytes) {
        uint32_t c = character_at(text + i, &bytes);
        if (c != '\n' && c != '\t' && must_be_escaped(c))
            return false;
    }
    return true;
}

static void put_indent(uint32_t indent, helio_buffer_t *out)
{
    helio_buffer_printf(out, "%*s", (int)indent, "");
}

static void put_literal(const char *text, size_t size, uint32_t indent, helio_buffer_t *out)
{
    helio_buffer_text(out, text[size - 1] == '\n' ? "|\n" : "|-\n");
    for (size_t at = 0; at < size;) {
        const char *stop = memchr(text + at, '\n', size - at);
        size_t line = stop ? (size_t)(stop - text) - at : size - at;
        if (line)
            put_indent(indent, out);
        helio_buffer_append(out, text + at, line);
        helio_buffer_text(out, "\n");
        at += line + 1;
    }
}

/*  ---- values ---- */

/*  Readers of YAML 1.1 know no exponent without a point and a sign. */
static void put_real(const json_t *value, helio_buffer_t *out)
{
    char text[64];
    size_t size = json_dumpb(value, text, sizeof text - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    text[size < sizeof text ? size : 0] = '\0';
    size_t mantissa = strcspn(text, "eE");
    helio_buffer_append(out, text, mantissa);
    if (!text[mantissa])
        return;
    const char *exponent = text + mantissa + 1;
    helio_buffer_printf(out, "%se%s%s", memchr(text, '.', mantissa) ? "" : ".0",
                        *exponent == '-' || *exponent == '+' ? "" : "+", exponent);
}

/*  What is one word in JSON, too; also an empty list or object. */
static void put_word(const json_t *value, helio_buffer_t *out)
{
    if (json_is_integer(value))
        helio_buffer_printf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_array(value) || json_is_object(value))
        helio_buffer_text(out, json_is_array(value) ? "[]" : "{}");
    else
        helio_buffer_text(out, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
}

static void put_scalar(const json_t *value, uint32_t indent, helio_buffer_t *out)
{
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    if (text && can_be_literal(text, size)) {
        put_literal(text, size, indent, out);
        return;
    }
    if (text)
        put_text(text, size, out);
    else if (json_is_real(value))
        put_real(value, out);
    else
        put_word(value, out);
    helio_buffer_text(out, "\n");
}

static bool is_block(const json_t *value)
{
    return json_array_size(value) || json_object_size(value);
}

/*  begun: the first line has its indentation already. */
static void put_block(const json_t *value, uint32_t indent, bool begun, helio_buffer_t *out)
{
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item)
    {
        put_indent(begun ? 0 : indent, out);
        begun = false;
        helio_buffer_text(out, "- ");
        if (is_block(item))
            put_block(item, indent + 2, true, out);
        else
            put_scalar(item, indent + 2, out);
    }
    json_t *object = (json_t *)(uintptr_t)value;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        put_indent(begun ? 0 : indent, out);
        begun = false;
        put_text(json_object_iter_key(at), strlen(json_object_iter_key(at)), out);
        item = json_object_iter_value(at);
        helio_buffer_text(out, is_block(item) ? ":\n" : ": ");
        if (is_block(item))
            put_block(item, indent + 2, false, out);
        else
            put_scalar(item, indent + 2, out);
    }
}

void helio_yaml_put(const json_t *value, helio_buffer_t *out)
{
    if (is_block(value))
        put_block(value, 0, false, out);
    else
        put_scalar(value, 2, out);
}
