/*  check.c -- `helio-broker check`: tests everything that `run` needs, one line each, with the remedy. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/program/advertised.h"
#include "broker/program/commands.h"
#include "broker/program/occupant.h"
#include "federation/net/curve.h"

typedef struct tally {
    uint32_t failed;
    bool runs; /* a broker with these settings, it seems */
} tally_t;

static void line(tally_t *tally, const char *what, helio_rc rc, const char *detail)
{
    if (rc != HELIO_OK)
        tally->failed++;
    (void)printf("%s %s: %s\n", rc == HELIO_OK ? "✔" : "✗", what, detail);
}

static void check_key(tally_t *tally, const helio_settings_t *settings)
{
    helio_error_t err = {0};
    char text[256];
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    helio_rc rc = helio_keypair_load(settings->key_file.data, &pair, &err);
    if (rc == HELIO_NOT_FOUND)
        rc = helio_fail(&err, rc, "%s does not exist: create it with `helio-broker keygen %s`", settings->key_file.data,
                        settings->key_file.data);
    if (rc == HELIO_OK)
        (void)snprintf(text, sizeof text, "%s, public key %s", settings->key_file.data, pair.public_key);
    line(tally, "key file", rc, rc == HELIO_OK ? text : err.text);
}

enum { SQL_INDENT = 4, SQL_WIDTH = 90 };

/*  A statement a line, indented, so that `sed` can take them out; long ones are continued after a comma that is in no
 *  parentheses. Nothing within quotes is touched. */
static void print_sql(const char *sql)
{
    uint32_t column = SQL_INDENT, depth = 0;
    char quote = '\0';
    (void)printf("\n%*s", SQL_INDENT, "");
    for (; *sql; sql++) {
        bool is_mark = *sql == '"' || *sql == '\'';
        if (is_mark && (!quote || quote == *sql))
            quote = quote ? '\0' : *sql;
        depth += !quote && *sql == '(';
        depth -= !quote && *sql == ')' && depth;
        bool ends = !quote && !depth && sql[1] == ' ' && (*sql == ';' || (*sql == ',' && column >= SQL_WIDTH));
        (void)putchar(*sql);
        column++;
        if (!ends)
            continue;
        column = SQL_INDENT + (*sql == ',' ? 2 : 0);
        (void)printf("\n%*s", (int)column, "");
        sql++; /* the space */
    }
    (void)putchar('\n');
}

/*  The broker works nevertheless, so this does not count as failed. */
static void advise(void *arg, const char *open, const char *sql)
{
    (void)arg;
    (void)printf("! privileges: %s%s", open, *sql ? "; let a superuser run:" : "\n");
    if (*sql)
        print_sql(sql);
}

/*  The text of an error of the database names its subject: it begins with "database: ". */
static void line_of_database_error(tally_t *tally, const char *what, const helio_error_t *err)
{
    const char *help = helio_database_help(err);
    tally->failed++;
    if (err->sqlstate[0])
        (void)printf("✗ %s%s%s\n", err->text, *help ? "; " : "", help);
    else
        (void)printf("✗ %s: %s\n", what, err->text);
}

static void check_database(tally_t *tally, const helio_settings_t *settings)
{
    helio_error_t err = {0};
    helio_rc rc = helio_schema_verify(settings->database.data, &err);
    if (rc == HELIO_UNAVAILABLE) {
        line_of_database_error(tally, "database", &err);
        return;
    }
    line(tally, "database", HELIO_OK, "reached");
    if (rc != HELIO_OK) {
        line_of_database_error(tally, "schema", &err);
        return;
    }
    line(tally, "schema", HELIO_OK, "of this version");
    if (helio_store_open_privileges(settings->database.data, advise, NULL, &err) != HELIO_OK)
        advise(NULL, err.text, "");
}

/*  What the operator says of the standbys must be enforced. Without a standby at the moment, it cannot be told whether
 *  it is. */
static void check_standby(tally_t *tally, const helio_settings_t *settings)
{
    helio_error_t err = {0};
    bool waits = false;
    helio_rc rc = helio_store_is_synchronous(settings->database.data, &waits, &err);
    if (rc == HELIO_UNAVAILABLE || (!waits && rc == HELIO_OK && settings->database_standby == HELIO_STANDBY_ANY))
        return; /* the database has a line of its own; and without standbys there is nothing to say */
    if (rc == HELIO_OK && !waits)
        rc =
            helio_fail(&err, HELIO_CONFLICT,
                       "database_standby is synchronous, but commits wait for no standby: set "
                       "synchronous_standby_names on the primary (Patroni: synchronous_mode, and a standby that runs)");
    line(tally, "database standby", rc,
         rc != HELIO_OK ? err.text
         : settings->database_standby == HELIO_STANDBY_SYNCHRONOUS
             ? "commits wait for it: its promotion is no restore"
             : "commits wait for it, but database_standby is any: "
               "its promotion counts as a restore");
}

