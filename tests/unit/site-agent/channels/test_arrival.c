/*  test_arrival.c -- channels whose processes say when they are in their place: commands below a scheduler, and connections
 *  to ports. */
#include "tests/unit/site-agent/channels/channels_testing.h"

#include "federation/base/utf8.h"

/* ---- commands that a scheduler starts ------------------------------------------------------------------ */

static void announced__commands_are_open_once_they_are_in_their_place(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall->announced = true;
    for (uint64_t i = 1; i <= 2; i++) {
        seat_t *seat = &hall->seats[i - 1];
        bool terminal = i == 2;
        hall_shell(hall, i, (want_t){.terminal = terminal},
                   "echo noise >&2; sleep 0.1; printf 'helio: connec' >&2; sleep 0.1; printf 'ted\\nfirst\\n' >&2; "
                   "echo out; read x; exit 4");
        assert_false(seat->open);
        HALL_WAIT(hall,
                  seat->open && hall_says(&seat->out, "out") && hall_says(terminal ? &seat->out : &seat->err, "first"));
        assert_false(hall_says(&seat->out, "noise") || hall_says(&seat->err, "noise"));
        assert_false(hall_says(&seat->out, "connected") || hall_says(&seat->err, "connected"));
        hall_send(hall, i, HELIO_TEXT("\n"), false);
        HALL_WAIT(hall, seat->ended);
        assert_int_equal(seat->rc, HELIO_OK);
        assert_int_equal(seat->exit_code, 4);
    }
    hall_close(&hall);
}

static void announced__commands_that_never_arrive_say_why(void **state)
{
    (void)state;
    static const struct {
        bool terminal;
        const char *script, *says;
    } rows[] = {{false, "echo one >&2; echo srun: no such job >&2; exit 1", "srun: no such job"},
                {true, "echo one >&2; echo srun: no such job >&2; exit 1", "srun: no such job"},
                {false, "exit 9", "the site could not start it in the job (exit code 9)"},
                {false, "printf '\\377\\376\\303\\244\\n' >&2; exit 9", "??\303\244"},
                {true, "printf 'a\\033[2Jb\\302\\233c\\177' >&2; exit 9", "a?[2Jb?c?"},
                {false, "printf '\\303' >&2; exit 9", "?"}};
    hall_t *hall = hall_open();
    hall->announced = true;
    for (uint64_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hall_shell(hall, i + 1, (want_t){.terminal = rows[i].terminal}, rows[i].script);
        HALL_WAIT(hall, hall->seats[i].ended);
        assert_false(hall->seats[i].open);
        assert_int_equal(hall->seats[i].rc, HELIO_UNAVAILABLE);
        assert_string_equal(hall->seats[i].text, rows[i].says);
    }
    hall_close(&hall);
}

/*  Neither the message's bound nor a report that is too long cuts a character. */
static void announced__long_reasons_are_cut_between_characters(void **state)
{
    (void)state;
    hall_t *hall = hall_open();
    hall->announced = true;
    hall_shell(hall, 1, (want_t){0}, "for i in $(seq 400); do printf '\\303\\244' >&2; done; exit 9");
    hall_shell(hall, 2, (want_t){0}, "for i in $(seq 6000); do printf '\\303\\244' >&2; done; exit 9");
    for (int i = 0; i < 2; i++) {
        HALL_WAIT(hall, hall->seats[i].ended);
        assert_int_equal(hall->seats[i].rc, HELIO_UNAVAILABLE);
        assert_true(strlen(hall->seats[i].text) > 500);
        assert_true(helio_utf8_is_text(helio_text_of(hall->seats[i].text)));
    }
    assert_int_equal(strlen(hall->seats[0].text), 510);
    hall_close(&hall);
}

/* ---- ports --------------------------------------------------------------------------------------------- */

static void ports__are_open_once_they_are_connected_and_say_why_they_are_not(void **state)
{
    (void)state;
    static const char *connects[] = {"/bin/sh", "-c", "echo 'helio: connected' >&2; exec cat", NULL};
    static const char *fails[] = {
        "/bin/sh", "-c", "echo noise >&2; echo 'no process of the job listens on port 8888' >&2; exit 124", NULL};
    hall_t *hall = hall_open();
    hall_port_command[2] = fails[2];
    hall_ask(hall, 1, (want_t){.port = true}, NULL);
    assert_false(hall->seats[0].open);
    HALL_WAIT(hall, hall->seats[0].ended);
    assert_false(hall->seats[0].open);
    assert_int_equal(hall->seats[0].rc, HELIO_NOT_FOUND);
    assert_string_equal(hall->seats[0].text, "no process of the job listens on port 8888");
    hall_port_command[2] = connects[2];
    hall_ask(hall, 2, (want_t){.port = true}, NULL);
    hall_send(hall, 2, HELIO_TEXT("GET /"), false); /* may come before */
    HALL_WAIT(hall, hall->seats[1].open && hall_says(&hall->seats[1].out, "GET /"));
    assert_int_equal(hall->seats[1].err.size, 0);
    hall_send(hall, 2, (helio_text_t){0}, true);
    HALL_WAIT(hall, hall->seats[1].ended);
    assert_int_equal(hall->seats[1].rc, HELIO_OK);
    hall_close(&hall);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(announced__commands_are_open_once_they_are_in_their_place),
        cmocka_unit_test(announced__commands_that_never_arrive_say_why),
        cmocka_unit_test(announced__long_reasons_are_cut_between_characters),
        cmocka_unit_test(ports__are_open_once_they_are_connected_and_say_why_they_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
