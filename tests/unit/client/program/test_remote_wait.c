/*  test_remote_wait.c -- what is waited for and followed. */
#include "tests/unit/client/program/remote_testing.h"

/* ---- wait ---------------------------------------------------------------------------------------------- */

#define STREAM_OPEN                                            \
    {                                                          \
        "GET /v1/events", 0, 200, NULL, ": hello\n\n", HOLD, 0 \
    }

static void wait__exits_with_the_jobs_own_code(void **state)
{
    (void)state;
    static const struct {
        const char *job;
        int code;
    } cases[] = {
        {JOB(ID_A, "succeeded", ",\"exit_code\":0"), 0},   {JOB(ID_A, "failed", ",\"exit_code\":3"), 3},
        {JOB(ID_A, "failed", ",\"exit_code\":null"), 1},   {JOB(ID_A, "timeout", ",\"exit_code\":124"), 124},
        {JOB(ID_A, "cancelled", ",\"exit_code\":0"), 130}, {JOB(ID_A, "lost", ",\"exit_code\":0"), 125},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome = play(RULES(STREAM_OPEN, {"GET /v1/jobs/bbccccdd ", 0, 200, NULL, cases[i].job, WHOLE, 0}),
                                 WORDS("wait", "bbccccdd"));
        expect(&outcome, cases[i].code, "", NULL);
        end(&outcome);
    }
}

static void wait__for_several_jobs_gives_the_first_failure_in_the_given_order(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/good", 0, 200, NULL, JOB(ID_A, "succeeded", ""), WHOLE, 0},
                   {"GET /v1/jobs/bad5", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":5"), WHOLE, 0},
                   {"GET /v1/jobs/bad6", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":6"), WHOLE, 0}),
             WORDS("wait", "good", "bad6", "bad5"));
    expect(&outcome, 6, "", NULL);
    end(&outcome);
}

static void wait__tells_when_a_job_ended_not_when_it_asked(void **state)
{
    (void)state;
    static const struct {
        const char *job, *says;
    } cases[] = {
        {JOB(ID_A, "succeeded", ",\"finished_at\":\"2026-03-01T12:00:07.250Z\""),
         "2026-03-01T12:00:07Z bbccccdd succeeded at lulea\n"},
        {JOB(ID_A, "succeeded", ",\"finished_at\":null"), "Z bbccccdd succeeded at lulea\n"},
        {JOB(ID_A, "succeeded", ",\"finished_at\":\"yesterday\""), "Z bbccccdd succeeded at lulea\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome_t outcome =
            play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 200, NULL, cases[i].job, WHOLE, 0}), WORDS("wait", ID_A));
        expect(&outcome, 0, "", cases[i].says);
        end(&outcome);
    }
}

#define HELD_JOB JOB(ID_A, "held", ",\"reason\":\"lulea: SubmitRefused: Invalid account\"")

static void wait__a_held_job_is_reported_with_the_remedy_and_ends_the_wait(void **state)
{
    (void)state;
    static const char *const ways[][4] = {{"wait", ID_A}, {"run", "-"}};
    for (size_t i = 0; i < 2; i++) {
        outcome_t outcome =
            play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, STREAM_OPEN,
                            {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                            {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, HELD_JOB, WHOLE, 0},
                            {"GET /v1/jobs/" ID_A "/logs", 0, 404, NULL, "", WHOLE, 0}),
                      WORDS(ways[i][0], ways[i][1]), "run: echo\n");
        expect(&outcome, 8, "", "is held: lulea: SubmitRefused: Invalid account");
        assert_non_null(strstr(outcome.err, "helio release"));
        assert_non_null(strstr(outcome.err, "--keep-waiting"));
        end(&outcome);
    }
}

static void wait__continues_for_a_held_job_on_request_or_while_others_run(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 404, NULL, "", WHOLE, 0}, {"GET /v1/jobs/", 2, 200, NULL, HELD_JOB, WHOLE, 0},
                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":9"), WHOLE, 0}),
             WORDS("wait", "--keep-waiting", ID_A));
    expect(&outcome, 9, "", NULL);
    end(&outcome);
    outcome = play(RULES({"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
                         {"GET /v1/jobs/good", 2, 200, NULL, JOB(ID_B, "running", ""), WHOLE, 0},
                         {"GET /v1/jobs/good", 0, 200, NULL, JOB(ID_B, "succeeded", ""), WHOLE, 0},
                         {"GET /v1/jobs/", 0, 200, NULL, HELD_JOB, WHOLE, 0}),
                   WORDS("wait", ID_A, "good"));
    expect(&outcome, 8, "", "is held");
    end(&outcome);
}

