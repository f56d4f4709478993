/*  test_losses.c -- the writer's connection is lost at each message that it carries: at the start, in a batch, on the
 *  way back. Whatever is lost, each batch is there once and in order, and none is reported before it is there.
 *  Readers lose theirs in the same way: each read is answered, and the next one heals. */
#include "tests/unit/broker/store/store_testing.h"

#include <semaphore.h>
#include <unistd.h>

#include "broker/store/reader.h"
#include "federation/base/rng.h"
#include "tests/support/pg_relay.h"

enum { STALL_DEADLINE_MS = 60 };

typedef struct world {
    helio_pg_t *pg;
    const char *direct; /* past the relay */
    pg_relay_t *relay;
    helio_store_t *store;
    uint32_t appended; /* transitions, numbered from 1 */
} world_t;

static world_t *world;

static helio_store_t *store_through(pg_relay_t *relay, uint64_t deadline_ms)
{
    return helio_store_new(
        (helio_store_options_t){.conninfo = pg_relay_conninfo(relay), .commit_deadline_ms = deadline_ms});
}

static void open_or_fail(helio_store_t *store)
{
    helio_error_t err = {.text = ""};
    if (helio_store_open(store, &err) != HELIO_OK)
        fail_msg("open: %s", err.text);
}

static int begin(void **state)
{
    world = helio_new(1, sizeof *world);
    world->pg = *state;
    world->direct = helio_pg_database(world->pg);
    world->relay = pg_relay_up(world->direct);
    world->store = store_through(world->relay, 0);
    open_or_fail(world->store);
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_store_destroy(&world->store);
    pg_relay_down(&world->relay);
    free(world);
    return 0;
}

/* ---- one batch after the other ------------------------------------------------------------------------- */

