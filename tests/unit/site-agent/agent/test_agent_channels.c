/*  test_agent_channels.c -- channels from the broker through the whole agent and back. */
#include "federation/reason/codes.h"
#include "tests/unit/site-agent/agent/agent_testing.h"

#include <signal.h>

static void ask(uint64_t channel, uint32_t epoch, const char *script)
{
    helio_argument_t words[] = {{HELIO_TEXT("/opt/tool")}, {helio_text_of(script)}};
    helio_msg_channel_open_t open = {.channel = channel, .key = key_of(1), .epoch = epoch, .command = {words, 2}};
    say(HELIO_MSG_CHANNEL_OPEN, &open);
}

static void run_job(void)
{
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    turn_until(&world.report_count, 3);
}

static void channels__reach_an_attempt_that_runs_and_are_logged_without_arguments(void **state)
{
    (void)state;
    run_job();
    ask(1, 1, "read x; echo got $x; exit 6");
    turn_until(&world.outputs, 1);
    assert_int_equal(world.output.size, 0); /* it is open */
    helio_msg_channel_input_t input = {.channel = 1, .data = HELIO_TEXT("the word\n")};
    say(HELIO_MSG_CHANNEL_INPUT, &input);
    turn_until(&world.ends, 1);
    assert_int_equal(world.end_rc, HELIO_OK);
    assert_int_equal(world.end_exit, 6);
    assert_true(helio_text_is(helio_buffer_view(&world.output), "got the word\n"));
    assert_int_equal(logged("channel_open"), 1);
    assert_int_equal(logged("channel_end"), 1);
    assert_int_equal(logged("got $x"), 0);
    assert_int_equal(logged("the word"), 0);
    assert_int_equal(logged("user=ada"), 2);
    assert_int_equal(logged("program=\"/opt/tool\""), 2);
}

static void channels__of_attempts_that_do_not_run_are_refused(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    ask(1, 1, "true");
    turn_until(&world.ends, 1);
    assert_int_equal(world.end_rc, HELIO_NOT_FOUND);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    ask(2, 1, "true");
    turn_until(&world.ends, 2);
    assert_int_equal(world.end_rc, HELIO_UNAVAILABLE);
    assert_string_equal(world.end_text, "the attempt has not started yet");
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    turn_until(&world.report_count, 3);
    ask(3, 2, "true"); /* another epoch */
    turn_until(&world.ends, 3);
    assert_int_equal(world.end_rc, HELIO_NOT_FOUND);
}

static void channels__end_with_their_attempt_and_with_the_session(void **state)
{
    (void)state;
    run_job();
    ask(1, 1, "sleep 1000");
    turn_until(&world.outputs, 1);
    ask(2, 1, "sleep 1000");
    turn_until(&world.outputs, 2);
    helio_msg_channel_close_t close_it = {2};
    say(HELIO_MSG_CHANNEL_CLOSE, &close_it);
    tell(1, HELIO_BACKEND_REPORT_ENDED, 0);
    turn_until(&world.ends, 1);
    assert_int_equal(world.end_rc, HELIO_NOT_FOUND);
    assert_string_equal(world.end_text, "the attempt has ended");
    turn_until(&world.report_count, 4);
}

/*  The process of a channel ends though its agent is told nothing: the broker is gone. */
static void channels__end_when_the_broker_is_gone(void **state)
{
    (void)state;
    run_job();
    ask(1, 1, "echo $$; exec sleep 1000");
    turn_until(&world.outputs, 2);
    long pid = strtol(world.output.data, NULL, 10);
    assert_true(pid > 1 && kill((pid_t)pid, 0) == 0);
    helio_server_destroy(&world.server);
    int64_t until_ms = helio_clock_boot_ms() + 20000;
    while (kill((pid_t)pid, 0) == 0) {
        assert_true(helio_clock_boot_ms() < until_ms);
        assert_int_equal(helio_agent_turn(world.agent, 50, NULL), HELIO_OK);
    }
}

static void channels__are_told_in_the_profile(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    assert_int_equal(world.channels, 3);
    end_agent();
    helio_string_t none = {HELIO_TEXT("none")};
    world.settings.channels.allow.items = &none;
    world.settings.channels.allow.count = 1;
    world.settings.channels.allow_given = true;
    start_agent();
    turn_until(&world.hellos, 2);
    assert_int_equal(world.channels, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(channels__reach_an_attempt_that_runs_and_are_logged_without_arguments, begin,
                                        end),
        cmocka_unit_test_setup_teardown(channels__of_attempts_that_do_not_run_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(channels__end_with_their_attempt_and_with_the_session, begin, end),
        cmocka_unit_test_setup_teardown(channels__end_when_the_broker_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(channels__are_told_in_the_profile, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
