/*  feeds.c -- runs the feeds: asks each source in its rhythm, keeps its track, and tells when there is news to
 *  publish. */
#include "site-agent/feeds/feeds.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "site-agent/feeds/compose.h"
#include "site-agent/feeds/feed_round.h"
#include "site-agent/feeds/store.h"

enum { AT_ONCE = 4, FIRST_RETRY_MS = 60000, SAVE_EVERY_MS = 3600000, UNCHANGED_MS = 12 * 3600000 };
static const int64_t HOUR_MS = 3600000;
#define ZONES "/usr/share/zoneinfo"

typedef struct line {
    helio_feeds_t *feeds;
    const helio_feed_t *feed;
    helio_track_t *track;
    helio_round_t *round; /* NULL: static */
    int64_t due_ms;       /* CLOCK_BOOTTIME */
    uint32_t failures;    /* in a row */
} line_t;

struct helio_feeds {
    helio_feeds_options_t options;
    char *state_dir;
    helio_zone_t *zone;
    helio_track_t *tracks;
    line_t *lines;
    uint32_t count;
    helio_fetcher_t *fetcher;
    helio_commands_t *commands;
    int epoll;
    bool by_hour; /* something changes with the hour: a feed, a tariff, a window */
    bool news;
    int64_t published_wall_ms; /* INT64_MIN = never */
    int64_t now_ms, wall_ms;   /* as of the last call */
    int64_t save_due_ms;       /* CLOCK_BOOTTIME; INT64_MAX = nothing to write */
};

static void note(const helio_feeds_t *self, const helio_feed_t *feed, bool well, const char *text)
{
    if (self->options.on_note)
        self->options.on_note(self->options.arg, &(helio_feed_note_t){feed, well, text});
}

/*  ---- rounds ------------------------------------------------------------------------------------------------- */

/*  A minute after the first failure, then twice as long each time, up to the feed's own period. */
static int64_t pause_ms(const line_t *line)
{
    int64_t every_ms = (int64_t)line->feed->every_ms, pause = FIRST_RETRY_MS;
    for (uint32_t i = 1; i < line->failures && pause < every_ms; i++)
        pause *= 2;
    return line->failures && pause < every_ms ? pause : every_ms;
}

static void on_round(void *arg, const helio_points_t *points, const char *complaint)
{
    line_t *line = arg;
    helio_feeds_t *self = line->feeds;
    char text[800];
    uint32_t taken = points->count ? helio_track_take(line->track, points, self->wall_ms) : 0;
    if (points->count && line->feed->signal == HELIO_FEED_METER && self->options.on_meter)
        self->options.on_meter(self->options.arg, line->feed, points);
    if (!points->count)
        helio_track_fail(line->track);
    if (points->count && !taken && !complaint[0])
        complaint = "none of its values is for the last 35 or the next 8 days";
    bool well = complaint[0] == '\0';
    if (well && line->failures)
        note(self, line->feed, true, "");
    if (!well && line->failures == 0) {
        (void)snprintf(text, sizeof text, "%s", complaint);
        note(self, line->feed, false, text);
        self->news = true; /* the series of a feed that never gave a value says so */
    }
    line->failures = well ? 0 : line->failures + (line->failures < 1000);
    line->due_ms = self->now_ms + pause_ms(line);
    if (taken) {
        self->news = true;
        if (self->save_due_ms == INT64_MAX)
            self->save_due_ms = self->now_ms + SAVE_EVERY_MS;
    }
}

static void begin_due(helio_feeds_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        line_t *line = &self->lines[i];
        if (line->round && !helio_round_runs(line->round) && line->due_ms <= self->now_ms)
            helio_round_begin(line->round, self->wall_ms);
    }
}

static void save(helio_feeds_t *self)
{
    helio_error_t err = {0};
    self->save_due_ms = INT64_MAX;
    if (self->state_dir && helio_tracks_save(self->state_dir, self->options.settings, self->tracks, &err) != HELIO_OK)
        note(self, NULL, false, err.text);
}

