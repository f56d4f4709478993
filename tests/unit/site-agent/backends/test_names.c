#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/backend.h"
#include "site-agent/shim/plan.h"

static const helio_uuid_t job = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}};

static void names__round_trip_at_every_bound(void **state)
{
    (void)state;
    const struct {
        int32_t task;
        uint32_t epoch;
    } rows[] = {{HELIO_NO_TASK, 1}, {HELIO_NO_TASK, UINT32_MAX}, {0, 0}, {7, 12}, {INT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[HELIO_ATTEMPT_NAME_SIZE];
        helio_job_key_t key = {job, rows[i].task}, again;
        uint32_t epoch;
        helio_attempt_name(key, rows[i].epoch, name);
        assert_true(strlen(name) < sizeof name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
        assert_int_equal(helio_attempt_name_parse(helio_text_of(name), &again, &epoch), HELIO_OK);
        assert_true(helio_job_key_equal(key, again));
        assert_true(epoch == rows[i].epoch);
    }
}

static void names__of_foreign_jobs_are_refused(void **state)
{
    (void)state;
    char good[HELIO_ATTEMPT_NAME_SIZE], bad[HELIO_ATTEMPT_NAME_SIZE + 8];
    helio_job_key_t key = {job, 3}, again;
    uint32_t epoch = 77;
    helio_attempt_name(key, 9, good);
    for (size_t cut = 0; cut < strlen(good) - 3; cut++) /* shorter ones are names of other attempts */
        assert_int_equal(helio_attempt_name_parse((helio_text_t){good, (uint32_t)cut}, &again, &epoch), HELIO_INVALID);
    const char *tails[] = {"-", " ", "x", "-x", "0", "-1", "-4294967296", "/..", "\n"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        bool number = tails[i][0] == '0'; /* "…-90" is a good name */
        (void)snprintf(bad, sizeof bad, "%s%s", good, tails[i]);
        assert_int_equal(helio_attempt_name_parse(helio_text_of(bad), &again, &epoch),
                         number ? HELIO_OK : HELIO_INVALID);
    }
    epoch = 77;
    good[7] = (char)(good[7] >= 'a' ? good[7] - 32 : good[7]);
    (void)snprintf(bad, sizeof bad, "Helio%s", good + 5);
    assert_int_equal(helio_attempt_name_parse(helio_text_of(bad), &again, &epoch), HELIO_INVALID);
    (void)snprintf(bad, sizeof bad, "%.*s-03-9", 6 + HELIO_ID_CHARS, good);
    assert_int_equal(helio_attempt_name_parse(helio_text_of(bad), &again, &epoch), HELIO_INVALID);
    assert_int_equal(epoch, 77);
}

static void status_files__that_are_truncated_are_never_accepted(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_done_t done = {.exit_code = 3, .run_ms = 12, .cause = HELIO_CAUSE_START_FAILED, .explanation = "two\nlines"},
                 again;
    helio_done_text(&done, &text);
    assert_int_equal(helio_done_parse(helio_buffer_view(&text), &again), HELIO_OK);
    assert_int_equal(again.exit_code, 3);
    assert_int_equal(again.cause, HELIO_CAUSE_START_FAILED);
    assert_string_equal(again.explanation, "two lines");
    for (uint32_t cut = 0; cut + 5 < text.size; cut++)
        assert_int_equal(helio_done_parse((helio_text_t){text.data, cut}, &again), HELIO_INVALID);

    helio_plan_t plan = {.uid = 1, .gid = 2, .workdir = HELIO_TEXT("/w"), .rank_count = 2}, read;
    plan.ranks[1] = HELIO_TEXT("0,1");
    helio_buffer_reset(&text);
    helio_plan_text(&plan, &text);
    assert_int_equal(helio_plan_parse(helio_buffer_view(&text), &read, NULL), HELIO_OK);
    assert_int_equal(read.rank_count, 2);
    assert_true(helio_text_is(read.ranks[1], "0,1"));
    for (uint32_t cut = 0; cut + 5 < text.size; cut++)
        assert_int_equal(helio_plan_parse((helio_text_t){text.data, cut}, &read, NULL), HELIO_INVALID);
}

static void status_files__with_hostile_numbers_are_refused(void **state)
{
    (void)state;
    const char *bad[] = {"", "-", "1x", " 1", "99999999999999999999", "9223372036854775808", "0x1", "+1"};
    int64_t value = 5;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(helio_status_file_number(helio_text_of(bad[i]), INT64_MIN + 1, INT64_MAX, &value));
    assert_int_equal(value, 5);
    assert_true(helio_status_file_number(HELIO_TEXT("-7"), -7, 7, &value));
    assert_int_equal(value, -7);
    assert_false(helio_status_file_number(HELIO_TEXT("8"), -7, 7, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__round_trip_at_every_bound),
        cmocka_unit_test(names__of_foreign_jobs_are_refused),
        cmocka_unit_test(status_files__that_are_truncated_are_never_accepted),
        cmocka_unit_test(status_files__with_hostile_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
