/*  test_refusals.c -- what the broker logs when a site refused a job. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker/engine/refusals.h"
#include "federation/reason/detail.h"

typedef struct bed {
    int fds[2];
    helio_log_t *log;
    helio_log_limit_t limit;
    helio_arena_t *arena;
    char lines[16384];
} bed_t;

static bed_t bed;

static int begin(void **state)
{
    (void)state;
    bed = (bed_t){.arena = helio_arena_new()};
    if (pipe2(bed.fds, O_CLOEXEC | O_NONBLOCK))
        return -1;
    bed.log = helio_log_new(bed.fds[1], HELIO_INFO, "helio-broker");
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_log_destroy(&bed.log);
    (void)close(bed.fds[0]);
    (void)close(bed.fds[1]);
    helio_arena_destroy(&bed.arena);
    return 0;
}

/*  All that was logged since the last call. */
static const char *logged(void)
{
    ssize_t size = read(bed.fds[0], bed.lines, sizeof bed.lines - 1);
    bed.lines[size > 0 ? size : 0] = '\0';
    return bed.lines;
}

static helio_row_transition_t transition_of(helio_detail_t detail)
{
    helio_row_transition_t row = {.key = {{{1, 2, 3}}, 7},
                                  .epoch = 3,
                                  .from = HELIO_JOB_OFFERED,
                                  .to = HELIO_JOB_QUEUED,
                                  .actor = HELIO_TEXT("site:lulea")};
    helio_details_add(&row.why, bed.arena, detail);
    return row;
}

static void refusal__is_logged_with_code_site_job_and_attempt(void **state)
{
    (void)state;
    helio_row_transition_t row =
        transition_of(HELIO_DETAIL(bed.arena, HELIO_DETAIL_REFUSED, helio_value_string("NoUserMapping"),
                                   helio_value_string("no account for \"nlp\"\nforged=line")));
    char key[HELIO_KEY_SIZE], job[HELIO_KEY_SIZE + 8];
    helio_job_key_text(row.key, key);
    (void)snprintf(job, sizeof job, " job=%s ", key);
    helio_refusal_log(bed.log, &bed.limit, &row);
    const char *line = logged();
    assert_non_null(strstr(line, " warn site_refused code=\"NoUserMapping\" site=\"lulea\" "));
    assert_non_null(strstr(line, job));
    assert_non_null(strstr(line, " attempt=3 explanation=\""));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1); /* one line, whatever the site says */
}

static void refusal__of_an_older_agent_is_logged_without_a_code(void **state)
{
    (void)state;
    helio_row_transition_t row =
        transition_of(HELIO_DETAIL(bed.arena, HELIO_DETAIL_REFUSED_STATES, helio_value_string("full")));
    helio_refusal_log(bed.log, &bed.limit, &row);
    assert_non_null(strstr(logged(), " site_refused code=\"\" site=\"lulea\" "));
}

static void refusal__no_other_transition_logs_anything(void **state)
{
    (void)state;
    helio_row_transition_t row = transition_of(HELIO_DETAIL0(HELIO_DETAIL_SITE_BACK));
    helio_refusal_log(bed.log, &bed.limit, &row);
    assert_string_equal(logged(), "");
}

static void refusal__a_flood_is_cut_to_ten_lines_a_second(void **state)
{
    (void)state;
    helio_row_transition_t row =
        transition_of(HELIO_DETAIL(bed.arena, HELIO_DETAIL_REFUSED_STATES, helio_value_string("full")));
    uint32_t lines = 0;
    for (uint32_t i = 0; i < 50; i++)
        helio_refusal_log(bed.log, &bed.limit, &row);
    for (const char *at = logged(); (at = strchr(at, '\n')); at++)
        lines++;
    assert_in_range(lines, 10, 20); /* a second may have begun meanwhile */
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(refusal__is_logged_with_code_site_job_and_attempt),
        CASE(refusal__of_an_older_agent_is_logged_without_a_code),
        CASE(refusal__no_other_transition_logs_anything),
        CASE(refusal__a_flood_is_cut_to_ten_lines_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
