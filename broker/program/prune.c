/*  prune.c -- `helio-broker prune`: deletes at once what the leading broker deletes in small steps. */
#include <stdio.h>

#include "broker/program/commands.h"
#include "federation/spec/value.h"

static void say(void *arg, const char *line)
{
    (void)arg;
    (void)puts(line);
}

/*  Kinds that are kept for ever stay so: an option must not delete them. */
static void shorten(helio_retention_t *retention, uint64_t older_than_ms)
{
    uint64_t *const kept[] = {&retention->samples_ms, &retention->forecasts_ms, &retention->actuals_ms,
                              &retention->decisions_ms, &retention->keys_ms};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (*kept[i])
            *kept[i] = older_than_ms;
}

int helio_command_prune(const helio_arguments_t *arguments)
{
    enum { LEAST_DAYS = 32 };
    if (arguments->word_count != 1)
        return helio_usage("prune [--older-than 90d] [--dry-run]");
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    helio_rc rc = helio_settings_load(arguments, arena, &settings, &err);
    uint64_t older_than_ms = 0;
    if (rc == HELIO_OK && arguments->older_than &&
        (helio_duration_parse(helio_text_of(arguments->older_than), &older_than_ms) != HELIO_OK ||
         older_than_ms < LEAST_DAYS * UINT64_C(86400000)))
        rc = helio_fail(&err, HELIO_INVALID, "--older-than needs a duration of at least %dd, not '%s'", LEAST_DAYS,
                        arguments->older_than);
    if (rc == HELIO_OK && older_than_ms)
        shorten(&settings.retention, older_than_ms);
    if (rc == HELIO_OK)
        rc = arguments->dry_run ? helio_retention_preview(settings.database.data, &settings.retention, say, NULL, &err)
                                : helio_retention_prune(settings.database.data, &settings.retention, say, NULL, &err);
    return rc == HELIO_OK ? 0 : helio_print_error(&err);
}
