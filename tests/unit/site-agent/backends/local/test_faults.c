/*  test_faults.c -- agents and shims that die, leases that end, disks that are full. */
#include "tests/support/folder.h"
#include "tests/unit/site-agent/backends/local/local_testing.h"

/*  Runs a shim that the backend did not start. Returns its exit code; -1 = it did not end by itself. */
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
    (void)kill(pid, SIGUSR2); /* it runs a job, which must not happen in any of these folders */
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

static void restart__running_attempts_are_adopted(void **state)
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

static void restart__attempts_that_ended_meanwhile_are_reported(void **state)
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

/*  A site whose state folder was deleted while an attempt ran, and its next agent, which looks before anything else.
 *  ret_pids: the shim and the job. */
static void run_and_lose_the_folder(site_t *site, const char *run, long ret_pids[2])
{
    char path[512];
    site_open(site);
    attempt_t attempt = {.run = run};
    site_start(site, &attempt);
    site_wait_log(site, "ready");
    ret_pids[0] = site_shim(site, 1);
    ret_pids[1] = read_number(site_path(site, "output", 1, "pid", path));
    (void)snprintf(path, sizeof path, "%s/attempts", site->dir);
    assert_int_equal(folder_remove(path), 0);
    site_reopen(site);
    site->heard_count = 0;
    site->backend->class->survey(site->backend);
}

/*  A process that was killed is still listed for a moment. */
static void assert_dead(const long pids[2])
{
    for (int i = 0; i < 200 && (is_alive(pids[0]) || is_alive(pids[1])); i++)
        (void)poll(NULL, 0, 10);
    assert_false(is_alive(pids[0]) || is_alive(pids[1]));
}

static void memory__an_attempt_whose_folder_was_deleted_is_found_by_its_processes(void **state)
{
    (void)state;
    for (int killed = 0; killed < 2; killed++) { /* the shim, and its ranks with it */
        site_t site = {0};
        long pids[2];
        run_and_lose_the_folder(&site, "trap '' TERM; echo $$ > pid; echo ready; while true; do sleep 0.1; done", pids);
        site_adopt(&site, 1); /* a journal that was kept: it is not ABSENT */
        expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
        attempt_t again = {.run = "echo twice"};
        site_start(&site, &again); /* nor does it start again */
        site_drive(&site, 1500);
        assert_int_equal(site.heard_count, 1);
        assert_true(is_alive(pids[1]));
        if (killed)
            (void)kill((pid_t)pids[0], SIGKILL);
        else
            site_stop(&site, 1, HELIO_STOP_MODE_KILL);
        expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
        assert_dead(pids);
        site_close(&site);
    }
}

static void memory__an_attempt_without_its_folder_is_gone_when_it_ends_by_itself(void **state)
{
    (void)state;
    site_t site = {0};
    long pids[2];
    run_and_lose_the_folder(&site, "echo $$ > pid; echo ready; sleep 1", pids);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    assert_dead(pids);
    site_close(&site);
}

static void memory__processes_of_another_state_folder_are_not_touched(void **state)
{
    (void)state;
    site_t other = {0}, site = {0};
    site_open(&other);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(&other, &attempt);
    site_wait_log(&other, "ready");
    site_open(&site);
    site.backend->class->survey(site.backend);
    site_drive(&site, 200);
    assert_int_equal(site.heard_count, 0);
    site_close(&site);
    other.heard_count = 0;
    site_stop(&other, 1, HELIO_STOP_MODE_KILL);
    (void)site_wait(&other, 1);
    site_close(&other);
}

static const char leaves_orphans[] =
    "setsid /bin/bash -c 'echo $$ > orphan; exec sleep 100' </dev/null >/dev/null 2>&1 &\n"
    "while [ ! -s orphan ]; do sleep 0.01; done; echo $$ > leader; echo ready; sleep 100";

