/*  pattern.c -- fills in the file name patterns of sbatch. */
#include "federation/base/char.h"
#include "site-agent/shim/pattern.h"

#include <string.h>

enum { WIDTH_MAX = 10 };

static const char *value_of(const helio_pattern_t *self, char letter, bool *ret_number)
{
    *ret_number = false;
    switch (letter) {
    case 'x':
        return self->name;
    case 'u':
        return self->user;
    case 'N':
        return self->host;
    case 's':
        return "batch";
    case '%':
        return "%";
    default:
        break;
    }
    *ret_number = true;
    switch (letter) {
    case 'A':
        return self->array_id ? self->array_id : self->job_id;
    case 'j':
    case 'J':
        return self->job_id;
    case 'a':
        return self->task_id && *self->task_id ? self->task_id : "4294967294"; /* as Slurm writes "none" */
    case 't':
    case 'n':
        return "0";
    default:
        return NULL;
    }
}

static void fill_one(const helio_pattern_t *self, helio_text_t pattern, uint32_t *at, helio_buffer_t *out)
{
    uint32_t from = *at, width = 0;
    (*at)++;
    for (; *at < pattern.size && helio_is_digit(pattern.data[*at]); (*at)++)
        width = width > WIDTH_MAX ? width : width * 10 + (uint32_t)(pattern.data[*at] - '0');
    bool number = false;
    const char *value = *at < pattern.size ? value_of(self, pattern.data[*at], &number) : NULL;
    *at += *at < pattern.size;
    if (!value) {
        helio_buffer_append(out, pattern.data + from, *at - from);
        return;
    }
    width = width > WIDTH_MAX ? WIDTH_MAX : width;
    for (size_t size = strlen(value); number && size < width; size++)
        helio_buffer_append(out, "0", 1);
    helio_buffer_text(out, value);
}

void helio_pattern_fill(const helio_pattern_t *self, helio_text_t pattern, helio_buffer_t *out)
{
    bool literal = pattern.size && memchr(pattern.data, '\\', pattern.size);
    for (uint32_t at = 0; at < pattern.size;) {
        if (pattern.data[at] == '%' && !literal) {
            fill_one(self, pattern, &at, out);
            continue;
        }
        if (pattern.data[at] != '\\')
            helio_buffer_append(out, &pattern.data[at], 1);
        at++;
    }
}
