/*  A round looks at budgets and at the deadlines of open jobs, asks for each job once, and tells what is at risk. */
#include "client/notify/rounds.h"

#include "tests/unit/client/notify/intake_testing.h"

#define A "01k9x2m4q8r7aaaabbbbccccaa"
#define B "01k9x2m4q8r7aaaabbbbccccbb"
#define LISTED(id) "{\"id\":\"" id "\",\"tenant\":\"nlp\",\"state\":\"queued\"}"
#define WITH(id, deadline) \
    "{\"id\":\"" id        \
    "\",\"tenant\":\"nlp\",\"user\":\"ana\",\"state\":\"queued\",\"time_limit_s\":60,\"deadline\":" deadline "}"
#define BOTH "state: s\ntargets: [{name: a, command: [x], on: [deadline_at_risk, budget_near]}]\n"

/*  Until the round is over: then nothing is due for most of a minute. */
static void turn_round(reader_t *reader, helio_rounds_t *rounds)
{
    int64_t end_ms = helio_clock_boot_ms() + PATIENTLY_MS;
    do {
        helio_error_t err;
        assert_int_equal(helio_rounds_turn(rounds, helio_clock_boot_ms(), &err), HELIO_OK);
        int64_t due_ms = helio_rounds_due_ms(rounds);
        if (due_ms < INT64_MAX && due_ms > helio_clock_boot_ms() + 50000)
            return;
        reader_pump(reader, due_ms);
    } while (helio_clock_boot_ms() < end_ms);
    fail_msg("the round does not end: %s", reader_taken(reader));
}

static void a_round__tells_of_budgets_and_deadlines(void **state)
{
    (void)state;
    reader_t *reader = reader_new(
        RULES(
            {"GET /v1/quotas ", 1, 503, NULL, "{}", WHOLE, 0},
            {"GET /v1/quotas ", 0, 200, NULL,
             "[{\"tenant\":\"nlp\",\"queue\":null,\"budgets\":[{\"kind\":\"gpu\",\"period\":\"week\",\"unit\":\"GPU-hours\","
             "\"budget\":10,\"used\":9,\"committed\":0,\"begins_again\":\"2026-11-30T00:00:00Z\"}]}]",
             WHOLE, 0},
            {"GET /v1/jobs?limit=1000&state=queued,held,offered,accepted,starting,running,suspended,stopping,suspect&cursor=c ",
             0, 200, NULL, "{\"jobs\":[" LISTED(B) "],\"next\":null}", WHOLE, 0},
            {"GET /v1/jobs?limit=1000&state=queued,", 0, 200, NULL,
             "{\"jobs\":[" LISTED(A ".0") "," LISTED(A ".1") "],\"next\":\"c\"}", WHOLE, 0},
            {"GET /v1/jobs/" A "/explain ", 0, 200, NULL, "{\"run\":null}", WHOLE, 0},
            {"GET /v1/jobs/" A " ", 0, 200, NULL, WITH(A, "\"2020-01-01T00:00:00Z\""), WHOLE, 0},
            {"GET /v1/jobs/" B " ", 0, 200, NULL, WITH(B, "null"), WHOLE, 0}),
        BOTH);
    helio_rounds_t *rounds = helio_rounds_new(reader->remote, &reader->targets, &reader->hooks);
    turn_round(reader, rounds);
    assert_string_equal(reader_taken(reader), "budget_near nlp/gpu \ndeadline_at_risk " A " ana\n");
    helio_rounds_destroy(&rounds);
    assert_int_equal(reader_requests(reader, "GET /v1/jobs/" A " "), 2); /* whether it has a deadline; how it is then */
    assert_int_equal(broker_double_count(reader->broker, "GET /v1/jobs/" B " "), 1);
    reader_destroy(&reader);
}

static void nothing__is_asked_that_nobody_wants(void **state)
{
    (void)state;
    reader_t *reader = reader_new(RULES({"GET /v1/quotas ", 0, 200, NULL, "[]", WHOLE, 0}),
                                  "state: s\ntargets: [{name: a, command: [x], on: [budget_near]}]\n");
    helio_rounds_t *rounds = helio_rounds_new(reader->remote, &reader->targets, &reader->hooks);
    turn_round(reader, rounds);
    helio_rounds_destroy(&rounds);
    assert_int_equal(reader_requests(reader, "GET /v1/jobs"), 0);
    reader_destroy(&reader);
    reader = reader_new(RULES({"GET /", 0, 404, NULL, "{}", WHOLE, 0}),
                        "state: s\ntargets: [{name: a, command: [x], on: [job_ended]}]\n");
    rounds = helio_rounds_new(reader->remote, &reader->targets, &reader->hooks);
    assert_true(helio_rounds_due_ms(rounds) == INT64_MAX);
    helio_rounds_destroy(&rounds);
    reader_destroy(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round__tells_of_budgets_and_deadlines),
        cmocka_unit_test(nothing__is_asked_that_nobody_wants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
