/*  test_local_users.c -- whose user a job runs as on this machine, and which secrets it gets. */
#include "tests/unit/site-agent/backends/local/local_testing.h"

/* ---- users and secrets --------------------------------------------------------------------------------- */

static void users__nobody_runs_as_the_agent_by_accident(void **state)
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
        {"acme", "*", "no-such-user-here", false, false, "cannot be looked up"},
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
                                            {0}};
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
    assert_int_equal(helio_spec_read(&helio_job_rules_table, source, 1 << 16, arena, &rules, &what),
                     HELIO_INVALID);
    assert_non_null(strstr(what.message, "unix"));
    helio_arena_destroy(&arena);
}

static void users__the_first_line_that_fits_decides(void **state)
{
    (void)state;
    helio_user_rule_t lines[] = {{HELIO_TEXT("acme"), HELIO_TEXT("ada"), HELIO_TEXT("u1"), false, {0}},
                                 {HELIO_TEXT("acme"), HELIO_TEXT("*"), HELIO_TEXT("u2"), false, {0}},
                                 {HELIO_TEXT("*"), HELIO_TEXT("ada"), HELIO_TEXT("u3"), false, {0}}};
    helio_job_rules_t rules = {0};
    rules.users.items = lines;
    rules.users.count = 3;
    const char *rows[][3] = {{"acme", "ada", "u1"},
                             {"acme", "bob", "u2"},
                             {"other", "ada", "u3"},
                             {"other", "bob", ""},
                             {"acm", "ad", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_user_rule_t user = {.unix_user = HELIO_TEXT("")};
        helio_rc rc =
            helio_job_rules_user(&rules, helio_text_of(rows[i][0]), helio_text_of(rows[i][1]), &user);
        assert_int_equal(rc, *rows[i][2] ? HELIO_OK : HELIO_NOT_FOUND);
        assert_true(helio_text_is(user.unix_user, rows[i][2]));
    }
}

static void users__a_job_is_its_mapped_user_and_no_more(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can run jobs as somebody else");
    const struct passwd *nobody = getpwnam("nobody");
    assert_non_null(nobody);
    site_t site = {0};
    site_open(&site);
    site.users[0] =
        (helio_user_rule_t){HELIO_TEXT("acme"), HELIO_TEXT("ada"), HELIO_TEXT("nobody"), false, {0}};
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
    int size = snprintf(want, sizeof want, "%u\n%u\n%u\n%s\n0022\n", nobody->pw_uid, nobody->pw_gid,
                        nobody->pw_gid, site_path(&site, "output", 1, "", path));
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

static void users__checkpoints_of_another_user_are_not_handed_over(void **state)
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

    const char *bad[] = {"MISSING", "THEIRS", "../someone/THEIRS", "/etc/passwd", "..", ""};
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        name.text = helio_text_of(bad[i]);
        attempt.epoch = 2 + i;
        site_start(&site, &attempt);
        const heard_t *heard = site_wait(&site, 3 + i);
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
    assert_int_not_equal(site.backend->class->check(site.backend, NULL), HELIO_OK);
    site_close(&site);
}

static void orders__that_this_site_cannot_run_are_refused_with_their_reason(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users__nobody_runs_as_the_agent_by_accident),
        cmocka_unit_test(users__are_read_from_a_site_file),
        cmocka_unit_test(users__the_first_line_that_fits_decides),
        cmocka_unit_test(users__a_job_is_its_mapped_user_and_no_more),
        cmocka_unit_test(users__checkpoints_of_another_user_are_not_handed_over),
        cmocka_unit_test(secrets__come_from_the_mapped_users_folder_alone),
        cmocka_unit_test(orders__that_this_site_cannot_run_are_refused_with_their_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
