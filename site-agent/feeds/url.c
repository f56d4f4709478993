/*  url.c -- the placeholders of a source's URL. */
#include "site-agent/feeds/url.h"

#include <string.h>

#include "federation/base/char.h"
#include "federation/base/clock.h"

enum { URL_BYTES_MAX = 4096 };

static const int64_t HALF_HOUR_MS = 1800000, HOUR_MS = 3600000;

/*  "2026-11-22T07:30Z" */
static void put_time(helio_buffer_t *out, int64_t wall_ms, int64_t step_ms)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms - wall_ms % step_ms, text);
    helio_buffer_append(out, text, 16);
    helio_buffer_text(out, "Z");
}

/*  Percent-encodes everything but letters, digits and "-._~". */
static void put_escaped(helio_buffer_t *out, helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool plain = helio_is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
        if (plain)
            helio_buffer_append(out, &c, 1);
        else
            helio_buffer_printf(out, "%%%02X", (unsigned char)c);
    }
}

static bool put_word(helio_buffer_t *out, helio_text_t word, helio_text_t region, int64_t wall_ms)
{
    if (helio_text_is(word, "region"))
        put_escaped(out, region);
    else if (helio_text_is(word, "now"))
        put_time(out, wall_ms, HALF_HOUR_MS);
    else if (helio_text_is(word, "hour"))
        put_time(out, wall_ms, HOUR_MS);
    else if (helio_text_is(word, "day_ago"))
        put_time(out, wall_ms - 24 * HOUR_MS, HALF_HOUR_MS);
    else if (helio_text_is(word, "in_48h"))
        put_time(out, wall_ms + 48 * HOUR_MS, HALF_HOUR_MS);
    else
        return false;
    return true;
}

helio_rc helio_fetch_url(helio_text_t pattern, helio_text_t region, int64_t wall_ms, helio_buffer_t *out,
                         helio_error_t *err)
{
    for (uint32_t i = 0; i < pattern.size; i++) {
        if (pattern.data[i] != '{') {
            helio_buffer_append(out, pattern.data + i, 1);
            continue;
        }
        const char *end = memchr(pattern.data + i, '}', pattern.size - i);
        helio_text_t word = {pattern.data + i + 1, end ? (uint32_t)(end - pattern.data) - i - 1 : 0};
        if (!end || !put_word(out, word, region, wall_ms))
            return helio_fail(err, HELIO_INVALID,
                              "'{%.*s}' in a url: known are {region}, {now}, {hour}, {day_ago} and {in_48h}",
                              HELIO_TEXT_ARGS(word));
        i += word.size + 1;
    }
    if (out->overflow || out->size > URL_BYTES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "a url of more than %d bytes", URL_BYTES_MAX);
    return HELIO_OK;
}