/* ---- beginning and end --------------------------------------------------------------------------------- */

static helio_rc read_zone(helio_feeds_t *self, helio_error_t *err)
{
    helio_text_t name = self->options.profile->timezone;
    char path[512];
    if (!helio_zone_name_is_good(name))
        return helio_fail(err, HELIO_INVALID, "timezone: '%.*s' is not the name of a time zone", HELIO_TEXT_ARGS(name));
    (void)snprintf(path, sizeof path, "%s/%.*s", self->options.zones ? self->options.zones : ZONES,
                   HELIO_TEXT_ARGS(name));
    FILE *file = fopen(path, "re");
    if (!file && helio_text_is(name, "UTC")) { /* needs no data */
        self->zone = helio_zone_fixed(0);
        return HELIO_OK;
    }
    if (!file)
        return helio_fail(err, HELIO_NOT_FOUND, "timezone: %s: %s (Debian: tzdata)", path, strerror(errno));
    char *bytes = helio_new(HELIO_ZONE_BYTES_MAX + 1, 1);
    size_t size = fread(bytes, 1, HELIO_ZONE_BYTES_MAX + 1, file);
    (void)fclose(file);
    helio_error_t why = {0};
    helio_rc rc = helio_zone_parse((helio_text_t){bytes, (uint32_t)size}, &self->zone, &why);
    free(bytes);
    return rc == HELIO_OK ? rc : helio_fail(err, rc, "timezone: %s: %s", path, why.text);
}

static helio_rc make_sources(helio_feeds_t *self, helio_error_t *err)
{
    static const char *const environment[] = {"LC_ALL=C.UTF-8", NULL};
    helio_commands_options_t options = {
        .path = "/usr/local/bin:/usr/bin:/bin", .env = environment, .at_once = AT_ONCE, .queue_max = HELIO_FEEDS_MAX};
    helio_rc rc = helio_commands_new(&options, &self->commands, err);
    if (rc == HELIO_OK)
        rc = helio_fetcher_new(&self->fetcher, err);
    if (rc != HELIO_OK)
        return rc;
    struct epoll_event in = {.events = EPOLLIN};
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self->epoll < 0 || epoll_ctl(self->epoll, EPOLL_CTL_ADD, helio_commands_fd(self->commands), &in) != 0 ||
        epoll_ctl(self->epoll, EPOLL_CTL_ADD, helio_fetcher_fd(self->fetcher), &in) != 0)
        return helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno));
    return HELIO_OK;
}

static void make_lines(helio_feeds_t *self)
{
    const helio_feeds_settings_t *settings = self->options.settings;
    self->count = settings->feeds.count;
    self->tracks = helio_new(self->count + 1, sizeof *self->tracks);
    self->lines = helio_new(self->count + 1, sizeof *self->lines);
    for (uint32_t i = 0; i < self->count; i++) {
        line_t *line = &self->lines[i];
        *line = (line_t){self, &settings->feeds.items[i], &self->tracks[i], NULL, self->now_ms, 0};
        helio_track_begin(line->track, self->wall_ms);
        helio_round_parts_t parts = {line->feed, self->fetcher, self->commands, on_round, line};
        if (line->feed->source == HELIO_SOURCE_STATIC)
            continue;
        line->round = helio_round_new(&parts);
        self->by_hour = true;
    }
    self->by_hour = self->by_hour || settings->tariff.count || settings->windows.count;
}

static void load(helio_feeds_t *self)
{
    helio_error_t err = {0};
    helio_rc rc = self->state_dir ? helio_tracks_load(self->state_dir, self->options.settings, self->tracks, &err)
                                  : HELIO_NOT_FOUND;
    if (rc != HELIO_OK && rc != HELIO_NOT_FOUND)
        note(self, NULL, false, err.text);
}

