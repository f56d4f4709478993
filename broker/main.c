/*  main.c -- helio-broker: the table of its commands. */
#include <stdio.h>
#include <string.h>

#include "broker/program/commands.h"
#include "federation/base/suggest.h"

static const struct {
    const char *name;
    helio_command_fn *run;
    const char *usage;
    const char *doc;
} commands[] = {
    {"run", helio_command_run, "run", "Serves sites and users until SIGTERM (the default)"},
    {"check", helio_command_check, "check", "Reports what `run` lacks, and how to fix it"},
    {"migrate", helio_command_migrate, "migrate", "Brings the database schema to this version"},
    {"keygen", helio_command_keygen, "keygen PATH", "Creates the broker's secret key and prints the public key"},
    {"tenant", helio_command_tenant, "tenant add NAME [--home SITE]", "Adds a tenant, or changes its home site"},
    {"token", helio_command_token, "token add --tenant T --user U --role R [--ttl 90d]",
     "Issues a token and prints it once"},
    {"site", helio_command_site, "site add NAME PUBLIC_KEY", "Enrols the public key of a site's agent"},
    {"reader", helio_command_reader, "reader add NAME --tenant T... | list | remove NAME",
     "Lets a dashboard read the rows of some tenants"},
    {"restored", helio_command_restored, "restored",
     "Says that the database was restored: before new placements, sites report what they run"},
    {"prune", helio_command_prune, "prune [--older-than 90d] [--dry-run]",
     "Deletes now what retention would delete later (`retention:` in the settings)"},
    {"replay", helio_command_replay, "replay FILE", "Replays a recording in a new core and compares the effects"},
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

/*  The whole list helps only who is far from every command. */
static int refuse(const char *name)
{
    helio_suggestion_t near = {.written = helio_text_of(name)};
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        helio_suggestion_offer(&near, commands[i].name);
    (void)fprintf(stderr, "helio-broker: error: unknown command '%s'\n", name);
    if (near.best)
        (void)fprintf(stderr, "help: did you mean `helio-broker %s`?\n", near.best);
    else
        help(stderr);
    return 2;
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
    return refuse(name);
}