/*  "tcp://HOST:PORT", "HOST:PORT", "[V6]:PORT"; "*" is every address. False: not of this form. */
static bool cut_address(helio_text_t address, char ret_host[256], char ret_port[16])
{
    char text[320];
    if (!helio_text_copy(address, text, sizeof text))
        return false;
    char *host = strncmp(text, "tcp://", 6) == 0 ? text + 6 : text;
    char *colon = strrchr(host, ':');
    if (!colon || colon == host || !colon[1] || strlen(colon + 1) > 5 || strtol(colon + 1, NULL, 10) > UINT16_MAX)
        return false; /* the system would take a larger port without its upper bits */
    *colon = '\0';
    size_t size = strlen(host);
    if (host[0] == '[' && host[size - 1] == ']') {
        host[size - 1] = '\0';
        host++;
    }
    (void)helio_text_copy(helio_text_of(strcmp(host, "*") == 0 ? "0.0.0.0" : host), ret_host, 256);
    (void)helio_text_copy(helio_text_of(colon + 1), ret_port, 16);
    return true;
}

static helio_rc try_bind(const struct addrinfo *info, const char *where, helio_error_t *err)
{
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "no socket: %s", strerror(errno));
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int failed = bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 1) != 0 ? errno : 0;
    (void)close(fd);
    if (failed == EADDRINUSE)
        return helio_fail(err, HELIO_CONFLICT,
                          "%s is in use, and not by a broker with these settings: choose another port", where);
    if (failed)
        return helio_fail(err, HELIO_IO, "cannot listen on %s: %s", where, strerror(failed));
    return HELIO_OK;
}

/*  NULL, and *err: it is no address. */
static struct addrinfo *resolve(helio_text_t address, helio_error_t *err)
{
    char host[256], port[16];
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *info = NULL;
    if (cut_address(address, host, port) && getaddrinfo(host, port, &hints, &info) == 0)
        return info;
    helio_rc rc = helio_fail(err, HELIO_INVALID, "'%.*s' is not an address: write 127.0.0.1:7480 or tcp://0.0.0.0:7443",
                             HELIO_TEXT_ARGS(address));
    (void)rc;
    return NULL;
}

/*  In use by the broker that runs here is as it should be. */
static void check_port(tally_t *tally, const char *what, helio_text_t address, bool is_http)
{
    helio_error_t err = {0};
    struct addrinfo *info = resolve(address, &err);
    helio_rc rc = info ? try_bind(info, address.data, &err) : HELIO_INVALID;
    bool runs = rc == HELIO_CONFLICT &&
                (is_http ? helio_occupant_is_broker(info) : tally->runs && helio_occupant_is_door(info));
    if (is_http)
        tally->runs = runs;
    if (runs)
        (void)printf("! %s: %s: a broker runs here already\n", what, address.data);
    else
        line(tally, what, rc, rc == HELIO_OK ? address.data : err.text);
    if (info)
        freeaddrinfo(info);
}

/*  A broker alone needs no such address. */
static void check_advertised(tally_t *tally, helio_text_t url)
{
    char text[400];
    (void)snprintf(text, sizeof text, "%s%s",
                   url.size ? "reach this one at " : "cannot forward requests to this one: set advertise_http",
                   url.data);
    if (helio_advertised_is_local(url))
        (void)snprintf(text, sizeof text,
                       "on this machine reach this one at %s; for brokers on other machines, set advertise_http",
                       url.data);
    line(tally, "other brokers", HELIO_OK, text);
}

int helio_command_check(const helio_arguments_t *arguments)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    tally_t tally = {0};
    helio_rc rc = helio_settings_load(arguments, arena, &settings, &err);
    line(&tally, "settings", rc,
         rc != HELIO_OK      ? err.text
         : arguments->config ? arguments->config
                             : HELIO_BROKER_CONFIG_PATH);
    if (rc == HELIO_OK) {
        check_key(&tally, &settings);
        check_database(&tally, &settings);
        check_standby(&tally, &settings);
        check_port(&tally, "port for HTTP", settings.listen_http, true);
        check_port(&tally, "port for sites", settings.listen_sites, false);
        check_advertised(&tally, settings.advertise_http);
    }
    return tally.failed ? 1 : 0;
}
