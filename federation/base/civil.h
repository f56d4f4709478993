/*  civil.h -- dates of the proleptic Gregorian calendar as counts of days. Pure: no clock, no time zone. */
#ifndef HELIO_BASE_CIVIL_H
#define HELIO_BASE_CIVIL_H

#include <stdint.h>

/*  Days since 1970-01-01; month 1..12, day 1..31 (larger days continue into the next month). */
int64_t helio_days_of_civil(int64_t year, int64_t month, int64_t day);
void helio_civil_of_days(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day);
/*  0 = Monday … 6 = Sunday. */
uint32_t helio_weekday_of_days(int64_t days);

#endif
