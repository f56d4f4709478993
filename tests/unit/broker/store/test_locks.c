/*  test_locks.c -- somebody locks a table that the writer wants: an index is built, a table is altered. The writer keeps
 *  its lead and one session, says what it waits for, and stores each batch once. */
#include "tests/unit/broker/store/store_testing.h"

#include <libpq-fe.h>

enum {
    DEADLINE_MS = 2500, /* a lock is waited for four fifths of that: the answer has the rest, also on a busy machine */
    LOCKED_MS = 5500,
    SESSIONS_MOST = 2 /* one that the server is ending, and the next */
};

static const char share[] = "begin; lock table helio.transitions in share mode"; /* as create index does */

typedef struct world {
    const char *conninfo;
    helio_store_t *store;
    PGconn *locker;
    PGconn *observer;
    uint32_t sessions_most; /* of the writer, at the server */
} world_t;

static world_t *world;

static PGconn *connected(const char *conninfo)
{
    PGconn *connection = PQconnectdb(conninfo);
    if (PQstatus(connection) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(connection));
    return connection;
}

static void run_on(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(result));
    PQclear(result);
}

static helio_store_t *store_of(const char *conninfo)
{
    return helio_store_new((helio_store_options_t){.conninfo = conninfo, .commit_deadline_ms = DEADLINE_MS});
}

