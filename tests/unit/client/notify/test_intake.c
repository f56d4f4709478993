/*  Events are taken in their order, with what the broker says of their jobs, and count as read when they were taken. */
#include "tests/unit/client/notify/intake_testing.h"

#define A "01k9x2m4q8r7aaaabbbbccccaa"
#define B "01k9x2m4q8r7aaaabbbbccccbb"
#define C "01k9x2m4q8r7aaaabbbbcccccc"

#define EVENT(number, id, to)                                                                                    \
    "id: " number "\nevent: transition\ndata: {\"seq\":" number ",\"time\":\"2026-11-27T10:00:0" number          \
    "Z\",\"id\":\"" id                                                                                           \
    "\",\"tenant\":\"nlp\",\"queue\":\"batch\",\"name\":\"train\",\"epoch\":1,\"from\":\"running\",\"to\":\"" to \
    "\"}\n\n"
#define RESYNC(number) "id: " number "\nevent: resync\ndata: {\"seq\":" number "}\n\n"
#define JOB(id, state, more) \
    "{\"id\":\"" id "\",\"tenant\":\"nlp\",\"user\":\"ana\",\"state\":\"" state "\",\"epoch\":1" more "}"
#define ENDS "state: s\ntargets: [{name: a, command: [x], on: [job_ended]}]\n"

static helio_rc turn_until(reader_t *reader, helio_intake_t *intake, uint64_t last, const char *taken)
{
    int64_t end_ms = helio_clock_boot_ms() + PATIENTLY_MS;
    for (;;) {
        helio_error_t err;
        helio_rc rc = helio_intake_turn(intake, helio_clock_boot_ms(), &err);
        if (rc != HELIO_OK || (helio_intake_cursor(intake).last == last && strcmp(reader_taken(reader), taken) == 0))
            return rc;
        if (helio_clock_boot_ms() > end_ms)
            fail_msg("up to %llu: %s", (unsigned long long)helio_intake_cursor(intake).last, reader_taken(reader));
        reader_pump(reader, helio_intake_due_ms(intake));
    }
}

static helio_intake_t *intake_of(reader_t *reader, helio_notify_cursor_t cursor)
{
    return helio_intake_new(reader->remote, &reader->targets, &cursor, &reader->hooks, reader->log);
}

static void the_first_start__begins_after_the_last_event(void **state)
{
    (void)state;
    reader_t *reader =
        reader_new(RULES({"GET /v1/events", 1, 200, NULL, RESYNC("4") EVENT("5", A, "succeeded"), HOLD, 0},
                         {"GET /v1/jobs/" A " ", 0, 200, NULL, JOB(A, "succeeded", ""), WHOLE, 0}),
                   ENDS);
    helio_intake_t *intake = intake_of(reader, (helio_notify_cursor_t){.known = false});
    assert_false(helio_intake_cursor(intake).known);
    assert_int_equal(turn_until(reader, intake, 5, "job_ended " A " ana\n"), HELIO_OK);
    assert_true(helio_intake_cursor(intake).known);
    helio_intake_destroy(&intake);
    assert_int_equal(reader_requests(reader, "Last-Event-ID: 9223372036854775807"), 1);
    reader_destroy(&reader);
}

/*  The first job is asked for three times, the others answer at once. */
static void events__are_taken_in_their_order(void **state)
{
    (void)state;
    reader_t *reader = reader_new(
        RULES({"GET /v1/events", 1, 200, NULL,
               EVENT("1", A, "failed") EVENT("2", B, "succeeded") EVENT("3", C, "cancelled") EVENT("4", C, "running"),
               HOLD, 0},
              {"GET /v1/jobs/" A " ", 1, 503, NULL, "{}", WHOLE, 0}, {"GET /v1/jobs/" A " ", 1, 0, NULL, "", DROP, 0},
              {"GET /v1/jobs/" A " ", 0, 200, NULL, JOB(A, "failed", ""), WHOLE, 0},
              {"GET /v1/jobs/" B " ", 0, 200, NULL, JOB(B, "succeeded", ""), WHOLE, 0},
              {"GET /v1/jobs/" C " ", 0, 404, NULL, "{}", WHOLE, 0}),
        ENDS);
    helio_intake_t *intake = intake_of(reader, (helio_notify_cursor_t){.known = true});
    assert_int_equal(turn_until(reader, intake, 4, "job_failed " A " ana\njob_ended " B " ana\njob_ended " C " \n"),
                     HELIO_OK);
    assert_int_equal(reader->seen, 4);
    helio_intake_destroy(&intake);
    assert_int_equal(reader_requests(reader, "GET /v1/jobs/" A " "), 3);
    reader_destroy(&reader);
}

