/*  settings.c -- the keys of feeds, tariff and windows, the units of signals, and their reference page. */
#include "site-agent/feeds/settings.h"

#include <stddef.h>
#include <string.h>

#include "federation/spec/reader.h"

enum { PATH_MAX_BYTES = 1024, URL_MAX_BYTES = 2048 };

#define AT(member) .offset = offsetof(helio_feed_t, member)
#define FIELD(member) .offset = offsetof(helio_feed_fields_t, member)
#define LOGIN(member) .offset = offsetof(helio_feed_login_t, member)
#define TARIFF(member) .offset = offsetof(helio_tariff_t, member)
#define SETTINGS(member) .offset = offsetof(helio_feeds_settings_t, member)

/* ---- names -------------------------------------------------------------------------------------------------- */

#define WORD_ENTRY(name, word) word,
static const char *const signal_names[] = {HELIO_FEED_SIGNAL_TABLE(WORD_ENTRY)};
static const char *const source_names[] = {HELIO_FEED_SOURCE_TABLE(WORD_ENTRY)};

const char *helio_feed_signal_name(uint32_t value)
{
    return value < HELIO_FEED_COUNT ? signal_names[value] : "unknown";
}

helio_rc helio_feed_signal_of(helio_text_t word, uint32_t *ret_value)
{
    return helio_text_among(word, signal_names, HELIO_FEED_COUNT, ret_value);
}

const char *helio_feed_source_name(uint32_t value)
{
    return value < HELIO_SOURCE_COUNT ? source_names[value] : "unknown";
}

helio_rc helio_feed_source_of(helio_text_t word, uint32_t *ret_value)
{
    return helio_text_among(word, source_names, HELIO_SOURCE_COUNT, ret_value);
}

