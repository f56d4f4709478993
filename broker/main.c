/*  helio-broker: the table of its commands. */
#include <stdio.h>
#include <string.h>

#include "broker/program/commands.h"

static const struct {
    const char *name;
    helio_command_fn *run;
    const char *usage;
    const char *doc;
} commands[] = {
    {"run", helio_command_run, "run", "serves sites and people until TERM (the default)"},
    {"check", helio_command_check, "check", "says what `run` would miss, and how to mend it"},
    {"migrate", helio_command_migrate, "migrate", "brings the database's schema to this version"},
    {"keygen", helio_command_keygen, "keygen PATH", "makes the broker's secret key; prints the public one"},
    {"tenant", helio_command_tenant, "tenant add NAME [--home SITE]", "adds a tenant, or moves its home"},
    {"token", helio_command_token, "token add --tenant T --user U --role R [--ttl 90d]",
     "issues a token and prints it, once"},
    {"site", helio_command_site, "site add NAME PUBLIC_KEY", "lets a site's agent in"},
    {"reader", helio_command_reader, "reader add NAME --tenant T... | list | remove NAME",
     "lets a dashboard read what is of some tenants"},
    {"restored", helio_command_restored, "restored",
     "after an older copy of the database was put back: sites speak first"},
    {"prune", helio_command_prune, "prune [--older-than 90d] [--dry-run]",
     "deletes at once what retention would (`retention:` in the settings)"},
    {"replay", helio_command_replay, "replay FILE", "steps a fresh core over a recording and compares"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void help(FILE *out)
{
    (void)fprintf(out, "usage: helio-broker [COMMAND] [OPTIONS]\n\ncommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-52s %s\n", commands[i].usage, commands[i].doc);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t options = {0};
    helio_option_lines(&helio_broker_options, HELIO_OPTIONS_ALL, &options);
    (void)fprintf(out, "\noptions (the settings file is %s unless --config names another):\n%s",
                  HELIO_BROKER_CONFIG_PATH, options.data);
}

int main(int argc, char **argv)
{
    helio_arguments_t arguments;
    helio_error_t err = {0};
    if (helio_arguments_parse(argc, argv, &arguments, &err) != HELIO_OK) {
        (void)helio_print_error(&err);
        return 2;
    }
    if (arguments.version) {
        (void)puts("helio-broker " HELIO_PROGRAM_VERSION);
        return 0;
    }
    if (arguments.help) {
        help(stdout);
        return 0;
    }
    const char *name = arguments.word_count ? arguments.words[0] : "run";
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(&arguments);
    (void)fprintf(stderr, "helio-broker: error: unknown command '%s'\n", name);
    help(stderr);
    return 2;
}
