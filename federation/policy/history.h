/*  history.h -- what one signal of a site was, hour by hour: the latest word on each hour, and where it comes
 * from.
 *
 *  The latest issue that speaks of an hour is right about it, and an issue from before the hour began is a
 * forecast still: such a value counts as an estimate. Kept are the last HELIO_HISTORY_BACK_H hours, and the ones
 * ahead, since a site may fall silent. One owner. Hours are those of UTC.
 */
#ifndef HELIO_POLICY_HISTORY_H
#define HELIO_POLICY_HISTORY_H

#include "federation/model/site.h"

enum {
    HELIO_HISTORY_BACK_H = 168,
    HELIO_HISTORY_AHEAD_H = 72,
    HELIO_HISTORY_GAP_H = 24 /* so long a last good value stands in */
};

typedef struct helio_history helio_history_t;

/*  The views live until the next change of the past. */
typedef struct helio_history_value {
    int64_t hour_ms; /* the hour that it was said of: another one where a last good value stands in */
    double value;
    bool estimated; /* by its source, as a forecast, or as a stand-in */
    int64_t issued_ms;
    helio_text_t source, kind, factor;
} helio_history_value_t;

helio_history_t *helio_history_new(uint32_t signal);
void helio_history_destroy(helio_history_t **self_p);

/*  What to do about an hour that has begun and of which something new is known. */
typedef void helio_history_news_fn(void *arg, const helio_history_value_t *value);

/*  An issue of the signal. Passed over: marginal ones, ones older than the last, ones issued an hour ahead of
 * the clock. news may be NULL. */
void helio_history_take(helio_history_t *self, const helio_series_t *series, int64_t wall_ms,
                     helio_history_news_fn *news, void *arg);
/*  As it was told by news, after a restart: in order of their hours or not. */
void helio_history_restore(helio_history_t *self, const helio_history_value_t *value, int64_t wall_ms);

/*  Of the hour, else the last good one of the HELIO_HISTORY_GAP_H hours before it. False: nothing is known, and
 * the static figure has to do. */
bool helio_history_at(const helio_history_t *self, int64_t hour_ms, helio_history_value_t *ret_value);
/*  The nearest of all hours that are known, the ones before first: for a signal without a static figure. */
bool helio_history_nearest(const helio_history_t *self, int64_t hour_ms, helio_history_value_t *ret_value);

#endif
