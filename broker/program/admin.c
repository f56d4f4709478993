/*  admin.c -- the operator's commands that need no running broker: they work on the database or on a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/engine/recorder.h"
#include "broker/http/request/token.h"
#include "broker/program/commands.h"
#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/spec/value.h"

const char *helio_database_help(const helio_error_t *err)
{
    if (!err->sqlstate[0])
        return "";
    if (strcmp(err->sqlstate, "42501") == 0) /* insufficient privilege */
        return "this login lacks a privilege: let `database` in the settings name a member of the role helio_broker; for "
               "`migrate`, the owner of the database";
    if (err->code == HELIO_UNAVAILABLE)
        return "let `database` in the settings, or --database, name a PostgreSQL server that runs, a database that "
               "exists, and a login with its password";
    return "";
}

int helio_print_error(const helio_error_t *err)
{
    const char *help = helio_database_help(err);
    (void)fprintf(stderr, "helio-broker: error: %s\n", err->text[0] ? err->text : helio_rc_text(err->code));
    if (*help)
        (void)fprintf(stderr, "help: %s\n", help);
    return 1;
}

int helio_usage(const char *line)
{
    (void)fprintf(stderr, "usage: helio-broker %s\n", line);
    return 2;
}

bool helio_is_name(const char *name)
{
    size_t size = strlen(name);
    return size >= 1 && size <= 32 && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == size;
}

int helio_bad_name(const char *what, const char *name)
{
    helio_error_t err = {0};
    helio_rc rc = helio_fail(&err, HELIO_INVALID,
                             "'%s' cannot be the name of a %s: letters, digits, '.', '_', '-', at most 32", name, what);
    (void)rc;
    return helio_print_error(&err);
}

static void say(void *arg, const char *line)
{
    (void)arg;
    (void)puts(line);
}

int helio_command_migrate(const helio_arguments_t *arguments)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    if (helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK ||
        helio_schema_migrate(settings.database.data, say, NULL, &err) != HELIO_OK)
        return helio_print_error(&err);
    return 0;
}

int helio_command_keygen(const helio_arguments_t *arguments)
{
    if (arguments->word_count != 2)
        return helio_usage("keygen PATH");
    helio_error_t err = {0};
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    if (helio_keypair_new(&pair, &err) != HELIO_OK || helio_keypair_save(&pair, arguments->words[1], &err) != HELIO_OK)
        return helio_print_error(&err);
    (void)puts(pair.public_key);
    return 0;
}

/*  The jobs of a tenant without a home site run, but have no home baseline to be compared with. */
static void say_without_home(const char *conninfo, const char *tenant)
{
    bool has = true;
    if (helio_store_has_home(conninfo, tenant, &has, NULL) == HELIO_OK && !has)
        (void)fprintf(stderr,
                      "tenant %s has no home site: no job is preferred there or compared with it in `helio report`\n"
                      "help: helio-broker tenant add %s --home SITE (a running broker: `helio tenants set %s --home "
                      "SITE`), or "
                      "`home: SITE` in a job file\n",
                      tenant, tenant, tenant);
}

int helio_command_tenant(const helio_arguments_t *arguments)
{
    if (arguments->word_count != 3 || strcmp(arguments->words[1], "add") != 0)
        return helio_usage("tenant add NAME [--home SITE|none]");
    if (!helio_is_name(arguments->words[2]))
        return helio_bad_name("tenant", arguments->words[2]);
    const char *home = arguments->home && strcmp(arguments->home, "none") == 0 ? "" : arguments->home;
    if (home && home[0] && !helio_is_name(home))
        return helio_bad_name("site", arguments->home);
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    helio_put_t put;
    if (helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK ||
        helio_store_put_tenant(settings.database.data, arguments->words[2], home, &put, &err) != HELIO_OK)
        return helio_print_error(&err);
    if (put == HELIO_PUT_SAME)
        (void)printf("tenant %s exists; nothing changed\n", arguments->words[2]);
    else
        (void)printf("tenant %s %s; a running broker learns of it when it starts next, by `helio tenants set` "
                     "at once\n",
                     arguments->words[2], put == HELIO_PUT_NEW ? "added" : "changed");
    say_without_home(settings.database.data, arguments->words[2]);
    return 0;
}