static void wait__is_woken_by_the_event_stream(void **state)
{
    (void)state;
    /* The bell rings for another job, then for an unreadable one, then for this one. */
    outcome_t outcome = play(RULES({"GET /v1/events", 0, 200, NULL,
                                    "id: 1\ndata: {\"id\":\"" ID_B "\",\"to\":\"failed\"}\n\nid: 2\ndata: [\n\n"
                                    "id: 3\nevent: transition\ndata: {\"id\":\"" ID_A "\",\"to\":\"succeeded\"}\n\n",
                                    HOLD, 0},
                                   {"GET /v1/jobs/", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "succeeded", ""), WHOLE, 0}),
                             WORDS("wait", ID_A));
    expect(&outcome, 0, "", "succeeded at lulea");
    end(&outcome);
}

static void wait__polls_without_a_stream(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
                                   {"GET /v1/jobs/", 5, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":9"), WHOLE, 0}),
                             WORDS("wait", ID_A));
    expect(&outcome, 9, "", NULL);
    end(&outcome);
}

static void wait__continues_after_the_broker_was_away(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"GET /v1/events", 3, 200, NULL, "data: {}\n\n", CUT, 0}, {"GET /v1/events", 0, 503, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/", 6, 0, NULL, NULL, DROP, 0},
              {"GET /v1/jobs/", 6, 503, "Retry-After: 1\r\n", "", WHOLE, 0},
              {"GET /v1/jobs/", 2, 500, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":4"), WHOLE, 0}),
        WORDS("wait", ID_A));
    expect(&outcome, 4, "", "answers again");
    const char *first = strstr(outcome.err, "retrying until it answers");
    assert_non_null(first);
    assert_null(strstr(first + 1, "retrying until it answers")); /* once, not for every attempt */
    end(&outcome);
}

static void wait__and_run_can_start_while_the_broker_is_away(void **state)
{
    (void)state;
    static const char away[] = "retrying for up to a minute";
    static const rule_t rules[] = {{"POST /v1/jobs", 2, 0, NULL, NULL, DROP, 0},
                                   {"POST /v1/jobs", 3, 503, NULL, "", WHOLE, 0},
                                   {"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0},
                                   {"GET /v1/jobs/" ID_A "/logs", 0, 200, NULL, "", WHOLE, 0},
                                   {"GET /v1/jobs/", 4, 0, NULL, NULL, DROP, 0},
                                   {"GET /v1/jobs/", 2, 503, NULL, "", WHOLE, 0},
                                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":4"), WHOLE, 0},
                                   {0}};
    for (int runs = 0; runs < 2; runs++) {
        outcome_t outcome = play_with(rules, runs ? WORDS("run", "-") : WORDS("wait", ID_A), "run: x\n");
        expect(&outcome, 4, "", away);
        assert_null(strstr(strstr(outcome.err, away) + 1, away));
        end(&outcome);
    }
}

static void wait__ends_if_the_broker_stays_away(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /", 0, 503, NULL, "{\"detail\":\"starting\"}", WHOLE, 0}), WORDS("wait", ID_A));
    expect(&outcome, 7, "", "starting");
    end(&outcome);
    outcome = play_with(RULES({"POST /", 0, 503, NULL, "{\"detail\":\"starting\"}", WHOLE, 0}), WORDS("run", "-"),
                        "run: x\n");
    expect(&outcome, 7, "", "starting");
    end(&outcome);
}

static void events__can_be_followed_from_a_broker_that_is_not_ready_yet(void **state)
{
    (void)state;
    static const rule_t rules[] = {{"GET /v1/events", 9, 503, NULL, "", WHOLE, 0},
                                   {"GET /v1/events", 1, 200, NULL, "id: 6\ndata: {\"seq\":6}\n\n", CUT, 0},
                                   {"GET /v1/events", 0, 403, NULL, "{\"detail\":\"enough\"}", WHOLE, 0},
                                   {0}};
    outcome_t outcome = play(rules, WORDS("events", "-f", "-o", "jsonl"));
    expect(&outcome, 4, "{\"seq\":6}\n", "is not ready; retrying until it answers");
    end(&outcome);
    outcome = play(rules, WORDS("events", "-o", "jsonl")); /* nothing is followed: it ends */
    expect(&outcome, 7, "", NULL);
    end(&outcome);
}

static void logs__of_an_array_name_an_existing_task(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/" ID_A "/explain", 0, 200, NULL, "{\"id\":\"" ID_A ".3\"}", WHOLE, 0},
                   {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "running", ",\"tasks_total\":4"), WHOLE, 0}),
             WORDS("logs", "-f", ID_A));
    expect(&outcome, 2, NULL, "such as " ID_A ".3");
    end(&outcome);
}

