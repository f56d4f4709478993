/*  test_local_users.c -- whose user a job runs as on this machine, and which secrets it gets. */
#include <sys/resource.h>

#include "tests/unit/site-agent/backends/local/local_testing.h"

/* ---- users and secrets --------------------------------------------------------------------------------- */

static void users__no_job_runs_as_the_agent_by_accident(void **state)
{
    (void)state;
    const struct {
        const char *tenant, *user, *unix_user;
        bool allow_root;
        bool root_only;
        const char *says;
    } rows[] = {
        {"other", "*", "nobody", false, false, "names no Unix user for 'ada' of tenant 'acme'"},
        {"acme", "bob", "nobody", false, false, "names no Unix user"},
        {"", "*", "nobody", false, false, "names no Unix user"},
        {"acme", "*", "no-such-user-here", false, false, "(`useradd`), or names another under `agent.users`"},
        {"acme", "*", "root", false, true, "needs allow_root"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].root_only && geteuid() != 0)
            continue;
        site_t site = {0};
        site_open(&site);
        site.users[0] = (helio_user_rule_t){helio_text_of(rows[i].tenant),
                                            helio_text_of(rows[i].user),
                                            helio_text_of(rows[i].unix_user),
                                            rows[i].allow_root,
                                            {0},
                                            false};
        site_reopen(&site);
        attempt_t attempt = {.run = "touch ran"};
        site_start(&site, &attempt);
        const heard_t *heard = site_wait(&site, 1);
        expect(heard, HELIO_BACKEND_REPORT_FAILED_TO_START);
        assert_int_equal(heard->event.cause, HELIO_CAUSE_NO_USER_MAPPING);
        if (!strstr(heard->explanation, rows[i].says))
            fail_msg("'%s' does not say '%s'", heard->explanation, rows[i].says);
        char path[512];
        assert_int_not_equal(access(site_path(&site, "attempts", 1, "", path), F_OK), 0);
        site_close(&site);
    }
}

static void users__are_read_from_a_site_file(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_job_rules_t rules;
    helio_diagnostic_t what = {0};
    helio_spec_source_t source = {
        .text = HELIO_TEXT("users:\n"
                           "  - {tenant: acme, unix: acme-batch}\n"
                           "  - {tenant: ops, user: eve, unix: root, allow_root: true, account: ops-gpu}\n"
                           "secrets: /etc/heliostat/secrets\n"
                           "grace: 45s\n")};
    if (helio_spec_read(&helio_job_rules_table, source, 1 << 16, arena, &rules, &what))
        fail_msg("%s", what.message);
    assert_int_equal(rules.users.count, 2);
    assert_true(helio_text_is(rules.users.items[0].user, "*"));
    assert_false(rules.users.items[0].allow_root);
    assert_true(rules.users.items[1].allow_root);
    assert_true(helio_text_is(rules.users.items[0].account, ""));
    assert_true(helio_text_is(rules.users.items[1].account, "ops-gpu"));
    assert_int_equal(rules.grace_ms, 45000);
    assert_true(rules.retention_ms == 7ULL * 86400000 && rules.log_max_bytes == 1000000000);
    source.text = HELIO_TEXT("users: [{tenant: acme}]\n");
    assert_int_equal(helio_spec_read(&helio_job_rules_table, source, 1 << 16, arena, &rules, &what), HELIO_INVALID);
    assert_non_null(strstr(what.message, "unix"));
    helio_arena_destroy(&arena);
}

