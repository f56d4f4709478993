/*  test_local_faults.c -- agents and shims that die, leases that end, disks that are full. */
#include "tests/unit/site-agent/backends/local/local_testing.h"

static long shim_of(const site_t *site, uint32_t epoch)
{
    char path[512];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_t claim;
    assert_true(read_whole(site_path(site, "attempts", epoch, "claim", path), &text));
    assert_int_equal(helio_claim_parse(helio_buffer_view(&text), &claim), HELIO_OK);
    return claim.shim.pid;
}

/*  A shim that is not the backend's own doing: its exit code. */
static int run_shim(const char *folder)
{
    char path[512], shim[] = HELIO_SHIM_PATH;
    (void)snprintf(path, sizeof path, "%s", folder);
    char *argv[] = {shim, path, NULL}, *env[] = {NULL};
    pid_t pid;
    int status = 0;
    assert_int_equal(posix_spawn(&pid, shim, NULL, NULL, argv, env), 0);
    for (int i = 0; i < 300; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        (void)poll(NULL, 0, 10);
    }
    (void)kill(pid, SIGUSR2); /* it runs something, which none of these folders allows */
    (void)waitpid(pid, &status, 0);
    return -1;
}

/* ---- starts -------------------------------------------------------------------------------------------- */

static void start__repeated_in_any_state_runs_once(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {
        .run = "echo ran >> $HELIO_CHECKPOINT_DIR/runs; echo ready; while [ ! -e go ]; do sleep 0.01; done"};
    char path[512];
    site_start(&site, &attempt);
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_start(&site, &attempt);
    site_reopen(&site); /* with a fresh memory */
    site_start(&site, &attempt);
    FILE *go = fopen(site_path(&site, "output", 1, "go", path), "we");
    assert_non_null(go);
    (void)fclose(go);
    while (site.heard_count == 0 || site.heard[site.heard_count - 1].event.word == HELIO_BACKEND_REPORT_STARTED)
        (void)site_wait(&site, site.heard_count + 1);
    expect_end(&site.heard[site.heard_count - 1], 0);
    uint32_t before = site.heard_count;
    site_start(&site, &attempt); /* after its end, it is told again */
    expect_end(site_wait(&site, before + 2), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t runs = {0};
    char key[HELIO_ID_SIZE];
    helio_uuid_text(site_key().job, key);
    (void)snprintf(path, sizeof path, "%s/checkpoints/helio-%s/runs", site.dir, key);
    assert_true(read_whole(path, &runs));
    assert_string_equal(runs.data, "ran\n");
    site_close(&site);
}

static void start__a_second_shim_for_the_folder_does_nothing(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ran; sleep 100"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ran\n");
    char path[512];
    assert_int_equal(run_shim(site_path(&site, "attempts", 1, "", path)), 3);
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(run_shim(path), 3); /* after the end, too */
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    site_log(&site, 1, &log);
    assert_string_equal(log.data, "ran\n");
    site_close(&site);
}

static void start__a_folder_that_was_closed_refuses_a_late_shim(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    char path[512], claim[512];
    assert_int_equal(mkdir(site_path(&site, "attempts", 1, "", path), 0711), 0);
    site_adopt(&site, 1); /* the former agent died before its shim claimed it */
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_ABSENT);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(mkdir(path, 0711), 0);
    FILE *file = fopen(site_path(&site, "attempts", 1, "claim", claim), "we");
    assert_non_null(file);
    (void)fprintf(file, "pid=0\nstart_ticks=0\nboot_id=x\n");
    (void)fclose(file);
    assert_int_equal(run_shim(path), 3);
    site_close(&site);
}

static void start__a_shim_that_cannot_run_is_a_failed_start(void **state)
{
    (void)state;
    const char *shims[] = {"/bin/true", "/no/such/shim"};
    for (int i = 0; i < 2; i++) {
        site_t site = {.shim = shims[i]};
        site_open(&site);
        attempt_t attempt = {.run = "true"};
        site_start(&site, &attempt);
        const heard_t *heard = site_wait(&site, 1);
        expect(heard, HELIO_BACKEND_REPORT_FAILED_TO_START);
        assert_int_equal(heard->event.cause, HELIO_CAUSE_START_FAILED);
        site.shim = NULL; /* mended: the same attempt can start now, since nothing of it ever ran */
        site_reopen(&site);
        site_start(&site, &attempt);
        expect_end(site_wait(&site, 3), 0);
        site_close(&site);
    }
}

/* ---- agents and shims that die ------------------------------------------------------------------------- */

