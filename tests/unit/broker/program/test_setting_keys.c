/*  test_setting_keys.c -- each key of broker.yaml: values at its bounds reach their member and no other, and what lies
 *  beyond, is of another type or contradicts another key is refused with file, line and key. */
#include "tests/unit/broker/program/settings_testing.h"

#include "federation/base/rng.h"

#define MS(seconds) ((uint64_t)(seconds)*1000)
#define DAYS(count) (MS(86400) * (count))

typedef struct setting {
    const char *section; /* NULL = none */
    const char *name;
    size_t offset;
    bool wide; /* 64 bits */
    struct {
        const char *text;
        uint64_t value;
    } least, most;
    const char *below, *above;
} setting_t;

#define U32(section, name, member, least, most, below, above)                                                  \
    {                                                                                                          \
        section, name, offsetof(helio_settings_t, member), false, {#least, least}, {#most, most}, below, above \
    }
#define TIME(section, name, member, least, least_ms, most, most_ms, below, above)                                 \
    {                                                                                                             \
        section, name, offsetof(helio_settings_t, member), true, {least, least_ms}, {most, most_ms}, below, above \
    }
#define KEPT(name, member, least, days) \
    TIME("retention", name, retention.member, least, DAYS(days), "3660d", DAYS(3660), "1s", "3661d")

static const setting_t keys[] = {
    TIME(NULL, "lease", lease_ms, "10s", MS(10), "1d", DAYS(1), "9999ms", "86401s"),
    TIME(NULL, "summary", summary_ms, "100ms", 100, "59s", MS(59), "99ms", "61s"),
    TIME(NULL, "silent_after", silent_after_ms, "1001ms", 1001, "1d", DAYS(1), "999ms", "25h"),
    TIME(NULL, "commit_deadline", commit_deadline_ms, "100ms", 100, "10m", MS(600), "0s", "11m"),
    U32(NULL, "readers", readers, 1, 64, "0", "65"),
    U32("limits", "queued", queued_max, 1, 100000000, "0", "100000001"),
    U32("limits", "queued_per_tenant", queued_per_tenant_max, 1, 100000000, "0", "4294967297"),
    U32("limits", "submissions_per_minute", submissions_per_minute, 0, 100000000, "-1", "100000001"),
    U32("limits", "commands_per_minute", commands_per_minute, 0, 100000000, "-1", "100000001"),
    U32("limits", "offers_unanswered", offers_unanswered_max, 1, 1000000, "-1", "1000001"),
    U32("limits", "channels", channels_max, 0, 1024, "-1", "1025"),
    U32("limits", "channels_per_tenant", channels_per_tenant_max, 0, 1024, "-1", "1025"),
    TIME("limits", "channel_limit", channel_limit_ms, "10s", MS(10), "7d", DAYS(7), "9s", "8d"),
    TIME("limits", "channel_idle", channel_idle_ms, "10s", MS(10), "7d", DAYS(7), "9s", "8d"),
    U32("limits", "batch_rows", batch_rows_max, 1, 1000000, "0", "1000001"),
    U32("retention", "rows_per_second", retention.rows_per_second, 100, 100000, "99", "100001"),
    KEPT("samples", samples_ms, "2d", 2),
    KEPT("forecasts", forecasts_ms, "32d", 32),
    KEPT("actuals", actuals_ms, "32d", 32),
    KEPT("decisions", decisions_ms, "2d", 2),
    KEPT("idempotency_keys", keys_ms, "2d", 2),
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static uint64_t value_of(const helio_settings_t *settings, const setting_t *key)
{
    uint64_t wide;
    uint32_t narrow;
    memcpy(&wide, (const char *)settings + key->offset, key->wide ? sizeof wide : 0);
    memcpy(&narrow, (const char *)settings + key->offset, sizeof narrow);
    return key->wide ? wide : narrow;
}

static const char *document(const setting_t *key, const char *value)
{
    static char text[512];
    if (key->section)
        (void)snprintf(text, sizeof text, "database: a\n%s:\n  %s: %s\n", key->section, key->name, value);
    else
        (void)snprintf(text, sizeof text, "database: a\n%s: %s\n", key->name, value);
    return text;
}

/* ---- each key ------------------------------------------------------------------------------------------ */

static void check_taken(fixture_t *self, const helio_settings_t *defaults, const setting_t *key, const char *text,
                        uint64_t value)
{
    if (load(self, document(key, text), (helio_arguments_t){0}) != HELIO_OK)
        fail_msg("%s: %s: %s", key->name, text, self->err.text);
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t expected = &keys[i] == key ? value : value_of(defaults, &keys[i]);
        if (value_of(&self->settings, &keys[i]) != expected)
            fail_msg("%s: %s makes %s %llu", key->name, text, keys[i].name,
                     (unsigned long long)value_of(&self->settings, &keys[i]));
    }
}

static void setting__at_its_bounds_reaches_its_member_and_no_other(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(load(self, "database: a\n", (helio_arguments_t){0}), HELIO_OK);
    helio_settings_t defaults = self->settings;
    for (size_t i = 0; i < KEYS; i++) {
        check_taken(self, &defaults, &keys[i], keys[i].least.text, keys[i].least.value);
        check_taken(self, &defaults, &keys[i], keys[i].most.text, keys[i].most.value);
    }
}

static void check_refused(fixture_t *self, const char *text, const char *line, const char *says)
{
    char place[128];
    (void)snprintf(place, sizeof place, "%s%s", self->path, line);
    helio_settings_t before;
    memset(&self->settings, 0x5a, sizeof self->settings);
    before = self->settings;
    helio_rc rc = load(self, text, (helio_arguments_t){0});
    if (rc == HELIO_OK || !strstr(self->err.text, place) || !strstr(self->err.text, says))
        fail_msg("%s-> %s: %s; not '%s' and '%s'", text, helio_rc_text(rc), self->err.text, place, says);
    assert_memory_equal(&self->settings, &before, sizeof before); /* nothing is set in part */
}

static void setting__beyond_its_bounds_or_of_another_type_is_refused_at_its_line(void **state)
{
    fixture_t *self = *state;
    static const char *const wrong[] = {"",     "x", "[1]", "{a: 1}", "true", "1.5", "-1", "99999999999999999999",
                                        "0x10", "~"};
    for (size_t i = 0; i < KEYS; i++) {
        const setting_t *key = &keys[i];
        bool by_sum = key->section && key->wide; /* a retention below its minimum is an error of the whole file */
        const char *line = key->section ? ":3:" : ":2:";
        check_refused(self, document(key, key->below), by_sum ? "" : line, key->name);
        check_refused(self, document(key, key->above), line, key->name);
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
            if (wrong[k][0] || key->wide)
                check_refused(self, document(key, wrong[k]), ":", key->name);
        check_refused(self, document(key, key->wide ? "10" : "10s"), line, key->name); /* a unit too few or too many */
        check_refused(self, document(key, "10 s 3"), line, key->name);
    }
}

static void setting__kept_for_ever_is_written_as_no_time(void **state)
{
    fixture_t *self = *state;
    for (size_t i = 0; i < KEYS; i++) {
        if (!keys[i].section || strcmp(keys[i].section, "retention") != 0 || !keys[i].wide)
            continue;
        assert_int_equal(load(self, document(&keys[i], "0s"), (helio_arguments_t){0}), HELIO_OK);
        assert_int_equal(value_of(&self->settings, &keys[i]), 0);
    }
}

/* ---- all of them --------------------------------------------------------------------------------------- */

/*  In any order, each within its bounds: each has the value that was written. */
static void settings__of_any_sound_values_are_taken_as_written(void **state)
{
    fixture_t *self = *state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        helio_rng_t rng = {seed};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        uint64_t expected[KEYS];
        helio_buffer_text(&text, "database: a\n");
        for (int section = 0; section < 3; section++) {
            static const char *const names[] = {NULL, "limits", "retention"};
            if (names[section])
                helio_buffer_printf(&text, "%s:\n", names[section]);
            for (size_t i = 0; i < KEYS; i++) {
                const setting_t *key = &keys[i];
                bool here = (!key->section && !section) ||
                            (key->section && section && strcmp(key->section, names[section]) == 0);
                if (!here)
                    continue;
                uint64_t range = key->most.value - key->least.value + 1;
                expected[i] = key->least.value + helio_rng_below(&rng, range);
                if (key->offset == offsetof(helio_settings_t, silent_after_ms))
                    expected[i] = MS(60) + helio_rng_below(&rng, MS(600)); /* beyond any summary */
                helio_buffer_printf(&text, "%s%s: %llu%s\n", section ? "  " : "", key->name,
                                    (unsigned long long)expected[i], key->wide ? "ms" : "");
            }
        }
        if (load(self, text.data, (helio_arguments_t){0}) != HELIO_OK)
            fail_msg("seed %u: %s\n%s", (uint32_t)seed, self->err.text, text.data);
        for (size_t i = 0; i < KEYS; i++)
            assert_true(value_of(&self->settings, &keys[i]) == expected[i]);
    }
}

