/*  points_csv.c -- files and the output of programs: a header line, then one line for each point. */
#include <math.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/spec/value.h"
#include "site-agent/feeds/points.h"

enum { LINE_MAX_BYTES = 65536, MISSING = -1 };

typedef struct columns {
    int32_t region, time, value;
    int32_t where[HELIO_FEED_HEADERS_MAX];
} columns_t;

/*  Cuts the first line off, without its line break. False: nothing is left. */
static bool take_line(helio_text_t *rest, helio_text_t *ret_line)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    uint32_t size = end ? (uint32_t)(end - rest->data) : rest->size, taken = size + (end != NULL);
    *ret_line = (helio_text_t){rest->data, size && rest->data[size - 1] == '\r' ? size - 1 : size};
    *rest = (helio_text_t){rest->data + taken, rest->size - taken};
    return true;
}

/*  The cell of a column, without blanks around it; false beyond the last column. */
static bool cell(helio_text_t line, int32_t column, helio_text_t *ret_cell)
{
    const char *at = line.data, *end = line.data + line.size;
    for (; column > 0; column--) {
        at = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
        if (!at)
            return false;
        at++;
    }
    const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
    end = comma ? comma : end;
    while (at < end && *at == ' ')
        at++;
    while (at < end && end[-1] == ' ')
        end--;
    *ret_cell = (helio_text_t){at, (uint32_t)(end - at)};
    return true;
}

static int32_t column_of(helio_text_t header, helio_text_t name)
{
    helio_text_t found;
    for (int32_t i = 0; cell(header, i, &found); i++)
        if (helio_text_equal(found, name))
            return i;
    return MISSING;
}

static helio_rc columns_of(const helio_feed_t *feed, helio_text_t header, columns_t *ret, helio_error_t *err)
{
    if (header.size > LINE_MAX_BYTES)
        return helio_fail(err, HELIO_TOO_BIG, "line 1: more than %d bytes", LINE_MAX_BYTES);
    if (header.size >= 3 && memcmp(header.data, "\xef\xbb\xbf", 3) == 0)
        header = (helio_text_t){header.data + 3, header.size - 3}; /* a byte order mark */
    *ret = (columns_t){.region = column_of(header, feed->region_column),
                       .time = column_of(header, feed->time_column),
                       .value = column_of(header, feed->value_column)};
    if (!feed->region.size)
        ret->region = MISSING;
    helio_text_t missing = {0};
    for (uint32_t i = 0; i < feed->where.count && i < HELIO_FEED_HEADERS_MAX; i++) {
        ret->where[i] = column_of(header, feed->where.items[i].name);
        missing = ret->where[i] == MISSING ? feed->where.items[i].name : missing;
    }
    missing = ret->value == MISSING ? feed->value_column : missing;
    missing = ret->time == MISSING ? feed->time_column : missing;
    if (missing.size)
        return helio_fail(err, HELIO_INVALID, "line 1: no column '%.*s'", HELIO_TEXT_ARGS(missing));
    return HELIO_OK;
}

static bool time_of(helio_text_t text, int64_t *ret_ms)
{
    int64_t seconds;
    if (helio_rfc3339_parse(text, ret_ms) == HELIO_OK)
        return true;
    if (helio_i64_parse(text, &seconds) != HELIO_OK || seconds > INT64_C(100000000000) ||
        seconds < -INT64_C(100000000000))
        return false;
    *ret_ms = seconds * 1000;
    return true;
}

typedef enum taken { POINT, NOTHING, BAD_TIME, BAD_VALUE } taken_t;

static bool counts(const helio_feed_t *feed, const columns_t *columns, helio_text_t line)
{
    helio_text_t text;
    if (columns->region != MISSING && (!cell(line, columns->region, &text) || !helio_text_equal(text, feed->region)))
        return false;
    for (uint32_t i = 0; i < feed->where.count && i < HELIO_FEED_HEADERS_MAX; i++)
        if (!cell(line, columns->where[i], &text) || !helio_text_equal(text, feed->where.items[i].value))
            return false;
    return true;
}

static taken_t take_point(const helio_feed_t *feed, const columns_t *columns, double factor, helio_text_t line,
                          helio_point_t *ret)
{
    helio_text_t text;
    *ret = (helio_point_t){0};
    if (!counts(feed, columns, line))
        return NOTHING;
    if (!cell(line, columns->time, &text) || !time_of(text, &ret->time_ms))
        return BAD_TIME;
    if (!cell(line, columns->value, &text) || text.size == 0)
        return NOTHING;
    if (helio_f64_parse(text, &ret->value) != HELIO_OK)
        return BAD_VALUE;
    ret->value *= factor;
    return fabs(ret->value) <= HELIO_POINT_VALUE_MAX ? POINT : BAD_VALUE;
}

helio_rc helio_points_csv(const helio_feed_t *feed, helio_text_t answer, helio_arena_t *arena,
                          helio_points_t *ret_points, helio_error_t *err)
{
    helio_text_t rest = answer, line;
    columns_t columns = {.region = MISSING, .time = MISSING, .value = MISSING};
    if (answer.size > HELIO_ANSWER_BYTES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "more than %d bytes", HELIO_ANSWER_BYTES_MAX);
    if (!take_line(&rest, &line))
        return helio_fail(err, HELIO_INVALID, "empty: expected a line of column names");
    helio_rc rc = columns_of(feed, line, &columns, err);
    if (rc != HELIO_OK)
        return rc;
    double factor;
    (void)helio_feed_unit(feed, &factor);
    helio_points_t points = {0};
    uint32_t capacity = 0;
    for (uint32_t number = 2; take_line(&rest, &line); number++) {
        helio_point_t point;
        taken_t taken = line.size ? take_point(feed, &columns, factor, line, &point) : NOTHING;
        if (taken == BAD_TIME || taken == BAD_VALUE)
            return helio_fail(err, HELIO_INVALID, "line %u: the %s is invalid", number,
                              taken == BAD_TIME ? "time" : "number");
        if (taken != POINT)
            continue;
        if (points.count == HELIO_POINTS_MAX)
            return helio_fail(err, HELIO_TOO_BIG, "more than %d points", HELIO_POINTS_MAX);
        if (points.count == capacity) { /* doubling in an arena wastes at most as much again */
            capacity = capacity ? capacity * 2 : 256;
            helio_point_t *longer = helio_arena_alloc(arena, capacity, sizeof *longer);
            if (points.count)
                memcpy(longer, points.items, points.count * sizeof *longer);
            points.items = longer;
        }
        points.items[points.count++] = point;
    }
    *ret_points = points;
    return HELIO_OK;
}