static void wait__a_lost_connection_is_never_success(void **state)
{
    (void)state;
    /* The stream says that the job succeeded, but no request confirms it. */
    outcome_t outcome =
        play(RULES({"GET /v1/events", 0, 200, NULL, "data: {\"id\":\"" ID_A "\",\"to\":\"succeeded\"}\n\n", CUT, 0},
                   {"GET /v1/jobs/", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                   {"GET /v1/jobs/", 0, 0, NULL, NULL, DROP, 0}),
             WORDS("wait", "--timeout", "200ms", ID_A));
    expect(&outcome, 8, "", "the timeout has passed");
    end(&outcome);
}

static void wait__ends_if_the_job_or_the_token_is_gone(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 404, NULL, "{\"detail\":\"no such job\"}", WHOLE, 0}),
             WORDS("wait", ID_A));
    expect(&outcome, 3, "", "no such job");
    end(&outcome);
    outcome = play(RULES({"GET /v1/events", 0, 401, NULL, "", WHOLE, 0},
                         {"GET /v1/jobs/", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                         {"GET /v1/jobs/", 0, 401, NULL, "", WHOLE, 0}),
                   WORDS("wait", ID_A));
    expect(&outcome, 4, "", "401");
    end(&outcome);
}

static void wait__an_unknown_state_is_an_error(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "done", ""), WHOLE, 0}), WORDS("wait", ID_A));
    expect(&outcome, 125, "", "do the versions of helio and the broker differ?");
    end(&outcome);
}

static void wait__ctrl_c_leaves_without_touching_the_job(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(STREAM_OPEN, {"GET /v1/jobs/", 0, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 1}),
                             WORDS("wait", ID_A));
    expect(&outcome, 130, "", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE"), 0);
    end(&outcome);
}

/* ---- run, logs ----------------------------------------------------------------------------------------- */

static void run__prints_each_byte_of_the_log_once_and_exits_with_the_code(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, {"GET /v1/events", 0, 200, NULL, "", CUT, 0},
              {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, "{\"id\":\"" ID_A "\",\"state\":\"queued\",\"epoch\":0}", WHOLE,
               0},
              {"GET /v1/jobs/" ID_A " ", 3, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
               JOB(ID_A, "failed", ",\"exit_code\":7,\"run_seconds\":60,\"cost_usd\":3.5"), WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 1, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "hello ", CUT, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=6 ", 1, 503, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=6 ", 0, 200, NULL, "world\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=12 ", 0, 200, NULL, "", WHOLE, 0}),
        WORDS("run", "-"), "run: echo hello world\n");
    expect(&outcome, 7, "hello world\n", "running at lulea");
    assert_non_null(strstr(outcome.err, "submitted " ID_A));
    assert_non_null(strstr(outcome.err, "cost $3.50"));
    end(&outcome);
}