static void users__the_first_line_that_matches_counts(void **state)
{
    (void)state;
    helio_user_rule_t lines[] = {{HELIO_TEXT("acme"), HELIO_TEXT("ada"), HELIO_TEXT("u1"), false, {0}, false},
                                 {HELIO_TEXT("acme"), HELIO_TEXT("*"), HELIO_TEXT("u2"), false, {0}, false},
                                 {HELIO_TEXT("*"), HELIO_TEXT("ada"), HELIO_TEXT("u3"), false, {0}, true}};
    helio_job_rules_t rules = {0};
    rules.users.items = lines;
    rules.users.count = 3;
    const char *rows[][3] = {
        {"acme", "ada", "u1"}, {"acme", "bob", "u2"}, {"other", "ada", "u3"}, {"other", "bob", ""}, {"acm", "ad", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_user_rule_t user = {.unix_user = HELIO_TEXT("")};
        helio_rc rc = helio_job_rules_user(&rules, helio_text_of(rows[i][0]), helio_text_of(rows[i][1]), &user);
        assert_int_equal(rc, *rows[i][2] ? HELIO_OK : HELIO_NOT_FOUND);
        assert_true(helio_text_is(user.unix_user, rows[i][2]));
    }
}

/*  What users `a` and `b` of tenants are given, by the lines of the site file; "" = refused. */
static void users__two_tenants_share_an_account_only_where_the_site_file_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *acme, *globex;
        uint32_t told;
    } cases[] = {
        {"[{tenant: acme, unix: u}, {tenant: globex, unix: v}]", "u", "v", 2},
        {"[{tenant: acme, unix: u}, {tenant: globex, unix: u}]", "", "", 0},
        {"[{tenant: acme, unix: u}, {tenant: globex, unix: u, shared: true}]", "", "u", 1},
        {"[{tenant: acme, unix: u, shared: true}, {tenant: globex, unix: u, shared: true}]", "u", "u", 2},
        {"[{tenant: acme, unix: u}, {tenant: acme, user: eve, unix: u}]", "u", "", 1}, /* one tenant's own business */
        {"[{unix: u}]", "", "", 0},
        {"[{unix: u, shared: true}]", "u", "u", 1},
        {"[{tenant: acme, unix: v}, {unix: u, shared: true}]", "v", "u", 2},
        {"[{tenant: acme, unix: u}, {unix: u, shared: true}]", "", "u", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_job_rules_t rules, copy;
        helio_diagnostic_t what = {0};
        helio_buffer_printf(&text, "users: %s\n", cases[i].lines);
        helio_spec_source_t source = {.text = helio_buffer_view(&text)};
        if (helio_spec_read(&helio_job_rules_table, source, 1 << 16, arena, &rules, &what))
            fail_msg("%s", what.message);
        helio_job_rules_copy(&rules, arena, &copy);
        const char *const tenants[] = {"acme", "globex"}, *const expected[] = {cases[i].acme, cases[i].globex};
        for (size_t t = 0; t < 2; t++) {
            helio_user_rule_t line = {.unix_user = HELIO_TEXT("")};
            bool good = helio_job_rules_user(&copy, helio_text_of(tenants[t]), HELIO_TEXT("ada"), &line) == HELIO_OK;
            if (good != (*expected[t] != '\0') || (good && !helio_text_is(line.unix_user, expected[t])))
                fail_msg("%s of %s", tenants[t], cases[i].lines);
        }
        helio_site_profile_t profile = {0};
        helio_job_rules_tell(&copy, arena, &profile);
        assert_int_equal(profile.tenants.count, cases[i].told); /* the broker sends jobs of no others */
        assert_true(profile.tenants_reported);
    }
}