static int begin(void **state)
{
    helio_error_t err = {.text = ""};
    world = helio_new(1, sizeof *world);
    world->conninfo = helio_pg_database(*state);
    world->locker = connected(world->conninfo);
    world->observer = connected(world->conninfo);
    world->store = store_of(world->conninfo);
    if (helio_store_open(world->store, &err) != HELIO_OK)
        fail_msg("open: %s", err.text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_store_destroy(&world->store);
    PQfinish(world->locker);
    PQfinish(world->observer);
    free(world);
    return 0;
}

static uint32_t sessions(void)
{
    PGresult *result = PQexec(world->observer, "select count(*) from pg_stat_activity where application_name = "
                                               "'helio-broker' and datname = current_database()");
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    uint32_t count = (uint32_t)strtoul(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return count;
}

static void turn(void)
{
    helio_error_t err = {.text = ""};
    struct pollfd fd = {.fd = helio_store_fd(world->store),
                        .events = (short)(POLLIN | (helio_store_wants_write(world->store) ? POLLOUT : 0))};
    (void)poll(&fd, fd.fd >= 0, 20);
    if (helio_store_process(world->store, helio_clock_boot_ms(), &err) != HELIO_OK)
        fail_msg("%s", err.text);
    uint32_t now = sessions();
    world->sessions_most = now > world->sessions_most ? now : world->sessions_most;
}

static void turn_for(int64_t ms)
{
    for (int64_t until_ms = helio_clock_boot_ms() + ms; helio_clock_boot_ms() < until_ms;)
        turn();
}

static void await_commit(uint64_t batch)
{
    for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS; helio_store_committed(world->store) < batch; turn())
        if (helio_clock_boot_ms() > until_ms)
            fail_msg("batch %" PRIu64 " was not committed in time: %s", batch, helio_store_trouble(world->store));
}

static uint64_t send_transition(uint32_t seq)
{
    helio_row_transition_t row = {.seq = seq, .key = {job_id(seq), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(world->store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    uint64_t batch = helio_store_open_batch(world->store);
    helio_store_seal(world->store, mark);
    return batch;
}

static bool waits_for_the_lock(void)
{
    return helio_store_connected(world->store) && helio_store_waits(world->store) &&
           strstr(helio_store_trouble(world->store), "put_transition: canceling statement due to lock timeout (55P03)");
}

static void store__a_locked_table_costs_neither_the_lead_nor_more_sessions(void **state)
{
    (void)state;
    helio_error_t err = {.text = ""};
    helio_store_figures_t figures;
    run_on(world->locker, share);
    uint64_t batch = send_transition(1);
    turn_for(LOCKED_MS);
    for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS; !waits_for_the_lock();)
        if (turn(), helio_clock_boot_ms() > until_ms)
            fail_msg("%s", helio_store_trouble(world->store));
    assert_in_range(world->sessions_most, 1, SESSIONS_MOST);
    helio_store_figures(world->store, &figures);
    assert_int_equal(figures.reconnects_total, 0);
    assert_int_equal(helio_store_committed(world->store), batch - 1);
    helio_store_t *follower = store_of(world->conninfo);
    assert_int_equal(helio_store_open(follower, &err), HELIO_BUSY);
    helio_store_destroy(&follower);

    run_on(world->locker, "commit");
    await_commit(batch);
    assert_false(helio_store_waits(world->store));
    assert_string_equal(helio_store_trouble(world->store), "");
    await_commit(send_transition(2));
    assert_value(world->conninfo, "select count(*) || ' ' || max(seq) from helio.transitions", "2 2");
}

/*  The way back prepares statements, which waits for the lock, too. */
static void store__a_connection_that_is_lost_under_a_lock_comes_back_as_one_session(void **state)
{
    (void)state;
    run_on(world->locker, share);
    uint64_t batch = send_transition(1);
    turn_for(100);
    helio_pg_exec(world->conninfo, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
                                   "'helio-broker' and datname = current_database()");
    turn_for(LOCKED_MS);
    assert_in_range(world->sessions_most, 1, SESSIONS_MOST);
    assert_false(helio_store_connected(world->store));
    assert_non_null(strstr(helio_store_trouble(world->store), "lock timeout (55P03)"));
    run_on(world->locker, "commit");
    await_commit(batch);
    assert_value(world->conninfo, "select count(*) from helio.transitions", "1");
}

/*  So does the question who leads, if the table of the leader is locked: an operator's transaction is forgotten. */
static void store__a_lock_on_the_leaders_row_is_waited_for_in_one_session(void **state)
{
    (void)state;
    run_on(world->locker, "begin; lock table helio.federation in access exclusive mode");
    uint64_t batch = send_transition(1);
    turn_for(100);
    helio_pg_exec(world->conninfo, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
                                   "'helio-broker' and datname = current_database()");
    turn_for(LOCKED_MS);
    assert_in_range(world->sessions_most, 1, SESSIONS_MOST);
    run_on(world->locker, "commit");
    await_commit(batch);
    assert_value(world->conninfo, "select count(*) from helio.transitions", "1");
}

/*  The server does not notice that a client has left while its statement waits for a lock. */
static void store__a_batch_whose_broker_is_gone_is_not_stored_later(void **state)
{
    (void)state;
    run_on(world->locker, share);
    (void)send_transition(1);
    turn_for(100);
    helio_store_destroy(&world->store);
    for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS; sessions() > 0; (void)poll(NULL, 0, 20))
        assert_true(helio_clock_boot_ms() < until_ms);
    run_on(world->locker, "commit");
    assert_value(world->conninfo, "select count(*) from helio.transitions", "0");
}

static void store__a_start_does_not_wait_for_a_lock_without_end(void **state)
{
    (void)state;
    helio_error_t err = {.text = ""};
    helio_store_destroy(&world->store);
    run_on(world->locker, share);
    world->store = store_of(world->conninfo);
    assert_int_equal(helio_store_open(world->store, &err), HELIO_UNAVAILABLE);
    assert_string_equal(err.sqlstate, "55P03");
    run_on(world->locker, "commit");
    assert_int_equal(helio_store_open(world->store, &err), HELIO_OK);
    await_commit(send_transition(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(store__a_locked_table_costs_neither_the_lead_nor_more_sessions, begin, end),
        cmocka_unit_test_setup_teardown(store__a_connection_that_is_lost_under_a_lock_comes_back_as_one_session, begin,
                                        end),
        cmocka_unit_test_setup_teardown(store__a_lock_on_the_leaders_row_is_waited_for_in_one_session, begin, end),
        cmocka_unit_test_setup_teardown(store__a_batch_whose_broker_is_gone_is_not_stored_later, begin, end),
        cmocka_unit_test_setup_teardown(store__a_start_does_not_wait_for_a_lock_without_end, begin, end),
    };
    return cmocka_run_group_tests(tests, up, down);
}
