/*  settings.h -- where a site's carbon, prices and demand come from: `feeds` and `tariff` of the agent's part of the
 *  site file, and the site's `windows`. */
#ifndef HELIO_FEEDS_SETTINGS_H
#define HELIO_FEEDS_SETTINGS_H

#include "federation/energy/schedule.h"
#include "federation/spec/windows.h"

enum { HELIO_FEEDS_MAX = 64, HELIO_TARIFF_MAX = 64, HELIO_FEED_HEADERS_MAX = 16, HELIO_FEED_NAME_MAX = 32 };

/*  LOAD: any measure of demand, for windows that follow a series; only its shape counts. METER: the power of the whole
 *  site by its own meter; for the balance of the ledger; it affects no decision. */
/* clang-format off */
#define HELIO_FEED_SIGNAL_TABLE(X) \
    X(CARBON, "carbon")            \
    X(ELECTRICITY, "electricity")  \
    X(PRICE, "price")              \
    X(PUE, "pue")                  \
    X(POWER, "power")              \
    X(LOAD, "load")                \
    X(METER, "meter")
/* clang-format on */
#define HELIO_FEED_ENUMERATOR(name, word) HELIO_FEED_##name,
HELIO_ENUM_DECLARE(helio_feed_signal, HELIO_FEED, HELIO_FEED_SIGNAL_TABLE)

#define HELIO_FEED_SOURCE_TABLE(X) X(STATIC, "static") X(CSV, "csv") X(HTTP_JSON, "http-json") X(EXEC, "exec")
#define HELIO_SOURCE_ENUMERATOR(name, word) HELIO_SOURCE_##name,
HELIO_ENUM_DECLARE(helio_feed_source, HELIO_SOURCE, HELIO_FEED_SOURCE_TABLE)

/*  Paths into a JSON response: names joined by '.', digits for an index in a list, "" = the response itself. Empty
 *  texts: not given. Paths of an entry are relative to the entry of `list`. */
typedef struct helio_feed_fields {
    helio_text_t list, time, value;
    helio_text_t forecast;  /* of the same entry: the source's forecast for that time */
    helio_text_t estimated; /* a boolean of the entry */
    helio_text_t forecast_list, forecast_time, forecast_value; /* of the response of forecast_url */
} helio_feed_fields_t;

typedef struct helio_feed_login {
    helio_text_t url, user, password_file, token; /* token: path into the response, sent on as a bearer token */
} helio_feed_login_t;

typedef struct helio_feed {
    uint32_t signal, source;
    helio_text_t name; /* shown with every sample; if not given: the map's or the source's */
    helio_text_t pool; /* price only */
    uint64_t every_ms, timeout_ms;
    helio_text_t kind, factor, unit;
    double value; /* static */
    bool value_set;
    double usd_per_eur;
    helio_text_t path; /* csv */
    struct {
        helio_string_t *items;
        uint32_t count;
    } command; /* exec */
    helio_text_t url, forecast_url, region, map;
    struct {
        helio_pair_t *items;
        uint32_t count;
    } headers, secrets, where; /* secrets: name of a header, file of mode 0600 that holds its value; where: CSV */
    double divisor;            /* of every figure */
    helio_feed_fields_t fields;
    helio_feed_login_t login;
    helio_text_t region_column, time_column, value_column; /* csv, exec */
    bool json;                                             /* exec: the output is JSON by `fields`, else CSV */
} helio_feed_t;

typedef struct helio_tariff {
    helio_text_t when;
    double usd_per_kwh;
} helio_tariff_t;

typedef struct helio_feeds_settings {
    struct {
        helio_feed_t *items;
        uint32_t count;
    } feeds;
    struct {
        helio_tariff_t *items;
        uint32_t count;
    } tariff; /* the first line that matches counts */
    helio_windows_t windows;
} helio_feeds_settings_t;

/*  `feeds` and `tariff`: to INCLUDE in the agent's table, at a helio_feeds_settings_t. `windows` belongs beside the
 *  site's pools: a LIST of helio_spec_window_table at its member. */
extern const helio_spec_table_t helio_feeds_settings_table;

/*  After reading: fills in what maps and signals imply and makes paths absolute (relative ones are below `folder`). The
 *  error's text names the entry, as in "feeds[2]: …". HELIO_INVALID. Everything lives in the arena. */
HELIO_MUST_CHECK helio_rc helio_feeds_settings_complete(helio_feeds_settings_t *self,
                                                        const helio_site_profile_t *profile, const char *folder,
                                                        helio_arena_t *arena, helio_error_t *err);

/*  Factor from the feed's unit to that of its signal (g/kWh, USD/kWh, USD/GPU-h, W, 1). False: the signal cannot have
 *  that unit. */
bool helio_feed_unit(const helio_feed_t *feed, double *ret_factor);

/*  docs/reference/feeds.md */
void helio_feeds_reference(helio_buffer_t *out);

#endif
