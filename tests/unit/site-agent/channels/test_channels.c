/*  test_channels.c -- the bytes of channels, their windows, and how they end. */
#include <sys/stat.h>

#include "tests/unit/site-agent/channels/channels_testing.h"

enum { MANY = 5 << 20 };

/* ---- bytes --------------------------------------------------------------------------------------------- */

static void channels__carry_a_command_with_its_streams_and_its_exit_code(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    hall_shell(hall, 1, (want_t){0}, "read line; echo out:$line; echo err:$line >&2; cat; exit 7");
    assert_true(seat->open && !seat->out.size); /* before anything else */
    hall_send(hall, 1, HELIO_TEXT("hello\nrest"), false);
    HALL_WAIT(hall, hall_says(&seat->out, "out:hello\n") && hall_says(&seat->err, "err:hello\n"));
    hall_send(hall, 1, HELIO_TEXT(" of it"), true);
    HALL_WAIT(hall, seat->ended);
    assert_int_equal(seat->rc, HELIO_OK);
    assert_int_equal(seat->exit_code, 7);
    assert_true(hall_says(&seat->out, "rest of it"));
    assert_string_equal(seat->text, "");
    assert_int_equal(helio_channels_count(hall->channels), 0);
    assert_string_equal(hall->program, "/bin/sh"); /* and none of its arguments */
    assert_int_equal(hall->notes, 2);
    hall_close(&hall);
}

static void channels__a_signal_is_an_exit_code_of_128_and_its_number(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall_shell(hall, 1, (want_t){0}, "kill -9 $$");
    HALL_WAIT(hall, hall->seats[0].ended);
    assert_int_equal(hall->seats[0].exit_code, 137);
    hall_close(&hall);
}

static void channels__a_program_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"/nowhere/at/all", NULL};
    hall_t *hall = hall_open();
    hall_ask(hall, 1, (want_t){0}, words);
    assert_true(hall->seats[0].ended && !hall->seats[0].open);
    assert_int_equal(hall->seats[0].rc, HELIO_IO);
    assert_non_null(strstr(hall->seats[0].text, "No such file"));
    hall_close(&hall);
}

/*  Five megabytes there and back, through windows of 256 KiB. */
static void channels__megabytes_pass_the_windows_unchanged(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    char *bytes = malloc(MANY);
    assert_non_null(bytes);
    for (size_t i = 0; i < MANY; i++)
        bytes[i] = (char)(i * 2654435761U >> 13);
    hall_shell(hall, 1, (want_t){0}, "cat");
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (seat->out.size < MANY) {
        assert_true(helio_clock_boot_ms() < until_ms);
        while (seat->sent < MANY && seat->sent - seat->taken < HELIO_CHANNEL_WINDOW) {
            size_t room = HELIO_CHANNEL_WINDOW - (size_t)(seat->sent - seat->taken), left = MANY - (size_t)seat->sent;
            size_t size = left < room ? left : room;
            size = size < HELIO_CHANNEL_DATA_MAX ? size : HELIO_CHANNEL_DATA_MAX;
            hall_send(hall, 1, (helio_text_t){bytes + seat->sent, (uint32_t)size}, seat->sent + size == MANY);
        }
        hall_turn(hall, 20);
        hall_confirm(hall);
    }
    HALL_WAIT(hall, seat->ended);
    assert_int_equal(seat->exit_code, 0);
    assert_int_equal(seat->out.size, MANY);
    assert_memory_equal(seat->out.data, bytes, MANY);
    assert_false(seat->overrun);
    free(bytes);
    hall_close(&hall);
}

static void channels__output_stops_at_the_window_until_it_is_taken(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    seat->unhearing = true;
    hall_shell(hall, 1, (want_t){0}, "head -c 600000 /dev/zero; echo end >&2");
    HALL_WAIT(hall, seat->out.size == HELIO_CHANNEL_WINDOW);
    for (int i = 0; i < 20; i++)
        hall_turn(hall, 5);
    assert_int_equal(seat->out.size, HELIO_CHANNEL_WINDOW);
    assert_true(helio_channels_next_ms(hall->channels) > helio_clock_boot_ms() + 1000); /* nothing is polled */
    seat->unhearing = false;
    HALL_WAIT(hall, seat->ended);
    assert_int_equal(seat->out.size, 600000);
    assert_false(seat->overrun);
    hall_close(&hall);
}

