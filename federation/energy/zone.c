/*  zone.c -- parses TZif files, and converts between UTC and local time. */
#include "federation/energy/zone.h"

#include <stdlib.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/energy/zone_rule.h"

enum { HEADER_SIZE = 44, TRANSITIONS_MAX = 8192, TYPES_MAX = 256 };

typedef struct local_type {
    int32_t offset_s;
    bool daylight;
} local_type_t;

struct helio_zone {
    int64_t *times; /* strictly ascending, UTC */
    uint8_t *kinds; /* index into types, from times[i] on */
    uint32_t count;
    local_type_t types[TYPES_MAX];
    uint32_t type_count;
    bool has_rule; /* otherwise the last type applies for ever */
    helio_zone_rule_t rule;
};

bool helio_zone_name_is_good(helio_text_t name)
{
    if (name.size == 0 || name.size > HELIO_ZONE_NAME_MAX)
        return false;
    char before = '/';
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool word = helio_is_letter_or_digit(c) || c == '_' || c == '-' || c == '+';
        if (!word && !(c == '/' && before != '/'))
            return false;
        before = c;
    }
    return before != '/';
}

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct counts {
    uint32_t utc, standard, leap, times, types, chars;
} counts_t;

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes_t;

static int64_t big_endian(const uint8_t *at, size_t size)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0; /* sign extension */
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