#define WORDS(name, ...)                                                      \
    static const char *const name##_names[] = {__VA_ARGS__};                  \
    enum { name##_count = sizeof name##_names / sizeof name##_names[0] };     \
    static const char *name##_name(uint32_t value)                            \
    {                                                                         \
        return value < name##_count ? name##_names[value] : "unknown";        \
    }                                                                         \
    static helio_rc name##_of(helio_text_t word, uint32_t *ret_value)         \
    {                                                                         \
        return helio_text_among(word, name##_names, name##_count, ret_value); \
    }                                                                         \
    static const helio_spec_enum_t name##_enum = {name##_name, name##_of, name##_count};

WORDS(kind, "average", "marginal")
WORDS(factor, "lifecycle", "direct")
WORDS(map, "electricitymaps", "watttime", "uk-carbon-intensity", "carbon-aware-sdk")

/*  The size of the unit in the signal's own unit. Currencies are converted separately. */
static const struct {
    uint32_t signal;
    const char *unit;
    double factor;
    bool euro;
} units[] = {
    {HELIO_FEED_CARBON, "g/kWh", 1, false},
    {HELIO_FEED_CARBON, "kg/MWh", 1, false},
    {HELIO_FEED_CARBON, "lb/MWh", 453.59237 / 1000, false}, /* the international pound, by definition */
    {HELIO_FEED_CARBON, "t/MWh", 1000, false},
    {HELIO_FEED_ELECTRICITY, "USD/kWh", 1, false},
    {HELIO_FEED_ELECTRICITY, "USD/MWh", 0.001, false},
    {HELIO_FEED_ELECTRICITY, "EUR/kWh", 1, true},
    {HELIO_FEED_ELECTRICITY, "EUR/MWh", 0.001, true},
    {HELIO_FEED_PRICE, "USD/GPU-h", 1, false},
    {HELIO_FEED_PRICE, "EUR/GPU-h", 1, true},
    {HELIO_FEED_PUE, "1", 1, false},
    {HELIO_FEED_POWER, "W", 1, false},
    {HELIO_FEED_POWER, "kW", 1000, false},
    {HELIO_FEED_POWER, "MW", 1000000, false},
    {HELIO_FEED_METER, "kWh", 1, false},
    {HELIO_FEED_METER, "MWh", 1000, false},
    {HELIO_FEED_METER, "Wh", 0.001, false},
    {HELIO_FEED_METER, "W", 1, false},
    {HELIO_FEED_METER, "kW", 1000, false},
    {HELIO_FEED_METER, "MW", 1000000, false},
};
enum { UNITS = sizeof units / sizeof units[0] };

bool helio_feed_unit(const helio_feed_t *feed, double *ret_factor)
{
    const double divisor = feed->divisor > 0 ? feed->divisor : 1;
    *ret_factor = 1 / divisor;
    if (feed->signal == HELIO_FEED_LOAD)
        return true;
    for (size_t i = 0; i < UNITS; i++)
        if (units[i].signal == feed->signal && helio_text_is(feed->unit, units[i].unit)) {
            *ret_factor = units[i].factor * (units[i].euro ? feed->usd_per_eur : 1) / divisor;
            return true;
        }
    return false;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

#define PATH_FIELD(name, shown, said)                                                                  \
    {                                                                                                  \
        .key = #name, .kind = HELIO_SPEC_TEXT, FIELD(name), .most = 128, .example = shown, .doc = said \
    }

static const helio_spec_field_t fields_fields[] = {
    PATH_FIELD(list, "data", "The list of entries. Default: the response itself."),
    PATH_FIELD(time, "point_time",
               "In an entry: the beginning of the interval that the value describes, in RFC 3339 or Unix seconds."),
    PATH_FIELD(value, "intensity.actual", "In an entry: the actual value. Entries without it are ignored."),
    PATH_FIELD(forecast, "intensity.forecast", "In an entry: the forecast of the source for that time."),
    PATH_FIELD(estimated, "isEstimated", "In an entry: true if the value is an estimate of the source."),
    PATH_FIELD(forecast_list, "forecast", "The list in the response of `forecast_url`."),
    PATH_FIELD(forecast_time, "datetime", "In an entry of `forecast_list`: the time."),
    PATH_FIELD(forecast_value, "carbonIntensity", "In an entry of `forecast_list`: the value."),
};
static const helio_spec_table_t fields_table = HELIO_SPEC_TABLE("fields", helio_feed_fields_t, fields_fields, NULL);

static const helio_spec_field_t login_fields[] = {
    {.key = "url",
     .kind = HELIO_SPEC_TEXT,
     LOGIN(url),
     .most = URL_MAX_BYTES,
     .example = "https://api.watttime.org/login",
     .doc =
         "URL of the login, requested before each round with user and password (basic authentication). Default for `map: "
         "watttime`: its own."},
    {.key = "user",
     .kind = HELIO_SPEC_TEXT,
     LOGIN(user),
     .required = true,
     .most = 128,
     .example = "ada",
     .doc = "User name for the login."},
    {.key = "password",
     .kind = HELIO_SPEC_PATH,
     LOGIN(password_file),
     .required = true,
     .most = PATH_MAX_BYTES,
     .example = "/etc/heliostat/watttime.password",
     .doc = "File of mode 0600 that holds the password."},
    {.key = "token",
     .kind = HELIO_SPEC_TEXT,
     LOGIN(token),
     .most = 128,
     .example = "token",
     .doc = "Path of the token in the response. It is sent as `Authorization: Bearer …`."},
};
static const helio_spec_table_t login_table = HELIO_SPEC_TABLE("login", helio_feed_login_t, login_fields, NULL);

static const helio_spec_field_t feed_fields[] = {
    {.key = "signal",
     .kind = HELIO_SPEC_CHOICE,
     AT(signal),
     .required = true,
     .words = HELIO_SPEC_ENUM(helio_feed_signal, HELIO_FEED),
     .example = "carbon",
     .doc = "Signal that the feed delivers. price: rent of a pool's GPUs; power: power of the site; load: demand, for "
            "`windows`; meter: energy of the whole site."},
    {.key = "source",
     .kind = HELIO_SPEC_CHOICE,
     AT(source),
     .required = true,
     .words = HELIO_SPEC_ENUM(helio_feed_source, HELIO_SOURCE),
     .example = "http-json",
     .doc = "static: `value`; csv: the file `path`; http-json: `map`, or `url` and `fields`; exec: what "
            "`command` prints."},
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     AT(name),
     .most = HELIO_FEED_NAME_MAX,
     .example = "dso-portal",
     .doc = "Name that is shown with every figure. Default: the name of the map or the source."},
    {.key = "pool",
     .kind = HELIO_SPEC_TEXT,
     AT(pool),
     .most = 32,
     .example = "a100-cloud",
     .doc = "signal price: the pool that the price is for."},
    {.key = "every",
     .kind = HELIO_SPEC_DURATION,
     AT(every_ms),
     .least = 1000,
     .most = 86400000,
     .fallback = "15m",
     .example = "15m",
     .doc =
         "Interval between requests to the source. After a failure, the first retry follows within a minute, the next "
         "ones at growing intervals up to this one."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     AT(timeout_ms),
     .least = 100,
     .most = 300000,
     .fallback = "20s",
     .example = "20s",
     .doc = "Time limit of one request or command."},
    {.key = "kind",
     .kind = HELIO_SPEC_TEXT,
     AT(kind),
     .words = &kind_enum,
     .example = "average",
     .doc =
         "signal carbon: the mean of all generation, or the generation that supplies one more kWh. Default: that of the map, "
         "or average."},
    {.key = "factor",
     .kind = HELIO_SPEC_TEXT,
     AT(factor),
     .words = &factor_enum,
     .example = "lifecycle",
     .doc =
         "signal carbon: with or without the construction of plants and the supply of fuel. Default: that of the map, or "
         "lifecycle."},
    {.key = "unit",
     .kind = HELIO_SPEC_TEXT,
     AT(unit),
     .most = 16,
     .example = "EUR/MWh",
     .doc = "carbon: g/kWh, kg/MWh, lb/MWh, t/MWh; electricity: USD/kWh, USD/MWh, EUR/kWh, EUR/MWh; price: "
            "USD/GPU-h, "
            "EUR/GPU-h; power: W, kW, MW; pue: 1; meter: kWh, MWh, Wh (the reading of a counter) or W, kW, MW (the "
            "mean until the next value). Default: that of the map, or the first of these."},
    {.key = "usd_per_eur",
     .kind = HELIO_SPEC_F64,
     AT(usd_per_eur),
     .least = 0.01,
     .most = 100,
     .fallback = "1.08",
     .example = "1.08",
     .doc = "For units in EUR."},
    {.key = "value",
     .kind = HELIO_SPEC_F64,
     AT(value),
     .least = -1000000000,
     .most = 1000000000,
     .set_offset = offsetof(helio_feed_t, value_set),
     .example = "42",
     .doc = "source static: the figure."},
    {.key = "path",
     .kind = HELIO_SPEC_PATH,
     AT(path),
     .most = PATH_MAX_BYTES,
     .example = "/var/lib/prices/de.csv",
     .doc = "source csv: the file, read anew each time. Lines of the future are a forecast."},
    {.key = "command",
     .kind = HELIO_SPEC_STRINGS,
     AT(command),
     .most = 64,
     .example = "[/usr/local/bin/spot-price, --pool, a100]",
     .doc = "source exec: a program and its arguments, without a shell. It prints CSV, or JSON with `json: "
            "true`."},
    {.key = "json",
     .kind = HELIO_SPEC_BOOL,
     AT(json),
     .fallback = "false",
     .example = "true",
     .doc = "source exec: the output is JSON, read by `fields`."},
    {.key = "map",
     .kind = HELIO_SPEC_TEXT,
     AT(map),
     .words = &map_enum,
     .example = "electricitymaps",
     .doc = "A service whose addresses, fields, kind, factor and unit are known; what is said beside it goes "
            "before."},
    {.key = "url",
     .kind = HELIO_SPEC_TEXT,
     AT(url),
     .most = URL_MAX_BYTES,
     .example = "https://grid.example/v1/intensity?area={region}&from={day_ago}",
     .doc = "{region}, {now}, {hour}, {day_ago} and {in_48h} are filled in. No secrets: they belong into "
            "`secrets`."},
    {.key = "forecast_url",
     .kind = HELIO_SPEC_TEXT,
     AT(forecast_url),
     .most = URL_MAX_BYTES,
     .example = "https://grid.example/v1/forecast?area={region}",
     .doc = "The source's own forecast, where it has an address of its own."},
    {.key = "region",
     .kind = HELIO_SPEC_TEXT,
     AT(region),
     .most = 64,
     .example = "DE",
     .doc = "As the source calls it. Default: the site's region."},
    {.key = "headers",
     .kind = HELIO_SPEC_PAIRS,
     AT(headers),
     .most = HELIO_FEED_HEADERS_MAX,
     .example = "{Accept: application/json}",
     .doc = "Sent with each request."},
    {.key = "secrets",
     .kind = HELIO_SPEC_PAIRS,
     AT(secrets),
     .most = HELIO_FEED_HEADERS_MAX,
     .example = "{auth-token: /etc/heliostat/electricitymaps.token}",
     .doc = "Headers whose value is the line in a file of mode 0600. To https addresses and this machine only."},
    {.key = "fields",
     .kind = HELIO_SPEC_GROUP,
     AT(fields),
     .table = &fields_table,
     .example = "{list: data, time: point_time, value: value}",
     .doc = "Where things stand in a JSON answer: names joined by `.`, digits for a place in a list."},
    {.key = "login",
     .kind = HELIO_SPEC_GROUP,
     AT(login),
     .table = &login_table,
     .example = "{user: ada, password: /etc/heliostat/watttime.password}",
     .doc = "For services that give out tokens."},
    {.key = "region_column",
     .kind = HELIO_SPEC_TEXT,
     AT(region_column),
     .most = 64,
     .fallback = "region",
     .example = "region",
     .doc = "CSV: only lines with the region in this column count. A file without it is all of the region."},
    {.key = "time_column",
     .kind = HELIO_SPEC_TEXT,
     AT(time_column),
     .most = 64,
     .fallback = "time",
     .example = "utc_hour_iso8601",
     .doc = "CSV: RFC 3339, or Unix seconds."},
    {.key = "value_column",
     .kind = HELIO_SPEC_TEXT,
     AT(value_column),
     .most = 64,
     .fallback = "value",
     .example = "carbon_g_per_kwh",
     .doc = "CSV: the figure; an empty cell is a gap."},
    {.key = "where",
     .kind = HELIO_SPEC_PAIRS,
     AT(where),
     .most = HELIO_FEED_HEADERS_MAX,
     .example = "{cloud: aws, instance: p5.48xlarge}",
     .doc =
         "CSV: only lines with these values in these columns count. So one catalogue of a provider serves all pools."},
    {.key = "divisor",
     .kind = HELIO_SPEC_F64,
     AT(divisor),
     .least = 0.000001,
     .most = 1000000,
     .fallback = "1",
     .example = "8",
     .doc = "Each figure is divided by it: with 8, the price of an instance with 8 GPUs becomes that of a GPU."},
};
static const helio_spec_table_t feed_table = HELIO_SPEC_TABLE("feed", helio_feed_t, feed_fields, NULL);

static helio_rc check_tariff(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const helio_tariff_t *line = ret_struct;
    helio_schedule_t schedule;
    helio_error_t err = {0};
    if (helio_schedule_parse(line->when, &schedule, &err) == HELIO_OK)
        return HELIO_OK;
    return helio_spec_diagnose(reader, helio_spec_find(node, "when"), HELIO_SPEC_BAD_VALUE_PROBLEM,
                               "for example 'Mon..Fri 08:00-20:00' or '22:00-06:00'", "%s: %s", reader->path, err.text);
}

static const helio_spec_field_t tariff_fields[] = {
    {.key = "when",
     .kind = HELIO_SPEC_TEXT,
     TARIFF(when),
     .required = true,
     .most = HELIO_SCHEDULE_TEXT_MAX,
     .example = "Mon..Fri 08:00-20:00",
     .doc = "Hours of the week in the site's `timezone`. The first line that fits decides."},
    {.key = "usd_per_kwh",
     .kind = HELIO_SPEC_F64,
     TARIFF(usd_per_kwh),
     .required = true,
     .least = -100,
     .most = 100,
     .example = "0.31",
     .doc = "Price of electricity then."},
};
static const helio_spec_table_t tariff_table = HELIO_SPEC_TABLE("tariff", helio_tariff_t, tariff_fields, check_tariff);

static const helio_spec_field_t settings_fields[] = {
    {.key = "feeds",
     .kind = HELIO_SPEC_LIST,
     SETTINGS(feeds),
     .most = HELIO_FEEDS_MAX,
     .table = &feed_table,
     .example = "[{signal: carbon, source: http-json, map: uk-carbon-intensity}]",
     .doc = "Where figures that change by the hour come from; without, those of the site file stand."},
    {.key = "tariff",
     .kind = HELIO_SPEC_LIST,
     SETTINGS(tariff),
     .most = HELIO_TARIFF_MAX,
     .table = &tariff_table,
     .example = "[{when: \"22:00-06:00\", usd_per_kwh: 0.18}]",
     .doc = "Electricity by local time; other hours cost electricity_usd_per_kwh. A feed of electricity goes "
            "before."},
};
const helio_spec_table_t helio_feeds_settings_table =
    HELIO_SPEC_TABLE("feeds", helio_feeds_settings_t, settings_fields, NULL);

void helio_feeds_reference(helio_buffer_t *out)
{
    helio_buffer_text(out, "# Feeds, tariff and windows of the site file\n\n"
                           "<!-- Generated from site-agent/feeds/settings.c and federation/spec/windows.c; "
                           "the test of the reference writes it. "
                           "-->\n\n"
                           "`feeds` and `tariff` stand under `agent`, `windows` beside the site's pools. "
                           "What is published from them, and what\n"
                           "happens when a source is silent: [energy](../energy.md).\n\n"
                           "## Under `agent`\n\n");
    helio_spec_reference(&helio_feeds_settings_table, out);
    helio_buffer_text(out, "\n## `windows[]`, beside `pools`\n\n");
    helio_spec_reference(&helio_spec_window_table, out);
}