static void a_stream_that_breaks__goes_on_where_it_was(void **state)
{
    (void)state;
    reader_t *reader = reader_new(RULES({"GET /v1/events", 1, 200, NULL, EVENT("1", A, "offered"), CUT, 0},
                                        {"GET /v1/events", 1, 503, NULL, "{}", WHOLE, 0},
                                        {"GET /v1/events", 1, 200, NULL, EVENT("2", B, "succeeded"), HOLD, 0},
                                        {"GET /v1/jobs/", 0, 404, NULL, "{}", WHOLE, 0}),
                                  ENDS);
    helio_intake_t *intake = intake_of(reader, (helio_notify_cursor_t){.known = true});
    assert_int_equal(turn_until(reader, intake, 2, "job_ended " B " \n"), HELIO_OK);
    helio_intake_destroy(&intake);
    assert_int_equal(reader_requests(reader, "GET /v1/jobs/" A), 0); /* nobody wants to hear of it */
    assert_int_equal(broker_double_count(reader->broker, "Last-Event-ID: 1\r"), 2);
    reader_destroy(&reader);
}

static void missed_events__are_read_from_the_jobs(void **state)
{
    (void)state;
#define ENDED(id, time) JOB(id, "succeeded", ",\"finished_at\":\"2026-11-27T" time "Z\"")
    reader_t *reader = reader_new(
        RULES({"GET /v1/events", 1, 200, NULL, RESYNC("900"), HOLD, 0},
              {"GET /v1/jobs?limit=1000&state=queued,held,offered,accepted,starting,running,suspended,stopping,suspect,"
               "succeeded,failed,timeout,cancelled,lost&cursor=next",
               0, 200, NULL, "{\"jobs\":[" ENDED(C, "12:00:00") "],\"next\":null}", WHOLE, 0},
              {"GET /v1/jobs?", 0, 200, NULL,
               "{\"jobs\":[" ENDED(A, "10:30:00") "," ENDED(B, "09:00:00") "],\"next\":\"next\"}", WHOLE, 0}),
        ENDS);
    int64_t seen_ms;
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2026-11-27T10:00:00Z"), &seen_ms), HELIO_OK);
    helio_intake_t *intake = intake_of(reader, (helio_notify_cursor_t){.known = true, .last = 77, .seen_ms = seen_ms});
    assert_int_equal(turn_until(reader, intake, 77, "job_ended " A " ana\n"), HELIO_OK); /* not read yet */
    assert_int_equal(turn_until(reader, intake, 900, "job_ended " A " ana\njob_ended " C " ana\n"), HELIO_OK);
    helio_intake_destroy(&intake);
    reader_destroy(&reader);
}

static void a_refusal__ends_it(void **state)
{
    (void)state;
    reader_t *reader = reader_new(RULES({"GET /v1/events", 1, 503, NULL, "{}", WHOLE, 0},
                                        {"GET /v1/events", 0, 401, NULL, "{\"detail\":\"no token\"}", WHOLE, 0}),
                                  ENDS);
    helio_intake_t *intake = intake_of(reader, (helio_notify_cursor_t){.known = true});
    assert_int_equal(turn_until(reader, intake, 1, "never"), HELIO_FORBIDDEN);
    assert_int_equal(helio_stream_status(helio_intake_refusal(intake)), 401);
    helio_intake_destroy(&intake);
    reader_destroy(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_start__begins_after_the_last_event),
        cmocka_unit_test(events__are_taken_in_their_order),
        cmocka_unit_test(a_stream_that_breaks__goes_on_where_it_was),
        cmocka_unit_test(missed_events__are_read_from_the_jobs),
        cmocka_unit_test(a_refusal__ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
