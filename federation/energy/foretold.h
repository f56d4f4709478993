/*  foretold.h -- what a source foretold of each hour, and the correction of its newest forecast by its own past errors.
 *  Pure.
 *
 *      value(T) = issued(T) + usual(T) + (error(L) - usual(L)) * exp(-(T - L) / 36 h)         L = the last known hour
 *      usual(T) = sum of w * error / (2 + sum of w) over the same hour of up to 14 days before, w = 0.8^(age in days)
 *
 *  An error is the actual value less the foretold one. usual(T) counts errors of forecasts made as many days ahead as
 *  this one, since they differ by that; error(L) is that of the issue itself. The 2 stands for two days without an error,
 *  so that few errors correct little. Without any, a forecast stays as issued. docs/energy.md has its effect.
 *
 *  Hours are counted from 1970-01-01T00:00Z.
 */
#ifndef HELIO_ENERGY_FORETOLD_H
#define HELIO_ENERGY_FORETOLD_H

#include "federation/energy/forecast.h"

enum {
    HELIO_FORETOLD_DAYS_AHEAD = 4, /* further days count as the last of these */
    HELIO_FORETOLD_HOURS = (HELIO_FORECAST_DAYS + HELIO_FORETOLD_DAYS_AHEAD) * 24
};

typedef struct helio_foretold {
    int64_t first_hour;                                             /* of each row */
    double values[HELIO_FORETOLD_DAYS_AHEAD][HELIO_FORETOLD_HOURS]; /* by whole days ahead; NAN = not foretold */
} helio_foretold_t;

/*  Nothing is foretold; two weeks before `hour` and four days from it on have room. */
void helio_foretold_begin(helio_foretold_t *self, int64_t hour);
/*  Takes what was issued within issue_hour. Of several issues of one day ahead, that nearest to the middle of the day
 *  counts, from above: they stand for all of it. */
void helio_foretold_take(helio_foretold_t *self, int64_t issue_hour, const helio_hours_t *issued);

/*  An issue to correct, and what is known beside it. */
typedef struct helio_issue {
    const helio_foretold_t *foretold;
    helio_hours_t actual; /* nothing after the running hour */
    helio_hours_t issued;
    int64_t issue_hour;
} helio_issue_t;

/*  Replaces values[i], of hour first_hour + i, where the issue has that hour. Values are at least `least`. Returns how
 *  many it changed. */
uint32_t helio_foretold_correct(const helio_issue_t *issue, int64_t first_hour, uint32_t count, double least,
                                double *values);

#endif