static void append_next(void)
{
    helio_row_transition_t transition = {
        .seq = ++world->appended, .key = {job_id(world->appended), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(world->store, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
}

static helio_store_figures_t figures(void)
{
    helio_store_figures_t now;
    helio_store_figures(world->store, &now);
    return now;
}

/*  All that was appended, once and in its order, in as many batches as were reported. */
static void check_stored(void)
{
    char expected[64];
    (void)snprintf(expected, sizeof expected, "%u %u %u %" PRIu64, world->appended, world->appended,
                   world->appended ? 1 : 0, helio_store_committed(world->store));
    assert_value(world->direct,
                 "select count(*) || ' ' || coalesce(max(seq), 0) || ' ' || coalesce(min(seq), 0) || ' ' || "
                 "(select last_batch from helio.federation) from helio.transitions",
                 expected);
}

static void process(void)
{
    helio_error_t err = {.text = ""};
    struct pollfd fd = {.fd = helio_store_fd(world->store),
                        .events = (short)(POLLIN | (helio_store_wants_write(world->store) ? POLLOUT : 0))};
    (void)poll(&fd, fd.fd >= 0, 1);
    if (helio_store_process(world->store, helio_clock_boot_ms(), &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

/*  A batch may be known as committed before the statements of the new connection are prepared. */
static void await_connection(void)
{
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!helio_store_connected(world->store)) {
        assert_true(helio_clock_boot_ms() < give_up_ms);
        process();
    }
}

/*  Seals what is open and waits until it is committed; the database must have it by then. */
static void store_batch(void)
{
    helio_error_t err = {.text = ""};
    uint64_t batch = helio_store_open_batch(world->store);
    await_connection();
    helio_store_seal(world->store, mark);
    assert_true(helio_store_committed(world->store) < batch);
    if (drive(world->store, batch, &err) != HELIO_OK)
        fail_msg("batch %" PRIu64 ": %s", batch, err.text);
    assert_int_equal(helio_store_committed(world->store), batch);
    check_stored();
}

/*  How many messages each side sends for a batch of two rows of two kinds. */
static void append_two_kinds(void)
{
    helio_row_job_t job = job_row(++world->appended);
    append(world->store, HELIO_BROKER_FX_ROW_JOB, &job);
    world->appended--;
    append_next();
}

static uint32_t messages_of_a_batch(pg_relay_side_t side)
{
    append_two_kinds();
    (void)pg_relay_count(world->relay, side);
    store_batch();
    uint32_t count = pg_relay_count(world->relay, side);
    assert_true(count > 10);
    return count;
}

static void lose_at_each_message(pg_relay_side_t side)
{
    uint32_t count = messages_of_a_batch(side);
    for (uint32_t at = 1; at <= count; at++) {
        uint32_t faults = pg_relay_faults(world->relay);
        uint64_t reconnects = figures().reconnects_total;
        append_two_kinds();
        pg_relay_break(world->relay, (pg_relay_fault_t){side, at, at % 2 ? PG_RELAY_CUT : PG_RELAY_HALF});
        store_batch();
        await_connection();
        if (pg_relay_faults(world->relay) != faults + 1 || figures().reconnects_total <= reconnects)
            fail_msg("the loss at message %u of %u did not happen", at, count);
    }
    assert_int_equal(figures().batches_total, count + 1);
}

static void store__a_batch_that_is_lost_on_the_way_there_is_stored_once(void **state)
{
    (void)state;
    lose_at_each_message(PG_RELAY_FRONT);
}

static void store__a_batch_whose_answers_are_lost_is_stored_once(void **state)
{
    (void)state;
    lose_at_each_message(PG_RELAY_BACK);
}

/*  The socket shows no loss: only the deadline does. */
static void store__a_batch_that_is_never_answered_is_looked_up_after_the_deadline(void **state)
{
    (void)state;
    static const pg_relay_fault_t faults[] = {
        {PG_RELAY_FRONT, 2, PG_RELAY_STALL}, {PG_RELAY_FRONT, 18, PG_RELAY_STALL}, {PG_RELAY_BACK, 9, PG_RELAY_STALL}};
    helio_store_destroy(&world->store);
    world->store = store_through(world->relay, STALL_DEADLINE_MS);
    open_or_fail(world->store);
    append_two_kinds();
    store_batch();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        append_two_kinds();
        pg_relay_break(world->relay, faults[i]);
        int64_t begun_ms = helio_clock_boot_ms();
        store_batch();
        assert_int_equal(pg_relay_faults(world->relay), i + 1);
        assert_true(helio_clock_boot_ms() - begun_ms >= STALL_DEADLINE_MS);
    }
}

/* ---- the way back -------------------------------------------------------------------------------------- */

/*  A batch in flight is lost, and then the connection that is to find out what became of it. */
static void lose_the_way_back(pg_relay_fault_t first, pg_relay_side_t side, uint32_t step)
{
    append_two_kinds();
    pg_relay_break(world->relay, first);
    (void)pg_relay_count(world->relay, side);
    store_batch();
    uint32_t count = pg_relay_count(world->relay, side);
    for (uint32_t at = 1; at < count; at += step) {
        append_two_kinds();
        pg_relay_break(world->relay, first);
        pg_relay_break(world->relay, (pg_relay_fault_t){side, at, PG_RELAY_CUT});
        store_batch();
        pg_relay_heal(world->relay); /* what was counted holds messages of the first connection, too */
    }
    assert_true(pg_relay_faults(world->relay) > 1 + 2 * (count / step) * 3 / 4);
}

static void store__a_way_back_that_is_lost_too_is_taken_again(void **state)
{
    (void)state;
    lose_the_way_back((pg_relay_fault_t){PG_RELAY_FRONT, 4, PG_RELAY_CUT}, PG_RELAY_FRONT, 17);
}

static void store__a_way_back_after_a_commit_that_is_lost_too_is_taken_again(void **state)
{
    (void)state;
    lose_the_way_back((pg_relay_fault_t){PG_RELAY_BACK, 18, PG_RELAY_CUT}, PG_RELAY_BACK, 17);
}

/*  The server still has the old session, and with it the leader's lock and perhaps the whole batch but its commit. */
static void store__an_old_session_that_the_server_still_has_is_waited_for(void **state)
{
    (void)state;
    helio_error_t err = {.text = ""};
    append_two_kinds();
    store_batch();
    append_two_kinds();
    uint64_t batch = helio_store_open_batch(world->store);
    pg_relay_break(world->relay, (pg_relay_fault_t){PG_RELAY_FRONT, 14, PG_RELAY_LINGER});
    helio_store_seal(world->store, mark);
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!strstr(helio_store_trouble(world->store), "leader lock is still held by an older session")) {
        assert_true(helio_clock_boot_ms() < give_up_ms);
        process();
    }
    assert_int_equal(helio_store_committed(world->store), batch - 1);
    assert_false(helio_store_connected(world->store));
    assert_value(world->direct, "select count(*) from helio.transitions", "1");
    pg_relay_release(world->relay);
    assert_int_equal(drive(world->store, batch, &err), HELIO_OK);
    check_stored();
}

/* ---- any run of losses --------------------------------------------------------------------------------- */

static void break_somewhere(helio_rng_t *rng)
{
    static const pg_relay_how_t hows[] = {PG_RELAY_CUT, PG_RELAY_CUT, PG_RELAY_HALF};
    uint32_t count = (uint32_t)helio_rng_below(rng, 4);
    for (uint32_t i = 0; i < count; i++)
        pg_relay_break(world->relay, (pg_relay_fault_t){(pg_relay_side_t)helio_rng_below(rng, 2),
                                                        1 + (uint32_t)helio_rng_below(rng, i ? 120 : 24),
                                                        hows[helio_rng_below(rng, 3)]});
}

static void store__any_run_of_losses_leaves_each_batch_there_once_and_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        helio_rng_t rng = {seed};
        print_message("seed %" PRIu64 "\n", seed);
        for (uint32_t batch = 0; batch < 4; batch++) {
            for (uint32_t rows = 1 + (uint32_t)helio_rng_below(&rng, 5); rows; rows--)
                append_next();
            break_somewhere(&rng);
            store_batch();
            pg_relay_heal(world->relay);
        }
    }
    assert_true(pg_relay_faults(world->relay) > 10);
}

/* ---- the start ----------------------------------------------------------------------------------------- */

static void ignore(void *arg, uint32_t kind, const void *payload)
{
    (void)kind;
    (void)payload;
    ++*(uint32_t *)arg;
}

static void store__a_start_that_is_lost_anywhere_can_be_repeated(void **state)
{
    (void)state;
    helio_error_t err;
    helio_store_destroy(&world->store);
    (void)pg_relay_count(world->relay, PG_RELAY_FRONT);
    world->store = store_through(world->relay, 0);
    open_or_fail(world->store);
    uint32_t count = pg_relay_count(world->relay, PG_RELAY_FRONT);
    for (uint32_t at = 1; at <= count; at += 17) {
        helio_store_destroy(&world->store);
        world->store = store_through(world->relay, 0);
        pg_relay_break(world->relay, (pg_relay_fault_t){PG_RELAY_FRONT, at, PG_RELAY_CUT});
        err = (helio_error_t){.text = ""};
        helio_rc rc = helio_store_open(world->store, &err);
        if (rc != HELIO_UNAVAILABLE || strncmp(err.sqlstate, "08", 2) != 0)
            fail_msg("message %u of %u: %s: %s", at, count, helio_rc_text(rc), err.text);
        assert_false(helio_store_connected(world->store));
        open_or_fail(world->store); /* the same store, once more */
        append_next();
        store_batch();
    }
}

/*  A leader that began with a part of what is stored would place jobs a second time. */
static void store__a_load_that_is_cut_short_is_an_error_and_never_a_shorter_truth(void **state)
{
    (void)state;
    helio_error_t err = {.text = ""};
    for (uint32_t i = 0; i < 5; i++) {
        helio_row_job_t job = job_row(i + 1);
        append(world->store, HELIO_BROKER_FX_ROW_JOB, &job);
    }
    commit(world->store);
    uint32_t whole = 0, part;
    (void)pg_relay_count(world->relay, PG_RELAY_BACK);
    assert_int_equal(helio_store_load(world->store, ignore, &whole, &err), HELIO_OK);
    uint32_t count = pg_relay_count(world->relay, PG_RELAY_BACK);
    assert_true(whole >= 6 && count > 100);
    for (uint32_t at = 1; at <= count; at += 29) {
        part = 0;
        pg_relay_break(world->relay, (pg_relay_fault_t){PG_RELAY_BACK, at, at % 2 ? PG_RELAY_CUT : PG_RELAY_HALF});
        helio_rc rc = helio_store_load(world->store, ignore, &part, &err);
        if (rc != HELIO_UNAVAILABLE)
            fail_msg("message %u of %u: %s after %u of %u records", at, count, helio_rc_text(rc), part, whole);
        helio_store_destroy(&world->store);
        world->store = store_through(world->relay, 0);
        open_or_fail(world->store);
    }
    part = 0;
    assert_int_equal(helio_store_load(world->store, ignore, &part, &err), HELIO_OK);
    assert_int_equal(part, whole);
}

/* ---- readers ------------------------------------------------------------------------------------------- */

typedef struct asked {
    helio_read_t read;
    sem_t answered;
    helio_rc rc;
} asked_t;

static void on_answer(helio_read_t *read, helio_rc rc, helio_text_t json, const helio_error_t *err)
{
    asked_t *asked = read->arg;
    assert_true((rc == HELIO_OK) == (json.size > 0));
    assert_true(rc == HELIO_OK || (err && err->text[0]));
    asked->rc = rc;
    (void)sem_post(&asked->answered);
}

static void post(helio_reader_t *reader, asked_t *asked, const char *query)
{
    *asked = (asked_t){.read = {.query = query, .done = on_answer, .arg = asked}};
    (void)sem_init(&asked->answered, 0, 0);
    assert_int_equal(helio_reader_post(reader, &asked->read), HELIO_OK);
}

static helio_rc answer_of(asked_t *asked)
{
    while (sem_wait(&asked->answered) != 0)
        ;
    (void)sem_destroy(&asked->answered);
    return asked->rc;
}

static helio_rc ask(helio_reader_t *reader, const char *query)
{
    asked_t asked;
    post(reader, &asked, query);
    return answer_of(&asked);
}

static void reader__a_read_that_is_lost_is_unavailable_and_the_next_one_heals(void **state)
{
    (void)state;
    helio_store_destroy(&world->store); /* the relay carries one connection */
    helio_reader_t *reader = helio_reader_new(pg_relay_conninfo(world->relay), 1);
    (void)pg_relay_count(world->relay, PG_RELAY_BACK);
    assert_int_equal(ask(reader, "read_sites"), HELIO_OK);
    uint32_t count = pg_relay_count(world->relay, PG_RELAY_BACK);
    helio_reader_destroy(&reader);
    for (uint32_t at = 1; at <= count; at++) {
        reader = helio_reader_new(pg_relay_conninfo(world->relay), 1);
        pg_relay_break(world->relay, (pg_relay_fault_t){PG_RELAY_BACK, at, at % 2 ? PG_RELAY_CUT : PG_RELAY_HALF});
        helio_rc rc = ask(reader, "read_sites");
        /* Behind the row itself there is nothing left to lose. */
        if (rc != HELIO_UNAVAILABLE && (rc != HELIO_OK || at + 2 < count))
            fail_msg("message %u of %u: %s", at, count, helio_rc_text(rc));
        pg_relay_heal(world->relay);
        assert_int_equal(ask(reader, "read_sites"), HELIO_OK);
        helio_reader_destroy(&reader);
    }
}

/*  A database that says nothing more must not keep a broker from ending: the alarm ends the test if it does. */
static void reader__ends_while_the_database_says_nothing(void **state)
{
    (void)state;
    helio_store_destroy(&world->store);
    (void)alarm(PATIENCE_MS / 1000);
    for (uint32_t at = 1; at <= 7; at++) {
        helio_reader_t *reader = helio_reader_new(pg_relay_conninfo(world->relay), 1);
        asked_t asked;
        assert_int_equal(ask(reader, "read_sites"), HELIO_OK);
        uint32_t faults = pg_relay_faults(world->relay);
        pg_relay_break(world->relay, (pg_relay_fault_t){PG_RELAY_BACK, at, PG_RELAY_STALL});
        post(reader, &asked, "read_gpus");
        while (pg_relay_faults(world->relay) == faults)
            (void)usleep(200);
        helio_reader_destroy(&reader);
        helio_rc rc = answer_of(&asked);
        if (rc != HELIO_UNAVAILABLE)
            fail_msg("message %u: %s", at, helio_rc_text(rc));
    }
    (void)alarm(0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(store__a_batch_that_is_lost_on_the_way_there_is_stored_once),
        CASE(store__a_batch_whose_answers_are_lost_is_stored_once),
        CASE(store__a_batch_that_is_never_answered_is_looked_up_after_the_deadline),
        CASE(store__a_way_back_that_is_lost_too_is_taken_again),
        CASE(store__a_way_back_after_a_commit_that_is_lost_too_is_taken_again),
        CASE(store__an_old_session_that_the_server_still_has_is_waited_for),
        CASE(store__any_run_of_losses_leaves_each_batch_there_once_and_in_order),
        CASE(store__a_start_that_is_lost_anywhere_can_be_repeated),
        CASE(store__a_load_that_is_cut_short_is_an_error_and_never_a_shorter_truth),
        CASE(reader__a_read_that_is_lost_is_unavailable_and_the_next_one_heals),
        CASE(reader__ends_while_the_database_says_nothing),
    };
    return cmocka_run_group_tests(tests, up, down);
}
