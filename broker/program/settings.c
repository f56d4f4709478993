/*  settings.c -- the settings of the broker as tables of fields, the options of its command line, and how both are
 *  read. */
#include "broker/program/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/program/advertised.h"
#include "federation/base/duration.h"

#define AT(member) .offset = offsetof(helio_settings_t, member)

#define KEPT_FOR(name, member, days, text)                                                                 \
    {                                                                                                      \
        .key = name, .kind = HELIO_SPEC_DURATION, AT(retention.member), .least = 0, .most = 3660 * DAY_MS, \
        .fallback = days, .example = days, .doc = text                                                     \
    }
#define DAY_MS 86400000.0
static const helio_spec_field_t retention_fields[] = {
    KEPT_FOR(
        "samples", samples_ms, "400d",
        "Capacity samples of each pool, one per minute. The default allows comparing a month with the same month of "
        "the previous year. The share that was allocated is kept by hour."),
    KEPT_FOR("forecasts", forecasts_ms, "90d",
             "Forecasts as issued, from which forecast errors are computed. Queries cover at most the last 30 days."),
    KEPT_FOR(
        "actuals", actuals_ms, "400d",
        "Actual values of each hour. Keep them as long as samples, because views show both side by side. The ledger "
        "stores its prices separately."),
    KEPT_FOR("decisions", decisions_ms, "180d",
             "Placement decisions with their candidates. Decisions of open jobs are kept."),
    KEPT_FOR(
        "idempotency_keys", keys_ms, "90d",
        "Time after its submission during which a job is found again by its idempotency key; an open job is always "
        "found. Clients retry within days. The broker holds all keys in memory."),
    {.key = "rows_per_second",
     .kind = HELIO_SPEC_U32,
     AT(retention.rows_per_second),
     .least = 100,
     .most = 100000,
     .fallback = "5000",
     .example = "5000",
     .doc = "Maximum number of rows of each kind that are deleted per second."},
};
static const helio_spec_table_t retention_table =
    HELIO_SPEC_TABLE("retention", helio_settings_t, retention_fields, NULL);

static const char *metrics_access_name(uint32_t value)
{
    static const char *const words[HELIO_METRICS_ACCESS_COUNT] = {
        [HELIO_METRICS_TOKEN] = "token", [HELIO_METRICS_LOOPBACK] = "loopback", [HELIO_METRICS_ANYONE] = "anyone"};
    return value < HELIO_METRICS_ACCESS_COUNT ? words[value] : "unknown";
}