static void shim__killed_leaves_processes_that_the_agent_kills(void **state)
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
        assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGKILL), 0);
        if (away) {
            site_reopen(&site);
            site.heard_count = 0;
            site_adopt(&site, 1);
        }
        const heard_t *end = site_wait(&site, 2);
        expect(end, HELIO_BACKEND_REPORT_VANISHED);
        assert_int_equal(end->event.cause, HELIO_CAUSE_VANISHED);
        /* What ran is charged: whatever lived on ran until the agent killed it. */
        assert_true(end->event.estimated);
        assert_in_range(end->event.run_ms, 1, 10000);
        assert_true(end->event.ended_wall_ms == end->event.started_wall_ms + (int64_t)end->event.run_ms);
        assert_false(is_alive(leader));
        assert_false(is_alive(orphan));
        site_close(&site);
    }
}

/*  The shim dies within a run whose length is known: the charge is from its start until the agent saw it dead. */
static void shim__killed_is_charged_what_ran(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(&site, &attempt);
    int64_t from_ms = helio_clock_boot_ms();
    site_wait_log(&site, "ready");
    int64_t begun_ms = helio_clock_boot_ms();
    site_drive(&site, 1500);
    int64_t killed_ms = helio_clock_boot_ms();
    assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGKILL), 0);
    const heard_t *end = site_wait(&site, 2);
    expect(end, HELIO_BACKEND_REPORT_VANISHED);
    assert_true(end->event.estimated);
    assert_in_range(end->event.run_ms, killed_ms - begun_ms, helio_clock_boot_ms() - from_ms);
    site_close(&site);
}

/*  It dies, with all that it ran, while no agent watches: until the last touch of its claim it certainly ran. */
static void shim__that_died_unseen_is_charged_until_its_last_sign_of_life(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    const heard_t *end = site_wait(&site, 2);
    expect(end, HELIO_BACKEND_REPORT_ENDED);
    int64_t started_ms = end->event.started_wall_ms;
    char path[512];
    assert_int_equal(unlink(site_path(&site, "attempts", 1, "done", path)), 0);
    struct timespec beat[2] = {{.tv_nsec = UTIME_OMIT},
                               {.tv_sec = (started_ms + 7000) / 1000, .tv_nsec = (started_ms + 7000) % 1000 * 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, site_path(&site, "attempts", 1, "claim", path), beat, 0), 0);
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    end = site_wait(&site, 2);
    expect(end, HELIO_BACKEND_REPORT_VANISHED);
    assert_true(end->event.estimated);
    assert_int_equal(end->event.run_ms, 7000);
    site_close(&site);
}

/*  A killed shim says nothing any more, so it shows its life while it lives. */
static void shim__touches_its_claim(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    char path[512];
    struct timespec old[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, site_path(&site, "attempts", 1, "claim", path), old, 0), 0);
    struct stat claim;
    int64_t until_ms = helio_clock_boot_ms() + 9000;
    do {
        site_drive(&site, 100);
        assert_int_equal(stat(path, &claim), 0);
    } while (claim.st_mtim.tv_sec == 1000 && helio_clock_boot_ms() < until_ms);
    assert_true(claim.st_mtim.tv_sec > 1000);
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    (void)site_wait(&site, 2);
    site_close(&site);
}

static void shim__of_another_boot_has_vanished_and_no_process_is_killed(void **state)
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
    (void)fprintf(claim, "pid=%ld\nstart_ticks=1\nboot_id=00000000-0000-0000-0000-000000000000\n", (long)getpid());
    (void)fclose(claim);
    site.heard_count = 0;
    site_adopt(&site, 1);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    site_close(&site);
}

