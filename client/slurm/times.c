/*  times.c -- instants, absolute and from now on. */
#include "client/slurm/times.h"

#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"

enum { DAY_S = 86400 };

/*  Local seconds to the instant. */
static int64_t utc_ms(const helio_zone_t *zone, int64_t local_s)
{
    int64_t first = local_s, second;
    if (zone)
        (void)helio_zone_utc_s(zone, local_s, &first, &second);
    return first * 1000;
}

bool helio_slurm_time(const char *word, const helio_zone_t *zone, int64_t now_ms, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"minutes", 60}, {"hours", 3600}, {"days", DAY_S}, {"weeks", 7 * (int64_t)DAY_S}};
    int64_t now_s = now_ms / 1000, local_s = zone ? helio_zone_local_s(zone, now_s) : now_s;
    unsigned long long count;
    char text[32], unit[16];
    int size = -1;
    if (strcmp(word, "today") == 0 || strcmp(word, "midnight") == 0) {
        *ret_ms = utc_ms(zone, local_s - local_s % DAY_S);
        return true;
    }
    if (strcmp(word, "now") == 0) {
        *ret_ms = now_ms;
        return true;
    }
    if (sscanf(word, "now-%5llu%15[a-z]%n", &count, unit, &size) == 2 && size > 0 && !word[size])
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strncmp(units[i].unit, unit, strlen(unit)) == 0) {
                *ret_ms = now_ms - (int64_t)count * units[i].seconds * 1000;
                return true;
            }
    size_t length = strlen(word);
    const char *rest = length == 10 ? "T00:00:00Z" : length == 16 ? ":00Z" : length == 19 ? "Z" : NULL;
    if (!rest)
        return false;
    (void)snprintf(text, sizeof text, "%s%s", word, rest);
    if (helio_rfc3339_parse(helio_text_of(text), ret_ms) != HELIO_OK)
        return false;
    *ret_ms = utc_ms(zone, *ret_ms / 1000);
    return true;
}
