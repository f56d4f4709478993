/*  test_presence.c -- what the broker logs when sites connect, become silent, and return. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker/engine/presence.h"

enum { SINCE = 1000000, SILENT_AFTER = 60000 };

static int fds[2];
static helio_log_t *broker_log;
static helio_presence_t *presence;

static int begin(void **state)
{
    (void)state;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
        return -1;
    broker_log = helio_log_new(fds[1], HELIO_INFO, "helio-broker");
    presence = helio_presence_new(SINCE, SILENT_AFTER);
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_presence_destroy(&presence);
    assert_null(presence);
    helio_log_destroy(&broker_log);
    (void)close(fds[0]);
    (void)close(fds[1]);
    return 0;
}

/*  What the row logs at that time, behind the time and the program: "info site_connected site=…"; "" = nothing. */
static const char *logs_at(int64_t wall_ms, const char *site, uint32_t site_state, int64_t seen_ms)
{
    static char line[4096];
    helio_row_site_t row = {
        .site = helio_text_of(site), .state = site_state, .seen_ms = seen_ms, .agent_version = HELIO_TEXT("1.2")};
    helio_presence_log(presence, broker_log, &row, wall_ms);
    ssize_t size = read(fds[0], line, sizeof line - 1);
    line[size > 0 ? size : 0] = '\0';
    const char *event = strstr(line, " info ");
    event = event ? event : strstr(line, " warn ");
    return event ? event + 1 : line;
}

/*  Silent: for as long as the core waits. Any other row is written when the site was heard. */
static const char *logs(const char *site, uint32_t site_state, int64_t seen_ms)
{
    int64_t heard_ms = seen_ms > SINCE ? seen_ms : SINCE;
    bool silent = site_state == HELIO_SITE_STATE_SILENT;
    return logs_at(heard_ms + (silent ? SILENT_AFTER : 0), site, site_state, seen_ms);
}

static void site__connects_becomes_silent_and_returns(void **state)
{
    (void)state;
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_NEW, SINCE + 1), "");
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_READY, SINCE + 1),
                        "info site_connected site=\"lulea\" release=\"1.2\" not_logged=0\n");
    for (int i = 2; i < 100; i++) /* the row that is written every five seconds */
        assert_string_equal(logs("lulea", HELIO_SITE_STATE_READY, SINCE + i), "");
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_SILENT, SINCE + 100),
                        "warn site_silent site=\"lulea\" not_logged=0\n");
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_SILENT, SINCE + 100), "");
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_LOST, SINCE + 100), ""); /* attested: the audit has that */
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_READY, SINCE + 200),
                        "info site_returned site=\"lulea\" release=\"1.2\" not_logged=0\n");
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_SILENT, SINCE + 300),
                        "warn site_silent site=\"lulea\" not_logged=0\n");
}

static void site__of_the_former_leader_connects_when_it_is_heard(void **state)
{
    (void)state;
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_READY, SINCE - 1), ""); /* as when it is drained meanwhile */
    assert_string_equal(logs("lulea", HELIO_SITE_STATE_READY, 0), "");
    assert_non_null(strstr(logs("lulea", HELIO_SITE_STATE_READY, SINCE), "site_connected"));
    assert_non_null(strstr(logs("oregon", HELIO_SITE_STATE_SILENT, SINCE - 1), "site_silent")); /* it never came */
    assert_non_null(strstr(logs("oregon", HELIO_SITE_STATE_READY, SINCE + 9), "site_returned"));
}

/*  The rows of HELLO and of the inventory, milliseconds later; and those of keys and drains before it comes. */
static void new_leader__calls_no_site_silent_before_it_could_have_been(void **state)
{
    (void)state;
    assert_string_equal(logs_at(SINCE + 20, "lulea", HELIO_SITE_STATE_SILENT, SINCE - 500), ""); /* it is drained */
    assert_string_equal(logs_at(SINCE + 900, "lulea", HELIO_SITE_STATE_SILENT, SINCE + 900), "");
    assert_string_equal(logs_at(SINCE + 910, "lulea", HELIO_SITE_STATE_READY, SINCE + 905),
                        "info site_connected site=\"lulea\" release=\"1.2\" not_logged=0\n");
    assert_string_equal(logs_at(SINCE + 20, "oregon", HELIO_SITE_STATE_SILENT, SINCE - 59000), ""); /* and heard soon */
    assert_string_equal(logs_at(SINCE + SILENT_AFTER / 2 - 1, "oregon", HELIO_SITE_STATE_SILENT, SINCE - 59000), "");
    assert_string_equal(logs_at(SINCE + SILENT_AFTER, "oregon", HELIO_SITE_STATE_SILENT, SINCE - 59000),
                        "warn site_silent site=\"oregon\" not_logged=0\n");
    assert_string_equal(logs_at(SINCE + 70000, "oregon", HELIO_SITE_STATE_SILENT, SINCE + 70000),
                        ""); /* it says HELLO */
    assert_non_null(
        strstr(logs_at(SINCE + 70010, "oregon", HELIO_SITE_STATE_READY, SINCE + 70005), "info site_returned"));
}

static void sites__are_told_apart_and_names_are_quoted(void **state)
{
    (void)state;
    char longest[HELIO_SITE_NAME_MAX + 1];
    memset(longest, 'a', HELIO_SITE_NAME_MAX);
    longest[HELIO_SITE_NAME_MAX] = '\0';
    assert_non_null(strstr(logs("lule", HELIO_SITE_STATE_READY, SINCE), "site=\"lule\""));
    assert_non_null(strstr(logs("lulea", HELIO_SITE_STATE_READY, SINCE), "site=\"lulea\""));
    assert_non_null(strstr(logs(longest, HELIO_SITE_STATE_READY, SINCE), longest));
    assert_string_equal(logs(longest, HELIO_SITE_STATE_READY, SINCE), "");
    assert_string_equal(logs("lule", HELIO_SITE_STATE_READY, SINCE), "");
    const char *forged = logs("x\"\nwarn forged", HELIO_SITE_STATE_READY, SINCE);
    assert_ptr_equal(strchr(forged, '\n'), forged + strlen(forged) - 1); /* one line, whatever the name */
}

static void flapping__is_cut_to_ten_lines_a_second(void **state)
{
    (void)state;
    uint32_t lines = 0;
    for (int i = 0; i < 200; i++)
        lines += logs("lulea", i % 2 ? HELIO_SITE_STATE_SILENT : HELIO_SITE_STATE_READY, SINCE)[0] != '\0';
    assert_in_range(lines, 10, 30); /* seconds may have begun meanwhile */
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(site__connects_becomes_silent_and_returns),
        CASE(site__of_the_former_leader_connects_when_it_is_heard),
        CASE(new_leader__calls_no_site_silent_before_it_could_have_been),
        CASE(sites__are_told_apart_and_names_are_quoted),
        CASE(flapping__is_cut_to_ten_lines_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
