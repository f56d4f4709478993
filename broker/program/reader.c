/*  reader.c -- `helio-broker reader`: database logins for dashboards, which see the rows of some tenants only. */
#include <stdio.h>
#include <string.h>

#include "broker/program/commands.h"
#include "broker/store/store.h"

static const char usage[] = "reader add NAME --tenant T [--tenant T]... | reader list | reader remove NAME";

/*  Only the script goes to standard output, so that it can be piped into psql. */
static int hand_over(const char *name, const char *done, const helio_buffer_t *script)
{
    if (!script->size) {
        (void)printf("reader %s %s\n", name, done);
        return 0;
    }
    (void)fprintf(stderr,
                  "reader %s %s, except for what the broker's user of the database may not do.\n"
                  "help: let a superuser of this database run what follows\n",
                  name, done);
    (void)puts(script->data);
    return 0;
}

static int add(const helio_arguments_t *arguments, const helio_settings_t *settings)
{
    const char *name = arguments->words[2];
    for (uint32_t i = 0; i < arguments->tenant_count; i++)
        if (!helio_is_name(arguments->tenants[i]))
            return helio_bad_name("tenant", arguments->tenants[i]);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t script = {0};
    helio_error_t err = {0};
    if (helio_store_put_reader(settings->database.data, name, arguments->tenants, arguments->tenant_count, &script,
                               &err) != HELIO_OK)
        return helio_print_error(&err);
    int code = hand_over(name, "added", &script);
    (void)fprintf(stderr, "it has no password yet unless you gave it one: alter role \"%s\" password '...'\n", name);
    return code;
}

static int take_away(const char *name, const helio_settings_t *settings)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t script = {0};
    helio_error_t err = {0};
    if (helio_store_remove_reader(settings->database.data, name, &script, &err) != HELIO_OK)
        return helio_print_error(&err);
    return hand_over(name, "removed", &script);
}

static void show(void *arg, const char *reader, const char *tenants, bool ready)
{
    (void)arg;
    (void)printf("%-32s %-10s %s\n", reader, ready ? "login" : "no login", tenants);
}

int helio_command_reader(const helio_arguments_t *arguments)
{
    const char *verb = arguments->word_count > 1 ? arguments->words[1] : "";
    bool adds = strcmp(verb, "add") == 0 && arguments->tenant_count;
    bool lists = strcmp(verb, "list") == 0;
    if (!(adds || lists || strcmp(verb, "remove") == 0) || arguments->word_count != (lists ? 2U : 3U))
        return helio_usage(usage);
    if (!lists && !helio_is_name(arguments->words[2]))
        return helio_bad_name("reader", arguments->words[2]);
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    if (helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK)
        return helio_print_error(&err);
    if (adds)
        return add(arguments, &settings);
    if (!lists)
        return take_away(arguments->words[2], &settings);
    return helio_store_each_reader(settings.database.data, show, NULL, &err) == HELIO_OK ? 0 : helio_print_error(&err);
}
