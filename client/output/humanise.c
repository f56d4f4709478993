/*  humanise.c -- formats quantities for people, and makes foreign text safe for a terminal. */
#include "client/output/humanise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/duration.h"
#include "federation/base/utf8.h"

/*  Three significant figures without an exponent. The rounded value decides the number of decimals, since a number can
 *  round up to the next power of ten. */
static void significant(double value, char *ret_text, size_t capacity)
{
    double size = fabs(value);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : 4;
    if (size < 0.00005) { /* neither decimals nor a sign */
        decimals = 0;
        value = 0;
    }
    (void)snprintf(ret_text, capacity, "%.*f", decimals, value);
    char *point = strchr(ret_text, '.');
    if (!point)
        return;
    char *end = ret_text + strlen(ret_text);
    while (end[-1] == '0')
        *--end = '\0';
    if (end[-1] == '.')
        *--end = '\0';
}

void helio_human_number(double value, char ret_text[HELIO_HUMAN_SIZE])
{
    if (!isfinite(value) || fabs(value) > 1e18)
        (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "?");
    else
        significant(value, ret_text, HELIO_HUMAN_SIZE);
}

typedef void duration_text_fn(uint64_t ms, char ret_text[HELIO_DURATION_SIZE]);

static void duration(double seconds, duration_text_fn *text, char ret_text[HELIO_HUMAN_SIZE])
{
    char size[HELIO_DURATION_SIZE];
    if (!isfinite(seconds) || fabs(seconds) > 1e15) {
        (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "?");
        return;
    }
    text((uint64_t)(fabs(seconds) + 0.5) * 1000, size);
    (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "%s%.40s", seconds <= -0.5 ? "-" : "", size);
}

void helio_human_duration(double seconds, char ret_text[HELIO_HUMAN_SIZE])
{
    duration(seconds, helio_duration_text_brief, ret_text);
}

void helio_human_run(double seconds, char ret_text[HELIO_HUMAN_SIZE])
{
    duration(seconds, seconds < 0 ? helio_duration_text_brief : helio_duration_text_brief_seconds, ret_text);
}

void helio_human_money(double usd, char ret_text[HELIO_HUMAN_SIZE])
{
    if (!isfinite(usd) || fabs(usd) > 1e15) {
        (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "?");
        return;
    }
    double size = fabs(usd) < 0.00005 ? 0 : fabs(usd);
    int decimals = size >= 99.995 ? 0 : size >= 0.1 || size == 0 ? 2 : 4;
    (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "%s$%.*f", usd < 0 && size > 0 ? "-" : "", decimals, size);
}

/*  A value in a base unit, with the largest unit that keeps it at 1 or more. Steps of 1000. */
static void scaled(double value, const char *const units[], int count, char ret_text[HELIO_HUMAN_SIZE])
{
    int unit = 0;
    while (unit + 1 < count && fabs(value) >= 999.5) {
        value /= 1000;
        unit++;
    }
    char number[HELIO_HUMAN_SIZE];
    helio_human_number(value, number);
    (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "%.30s %s", number, units[unit]);
}

void helio_human_energy(double kwh, char ret_text[HELIO_HUMAN_SIZE])
{
    static const char *const units[] = {"Wh", "kWh", "MWh", "GWh"};
    scaled(kwh * 1000, units, 4, ret_text);
}

void helio_human_mass(double g, char ret_text[HELIO_HUMAN_SIZE])
{
    static const char *const units[] = {"g", "kg", "t"};
    scaled(g, units, 3, ret_text);
}

void helio_human_bytes(double bytes, char ret_text[HELIO_HUMAN_SIZE])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    scaled(bytes, units, 6, ret_text);
}

void helio_human_time(const char *rfc3339, char ret_text[HELIO_HUMAN_SIZE])
{
    int64_t wall_ms;
    char text[HELIO_RFC3339_SIZE];
    if (helio_rfc3339_parse(helio_text_of(rfc3339), &wall_ms) != HELIO_OK) {
        (void)helio_text_copy(helio_text_of(rfc3339), ret_text, HELIO_HUMAN_SIZE);
        return;
    }
    helio_rfc3339(wall_ms, text);
    (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "%.19sZ", text);
}

void helio_short_id(const char *id, char ret_text[HELIO_HUMAN_SIZE])
{
    size_t size = strcspn(id, ".");
    (void)helio_text_copy(helio_text_of(size > 8 ? id + size - 8 : id), ret_text, HELIO_HUMAN_SIZE);
}

void helio_short_name(const char *name, uint32_t most, helio_buffer_t *out)
{
    helio_text_t cut = helio_utf8_cut(helio_text_of(name), most);
    helio_buffer_append(out, cut.data, cut.size);
}

static bool is_control(const char *at, size_t size, bool keep_lines)
{
    return *at != '\t' && !(*at == '\n' && keep_lines) && helio_utf8_is_control(at, size);
}

static void append_safe(const char *text, size_t all, bool keep_lines, helio_buffer_t *out)
{
    const char *end = text + all;
    for (const char *at = text; at < end;) {
        size_t size = helio_utf8_sequence(at, (size_t)(end - at));
        if (!size || is_control(at, size, keep_lines))
            helio_buffer_text(out, "?");
        else
            helio_buffer_append(out, at, size);
        at += size ? size : 1;
    }
}

void helio_safe_text(const char *text, bool keep_lines, helio_buffer_t *out)
{
    append_safe(text, strlen(text), keep_lines, out);
}

void helio_safe_json(const char *text, helio_buffer_t *out)
{
    const char *end = text + strlen(text);
    for (const char *at = text; at < end;) {
        const unsigned char *bytes = (const unsigned char *)at;
        size_t size = helio_utf8_sequence(at, (size_t)(end - at));
        if (!size || !is_control(at, size, true))
            helio_buffer_append(out, at, size ? size : 1);
        else if (size == 1)
            helio_buffer_printf(out, "\\u%04x", bytes[0]);
        else if (size == 2)
            helio_buffer_printf(out, "\\u%04x", (bytes[0] & 0x1Fu) << 6 | (bytes[1] & 0x3Fu));
        else
            helio_buffer_printf(out, "\\u%04x",
                                (bytes[0] & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu));
        at += size ? size : 1;
    }
}

/*  The size of the beginning of a character at the end of the bytes; 0 = none, or one that cannot become whole. */
static size_t unfinished(const char *bytes, size_t size)
{
    for (size_t back = 1; back < 4 && back <= size; back++) {
        unsigned char first = (unsigned char)bytes[size - back];
        if ((first & 0xC0) == 0x80)
            continue;
        size_t whole = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
        return back < whole ? back : 0;
    }
    return 0;
}

void helio_safe_piece(helio_safe_stream_t *self, const char *bytes, size_t size, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t joined = {0};
    helio_buffer_append(&joined, self->held, self->held_size);
    helio_buffer_append(&joined, bytes, size);
    self->held_size = unfinished(joined.data, joined.size);
    size_t whole = joined.size - self->held_size;
    memcpy(self->held, joined.data + whole, self->held_size);
    append_safe(joined.data, whole, true, out);
}
