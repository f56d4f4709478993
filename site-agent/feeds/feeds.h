/*  feeds.h -- the shell around a site's feeds: asks sources when it is time, remembers what they said, and
 * says what the site publishes. Never waits: answers come through one descriptor and a wish for a time.
 * Thread: one owner.
 */
#ifndef HELIO_FEEDS_FEEDS_H
#define HELIO_FEEDS_FEEDS_H

#include "site-agent/core/agent_core.h"
#include "site-agent/feeds/points.h"
#include "site-agent/feeds/settings.h"

typedef struct helio_feeds helio_feeds_t;

/*  A feed began to fail, or is well again. For the log: no secret is in the text. */
typedef struct helio_feed_note {
    const helio_feed_t *feed;
    bool well;
    const char *text; /* why it failed; "" when well */
} helio_feed_note_t;

typedef struct helio_feeds_options {
    const helio_feeds_settings_t *settings; /* borrowed; completed (settings.h) */
    const helio_site_profile_t *profile;    /* borrowed */
    const char *state_dir;                  /* for the memory over a restart; NULL = none */
    const char *zones;                      /* NULL = /usr/share/zoneinfo */
    void (*on_note)(void *arg, const helio_feed_note_t *note);
    /*  What a feed of signal meter answered: its points live for the call. May be NULL. */
    void (*on_meter)(void *arg, const helio_feed_t *feed, const helio_points_t *points);
    void *arg;
    int64_t now_boot_ms, wall_ms;
} helio_feeds_options_t;

/*  Every feed is due at once. INVALID, NOT_FOUND: the site's time zone is needed (by windows or a tariff) and
 * cannot be read. What a damaged memory suffered from is told as a note without feed. */
HELIO_MUST_CHECK helio_rc helio_feeds_new(const helio_feeds_options_t *options, helio_feeds_t **ret_feeds,
                                          helio_error_t *err);
void helio_feeds_destroy(helio_feeds_t **self_p); /* writes what it knows */

int helio_feeds_fd(const helio_feeds_t *self);          /* readable when process has something to do */
int64_t helio_feeds_next_ms(const helio_feeds_t *self); /* CLOCK_BOOTTIME */
void helio_feeds_process(helio_feeds_t *self, int64_t now_boot_ms, int64_t wall_ms);

/*  True when there is something else to publish than last time: news, or an hour began. */
bool helio_feeds_news(const helio_feeds_t *self, int64_t wall_ms);
/*  What to publish now; it is then no news any more. backend: what that says of the hours to come
 * (compose.h), NULL = nothing. */
void helio_feeds_publish(helio_feeds_t *self, const helio_aev_series_t *backend, int64_t wall_ms,
                         helio_arena_t *arena, helio_aev_series_t *ret_series);

#endif
