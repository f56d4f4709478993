/*  past.h -- the history of one signal of a site, hour by hour: the latest value of each hour and its source.
 *
 *  The latest issue that covers an hour determines its value. A value issued before the hour began is a forecast and
 *  counts as an estimate. The history keeps the last HELIO_PAST_BACK_H hours, and the hours ahead, because a site may
 *  become silent. One owner. Hours are UTC hours.
 */
#ifndef HELIO_POLICY_PAST_H
#define HELIO_POLICY_PAST_H

#include "federation/model/site.h"

enum {
    HELIO_PAST_BACK_H = 168,
    HELIO_PAST_AHEAD_H = 72,
    HELIO_PAST_GAP_H = 24 /* hours for which the last good value is used in a gap */
};

typedef struct helio_past helio_past_t;

/*  The views live until the next change of the history. */
typedef struct helio_past_value {
    int64_t hour_ms; /* the hour of the value: an earlier one if the last good value is used */
    double value;
    bool estimated; /* by its source, as a forecast, or as a substitute */
    int64_t issued_ms;
    helio_text_t source, kind, factor;
} helio_past_value_t;

helio_past_t *helio_past_new(uint32_t signal);
void helio_past_destroy(helio_past_t **self_p);

/*  Called for an hour that has begun and has a new value. */
typedef void helio_past_news_fn(void *arg, const helio_past_value_t *value);

/*  Takes an issue of the signal. Ignored: marginal series, issues older than the last one, issues dated an hour
 *  ahead of the clock. news may be NULL. */
void helio_past_take(helio_past_t *self, const helio_series_t *series, int64_t wall_ms,
                     helio_past_news_fn *news, void *arg);
/*  Restores a value that news reported before a restart. The order of hours does not matter. */
void helio_past_restore(helio_past_t *self, const helio_past_value_t *value, int64_t wall_ms);

/*  The value of the hour, otherwise the last good value of the HELIO_PAST_GAP_H hours before it. False: unknown; use
 *  the static figure. */
bool helio_past_at(const helio_past_t *self, int64_t hour_ms, helio_past_value_t *ret_value);
/*  The value of the nearest known hour, earlier hours first: for a signal without a static figure. */
bool helio_past_nearest(const helio_past_t *self, int64_t hour_ms, helio_past_value_t *ret_value);

#endif