static void settings__that_are_no_mapping_of_known_keys_are_refused(void **state)
{
    fixture_t *self = *state;
    static const struct {
        const char *text, *line, *says;
    } rows[] = {
        {"- database: a\n", ":1:", ""},
        {"just text\n", ":1:", ""},
        {"database: a\ndatabase: b\n", ":2:", "database"},
        {"database: a\nlimits: {queued: 1, queued: 2}\n", ":2:", "queued"},
        {"database: a\nlimits: 7\n", ":2:", "limits"},
        {"database: a\nretention: [1]\n", ":2:", "retention"},
        {"database: a\nlimits:\n  quued: 1\n", ":3:", "did you mean 'queued'?"},
        {"database: a\nretention:\n  sample: 2d\n", ":3:", "did you mean 'samples'?"},
        {"database: a\nleese: 2d\n", ":2:", "did you mean 'lease'?"},
        {"database: a\nqueued: 5\n", ":2:", "queued"}, /* of a section, on the top */
        {"database: [a]\n", ":1:", "database"},
        {"database: {a: b}\n", ":1:", "database"},
        {"database: a\nlog_level: WARN\n", ":2:", "log_level"},
        {"database: a\n\tlease: 15m\n", ":", ""},
        {"database: \"a\n", ":", ""},
        {"database: a\n---\ndatabase: b\n", ":", ""},
        {"database: \xff\xfe\n", ":", ""},
        {"", "", "database"},
        {"database: ''\n", ":1:", "an empty text"},
        {"# database: a\n", "", "set `database:`"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_refused(self, rows[i].text, rows[i].line, rows[i].says);
}

/*  A site that reports in time would be silent between two reports, and its jobs suspect. */
static void settings__that_contradict_each_other_are_refused(void **state)
{
    fixture_t *self = *state;
    check_refused(self, "database: a\nsummary: 10s\nsilent_after: 10s\n", "",
                  "silent_after must be longer than summary");
    check_refused(self, "database: a\nsilent_after: 1s\n", "", "silent_after must be longer than summary");
    check_refused(self, "database: a\nsummary: 60s\n", "", "silent_after must be longer than summary");
    assert_int_equal(load(self, "database: a\nsummary: 500ms\nsilent_after: 1s\n", (helio_arguments_t){0}), HELIO_OK);
}

static void settings__larger_than_a_file_of_settings_are_not_read(void **state)
{
    fixture_t *self = *state;
    char *text = helio_new((size_t)HELIO_SPEC_SOURCE_MAX + 64, 1);
    (void)snprintf(text, 32, "database: a\n#");
    memset(text + 13, '#', (size_t)HELIO_SPEC_SOURCE_MAX - 13);
    assert_int_equal(load(self, text, (helio_arguments_t){0}), HELIO_OK);
    text[HELIO_SPEC_SOURCE_MAX] = '#';
    assert_int_equal(load(self, text, (helio_arguments_t){0}), HELIO_TOO_BIG);
    assert_non_null(strstr(self->err.text, self->path));
    free(text);
    helio_arguments_t folder = {.config = "/tmp"};
    assert_int_not_equal(helio_settings_load(&folder, self->arena, &self->settings, &self->err), HELIO_OK);
    assert_non_null(strstr(self->err.text, "cannot read /tmp"));
}

/* ---- flags --------------------------------------------------------------------------------------------- */

static void flag__overrides_its_key_and_no_other(void **state)
{
    fixture_t *self = *state;
    static const char text[] =
        "database: a\nlisten_sites: b\nlisten_http: c\nkey_file: /d\nrecord: /e\nlog_level: warn\n";
    static const char *const flags[] = {"database", "listen-sites", "listen-http", "key-file", "record"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        char option[40];
        helio_arguments_t arguments;
        (void)snprintf(option, sizeof option, "--%s=other", flags[i]);
        char *argv[] = {"helio-broker", "run", option};
        assert_int_equal(helio_arguments_parse(3, argv, &arguments, &self->err), HELIO_OK);
        assert_int_equal(load(self, text, arguments), HELIO_OK);
        const helio_text_t *texts[] = {&self->settings.database, &self->settings.listen_sites,
                                       &self->settings.listen_http, &self->settings.key_file, &self->settings.record};
        static const char *const written[] = {"a", "b", "c", "/d", "/e"};
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++)
            assert_string_equal(texts[k]->data, k == i ? "other" : written[k]); /* and each ends with NUL */
        assert_int_equal(self->settings.log_level, HELIO_WARN);
    }
}

static void flag__of_a_database_does_without_the_key_and_not_without_the_rest(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(load(self, "lease: 10s\n", (helio_arguments_t){.database = "b"}), HELIO_OK);
    assert_int_equal(self->settings.lease_ms, 10000);
    assert_int_not_equal(load(self, "lease: 1s\n", (helio_arguments_t){.database = "b"}), HELIO_OK);
    assert_non_null(strstr(self->err.text, "lease"));
    assert_int_equal(load(self, "", (helio_arguments_t){.database = "b"}), HELIO_OK);
    assert_int_equal(self->settings.readers, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(setting__at_its_bounds_reaches_its_member_and_no_other),
        CASE(setting__beyond_its_bounds_or_of_another_type_is_refused_at_its_line),
        CASE(setting__kept_for_ever_is_written_as_no_time),
        CASE(settings__of_any_sound_values_are_taken_as_written),
        CASE(settings__that_are_no_mapping_of_known_keys_are_refused),
        CASE(settings__that_contradict_each_other_are_refused),
        CASE(settings__larger_than_a_file_of_settings_are_not_read),
        CASE(flag__overrides_its_key_and_no_other),
        CASE(flag__of_a_database_does_without_the_key_and_not_without_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
