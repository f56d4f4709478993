/*  civil.c -- calendar dates to days and back. */
#include "federation/base/civil.h"

/*  Days since 1970-01-01 of a proleptic Gregorian date and back; method: Howard Hinnant, "chrono-compatible
 *  low-level date algorithms" (eras of 400 years, years that start in March). */
int64_t helio_days_of_civil(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t yoe = year - era * 400;
    int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

void helio_civil_of_days(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *ret_day = doy - (153 * mp + 2) / 5 + 1;
    *ret_month = mp + (mp < 10 ? 3 : -9);
    *ret_year = yoe + era * 400 + (*ret_month <= 2);
}

uint32_t helio_weekday_of_days(int64_t days)
{
    int64_t weekday = (days + 3) % 7; /* 1970-01-01 was a Thursday */
    return (uint32_t)(weekday < 0 ? weekday + 7 : weekday);
}