static void users__a_job_has_the_rights_of_its_mapped_user_and_no_others(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can run jobs as somebody else");
    const struct passwd *nobody = getpwnam("nobody");
    assert_non_null(nobody);
    site_t site = {0};
    site_open(&site);
    site.users[0] = (helio_user_rule_t){HELIO_TEXT("acme"), HELIO_TEXT("ada"), HELIO_TEXT("nobody"), false, {0}, false};
    site_reopen(&site);
    attempt_t attempt = {.run = "id -u; id -g; id -G; pwd; umask; echo x > here; echo y >> $HELIO_REPORT; "
                                "cat $HELIO_OUTPUT_DIR/../../attempts/*/env; cd ${HELIO_REPORT%/*}; cat env "
                                "plan; echo z > intruder; "
                                "kill -9 $PPID; echo end"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    char want[256], path[512];
    site_log(&site, 1, &log);
    int size = snprintf(want, sizeof want, "%u\n%u\n%u\n%s\n0022\n", nobody->pw_uid, nobody->pw_gid, nobody->pw_gid,
                        site_path(&site, "output", 1, "", path));
    assert_true((size_t)size < log.size);
    assert_memory_equal(log.data, want, (size_t)size);
    assert_non_null(strstr(log.data, "\nend\n"));
    assert_null(strstr(log.data, "HELIO_JOB_ID=")); /* the environment's file may hold secrets */
    assert_null(strstr(log.data, "grace_ms"));
    assert_int_not_equal(access(site_path(&site, "attempts", 1, "intruder", path), F_OK), 0);
    struct stat status;
    assert_int_equal(stat(site_path(&site, "output", 1, "here", path), &status), 0);
    assert_int_equal(status.st_uid, nobody->pw_uid);
    site_close(&site);
}

static void users__checkpoints_of_another_user_are_not_given_to_a_job(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can run jobs as two users");
    site_t site = {0};
    site_open(&site);
    attempt_t attempt = {.run = "touch $HELIO_CHECKPOINT_DIR/mine"};
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    site.users[0].unix_user = HELIO_TEXT("nobody");
    site_reopen(&site);
    attempt.epoch = 2;
    site_start(&site, &attempt);
    expect(site_wait(&site, 3), HELIO_BACKEND_REPORT_FAILED_TO_START);
    assert_non_null(strstr(site.heard[2].explanation, "checkpoints belong to another"));
    site_close(&site);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static void secrets__come_from_the_mapped_users_folder_alone(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    char root[128], mine[512], other[512], path[1024];
    (void)snprintf(root, sizeof root, "%s/secrets", site.dir);
    (void)snprintf(mine, sizeof mine, "%s/%s", root, site.self_name);
    (void)snprintf(other, sizeof other, "%s/someone", root);
    assert_int_equal(mkdir(root, 0700) | mkdir(mine, 0700) | mkdir(other, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/HF_TOKEN", mine);
    put(path, "s3cret\n");
    (void)snprintf(path, sizeof path, "%s/THEIRS", other);
    put(path, "not yours");
    site.rules.secrets = helio_text_of(root);
    site_reopen(&site);

    helio_string_t name = {HELIO_TEXT("HF_TOKEN")};
    attempt_t attempt = {.run = "echo \"<$HF_TOKEN>\""};
    attempt.spec.secrets.items = &name;
    attempt.spec.secrets.count = 1;
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    site_wait_log(&site, "<s3cret>\n");
    assert_int_not_equal(access(site_path(&site, "attempts", 1, "env", path), F_OK), 0);

    (void)snprintf(path, sizeof path, "%s/HF_TOKEN", mine);
    put(path, "two\nlines\n"); /* an argument of a container's runtime would show it to others */
    site.rules.containers.runtime = HELIO_TEXT("podman");
    site_reopen(&site);
    attempt.epoch = 30;
    attempt.spec.image = HELIO_TEXT("train:1");
    site_start(&site, &attempt);
    const heard_t *lines = site_wait(&site, 3);
    expect(lines, HELIO_BACKEND_REPORT_FAILED_TO_START);
    assert_non_null(strstr(lines->explanation, "several lines"));
    attempt.spec.image = (helio_text_t){0};

    const char *bad[] = {"MISSING", "THEIRS", "../someone/THEIRS", "/etc/passwd", "..", ""};
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        name.text = helio_text_of(bad[i]);
        attempt.epoch = 2 + i;
        site_start(&site, &attempt);
        const heard_t *heard = site_wait(&site, 4 + i);
        expect(heard, HELIO_BACKEND_REPORT_FAILED_TO_START);
        assert_int_equal(heard->event.cause, HELIO_CAUSE_MISSING_SECRET);
        assert_non_null(strstr(heard->explanation, bad[i]));
    }
    assert_int_equal(chmod(root, 0755), 0); /* open to others: none is given out */
    name.text = HELIO_TEXT("HF_TOKEN");
    attempt.epoch = 20;
    uint32_t before = site.heard_count;
    site_start(&site, &attempt);
    expect(site_wait(&site, before + 1), HELIO_BACKEND_REPORT_FAILED_TO_START);
    const helio_local_options_t options = {.state_dir = site.dir, .shim = HELIO_SHIM_PATH, .rules = &site.rules};
    assert_int_equal(helio_local_check(&options, NULL), HELIO_FORBIDDEN);
    assert_int_equal(chmod(root, 0700), 0);
    assert_int_equal(helio_local_check(&options, NULL), HELIO_OK);
    site_close(&site);
}

/*  A command stands for the runtime: it gets the image, the job's folder and its variables, and runs its program. */
static void orders__with_an_image_run_by_the_sites_runtime(void **state)
{
    (void)state;
    static const char runtime[] = "echo \"$@\"; shift 2; exec \"$@\"";
    helio_string_t words[] = {{HELIO_TEXT("/bin/sh")},  {HELIO_TEXT("-c")},
                              {HELIO_TEXT("")},         {HELIO_TEXT("runtime")},
                              {HELIO_TEXT("{image}")},  {HELIO_TEXT("{any_gpu}{renumbered}of{gpus}")},
                              {HELIO_TEXT("{program}")}};
    words[2].text = helio_text_of(runtime);
    site_t site = {0};
    site_open(&site);
    site.rules.containers.runtime = HELIO_TEXT("command");
    site.rules.containers.command.items = words;
    site.rules.containers.command.count = 7;
    site_reopen(&site);
    attempt_t image = {.run = "echo $HELIO_GPUS; exit 3", .slot_count = 1};
    uint32_t gpus[] = {2, 5};
    image.slots[0].gpus.items = gpus;
    image.slots[0].gpus.count = 2;
    image.spec.image = HELIO_TEXT("registry.example/train:1.4");
    site_start(&site, &image);
    (void)site_wait(&site, 2);
    assert_int_equal(site.heard[1].event.exit_code, 3);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    site_log(&site, 1, &log);
    assert_non_null(strstr(log.data, "registry.example/train:1.4 0,1of2,5 /bin/sh /"));
    assert_non_null(strstr(log.data, "/run\n2\n"));
    attempt_t option = {.run = "true", .epoch = 2};
    option.spec.image = HELIO_TEXT("--privileged");
    site_start(&site, &option);
    expect(site_wait(&site, 3), HELIO_BACKEND_REPORT_FAILED_TO_START);
    assert_int_equal(site.heard[2].event.cause, HELIO_CAUSE_BAD_OPTION);
    site_close(&site);
}

/*  What a job chooses reaches its container, and not the runtime, which runs outside of it and may gain rights. */
static void orders__with_an_image_do_not_choose_their_runtime(void **state)
{
    (void)state;
    helio_string_t words[] = {
        {HELIO_TEXT("runtime")}, {HELIO_TEXT("{image}")}, {HELIO_TEXT("{env_file}")}, {HELIO_TEXT("{program}")}};
    char good[512], evil[512], program[600], paths[2][600];
    site_t site = {0};
    site_open(&site);
    assert_int_equal(chmod(site.dir, 0755), 0);
    (void)snprintf(good, sizeof good, "%s/good", site.dir);
    (void)snprintf(evil, sizeof evil, "%s/evil", site.dir);
    assert_int_equal(mkdir(good, 0755) | mkdir(evil, 0755), 0);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(program, sizeof program, "%s/runtime", i ? evil : good);
        (void)snprintf(paths[i], sizeof paths[i], "%s:/usr/bin:/bin", i ? evil : good);
        put(program,
            i ? "#!/bin/sh\necho evil\n"
              : "#!/bin/sh\necho \"<$PATH> <$LD_LIBRARY_PATH> <$COLOUR>\"\ngrep COLOUR $2\necho $HELIO_GPUS\n");
        assert_int_equal(chmod(program, 0755), 0);
    }
    site.rules.containers.runtime = HELIO_TEXT("command");
    site.rules.containers.command.items = words;
    site.rules.containers.command.count = 4;
    site.rules.path = helio_text_of(paths[0]);
    site_reopen(&site);
    helio_pair_t env[] = {{HELIO_TEXT("PATH"), helio_text_of(paths[1])},
                          {HELIO_TEXT("LD_LIBRARY_PATH"), helio_text_of(evil)},
                          {HELIO_TEXT("COLOUR"), HELIO_TEXT("deep blue")}};
    attempt_t attempt = {.run = "true"};
    attempt.spec.image = HELIO_TEXT("train:1");
    attempt.spec.env.items = env;
    attempt.spec.env.count = 3;
    site_start(&site, &attempt);
    expect_end(site_wait(&site, 2), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    char want[800];
    site_log(&site, 1, &log);
    (void)snprintf(want, sizeof want, "<%s> <> <>\nCOLOUR=deep blue\n0\n", paths[0]);
    assert_string_equal(log.data, want);
    site_close(&site);
}

static void orders__that_the_site_cannot_run_are_refused_with_a_cause(void **state)
{
    (void)state;
    site_t site = {0};
    site_open(&site);
    attempt_t image = {.run = "true"};
    image.spec.image = HELIO_TEXT("registry.example/train:1.4");
    site_start(&site, &image);
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_FAILED_TO_START);
    assert_int_equal(site.heard[0].event.cause, HELIO_CAUSE_NO_CONTAINER_RUNTIME);
    helio_pair_t bad = {HELIO_TEXT("A=B"), HELIO_TEXT("x")};
    attempt_t env = {.run = "true", .epoch = 2};
    env.spec.env.items = &bad;
    env.spec.env.count = 1;
    site_start(&site, &env);
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_FAILED_TO_START);
    attempt_t hostile = {.run = "true", .epoch = 3};
    hostile.order.tenant = HELIO_TEXT("../../../etc\n$(touch x)");
    hostile.order.user = HELIO_TEXT("*");
    site_start(&site, &hostile);
    expect(site_wait(&site, 3), HELIO_BACKEND_REPORT_FAILED_TO_START);
    site_close(&site);
}

/*  What the agent's own life left behind must not reach a job: ignored and blocked signals, core files, a privileged
 *  place when memory runs out. */
static void set_oom_score(const char *score)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");
    assert_non_null(file);
    (void)fputs(score, file);
    (void)fclose(file); /* a process that is not root cannot lower it */
}