static void run__a_migrated_job_has_the_log_of_each_attempt(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES(
            {"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
            {"GET /v1/jobs/" ID_A " ", 5, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
            {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
             "{\"id\":\"" ID_A "\",\"state\":\"succeeded\",\"site\":\"oregon\",\"epoch\":2,\"exit_code\":0}", WHOLE, 0},
            {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "one\n", WHOLE, 0},
            {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=4 ", 0, 200, NULL, "", WHOLE, 0},
            {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&offset=0 ", 0, 200, NULL, "two\n", WHOLE, 0},
            {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&offset=4 ", 0, 200, NULL, "", WHOLE, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 0, "one\ntwo\n", "-- attempt 2 --");
    end(&outcome);
}

static void run__attempts_that_began_and_ended_between_two_polls_have_their_logs(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
               "{\"id\":\"" ID_A "\",\"state\":\"failed\",\"site\":\"oregon\",\"epoch\":4,\"exit_code\":3}", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "one\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=4 ", 0, 200, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&", 0, 404, NULL, "", WHOLE, 0}, /* was refused */
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=3&offset=0 ", 0, 200, NULL, "three\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=3&offset=6 ", 0, 200, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=4&offset=0 ", 0, 200, NULL, "four\n", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=4&offset=5 ", 0, 200, NULL, "", WHOLE, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 3, "one\nthree\nfour\n", "-- attempt 4 --");
    assert_null(strstr(outcome.err, "-- attempt 2 --"));
    end(&outcome);
}

static void run__a_silent_log_of_an_ended_attempt_does_not_delay_the_next(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
               "{\"id\":\"" ID_A "\",\"state\":\"succeeded\",\"site\":\"oregon\",\"epoch\":2}", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=1&offset=0 ", 0, 200, NULL, "one\n", HOLD, 0},
              {"GET /v1/jobs/" ID_A "/logs?follow=1&epoch=2&offset=0 ", 0, 200, NULL, "two\n", HOLD, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 0, "one\ntwo\n", "helio logs --epoch 1 " ID_A);
    end(&outcome);
}

static void run__a_job_that_never_started_has_no_log(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, STREAM_OPEN,
                                        {"GET /v1/jobs/" ID_A " ", 0, 200, NULL,
                                         "{\"id\":\"" ID_A "\",\"state\":\"cancelled\",\"epoch\":0}", WHOLE, 0}),
                                  WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 130, "", "cancelled");
    assert_int_equal(broker_double_count(outcome.broker, "/logs"), 0);
    end(&outcome);
}

static void run__a_log_whose_end_cannot_be_read_does_not_hide_the_code(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, STREAM_OPEN,
                        {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, JOB(ID_A, "failed", ",\"exit_code\":2"), WHOLE, 0},
                        {"GET /v1/jobs/" ID_A "/logs", 0, 503, NULL, "", WHOLE, 0}),
                  WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 2, "", "could not read the end of the output");
    end(&outcome);
}

static void run__ctrl_c_asks_first_and_cancels_then(void **state)
{
    (void)state;
    outcome_t outcome = play_with(
        RULES({"POST /v1/jobs", 0, 201, NULL, SUBMITTED_A, WHOLE, 0}, {"GET /v1/events", 0, 404, NULL, "", WHOLE, 0},
              {"GET /v1/jobs/" ID_A "/logs", 0, 404, NULL, "", WHOLE, 0},
              {"DELETE /v1/jobs/" ID_A " ", 0, 202, NULL, "{}", WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 1},
              {"GET /v1/jobs/" ID_A " ", 2, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
              {"GET /v1/jobs/" ID_A " ", 1, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 1},
              {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, JOB(ID_A, "cancelled", ""), WHOLE, 0}),
        WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 130, "", "press Ctrl-C again to cancel " ID_A);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE /v1/jobs/" ID_A " "), 1);
    end(&outcome);
}

static void run__a_rejected_submission_is_not_followed(void **state)
{
    (void)state;
    outcome_t outcome =
        play_with(RULES({"POST /v1/jobs", 0, 422, NULL, "{\"detail\":\"never\",\"reason\":\"NeverFits\"}", WHOLE, 0}),
                  WORDS("run", "-"), "run: echo\n");
    expect(&outcome, 5, "", "never (NeverFits)");
    assert_int_equal(broker_double_count(outcome.broker, "GET"), 0);
    end(&outcome);
}

static void logs__continues_where_it_broke_off_to_the_end(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/jobs/x12345/logs?offset=0 ", 1, 0, NULL, NULL, DROP, 0},
                                   {"GET /v1/jobs/x12345/logs?offset=0 ", 0, 200, NULL, "abc", CUT, 0},
                                   {"GET /v1/jobs/x12345/logs?offset=3 ", 0, 200, NULL, "def", WHOLE, 0},
                                   {"GET /v1/jobs/x12345/logs?offset=6 ", 0, 200, NULL, "", WHOLE, 0}),
                             WORDS("logs", "x12345"));
    expect(&outcome, 0, "abcdef", NULL);
    end(&outcome);
    outcome =
        play(RULES({"GET /v1/jobs/", 0, 404, NULL, "{\"detail\":\"no log yet\"}", WHOLE, 0}), WORDS("logs", "x12345"));
    expect(&outcome, 3, "", "no log yet");
    end(&outcome);
    outcome = play(RULES({"GET /v1/jobs/", 0, 503, NULL, "{\"detail\":\"the site is silent\"}", WHOLE, 0}),
                   WORDS("logs", "x12345"));
    expect(&outcome, 7, "", "the site is silent");
    end(&outcome);
}

static void logs__begin_with_their_last_lines_and_go_on_behind_them(void **state)
{
    (void)state;
    outcome_t outcome =
        play(RULES({"GET /v1/jobs/x12345/logs?tail=2 ", 1, 503, NULL, "", WHOLE, 0},
                   {"GET /v1/jobs/x12345/logs?tail=2 ", 0, 200, "X-Helio-Log-Offset: 1000\r\n", "b\nc", CUT, 0},
                   {"GET /v1/jobs/x12345/logs?offset=1003 ", 0, 200, "X-Helio-Log-Offset: 1003\r\n", "d\n", WHOLE, 0},
                   {"GET /v1/jobs/x12345/logs?offset=1005 ", 0, 200, NULL, "", WHOLE, 0}),
             WORDS("logs", "x12345", "--tail", "2"));
    expect(&outcome, 0, "b\ncd\n", NULL);
    end(&outcome);
    outcome = play(RULES({0}), WORDS("logs", "x12345", "--tail", "0"));
    expect(&outcome, 2, "", "--tail: must be 1 to 10000 lines");
    end(&outcome);
}

/* ---- events, explain, doctor, others ------------------------------------------------------------------- */

static void events__continue_after_the_last_one_seen(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/events", 1, 200, NULL,
                                    "id: 5\ndata: {\"seq\":5,\"id\":\"" ID_A "\"}\n\nid: 6\ndata: {\"half", CUT, 0},
                                   {"GET /v1/events", 1, 503, NULL, "", WHOLE, 0},
                                   {"GET /v1/events", 1, 200, NULL, "id: 6\ndata: {\"seq\":6}\n\n", CUT, 0},
                                   {"GET /v1/events", 0, 403, NULL, "{\"detail\":\"enough\"}", WHOLE, 0}),
                             WORDS("events", "-f", "-o", "jsonl", "--after", "4"));
    expect(&outcome, 4, "{\"seq\":5,\"id\":\"" ID_A "\"}\n{\"seq\":6}\n", "lost the connection to the broker");
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 4\r\n"), 1);
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 5\r\n"), 2);
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 6\r\n"), 1);
    end(&outcome);
}