helio_rc helio_feeds_new(const helio_feeds_options_t *options, helio_feeds_t **ret_feeds, helio_error_t *err)
{
    helio_feeds_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    self->state_dir = options->state_dir ? helio_strdup(options->state_dir) : NULL;
    self->epoll = -1;
    self->now_ms = options->now_boot_ms;
    self->wall_ms = options->wall_ms;
    self->published_wall_ms = INT64_MIN;
    self->save_due_ms = INT64_MAX;
    self->news = true;
    helio_rc rc = HELIO_OK;
    if (options->settings->tariff.count || options->settings->windows.count)
        rc = read_zone(self, err);
    if (rc == HELIO_OK)
        rc = make_sources(self, err);
    if (rc != HELIO_OK) {
        helio_feeds_destroy(&self);
        return rc;
    }
    make_lines(self);
    load(self);
    *ret_feeds = self;
    return HELIO_OK;
}

void helio_feeds_destroy(helio_feeds_t **self_p)
{
    helio_feeds_t *self = *self_p;
    if (!self)
        return;
    if (self->save_due_ms != INT64_MAX)
        save(self);
    helio_fetcher_destroy(&self->fetcher);
    helio_commands_destroy(&self->commands);
    for (uint32_t i = 0; i < self->count; i++)
        helio_round_destroy(&self->lines[i].round);
    if (self->epoll >= 0)
        (void)close(self->epoll);
    helio_zone_destroy(&self->zone);
    free(self->lines);
    free(self->tracks);
    free(self->state_dir);
    free(self);
    *self_p = NULL;
}

/* ---- called by the loop ------------------------------------------------------------------------------------- */

int helio_feeds_fd(const helio_feeds_t *self)
{
    return self->epoll;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*  Until the wall clock shows another hour, or unchanged series are due again. */
static int64_t next_publication_ms(const helio_feeds_t *self)
{
    if (self->news || self->published_wall_ms == INT64_MIN)
        return self->now_ms;
    int64_t left = self->by_hour ? HOUR_MS - self->wall_ms % HOUR_MS : UNCHANGED_MS;
    return self->now_ms + left;
}

int64_t helio_feeds_next_ms(const helio_feeds_t *self)
{
    int64_t next = earlier(next_publication_ms(self), self->save_due_ms);
    next = earlier(next, earlier(helio_fetcher_next_ms(self->fetcher), helio_commands_next_ms(self->commands)));
    for (uint32_t i = 0; i < self->count; i++)
        if (self->lines[i].round && !helio_round_runs(self->lines[i].round))
            next = earlier(next, self->lines[i].due_ms);
    return next;
}

void helio_feeds_process(helio_feeds_t *self, int64_t now_boot_ms, int64_t wall_ms)
{
    self->now_ms = now_boot_ms;
    self->wall_ms = wall_ms;
    begin_due(self);
    helio_fetcher_process(self->fetcher, now_boot_ms);
    helio_commands_process(self->commands, now_boot_ms);
    if (self->save_due_ms <= now_boot_ms)
        save(self);
}

bool helio_feeds_news(const helio_feeds_t *self, int64_t wall_ms)
{
    if (self->news || self->published_wall_ms == INT64_MIN)
        return true;
    int64_t period_ms = self->by_hour ? HOUR_MS : UNCHANGED_MS;
    return wall_ms / period_ms != self->published_wall_ms / period_ms;
}

void helio_feeds_publish(helio_feeds_t *self, const helio_aev_series_t *backend, int64_t wall_ms, helio_arena_t *arena,
                         helio_aev_series_t *ret_series)
{
    helio_compose_t from = {.profile = self->options.profile,
                            .settings = self->options.settings,
                            .tracks = self->tracks,
                            .zone = self->zone,
                            .backend = backend,
                            .opened_wall_ms = self->options.wall_ms};
    helio_compose(&from, wall_ms, arena, ret_series);
    self->news = false;
    self->published_wall_ms = wall_ms;
}
