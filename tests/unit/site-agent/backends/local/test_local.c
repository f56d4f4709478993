/*  test_local.c -- attempts that succeed, or fail by themselves, with the real shim. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "federation/base/clock.h"
#include "site-agent/backends/folder/folder.h"
#include "site-agent/shim/variables.h"
#include "tests/support/local_fixture.h"

static void expect_end(const heard_t *heard, int exit_code)
{
    if (heard->event.word != HELIO_BACKEND_REPORT_ENDED)
        fail_msg("%s (%s) instead of an end", helio_backend_report_name(heard->event.word), heard->explanation);
    assert_int_equal(heard->event.exit_code, exit_code);
}

static void local__ends_carry_the_exit_code(void **state)
{
    (void)state;
    const struct {
        const char *run;
        int exit_code;
    } rows[] = {{"true", 0},
                {"echo good; exit 3", 3},
                {"kill -9 $$", 137},
                {"kill -TERM $$", 143},
                {"#!/bin/sh\nexit 9", 9},
                {"#!/no/such/interpreter\n", 127}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        site_t site = {0};
        site_open(&site);
        attempt_t attempt = {.run = rows[i].run};
        int64_t before_ms = helio_clock_wall_ms();
        site_start(&site, &attempt);
        assert_int_equal(site.heard_count, 0); /* nothing is said from within start */
        const heard_t *end = site_wait(&site, 2);
        assert_int_equal(site.heard[0].event.word, HELIO_BACKEND_REPORT_STARTED);
        expect_end(end, rows[i].exit_code);
        assert_false(end->event.stopped);
        assert_false(end->event.limit_reached);
        assert_true(end->event.started_wall_ms >= before_ms - 1000);
        assert_true(end->event.ended_wall_ms >= end->event.started_wall_ms);
        assert_true(end->event.run_ms < 10000);
        assert_true(helio_job_key_equal(end->event.key, site_key()));
        assert_memory_equal(end->local_id, "helio-", 6);
        site_close(&site);
    }
}

static void local__output_is_read_in_pieces_with_an_end(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo out; echo err >&2; head -c 5000 /dev/zero | tr '\\0' x"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    site_log(&site, 1, &log);
    assert_int_equal(log.size, 8 + 5000);
    assert_memory_equal(log.data, "out\nerr\nxxx", 11);
    uint64_t next = 0;
    bool end = false;
    helio_rc rc = site.backend->class->log_read(site.backend, site_key(), 1, 5008, 10, &log, &next, &end, NULL);
    assert_int_equal(rc, HELIO_OK);
    assert_true(end && next == 5008);
    rc = site.backend->class->log_read(site.backend, site_key(), 2, 0, 10, &log, &next, &end, NULL);
    assert_int_equal(rc, HELIO_NOT_FOUND);
    site_close(&site);
}

