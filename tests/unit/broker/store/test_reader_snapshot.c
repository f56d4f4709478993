/*  test_reader_snapshot.c -- a snapshot that takes long: reads are answered beside it, and there is one at a time. */
#include "tests/unit/broker/store/reader_testing.h"

#include <libpq-fe.h>
#include <poll.h>

static void ask_for_snapshot(helio_reader_t *of, asked_t *asked)
{
    *asked = (asked_t){.read = {.query = HELIO_READ_SNAPSHOT, .owner = "ops", .done = done, .arg = asked}};
    (void)sem_init(&asked->answered, 0, 0);
    assert_int_equal(helio_reader_post(of, &asked->read), HELIO_OK);
}

static void await(asked_t *asked, helio_rc rc)
{
    while (sem_wait(&asked->answered) != 0)
        ;
    (void)sem_destroy(&asked->answered);
    free(asked->json);
    if (rc != HELIO_OK || asked->rc != HELIO_UNAVAILABLE) /* a slow machine's lock can time out */
        assert_int_equal(asked->rc, rc);
}

/*  Until the snapshot waits for the lock; each look is a query. */
static void await_waiting(void)
{
    for (;;) {
        char *count = helio_pg_value(conninfo, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'");
        bool waits = strcmp(count, "0") != 0;
        free(count);
        if (waits)
            return;
        (void)poll(NULL, 0, 5);
    }
}

static void snapshot__that_takes_long_holds_up_no_other_read(void **state)
{
    (void)state;
    helio_reader_t *narrow = helio_reader_new(conninfo, 1);
    PGconn *locker = PQconnectdb(conninfo);
    PQclear(PQexec(locker, "begin; lock table helio.queues in access exclusive mode"));
    assert_int_equal(PQtransactionStatus(locker), PQTRANS_INTRANS);
    asked_t slow, again;
    ask_for_snapshot(narrow, &slow);
    await_waiting();
    again = (asked_t){.read = {.query = HELIO_READ_SNAPSHOT, .owner = "others", .done = done}};
    assert_int_equal(helio_reader_post(narrow, &again.read), HELIO_BUSY);
    assert_json(ask_of(narrow, "read_gpus", NULL, 0), "jsonb_array_length(j)", "1");
    assert_int_not_equal(sem_trywait(&slow.answered), 0); /* the list was first */
    PQclear(PQexec(locker, "commit"));
    await(&slow, HELIO_OK);
    ask_for_snapshot(narrow, &again);
    await(&again, HELIO_OK);
    PQfinish(locker);
    helio_reader_destroy(&narrow);
}

static void snapshot__that_waits_at_the_end_is_answered(void **state)
{
    (void)state;
    helio_reader_t *narrow = helio_reader_new("host=/nonexistent", 1);
    asked_t asked;
    ask_for_snapshot(narrow, &asked);
    helio_reader_destroy(&narrow);
    await(&asked, HELIO_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot__that_takes_long_holds_up_no_other_read),
        cmocka_unit_test(snapshot__that_waits_at_the_end_is_answered),
    };
    return cmocka_run_group_tests(tests, up, down);
}