static void events__without_follow_end_when_no_more_arrive(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"GET /v1/events", 0, 200, NULL,
                                    "id: 1\ndata: {\"seq\":1,\"time\":\"2026-11-22T07:00:00.123Z\",\"id\":\"" ID_A
                                    "\",\"name\":\"t\",\"from\":\"queued\",\"to\":\"offered\",\"site\":\"lulea\"}\n\n",
                                    HOLD, 0}),
                             WORDS("events"));
    expect(&outcome, 0,
           "TIME                  ID        NAME  FROM    TO       SITE   REASON\n"
           "2026-11-22T07:00:00Z  bbccccdd  t     queued  offered  lulea  -\n",
           NULL);
    assert_int_equal(broker_double_count(outcome.broker, "Last-Event-ID: 0\r\n"), 1);
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait__exits_with_the_jobs_own_code),
        cmocka_unit_test(wait__for_several_jobs_gives_the_first_failure_in_the_given_order),
        cmocka_unit_test(wait__tells_when_a_job_ended_not_when_it_asked),
        cmocka_unit_test(wait__a_held_job_is_reported_with_the_remedy_and_ends_the_wait),
        cmocka_unit_test(wait__continues_for_a_held_job_on_request_or_while_others_run),
        cmocka_unit_test(wait__is_woken_by_the_event_stream),
        cmocka_unit_test(wait__polls_without_a_stream),
        cmocka_unit_test(wait__continues_after_the_broker_was_away),
        cmocka_unit_test(wait__and_run_can_start_while_the_broker_is_away),
        cmocka_unit_test(wait__ends_if_the_broker_stays_away),
        cmocka_unit_test(events__can_be_followed_from_a_broker_that_is_not_ready_yet),
        cmocka_unit_test(logs__of_an_array_name_an_existing_task),
        cmocka_unit_test(wait__a_lost_connection_is_never_success),
        cmocka_unit_test(wait__ends_if_the_job_or_the_token_is_gone),
        cmocka_unit_test(wait__an_unknown_state_is_an_error),
        cmocka_unit_test(wait__ctrl_c_leaves_without_touching_the_job),
        cmocka_unit_test(run__prints_each_byte_of_the_log_once_and_exits_with_the_code),
        cmocka_unit_test(run__a_migrated_job_has_the_log_of_each_attempt),
        cmocka_unit_test(run__attempts_that_began_and_ended_between_two_polls_have_their_logs),
        cmocka_unit_test(run__a_silent_log_of_an_ended_attempt_does_not_delay_the_next),
        cmocka_unit_test(run__a_job_that_never_started_has_no_log),
        cmocka_unit_test(run__a_log_whose_end_cannot_be_read_does_not_hide_the_code),
        cmocka_unit_test(run__ctrl_c_asks_first_and_cancels_then),
        cmocka_unit_test(run__a_rejected_submission_is_not_followed),
        cmocka_unit_test(logs__begin_with_their_last_lines_and_go_on_behind_them),
        cmocka_unit_test(logs__continues_where_it_broke_off_to_the_end),
        cmocka_unit_test(events__continue_after_the_last_one_seen),
        cmocka_unit_test(events__without_follow_end_when_no_more_arrive),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
