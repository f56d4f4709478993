/*  composer.h -- the series of the hours ahead, under construction. Only compose*.c includes it. */
#ifndef HELIO_SITE_AGENT_FEEDS_COMPOSER_H
#define HELIO_SITE_AGENT_FEEDS_COMPOSER_H

#include "site-agent/feeds/compose.h"

enum { HOURS = HELIO_COMPOSE_HOURS };
static const int64_t HOUR_MS = 3600000;

typedef struct composer {
    const helio_compose_t *from;
    int64_t wall_ms, hour; /* the current hour */
    int64_t issued_ms;     /* of values that no feed gives */
    helio_arena_t *arena;
    helio_aev_series_t *out;
} composer_t;

/* compose_feed.c */
/*  Adds a series with one value an hour, from the current hour on; values are zero. */
helio_series_t *composer_add(composer_t *self, uint32_t signal, helio_text_t source);
helio_series_t *composer_add_constant(composer_t *self, uint32_t signal, helio_text_t source, double value);
/*  False: the feed has no data, and something else has to replace it. least: lower bound of its band. */
bool composer_add_feed(composer_t *self, uint32_t signal, const helio_feed_t *feed, double least);
/*  Says in a series that it replaces this feed, if the feed has failed. NULL = none is configured. */
void composer_mark_failed(const composer_t *self, const helio_feed_t *feed, helio_series_t *series);
const helio_feed_t *composer_feed_of(const composer_t *self, uint32_t signal, helio_text_t pool); /* NULL = none */

/* compose_windows.c */
/*  The intervals of a schedule from the current hour on. */
uint32_t composer_intervals(const composer_t *self, helio_text_t when, helio_interval_t **ret_intervals);
/*  The part of each hour from the current one on that lies within the schedule: 0..1. */
void composer_shares(const composer_t *self, helio_text_t when, double shares[HOURS]);
/*  What windows leave free of a pool, and what they reserve; nothing for a pool without windows. */
void composer_add_free(composer_t *self, const helio_pool_t *pool);
void composer_add_reserved(composer_t *self, helio_text_t pool);

#endif
