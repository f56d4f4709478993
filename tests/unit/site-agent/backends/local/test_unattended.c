/*  test_unattended.c -- nothing of an attempt runs on when those who watch over it are dead or do not answer. */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "site-agent/shim/cgroup.h"
#include "tests/unit/site-agent/backends/local/local_testing.h"

enum { ENDS_WITHIN_MS = 3000, PROCESSES = 3 };

/*  A leader, its child, and a process that has left the leader's session. Each has its number in a file. */
static const char three_processes[] =
    "setsid /bin/bash -c 'echo $$ > orphan; exec sleep 100' </dev/null >/dev/null 2>&1 &\n"
    "/bin/bash -c 'echo $$ > child; exec sleep 100' &\n"
    "while [ ! -s orphan ] || [ ! -s child ]; do sleep 0.01; done; echo $$ > leader; echo ready; wait; sleep 100";

static void processes_of(const site_t *site, long ret_pids[PROCESSES])
{
    static const char *const names[PROCESSES] = {"leader", "child", "orphan"};
    char path[512];
    for (int i = 0; i < PROCESSES; i++) {
        ret_pids[i] = read_number(site_path(site, "output", 1, names[i], path));
        assert_true(is_alive(ret_pids[i]));
    }
}

/*  How long the processes lived from now on; fails the test after most_ms. */
static int64_t lived_ms(const long pids[PROCESSES], int64_t most_ms)
{
    int64_t from_ms = helio_clock_boot_ms();
    for (;;) {
        int alive = 0;
        for (int i = 0; i < PROCESSES; i++)
            alive += is_alive(pids[i]);
        int64_t now_ms = helio_clock_boot_ms();
        if (!alive)
            return now_ms - from_ms;
        if (now_ms - from_ms > most_ms) {
            for (int i = 0; i < PROCESSES; i++)
                (void)kill((pid_t)pids[i], SIGKILL);
            fail_msg("%d processes still run after %lld ms", alive, (long long)most_ms);
        }
        (void)poll(NULL, 0, 10);
    }
}

static void unattended__agent_and_shim_killed_leave_nothing(void **state)
{
    (void)state;
    site_t site = {0};
    long pids[PROCESSES];
    site_open(&site);
    attempt_t attempt = {.run = three_processes};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    processes_of(&site, pids);
    helio_backend_destroy(&site.backend);
    assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGKILL), 0);
    (void)lived_ms(pids, ENDS_WITHIN_MS);
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    site_close(&site);
}

/*  A stopped shim reads no lease. Nobody renews it, and nobody is there to stop the job. */
static void unattended__a_stopped_shim_does_not_outlive_its_lease(void **state)
{
    (void)state;
    site_t site = {0};
    long pids[PROCESSES];
    site_open(&site);
    int64_t granted_ms = helio_clock_boot_ms();
    assert_int_equal(site_lease(&site, granted_ms + 1500), HELIO_OK);
    attempt_t attempt = {.run = three_processes};
    attempt.order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    processes_of(&site, pids);
    assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGSTOP), 0);
    helio_backend_destroy(&site.backend);
    (void)lived_ms(pids, 1500 + ENDS_WITHIN_MS);
    assert_true(helio_clock_boot_ms() >= granted_ms + 1500);
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    const heard_t *end = site_wait(&site, 2);
    expect(end, HELIO_BACKEND_REPORT_ENDED);
    assert_true(end->event.stopped);
    assert_int_equal(end->event.cause, HELIO_CAUSE_LEASE_EXPIRED);
    site_close(&site);
}

static void unattended__a_stopped_shim_does_not_outlive_its_time_limit(void **state)
{
    (void)state;
    site_t site = {0};
    long pids[PROCESSES];
    site_open(&site);
    attempt_t attempt = {.run = three_processes};
    attempt.order.time_limit_ms = 1500;
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    processes_of(&site, pids);
    assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGSTOP), 0);
    helio_backend_destroy(&site.backend);
    (void)lived_ms(pids, 1500 + ENDS_WITHIN_MS);
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    const heard_t *end = site_wait(&site, 2);
    expect_end(end, 124);
    assert_true(end->event.limit_reached);
    site_close(&site);
}

static void unattended__a_stopped_shim_obeys_a_stop(void **state)
{
    (void)state;
    static const uint32_t modes[] = {HELIO_STOP_MODE_GRACE, HELIO_STOP_MODE_KILL};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        site_t site = {0};
        long pids[PROCESSES];
        site_open(&site);
        attempt_t attempt = {.run = three_processes};
        site_start(&site, &attempt);
        site_wait_log(&site, "ready");
        processes_of(&site, pids);
        assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGSTOP), 0);
        site_stop(&site, 1, modes[i]);
        const heard_t *end = site_wait(&site, 2);
        expect(end, HELIO_BACKEND_REPORT_ENDED);
        assert_true(end->event.stopped);
        (void)lived_ms(pids, 0);
        site_close(&site);
    }
}