static helio_rc metrics_access_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t value = 0; value < HELIO_METRICS_ACCESS_COUNT; value++)
        if (helio_text_is(word, metrics_access_name(value))) {
            *ret_value = value;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

static const char *standby_name(uint32_t value)
{
    static const char *const words[HELIO_STANDBY_COUNT] = {
        [HELIO_STANDBY_ANY] = "any", [HELIO_STANDBY_SYNCHRONOUS] = "synchronous"};
    return value < HELIO_STANDBY_COUNT ? words[value] : "unknown";
}

static helio_rc standby_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t value = 0; value < HELIO_STANDBY_COUNT; value++)
        if (helio_text_is(word, standby_name(value))) {
            *ret_value = value;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

static const helio_spec_field_t setting_fields[] = {
    {.key = "database",
     .kind = HELIO_SPEC_TEXT,
     AT(database),
     .example = "host=127.0.0.1 dbname=helio user=helio",
     .doc = "Connection string of PostgreSQL (libpq keywords or URI). Keep passwords in a password file."},
    {.key = "database_standby",
     .kind = HELIO_SPEC_CHOICE,
     AT(database_standby),
     .words = HELIO_SPEC_ENUM(standby, HELIO_STANDBY),
     .fallback = "any",
     .example = "any",
     .doc =
         "What a standby of the database contains when it is promoted. `synchronous`: every confirmed commit, so a "
         "promotion does not count as a restore. Set this only if synchronous replication and the tool that promotes "
         "enforce it, and announce a point-in-time recovery with `helio-broker restored`. `any`: possibly less. All "
         "brokers need the same value."},
    {.key = "listen_sites",
     .kind = HELIO_SPEC_TEXT,
     AT(listen_sites),
     .fallback = "tcp://0.0.0.0:7443",
     .example = "tcp://0.0.0.0:7443",
     .doc = "Address on which the broker listens for site agents."},
    {.key = "listen_http",
     .kind = HELIO_SPEC_TEXT,
     AT(listen_http),
     .fallback = "127.0.0.1:7480",
     .example = "127.0.0.1:7480",
     .doc = "Address on which the broker serves the API and the metrics. Put a TLS proxy in front of it."},
    {.key = "advertise_http",
     .kind = HELIO_SPEC_TEXT,
     AT(advertise_http),
     .example = "10.0.0.7:7480",
     .doc =
         "Address or URL at which the other brokers of the federation reach this API, to forward requests to it while "
         "it leads. Default: `listen_http`, unless that is a wildcard."},
    {.key = "metrics",
     .kind = HELIO_SPEC_CHOICE,
     AT(metrics),
     .words = HELIO_SPEC_ENUM(metrics_access, HELIO_METRICS_ACCESS),
     .fallback = "token",
     .example = "token",
     .doc = "Who can read /metrics: `token` (callers with a token), `loopback` (also processes of this host without a "
            "token) or `anyone`. Behind a proxy on this host, `loopback` admits every client of the proxy."},
    {.key = "key_file",
     .kind = HELIO_SPEC_PATH,
     AT(key_file),
     .fallback = "/etc/heliostat/broker.key",
     .example = "/etc/heliostat/broker.key",
     .doc = "File with the broker's secret key, mode 0600, created by `helio-broker keygen`."},
    {.key = "record",
     .kind = HELIO_SPEC_PATH,
     AT(record),
     .example = "/var/lib/heliostat/events.rec",
     .doc = "File to which the broker appends every event of its core, for `helio-broker replay`. It contains job "
            "documents."},
    {.key = "log_level",
     .kind = HELIO_SPEC_CHOICE,
     AT(log_level),
     .words = &helio_spec_levels,
     .fallback = "info",
     .example = "info",
     .doc = "Minimum level of log messages."},
    {.key = "lease",
     .kind = HELIO_SPEC_DURATION,
     AT(lease_ms),
     .least = 10000,
     .most = 86400000,
     .fallback = "15m",
     .example = "15m",
     .doc = "Time for which a site can run jobs without contact to the broker. "
            "A site renews its leases ten times in this period."},
    {.key = "summary",
     .kind = HELIO_SPEC_DURATION,
     AT(summary_ms),
     .least = 100,
     .most = 60000,
     .fallback = "1s",
     .example = "1s",
     .doc = "Interval at which a site reports what it can offer."},
    {.key = "silent_after",
     .kind = HELIO_SPEC_DURATION,
     AT(silent_after_ms),
     .least = 1000,
     .most = 86400000,
     .fallback = "60s",
     .example = "60s",
     .doc =
         "The running jobs of a site without a message for this time become suspect. (New jobs go elsewhere after 15 s.) Must be "
         "longer than `summary`."},
    {.key = "commit_deadline",
     .kind = HELIO_SPEC_DURATION,
     AT(commit_deadline_ms),
     .least = 100,
     .most = 600000,
     .fallback = "10s",
     .example = "10s",
     .doc = "Time to wait for the answer to a commit. "
            "After that the broker drops the connection and looks up the outcome."},
    {.key = "readers",
     .kind = HELIO_SPEC_U32,
     AT(readers),
     .least = 1,
     .most = 64,
     .fallback = "4",
     .example = "4",
     .doc =
         "Number of database connections that answer queries of the API. Lists and reports use at most half of them, "
         "a tenant all but one. A snapshot for `helio rehearse` uses one more for as long as it is taken."},
    {.key = "limits",
     .kind = HELIO_SPEC_GROUP,
     .table = &helio_settings_limits,
     .doc = "Limits beyond which the broker refuses work instead of growing."},
    {.key = "retention",
     .kind = HELIO_SPEC_GROUP,
     .table = &retention_table,
     .doc =
         "Time for which data that grows with time is kept. 0s: for ever. Jobs, the ledger and the audit log are never "
         "deleted."},
};
const helio_spec_table_t helio_settings_table = HELIO_SPEC_TABLE("settings", helio_settings_t, setting_fields, NULL);

/* ---- the command line ---------------------------------------------------------------------------------- */

/*  name, letter, value, field of helio_arguments_t, doc. Options with a value; the last one given wins. */
#define VALUE_OPTIONS(X)                                                                                         \
    X(CONFIG, "config", 0, "FILE", config, "The settings file")                                                  \
    X(DATABASE, "database", 0, "CONNINFO", database, "Overrides `database` of the settings file")                \
    X(LISTEN_SITES, "listen-sites", 0, "ENDPOINT", listen_sites, "Overrides `listen_sites`: tcp://ADDRESS:PORT") \
    X(LISTEN_HTTP, "listen-http", 0, "ADDRESS", listen_http, "Overrides `listen_http`: ADDRESS:PORT")            \
    X(KEY_FILE, "key-file", 0, "FILE", key_file, "Overrides `key_file`")                                         \
    X(RECORD, "record", 0, "FILE", record, "Overrides `record`")                                                 \
    X(LOG_LEVEL, "log-level", 0, "LEVEL", log_level, "Overrides `log_level`: debug, info, warn or error")        \
    X(OLDER_THAN, "older-than", 0, "DURATION", older_than, "prune: delete what is older than this")              \
    X(TENANT, "tenant", 0, "NAME", tenant, "token add: the token's tenant; reader add: once a tenant")           \
    X(USER, "user", 0, "NAME", user, "token add: the token's user")                                              \
    X(ROLE, "role", 0, "ROLE", role, "token add: user, operator or admin")                                       \
    X(TTL, "ttl", 0, "DURATION", ttl, "token add: how long the token is valid")                                  \
    X(HOME, "home", 0, "SITE", home,                                                                             \
      "tenant add: the tenant's home site; `none` removes it, and without --home it stays")

enum {
#define OPTION_ENUMERATOR(id, ...) OPTION_##id,
    VALUE_OPTIONS(OPTION_ENUMERATOR)
#undef OPTION_ENUMERATOR
        OPTION_DRY_RUN,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

static const helio_option_t option_rows[] = {
#define OPTION_ROW(id, name, letter, value, member, doc) {name, letter, value, NULL, doc},
    VALUE_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
        [OPTION_DRY_RUN] = {"dry-run", 0, NULL, NULL, "prune: only say what would be deleted"},
    [OPTION_HELP] = {"help", 'h', NULL, NULL, "List commands and options"},
    [OPTION_VERSION] = {"version", 0, NULL, NULL, "Print the version"},
};
const helio_option_table_t helio_broker_options = {option_rows, OPTION_COUNT, UINT64_C(1) << OPTION_TENANT,
                                                   HELIO_ARGUMENT_TENANTS_MAX};

/*  A public key in Z85 has 40 characters, and each of them can be a dash. An option with its value can be as long. */
static bool is_key(const char *word)
{
    uint32_t option;
    if (strlen(word) != 40)
        return false;
    helio_text_t name = {word + 2, (uint32_t)strcspn(word + 2, "=")};
    return helio_option_find(&helio_broker_options, name, &option) != HELIO_OK;
}

static void take(const helio_command_line_t *line, helio_arguments_t *arguments)
{
#define OPTION_TAKE(id, name, letter, value, member, doc) \
    arguments->member = helio_command_line_value(line, OPTION_##id);
    VALUE_OPTIONS(OPTION_TAKE)
#undef OPTION_TAKE
    const helio_option_values_t *tenants = &line->values[OPTION_TENANT];
    arguments->tenant_count = tenants->count;
    for (uint32_t i = 0; i < tenants->count; i++)
        arguments->tenants[i] = tenants->items[i];
    arguments->dry_run = helio_command_line_has(line, OPTION_DRY_RUN);
    arguments->help = helio_command_line_has(line, OPTION_HELP);
    arguments->version = helio_command_line_has(line, OPTION_VERSION);
    arguments->word_count = line->word_count;
    for (uint32_t i = 0; i < line->word_count; i++)
        arguments->words[i] = line->words[i];
}

helio_rc helio_arguments_parse(int argc, char *const *argv, helio_arguments_t *ret_arguments, helio_error_t *err)
{
    static const char help[] = "`helio-broker --help` lists commands and options";
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new(); /* the results point into argv */
    helio_command_line_rules_t rules = {.options = &helio_broker_options,
                                        .words_most = sizeof ret_arguments->words / sizeof ret_arguments->words[0],
                                        .is_word = is_key,
                                        .refuses_empty = true,
                                        .options_help = help,
                                        .words_help = help};
    helio_command_line_t line;
    helio_rc rc = helio_command_line_parse(argc, argv, &rules, arena, &line, err);
    if (rc != HELIO_OK)
        return rc;
    *ret_arguments = (helio_arguments_t){0};
    take(&line, ret_arguments);
    return HELIO_OK;
}

/* ---- loading ------------------------------------------------------------------------------------------- */

static helio_rc read_file(const char *path, helio_buffer_t *out, helio_error_t *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "cannot read %s: %s", path,
                          strerror(errno));
    char piece[8192];
    size_t got;
    out->max = HELIO_SPEC_SOURCE_MAX;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0)
        helio_buffer_append(out, piece, got);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed)
        return helio_fail(err, HELIO_IO, "cannot read %s", path);
    return out->overflow ? helio_fail(err, HELIO_TOO_BIG, "%s is too large for a settings file", path) : HELIO_OK;
}

