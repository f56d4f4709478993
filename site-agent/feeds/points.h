/*  points.h -- the values of a source with their times, from JSON or CSV. Pure; responses are not trusted. */
#ifndef HELIO_FEEDS_POINTS_H
#define HELIO_FEEDS_POINTS_H

#include "site-agent/feeds/settings.h"

enum {
    HELIO_ANSWER_BYTES_MAX = 8 << 20, /* of one response, file or program */
    HELIO_POINTS_MAX = 100000         /* points of one response; more is an error */
};

/*  Largest absolute value, in the signal's unit. More is not a measurement; sums of values must stay finite. */
#define HELIO_POINT_VALUE_MAX 1e15

typedef struct helio_point {
    int64_t time_ms; /* start of the interval that the value is for */
    double value;    /* within HELIO_POINT_VALUE_MAX, in the signal's unit */
    bool estimated;
    bool forecast; /* a forecast of the source; else an actual value */
} helio_point_t;

typedef struct helio_points {
    helio_point_t *items; /* in the arena, in the order of the response */
    uint32_t count;
} helio_points_t;

/*  JSON by the feed's fields. An entry without a value (null, for a time in the future; or out of bounds) or without a
 *  time is skipped. Times are RFC 3339 or Unix seconds. forecast: the response of forecast_url. INVALID: not JSON, or
 *  `list` points to nothing; TOO_BIG. */
HELIO_MUST_CHECK helio_rc helio_points_json(const helio_feed_t *feed, helio_text_t answer, bool forecast,
                                            helio_arena_t *arena, helio_points_t *ret_points, helio_error_t *err);

/*  CSV with a header line; columns by name, other columns are ignored, quotes are not supported. Lines of other regions
 *  are skipped if the feed has a region and the file a region column. Empty cells are missing values. A cell that is
 *  not a number within the bounds, or not a time, is an error with its line. */
HELIO_MUST_CHECK helio_rc helio_points_csv(const helio_feed_t *feed, helio_text_t answer, helio_arena_t *arena,
                                           helio_points_t *ret_points, helio_error_t *err);

/*  One string of a response (a login's token); lives in the arena. */
HELIO_MUST_CHECK helio_rc helio_json_text(helio_text_t answer, helio_text_t path, helio_arena_t *arena,
                                          helio_text_t *ret_text, helio_error_t *err);

#endif