static bool kill_watcher(void *arg, const helio_process_info_t *info)
{
    pid_t shim = *(const pid_t *)arg;
    return info->session == shim && info->process.pid != shim && kill(info->process.pid, SIGKILL) == 0;
}

/*  The shim and its guardian, which is in its session, die at once: a rank's leader dies with its parent. */
static void unattended__a_leader_dies_with_its_shim(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "echo $$ > leader; echo ready; exec sleep 100"};
    if (geteuid() == 0) /* a change of user would clear a signal that was asked for before it */
        site.users[0] =
            (helio_user_rule_t){HELIO_TEXT("acme"), HELIO_TEXT("ada"), HELIO_TEXT("nobody"), false, {0}, false};
    site_reopen(&site);
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    char path[512];
    long leader = read_number(site_path(&site, "output", 1, "leader", path)),
         pids[PROCESSES] = {leader, leader, leader};
    pid_t shim = (pid_t)site_shim(&site, 1);
    helio_backend_destroy(&site.backend);
    assert_int_equal(helio_process_each(kill_watcher, &shim), 1);
    assert_int_equal(kill(shim, SIGKILL), 0);
    (void)lived_ms(pids, ENDS_WITHIN_MS);
    site_close(&site);
}

/*  The capabilities of the agent's unit (deploy/systemd), and no others. */
static void keep_the_units_rights(void)
{
    static const uint32_t kept = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE |
                                 1U << CAP_FOWNER | 1U << CAP_KILL;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{kept, kept, 0}, {0, 0, 0}};
    for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
        if (cap >= 32 || !(kept >> cap & 1))
            (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* an older kernel does not know all */
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/*  Root without further rights reads no other user's environment, where the mark is. The last test of the program: what
 *  is dropped does not come back. */
static void unattended__leftovers_are_found_with_the_rights_of_the_unit(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can run jobs as somebody else");
    keep_the_units_rights();
    site_t site = {0};
    long pids[PROCESSES];
    site_open(&site);
    site.users[0] = (helio_user_rule_t){HELIO_TEXT("acme"), HELIO_TEXT("ada"), HELIO_TEXT("nobody"), false, {0}, false};
    site_reopen(&site);
    attempt_t attempt = {.run = three_processes};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    processes_of(&site, pids);
    assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGKILL), 0);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    (void)lived_ms(pids, 0);
    site_close(&site);
}

/* ---- control groups ------------------------------------------------------------------------------------- */

static char parent[128]; /* a group of this test; "" = this machine lets nobody make one */

static int make_parent(void **state)
{
    (void)state;
    if (helio_cgroup_path("helio-test-XXXXXX", parent, sizeof parent, NULL) || !mkdtemp(parent))
        parent[0] = '\0';
    return 0;
}

static void remove_group(const char *path)
{
    for (int i = 0; i < 200 && !helio_cgroup_kill(path); i++)
        (void)poll(NULL, 0, 10);
    helio_cgroup_remove(path);
}

/*  Also after a failure: nothing that a test began runs on, and no group stays. */
static int remove_parent(void **state)
{
    (void)state;
    char path[256], name[HELIO_ATTEMPT_NAME_SIZE];
    if (!parent[0])
        return 0;
    (void)snprintf(path, sizeof path, "%s/keeper", parent);
    remove_group(path);
    helio_attempt_name(site_key(), 1, name);
    (void)snprintf(path, sizeof path, "%s/%s", parent, name);
    remove_group(path);
    return rmdir(parent);
}

static void expect_no_groups(void)
{
    char path[256], name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(site_key(), 1, name);
    (void)snprintf(path, sizeof path, "%s/%s", parent, name);
    for (int i = 0; i < 200 && access(path, F_OK) == 0; i++) /* the shim removes it when `done` is written */
        (void)poll(NULL, 0, 10);
    assert_int_not_equal(access(path, F_OK), 0);
}

/*  It has a session of its own, another parent, and nothing of the attempt in its environment. */
static const char hides[] =
    "(env -i setsid /bin/bash -c 'echo $$ > orphan; exec sleep 100' </dev/null >/dev/null 2>&1 &)\n"
    "while [ ! -s orphan ]; do sleep 0.01; done; cp orphan leader; cp orphan child; echo ready; sleep 100";

static void cgroup__a_process_that_hides_ends_with_its_attempt(void **state)
{
    (void)state;
    if (!parent[0])
        SKIP_LOUDLY("no control group (version 2) can be made here");
    site_t site = {0};
    long pids[PROCESSES];
    site_open(&site);
    site.cgroup = parent;
    site_reopen(&site);
    attempt_t attempt = {.run = hides};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    processes_of(&site, pids);
    helio_backend_destroy(&site.backend);
    assert_int_equal(kill((pid_t)site_shim(&site, 1), SIGKILL), 0);
    (void)lived_ms(pids, ENDS_WITHIN_MS);
    site_reopen(&site);
    site.heard_count = 0;
    site_adopt(&site, 1);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    expect_no_groups();
    site_close(&site);
}