static void rights__a_job_begins_plain(void **state)
{
    (void)state;
    static const char looks[] =
        "grep -E '^(NoNewPrivs|SigIgn|SigBlk):' /proc/self/status | tr '\\t' ' '; ulimit -c; umask; "
        "cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -l";
    for (int setuid_programs = 0; setuid_programs < 2; setuid_programs++) {
        site_t site = {0};
        site_open(&site);
        site.rules.setuid_programs = setuid_programs == 1;
        site_reopen(&site);
        attempt_t attempt = {.run = looks};
        struct rlimit before, most;
        assert_int_equal(getrlimit(RLIMIT_CORE, &before), 0);
        most = (struct rlimit){before.rlim_max, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_CORE, &most), 0);
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
            (void)signal(number, SIG_IGN);
        (void)signal(SIGPIPE, SIG_IGN);
        set_oom_score(geteuid() == 0 ? "-100" : "0");
        site_start(&site, &attempt);
        set_oom_score("0");
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
            (void)signal(number, SIG_DFL);
        (void)signal(SIGPIPE, SIG_DFL);
        assert_int_equal(setrlimit(RLIMIT_CORE, &before), 0);
        expect_end(site_wait(&site, 2), 0);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
        char want[200];
        site_log(&site, 1, &log);
        (void)snprintf(want, sizeof want,
                       "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\nNoNewPrivs: %d\n0\n0022\n0\n4\n",
                       setuid_programs ? 0 : 1);
        assert_string_equal(log.data, want);
        site_close(&site);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users__no_job_runs_as_the_agent_by_accident),
        cmocka_unit_test(users__are_read_from_a_site_file),
        cmocka_unit_test(users__the_first_line_that_matches_counts),
        cmocka_unit_test(users__two_tenants_share_an_account_only_where_the_site_file_says_so),
        cmocka_unit_test(users__a_job_has_the_rights_of_its_mapped_user_and_no_others),
        cmocka_unit_test(users__checkpoints_of_another_user_are_not_given_to_a_job),
        cmocka_unit_test(secrets__come_from_the_mapped_users_folder_alone),
        cmocka_unit_test(orders__with_an_image_run_by_the_sites_runtime),
        cmocka_unit_test(orders__with_an_image_do_not_choose_their_runtime),
        cmocka_unit_test(orders__that_the_site_cannot_run_are_refused_with_a_cause),
        cmocka_unit_test(rights__a_job_begins_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