static void override(helio_text_t *setting, const char *flag)
{
    if (flag)
        *setting = helio_text_of(flag);
}

/*  load.sql looks back over weeks, and so do the people who read reports. */
static helio_rc check_retention(const helio_retention_t *kept, const char *path, helio_error_t *err)
{
    enum { WEEKS_DAYS = 32 };
    const struct {
        const char *key;
        uint64_t ms, least_days;
    } rows[] = {{"samples", kept->samples_ms, 2},
                {"forecasts", kept->forecasts_ms, WEEKS_DAYS},
                {"actuals", kept->actuals_ms, WEEKS_DAYS},
                {"decisions", kept->decisions_ms, 2},
                {"idempotency_keys", kept->keys_ms, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].ms && rows[i].ms < rows[i].least_days * 86400000)
            return helio_fail(err, HELIO_INVALID, "%s: retention.%s is at least %" PRIu64 "d, or 0s for ever", path,
                              rows[i].key, rows[i].least_days);
    return HELIO_OK;
}

/*  Between two summaries a site that is well says nothing for the whole interval. */
static helio_rc check_silence(const helio_settings_t *settings, const char *path, helio_error_t *err)
{
    char silent_after[HELIO_DURATION_SIZE], summary[HELIO_DURATION_SIZE];
    if (settings->silent_after_ms > settings->summary_ms)
        return HELIO_OK;
    helio_duration_text(settings->silent_after_ms, silent_after);
    helio_duration_text(settings->summary_ms, summary);
    return helio_fail(err, HELIO_INVALID,
                      "%s: silent_after must be longer than summary, and is %s where summary is %s: every site would "
                      "be silent between two summaries",
                      path, silent_after, summary);
}

