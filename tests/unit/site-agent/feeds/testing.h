/*  testing.h -- settings out of a few lines of YAML, times out of text. */
#ifndef HELIO_FEEDS_TESTING_H
#define HELIO_FEEDS_TESTING_H

#include "federation/base/clock.h"
#include "site-agent/feeds/settings.h"

typedef struct site_file {
    helio_site_profile_t site;
    helio_feeds_settings_t feeds;
} site_file_t;

#define FILE_AT(member) .offset = offsetof(site_file_t, member)
static const helio_spec_field_t testing_agent_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, FILE_AT(feeds), .table = &helio_feeds_settings_table}};
static const helio_spec_table_t testing_agent_table =
    HELIO_SPEC_TABLE("agent", site_file_t, testing_agent_fields, NULL);
static const helio_spec_field_t testing_file_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, FILE_AT(site), .table = &helio_spec_site_table},
    {.key = "windows",
     .kind = HELIO_SPEC_LIST,
     FILE_AT(feeds.windows),
     .most = HELIO_WINDOWS_MAX,
     .table = &helio_spec_window_table},
    {.key = "agent", .kind = HELIO_SPEC_GROUP, .table = &testing_agent_table},
};
static const helio_spec_table_t testing_file_table = HELIO_SPEC_TABLE("site", site_file_t, testing_file_fields, NULL);

/*  As the agent reads its file: first by the tables, then what they imply. */
static inline helio_rc try_site(const char *text, helio_arena_t *arena, site_file_t *ret_file, helio_error_t *err)
{
    helio_diagnostic_t diagnostic;
    helio_spec_source_t source = {.text = helio_text_of(text), .name = "site.yaml"};
    helio_rc rc = helio_spec_read(&testing_file_table, source, HELIO_SPEC_SOURCE_MAX, arena, ret_file, &diagnostic);
    if (rc != HELIO_OK)
        return helio_fail(err, rc, "%s", diagnostic.message);
    return helio_feeds_settings_complete(&ret_file->feeds, &ret_file->site, "/etc/heliostat", arena, err);
}

static inline site_file_t *read_site(const char *text, helio_arena_t *arena)
{
    site_file_t *file = helio_arena_alloc(arena, 1, sizeof *file);
    helio_error_t err = {0};
    if (try_site(text, arena, file, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return file;
}

static inline int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &ms), HELIO_OK);
    return ms;
}

static inline bool near(double a, double b)
{
    double off = a > b ? a - b : b - a;
    return off < 1e-6;
}

/*  Whether a series says that this feed failed, and that its last value was of that time. */
static inline bool has_failed(const helio_series_t *series, const char *feed, helio_feed_state_t state,
                              const char *last)
{
    int64_t last_ms = 0;
    return helio_rfc3339_parse(helio_text_of(last), &last_ms) == HELIO_OK && helio_text_is(series->source, feed) &&
           series->feed_state == state && series->last_value_ms == last_ms;
}

#endif
