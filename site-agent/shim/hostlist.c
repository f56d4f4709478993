/*  hostlist.c -- expands Slurm's lists of node names. */
#include "federation/base/char.h"
#include "site-agent/shim/hostlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  A name is a sequence of pieces, each either plain text or a bracket with ranges; the last bracket varies fastest. */
enum { NAME_MAX_BYTES = 255, PIECES_MAX = 8, RANGES_MAX = 4096, DIGITS_MAX = 9 };

typedef struct range {
    uint32_t first, last;
    uint32_t width; /* digits, with leading zeros; 0 = as few as needed */
} range_t;

typedef struct piece {
    helio_text_t plain;
    uint32_t first_range, ranges; /* ranges == 0: plain */
} piece_t;

typedef struct walk {
    range_t ranges[RANGES_MAX];
    uint32_t range_count;
    piece_t pieces[PIECES_MAX];
    uint32_t piece_count;
    uint32_t left; /* names that can still be given */
    helio_hostlist_fn *fn;
    void *arg;
    bool enough;
} walk_t;

static bool is_plain(char c)
{
    return helio_is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool read_number(helio_text_t text, uint32_t *at, uint32_t *ret_value, uint32_t *ret_digits)
{
    uint32_t value = 0, digits = 0;
    for (; *at < text.size && helio_is_digit(text.data[*at]); (*at)++) {
        if (++digits > DIGITS_MAX)
            return false;
        value = value * 10 + (uint32_t)(text.data[*at] - '0');
    }
    *ret_value = value;
    *ret_digits = digits;
    return digits > 0;
}

static bool read_range(walk_t *self, helio_text_t text, uint32_t *at)
{
    range_t range;
    uint32_t digits, last_digits;
    if (self->range_count == RANGES_MAX || !read_number(text, at, &range.first, &digits))
        return false;
    range.width = digits > 1 && text.data[*at - digits] == '0' ? digits : 0;
    range.last = range.first;
    if (*at < text.size && text.data[*at] == '-') {
        (*at)++;
        if (!read_number(text, at, &range.last, &last_digits) || range.last < range.first)
            return false;
        if (range.width && last_digits < digits)
            return false;
    }
    self->ranges[self->range_count++] = range;
    return true;
}

/*  From after the '[' to after the ']'. */
static bool read_bracket(walk_t *self, helio_text_t text, uint32_t *at)
{
    if (self->piece_count == PIECES_MAX)
        return false;
    piece_t *piece = &self->pieces[self->piece_count++];
    *piece = (piece_t){.first_range = self->range_count};
    for (;;) {
        if (!read_range(self, text, at))
            return false;
        piece->ranges++;
        char c = *at < text.size ? text.data[(*at)++] : '\0';
        if (c == ']')
            return true;
        if (c != ',')
            return false;
    }
}

/*  One name with its brackets, up to a comma or the end. */
static bool read_pattern(walk_t *self, helio_text_t text, uint32_t *at)
{
    self->piece_count = self->range_count = 0;
    while (*at < text.size && text.data[*at] != ',') {
        if (text.data[*at] == '[') {
            (*at)++;
            if (!read_bracket(self, text, at))
                return false;
            continue;
        }
        uint32_t from = *at;
        while (*at < text.size && is_plain(text.data[*at]))
            (*at)++;
        if (*at == from || self->piece_count == PIECES_MAX)
            return false;
        self->pieces[self->piece_count++] = (piece_t){.plain = {text.data + from, *at - from}};
    }
    return self->piece_count > 0;
}

/* ---- expansion ----------------------------------------------------------------------------------------------- */

typedef struct name {
    char text[NAME_MAX_BYTES + 1];
    uint32_t size;
} name_t;

static bool append(name_t *name, const char *bytes, uint32_t size)
{
    if (size > NAME_MAX_BYTES - name->size)
        return false;
    memcpy(name->text + name->size, bytes, size);
    name->size += size;
    return true;
}

static bool give(walk_t *self, uint32_t at, name_t name);

static bool give_ranges(walk_t *self, uint32_t at, name_t name)
{
    const piece_t *piece = &self->pieces[at];
    for (uint32_t i = 0; i < piece->ranges; i++) {
        const range_t *range = &self->ranges[piece->first_range + i];
        for (uint32_t value = range->first; value <= range->last && !self->enough; value++) {
            char digits[16];
            int size = snprintf(digits, sizeof digits, "%0*u", (int)range->width, value);
            name_t longer = name;
            if (!append(&longer, digits, (uint32_t)size) || !give(self, at + 1, longer))
                return false;
        }
    }
    return true;
}

/*  At most PIECES_MAX deep; every leaf counts against `left`, so that the work is bounded too. */
static bool give(walk_t *self, uint32_t at, name_t name)
{
    if (self->enough)
        return true;
    if (at < self->piece_count) {
        const piece_t *piece = &self->pieces[at];
        if (piece->ranges)
            return give_ranges(self, at, name);
        return append(&name, piece->plain.data, piece->plain.size) && give(self, at + 1, name);
    }
    if (!self->left)
        return false;
    self->left--;
    self->enough = !self->fn(self->arg, (helio_text_t){name.text, name.size});
    return true;
}

helio_rc helio_hostlist_each(helio_text_t list, uint32_t most, helio_hostlist_fn *fn, void *arg)
{
    walk_t *self = helio_new(1, sizeof *self);
    self->left = most;
    self->fn = fn;
    self->arg = arg;
    bool good = list.size > 0;
    for (uint32_t at = 0; good && !self->enough && at < list.size;) {
        good = read_pattern(self, list, &at) && give(self, 0, (name_t){0});
        if (good && at < list.size) /* a comma: a name must follow */
            good = ++at < list.size;
    }
    free(self);
    return good ? HELIO_OK : HELIO_INVALID;
}
