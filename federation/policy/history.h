/*  history.h -- the history of one signal of a site, hour by hour: the latest value of each hour and its source.
 *
 *  The latest issue that covers an hour determines its value. A value issued before the hour began is a forecast and
 *  counts as an estimate. The history keeps the last HELIO_HISTORY_BACK_H hours, and the hours ahead, because a site
 *  can become silent. One owner. Hours are UTC hours.
 */
#ifndef HELIO_POLICY_HISTORY_H
#define HELIO_POLICY_HISTORY_H

#include "federation/model/site.h"

enum {
    HELIO_HISTORY_BACK_H = 168,
    HELIO_HISTORY_AHEAD_H = 72,
    HELIO_HISTORY_GAP_H = 24 /* hours for which the last good value is used in a gap */
};

typedef struct helio_history helio_history_t;

/*  The views live until the next change of the history. */
typedef struct helio_history_value {
    int64_t hour_ms; /* the hour of the value: an earlier one if the last good value is used */
    double value;
    bool estimated; /* by its source, as a forecast, or as a substitute */
    int64_t issued_ms;
    helio_text_t source, kind, factor;
    uint32_t feed_state;   /* helio_feed_state_t */
    int64_t last_value_ms; /* of a feed that failed, as in helio_series; 0 = not set */
} helio_history_value_t;

helio_history_t *helio_history_new(uint32_t signal);
void helio_history_destroy(helio_history_t **self_p);

/*  Called for an hour that has begun and has a new value. */
typedef void helio_history_news_fn(void *arg, const helio_history_value_t *value);

/*  Takes an issue of the signal. Ignored: marginal series, issues older than the last one, issues dated an hour
 *  ahead of the clock. news may be NULL. */
void helio_history_take(helio_history_t *self, const helio_series_t *series, int64_t wall_ms,
                        helio_history_news_fn *news, void *arg);
/*  Restores a value that news reported before a restart. The order of hours does not matter. */
void helio_history_restore(helio_history_t *self, const helio_history_value_t *value, int64_t wall_ms);

/*  The value of the hour, otherwise the last good value of the HELIO_HISTORY_GAP_H hours before it. False: unknown; use
 *  the static figure. */
bool helio_history_at(const helio_history_t *self, int64_t hour_ms, helio_history_value_t *ret_value);
/*  The value of the nearest known hour, earlier hours first: for a signal without a static figure. */
bool helio_history_nearest(const helio_history_t *self, int64_t hour_ms, helio_history_value_t *ret_value);

#endif
