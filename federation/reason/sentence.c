/*  sentence.c -- fills in the templates of details. */
#include "federation/reason/sentence.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"

/* ---- values -------------------------------------------------------------------------------------------- */

static void show_names(const helio_value_t *value, helio_buffer_t *out)
{
    uint32_t named = 0;
    const char *at = value->text.data, *end = at ? at + value->text.size : at;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (named++)
            helio_buffer_text(out, ", ");
        helio_buffer_append(out, at, (size_t)(stop - at));
        at = stop + 1;
    }
    if (value->number > named)
        helio_buffer_printf(out, " and %" PRId64 " more", value->number - named);
}

/*  Whole cents; below one, enough digits not to be shown as nothing. */
static void show_usd(int64_t micro_usd, helio_buffer_t *out)
{
    uint64_t size = micro_usd < 0 ? 0 - (uint64_t)micro_usd : (uint64_t)micro_usd, cents = (size + 5000) / 10000;
    if (size && size < 10000) {
        char digits[16];
        int end = snprintf(digits, sizeof digits, "%.*f", size < 50 ? 6 : 4, (double)size / 1e6);
        while (end > 4 && digits[end - 1] == '0') /* "0.00" stays */
            end--;
        helio_buffer_printf(out, "%s$%.*s", micro_usd < 0 ? "-" : "", end, digits);
        return;
    }
    helio_buffer_printf(out, "%s$%" PRIu64 ".%02" PRIu64, micro_usd < 0 ? "-" : "", cents / 100, cents % 100);
}

static void show_time(int64_t wall_ms, int size, helio_buffer_t *out)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms, text);
    helio_buffer_printf(out, "%.*sZ", size, text);
}

/*  "45s", "2m05s" below ten minutes, "45m", "4h30m": rounded up, so that nothing is promised too early. */
static void show_span(int64_t ms, helio_buffer_t *out)
{
    int64_t seconds = ms > 0 ? (ms - 1) / 1000 + 1 : 0, minutes = (seconds + 59) / 60;
    if (seconds < 60)
        helio_buffer_printf(out, "%" PRId64 "s", seconds);
    else if (seconds < 600 && seconds % 60)
        helio_buffer_printf(out, "%" PRId64 "m%02" PRId64 "s", seconds / 60, seconds % 60);
    else if (minutes < 60)
        helio_buffer_printf(out, "%" PRId64 "m", minutes);
    else
        helio_buffer_printf(out, "%" PRId64 "h%02" PRId64 "m", minutes / 60, minutes % 60);
}

