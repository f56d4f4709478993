/*  feed_round.h -- asks one source once: a file, a program, or up to three requests (login, history, forecast).
 *  Internal to site-agent/feeds. */
#ifndef HELIO_FEEDS_FEED_ROUND_H
#define HELIO_FEEDS_FEED_ROUND_H

#include "site-agent/backends/command.h"
#include "federation/fetch/fetch.h"
#include "site-agent/feeds/points.h"

typedef struct helio_round helio_round_t;

/*  Called exactly once a round, from the processing of the fetcher or the commands. points lives for the call; all went
 *  well if there is no complaint. Points with a complaint: one of two responses was correct. */
typedef void helio_round_done_fn(void *arg, const helio_points_t *points, const char *complaint);

typedef struct helio_round_parts {
    const helio_feed_t *feed;   /* borrowed */
    helio_fetcher_t *fetcher;   /* borrowed */
    helio_commands_t *commands; /* borrowed */
    helio_round_done_fn *done;
    void *arg;
} helio_round_parts_t;

helio_round_t *helio_round_new(const helio_round_parts_t *parts);
void helio_round_destroy(helio_round_t **self_p); /* after the fetcher and the commands, which could still call it */

/*  Not while a round runs. An error at once is reported to `done` too, from this call. */
void helio_round_begin(helio_round_t *self, int64_t wall_ms);
bool helio_round_runs(const helio_round_t *self);

#endif
