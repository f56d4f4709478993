/*  test_check.c -- `helio-broker check`: one line for each prerequisite of `run`, and exit code 1 if one is missing. */
#include "tests/unit/broker/program/commands_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/net/curve.h"

/*  A port of the loopback with a listener (fd stays open), or one that was free a moment ago. */
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

enum { READY = 6 }; /* key, database, schema, two ports, other brokers; beside the settings */

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
    {"good.key", "tcp://127.0.0.1:65536", NULL, NULL, READY - 1, 1},
    {"good.key", NULL, "127.0.0.1:99999", NULL, READY - 1, 1},
    {"good.key", NULL, "nonsense", NULL, READY - 1, 1},
    {"good.key", NULL, "192.0.2.1:7480", NULL, READY - 1, 1}, /* none of this machine's */
    {"good.key", "tcp://*:0", "[::]:0", NULL, READY, 0},
    {"none.key", "used", "used", NULL, READY - 3, 3},
    {"good.key", NULL, NULL, "host=127.0.0.1 port=1 connect_timeout=5", READY - 2,
     1}, /* of the schema nothing is known */
};

static void check__reports_each_prerequisite(void **state)
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
        (void)snprintf(lines, sizeof lines, "key_file: %s/%s\nlisten_sites: '%s'\nlisten_http: '%s'\n", self->folder,
                       cases[i].key, cases[i].sites && strcmp(cases[i].sites, "used") != 0 ? cases[i].sites : sites,
                       cases[i].http && strcmp(cases[i].http, "used") != 0 ? cases[i].http : http);
        configure(self, cases[i].database ? cases[i].database : self->database, lines);
        int code = RUN(self, helio_command_check, "check");
        uint32_t good = lines_with(self->out, "✔"), bad = lines_with(self->out, "✗");
        if (good != cases[i].good + 1 || bad != cases[i].bad || code != (bad ? 1 : 0))
            fail_msg("case %zu: exit code %d\n%s", i, code, self->out);
    }
    (void)close(fd);
}

/*  Answers one connection with these bytes, in a process of its own. */
static pid_t answer_once(int fd, const char *bytes, size_t size)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int peer = accept(fd, NULL, NULL);
        char request[512];
        bool sent = send(peer, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
        (void)!recv(peer, request, sizeof request, 0); /* until it has asked, or is gone */
        _exit(sent ? 0 : 1);
    }
    return pid;
}

#define GREETING "\xFF\0\0\0\0\0\0\0\1\x7F"
#define HEALTHY "HTTP/1.1 200 OK\r\nHeliostat-Broker: north/7\r\n\r\nok\n"

/*  What answers at the two ports; the sites' is connected to only beside a broker. */
static const struct {
    const char *http;
    size_t http_size;
    const char *sites;
    size_t sites_size;
    uint32_t bad;
} occupants[] = {
    {HEALTHY, sizeof HEALTHY - 1, GREETING, sizeof GREETING - 1, 0},
    {HEALTHY, sizeof HEALTHY - 1, "SSH-2.0-x\r\n", 11, 1},
    {"HTTP/1.1 200 OK\r\n\r\nok\n", 22, NULL, 0, 2},
    {"220 mail\r\nHeliostat-Broker: x\r\n", 32, NULL, 0, 2},
};

static void check__tells_a_broker_that_runs_from_other_programs_at_its_ports(void **state)
{
    desk_t *self = *state;
    save_key(self, "good.key", 0600);
    for (size_t i = 0; i < sizeof occupants / sizeof occupants[0]; i++) {
        uint16_t http, sites;
        char lines[256];
        int http_fd = listen_somewhere(&http), sites_fd = listen_somewhere(&sites);
        pid_t pids[] = {answer_once(http_fd, occupants[i].http, occupants[i].http_size),
                        occupants[i].sites ? answer_once(sites_fd, occupants[i].sites, occupants[i].sites_size) : -1};
        (void)snprintf(lines, sizeof lines,
                       "key_file: %s/good.key\nlisten_sites: tcp://127.0.0.1:%d\nlisten_http: 127.0.0.1:%d\n",
                       self->folder, sites, http);
        configure(self, self->database, lines);
        int code = RUN(self, helio_command_check, "check");
        for (size_t k = 0; k < 2; k++) {
            int status;
            assert_true(pids[k] < 0 || (waitpid(pids[k], &status, 0) == pids[k] && status == 0));
        }
        uint32_t bad = lines_with(self->out, "✗"), runs = lines_with(self->out, ": a broker runs here already\n");
        if (bad != occupants[i].bad || runs != 2 - bad || code != (bad ? 1 : 0))
            fail_msg("case %zu: exit code %d\n%s", i, code, self->out);
        assert_int_equal(lines_with(self->out, "not by a broker with these settings: choose another port"), bad);
        (void)close(http_fd);
        (void)close(sites_fd);
    }
}