static void local__output_beyond_the_bound_is_dropped_with_a_line_that_says_so(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    site.rules.log_max_bytes = 1000;
    site_reopen(&site);
    attempt_t attempt = {.run = "head -c 3000000 /dev/zero | tr '\\0' x; exit 4"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 4);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    site_log(&site, 1, &log);
    assert_true(log.size > 1000 && log.size < 1200);
    assert_non_null(strstr(log.data, "bound of 1000 bytes"));
    site_close(&site);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void local__environment_is_exactly_the_documented_one(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    assert_int_equal(setenv("CANARY_OF_THE_AGENT", "1", 1), 0);
    helio_pair_t env[] = {{HELIO_TEXT("LR"), HELIO_TEXT("1e-4")},
                          {HELIO_TEXT("LANG"), HELIO_TEXT("de_DE.UTF-8")},
                          {HELIO_TEXT("HELIO_EPOCH"), HELIO_TEXT("99")},
                          {HELIO_TEXT("ODD"), HELIO_TEXT("a b\n$(id)\"'")}};
    uint32_t gpus[] = {2, 5};
    attempt_t attempt = {.run = "#!/bin/cat /proc/self/environ\n", .epoch = 4, .slot_count = 1};
    attempt.order.key.task = 17;
    attempt.order.resume = true;
    attempt.spec.env.items = env;
    attempt.spec.env.count = 4;
    attempt.slots[0].gpus.items = gpus;
    attempt.slots[0].gpus.count = 2;
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);

    helio_job_key_t key = site_key();
    key.task = 17;
    char name[HELIO_ATTEMPT_NAME_SIZE], id[HELIO_ID_SIZE], path[512], want[20][256];
    helio_attempt_name(key, 4, name);
    helio_uuid_text(key.job, id);
    uint32_t count = 0;
#define WANT(...) (void)snprintf(want[count++], sizeof want[0], __VA_ARGS__)
    WANT("CUDA_VISIBLE_DEVICES=2,5");
    WANT("HELIO_ARRAY_INDEX=17");
    WANT("HELIO_CHECKPOINT_DIR=%s/checkpoints/helio-%s-17", site.dir, id);
    WANT("HELIO_EPOCH=4");
    WANT("HELIO_GPUS=2");
    WANT("HELIO_HOSTS=localhost");
    WANT("HELIO_JOB_ID=%s", id);
    WANT("HELIO_NODES=1");
    WANT("HELIO_NODE_RANK=0");
    WANT("HELIO_OUTPUT_DIR=%s/output/%s", site.dir, name);
    WANT("HELIO_REPORT=%s/attempts/%s/report", site.dir, name);
    WANT("HELIO_RESUME=1");
    WANT("HELIO_SITE=lulea");
    uint32_t home = count;
    WANT("HOME=");
    WANT("LANG=de_DE.UTF-8");
    WANT("LR=1e-4");
    WANT("ODD=a b\n$(id)\"'");
    WANT("PATH=/usr/bin:/bin");
    WANT("USER=%s", site.self_name);
    for (uint32_t i = 0; i < count; i++) { /* docs/reference/environment.md tells of all but the job's own */
        bool own = strncmp(want[i], "LR=", 3) == 0 || strncmp(want[i], "ODD=", 4) == 0;
        helio_text_t variable = {want[i], (uint32_t)strcspn(want[i], "=")};
        assert_true(own == (helio_variable_find(variable) == NULL));
    }

    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    (void)snprintf(path, sizeof path, "%s/attempts/%s/log", site.dir, name);
    assert_true(read_whole(path, &log));
    char *got[40];
    uint32_t found = 0;
    for (char *at = log.data; *at && *at != '#' && found < 40; at += strlen(at) + 1)
        got[found++] = at;
    qsort(got, found, sizeof got[0], by_text);
    assert_int_equal(found, count);
    for (uint32_t i = 0; i < count; i++)
        if (i == home)
            assert_memory_equal(got[i], "HOME=/", 6);
        else
            assert_string_equal(got[i], want[i]);
    site_close(&site);
}

static void local__ranks_know_their_numbers_and_share_one_output(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    uint32_t gpus[] = {0, 1, 2, 3};
    attempt_t attempt = {.run = "echo \"rank $HELIO_NODE_RANK of $HELIO_NODES on $HELIO_HOSTS: "
                                "$CUDA_VISIBLE_DEVICES ($HELIO_GPUS)\"",
                         .slot_count = 3};
    attempt.slots[0].gpus.items = gpus;
    attempt.slots[0].gpus.count = 1;
    attempt.slots[1].gpus.items = gpus + 1;
    attempt.slots[1].gpus.count = 3;
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    site_log(&site, 1, &log);
    assert_non_null(strstr(log.data, "rank 0 of 3 on localhost,localhost,localhost: 0 (1)\n"));
    assert_non_null(strstr(log.data, "rank 1 of 3 on localhost,localhost,localhost: 1,2,3 (3)\n"));
    assert_non_null(strstr(log.data, "rank 2 of 3 on localhost,localhost,localhost:  (0)\n"));
    site_close(&site);
}

static void local__a_rank_that_fails_ends_the_others(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "[ $HELIO_NODE_RANK = 1 ] && exit 7; sleep 100", .slot_count = 2};
    site_start(&site, &attempt);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 7);
    assert_false(end->event.stopped);
    site_close(&site);
}

static void local__time_limit_ends_a_job_that_ignores_the_polite_signal(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "trap '' TERM; while :; do sleep 0.05; done"};
    attempt.order.time_limit_ms = 300;
    site_start(&site, &attempt);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 124);
    assert_true(end->event.limit_reached);
    assert_false(end->event.stopped);
    assert_true(end->event.run_ms >= 600); /* the limit and the grace */
    site_close(&site);
}

static void local__polite_stop_lets_a_program_save_after_its_shell_has_gone(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "bash -c 'trap \"sleep 0.2; echo saved; exit 0\" TERM; echo ready; "
                                "while :; do sleep 0.02; done' & wait"};
    attempt.spec.checkpoint_grace_ms = 5000;
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_stop(&site, 1, HELIO_STOP_MODE_GRACE);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 143);
    assert_true(end->event.stopped);
    assert_true(end->event.run_ms < 4000); /* the grace was not used up */
    site_wait_log(&site, "saved");
    site_close(&site);
}

