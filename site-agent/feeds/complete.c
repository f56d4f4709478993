/*  complete.c -- what a site file implies about its feeds, and contradictions between its entries. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "site-agent/core/capacity.h"
#include "site-agent/feeds/maps.h"

typedef struct completion {
    const helio_site_profile_t *profile;
    const char *folder;
    helio_arena_t *arena;
    helio_error_t *err;
    char at[64]; /* the entry, for messages */
} completion_t;

#define refuse(self, ...) refuse(self, __VA_ARGS__)

HELIO_PRINTF(2, 3) static helio_rc refuse(const completion_t *self, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return helio_fail(self->err, HELIO_INVALID, "%s: %s", self->at, text);
}

static void imply(helio_text_t *value, const char *implied)
{
    if (!value->size && implied)
        *value = helio_text_of(implied);
}

static void imply_text(helio_text_t *value, helio_text_t implied)
{
    if (!value->size)
        *value = implied;
}

/*  Absolute and NUL-terminated. */
static void make_absolute(const completion_t *self, helio_text_t *path)
{
    if (path->size)
        *path = path->data[0] == '/' ? helio_arena_text(self->arena, *path)
                                     : helio_arena_printf(self->arena, "%s/%.*s", self->folder, HELIO_TEXT_ARGS(*path));
}

static void imply_map(helio_feed_t *feed)
{
    const helio_feed_map_t *map = helio_feed_map_of(feed->map);
    if (!map)
        return;
    imply(&feed->name, map->name);
    if (!feed->url.size) { /* another address may have another forecast, or none */
        imply(&feed->url, map->url);
        imply(&feed->forecast_url, map->forecast_url);
    }
    imply(&feed->kind, map->kind);
    imply(&feed->factor, map->factor);
    imply(&feed->unit, map->unit);
    imply(&feed->login.url, map->login_url);
    imply(&feed->login.token, map->token);
    helio_feed_fields_t *fields = &feed->fields;
    imply_text(&fields->list, map->fields.list);
    imply_text(&fields->time, map->fields.time);
    imply_text(&fields->value, map->fields.value);
    imply_text(&fields->forecast, map->fields.forecast);
    imply_text(&fields->estimated, map->fields.estimated);
    imply_text(&fields->forecast_list, map->fields.forecast_list);
    imply_text(&fields->forecast_time, map->fields.forecast_time);
    imply_text(&fields->forecast_value, map->fields.forecast_value);
}

