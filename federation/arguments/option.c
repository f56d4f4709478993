/*  option.c -- looks up options, and prints their help. */
#include "federation/arguments/option.h"

enum { DOC_COLUMN = 30 }; /* after a name that reaches beyond it, the text begins on a line of its own */

helio_rc helio_option_find(const helio_option_table_t *self, helio_text_t name, uint32_t *ret_option)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (helio_text_is(name, self->items[i].name)) {
            *ret_option = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

helio_rc helio_option_find_letter(const helio_option_table_t *self, char letter, uint32_t *ret_option)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (letter && self->items[i].letter == letter) {
            *ret_option = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

static void line(const helio_option_t *option, helio_buffer_t *out)
{
    size_t begin = out->size;
    if (option->letter)
        helio_buffer_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        helio_buffer_printf(out, "      --%s", option->name);
    if (option->value)
        helio_buffer_printf(out, " %s", option->value);
    if (out->size > begin + DOC_COLUMN) {
        helio_buffer_text(out, "\n");
        begin = out->size;
    }
    while (out->size < begin + DOC_COLUMN)
        helio_buffer_text(out, " ");
    helio_buffer_printf(out, " %s", option->doc);
    if (option->choices)
        helio_buffer_printf(out, " (%s)", option->choices);
    helio_buffer_text(out, "\n");
}

void helio_option_lines(const helio_option_table_t *self, helio_options_t set, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (set & HELIO_OPTION_BIT(i))
            line(&self->items[i], out);
}