static void local__checkpoint_signal_reaches_only_processes_that_handle_it(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "bash -c 'trap \"echo saved; exit 0\" USR1; echo ready; "
                                "while :; do sleep 0.02; done'\necho the shell lives on; exit 5"};
    attempt.spec.checkpoint_grace_ms = 5000;
    attempt.spec.checkpoint_signal = HELIO_TEXT("USR1");
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_stop(&site, 1, HELIO_STOP_MODE_GRACE);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 5);
    assert_true(end->event.stopped);
    site_wait_log(&site, "saved\nthe shell lives on");
    site_close(&site);
}

static void signal_it(const site_t *site, uint32_t signal, uint32_t to)
{
    helio_attempt_signal_t order = {site_key(), 1, signal, to};
    site->backend->class->signal(site->backend, &order);
}

/*  The shell and its child each say which signal they got. */
static void local__a_signal_reaches_the_script_or_those_that_handle_it_or_all(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "#!/bin/bash\ntrap 'echo script HUP' HUP\ntrap 'echo script USR2' USR2\n"
                                "bash -c 'trap \"echo child USR1\" USR1; trap \"echo child USR2\" USR2; echo ready; "
                                "while :; do sleep 0.02; done' &\nwhile :; do wait; done"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    signal_it(&site, HELIO_JOB_SIGNAL_USR1, HELIO_SIGNAL_TO_JOB);
    site_wait_log(&site, "child USR1"); /* the script has no handler, and lives */
    signal_it(&site, HELIO_JOB_SIGNAL_USR2, HELIO_SIGNAL_TO_SCRIPT);
    site_wait_log(&site, "script USR2");
    signal_it(&site, HELIO_JOB_SIGNAL_HUP, HELIO_SIGNAL_TO_JOB);
    site_wait_log(&site, "script HUP");
    for (uint32_t i = 0; i < 40; i++) /* more than the file keeps */
        signal_it(&site, HELIO_JOB_SIGNAL_CONT, HELIO_SIGNAL_TO_ALL);
    signal_it(&site, HELIO_JOB_SIGNAL_KILL, HELIO_SIGNAL_TO_ALL);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 137);
    assert_false(end->event.stopped);
    site_close(&site);
}

static void local__kill_does_not_wait(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "trap '' TERM USR1; echo ready; while :; do sleep 0.05; done"};
    attempt.spec.checkpoint_grace_ms = 600000;
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_stop(&site, 1, HELIO_STOP_MODE_GRACE);
    site_drive(&site, 200);
    assert_int_equal(site.heard_count, 1); /* it ignores TERM, and gets its whole grace */
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 137);
    assert_true(end->event.stopped);
    site_close(&site);
}

static void local__a_stop_right_after_the_start_is_not_lost(void **state)
{
    (void)state;
    for (uint32_t mode = 0; mode < HELIO_STOP_MODE_COUNT; mode++) {
        site_t site = {0};
        site_open(&site);
        attempt_t attempt = {.run = "sleep 100"};
        site_start(&site, &attempt);
        site_stop(&site, 1, mode);
        const heard_t *end = site_wait(&site, 2);
        assert_int_equal(end->event.word, HELIO_BACKEND_REPORT_ENDED);
        assert_true(end->event.stopped);
        site_close(&site);
    }
}

static void local__leftover_processes_of_a_job_are_killed_at_its_end(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run =
                             "setsid env -i /bin/bash -c 'trap \"\" TERM HUP; echo $$ > orphan; exec /bin/sleep 100' "
                             "</dev/null >/dev/null 2>&1 &\n"
                             "for i in 1 2 3 4 5 6 7 8; do (sleep 100 & sleep 100) & done\n"
                             "while [ ! -s orphan ]; do sleep 0.01; done; exit 6"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 6);
    char path[512];
    long orphan = read_number(site_path(&site, "output", 1, "orphan", path));
    assert_true(orphan > 0);
    assert_false(is_alive(orphan));
    site_close(&site);
}

static void local__units_are_the_largest_running_total_of_the_report(void **state)
{
    (void)state;
    const struct {
        const char *report;
        uint64_t units;
    } rows[] = {{"", 0},
                {"{\"units\": 1200, \"unit\": \"samples\"}\n", 1200},
                {"{\"units\": 5}\n{\"units\": 90.7}\n{\"units\": 7}", 90},
                {"not json\n{\"units\": 3}\n{\"units\": \"8\"}\n[9]\n{\"units\": -4}\n{\"units\": "
                 "1e300}\n{\"x\":1}\n",
                 3},
                {"{\"units\": 4", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(helio_report_units(helio_text_of(rows[i].report)), rows[i].units);
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "for i in 1 2 3; do echo \"{\\\"units\\\": $((i * 100)), \\\"checkpoint\\\": "
                                "\\\"$i\\\"}\" >> $HELIO_REPORT; done; "
                                "touch -d '+1 hour' $HELIO_REPORT"};
    site_start(&site, &attempt);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 0);
    assert_int_equal(end->event.units_done, 300);
    assert_true(end->event.run_ms > 0);
    assert_int_equal(end->event.saved_run_ms, end->event.run_ms); /* whatever the file is dated */
    site_close(&site);
}