helio_rc helio_settings_load(const helio_arguments_t *arguments, helio_arena_t *arena, helio_settings_t *ret_settings,
                             helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t source = {0};
    helio_settings_t settings = {0};
    const char *path = arguments->config ? arguments->config : HELIO_BROKER_CONFIG_PATH;
    helio_rc rc = read_file(path, &source, err);
    if (rc == HELIO_NOT_FOUND && !arguments->config)
        rc = HELIO_OK; /* options alone suffice */
    if (rc != HELIO_OK)
        return rc;
    helio_diagnostic_t diagnostic;
    helio_spec_source_t document = {helio_arena_text(arena, helio_buffer_view(&source)), path, 0};
    rc = helio_spec_read(&helio_settings_table, document, HELIO_SPEC_SOURCE_MAX, arena, &settings, &diagnostic);
    if (rc != HELIO_OK) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_diagnostic_text(&diagnostic, false, &text);
        return helio_fail(err, rc, "%.*s", HELIO_TEXT_ARGS(helio_buffer_view(&text)));
    }
    override(&settings.database, arguments->database);
    override(&settings.listen_sites, arguments->listen_sites);
    override(&settings.listen_http, arguments->listen_http);
    override(&settings.key_file, arguments->key_file);
    override(&settings.record, arguments->record);
    if (arguments->log_level &&
        helio_spec_levels.of(helio_text_of(arguments->log_level), &settings.log_level) != HELIO_OK)
        return helio_fail(err, HELIO_INVALID, "--log-level is debug, info, warn or error, not '%s'",
                          arguments->log_level);
    settings.database = helio_arena_text(arena, settings.database); /* from here on the texts are NUL-terminated */
    settings.listen_sites = helio_arena_text(arena, settings.listen_sites);
    settings.listen_http = helio_arena_text(arena, settings.listen_http);
    settings.key_file = helio_arena_text(arena, settings.key_file);
    settings.record = helio_arena_text(arena, settings.record);
    rc = helio_advertised_url(settings.advertise_http, settings.listen_http, arena, &settings.advertise_http, err);
    if (rc != HELIO_OK)
        return rc;
    if (settings.database.size == 0)
        return helio_fail(err, HELIO_INVALID, "no database is named: set `database:` in %s or pass --database", path);
    rc = check_retention(&settings.retention, path, err);
    if (rc == HELIO_OK)
        rc = check_silence(&settings, path, err);
    if (rc == HELIO_OK)
        *ret_settings = settings;
    return rc;
}

void helio_settings_reference(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# The broker's settings\n\n"
             "<!-- Generated from broker/program/settings.c by its test. -->\n\n"
             "`helio-broker` reads its settings from `" HELIO_BROKER_CONFIG_PATH
             "` or from `--config FILE` when it starts. Flags on "
             "the\ncommand line override the file (`helio-broker --help` lists them). Durations are written as in the "
             "[site file](site.md#quantities).\n"
             "`helio-broker check` finds errors in this file and in the database before a broker runs.\n\n"
             "## Keys\n\n");
    helio_spec_reference(&helio_settings_table, out);
}