static void channels__a_program_that_does_not_read_is_sent_a_window_and_no_more(void **state)
{
    (void)state;
    static char piece[HELIO_CHANNEL_DATA_MAX];
    hall_t *hall = hall_open();
    hall_shell(hall, 1, (want_t){0}, "sleep 1000");
    for (int i = 0; i < HELIO_CHANNEL_WINDOW / HELIO_CHANNEL_DATA_MAX; i++) {
        hall_send(hall, 1, (helio_text_t){piece, sizeof piece}, false);
        hall_turn(hall, 0);
    }
    assert_false(hall->seats[0].ended);
    uint64_t room = HELIO_CHANNEL_WINDOW - (hall->seats[0].sent - hall->seats[0].taken);
    assert_true(room <= sizeof piece); /* what its pipe has taken */
    hall_send(hall, 1, (helio_text_t){piece, (uint32_t)room}, false);
    hall_turn(hall, 0);
    assert_false(hall->seats[0].ended);
    hall_send(hall, 1, (helio_text_t){piece, 1}, false); /* a broker that lies */
    HALL_WAIT(hall, hall->seats[0].ended);
    assert_int_equal(hall->seats[0].rc, HELIO_PROTOCOL);
    assert_non_null(strstr(hall->seats[0].text, "more input"));
    hall_close(&hall);
}

static void channels__input_for_a_program_that_closed_it_is_dropped(void **state)
{
    (void)state;
    static char piece[HELIO_CHANNEL_DATA_MAX];
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    hall_shell(hall, 1, (want_t){0}, "exec <&-; echo closed; sleep 1000");
    HALL_WAIT(hall, hall_says(&seat->out, "closed"));
    for (int i = 0; i < 20; i++) {
        hall_send(hall, 1, (helio_text_t){piece, sizeof piece}, false);
        HALL_WAIT(hall, seat->sent - seat->taken < HELIO_CHANNEL_WINDOW / 2);
    }
    assert_false(seat->ended);
    hall_close(&hall);
}

/* ---- terminals ----------------------------------------------------------------------------------------- */

static void terminals__have_a_size_that_changes_and_a_session(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    hall_shell(hall, 1, (want_t){.terminal = true, .rows = 31, .columns = 101},
               "tty; stty size; trap 'stty size; exit 3' WINCH; echo ready; while :; do read x; done");
    HALL_WAIT(hall, hall_says(&seat->out, "ready"));
    assert_true(hall_says(&seat->out, "/dev/pts/") && hall_says(&seat->out, "31 101"));
    helio_msg_channel_input_t size = {.channel = 1, .rows = 44, .columns = 132, .received = seat->received};
    helio_channels_input(hall->channels, &size);
    hall_send(hall, 1, HELIO_TEXT("\n"), false);
    HALL_WAIT(hall, seat->ended);
    assert_true(hall_says(&seat->out, "44 132"));
    assert_int_equal(seat->exit_code, 3);
    hall_close(&hall);
}