static void show_bytes(int64_t bytes, helio_buffer_t *out)
{
    static const struct {
        int64_t bytes;
        const char *unit;
    } units[] = {{INT64_C(1000000000000), "TB"}, {1000000000, "GB"}, {1000000, "MB"}, {1000, "kB"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (bytes >= units[i].bytes) {
            helio_buffer_printf(out, "%.4g %s", (double)bytes / (double)units[i].bytes, units[i].unit);
            return;
        }
    helio_buffer_printf(out, "%" PRId64 " B", bytes);
}

/*  "4,980", "12.5": thousands separated, no more decimals than needed. */
static void show_milli(int64_t milli, helio_buffer_t *out)
{
    char digits[24];
    uint64_t value = milli < 0 ? 0 - (uint64_t)milli : (uint64_t)milli;
    int size = snprintf(digits, sizeof digits, "%" PRIu64, value / 1000);
    helio_buffer_text(out, milli < 0 ? "-" : "");
    for (int i = 0; i < size; i++)
        helio_buffer_printf(out, "%s%c", i && (size - i) % 3 == 0 ? "," : "", digits[i]);
    uint32_t part = (uint32_t)(value % 1000), places = 3;
    for (; part && part % 10 == 0; part /= 10)
        places--;
    if (part)
        helio_buffer_printf(out, ".%0*" PRIu32, (int)places, part);
}

static void show_mass(int64_t mg, helio_buffer_t *out)
{
    double g = (double)mg / 1000;
    if (g < 1000)
        helio_buffer_printf(out, "%.3g g", g);
    else
        helio_buffer_printf(out, g < 100000 ? "%.3g kg" : "%.0f kg", g / 1000);
}

void helio_value_show(helio_value_kind_t kind, const helio_value_t *value, helio_buffer_t *out)
{
    int64_t n = value->number;
    switch (kind) {
    case HELIO_VALUE_TEXT:
        helio_buffer_append(out, value->text.data, value->text.size);
        return;
    case HELIO_VALUE_NAMES:
        show_names(value, out);
        return;
    case HELIO_VALUE_COUNT:
    case HELIO_VALUE_FLAG:
        helio_buffer_printf(out, "%" PRId64, n);
        return;
    case HELIO_VALUE_USD:
        show_usd(n, out);
        return;
    case HELIO_VALUE_MINUTE:
        show_time(n, 16, out);
        return;
    case HELIO_VALUE_SECOND:
        show_time(n + 999, 19, out);
        return;
    case HELIO_VALUE_SPAN:
        show_span(n, out);
        return;
    case HELIO_VALUE_CARBON:
        helio_buffer_printf(out, "%" PRId64, (n + 500) / 1000);
        return;
    case HELIO_VALUE_MASS:
        show_mass(n, out);
        return;
    case HELIO_VALUE_ENERGY:
        helio_buffer_printf(out, "%.3g kWh", (double)n / 3.6e6);
        return;
    case HELIO_VALUE_BYTES:
        show_bytes(n, out);
        return;
    case HELIO_VALUE_MILLI:
        show_milli(n, out);
        return;
    case HELIO_VALUE_PERCENT:
        helio_buffer_printf(out, "%" PRId64 " %%", n);
        return;
    case HELIO_VALUE_KIND_COUNT:
        break;
    }
    assert(false);
}

/* ---- templates ----------------------------------------------------------------------------------------- */

typedef struct insertion {
    helio_value_kind_t kind;
    helio_value_t value;
    helio_text_t one, many; /* of {name|one|many}; empty = the value itself */
} insertion_t;

/*  at: after the '{'. Returns the position after the '}'. A template that names no parameter is a programming error. */
static const char *read_insertion(const helio_detail_t *detail, const helio_detail_entry_t *entry, const char *at,
                                  insertion_t *ret)
{
    const char *end = strchr(at, '}');
    assert(end);
    size_t size = strcspn(at, "|}");
    uint32_t i = 0;
    while (strncmp(entry->params[i].name, at, size) != 0 || entry->params[i].name[size]) {
        i++;
        assert(i < entry->param_count);
    }
    *ret = (insertion_t){.kind = entry->params[i].kind, .value = helio_detail_value(detail, i)};
    if (at[size] == '|') {
        const char *one = at + size + 1, *many = strchr(one, '|');
        assert(many && many < end);
        ret->one = (helio_text_t){one, (uint32_t)(many - one)};
        ret->many = (helio_text_t){many + 1, (uint32_t)(end - many - 1)};
    }
    return end + 1;
}

static bool is_nothing(const insertion_t *insertion)
{
    return !insertion->value.number && !insertion->value.text.size;
}

static void insert(const insertion_t *insertion, helio_buffer_t *out)
{
    helio_text_t word = insertion->value.number == 1 ? insertion->one : insertion->many;
    if (insertion->one.data)
        helio_buffer_append(out, word.data, word.size);
    else if (insertion->kind != HELIO_VALUE_FLAG)
        helio_value_show(insertion->kind, &insertion->value, out);
}

/*  One part of the template up to `stop`, from `at` on. Returns where it stopped. *ret_whole: no value was missing. */
static const char *fill(const helio_detail_t *detail, const helio_detail_entry_t *entry, const char *at, char stop,
                        bool *ret_whole, helio_buffer_t *out)
{
    *ret_whole = true;
    while (*at && *at != stop && *at != '[') {
        size_t plain = strcspn(at, "{[]");
        helio_buffer_append(out, at, plain);
        at += plain;
        if (*at != '{')
            break;
        insertion_t insertion;
        at = read_insertion(detail, entry, at + 1, &insertion);
        *ret_whole = *ret_whole && !is_nothing(&insertion);
        insert(&insertion, out);
    }
    return at;
}

void helio_sentence(const helio_detail_t *detail, helio_buffer_t *out)
{
    const helio_detail_entry_t *entry = helio_detail_entry(detail->code);
    bool whole;
    if (!entry)
        return;
    for (const char *at = entry->sentence; *at;) {
        at = fill(detail, entry, at, '[', &whole, out);
        if (*at != '[')
            continue;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t part = {0};
        at = fill(detail, entry, at + 1, ']', &whole, &part);
        assert(*at == ']');
        at++;
        if (whole)
            helio_buffer_append(out, part.data, part.size);
    }
}

void helio_sentences(const helio_details_t *details, helio_buffer_t *out)
{
    size_t first = out->size;
    for (uint32_t i = 0; i < details->items.count; i++) {
        size_t before = out->size;
        if (out->size > first)
            helio_buffer_text(out, "; ");
        size_t joint = out->size;
        helio_sentence(&details->items.items[i], out);
        if (out->size == joint)
            out->size = before; /* an unknown code adds nothing */
    }
}

helio_text_t helio_sentences_text(const helio_details_t *details, helio_arena_t *arena)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(details, &text);
    return helio_arena_text(arena, helio_buffer_view(&text));
}