static void cgroup__is_gone_after_the_end(void **state)
{
    (void)state;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    if (!parent[0])
        SKIP_LOUDLY("no control group (version 2) can be made here");
    site_t site = {0};
    site_open(&site);
    site.cgroup = parent;
    site_reopen(&site);
    attempt_t attempt = {.run = "grep ^0:: /proc/self/cgroup"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    site_log(&site, 1, &log);
    helio_attempt_name(site_key(), 1, name);
    assert_non_null(strstr(log.data, name));
    expect_no_groups();
    site_close(&site);
}

/*  A shim that is frozen reads no signal, and SIGCONT does not wake it. */
static void unattended__a_frozen_shim_is_replaced_by_the_agent(void **state)
{
    (void)state;
    char path[256];
    if (!parent[0])
        SKIP_LOUDLY("no control group (version 2) can be made here");
    (void)snprintf(path, sizeof path, "%s/keeper", parent);
    assert_int_equal(mkdir(path, 0755), 0);
    site_t site = {0};
    long pids[PROCESSES];
    site_open(&site);
    attempt_t attempt = {.run = three_processes};
    site_start(&site, &attempt);
    site_wait_log(&site, "ready");
    processes_of(&site, pids);
    (void)snprintf(path, sizeof path, "%s/keeper/cgroup.procs", parent);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fprintf(file, "%ld", site_shim(&site, 1));
    assert_int_equal(fclose(file), 0);
    (void)snprintf(path, sizeof path, "%s/keeper/cgroup.freeze", parent);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("1", file);
    assert_int_equal(fclose(file), 0);
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    (void)lived_ms(pids, 0);
    expect_no_groups();
    site_close(&site);
}

/*  Files in place of a group whose memory is used up: here the kernel need not have that power. */
static void cgroup__a_job_that_used_up_its_memory_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } files[] = {{"cgroup.procs", ""},
                 {"cgroup.kill", ""},
                 {"cgroup.events", "populated 0\nfrozen 0\n"},
                 {"memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 1\n"}};
    for (int killed = 0; killed < 2; killed++) {
        site_t site = {0};
        char files_of[128], path[512], name[HELIO_ATTEMPT_NAME_SIZE];
        site_open(&site);
        helio_attempt_name(site_key(), 1, name);
        (void)snprintf(files_of, sizeof files_of, "%s/groups", site.dir);
        assert_int_equal(mkdir(files_of, 0755), 0);
        (void)snprintf(path, sizeof path, "%s/groups/%s", site.dir, name);
        assert_int_equal(mkdir(path, 0755), 0);
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
            for (int own = 0; own < 2; own++) {
                (void)snprintf(path, sizeof path, "%s/%s/%s", files_of, own ? name : ".", files[i].name);
                FILE *file = fopen(path, "we");
                assert_non_null(file);
                (void)fputs(files[i].text, file);
                assert_int_equal(fclose(file), 0);
            }
        site.cgroup = files_of;
        site_reopen(&site);
        attempt_t attempt = {.run = killed ? "kill -9 $$" : "true"};
        site_start(&site, &attempt);
        const heard_t *end = site_wait(&site, 2);
        expect_end(end, killed ? 137 : 0);
        assert_int_equal(end->event.cause, killed ? HELIO_CAUSE_OUT_OF_MEMORY : HELIO_CAUSE_NONE);
        site_close(&site);
    }
}

static void cgroup__named_in_the_site_file_has_to_exist(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    helio_local_options_t options = {.state_dir = site.dir,
                                     .shim = HELIO_SHIM_PATH,
                                     .site = HELIO_TEXT("lulea"),
                                     .rules = &site.rules,
                                     .cgroup = "/no/such/group"};
    helio_backend_t *backend = NULL;
    helio_error_t err = {0};
    char text[HELIO_LOCAL_CHECK_SIZE];
    assert_int_equal(helio_local_new(&options, &backend, &err), HELIO_NOT_FOUND);
    assert_int_equal(helio_local_check_cgroups(&options, text, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "helio-jobs.service"));
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unattended__agent_and_shim_killed_leave_nothing),
        cmocka_unit_test(unattended__a_stopped_shim_does_not_outlive_its_lease),
        cmocka_unit_test(unattended__a_stopped_shim_does_not_outlive_its_time_limit),
        cmocka_unit_test(unattended__a_stopped_shim_obeys_a_stop),
        cmocka_unit_test(unattended__a_leader_dies_with_its_shim),
        cmocka_unit_test_setup_teardown(unattended__a_frozen_shim_is_replaced_by_the_agent, make_parent, remove_parent),
        cmocka_unit_test_setup_teardown(cgroup__a_process_that_hides_ends_with_its_attempt, make_parent, remove_parent),
        cmocka_unit_test_setup_teardown(cgroup__is_gone_after_the_end, make_parent, remove_parent),
        cmocka_unit_test(cgroup__a_job_that_used_up_its_memory_says_so),
        cmocka_unit_test(cgroup__named_in_the_site_file_has_to_exist),
        cmocka_unit_test(unattended__leftovers_are_found_with_the_rights_of_the_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
