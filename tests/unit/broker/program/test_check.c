/*  test_check.c -- `helio-broker check`: one line for each thing that `run` needs, and exit code 1 if one is
 * missing. */
#include "tests/unit/broker/program/commands_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "federation/net/curve.h"

/*  A port of the loopback that somebody listens at (fd stays open), or that nobody does (a moment ago). */
static int listen_somewhere(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static uint16_t free_port(void)
{
    uint16_t port;
    (void)close(listen_somewhere(&port));
    return port;
}

static void save_key(const desk_t *self, const char *name, mode_t mode)
{
    char path[128];
    helio_keypair_t pair = {0};
    (void)snprintf(path, sizeof path, "%s/%s", self->folder, name);
    assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&pair, path, NULL), HELIO_OK);
    assert_int_equal(chmod(path, mode), 0);
}

static uint32_t lines_with(const char *text, const char *mark)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, mark)); at++)
        count++;
    return count;
}

enum { READY = 5 }; /* key, database, schema, two ports; beside the settings */

/*  sites, http: NULL = a port that is free, "used" = one that is not. */
static const struct {
    const char *key, *sites, *http, *database;
    uint32_t good, bad;
} cases[] = {
    {"good.key", NULL, NULL, NULL, READY, 0},
    {"none.key", NULL, NULL, NULL, READY - 1, 1},
    {"open.key", NULL, NULL, NULL, READY - 1, 1},
    {"good.key", "used", NULL, NULL, READY - 1, 1},
    {"good.key", NULL, "used", NULL, READY - 1, 1},
    {"good.key", "tcp://127.0.0.1", NULL, NULL, READY - 1, 1},
    {"good.key", "tcp://:7443", NULL, NULL, READY - 1, 1},
    {"good.key", "tcp://127.0.0.1:", NULL, NULL, READY - 1, 1},
    {"good.key", "tcp://broker.example:7443", NULL, NULL, READY - 1, 1}, /* names are not resolved */
    {"good.key", "tcp://127.0.0.1:70000000000000000", NULL, NULL, READY - 1, 1},
    {"good.key", NULL, "nonsense", NULL, READY - 1, 1},
    {"good.key", NULL, "192.0.2.1:7480", NULL, READY - 1, 1}, /* none of this machine's */
    {"good.key", "tcp://*:0", "[::]:0", NULL, READY, 0},
    {"none.key", "used", "used", NULL, READY - 3, 3},
    {"good.key", NULL, NULL, "host=127.0.0.1 port=1 connect_timeout=5", READY - 2,
     1}, /* of the schema nothing is known */
};

static void check__says_of_each_thing_whether_it_is_there(void **state)
{
    desk_t *self = *state;
    uint16_t used;
    int fd = listen_somewhere(&used);
    save_key(self, "good.key", 0600);
    save_key(self, "open.key", 0644);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char sites[64], http[64], lines[256];
        bool taken = cases[i].sites && strcmp(cases[i].sites, "used") == 0;
        (void)snprintf(sites, sizeof sites, "tcp://127.0.0.1:%d", taken ? used : free_port());
        taken = cases[i].http && strcmp(cases[i].http, "used") == 0;
        (void)snprintf(http, sizeof http, "127.0.0.1:%d", taken ? used : free_port());
        (void)snprintf(lines, sizeof lines, "key_file: %s/%s\nlisten_sites: '%s'\nlisten_http: '%s'\n",
                       self->folder, cases[i].key,
                       cases[i].sites && strcmp(cases[i].sites, "used") != 0 ? cases[i].sites : sites,
                       cases[i].http && strcmp(cases[i].http, "used") != 0 ? cases[i].http : http);
        configure(self, cases[i].database ? cases[i].database : self->database, lines);
        int code = RUN(self, helio_command_check, "check");
        uint32_t good = lines_with(self->out, "✔"), bad = lines_with(self->out, "✗");
        if (good != cases[i].good + 1 || bad != cases[i].bad || code != (bad ? 1 : 0))
            fail_msg("case %zu: exit code %d\n%s", i, code, self->out);
    }
    (void)close(fd);
}

static void check__of_a_database_that_is_not_migrated_says_so_and_reaches_it(void **state)
{
    desk_t *self = *state;
    char lines[256];
    save_key(self, "good.key", 0600);
    (void)snprintf(lines, sizeof lines,
                   "key_file: %s/good.key\nlisten_sites: tcp://127.0.0.1:%d\nlisten_http: 127.0.0.1:%d\n",
                   self->folder, free_port(), free_port());
    configure(self, helio_pg_empty_database(pg), lines);
    assert_int_equal(RUN(self, helio_command_check, "check"), 1);
    assert_int_equal(lines_with(self->out, "✔"), READY);
    assert_non_null(strstr(self->out, "✔ database"));
    assert_non_null(strstr(self->out, "✗ schema"));
}

static void check__without_settings_says_that_and_nothing_else(void **state)
{
    desk_t *self = *state;
    configure(self, self->database, "listen_htp: x\n");
    assert_int_equal(RUN(self, helio_command_check, "check"), 1);
    assert_int_equal(lines_with(self->out, "✗"), 1);
    assert_int_equal(lines_with(self->out, "✔"), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, desk_with_database, desk_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(check__says_of_each_thing_whether_it_is_there),
        CASE(check__of_a_database_that_is_not_migrated_says_so_and_reaches_it),
        CASE(check__without_settings_says_that_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, pg_begin, pg_end);
}