static void imply_defaults(const completion_t *self, helio_feed_t *feed)
{
    static const char *const first_units[] = {[HELIO_FEED_CARBON] = "g/kWh",    [HELIO_FEED_ELECTRICITY] = "USD/kWh",
                                              [HELIO_FEED_PRICE] = "USD/GPU-h", [HELIO_FEED_PUE] = "1",
                                              [HELIO_FEED_POWER] = "W",         [HELIO_FEED_LOAD] = "1",
                                              [HELIO_FEED_METER] = "kWh"};
    imply_map(feed);
    imply(&feed->name, helio_feed_source_name(feed->source));
    imply(&feed->unit, first_units[feed->signal]);
    if (feed->signal == HELIO_FEED_CARBON) {
        imply(&feed->kind, "average");
        imply(&feed->factor, "lifecycle");
    }
    imply_text(&feed->region, self->profile->region);
    make_absolute(self, &feed->path);
    make_absolute(self, &feed->login.password_file);
    for (uint32_t i = 0; i < feed->secrets.count; i++)
        make_absolute(self, &feed->secrets.items[i].value);
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static bool begins(helio_text_t text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

/*  Where a secret may be sent: over TLS, or not over a network at all. */
static bool is_private(helio_text_t url)
{
    static const char *const here[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
    if (begins(url, "https://"))
        return true;
    for (size_t i = 0; i < sizeof here / sizeof here[0]; i++) {
        size_t size = strlen(here[i]);
        if (begins(url, here[i]) && (url.size == size || url.data[size] == ':' || url.data[size] == '/'))
            return true;
    }
    return false;
}

static helio_rc check_url(const completion_t *self, const helio_feed_t *feed, const char *key, helio_text_t url)
{
    if (!url.size)
        return HELIO_OK;
    if (!begins(url, "https://") && !begins(url, "http://"))
        return refuse(self, "%s must begin with https:// or http://", key);
    if ((feed->secrets.count || feed->login.user.size) && !is_private(url))
        return refuse(self, "%s uses plain http to another machine, so secrets would be sent unencrypted; use https",
                      key);
    for (uint32_t i = 0; i < url.size; i++)
        if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
            return refuse(self, "%s contains a blank or a control character", key);
    return HELIO_OK;
}

/*  One header is one line. */
static helio_rc check_headers(const completion_t *self, const helio_pair_t *items, uint32_t count, bool values)
{
    for (uint32_t i = 0; i < count; i++) {
        helio_text_t name = items[i].name;
        for (uint32_t n = 0; n < name.size; n++)
            if ((unsigned char)name.data[n] <= ' ' || (unsigned char)name.data[n] >= 0x7f || name.data[n] == ':')
                return refuse(self, "'%.*s' cannot be the name of a header", HELIO_TEXT_ARGS(name));
        for (uint32_t n = 0; values && n < items[i].value.size; n++)
            if ((unsigned char)items[i].value.data[n] < ' ')
                return refuse(self, "header '%.*s' contains a control character", HELIO_TEXT_ARGS(name));
    }
    return HELIO_OK;
}

static helio_rc check_http(const completion_t *self, const helio_feed_t *feed)
{
    if (!feed->url.size)
        return refuse(self, "source http-json needs a url, or a map that has one");
    if (!feed->fields.time.size || (!feed->fields.value.size && !feed->fields.forecast.size))
        return refuse(self, "source http-json needs fields.time and fields.value, or a map");
    if (feed->forecast_url.size && (!feed->fields.forecast_time.size || !feed->fields.forecast_value.size))
        return refuse(self, "forecast_url needs fields.forecast_time and fields.forecast_value");
    if (feed->login.user.size && (!feed->login.url.size || !feed->login.token.size))
        return refuse(self, "login needs a url and the path of the token");
    helio_rc rc = check_url(self, feed, "url", feed->url);
    if (rc == HELIO_OK)
        rc = check_url(self, feed, "forecast_url", feed->forecast_url);
    if (rc == HELIO_OK && feed->login.user.size)
        rc = check_url(self, feed, "login.url", feed->login.url);
    if (rc == HELIO_OK)
        rc = check_headers(self, feed->headers.items, feed->headers.count, true);
    return rc == HELIO_OK ? check_headers(self, feed->secrets.items, feed->secrets.count, false) : rc;
}

static helio_rc check_source(const completion_t *self, const helio_feed_t *feed)
{
    switch ((helio_feed_source_t)feed->source) {
    case HELIO_SOURCE_STATIC:
        return feed->value_set ? HELIO_OK : refuse(self, "source static needs a value");
    case HELIO_SOURCE_CSV:
        return feed->path.size ? HELIO_OK : refuse(self, "source csv needs a path");
    case HELIO_SOURCE_EXEC:
        if (!feed->command.count)
            return refuse(self, "source exec needs a command");
        if (feed->json && (!feed->fields.time.size || !feed->fields.value.size))
            return refuse(self, "json output needs fields.time and fields.value");
        return HELIO_OK;
    case HELIO_SOURCE_HTTP_JSON:
        return check_http(self, feed);
    case HELIO_SOURCE_COUNT:
        break;
    }
    return refuse(self, "unknown source");
}

static helio_rc check_feed(const completion_t *self, const helio_feed_t *feed)
{
    double factor;
    if (!helio_feed_unit(feed, &factor))
        return refuse(self, "'%.*s' is not a unit of %s", HELIO_TEXT_ARGS(feed->unit),
                      helio_feed_signal_name(feed->signal));
    if (feed->map.size && feed->signal != HELIO_FEED_CARBON)
        return refuse(self, "map '%.*s' is only for signal carbon", HELIO_TEXT_ARGS(feed->map));
    bool priced = feed->signal == HELIO_FEED_PRICE;
    if (priced && helio_site_pool_index(self->profile, feed->pool) == UINT32_MAX)
        return refuse(self, "signal price needs the name of one of the site's pools");
    if (!priced && feed->pool.size)
        return refuse(self, "only signal price can have a pool");
    if (feed->signal == HELIO_FEED_METER && feed->source == HELIO_SOURCE_STATIC)
        return refuse(self, "signal meter cannot have a static source");
    return check_source(self, feed);
}

/*  One feed of each kind, whatever its factor: the broker keeps one series of each kind. */
static bool is_twin(const helio_feed_t *a, const helio_feed_t *b)
{
    return a->signal == b->signal && helio_text_equal(a->pool, b->pool) && helio_text_equal(a->kind, b->kind) &&
           (a->signal != HELIO_FEED_LOAD || helio_text_equal(a->name, b->name));
}

static helio_rc complete_feeds(completion_t *self, helio_feeds_settings_t *settings)
{
    for (uint32_t i = 0; i < settings->feeds.count; i++) {
        helio_feed_t *feed = &settings->feeds.items[i];
        (void)snprintf(self->at, sizeof self->at, "feeds[%u]", i);
        imply_defaults(self, feed);
        helio_rc rc = check_feed(self, feed);
        if (rc != HELIO_OK)
            return rc;
        for (uint32_t j = 0; j < i; j++)
            if (is_twin(feed, &settings->feeds.items[j]))
                return refuse(self, "feeds[%u] delivers the same signal", j);
    }
    return HELIO_OK;
}

static helio_rc check_window(const completion_t *self, const helio_feeds_settings_t *settings,
                             const helio_window_t *window)
{
    helio_schedule_t schedule;
    helio_error_t why = {0};
    uint32_t pool = helio_site_pool_index(self->profile, window->pool);
    if (pool == UINT32_MAX)
        return refuse(self, "the site has no pool '%.*s'", HELIO_TEXT_ARGS(window->pool));
    if (!self->profile->pools.items[pool].gpus_per_node)
        return refuse(self, "pool '%.*s' has no GPUs", HELIO_TEXT_ARGS(window->pool));
    if (window->when.size && helio_schedule_parse(window->when, &schedule, &why) != HELIO_OK)
        return refuse(self, "when: %s", why.text);
    if (!window->series.size)
        return HELIO_OK;
    for (uint32_t i = 0; i < settings->feeds.count; i++)
        if (settings->feeds.items[i].signal == HELIO_FEED_LOAD &&
            helio_text_equal(settings->feeds.items[i].name, window->series))
            return HELIO_OK;
    return refuse(self, "no feed of signal load has the name '%.*s'", HELIO_TEXT_ARGS(window->series));
}

helio_rc helio_feeds_settings_complete(helio_feeds_settings_t *self, const helio_site_profile_t *profile,
                                       const char *folder, helio_arena_t *arena, helio_error_t *err)
{
    completion_t completion = {.profile = profile, .folder = folder, .arena = arena, .err = err};
    helio_rc rc = complete_feeds(&completion, self);
    for (uint32_t i = 0; rc == HELIO_OK && i < self->windows.count; i++) {
        (void)snprintf(completion.at, sizeof completion.at, "windows[%u]", i);
        rc = check_window(&completion, self, &self->windows.items[i]);
    }
    if (rc == HELIO_OK && (self->windows.count || self->tariff.count) && !helio_zone_name_is_good(profile->timezone))
        rc = helio_fail(err, HELIO_INVALID, "timezone: '%.*s' is not the name of a time zone",
                        HELIO_TEXT_ARGS(profile->timezone));
    return rc;
}
