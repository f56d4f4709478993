/*  points.h -- what a source said: values with times, out of JSON or CSV. Pure; answers are hostile until
 * read. */
#ifndef HELIO_FEEDS_POINTS_H
#define HELIO_FEEDS_POINTS_H

#include "site-agent/feeds/settings.h"

enum {
    HELIO_ANSWER_BYTES_MAX = 8 << 20, /* of one answer, file or program */
    HELIO_POINTS_MAX = 100000         /* points of one answer; more is an error */
};

typedef struct helio_point {
    int64_t time_ms; /* begin of what the value is for */
    double value;    /* finite, in the signal's unit */
    bool estimated;
    bool forecast; /* the source foresees it; else it says that it was so */
} helio_point_t;

typedef struct helio_points {
    helio_point_t *items; /* in the arena, in the order of the answer */
    uint32_t count;
} helio_points_t;

/*  JSON by the feed's fields; an entry without a value (null, as of a time yet to come) or without a time is
 * passed over. Times are RFC 3339 or Unix seconds. forecast: the answer of forecast_url. INVALID: not JSON,
 * or nothing where `list` points; TOO_BIG. */
HELIO_MUST_CHECK helio_rc helio_points_json(const helio_feed_t *feed, helio_text_t answer, bool forecast,
                                            helio_arena_t *arena, helio_points_t *ret_points,
                                            helio_error_t *err);

/*  CSV with a header line; columns by name, other columns are passed over, quotes are not known. Lines of
 * other regions are passed over when the feed has a region and the file a region column. Empty cells are
 * missing values. A cell that is no number or time is an error with its line. */
HELIO_MUST_CHECK helio_rc helio_points_csv(const helio_feed_t *feed, helio_text_t answer,
                                           helio_arena_t *arena, helio_points_t *ret_points,
                                           helio_error_t *err);

/*  One text out of an answer (a login's token); lives in the arena. */
HELIO_MUST_CHECK helio_rc helio_json_text(helio_text_t answer, helio_text_t path, helio_arena_t *arena,
                                          helio_text_t *ret_text, helio_error_t *err);

#endif