/*  What a bad disk could leave: the file is there, and it states no exit code, or one that no process has. */
static void end__whose_done_file_has_no_valid_exit_code_is_lost_and_never_a_success(void **state)
{
    (void)state;
    static const char *const marks[] = {"failed=0\nrun_ms=5\nend=1\n", "exit_code=256\nend=1\n", "exit_co"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        site_t site = {0};
        site_open(&site);
        attempt_t attempt = {.run = "exit 7"};
        char path[512];
        site_start(&site, &attempt);
        expect_end(site_wait(&site, 2), 7);
        FILE *done = fopen(site_path(&site, "attempts", 1, "done", path), "we");
        assert_non_null(done);
        assert_true(fputs(marks[i], done) >= 0);
        assert_int_equal(fclose(done), 0);
        site_reopen(&site); /* the next agent has the folder alone */
        site.heard_count = 0;
        site_adopt(&site, 1);
        const heard_t *end = site_wait(&site, 2);
        expect(end, HELIO_BACKEND_REPORT_VANISHED);
        assert_int_equal(end->event.cause, HELIO_CAUSE_VANISHED);
        assert_string_equal(end->explanation, "its status file `done` is damaged");
        site_close(&site);
    }
}

/* ---- leases -------------------------------------------------------------------------------------------- */