static bool take_header(bytes_t *self, counts_t *ret_counts, uint8_t *ret_version)
{
    if (self->left < HEADER_SIZE || memcmp(self->at, "TZif", 4) != 0)
        return false;
    *ret_version = self->at[4];
    uint32_t numbers[6];
    for (int i = 0; i < 6; i++)
        numbers[i] = (uint32_t)big_endian(self->at + 20 + i * 4, 4);
    *ret_counts = (counts_t){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    self->at += HEADER_SIZE;
    self->left -= HEADER_SIZE;
    return ret_counts->times <= TRANSITIONS_MAX && ret_counts->types >= 1 && ret_counts->types <= TYPES_MAX &&
           ret_counts->chars <= HELIO_ZONE_BYTES_MAX && ret_counts->leap <= TRANSITIONS_MAX &&
           ret_counts->utc <= TYPES_MAX && ret_counts->standard <= TYPES_MAX;
}

static size_t block_size(const counts_t *counts, size_t time_size)
{
    return counts->times * (time_size + 1) + counts->types * (size_t)6 + counts->chars +
           counts->leap * (time_size + 4) + counts->standard + counts->utc;
}

static helio_rc take_types(helio_zone_t *self, const uint8_t *at, uint32_t count, helio_error_t *err)
{
    self->type_count = count;
    for (uint32_t i = 0; i < count; i++, at += 6) {
        self->types[i] = (local_type_t){(int32_t)big_endian(at, 4), at[4] != 0};
        if (abs(self->types[i].offset_s) > HELIO_ZONE_OFFSET_MAX_S)
            return helio_fail(err, HELIO_INVALID, "the time-zone data has an offset of more than 26 hours");
    }
    return HELIO_OK;
}

static helio_rc take_block(helio_zone_t *self, const bytes_t *from, const counts_t *counts, size_t time_size,
                           helio_error_t *err)
{
    const uint8_t *kinds = from->at + counts->times * time_size;
    if (counts->leap)
        return helio_fail(err, HELIO_INVALID, "the time-zone data includes leap seconds; use data without them");
    self->times = helio_new(counts->times + 1, sizeof *self->times);
    self->kinds = helio_new(counts->times + 1, sizeof *self->kinds);
    self->count = counts->times;
    for (uint32_t i = 0; i < counts->times; i++) {
        self->times[i] = big_endian(from->at + i * time_size, time_size);
        self->kinds[i] = kinds[i];
        if (kinds[i] >= counts->types || (i && self->times[i] <= self->times[i - 1]))
            return helio_fail(err, HELIO_INVALID, "the time-zone data is damaged at transition %u", i);
    }
    return take_types(self, kinds + counts->times, counts->types, err);
}

/*  "\n<rule>\n"; with an empty rule the last type continues. */
static helio_rc take_footer(helio_zone_t *self, const bytes_t *from, helio_error_t *err)
{
    const uint8_t *end = from->left > 1 ? memchr(from->at + 1, '\n', from->left - 1) : NULL;
    if (!end || from->at[0] != '\n')
        return helio_fail(err, HELIO_INVALID, "the time-zone data has no final rule");
    helio_text_t text = {(const char *)from->at + 1, (uint32_t)(end - from->at - 1)};
    char shown[80];
    self->has_rule = text.size > 0;
    if (self->has_rule && !helio_zone_rule_parse(text, &self->rule))
        return helio_fail(err, HELIO_INVALID, "the time-zone data has the unknown rule '%.80s'",
                          helio_text_copy(text, shown, sizeof shown) ? shown : "(long)");
    return HELIO_OK;
}

static helio_rc parse(helio_zone_t *self, bytes_t from, helio_error_t *err)
{
    counts_t counts;
    uint8_t version, again;
    size_t time_size = 4;
    bool good = take_header(&from, &counts, &version) && block_size(&counts, 4) <= from.left;
    if (good && version >= '2') { /* the first block is for readers of version 1 */
        from.at += block_size(&counts, 4);
        from.left -= block_size(&counts, 4);
        time_size = 8;
        good = take_header(&from, &counts, &again) && block_size(&counts, 8) <= from.left;
    }
    if (!good)
        return helio_fail(err, HELIO_INVALID, "not time-zone data (TZif), or truncated");
    helio_rc rc = take_block(self, &from, &counts, time_size, err);
    if (rc != HELIO_OK || time_size == 4)
        return rc;
    size_t size = block_size(&counts, 8);
    return take_footer(self, &(bytes_t){from.at + size, from.left - size}, err);
}

helio_rc helio_zone_parse(helio_text_t bytes, helio_zone_t **ret_zone, helio_error_t *err)
{
    if (bytes.size > HELIO_ZONE_BYTES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "the time-zone data exceeds %d bytes", HELIO_ZONE_BYTES_MAX);
    helio_zone_t *self = helio_new(1, sizeof *self);
    helio_rc rc = parse(self, (bytes_t){(const uint8_t *)bytes.data, bytes.size}, err);
    if (rc != HELIO_OK) {
        helio_zone_destroy(&self);
        return rc;
    }
    *ret_zone = self;
    return HELIO_OK;
}

helio_zone_t *helio_zone_fixed(int32_t offset_s)
{
    helio_zone_t *self = helio_new(1, sizeof *self);
    self->types[0].offset_s = offset_s;
    self->type_count = 1;
    return self;
}

void helio_zone_destroy(helio_zone_t **self_p)
{
    helio_zone_t *self = *self_p;
    if (!self)
        return;
    free(self->times);
    free(self->kinds);
    free(self);
    *self_p = NULL;
}

/* ---- conversion ---------------------------------------------------------------------------------------------- */

/*  Number of transitions at or before a time. */
static uint32_t passed(const helio_zone_t *self, int64_t utc_s)
{
    uint32_t low = 0, high = self->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (self->times[middle] <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_same(const helio_zone_stretch_t *a, const helio_zone_stretch_t *b)
{
    return a->offset_s == b->offset_s && a->daylight == b->daylight;
}

/*  Between two stored transitions, or by the rule; neighbouring stretches may have the same offset. */
static helio_zone_stretch_t raw_at(const helio_zone_t *self, int64_t utc_s)
{
    uint32_t n = passed(self, utc_s);
    int64_t begin = n ? self->times[n - 1] : INT64_MIN;
    if (n == self->count && self->has_rule) {
        helio_zone_stretch_t stretch = helio_zone_rule_at(&self->rule, utc_s);
        if (stretch.begin_s < begin)
            stretch.begin_s = begin;
        return stretch;
    }
    const local_type_t *type = &self->types[n ? self->kinds[n - 1] : 0];
    return (helio_zone_stretch_t){begin, n < self->count ? self->times[n] : INT64_MAX, type->offset_s, type->daylight};
}

/*  Each end of a stretch is extended once: transitions without a change of offset (a new abbreviation) are common.
 *  Two in a row are rare, and would only split one stretch in two. */
helio_zone_stretch_t helio_zone_at(const helio_zone_t *self, int64_t utc_s)
{
    helio_zone_stretch_t stretch = raw_at(self, utc_s);
    if (stretch.begin_s != INT64_MIN) {
        helio_zone_stretch_t before = raw_at(self, stretch.begin_s - 1);
        if (is_same(&before, &stretch))
            stretch.begin_s = before.begin_s;
    }
    if (stretch.end_s != INT64_MAX) {
        helio_zone_stretch_t after = raw_at(self, stretch.end_s);
        if (is_same(&after, &stretch))
            stretch.end_s = after.end_s;
    }
    return stretch;
}

int64_t helio_zone_local_s(const helio_zone_t *self, int64_t utc_s)
{
    return utc_s + raw_at(self, utc_s).offset_s;
}

helio_local_fit_t helio_zone_utc_s(const helio_zone_t *self, int64_t local_s, int64_t *ret_first, int64_t *ret_second)
{
    /* Whatever the offset, the time is within 26 hours of the number: walk the stretches there. */
    int64_t found[2], jump = local_s;
    uint32_t count = 0;
    helio_zone_stretch_t stretch = raw_at(self, local_s - HELIO_ZONE_OFFSET_MAX_S);
    for (;;) {
        int64_t utc_s = local_s - stretch.offset_s;
        if (utc_s >= stretch.begin_s && utc_s < stretch.end_s && count < 2)
            found[count++] = utc_s;
        if (utc_s >= stretch.end_s)
            jump = stretch.end_s; /* shown after this stretch, or never */
        if (stretch.end_s == INT64_MAX || stretch.end_s > local_s + HELIO_ZONE_OFFSET_MAX_S)
            break;
        stretch = raw_at(self, stretch.end_s);
    }
    *ret_first = count ? found[0] : jump;
    *ret_second = count == 2 ? found[1] : *ret_first;
    return count == 0 ? HELIO_LOCAL_NEVER : count == 1 ? HELIO_LOCAL_ONCE : HELIO_LOCAL_TWICE;
}
