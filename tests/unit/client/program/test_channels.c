/*  test_channels.c -- exec, shell and port-forward against a double of the broker: frames, offsets, lost answers, refusals. */
#include "client/jobs/session.h"
#include "tests/unit/client/program/remote_testing.h"

#define CHANNEL "0123456789abcdef0123456789abcdef"
#define OPENED "{\"channel\":\"" CHANNEL "\",\"id\":\"" ID_A "\",\"site\":\"lulea\",\"epoch\":1}"
#define OUTPUT "GET /v1/channels/" CHANNEL "/output?offset="
#define INPUT "POST /v1/channels/" CHANNEL "/input?offset=0&end=1 "
#define OPEN                                                               \
    {                                                                      \
        "POST /v1/jobs/" ID_A "/channels ", 1, 201, NULL, OPENED, WHOLE, 0 \
    }
#define NO_INPUT                                                                        \
    {                                                                                   \
        INPUT, 0, 200, NULL, "{\"offset\":0,\"opened\":true,\"ended\":false}", WHOLE, 0 \
    }
#define CLOSED                                                                                                      \
    {                                                                                                               \
        "DELETE /v1/channels/" CHANNEL " ", 0, 200, NULL, "{\"offset\":0,\"opened\":true,\"ended\":true}", WHOLE, 0 \
    }

#define STATE_MORE "\0\0\0\0\x29{\"offset\":6,\"opened\":true,\"ended\":false} "
#define STATE_OVER \
    "\0\0\0\0\x54{\"offset\":9,\"opened\":true,\"ended\":true,\"exit_code\":7,\"outcome\":\"OK\",\"why\":\"\"}       "
#define FIRST "\1\0\0\0\6hello\n" STATE_MORE
#define LAST "\2\0\0\0\3bad" STATE_OVER
_Static_assert(sizeof STATE_MORE - 1 == 5 + 0x29 && sizeof STATE_OVER - 1 == 5 + 0x54, "the sizes in the frames");

static const char first_size[] = BODY_BYTES "57\r\n", last_size[] = BODY_BYTES "97\r\n";
_Static_assert(sizeof FIRST - 1 == 57 && sizeof LAST - 1 == 97, "the sizes of the bodies");

#define READ_FIRST                                       \
    {                                                    \
        OUTPUT "0&", 1, 200, first_size, FIRST, WHOLE, 0 \
    }
#define READ_LAST                                      \
    {                                                  \
        OUTPUT "6&", 1, 200, last_size, LAST, WHOLE, 0 \
    }

static void exec__has_the_streams_and_the_exit_code_of_the_command(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(OPEN, NO_INPUT, READ_FIRST, READ_LAST), WORDS("exec", ID_A, "--", "sh", "-c", "x"));
    expect(&outcome, 7, "hello\n", "bad");
    assert_non_null(strstr(outcome.broker->requests.data, "{\"command\":[\"sh\",\"-c\",\"x\"]}"));
    assert_int_equal(broker_double_count(outcome.broker, "DELETE "), 0);
    end(&outcome);
}

/*  Each byte once, whatever answers are lost. */
static void exec__asks_again_for_what_was_lost(void **state)
{
    (void)state;
    const rule_t dropped = {OUTPUT "0&", 1, 0, NULL, NULL, DROP, 0};
    const rule_t busy = {OUTPUT "6&", 1, 503, NULL, "{\"detail\":\"a new leader\"}", WHOLE, 0};
    const rule_t cut = {OUTPUT "6&", 1, 200, last_size, LAST, CUT, 0};
    outcome_t outcome =
        play(RULES(OPEN, NO_INPUT, dropped, READ_FIRST, busy, cut, READ_LAST), WORDS("exec", ID_A, "--", "x"));
    expect(&outcome, 7, "hello\n", "bad");
    assert_ptr_equal(strstr(strstr(outcome.err, "bad") + 1, "bad"), NULL);
    end(&outcome);
}

static void exec__says_why_it_was_refused_or_lost(void **state)
{
    (void)state;
    outcome_t outcome = play(
        RULES({"POST ", 0, 409, NULL, "{\"detail\":\"job x is queued: only a running job can be entered\"}", WHOLE, 0}),
        WORDS("exec", ID_A, "--", "x"));
    expect(&outcome, 6, "", "only a running job can be entered");
    end(&outcome);
    const rule_t gone = {OUTPUT, 0, 404, NULL, "{\"detail\":\"no channel\"}", WHOLE, 0};
    outcome = play(RULES(OPEN, NO_INPUT, gone), WORDS("exec", ID_A, "--", "x"));
    expect(&outcome, 125, "", "the broker does not know the channel any more");
    end(&outcome);
    const rule_t nonsense = {OUTPUT, 0, 200, NULL, "\1\7\7\7\7abc", WHOLE, 0};
    outcome = play(RULES(OPEN, NO_INPUT, nonsense, CLOSED), WORDS("shell", ID_A));
    expect(&outcome, 125, "", "not the output of a channel");
    end(&outcome);
}