int helio_command_token(const helio_arguments_t *arguments)
{
    if (arguments->word_count != 2 || strcmp(arguments->words[1], "add") != 0 || !arguments->tenant ||
        !arguments->user || !arguments->role)
        return helio_usage("token add --tenant T --user U --role user|operator|admin [--ttl 90d]");
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    uint32_t role;
    uint64_t ttl_ms = UINT64_C(90) * 86400000;
    helio_rc rc = HELIO_OK;
    if (!helio_is_name(arguments->tenant))
        return helio_bad_name("tenant", arguments->tenant);
    if (strlen(arguments->user) > 64)
        rc = helio_fail(&err, HELIO_TOO_BIG, "a user's name has at most 64 bytes");
    else if (helio_role_of(helio_text_of(arguments->role), &role) != HELIO_OK)
        rc = helio_fail(&err, HELIO_INVALID, "--role is user, operator or admin, not '%s'", arguments->role);
    else if (arguments->ttl && helio_duration_parse(helio_text_of(arguments->ttl), &ttl_ms) != HELIO_OK)
        rc = helio_fail(&err, HELIO_INVALID, "--ttl needs a duration such as 12h or 90d, not '%s'", arguments->ttl);
    else if (ttl_ms < 1000 || ttl_ms > UINT64_C(3660) * 86400000)
        rc = helio_fail(&err, HELIO_INVALID, "--ttl is between 1s and ten years");
    if (rc != HELIO_OK || helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK)
        return helio_print_error(&err);
    helio_token_fresh_t fresh;
    if (helio_token_issue(&fresh) != HELIO_OK) {
        rc = helio_fail(&err, HELIO_IO, "the system provided no random bytes");
        return helio_print_error(&err);
    }
    int64_t now_ms = helio_clock_wall_ms();
    helio_row_token_t row = {.token_id = helio_text_of(fresh.id),
                             .hash = {(const char *)fresh.hash, sizeof fresh.hash},
                             .tenant = helio_text_of(arguments->tenant),
                             .user = helio_text_of(arguments->user),
                             .role = helio_text_of(arguments->role),
                             .created_ms = now_ms,
                             .expires_ms = now_ms + (int64_t)ttl_ms};
    if (helio_store_put_token(settings.database.data, &row, &err) != HELIO_OK)
        return helio_print_error(&err);
    (void)puts(fresh.text); /* shown only this once */
    (void)fputs("a running broker accepts it at once; a tenant that was added while it runs submits jobs after "
                "`helio tenants set`\n",
                stderr);
    say_without_home(settings.database.data, arguments->tenant);
    return 0;
}

int helio_command_site(const helio_arguments_t *arguments)
{
    if (arguments->word_count != 4 || strcmp(arguments->words[1], "add") != 0)
        return helio_usage("site add NAME PUBLIC_KEY");
    const char *name = arguments->words[2];
    helio_text_t key = helio_text_of(arguments->words[3]);
    if (!helio_is_name(name))
        return helio_bad_name("site", name);
    helio_error_t err = {0};
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_rc rc = HELIO_OK;
    if (!helio_curve_key_is_valid(key))
        rc = helio_fail(&err, HELIO_INVALID,
                        "that is not a public key: 40 characters, as printed by `helio-agent keygen`");
    helio_row_site_key_t row = {.public_key = key, .site = helio_text_of(name), .created_ms = helio_clock_wall_ms()};
    if (rc != HELIO_OK || helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK ||
        helio_store_put_site_key(settings.database.data, &row, &err) != HELIO_OK)
        return helio_print_error(&err);
    (void)printf("site %s added; a running broker lets it in when it starts next, POST /v1/sites at once\n", name);
    return 0;
}

int helio_command_restored(const helio_arguments_t *arguments)
{
    if (arguments->word_count != 1)
        return helio_usage("restored");
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    if (helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK ||
        helio_store_declare_restored(settings.database.data, &err) != HELIO_OK)
        return helio_print_error(&err);
    (void)puts("the broker that leads next places nothing before the sites have said what they run");
    return 0;
}

int helio_command_replay(const helio_arguments_t *arguments)
{
    if (arguments->word_count != 2)
        return helio_usage("replay FILE");
    helio_error_t err = {0};
    helio_replay_t replay = {0};
    if (helio_replay_file(arguments->words[1], &replay, &err) != HELIO_OK)
        return helio_print_error(&err);
    (void)printf("lives=%" PRIu64 " events=%" PRIu64 " effects=%" PRIu64 " checks=%" PRIu64 " hash=%016" PRIx64
                 " unfinished=%s\n",
                 replay.lives, replay.events, replay.effects, replay.checks, replay.hash,
                 replay.unfinished ? "yes" : "no");
    (void)printf("classes=%" PRIu64 " sites=%" PRIu64 " placements=%" PRIu64 " refusals=%" PRIu64 " open_batch=%" PRIu64
                 "\n",
                 replay.figures.classes, replay.figures.sites, replay.figures.placements_total,
                 replay.figures.refusals_total, replay.figures.open_batch);
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        if (replay.figures.jobs[state])
            (void)printf("jobs_%s=%" PRIu64 "\n", helio_job_state_name(state), replay.figures.jobs[state]);
    return 0;
}
