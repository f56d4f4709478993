#include "client/output/humanise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/duration.h"

/*  Three significant figures without an exponent. Numbers that round up to the next power of ten are printed
 * as that power, hence the choice by the rounded value. */
static void significant(double value, char *ret_text, size_t capacity)
{
    double size = fabs(value);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : 4;
    if (size < 0.00005)
        decimals = 0;
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
    double size = fabs(usd);
    int decimals = size >= 99.995 ? 0 : size >= 0.1 || size < 0.00005 ? 2 : 4;
    (void)snprintf(ret_text, HELIO_HUMAN_SIZE, "%s$%.*f", usd < 0 ? "-" : "", decimals, size);
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

void helio_safe_text(const char *text, bool keep_lines, helio_buffer_t *out)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        /* U+0080..U+009F (C2 80..C2 9F) are control characters too: 0x9B opens an escape sequence on some. */
        bool c1 = c == 0xC2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] <= 0x9F;
        bool control = (c < 0x20 && c != '\t' && !(c == '\n' && keep_lines)) || c == 0x7F || c1;
        if (control)
            helio_buffer_text(out, "?");
        else
            helio_buffer_append(out, at, 1);
        at += c1;
    }
}
