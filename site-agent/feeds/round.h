/*  round.h -- asking one source once: a file, a program, or up to three requests (login, what was, what will
 * be). Internal to site-agent/feeds. */
#ifndef HELIO_FEEDS_ROUND_H
#define HELIO_FEEDS_ROUND_H

#include "site-agent/backends/command.h"
#include "site-agent/feeds/fetch.h"
#include "site-agent/feeds/points.h"

typedef struct helio_round helio_round_t;

/*  Exactly once a round, from the processing of what it was begun with: points lives for the call, without a
 * complaint all of it went well. Points and a complaint: one of two answers was in order. */
typedef void helio_round_done_fn(void *arg, const helio_points_t *points, const char *complaint);

typedef struct helio_round_parts {
    const helio_feed_t *feed;   /* borrowed */
    helio_fetcher_t *fetcher;   /* borrowed */
    helio_commands_t *commands; /* borrowed */
    helio_round_done_fn *done;
    void *arg;
} helio_round_parts_t;

helio_round_t *helio_round_new(const helio_round_parts_t *parts);
void helio_round_destroy(
    helio_round_t **self_p); /* after the fetcher and the commands: they might still call */

/*  Not while it runs. What fails at once is told by `done` as well, from here. */
void helio_round_begin(helio_round_t *self, int64_t wall_ms);
bool helio_round_runs(const helio_round_t *self);

#endif
