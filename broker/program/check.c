/*  `helio-broker check`: everything that `run` will need, one line each, with the remedy. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/program/commands.h"
#include "federation/net/curve.h"

typedef struct tally {
    uint32_t failed;
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
        rc = helio_fail(&err, rc, "%s is not there: make it with `helio-broker keygen %s`",
                        settings->key_file.data, settings->key_file.data);
    if (rc == HELIO_OK)
        (void)snprintf(text, sizeof text, "%s, public key %s", settings->key_file.data, pair.public_key);
    line(tally, "key file", rc, rc == HELIO_OK ? text : err.text);
}

static void check_database(tally_t *tally, const helio_settings_t *settings)
{
    helio_error_t err = {0};
    helio_rc rc = helio_schema_verify(settings->database.data, &err);
    bool reached = rc != HELIO_UNAVAILABLE;
    line(tally, "database", reached ? HELIO_OK : rc, reached ? "reached" : err.text);
    if (reached)
        line(tally, "schema", rc, rc == HELIO_OK ? "of this version" : err.text);
}

/*  "tcp://HOST:PORT", "HOST:PORT", "[V6]:PORT"; "*" is every address. False: not of that form. */
static bool cut_address(helio_text_t address, char ret_host[256], char ret_port[16])
{
    char text[320];
    if (!helio_text_copy(address, text, sizeof text))
        return false;
    char *host = strncmp(text, "tcp://", 6) == 0 ? text + 6 : text;
    char *colon = strrchr(host, ':');
    if (!colon || colon == host || !colon[1] || strlen(colon + 1) >= 16)
        return false;
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
                          "%s is in use: a broker is running already, or choose another port", where);
    if (failed)
        return helio_fail(err, HELIO_IO, "cannot listen on %s: %s", where, strerror(failed));
    return HELIO_OK;
}

static void check_port(tally_t *tally, const char *what, helio_text_t address)
{
    char host[256], port[16];
    helio_error_t err = {0};
    helio_rc rc;
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *info = NULL;
    if (!cut_address(address, host, port) || getaddrinfo(host, port, &hints, &info) != 0) {
        rc = helio_fail(&err, HELIO_INVALID,
                        "'%.*s' is not an address: write 127.0.0.1:7480 or tcp://0.0.0.0:7443",
                        HELIO_TEXT_ARGS(address));
    } else {
        rc = try_bind(info, address.data, &err);
        freeaddrinfo(info);
    }
    line(tally, what, rc, rc == HELIO_OK ? address.data : err.text);
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
        check_port(&tally, "port for sites", settings.listen_sites);
        check_port(&tally, "port for HTTP", settings.listen_http);
    }
    return tally.failed ? 1 : 0;
}
