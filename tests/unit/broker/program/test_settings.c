/*  test_settings.c -- the command line, the settings file as a whole, and the reference page; test_setting_keys.c has
 *  each key. */
#include "tests/unit/broker/program/settings_testing.h"

#include "tests/support/golden.h"

static helio_rc parse(helio_arguments_t *arguments, helio_error_t *err, int argc, char *const *argv)
{
    return helio_arguments_parse(argc, argv, arguments, err);
}
#define PARSE(arguments, err, ...)                                                                 \
    parse(arguments, err, (int)(sizeof((char *[]){"helio-broker", __VA_ARGS__}) / sizeof(char *)), \
          (char *[]){"helio-broker", __VA_ARGS__, NULL})

static void arguments__flags_and_words_mix_in_any_order(void **state)
{
    (void)state;
    helio_arguments_t arguments;
    helio_error_t err = {0};
    assert_int_equal(PARSE(&arguments, &err, "--config", "b.yaml", "token", "--tenant=demo", "add", "--ttl", "9d"),
                     HELIO_OK);
    assert_string_equal(arguments.config, "b.yaml");
    assert_string_equal(arguments.tenant, "demo");
    assert_string_equal(arguments.ttl, "9d");
    assert_false(arguments.dry_run);
    assert_int_equal(arguments.word_count, 2);
    assert_string_equal(arguments.words[0], "token");
    assert_string_equal(arguments.words[1], "add");
}

static void arguments__every_tenant_given_is_kept(void **state)
{
    (void)state;
    helio_arguments_t arguments;
    assert_int_equal(PARSE(&arguments, NULL, "reader", "add", "wall", "--tenant", "acme", "--tenant=demo"), HELIO_OK);
    assert_int_equal(arguments.tenant_count, 2);
    assert_string_equal(arguments.tenants[0], "acme");
    assert_string_equal(arguments.tenants[1], "demo");
    char *many[2 * HELIO_ARGUMENT_TENANTS_MAX + 4] = {"helio-broker"};
    for (int i = 0; i <= HELIO_ARGUMENT_TENANTS_MAX; i++) {
        many[1 + 2 * i] = "--tenant";
        many[2 + 2 * i] = "t";
    }
    helio_error_t err = {0};
    assert_int_equal(parse(&arguments, &err, 2 * HELIO_ARGUMENT_TENANTS_MAX + 1, many), HELIO_OK);
    assert_int_equal(parse(&arguments, &err, 2 * HELIO_ARGUMENT_TENANTS_MAX + 3, many), HELIO_INVALID);
    assert_non_null(strstr(err.text, "--tenant: at most 64"));
}