/*  The site ends a command whose client is gone only after a minute; so it is closed. */
static void exec__is_closed_by_ctrl_c(void **state)
{
    (void)state;
    const rule_t pressed = {OUTPUT "0&", 0, 200, NULL, NULL, MUTE, 1};
    outcome_t outcome = play(RULES(OPEN, NO_INPUT, pressed, CLOSED), WORDS("exec", ID_A, "--", "x"));
    expect(&outcome, 130, "", NULL);
    assert_int_equal(broker_double_count(outcome.broker, "DELETE /v1/channels/" CHANNEL), 1);
    end(&outcome);
}

static void forward__needs_ports_and_a_job_that_runs(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0", "65536", "x", "80:", "80:x", "65536:80", "-1", "1:2:3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        outcome_t outcome = play(RULES({"", 0, 500, NULL, "", WHOLE, 0}), WORDS("port-forward", ID_A, "--", wrong[i]));
        expect(&outcome, 2, "", "is no port");
        end(&outcome);
    }
    outcome_t outcome =
        play(RULES({"GET ", 0, 200, NULL, JOB(ID_A, "queued", ""), WHOLE, 0}), WORDS("port-forward", ID_A, "8888"));
    expect(&outcome, 6, "", "is queued: only a running job has ports");
    end(&outcome);
    outcome = play(RULES({"GET ", 0, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0}),
                   WORDS("port-forward", ID_A, ":8888", "--address", "localhost"));
    expect(&outcome, 2, "", "--address must be an IPv4 address");
    end(&outcome);
}

static void forward__prints_no_site_that_controls_the_terminal(void **state)
{
    (void)state;
    sigset_t set, before;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    (void)raise(SIGTERM); /* pending, so that it ends as soon as it serves */
    outcome_t outcome =
        play(RULES({"GET ", 0, 200, NULL,
                    "{\"id\":\"" ID_A "\",\"state\":\"running\",\"site\":\"a\\u001b[2J\\u202eb\"}", WHOLE, 0}),
             WORDS("port-forward", ID_A, ":8888"));
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(outcome.code, 128 + SIGTERM);
    assert_non_null(strstr(outcome.out, " -> " ID_A " port 8888 at a?[2J?b\n"));
    end(&outcome);
}

static void run__interactive_takes_no_file_and_a_file_no_options_of_jobs(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES({"", 0, 500, NULL, "", WHOLE, 0}), WORDS("run", "--gpu", "H100:1", "job.yaml"));
    expect(&outcome, 2, "", "--gpu is for `helio run --interactive`");
    end(&outcome);
    outcome = play(RULES({"", 0, 500, NULL, "", WHOLE, 0}), WORDS("run"));
    expect(&outcome, 2, "", "`helio run` needs one FILE");
    end(&outcome);
    outcome = play(RULES({"POST /v1/jobs ", 0, 422, NULL, "{\"detail\":\"no site has H100\"}", WHOLE, 0}),
                   WORDS("run", "--interactive", "--gpu", "H100:1", "--goal", "green", "--", "true"));
    expect(&outcome, 5, "", "no site has H100");
    assert_non_null(strstr(outcome.broker->requests.data, "\"gpu\":\"H100:1\""));
    assert_non_null(strstr(outcome.broker->requests.data, "\"placement\":{\"goal\":\"green\"}"));
    end(&outcome);
}

/* ---- `~.` --------------------------------------------------------------------------------------------------- */

static void escape__leaves_only_at_the_begin_of_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *sent;
        bool leaves;
    } cases[] = {
        {"~.", "", true},        {"ls\r~.more", "ls\r", true}, {"ls ~.\r", "ls ~.\r", false}, {"~~.\r", "~.\r", false},
        {"~a\r", "~a\r", false}, {"~\r~.", "~\r", true},       {"a\n~~\n~.", "a\n~\n", true}, {"", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t step = 1; step <= 16; step += 15) { /* key by key, or at once */
            helio_escape_t escape = {0};
            char sent[32] = "";
            size_t count = 0, size = strlen(cases[i].typed);
            bool leaves = false;
            for (size_t at = 0; at < size && !leaves; at += step)
                count += helio_escape_take(&escape, cases[i].typed + at, size - at < step ? size - at : step,
                                           sent + count, &leaves);
            sent[count] = '\0';
            assert_string_equal(sent, cases[i].sent);
            assert_int_equal(leaves, cases[i].leaves);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exec__has_the_streams_and_the_exit_code_of_the_command),
        cmocka_unit_test(exec__asks_again_for_what_was_lost),
        cmocka_unit_test(exec__says_why_it_was_refused_or_lost),
        cmocka_unit_test(exec__is_closed_by_ctrl_c),
        cmocka_unit_test(forward__needs_ports_and_a_job_that_runs),
        cmocka_unit_test(forward__prints_no_site_that_controls_the_terminal),
        cmocka_unit_test(run__interactive_takes_no_file_and_a_file_no_options_of_jobs),
        cmocka_unit_test(escape__leaves_only_at_the_begin_of_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
