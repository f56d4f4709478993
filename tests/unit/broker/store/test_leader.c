/*  test_leader.c -- a leader that stands still is replaced, and one that comes back finds the host that answers. */
#include "tests/unit/broker/store/store_testing.h"

#include <libpq-fe.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/pg_relay.h"

/* ---- a leader that stands still ---------------------------------------------------------------------------- */

static void live_for(helio_store_t *store, int64_t ms)
{
    helio_error_t err = {.text = ""};
    for (int64_t until_ms = helio_clock_boot_ms() + ms; helio_clock_boot_ms() < until_ms;) {
        struct pollfd fd = {.fd = helio_store_fd(store), .events = POLLIN};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        assert_true(helio_store_connected(store));
    }
}

static void leader__that_stands_still_is_replaced_and_finds_itself_fenced(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_error_t err = {.text = ""};
    helio_store_options_t options = {.conninfo = conninfo, .idle_ms = 1000};
    helio_store_t *store = helio_store_new(options), *standby = helio_store_new(options);
    assert_int_equal(helio_store_open(store, &err), HELIO_OK);
    live_for(store, 2500); /* it does nothing, but it is there */
    assert_int_equal(helio_store_open(standby, &err), HELIO_BUSY);
    helio_row_transition_t row = {.seq = 1, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    commit(store);
    int64_t still_ms = helio_clock_boot_ms();
    helio_rc rc;
    while ((rc = helio_store_open(standby, &err)) == HELIO_BUSY && helio_clock_boot_ms() - still_ms < PATIENCE_MS)
        (void)poll(NULL, 0, 50);
    assert_int_equal(rc, HELIO_OK);
    row.seq = 2;
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    uint64_t batch = helio_store_open_batch(store);
    if (helio_store_can_seal(store))
        helio_store_seal(store, mark);
    assert_int_equal(drive(store, batch, &err), HELIO_FENCED);
    helio_store_destroy(&store);
    live_for(standby, 100);
    helio_store_destroy(&standby);
}

/*  After a resumption, too. */
static void leader__that_lost_its_connection_beats_again(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_error_t err = {.text = ""};
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo, .idle_ms = 1000});
    assert_int_equal(helio_store_open(store, &err), HELIO_OK);
    helio_pg_exec(conninfo, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
                            "'helio-broker' and pid <> pg_backend_pid() and datname = current_database()");
    helio_store_figures_t figures = {0};
    for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
         !figures.reconnects_total && helio_clock_boot_ms() < until_ms; helio_store_figures(store, &figures)) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
    }
    assert_int_equal(figures.reconnects_total, 1);
    live_for(store, 2500);
    helio_store_destroy(&store);
}

/* ---- one of several hosts --------------------------------------------------------------------------------- */