static void restart__running_attempts_are_taken_up_again(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ready; while [ ! -e go ]; do sleep 0.01; done; exit 8"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
    char path[512];
    FILE *go = fopen(site_path(&site, "output", 1, "go", path), "we");
    assert_non_null(go);
    (void)fclose(go);
    expect_end(site_wait(&site, 2), 8);
    site_close(&site);
}

static void restart__what_ended_meanwhile_is_told(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "exit 5"};
    site_start(&site, &attempt);
    helio_backend_destroy(&site.backend);
    char path[512];
    (void)site_path(&site, "attempts", 1, "done", path);
    for (int i = 0; i < 500 && access(path, F_OK); i++)
        (void)poll(NULL, 0, 10);
    site_reopen(&site);
    site_adopt(&site, 1);
    expect_end(site_wait(&site, 2), 5);
    assert_int_equal(site.heard[0].event.word, HELIO_BACKEND_REPORT_STARTED);
    site.heard_count = 0;
    site.backend->class->survey(site.backend);
    expect_end(site_wait(&site, 2), 5);
    site.heard_count = 0;
    site_adopt(&site, 2);
    site_stop(&site, 3, HELIO_STOP_MODE_GRACE);
    (void)site_wait(&site, 2);
    expect(&site.heard[0], HELIO_BACKEND_REPORT_ABSENT);
    expect(&site.heard[1], HELIO_BACKEND_REPORT_ABSENT);
    site_close(&site);
}

static void restart__a_stop_without_adoption_finds_the_attempt(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_reopen(&site);
    site.heard_count = 0;
    site_stop(&site, 1, HELIO_STOP_MODE_GRACE);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 143);
    assert_true(end->event.stopped);
    site_close(&site);
}

static const char leaves_orphans[] =
    "setsid /bin/bash -c 'echo $$ > orphan; exec sleep 100' </dev/null >/dev/null 2>&1 &\n"
    "while [ ! -s orphan ]; do sleep 0.01; done; echo $$ > leader; echo ready; sleep 100";

static void shim__killed_takes_nothing_of_the_job_with_it_but_the_agent_does(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        site_t site = {0};
        site_open(&site);
        attempt_t attempt = {.run = leaves_orphans};
        site_start(&site, &attempt);
        site_wait_log(&site, "ready");
        char path[512];
        long leader = read_number(site_path(&site, "output", 1, "leader", path));
        long orphan = read_number(site_path(&site, "output", 1, "orphan", path));
        assert_true(is_alive(leader) && is_alive(orphan));
        if (away)
            helio_backend_destroy(&site.backend);
        assert_int_equal(kill((pid_t)shim_of(&site, 1), SIGKILL), 0);
        if (away) {
            site_reopen(&site);
            site.heard_count = 0;
            site_adopt(&site, 1);
        }
        const heard_t *end = site_wait(&site, 2);
        expect(end, HELIO_BACKEND_REPORT_VANISHED);
        assert_int_equal(end->event.cause, HELIO_CAUSE_VANISHED);
        assert_false(is_alive(leader));
        assert_false(is_alive(orphan));
        site_close(&site);
    }
}

static void shim__of_another_boot_has_vanished_without_killing_anybody(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_ENDED);
    /* As a power cut leaves it: no end mark, a claim of another boot that names a process which lives here.
     */
    char path[512];
    assert_int_equal(unlink(site_path(&site, "attempts", 1, "done", path)), 0);
    FILE *claim = fopen(site_path(&site, "attempts", 1, "claim", path), "we");
    assert_non_null(claim);
    (void)fprintf(claim, "pid=%ld\nstart_ticks=1\nboot_id=00000000-0000-0000-0000-000000000000\n",
                  (long)getpid());
    (void)fclose(claim);
    site.heard_count = 0;
    site_adopt(&site, 1);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    site_close(&site);
}

/* ---- leases -------------------------------------------------------------------------------------------- */

static void lease__ends_an_attempt_without_the_agent(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    int64_t granted_ms = helio_clock_boot_ms();
    assert_int_equal(site.backend->class->lease(site.backend, granted_ms + 900, NULL), HELIO_OK);
    attempt_t attempt = {.run = "trap '' TERM; echo ready; while :; do sleep 0.02; done"};
    attempt.order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    attempt.spec.checkpoint_grace_ms = 600000;
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    helio_backend_destroy(&site.backend); /* nobody renews, nobody stops it */
    char path[512];
    (void)site_path(&site, "attempts", 1, "done", path);
    while (access(path, F_OK) && helio_clock_boot_ms() < granted_ms + 8000)
        (void)poll(NULL, 0, 10);
    int64_t took_ms = helio_clock_boot_ms() - granted_ms;
    assert_true(
        took_ms >=
        900); /* then its own long grace is cut: a third of what was left, of which a quarter remains */
    assert_true(took_ms < 4000);
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 137);
    assert_true(end->event.stopped);
    assert_int_equal(end->event.cause, HELIO_CAUSE_LEASE_EXPIRED);
    site_close(&site);
}

