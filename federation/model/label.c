/*  label.c -- which texts are keys and values of labels. */
#include "federation/model/label.h"

#include <string.h>

#include "federation/base/char.h"

static bool is_part(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool inside = i > 0 && i + 1 < text.size;
        if (!helio_is_letter(c) && !helio_is_digit(c) && !(inside && (c == '-' || c == '_' || c == '.')))
            return false;
    }
    return text.size > 0;
}

bool helio_label_is_key(helio_text_t text)
{
    const char *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
    if (text.size > HELIO_LABEL_MAX)
        return false;
    if (!slash)
        return is_part(text);
    uint32_t before = (uint32_t)(slash - text.data);
    return is_part((helio_text_t){text.data, before}) && is_part((helio_text_t){slash + 1, text.size - before - 1});
}

bool helio_label_is_value(helio_text_t text)
{
    return text.size == 0 || (text.size <= HELIO_LABEL_MAX && is_part(text));
}

bool helio_label_split(helio_text_t text, bool bare, helio_text_t *ret_key, helio_text_t *ret_value)
{
    const char *sign = text.size ? memchr(text.data, '=', text.size) : NULL;
    uint32_t size = sign ? (uint32_t)(sign - text.data) : text.size;
    *ret_key = (helio_text_t){text.data, size};
    *ret_value = sign ? (helio_text_t){sign + 1, text.size - size - 1} : (helio_text_t){0};
    return (sign || bare) && helio_label_is_key(*ret_key) && helio_label_is_value(*ret_value);
}