static void terminals__pass_keys_on_as_signals_and_as_the_end_of_input(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    hall_shell(
        hall, 1, (want_t){.terminal = true},
        "trap 'echo interrupted; over=1' INT; echo ready; while ! test \"$over\"; do sleep 0.05; done; cat; echo over");
    HALL_WAIT(hall, hall_says(&seat->out, "ready"));
    hall_send(hall, 1, HELIO_TEXT("\003"), false);
    HALL_WAIT(hall, hall_says(&seat->out, "interrupted"));
    hall_send(hall, 1, HELIO_TEXT("a line without an end"), true);
    HALL_WAIT(hall, seat->ended);
    assert_true(hall_says(&seat->out, "over"));
    assert_int_equal(seat->exit_code, 0);
    hall_close(&hall);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

static bool lives(long pid)
{
    return pid > 0 && kill((pid_t)pid, 0) == 0;
}

static long number_in(const helio_buffer_t *buffer)
{
    char text[32] = "";
    (void)helio_text_copy(helio_buffer_view(buffer), text, sizeof text);
    return strtol(text, NULL, 10);
}

static void channels__a_close_ends_a_program_that_ignores_every_polite_signal(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    seat_t *seat = &hall->seats[0];
    hall_shell(hall, 1, (want_t){0}, "trap '' HUP TERM PIPE; echo $$; while :; do sleep 1; done");
    HALL_WAIT(hall, hall_says(&seat->out, "\n"));
    long pid = number_in(&seat->out);
    assert_true(lives(pid));
    int64_t began_ms = helio_clock_boot_ms();
    helio_channels_close(hall->channels, 1);
    assert_int_equal(helio_channels_count(hall->channels), 1); /* it counts until it is gone */
    HALL_WAIT(hall, helio_channels_count(hall->channels) == 0);
    int64_t took_ms = helio_clock_boot_ms() - began_ms;
    assert_true(took_ms >= 7000 && took_ms < 20000);
    assert_false(lives(pid));
    assert_false(seat->ended); /* whoever closes it knows */
    hall_close(&hall);
}

static void channels__a_close_gives_a_program_the_time_to_hear_hangup_and_term(void **state)
{
    (void)state;
    char path[] = "/tmp/helio-channels-XXXXXX", script[200];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    hall_t *hall = hall_open();
    (void)snprintf(
        script, sizeof script,
        "exec 2>/dev/null; trap 'echo hup >> %s' HUP; trap 'echo term >> %s; exit' TERM; echo ready; while :; do sleep 0.1; done",
        path, path);
    hall_shell(hall, 1, (want_t){0}, script);
    HALL_WAIT(hall, hall_says(&hall->seats[0].out, "ready"));
    helio_channels_close(hall->channels, 1);
    HALL_WAIT(hall, helio_channels_count(hall->channels) == 0);
    char text[64] = "";
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_string_equal(text, "hup\nterm\n");
    (void)close(fd);
    (void)unlink(path);
    hall_close(&hall);
}

static void channels__end_by_their_limit_and_when_they_carry_nothing(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall_shell(hall, 1, (want_t){.limit_ms = 300}, "while :; do echo x; sleep 0.05; done");
    hall_shell(hall, 2, (want_t){.idle_ms = 300}, "sleep 1000");
    hall_shell(hall, 3, (want_t){.idle_ms = 400}, "while :; do echo x; sleep 0.05; done");
    HALL_WAIT(hall, hall->seats[0].ended && hall->seats[1].ended);
    assert_int_equal(hall->seats[0].rc, HELIO_TIMEOUT);
    assert_non_null(strstr(hall->seats[0].text, "time limit"));
    assert_int_equal(hall->seats[1].rc, HELIO_TIMEOUT);
    assert_non_null(strstr(hall->seats[1].text, "carried nothing"));
    assert_false(hall->seats[2].ended);
    hall->options.limit_ms = 200; /* the site's own, which the broker cannot exceed */
    hall_renew(hall);
    hall_shell(hall, 4, (want_t){.limit_ms = 1000000}, "sleep 1000");
    HALL_WAIT(hall, hall->seats[3].ended);
    assert_int_equal(hall->seats[3].rc, HELIO_TIMEOUT);
    hall_close(&hall);
}

static void channels__end_with_their_attempt(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall_shell(hall, 1, (want_t){0}, "trap 'echo bye; exit 5' HUP; echo ready; while :; do sleep 0.05; done");
    HALL_WAIT(hall, hall_says(&hall->seats[0].out, "ready"));
    helio_channels_attempt_over(hall->channels, (helio_job_key_t){0}, 2); /* another epoch */
    for (int i = 0; i < 10; i++)
        hall_turn(hall, 5);
    assert_false(hall->seats[0].ended);
    helio_channels_attempt_over(hall->channels, (helio_job_key_t){0}, 1);
    HALL_WAIT(hall, hall->seats[0].ended);
    assert_int_equal(hall->seats[0].rc, HELIO_NOT_FOUND);
    assert_string_equal(hall->seats[0].text, "the attempt has ended");
    assert_true(hall_says(&hall->seats[0].out, "bye"));
    hall_close(&hall);
}

static void channels__of_a_former_session_are_silent_and_their_numbers_free(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall_shell(hall, 1, (want_t){0}, "trap '' HUP; echo ready; sleep 1; echo more");
    HALL_WAIT(hall, hall_says(&hall->seats[0].out, "ready"));
    helio_channels_session_over(hall->channels);
    hall->seats[0].open = false;
    hall->seats[0].came = hall->seats[0].received = 0;
    helio_buffer_reset(&hall->seats[0].out);
    hall_shell(hall, 1, (want_t){0}, "echo new");
    HALL_WAIT(hall, hall->seats[0].ended && helio_channels_count(hall->channels) == 0);
    assert_int_equal(hall->seats[0].out.size, 4);
    assert_true(hall_says(&hall->seats[0].out, "new\n"));
    hall_close(&hall);
}

static void channels__end_when_the_connection_takes_nothing(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall_shell(hall, 1, (want_t){0}, "sleep 0.1; while :; do echo x; done");
    hall->output_rc = HELIO_BUSY;
    HALL_WAIT(hall, hall->seats[0].ended);
    assert_int_equal(hall->seats[0].rc, HELIO_UNAVAILABLE);
    hall_close(&hall);
}

/* ---- fairness and bounds ------------------------------------------------------------------------------- */

static void channels__a_flood_takes_turns_with_others(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    for (uint64_t i = 1; i <= 4; i++) {
        hall_shell(hall, i, (want_t){0}, "exec cat /dev/zero");
        hall->seats[i - 1].keep = 1;
    }
    hall_shell(hall, 5, (want_t){0}, "read x; echo heard $x");
    int64_t longest_ms = 0, until_ms = helio_clock_boot_ms() + 500;
    while (helio_clock_boot_ms() < until_ms) {
        int64_t began_ms = helio_clock_boot_ms();
        hall_turn(hall, 20);
        int64_t took_ms = helio_clock_boot_ms() - began_ms;
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
        hall_confirm(hall);
    }
    hall_send(hall, 5, HELIO_TEXT("you\n"), false);
    uint64_t before = hall->seats[0].came;
    HALL_WAIT(hall, hall->seats[4].ended);
    assert_true(hall_says(&hall->seats[4].out, "heard you"));
    assert_true(hall->seats[0].came - before < 64U << 20);
    for (int i = 0; i < 4; i++) {
        assert_true(hall->seats[i].came > HELIO_CHANNEL_WINDOW);
        assert_false(hall->seats[i].overrun);
    }
    assert_true(longest_ms < 1000); /* far above what half a megabyte takes */
    hall_close(&hall);
}

/*  A client that confirms nothing, and programs that write byte by byte. */
static void channels__many_small_messages_are_gathered(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall->seats[0].unhearing = true;
    hall_shell(hall, 1, (want_t){0},
               "i=0; while [ $i -lt 20000 ]; do echo x; i=$((i+1)); done; echo done >&2; sleep 1000");
    HALL_WAIT(hall, hall_says(&hall->seats[0].err, "done") && hall->seats[0].out.size == 40000);
    assert_true(hall->seats[0].messages < 400);
    hall_close(&hall);
}

static void channels__ten_thousand_openings_make_no_more_than_the_site_allows(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    for (uint64_t i = 1; i <= 10000; i++)
        hall_shell(hall, i, (want_t){0}, "sleep 1000");
    assert_int_equal(helio_channels_count(hall->channels), 8);
    assert_int_equal(hall->entered, 8);
    assert_int_equal(hall->ends, 10000 - 8);
    assert_int_equal(hall->seats[8].rc, HELIO_BUSY);
    assert_non_null(strstr(hall->seats[8].text, "8 channels"));
    hall_close(&hall);
}

static void channels__a_broker_that_lies_is_answered_or_ignored(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall_send(hall, 9, HELIO_TEXT("x"), false); /* of no channel */
    assert_true(hall->seats[8].ended);
    assert_int_equal(hall->seats[8].rc, HELIO_NOT_FOUND);
    helio_channels_close(hall->channels, 77);
    hall_shell(hall, 0, (want_t){0}, "true"); /* a number that means nothing */
    assert_int_equal(helio_channels_count(hall->channels), 0);
    hall_shell(hall, 1, (want_t){0}, "sleep 1000");
    hall->seats[0].received = 1; /* what was never sent */
    hall_send(hall, 1, (helio_text_t){0}, false);
    HALL_WAIT(hall, hall->seats[0].ended);
    assert_int_equal(hall->seats[0].rc, HELIO_PROTOCOL);
    const char nul[] = "a\0b";
    helio_argument_t words[] = {{HELIO_TEXT("/bin/echo")}, {{nul, 3}}};
    helio_msg_channel_open_t message = {.channel = 2, .epoch = 1, .command = {words, 2}};
    helio_channels_open(hall->channels, &message);
    assert_int_equal(hall->seats[1].rc, HELIO_INVALID);
    hall_shell(hall, 3, (want_t){.epoch = 2}, "true"); /* an attempt that does not run here */
    assert_int_equal(hall->seats[2].rc, HELIO_NOT_FOUND);
    hall_close(&hall);
}

static void channels__only_what_the_site_allows_is_opened(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall->options.kinds = 1U << HELIO_CHANNEL_KIND_PORT;
    hall_renew(hall);
    hall_shell(hall, 1, (want_t){0}, "true");
    assert_int_equal(hall->seats[0].rc, HELIO_FORBIDDEN);
    assert_non_null(strstr(hall->seats[0].text, "does not allow commands"));
    hall->options.kinds = 0;
    hall_renew(hall);
    hall_ask(hall, 2, (want_t){.port = true}, NULL);
    assert_int_equal(hall->seats[1].rc, HELIO_FORBIDDEN);
    assert_int_equal(hall->entered, 0);
    hall_close(&hall);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels__carry_a_command_with_its_streams_and_its_exit_code),
        cmocka_unit_test(channels__a_signal_is_an_exit_code_of_128_and_its_number),
        cmocka_unit_test(channels__a_program_that_does_not_exist_is_refused),
        cmocka_unit_test(channels__megabytes_pass_the_windows_unchanged),
        cmocka_unit_test(channels__output_stops_at_the_window_until_it_is_taken),
        cmocka_unit_test(channels__a_program_that_does_not_read_is_sent_a_window_and_no_more),
        cmocka_unit_test(channels__input_for_a_program_that_closed_it_is_dropped),
        cmocka_unit_test(terminals__have_a_size_that_changes_and_a_session),
        cmocka_unit_test(terminals__pass_keys_on_as_signals_and_as_the_end_of_input),
        cmocka_unit_test(channels__a_close_ends_a_program_that_ignores_every_polite_signal),
        cmocka_unit_test(channels__a_close_gives_a_program_the_time_to_hear_hangup_and_term),
        cmocka_unit_test(channels__end_by_their_limit_and_when_they_carry_nothing),
        cmocka_unit_test(channels__end_with_their_attempt),
        cmocka_unit_test(channels__of_a_former_session_are_silent_and_their_numbers_free),
        cmocka_unit_test(channels__end_when_the_connection_takes_nothing),
        cmocka_unit_test(channels__a_flood_takes_turns_with_others),
        cmocka_unit_test(channels__many_small_messages_are_gathered),
        cmocka_unit_test(channels__ten_thousand_openings_make_no_more_than_the_site_allows),
        cmocka_unit_test(channels__a_broker_that_lies_is_answered_or_ignored),
        cmocka_unit_test(channels__only_what_the_site_allows_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
