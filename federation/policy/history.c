/*  history.c -- a ring of hourly values with their origins. */
#include "federation/policy/history.h"

#include <math.h>
#include <stdlib.h>

#include "federation/policy/pool_forecast.h"

enum { RING_HOURS = 256, ORIGIN_NONE = UINT16_MAX };

_Static_assert(RING_HOURS >= HELIO_HISTORY_BACK_H + HELIO_HISTORY_AHEAD_H + 2, "an hour has one place");

/*  Origins of values: few differ, so each is stored once. */
typedef struct origin {
    char source[65], kind[17], factor[17];
    bool estimated;
    uint32_t feed_state;
    int64_t last_value_ms;
    uint32_t hours; /* hours with this origin; 0 = the entry is free */
} origin_t;

typedef struct entry {
    int64_t hour_ms;
    double value;
    int64_t issued_ms;
    uint16_t origin; /* ORIGIN_NONE = unknown */
} entry_t;

struct helio_history {
    uint32_t signal;
    int64_t issued_ms;   /* of the last issue taken */
    int64_t reported_ms; /* the last hour reported as news; 0 = none */
    entry_t ring[RING_HOURS];
    origin_t *origins;
    uint32_t origin_count;
};

static const entry_t *place_of(const helio_history_t *self, int64_t hour_ms)
{
    int64_t at = hour_ms / HELIO_HOUR_MS % RING_HOURS;
    return &self->ring[at < 0 ? at + RING_HOURS : at];
}

static const entry_t *find(const helio_history_t *self, int64_t hour_ms)
{
    const entry_t *entry = place_of(self, hour_ms);
    return entry->origin != ORIGIN_NONE && entry->hour_ms == hour_ms ? entry : NULL;
}

helio_history_t *helio_history_new(uint32_t signal)
{
    helio_history_t *self = helio_new(1, sizeof *self);
    self->signal = signal;
    self->issued_ms = INT64_MIN;
    for (uint32_t i = 0; i < RING_HOURS; i++)
        self->ring[i].origin = ORIGIN_NONE;
    return self;
}

void helio_history_destroy(helio_history_t **self_p)
{
    helio_history_t *self = *self_p;
    if (!self)
        return;
    free(self->origins);
    free(self);
    *self_p = NULL;
}

static helio_history_value_t value_of(const helio_history_t *self, const entry_t *entry)
{
    const origin_t *origin = &self->origins[entry->origin];
    return (helio_history_value_t){
        .hour_ms = entry->hour_ms,
        .value = entry->value,
        .estimated = origin->estimated || entry->issued_ms < entry->hour_ms,
        .issued_ms = entry->issued_ms,
        .source = helio_text_of(origin->source),
        .kind = helio_text_of(origin->kind),
        .factor = helio_text_of(origin->factor),
        .feed_state = origin->feed_state,
        .last_value_ms = origin->last_value_ms,
    };
}

static bool is_origin(const origin_t *origin, const helio_history_value_t *value)
{
    return origin->estimated == value->estimated && origin->feed_state == value->feed_state &&
           origin->last_value_ms == value->last_value_ms && helio_text_is(value->source, origin->source) &&
           helio_text_is(value->kind, origin->kind) && helio_text_is(value->factor, origin->factor);
}

/*  The origin of such a value. At most one origin per hour of the ring, plus the one being taken: the table does not
 *  grow further. */
static uint16_t origin_of(helio_history_t *self, const helio_history_value_t *value)
{
    uint32_t unused = self->origin_count;
    for (uint32_t i = 0; i < self->origin_count; i++) {
        const origin_t *origin = &self->origins[i];
        if (!origin->hours)
            unused = i;
        else if (is_origin(origin, value))
            return (uint16_t)i;
    }
    if (unused == self->origin_count)
        self->origins = helio_grow(self->origins, ++self->origin_count, sizeof *self->origins);
    origin_t *origin = &self->origins[unused];
    *origin = (origin_t){
        .estimated = value->estimated, .feed_state = value->feed_state, .last_value_ms = value->last_value_ms};
    (void)helio_text_copy(value->source, origin->source, sizeof origin->source);
    (void)helio_text_copy(value->kind, origin->kind, sizeof origin->kind);
    (void)helio_text_copy(value->factor, origin->factor, sizeof origin->factor);
    return (uint16_t)unused;
}

/*  Returns whether the value is new. */
static bool put(helio_history_t *self, int64_t hour_ms, double value, int64_t issued_ms, uint16_t origin)
{
    entry_t *entry = &self->ring[place_of(self, hour_ms) - self->ring];
    bool same = entry->origin == origin && origin != ORIGIN_NONE && entry->hour_ms == hour_ms &&
                entry->issued_ms == issued_ms && entry->value == value;
    if (same)
        return false;
    if (entry->origin != ORIGIN_NONE)
        self->origins[entry->origin].hours--;
    *entry = (entry_t){hour_ms, value, issued_ms, origin};
    if (origin != ORIGIN_NONE)
        self->origins[origin].hours++;
    return true;
}