/*  A port of this host that takes connections and answers nothing. */
static int mute_port(uint16_t *ret_port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/*  The same, and closes each. *ret_thread ends with close_port. */
static void *close_each(void *arg)
{
    const int *fd = arg;
    int taken;
    while ((taken = accept(*fd, NULL, NULL)) >= 0)
        (void)close(taken);
    return NULL;
}

static void close_port(int fd, pthread_t thread)
{
    (void)shutdown(fd, SHUT_RDWR);
    (void)pthread_join(thread, NULL);
    (void)close(fd);
}

/*  A connection string with two hosts, the first of which is a port of this machine. */
static void put_before(uint16_t port, const char *good, const char *more, char *ret_conninfo, size_t capacity)
{
    PQconninfoOption *options = PQconninfoParse(good, NULL);
    const char *host = "", *good_port = "", *user = "", *dbname = "";
    for (PQconninfoOption *option = options; option->keyword; option++) {
        const char **slot = !strcmp(option->keyword, "host")     ? &host
                            : !strcmp(option->keyword, "port")   ? &good_port
                            : !strcmp(option->keyword, "user")   ? &user
                            : !strcmp(option->keyword, "dbname") ? &dbname
                                                                 : NULL;
        if (slot && option->val)
            *slot = option->val;
    }
    (void)snprintf(ret_conninfo, capacity, "host=127.0.0.1,%s port=%u,%s user=%s dbname=%s %s", host, port, good_port,
                   user, dbname, more);
    PQconninfoFree(options);
}

static void hosts__one_that_is_mute_costs_seconds_and_only_once(void **state)
{
    char conninfo[700];
    uint16_t port;
    int fd = mute_port(&port);
    helio_error_t err = {.text = ""};
    pg_relay_t *relay = pg_relay_up(helio_pg_database(*state));
    put_before(port, pg_relay_conninfo(relay), "connect_timeout=2", conninfo, sizeof conninfo);
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    assert_int_equal(helio_store_open(store, &err), HELIO_OK);
    for (uint32_t i = 0; i < 2; i++) {
        helio_row_transition_t row = {.seq = i + 1, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
        append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
        pg_relay_break(relay, (pg_relay_fault_t){PG_RELAY_FRONT, 1, PG_RELAY_CUT});
        int64_t began_ms = helio_clock_boot_ms();
        commit(store);
        assert_in_range(helio_clock_boot_ms() - began_ms, 0, i ? 2500 : 6000);
    }
    helio_store_destroy(&store);
    pg_relay_down(&relay);
    (void)close(fd);
}

/*  The start connects by waiting, and takes the hosts in the same way. */
static void hosts__at_the_start_one_that_is_mute_costs_its_time_once(void **state)
{
    char conninfo[700];
    uint16_t port;
    int fd = mute_port(&port);
    helio_error_t err = {.text = ""};
    const char *good = helio_pg_database(*state);
    put_before(port, good, "", conninfo, sizeof conninfo); /* the default for several hosts: 3 s */
    helio_store_t *leader = opened(good);
    helio_store_t *standby = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    for (uint32_t i = 0; i < 2; i++) {
        int64_t began_ms = helio_clock_boot_ms();
        assert_int_equal(helio_store_open(standby, &err), HELIO_BUSY);
        assert_in_range(helio_clock_boot_ms() - began_ms, 0, i ? 2000 : 6000);
    }
    helio_store_destroy(&leader);
    assert_int_equal(helio_store_open(standby, &err), HELIO_OK);
    helio_store_destroy(&standby);
    (void)close(fd);
}

/*  A proxy whose database is gone, a server that starts: libpq itself would end its list there. */
static void hosts__one_that_accepts_and_closes_is_passed_over(void **state)
{
    char conninfo[700];
    uint16_t port;
    pthread_t thread;
    int fd = mute_port(&port);
    helio_error_t err = {.text = ""};
    assert_int_equal(pthread_create(&thread, NULL, close_each, &fd), 0);
    put_before(port, helio_pg_database(*state), "", conninfo, sizeof conninfo);
    if (helio_schema_verify(conninfo, &err) != HELIO_OK)
        fail_msg("verify: %s", err.text);
    helio_store_t *store = opened(conninfo);
    helio_row_transition_t row = {.seq = 1, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    commit(store);
    helio_store_destroy(&store);
    close_port(fd, thread);
}

static void hosts__none_of_which_lets_it_in_are_all_named(void **state)
{
    (void)state;
    char conninfo[700], first[32], second[32];
    uint16_t closes, refuses;
    pthread_t thread;
    int fd = mute_port(&closes), gone = mute_port(&refuses);
    helio_error_t err = {.text = ""};
    (void)close(gone);
    assert_int_equal(pthread_create(&thread, NULL, close_each, &fd), 0);
    (void)snprintf(conninfo, sizeof conninfo, "host=127.0.0.1,127.0.0.1 port=%u,%u password=whisper", closes, refuses);
    (void)snprintf(first, sizeof first, "%u", closes);
    (void)snprintf(second, sizeof second, "%u", refuses);
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_UNAVAILABLE);
    if (!strstr(err.text, first) || !strstr(err.text, second) || strstr(err.text, "whisper"))
        fail_msg("%s", err.text);
    close_port(fd, thread);
}

/* ---- a leader that stands still amid a batch ------------------------------------------------------------- */

/*  The server has begun a batch and waits for the rest of it. Its session is not idle, so no time-out of the server
 *  ends it: the next leader does. */
static void leader__that_stands_still_amid_a_batch_is_replaced(void **state)
{
    enum { IDLE_MS = 1000 };
    const char *conninfo = helio_pg_database(*state);
    helio_error_t err = {.text = ""};
    pg_relay_t *relay = pg_relay_up(conninfo);
    helio_store_t *store = helio_store_new(
        (helio_store_options_t){.conninfo = pg_relay_conninfo(relay), .idle_ms = IDLE_MS, .commit_deadline_ms = 500});
    helio_store_t *standby = helio_store_new((helio_store_options_t){.conninfo = conninfo, .idle_ms = IDLE_MS});
    assert_int_equal(helio_store_open(store, &err), HELIO_OK);
    helio_row_transition_t row = {.seq = 1, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    pg_relay_break(relay, (pg_relay_fault_t){PG_RELAY_FRONT, 8, PG_RELAY_STALL}); /* behind the turn of the batch */
    uint64_t batch = helio_store_open_batch(store);
    helio_store_seal(store, mark);
    int64_t still_ms = helio_clock_boot_ms();
    helio_rc rc;
    while ((rc = helio_store_open(standby, &err)) == HELIO_BUSY && helio_clock_boot_ms() - still_ms < PATIENCE_MS)
        (void)poll(NULL, 0, 50);
    assert_int_equal(rc, HELIO_OK);
    assert_true(helio_clock_boot_ms() - still_ms >= IDLE_MS);
    assert_int_equal(pg_relay_faults(relay), 1);
    assert_value(conninfo, "select count(*) from helio.transitions", "0");
    row.seq = 2;
    append(standby, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    commit(standby);
    assert_int_equal(drive(store, batch, &err), HELIO_FENCED);
    helio_store_destroy(&store);
    pg_relay_down(&relay);
    helio_store_destroy(&standby);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader__that_stands_still_is_replaced_and_finds_itself_fenced),
        cmocka_unit_test(leader__that_lost_its_connection_beats_again),
        cmocka_unit_test(leader__that_stands_still_amid_a_batch_is_replaced),
        cmocka_unit_test(hosts__one_that_is_mute_costs_seconds_and_only_once),
        cmocka_unit_test(hosts__at_the_start_one_that_is_mute_costs_its_time_once),
        cmocka_unit_test(hosts__one_that_accepts_and_closes_is_passed_over),
        cmocka_unit_test(hosts__none_of_which_lets_it_in_are_all_named),
    };
    return cmocka_run_group_tests(tests, up, down);
}
