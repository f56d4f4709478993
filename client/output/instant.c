/*  instant.c -- formats times in the reader's time zone, and finds them in sentences. */
#include "client/output/instant.h"

#include <stdio.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/base/clock.h"
#include "federation/base/number.h"

/*  "Z", "+01:00", "-03:30" */
static void offset_text(int32_t offset_s, char ret_text[16])
{
    int32_t minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
    if (offset_s == 0)
        (void)snprintf(ret_text, 16, "Z");
    else
        (void)snprintf(ret_text, 16, "%c%02d:%02d", offset_s < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
}

static void distance_text(int64_t now_ms, int64_t at_ms, char ret_text[HELIO_HUMAN_SIZE + 8])
{
    char time[HELIO_HUMAN_SIZE];
    int64_t far_ms = at_ms - now_ms;
    helio_human_run((double)(far_ms < 0 ? -far_ms : far_ms) / 1000, time);
    if (!now_ms)
        ret_text[0] = '\0';
    else if (far_ms > -1000 && far_ms < 1000) /* texts are cut to whole seconds */
        (void)snprintf(ret_text, HELIO_HUMAN_SIZE + 8, " (now)");
    else
        (void)snprintf(ret_text, HELIO_HUMAN_SIZE + 8, far_ms < 0 ? " (%.36s ago)" : " (in %.36s)", time);
}

/*  To the minute (16 characters) or the second (19). */
static void instant(const helio_zone_t *zone, int64_t now_ms, int64_t at_ms, int precision,
                    char ret_text[HELIO_INSTANT_SIZE])
{
    char time[HELIO_RFC3339_SIZE], offset[16], distance[HELIO_HUMAN_SIZE + 8];
    int64_t at_s = helio_floor(at_ms, 1000);
    int32_t offset_s = zone ? helio_zone_at(zone, at_s).offset_s : 0;
    offset_s -= offset_s % 60; /* historical offsets have seconds, which nothing prints */
    helio_rfc3339(at_ms + (int64_t)offset_s * 1000, time);
    offset_text(offset_s, offset);
    distance_text(now_ms, at_ms, distance);
    (void)snprintf(ret_text, HELIO_INSTANT_SIZE, "%.*s%s%s", precision, time, offset, distance);
}

void helio_instant_text(const helio_zone_t *zone, int64_t now_ms, int64_t at_ms, char ret_text[HELIO_INSTANT_SIZE])
{
    instant(zone, now_ms, at_ms, 19, ret_text);
}

/*  The size of the time that starts here; 0 = no time starts here. */
static size_t size_at(const char *text)
{
    static const char form[] = "0000-00-00T00:00";
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return 0;
    const char *rest = text + sizeof form - 1;
    if (rest[0] == 'Z')
        return sizeof form;
    bool seconds = rest[0] == ':' && helio_is_digit(rest[1]) && helio_is_digit(rest[2]);
    if (!seconds)
        return 0;
    bool thousandths = rest[3] == '.' && helio_is_digit(rest[4]) && helio_is_digit(rest[5]) && helio_is_digit(rest[6]);
    if (thousandths && rest[7] == 'Z') /* not shown */
        return sizeof form + 7;
    return rest[3] == 'Z' ? sizeof form + 3 : 0;
}

/*  An example of how to write a time, or what somebody wrote: neither is a time that anything happens at. */
static bool is_quoted(const char *text, const char *at)
{
    return at > text && (at[-1] == '\'' || at[-1] == '"');
}

void helio_instants_in(const helio_zone_t *zone, int64_t now_ms, const char *text, helio_buffer_t *out)
{
    const char *const start = text;
    bool inside = false; /* inside a number or word, where no time starts */
    while (*text) {
        char whole[32], shown[HELIO_INSTANT_SIZE];
        int64_t at_ms;
        size_t size = inside || is_quoted(start, text) ? 0 : size_at(text);
        if (size)
            (void)snprintf(whole, sizeof whole, "%.16s%sZ", text,
                           size > 17 ? (char[]){':', text[17], text[18], '\0'} : ":00");
        if (size && helio_rfc3339_parse(helio_text_of(whole), &at_ms) == HELIO_OK) {
            instant(zone, now_ms, at_ms, size > 17 ? 19 : 16, shown);
            helio_buffer_text(out, shown);
            text += size;
            continue;
        }
        inside = helio_is_letter_or_digit(*text);
        helio_buffer_append(out, text++, 1);
    }
}

helio_zone_t *helio_zone_of_reader(const char *tz)
{
    char path[160] = "/etc/localtime";
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    helio_zone_t *zone = NULL;
    if (tz && tz[0] == ':')
        tz++;
    if (tz && !helio_zone_name_is_good(helio_text_of(tz)))
        return NULL;
    if (tz)
        (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%.64s", tz);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    char part[4096];
    for (size_t size; bytes.size <= HELIO_ZONE_BYTES_MAX && (size = fread(part, 1, sizeof part, file)) > 0;)
        helio_buffer_append(&bytes, part, size);
    (void)fclose(file);
    if (bytes.size > HELIO_ZONE_BYTES_MAX || helio_zone_parse(helio_buffer_view(&bytes), &zone, NULL) != HELIO_OK)
        return NULL;
    return zone;
}