static void arguments__a_key_that_begins_with_dashes_is_a_word(void **state)
{
    (void)state;
    helio_arguments_t arguments;
    assert_int_equal(PARSE(&arguments, NULL, "site", "add", "lulea", "--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
                     HELIO_OK);
    assert_int_equal(arguments.word_count, 4);
    assert_int_equal(PARSE(&arguments, NULL, "site", "add", "lulea", "-qaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
                     HELIO_OK);
    assert_int_equal(arguments.word_count, 4);
}

static void arguments__an_option_as_long_as_a_key_is_an_option(void **state)
{
    (void)state;
    helio_arguments_t arguments;
    static const char option[] = "--config=/etc/heliostat/second-cell.yaml";
    assert_int_equal(strlen(option), 40);
    assert_int_equal(PARSE(&arguments, NULL, "run", "--config=/etc/heliostat/second-cell.yaml"), HELIO_OK);
    assert_string_equal(arguments.config, "/etc/heliostat/second-cell.yaml");
    assert_int_equal(arguments.word_count, 1);
}

static void arguments__prune_has_flags_of_its_own(void **state)
{
    (void)state;
    helio_arguments_t arguments;
    assert_int_equal(PARSE(&arguments, NULL, "prune", "--dry-run", "--older-than", "90d"), HELIO_OK);
    assert_true(arguments.dry_run);
    assert_string_equal(arguments.older_than, "90d");
    assert_int_equal(arguments.word_count, 1);
}

static void arguments__errors_name_the_option(void **state)
{
    (void)state;
    helio_arguments_t arguments;
    helio_error_t err = {0};
    assert_int_equal(PARSE(&arguments, &err, "run", "--confg", "x"), HELIO_INVALID);
    assert_string_equal(err.text, "unknown option '--confg'\nhelp: did you mean '--config'?");
    assert_int_equal(PARSE(&arguments, &err, "run", "--config"), HELIO_INVALID);
    assert_non_null(strstr(err.text, "--config needs a value: --config FILE"));
    assert_int_equal(PARSE(&arguments, &err, "run", "--config="), HELIO_INVALID);
    assert_int_equal(PARSE(&arguments, &err, "a", "b", "c", "d", "e", "f", "g", "h", "i"), HELIO_TOO_BIG);
    assert_non_null(strstr(err.text, "helio-broker --help"));
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static void settings__only_the_database_is_required(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(load(self, "database: host=/run/postgresql dbname=helio\n", (helio_arguments_t){0}), HELIO_OK);
    assert_string_equal(self->settings.database.data, "host=/run/postgresql dbname=helio");
    helio_engine_options_t engine = helio_settings_engine(&self->settings);
    helio_broker_options_t defaults = helio_broker_options_default();
    assert_int_equal(engine.core.lease_ms, defaults.lease_ms);
    assert_int_equal(engine.core.renew_ms, defaults.renew_ms);
    assert_int_equal(engine.core.summary_ms, defaults.summary_ms);
    assert_int_equal(engine.core.silent_after_ms, defaults.silent_after_ms);
    assert_int_equal(engine.core.queued_max, defaults.queued_max);
    assert_int_equal(engine.core.queued_per_tenant_max, defaults.queued_per_tenant_max);
    assert_int_equal(engine.core.submissions_per_minute, defaults.submissions_per_minute);
    assert_int_equal(engine.core.commands_per_minute, defaults.commands_per_minute);
    assert_int_equal(engine.core.offers_unanswered_max, defaults.offers_unanswered_max);
    assert_int_equal(engine.core.channels_max, defaults.channels_max);
    assert_int_equal(engine.core.channels_per_tenant_max, defaults.channels_per_tenant_max);
    assert_int_equal(engine.core.channel_limit_ms, defaults.channel_limit_ms);
    assert_int_equal(engine.core.channel_idle_ms, defaults.channel_idle_ms);
    assert_int_equal(engine.batch_rows_max, 20000);
    assert_null(engine.record_path);
    assert_false(engine.store.standby_keeps);
    assert_string_equal(engine.endpoint, "tcp://0.0.0.0:7443");
    const helio_retention_t *kept = &self->settings.retention;
    const uint64_t day_ms = 86400000;
    assert_int_equal(kept->samples_ms, 400 * day_ms);
    assert_int_equal(kept->forecasts_ms, 90 * day_ms);
    assert_int_equal(kept->actuals_ms, 400 * day_ms);
    assert_int_equal(kept->decisions_ms, 180 * day_ms);
    assert_int_equal(kept->keys_ms, 90 * day_ms);
    assert_int_equal(kept->rows_per_second, 5000);
}

static void settings__every_key_can_be_set_and_options_override(void **state)
{
    fixture_t *self = *state;
    static const char text[] =
        "database: a\nlisten_sites: tcp://10.0.0.1:9\nlisten_http: 10.0.0.1:8\n"
        "key_file: /k\nrecord: /r\nlog_level: debug\nlease: 5m\nsummary: 2s\n"
        "silent_after: 30s\ncommit_deadline: 3s\nreaders: 4\ndatabase_standby: synchronous\n"
        "limits: {queued: 10, queued_per_tenant: 5, offers_unanswered: 3, batch_rows: 7}\n"
        "retention: {samples: 0s, forecasts: 40d, actuals: 41d, decisions: 3d, idempotency_keys: 4d, "
        "rows_per_second: 100}\n";
    assert_int_equal(load(self, text, (helio_arguments_t){.database = "b", .log_level = "error"}), HELIO_OK);
    assert_string_equal(self->settings.database.data, "b");
    assert_int_equal(self->settings.log_level, HELIO_ERROR);
    assert_int_equal(self->settings.readers, 4);
    helio_engine_options_t engine = helio_settings_engine(&self->settings);
    assert_string_equal(engine.endpoint, "tcp://10.0.0.1:9");
    assert_string_equal(engine.secret_key_path, "/k");
    assert_string_equal(engine.record_path, "/r");
    assert_int_equal(engine.core.lease_ms, 300000);
    assert_int_equal(engine.core.renew_ms, 30000);
    assert_int_equal(engine.core.queued_max, 10);
    assert_int_equal(engine.batch_rows_max, 7);
    assert_int_equal(engine.store.commit_deadline_ms, 3000);
    assert_true(engine.store.standby_keeps);
    const helio_retention_t *kept = &self->settings.retention;
    assert_int_equal(kept->samples_ms, 0); /* for ever */
    assert_int_equal(kept->forecasts_ms, UINT64_C(40) * 86400000);
    assert_int_equal(kept->actuals_ms, UINT64_C(41) * 86400000);
    assert_int_equal(kept->decisions_ms, UINT64_C(3) * 86400000);
    assert_int_equal(kept->keys_ms, UINT64_C(4) * 86400000);
    assert_int_equal(kept->rows_per_second, 100);
}

static void settings__errors_name_line_and_remedy(void **state)
{
    fixture_t *self = *state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"database: a\nlisten_htp: x\n", ":2:"},
        {"database: a\nlisten_htp: x\n", "listen_http"}, /* did you mean */
        {"database: a\nlease: 15\n", ":2:"},
        {"database: a\nlog_level: loud\n", "loud"},
        {"database: a\ndatabase_standby: maybe\n", "synchronous"},
        {"database: a\nlimits: {queued: -1}\n", ":2:"},
        {"lease: 15m\n", "database"},
        {"database: a\nretention: {samples: 1h}\n", "retention.samples is at least 2d, or 0s for ever"},
        {"database: a\nretention: {actuals: 7d}\n", "retention.actuals is at least 32d"},
        {"database: a\nretention: {idempotency_keys: 24h}\n", "retention.idempotency_keys is at least 2d"},
        {"database: a\nretention: {ledger: 90d}\n", "ledger"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_not_equal(load(self, cases[i].text, (helio_arguments_t){0}), HELIO_OK);
        if (!strstr(self->err.text, cases[i].expected))
            fail_msg("case %zu: '%s' is not in: %s", i, cases[i].expected, self->err.text);
    }
    assert_int_equal(load(self, "database: a\n", (helio_arguments_t){.log_level = "loud"}), HELIO_INVALID);
    helio_arguments_t absent = {.config = "/nonexistent/broker.yaml"};
    assert_int_equal(helio_settings_load(&absent, self->arena, &self->settings, &self->err), HELIO_NOT_FOUND);
    assert_non_null(strstr(self->err.text, "/nonexistent/broker.yaml"));
}

static void reference__the_page_shows_the_table_of_settings(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_settings_reference(&page);
    golden_check("docs/reference/broker.md", helio_buffer_view(&page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments__flags_and_words_mix_in_any_order),
        cmocka_unit_test(arguments__every_tenant_given_is_kept),
        cmocka_unit_test(arguments__a_key_that_begins_with_dashes_is_a_word),
        cmocka_unit_test(arguments__an_option_as_long_as_a_key_is_an_option),
        cmocka_unit_test(arguments__prune_has_flags_of_its_own),
        cmocka_unit_test(arguments__errors_name_the_option),
        CASE(settings__only_the_database_is_required),
        CASE(settings__every_key_can_be_set_and_options_override),
        CASE(settings__errors_name_line_and_remedy),
        cmocka_unit_test(reference__the_page_shows_the_table_of_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