static void tell(helio_history_t *self, const entry_t *entry, helio_history_news_fn *news, void *arg)
{
    helio_history_value_t value = value_of(self, entry);
    if (news)
        news(arg, &value);
}

/*  Hours that began since the last issue: its values are their final ones. */
static void tell_elapsed(helio_history_t *self, int64_t before_ms, helio_history_news_fn *news, void *arg)
{
    for (int64_t h = self->reported_ms + HELIO_HOUR_MS; self->reported_ms && h < before_ms; h += HELIO_HOUR_MS) {
        const entry_t *entry = find(self, h);
        if (entry)
            tell(self, entry, news, arg);
    }
}

void helio_history_take(helio_history_t *self, const helio_series_t *series, int64_t wall_ms,
                        helio_history_news_fn *news, void *arg)
{
    if (!series->step_s || !series->values.count || helio_text_is(series->kind, "marginal") ||
        series->issued_wall_ms < self->issued_ms || series->issued_wall_ms > wall_ms + HELIO_HOUR_MS)
        return;
    const helio_signal_range_t range = helio_signal_range(self->signal);
    int64_t now_ms = helio_hour_of(wall_ms), from_ms = helio_hour_of(series->start_wall_ms);
    int64_t first_ms = now_ms - HELIO_HISTORY_BACK_H * (int64_t)HELIO_HOUR_MS;
    int64_t end_ms = now_ms + HELIO_HISTORY_AHEAD_H * (int64_t)HELIO_HOUR_MS;
    from_ms = from_ms > first_ms ? from_ms : first_ms;
    if (self->reported_ms && self->reported_ms < first_ms)
        self->reported_ms = first_ms;
    self->issued_ms = series->issued_wall_ms;
    tell_elapsed(self, from_ms <= now_ms ? from_ms : now_ms + HELIO_HOUR_MS, news, arg);
    const helio_history_value_t taken = {.estimated = series->estimated,
                                         .source = series->source,
                                         .kind = series->kind,
                                         .factor = series->factor,
                                         .feed_state = series->feed_state,
                                         .last_value_ms = series->last_value_ms};
    uint16_t origin = origin_of(self, &taken);
    for (int64_t h = from_ms; h < end_ms; h += HELIO_HOUR_MS) {
        double mean = helio_pool_forecast_hour_mean(series, range.least, h);
        bool good = isfinite(mean), fresh = false;
        if (good)
            fresh = put(self, h, fmin(mean, range.most), series->issued_wall_ms, origin);
        else if (h > now_ms)
            (void)put(self, h, 0, 0, ORIGIN_NONE); /* forecast by the previous issue */
        const entry_t *entry = find(self, h);
        if (h <= now_ms && entry && (fresh || h > self->reported_ms))
            tell(self, entry, news, arg);
    }
    if (news)
        self->reported_ms = self->reported_ms > now_ms ? self->reported_ms : now_ms;
}

void helio_history_restore(helio_history_t *self, const helio_history_value_t *value, int64_t wall_ms)
{
    int64_t now_ms = helio_hour_of(wall_ms), hour_ms = helio_hour_of(value->hour_ms);
    if (hour_ms < now_ms - HELIO_HISTORY_BACK_H * (int64_t)HELIO_HOUR_MS || hour_ms > now_ms)
        return;
    helio_history_value_t taken = *value;
    taken.estimated = value->estimated && value->issued_ms >= hour_ms; /* its times show whether it was a forecast */
    uint16_t origin = origin_of(self, &taken);
    (void)put(self, hour_ms, value->value, value->issued_ms, origin);
    self->reported_ms = self->reported_ms > hour_ms ? self->reported_ms : hour_ms;
    self->issued_ms = self->issued_ms > value->issued_ms ? self->issued_ms : value->issued_ms;
}

bool helio_history_at(const helio_history_t *self, int64_t hour_ms, helio_history_value_t *ret_value)
{
    for (int64_t back = 0; back <= HELIO_HISTORY_GAP_H; back++) {
        const entry_t *entry = find(self, hour_ms - back * HELIO_HOUR_MS);
        if (!entry)
            continue;
        *ret_value = value_of(self, entry);
        ret_value->estimated = ret_value->estimated || back > 0;
        return true;
    }
    return false;
}

bool helio_history_nearest(const helio_history_t *self, int64_t hour_ms, helio_history_value_t *ret_value)
{
    const entry_t *before = NULL, *after = NULL;
    for (uint32_t i = 0; i < RING_HOURS; i++) {
        const entry_t *entry = &self->ring[i];
        if (entry->origin == ORIGIN_NONE)
            continue;
        if (entry->hour_ms <= hour_ms && (!before || entry->hour_ms > before->hour_ms))
            before = entry;
        if (entry->hour_ms > hour_ms && (!after || entry->hour_ms < after->hour_ms))
            after = entry;
    }
    if (!before && !after)
        return false;
    *ret_value = value_of(self, before ? before : after);
    ret_value->estimated = ret_value->estimated || ret_value->hour_ms != hour_ms;
    return true;
}
