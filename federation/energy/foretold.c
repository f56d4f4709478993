/*  foretold.c -- remembers forecasts by the days they were made ahead, and learns from their errors. */
#include "federation/energy/foretold.h"

#include <math.h>
#include <string.h>

enum { DAY_H = 24, PAST_H = HELIO_FORECAST_DAYS * DAY_H };
static const double KEPT_A_DAY = 0.8, DAYS_WITHOUT_ERROR = 2, TAU_H = 36;

static void forget(helio_foretold_t *self, uint32_t from)
{
    for (uint32_t day = 0; day < HELIO_FORETOLD_DAYS_AHEAD; day++)
        for (uint32_t i = from; i < HELIO_FORETOLD_HOURS; i++)
            self->values[day][i] = NAN;
}

void helio_foretold_begin(helio_foretold_t *self, int64_t hour)
{
    self->first_hour = hour - PAST_H;
    forget(self, 0);
}

/*  A clock that was set back leaves the rows as they are, unless they would all be in the future. */
static void move_on(helio_foretold_t *self, int64_t hour)
{
    int64_t by = hour - PAST_H - self->first_hour;
    if (by <= -PAST_H || by >= HELIO_FORETOLD_HOURS)
        helio_foretold_begin(self, hour);
    else if (by > 0) {
        uint32_t kept = HELIO_FORETOLD_HOURS - (uint32_t)by;
        for (uint32_t day = 0; day < HELIO_FORETOLD_DAYS_AHEAD; day++)
            memmove(self->values[day], self->values[day] + by, kept * sizeof self->values[day][0]);
        forget(self, kept);
        self->first_hour += by;
    }
}

static uint32_t days_ahead(int64_t hours)
{
    int64_t days = hours > 0 ? hours / DAY_H : 0;
    return days < HELIO_FORETOLD_DAYS_AHEAD ? (uint32_t)days : HELIO_FORETOLD_DAYS_AHEAD - 1;
}

void helio_foretold_take(helio_foretold_t *self, int64_t issue_hour, const helio_hours_t *issued)
{
    move_on(self, issue_hour);
    for (int64_t ahead = 0; ahead < (int64_t)HELIO_FORETOLD_DAYS_AHEAD * DAY_H; ahead++) {
        int64_t index = issue_hour + ahead - self->first_hour;
        double value = helio_hours_at(issued, issue_hour + ahead);
        if (isnan(value) || index >= HELIO_FORETOLD_HOURS)
            continue;
        double *known = &self->values[days_ahead(ahead)][index];
        if (isnan(*known) || ahead % DAY_H >= DAY_H / 2)
            *known = value;
    }
}

/*  NAN: the hour was not foretold that many days ahead, or its value is not known. */
static double error_of(const helio_issue_t *issue, uint32_t day, int64_t hour)
{
    int64_t index = hour - issue->foretold->first_hour;
    if (index < 0 || index >= HELIO_FORETOLD_HOURS)
        return NAN;
    return helio_hours_at(&issue->actual, hour) - issue->foretold->values[day][index];
}

/*  The usual error of that hour, by those of the same hour of the days until `last`. */
static double usual(const helio_issue_t *issue, int64_t hour, int64_t last)
{
    double sum = 0, weights = 0, weight = 1;
#ifdef HELIO_MUTANT_errors_of_the_first_day
    uint32_t day = 0;
#else
    uint32_t day = days_ahead(hour - issue->issue_hour);
#endif
    int64_t before = hour > last ? hour - (hour - last + DAY_H - 1) / DAY_H * DAY_H : hour;
    for (uint32_t n = 0; n < HELIO_FORECAST_DAYS; n++, before -= DAY_H, weight *= KEPT_A_DAY) {
        double error = error_of(issue, day, before);
        if (!isnan(error)) {
            sum += weight * error;
            weights += weight;
        }
    }
    return sum / (DAYS_WITHOUT_ERROR + weights);
}

uint32_t helio_foretold_correct(const helio_issue_t *issue, int64_t first_hour, uint32_t count, double least,
                                double *values)
{
    int64_t last = helio_hours_last(&issue->actual, INT64_MAX);
    if (last == INT64_MIN || first_hour - last > HELIO_FORECAST_STALE_HOURS)
        return 0; /* it has not been checked for long */
    double unusual = helio_hours_at(&issue->actual, last) - helio_hours_at(&issue->issued, last);
    unusual = isnan(unusual) ? 0 : unusual - usual(issue, last, last - 1);
    uint32_t changed = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t hour = first_hour + (int64_t)i;
        double issued = helio_hours_at(&issue->issued, hour);
        if (isnan(issued) || hour <= last)
            continue;
        double value = issued + usual(issue, hour, last) + unusual * exp(-(double)(hour - last) / TAU_H);
        values[i] = value < least ? least : value;
        changed += values[i] != issued;
    }
    return changed;
}
