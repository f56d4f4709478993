/*  framing.c -- the rules for the head of a request. */
#include "broker/http/request/framing.h"

#include <string.h>
#include <strings.h>

enum {
#define X(NAME, name) SEEN_##NAME,
    HELIO_SINGLE_HEADER_TABLE(X)
#undef X
        SEEN_COUNT
};

static const char *const single[SEEN_COUNT] = {
#define X(NAME, name) name,
    HELIO_SINGLE_HEADER_TABLE(X)
#undef X
};

static void object(helio_framing_t *self, const char *wrong)
{
    if (!self->wrong)
        self->wrong = wrong;
}

void helio_framing_target(helio_framing_t *self, const char *end)
{
    if (end + 1 != self->version)
        object(self, "target");
}

static bool is_whole_number(helio_text_t value)
{
    for (uint32_t i = 0; i < value.size; i++)
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
    return value.size > 0;
}

static bool has_no_control(helio_text_t value)
{
    for (uint32_t i = 0; i < value.size; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (c < ' ' && c != '\t')
            return false;
    }
    return true;
}

static bool is_token(helio_text_t name)
{
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (uint32_t i = 0; i < name.size; i++)
        if (!name.data[i] || !strchr(letters, name.data[i]))
            return false;
    return name.size > 0;
}

/*  What the parser may leave between two headers: the end of a line, whose two bytes it can overwrite with NULs. */
static bool is_line_end(const char *from, const char *to)
{
    if (to <= from)
        return false; /* a line that was folded, and was joined elsewhere */
    uint32_t nuls = 0;
    for (const char *at = from; at < to; at++) {
        nuls += !*at;
        if (nuls > 2 || (*at && !strchr(" \t\r\n", *at)))
            return false;
    }
    return true;
}

static void check_value(helio_framing_t *self, uint32_t which, helio_text_t value)
{
    if (self->seen & UINT32_C(1) << which)
        object(self, single[which]);
    self->seen |= UINT32_C(1) << which;
    if (which == SEEN_LENGTH && !is_whole_number(value))
        object(self, single[which]);
    bool chunked = value.size == 7 && strncasecmp(value.data, "chunked", 7) == 0;
    if (which == SEEN_ENCODING && (!chunked || strcmp(self->version, "HTTP/1.1") != 0))
        object(self, single[which]);
}

void helio_framing_header(helio_framing_t *self, helio_text_t name, helio_text_t value)
{
    if (!is_token(name) || !has_no_control(value) || (self->end && !is_line_end(self->end, name.data)))
        object(self, "header");
    for (uint32_t i = 0; i < SEEN_COUNT; i++)
        if (name.size == strlen(single[i]) && strncasecmp(name.data, single[i], name.size) == 0)
            check_value(self, i, value);
    self->end = value.data + value.size;
}

const char *helio_framing_verdict(helio_framing_t *self)
{
    const uint32_t both = UINT32_C(1) << SEEN_LENGTH | UINT32_C(1) << SEEN_ENCODING;
    if ((self->seen & both) == both)
        object(self, single[SEEN_LENGTH]);
    /* the end of the last line, and the empty line: the parser overwrites both */
    if (self->end && self->end[1] && !strchr("\r\n", self->end[1]))
        object(self, "header");
    return self->wrong;
}