/*  No standby runs, so commits of this server would wait until the setting is "" again. */
static void set_standby_names(const desk_t *self, const char *names)
{
    char sql[100];
    (void)snprintf(sql, sizeof sql, "alter system set synchronous_standby_names = '%s'", names);
    helio_pg_exec(self->database, sql);
    helio_pg_exec(self->database, "select pg_reload_conf()");
    for (int64_t until_ms = helio_clock_boot_ms() + 30000; helio_clock_boot_ms() < until_ms; (void)poll(NULL, 0, 10)) {
        char *got = helio_pg_value(self->database, "show synchronous_standby_names");
        bool set = strcmp(got, names) == 0;
        free(got);
        if (set)
            return;
    }
    fail_msg("the server does not take '%s'", names);
}

/*  The setting about the standby is compared with what the server does; no standby has to run for that. */
static void check__compares_what_is_said_of_the_standby_with_the_server(void **state)
{
    desk_t *self = *state;
    static const struct {
        const char *said, *names, *line;
    } standbys[] = {
        {"any", "", NULL},
        {"synchronous", "", "✗ database standby: database_standby is synchronous, but commits wait for no standby"},
        {"any", "two", "✔ database standby: commits wait for it, but database_standby is any"},
        {"synchronous", "two", "✔ database standby: commits wait for it: its promotion is no restore"},
    };
    save_key(self, "good.key", 0600);
    for (size_t i = 0; i < sizeof standbys / sizeof standbys[0]; i++) {
        char lines[256];
        (void)snprintf(lines, sizeof lines,
                       "key_file: %s/good.key\nlisten_sites: tcp://127.0.0.1:%d\nlisten_http: 127.0.0.1:%d\n"
                       "database_standby: %s\n",
                       self->folder, free_port(), free_port(), standbys[i].said);
        set_standby_names(self, standbys[i].names);
        configure(self, self->database, lines);
        int code = RUN(self, helio_command_check, "check");
        set_standby_names(self, "");
        bool bad = standbys[i].line && strncmp(standbys[i].line, "✗", strlen("✗")) == 0;
        if (code != bad || (standbys[i].line ? !strstr(self->out, standbys[i].line) : !!strstr(self->out, "standby:")))
            fail_msg("%s, '%s': exit code %d\n%s", standbys[i].said, standbys[i].names, code, self->out);
    }
}

static void check__reports_a_database_that_is_not_migrated(void **state)
{
    desk_t *self = *state;
    char lines[256];
    save_key(self, "good.key", 0600);
    (void)snprintf(lines, sizeof lines,
                   "key_file: %s/good.key\nlisten_sites: tcp://127.0.0.1:%d\nlisten_http: 127.0.0.1:%d\n", self->folder,
                   free_port(), free_port());
    configure(self, helio_pg_empty_database(pg), lines);
    assert_int_equal(RUN(self, helio_command_check, "check"), 1);
    assert_int_equal(lines_with(self->out, "✔"), READY);
    assert_non_null(strstr(self->out, "✔ database"));
    assert_non_null(strstr(self->out, "✗ schema"));
}

/*  As on a new server: the broker's role is a superuser, and the databases are open to every login. */
static void check__advises_on_rights_that_nobody_needs(void **state)
{
    desk_t *self = *state;
    char lines[256];
    save_key(self, "good.key", 0600);
    (void)snprintf(lines, sizeof lines,
                   "key_file: %s/good.key\nlisten_sites: tcp://127.0.0.1:%d\nlisten_http: 127.0.0.1:%d\n", self->folder,
                   free_port(), free_port());
    configure(self, self->database, lines);
    helio_pg_exec(self->database, "create role check_owner login; "
                                  "grant usage on schema helio, helio_report to check_owner; "
                                  "grant select, update on all tables in schema helio to check_owner; "
                                  "grant execute on function pg_catalog.pg_advisory_lock(bigint) to public; "
                                  "grant temporary on database template1 to public");
    assert_int_equal(RUN(self, helio_command_check, "check"), 0);
    assert_non_null(strstr(self->out, "! privileges: the broker's role postgres is a superuser"));
    assert_non_null(strstr(self->out, "let a superuser run:\n    grant execute on function pg_catalog."));
    assert_non_null(strstr(self->out, ";\n    revoke execute on function pg_catalog."));
    for (const char *at = self->out; *at; at += strcspn(at, "\n"), at += *at == '\n')
        assert_true(strncmp(at, "    ", 4) != 0 || strcspn(at, "\n") < 180);
    assert_non_null(strstr(self->out, "revoke temporary on database template1 from public;"));
    helio_pg_exec(self->database, "select helio.add_privilege_checks(); "
                                  "revoke temporary on database template1 from public");
    assert_int_equal(RUN(self, helio_command_check, "check"), 0);
    assert_null(strstr(self->out, "let a superuser run"));
    assert_null(strstr(self->out, "database template1 from public"));
    helio_pg_exec(self->database,
                  "drop owned by check_owner; drop role check_owner; select helio.add_privilege_checks()");
}

static void check__without_settings_reports_only_that(void **state)
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
        CASE(check__reports_each_prerequisite),
        CASE(check__tells_a_broker_that_runs_from_other_programs_at_its_ports),
        CASE(check__reports_a_database_that_is_not_migrated),
        CASE(check__compares_what_is_said_of_the_standby_with_the_server),
        CASE(check__advises_on_rights_that_nobody_needs),
        CASE(check__without_settings_reports_only_that),
    };
    return cmocka_run_group_tests(tests, pg_begin, pg_end);
}