static void local__acknowledged_folders_are_removed_after_the_retention_time(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "true"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    char path[512], output[512];
    (void)site_path(&site, "attempts", 1, "", path);
    (void)site_path(&site, "output", 1, "", output);
    int64_t boot_ms = helio_clock_boot_ms() + 3600000, wall_ms = helio_clock_wall_ms();
    site.backend->class->process(site.backend, boot_ms, wall_ms + 3600000);
    assert_int_equal(access(path, F_OK), 0); /* never acknowledged: kept for ever */
    site.backend->class->forget(site.backend, site_key(), 1);
    site.backend->class->process(site.backend, boot_ms + 100000, wall_ms + 500);
    assert_int_equal(access(path, F_OK), 0);
    site.backend->class->process(site.backend, boot_ms + 200000, wall_ms + 3000);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(access(output, F_OK), 0); /* the user's */
    site_close(&site);
}

typedef struct measured {
    char taken[64], given[64];
    uint32_t gpus, gives;
    bool ran;
    int64_t ended_ms;
} measured_t;

static void on_take(void *arg, const char *attempt, const uint32_t *gpus, uint32_t count)
{
    measured_t *self = arg;
    (void)snprintf(self->taken, sizeof self->taken, "%s", attempt);
    for (uint32_t i = 0; i < count; i++)
        self->gpus = self->gpus * 10 + gpus[i];
}

static uint64_t on_give(void *arg, const char *attempt, bool ran, int64_t ended_ms)
{
    measured_t *self = arg;
    (void)snprintf(self->given, sizeof self->given, "%s", attempt);
    self->gives++;
    self->ran = ran;
    self->ended_ms = ended_ms;
    return 4711;
}

/*  Also over a restart of the agent: whoever measures knows the attempt by its name. */
static void local__gpus_are_measured_from_before_the_start_to_the_end(void **state)
{
    (void)state;
    measured_t measured = {.taken = ""};
    site_t site = {.energy_arg = &measured, .energy_take = on_take, .energy_give = on_give};
    uint32_t gpus[] = {2, 5};
    site_open(&site);
    attempt_t attempt = {.run = "sleep 600", .slots = {{.gpus = {gpus, 2}}}, .slot_count = 1};
    site_start(&site, &attempt);
    assert_int_equal(measured.gpus, 25);
    (void)site_wait(&site, 1);
    assert_int_equal(measured.gives, 0);
    site_reopen(&site);
    site_adopt(&site, 1);
    (void)site_wait(&site, 2);
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    const heard_t *last = site_wait(&site, 3);
    assert_int_equal(last->event.word, HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(last->event.energy_j, 4711);
    assert_true(measured.gives == 1 && measured.ran && measured.ended_ms == last->event.ended_wall_ms);
    assert_string_equal(measured.taken, measured.given);
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local__ends_carry_the_exit_code),
        cmocka_unit_test(local__output_is_read_in_pieces_with_an_end),
        cmocka_unit_test(local__output_beyond_the_bound_is_dropped_with_a_line_that_says_so),
        cmocka_unit_test(local__environment_is_exactly_the_documented_one),
        cmocka_unit_test(local__ranks_know_their_numbers_and_share_one_output),
        cmocka_unit_test(local__a_rank_that_fails_ends_the_others),
        cmocka_unit_test(local__time_limit_ends_a_job_that_ignores_the_polite_signal),
        cmocka_unit_test(local__polite_stop_lets_a_program_save_after_its_shell_has_gone),
        cmocka_unit_test(local__checkpoint_signal_reaches_only_processes_that_handle_it),
        cmocka_unit_test(local__a_signal_reaches_the_script_or_those_that_handle_it_or_all),
        cmocka_unit_test(local__kill_does_not_wait),
        cmocka_unit_test(local__a_stop_right_after_the_start_is_not_lost),
        cmocka_unit_test(local__leftover_processes_of_a_job_are_killed_at_its_end),
        cmocka_unit_test(local__units_are_the_largest_running_total_of_the_report),
        cmocka_unit_test(local__gpus_are_measured_from_before_the_start_to_the_end),
        cmocka_unit_test(local__acknowledged_folders_are_removed_after_the_retention_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