static void lease__renewed_lets_it_run_and_strict_ones_have_none(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    assert_int_equal(site.backend->class->lease(site.backend, helio_clock_boot_ms() + 1000, NULL), HELIO_OK);
    attempt_t leased = {.run = "sleep 100", .epoch = 1}, strict = {.run = "sleep 100", .epoch = 2};
    leased.order.on_site_loss = HELIO_SITE_LOSS_EAGER;
    site_start(&site, &leased);
    site_start(&site, &strict);
    (void)site_wait(&site, 2);
    assert_int_equal(site.backend->class->lease(site.backend, helio_clock_boot_ms() + 600000, NULL),
                     HELIO_OK);
    site_drive(&site, 1300);
    assert_int_equal(site.heard_count, 2); /* both started, none ended */
    assert_int_equal(site.backend->class->lease(site.backend, helio_clock_boot_ms() - 1, NULL), HELIO_OK);
    const heard_t *end = site_wait(&site, 3);
    assert_int_equal(end->event.epoch, 1);
    assert_true(end->event.stopped);
    site_drive(&site, 100);
    assert_int_equal(site.heard_count, 3);
    site_stop(&site, 2, HELIO_STOP_MODE_KILL);
    (void)site_wait(&site, 4);
    site_close(&site);
}

static void lease__none_or_an_old_one_starts_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        site_t site = {0};
        site_open(&site);
        if (i)
            assert_int_equal(site.backend->class->lease(site.backend, helio_clock_boot_ms() - 5, NULL),
                             HELIO_OK);
        attempt_t attempt = {.run = "touch ran"};
        attempt.order.on_site_loss = HELIO_SITE_LOSS_LEASE;
        site_start(&site, &attempt);
        const heard_t *heard = site_wait(&site, 1);
        expect(heard, HELIO_BACKEND_REPORT_FAILED_TO_START);
        assert_int_equal(heard->event.cause, HELIO_CAUSE_LEASE_EXPIRED);
        char path[512];
        assert_int_not_equal(access(site_path(&site, "output", 1, "ran", path), F_OK), 0);
        site_close(&site);
    }
}

/* ---- full disks ---------------------------------------------------------------------------------------- */

static void disk__full_delays_no_end(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can mount a small disk");
    site_t site = {0};
    site_open(&site);
    helio_backend_destroy(&site.backend);
    if (mount("tmpfs", site.dir, "tmpfs", 0, "size=512k,mode=0711")) {
        (void)rmdir(site.dir);
        SKIP_LOUDLY("this machine mounts no tmpfs");
    }
    site_reopen(&site);
    attempt_t attempt = {.run = "cat /dev/zero > fill 2>/dev/null; head -c 100000 /dev/zero; exit 5"};
    site_start(&site, &attempt);
    const heard_t *end = site_wait(&site, 2);
    uint32_t word = end->event.word;
    int exit_code = end->event.exit_code;
    attempt.epoch = 2; /* and what comes next is told that there is no room */
    site_start(&site, &attempt);
    uint32_t next = site_wait(&site, 3)->event.word;
    helio_backend_destroy(&site.backend);
    (void)umount2(site.dir, MNT_DETACH);
    site_close(&site);
    assert_int_equal(word, HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(exit_code, 5);
    assert_int_equal(next, HELIO_BACKEND_REPORT_FAILED_TO_START);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start__repeated_in_any_state_runs_once),
        cmocka_unit_test(start__a_second_shim_for_the_folder_does_nothing),
        cmocka_unit_test(start__a_folder_that_was_closed_refuses_a_late_shim),
        cmocka_unit_test(start__a_shim_that_cannot_run_is_a_failed_start),
        cmocka_unit_test(restart__running_attempts_are_taken_up_again),
        cmocka_unit_test(restart__what_ended_meanwhile_is_told),
        cmocka_unit_test(restart__a_stop_without_adoption_finds_the_attempt),
        cmocka_unit_test(shim__killed_takes_nothing_of_the_job_with_it_but_the_agent_does),
        cmocka_unit_test(shim__of_another_boot_has_vanished_without_killing_anybody),
        cmocka_unit_test(lease__ends_an_attempt_without_the_agent),
        cmocka_unit_test(lease__renewed_lets_it_run_and_strict_ones_have_none),
        cmocka_unit_test(lease__none_or_an_old_one_starts_nothing),
        cmocka_unit_test(disk__full_delays_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
