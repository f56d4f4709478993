/*  feeds.h -- the shell around a site's feeds: asks sources when they are due, remembers their values, and gives what
 *  the site publishes. No call blocks: replies come through one descriptor, and next_ms tells when to call again.
 *  Thread: one owner. */
#ifndef HELIO_FEEDS_FEEDS_H
#define HELIO_FEEDS_FEEDS_H

#include "site-agent/core/agent_core.h"
#include "site-agent/feeds/points.h"
#include "site-agent/feeds/settings.h"

typedef struct helio_feeds helio_feeds_t;

/*  A feed began to fail, or works again. For the log: the text holds no secret. */
typedef struct helio_feed_note {
    const helio_feed_t *feed;
    bool well;
    const char *text; /* why it failed; "" if it works */
} helio_feed_note_t;

typedef struct helio_feeds_options {
    const helio_feeds_settings_t *settings; /* borrowed; completed (settings.h) */
    const helio_site_profile_t *profile;    /* borrowed */
    const char *state_dir;                  /* for the history over a restart; NULL = none */
    const char *zones;                      /* NULL = /usr/share/zoneinfo */
    void (*on_note)(void *arg, const helio_feed_note_t *note);
    /*  The points that a feed of signal meter gave, which live for the call. Can be NULL. */
    void (*on_meter)(void *arg, const helio_feed_t *feed, const helio_points_t *points);
    void *arg;
    int64_t now_boot_ms, wall_ms;
} helio_feeds_options_t;

/*  Every feed is due at once. INVALID, NOT_FOUND: the site's time zone is needed (by windows or a tariff) and cannot be
 *  read. Damage of the stored history is reported as a note without a feed. */
HELIO_MUST_CHECK helio_rc helio_feeds_new(const helio_feeds_options_t *options, helio_feeds_t **ret_feeds,
                                          helio_error_t *err);
void helio_feeds_destroy(helio_feeds_t **self_p); /* writes its history */

int helio_feeds_fd(const helio_feeds_t *self);          /* readable when process has work to do */
int64_t helio_feeds_next_ms(const helio_feeds_t *self); /* CLOCK_BOOTTIME */
void helio_feeds_process(helio_feeds_t *self, int64_t now_boot_ms, int64_t wall_ms);

/*  True when something new is to be published: values changed, or an hour began. */
bool helio_feeds_news(const helio_feeds_t *self, int64_t wall_ms);
/*  What to publish now; afterwards it counts as published. backend: the backend's series of the hours ahead
 *  (compose.h), NULL = none. */
void helio_feeds_publish(helio_feeds_t *self, const helio_aev_series_t *backend, int64_t wall_ms, helio_arena_t *arena,
                         helio_aev_series_t *ret_series);

#endif
