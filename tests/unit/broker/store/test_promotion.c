/*  test_promotion.c -- a standby that was promoted, and whether that is the database that the leader before wrote. */
#include "tests/unit/broker/store/store_testing.h"

#include "broker/store/follower.h"

static const char promote[] = "update helio.federation set timeline = timeline - 1"; /* the server's is one later */

static helio_store_t *store_of(const char *conninfo, bool keeps)
{
    return helio_store_new((helio_store_options_t){.conninfo = conninfo, .standby_keeps = keeps});
}

static void open_soon(helio_store_t *store)
{
    helio_error_t err = {.text = ""};
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    helio_rc rc;
    while ((rc = helio_store_open(store, &err)) == HELIO_BUSY && helio_clock_boot_ms() < until_ms)
        (void)poll(NULL, 0, 10); /* the session of the one before ends */
    if (rc != HELIO_OK)
        fail_msg("open: %s", err.text);
}

static void append_transition(helio_store_t *store, uint64_t seq)
{
    helio_row_transition_t row = {.seq = seq, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
}

/*  A leader that commits so many batches and ends. */
static void lead_for(const char *conninfo, uint64_t batches)
{
    helio_store_t *store = store_of(conninfo, false);
    open_soon(store);
    for (uint64_t i = 1; i <= batches; i++) {
        append_transition(store, i);
        commit(store);
    }
    helio_store_destroy(&store);
}

static void nothing(void *arg)
{
    (void)arg;
}

/*  What a broker that follows knows now. */
static helio_batch_mark_t mark_now(const char *conninfo)
{
    helio_error_t err = {.text = ""};
    helio_leader_t leader;
    bool leads;
    helio_follower_visitor_t nobody = {.on_begin = nothing, .on_end = nothing};
    helio_follower_t *follower = helio_follower_new(conninfo);
    if (helio_follower_look(follower, &nobody, &leads, &leader, &err) != HELIO_OK)
        fail_msg("look: %s", err.text);
    helio_batch_mark_t last = leader.last;
    helio_follower_destroy(&follower);
    return last;
}

static void promotion__is_no_restore_where_the_standby_keeps_all(void **state)
{
    static const struct {
        bool keeps, seen, restored;
        const char *also;
    } cases[] = {
        {false, false, true, NULL}, /* nobody says so */
        {true, false, false, NULL},
        {true, true, false, NULL}, /* and all that was durable is there */
        {false, true, true, NULL}, /* which is no proof: more may have been durable */
        {true, true, true, "update helio.federation set last_batch = last_batch - 1"},
        {true, true, true, "update helio.federation set broker_epoch = broker_epoch - 1, last_batch = 9"},
        {true, true, true, "update helio.federation set incarnation = incarnation - 1, broker_epoch = 9"},
        {true, true, false, "update helio.federation set last_batch = last_batch + 1"}, /* since the last look */
        {true, false, true, "update helio.federation set timeline = timeline + 2"},     /* an earlier one */
        {true, false, true, "update helio.federation set system_identifier = 1"},
        {true, false, true, "update helio.federation set home = '1/2'"}, /* a dump */
        {true, false, true, "select helio.declare_restored()"},
        {true, false, true,
         "create or replace function helio.is_recovered_to_target() returns boolean language sql stable return true"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *conninfo = helio_pg_database(*state);
        lead_for(conninfo, 2);
        helio_batch_mark_t before = mark_now(conninfo);
        assert_int_equal(before.batch, 2);
        helio_pg_exec(conninfo, promote);
        if (cases[i].also)
            helio_pg_exec(conninfo, cases[i].also);
        helio_store_t *store = store_of(conninfo, cases[i].keeps);
        if (cases[i].seen)
            helio_store_seen(store, before);
        open_soon(store);
        helio_batch_mark_t after = mark_now(conninfo);
        if ((after.incarnation != before.incarnation) != cases[i].restored)
            fail_msg("case %zu: incarnation %" PRIu64 " after %" PRIu64, i, after.incarnation, before.incarnation);
        assert_true(after.incarnation > before.incarnation || after.epoch > before.epoch);
        assert_value(conninfo, "select (restored_at is not null)::integer from helio.federation",
                     cases[i].restored ? "1" : "0");
        append_transition(store, 3);
        commit(store); /* the timeline of the row is that of the server */
        helio_store_destroy(&store);
        lead_for(conninfo, 0);
        assert_int_equal(mark_now(conninfo).incarnation, after.incarnation);
    }
}

/*  A snapshot of the disk, which looks like the original. */
static void a_database_without_a_batch_that_was_seen_is_restored(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    lead_for(conninfo, 2);
    helio_batch_mark_t before = mark_now(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set last_batch = 1");
    helio_store_t *store = store_of(conninfo, false);
    helio_store_seen(store, before);
    helio_store_seen(store,
                     (helio_batch_mark_t){before.incarnation, before.epoch, 1}); /* an earlier one changes nothing */
    open_soon(store);
    assert_true(mark_now(conninfo).incarnation > before.incarnation);
    helio_store_destroy(&store);
}

static void end_sessions(const char *conninfo)
{
    helio_pg_exec(conninfo, "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
                            "where datname = current_database() and pid <> pg_backend_pid()");
}

/*  A leader knows what was durable, and leads on, or notes for the next one that this is another copy. */
static void leader__goes_on_after_a_promotion_that_lost_nothing(void **state)
{
    static const struct {
        bool keeps, goes_on;
        const char *change;
    } cases[] = {
        {true, true, promote},
        {false, false, promote},
        {true, false, "update helio.federation set timeline = timeline - 1, last_batch = 1"},
        {true, false, "update helio.federation set timeline = timeline - 1, broker_epoch = broker_epoch - 1"},
        {false, false, "update helio.federation set last_batch = 1"}, /* a snapshot of the disk */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *conninfo = helio_pg_database(*state);
        helio_store_t *store = store_of(conninfo, cases[i].keeps);
        open_soon(store);
        for (uint64_t seq = 1; seq <= 2; seq++) {
            append_transition(store, seq);
            commit(store);
        }
        helio_batch_mark_t before = mark_now(conninfo);
        helio_pg_exec(conninfo, cases[i].change);
        end_sessions(conninfo);
        helio_error_t err = {.text = ""};
        append_transition(store, 3);
        helio_store_seal(store, mark);
        helio_rc rc = drive(store, 3, &err);
        if (rc != (cases[i].goes_on ? HELIO_OK : HELIO_FENCED))
            fail_msg("case %zu: %d: %s", i, rc, err.text);
        helio_store_destroy(&store);
        store = store_of(conninfo, true); /* a new process, which knows nothing */
        open_soon(store);
        bool restored = mark_now(conninfo).incarnation > before.incarnation;
        if (restored != (!cases[i].goes_on && i != 1))
            fail_msg("case %zu: the next leader %s an incarnation", i, restored ? "begins" : "begins no");
        helio_store_destroy(&store);
    }
}

#define TEST(name) cmocka_unit_test(name)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(promotion__is_no_restore_where_the_standby_keeps_all),
        TEST(a_database_without_a_batch_that_was_seen_is_restored),
        TEST(leader__goes_on_after_a_promotion_that_lost_nothing),
    };
    return cmocka_run_group_tests(tests, up, down);
}
