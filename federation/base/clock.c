/*  clock.c -- reads the clocks, and formats and parses times. */
#include "federation/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "federation/base/civil.h"
#include "federation/base/number.h"

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t helio_clock_boot_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

int64_t helio_clock_boot_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t helio_clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

void helio_rfc3339(int64_t wall_ms, char ret_text[HELIO_RFC3339_SIZE])
{
    const int64_t day_ms = 86400000;
    /* the form has four digits for the year: years outside are clamped */
    const int64_t first_ms = INT64_C(-62167219200000), last_ms = INT64_C(253402300799999);
    wall_ms = wall_ms < first_ms ? first_ms : wall_ms > last_ms ? last_ms : wall_ms;
    int64_t days = helio_floor(wall_ms, day_ms);
    int64_t ms = wall_ms - days * day_ms, year, month, day;
    helio_civil_of_days(days, &year, &month, &day);
    char text[96]; /* the compiler does not see how small the numbers are */
    (void)snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)year, (int)month, (int)day,
                   (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
    (void)helio_text_copy(helio_text_of(text), ret_text, HELIO_RFC3339_SIZE);
}

static bool digits(const char **at, const char *end, int count, int64_t *ret_value)
{
    int64_t value = 0;
    if (end - *at < count)
        return false;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret_value = value;
    return true;
}

static bool literal(const char **at, const char *end, const char *any_of)
{
    if (*at == end || !strchr(any_of, **at) || **at == '\0')
        return false;
    (*at)++;
    return true;
}

helio_rc helio_rfc3339_parse(helio_text_t text, int64_t *ret_wall_ms)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *at = text.data, *end = text.data + text.size;
    int64_t year, month, day, hour, minute, second = 0, ms = 0;
    if (!text.size || !digits(&at, end, 4, &year) || !literal(&at, end, "-") || !digits(&at, end, 2, &month) ||
        !literal(&at, end, "-") || !digits(&at, end, 2, &day) || !literal(&at, end, "Tt ") ||
        !digits(&at, end, 2, &hour) || !literal(&at, end, ":") || !digits(&at, end, 2, &minute))
        return HELIO_INVALID;
    if (literal(&at, end, ":") && !digits(&at, end, 2, &second))
        return HELIO_INVALID;
    if (literal(&at, end, ".")) {
        int64_t scale = 100, digit;
        if (at == end || *at < '0' || *at > '9')
            return HELIO_INVALID;
        for (; digits(&at, end, 1, &digit); scale /= 10)
            ms += digit * scale;
    }
    int64_t offset_minutes = 0;
    if (!literal(&at, end, "Zz")) {
        int64_t sign = at < end && *at == '-' ? -1 : 1, offset_hour, offset_minute;
        if (!literal(&at, end, "+-") || !digits(&at, end, 2, &offset_hour) || !literal(&at, end, ":") ||
            !digits(&at, end, 2, &offset_minute) || offset_hour > 23 || offset_minute > 59)
            return HELIO_INVALID;
        offset_minutes = sign * (offset_hour * 60 + offset_minute);
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (at != end || month < 1 || month > 12 || day < 1 || day > month_days[month - 1] ||
        (month == 2 && day == 29 && !leap) || hour > 23 || minute > 59 || second > 60)
        return HELIO_INVALID;
    *ret_wall_ms = ((helio_days_of_civil(year, month, day) * 24 + hour) * 60 + minute - offset_minutes) * 60000 +
                   second * 1000 + ms;
    return HELIO_OK;
}