static void lease__ends_an_attempt_without_the_agent(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    int64_t granted_ms = helio_clock_boot_ms();
    assert_int_equal(site_lease(&site, granted_ms + 900), HELIO_OK);
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
    assert_true(took_ms >=
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
    assert_int_equal(site_lease(&site, helio_clock_boot_ms() + 3000), HELIO_OK);
    attempt_t leased = {.run = "sleep 100", .epoch = 1}, strict = {.run = "sleep 100", .epoch = 2};
    leased.order.on_site_loss = HELIO_SITE_LOSS_EAGER;
    site_start(&site, &leased);
    site_start(&site, &strict);
    (void)site_wait(&site, 2);
    assert_int_equal(site_lease(&site, helio_clock_boot_ms() + 600000), HELIO_OK);
    site_drive(&site, 3300);
    assert_int_equal(site.heard_count, 2); /* both started, none ended */
    assert_int_equal(site_lease(&site, helio_clock_boot_ms() - 1), HELIO_OK);
    const heard_t *end = site_wait(&site, 3);
    assert_int_equal(end->event.epoch, 1);
    assert_true(end->event.stopped);
    site_drive(&site, 100);
    assert_int_equal(site.heard_count, 3);
    site_stop(&site, 2, HELIO_STOP_MODE_KILL);
    (void)site_wait(&site, 4);
    site_close(&site);
}

/*  Its own agent renews what it knows, and a copy that it does not know is none of that. */
static void lease__renewed_for_others_ends_an_attempt_that_it_does_not_name(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    assert_int_equal(site_lease(&site, helio_clock_boot_ms() + 1200), HELIO_OK);
    attempt_t named = {.run = "sleep 100", .epoch = 1}, other = {.run = "sleep 100", .epoch = 2};
    named.order.on_site_loss = other.order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    site_start(&site, &named);
    site_start(&site, &other);
    (void)site_wait(&site, 2);
    helio_attempt_ref_t first = {site_key(), 1};
    helio_afx_lease_t lease = {.deadline_boot_ms = helio_clock_boot_ms() + 600000, .attempts = {&first, 1}};
    assert_int_equal(site.backend->class->lease(site.backend, &lease, NULL), HELIO_OK);
    const heard_t *end = site_wait(&site, 3);
    assert_int_equal(end->event.epoch, 2);
    assert_int_equal(end->event.cause, HELIO_CAUSE_LEASE_EXPIRED);
    site_drive(&site, 500);
    assert_int_equal(site.heard_count, 3);
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    (void)site_wait(&site, 4);
    site_close(&site);
}

/*  Its shim was started by an agent whose leases named nothing: `lease` was there, and is renewed as long as it is. */
static void lease__of_a_former_agents_shims_is_renewed(void **state)
{
    (void)state;
    site_t site = {0};
    char path[512];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    site_open(&site);
    assert_int_equal(site_lease(&site, helio_clock_boot_ms() + 1000), HELIO_OK);
    (void)snprintf(path, sizeof path, "%s/lease", site.dir);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    site_reopen(&site);
    assert_int_equal(site_lease(&site, 123456789), HELIO_OK);
    assert_true(read_whole(path, &text));
    assert_non_null(strstr(text.data, "stop_boot_ms=123456789\n"));
    assert_null(strstr(text.data, "attempt="));
    site_close(&site);
}

static void lease__missing_or_expired_starts_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        site_t site = {0};
        site_open(&site);
        if (i)
            assert_int_equal(site_lease(&site, helio_clock_boot_ms() - 5), HELIO_OK);
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

/*  One job fills the disk; the lease of another goes on being renewed. */
static void disk__full_ends_no_lease(void **state)
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
    int64_t now_ms = helio_clock_boot_ms();
    helio_rc renewed = site_lease(&site, now_ms + 2000);
    attempt_t leased = {.run = "sleep 100", .epoch = 1};
    attempt_t hog = {.run = "cat /dev/zero > fill 2>/dev/null; echo full; sleep 100", .epoch = 2};
    leased.order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    site_start(&site, &leased);
    (void)site_wait(&site, 1);
    site_start(&site, &hog);
    (void)site_wait(&site, 2);
    char path[512];
    (void)site_path(&site, "output", 2, "fill", path);
    struct stat before = {0}, after = {.st_size = -1};
    while (stat(path, &after) || after.st_size != before.st_size || !after.st_size) {
        before = after;
        site_drive(&site, 100);
    }
    for (int i = 0; i < 3 && !renewed; i++)
        renewed = site_lease(&site, helio_clock_boot_ms() + 600000);
    site_drive(&site, 2500);
    uint32_t heard = site.heard_count;
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    site_stop(&site, 2, HELIO_STOP_MODE_KILL);
    (void)site_wait(&site, 4);
    helio_backend_destroy(&site.backend);
    (void)umount2(site.dir, MNT_DETACH);
    site_close(&site);
    assert_int_equal(renewed, HELIO_OK);
    assert_int_equal(heard, 2); /* both started, none ended */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start__repeated_in_any_state_runs_once),
        cmocka_unit_test(start__a_second_shim_for_the_folder_does_nothing),
        cmocka_unit_test(start__a_folder_that_was_closed_refuses_a_late_shim),
        cmocka_unit_test(start__a_shim_that_cannot_run_is_a_failed_start),
        cmocka_unit_test(restart__running_attempts_are_adopted),
        cmocka_unit_test(restart__attempts_that_ended_meanwhile_are_reported),
        cmocka_unit_test(restart__a_stop_without_adoption_finds_the_attempt),
        cmocka_unit_test(memory__an_attempt_whose_folder_was_deleted_is_found_by_its_processes),
        cmocka_unit_test(memory__an_attempt_without_its_folder_is_gone_when_it_ends_by_itself),
        cmocka_unit_test(memory__processes_of_another_state_folder_are_not_touched),
        cmocka_unit_test(shim__killed_leaves_processes_that_the_agent_kills),
        cmocka_unit_test(shim__killed_is_charged_what_ran),
        cmocka_unit_test(shim__that_died_unseen_is_charged_until_its_last_sign_of_life),
        cmocka_unit_test(shim__touches_its_claim),
        cmocka_unit_test(shim__of_another_boot_has_vanished_and_no_process_is_killed),
        cmocka_unit_test(end__whose_done_file_has_no_valid_exit_code_is_lost_and_never_a_success),
        cmocka_unit_test(lease__ends_an_attempt_without_the_agent),
        cmocka_unit_test(lease__renewed_lets_it_run_and_strict_ones_have_none),
        cmocka_unit_test(lease__renewed_for_others_ends_an_attempt_that_it_does_not_name),
        cmocka_unit_test(lease__of_a_former_agents_shims_is_renewed),
        cmocka_unit_test(lease__missing_or_expired_starts_nothing),
        cmocka_unit_test(disk__full_delays_no_end),
        cmocka_unit_test(disk__full_ends_no_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
