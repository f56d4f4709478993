/*  What must hold when things go wrong: agents and shims that die, leases that end, disks that fill, users
 * that are nobody's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "federation/base/clock.h"
#include "site-agent/shim/plan.h"
#include "tests/support/local_fixture.h"

#define SKIP_LOUDLY(why)                     \
    do {                                     \
        print_message("SKIPPED: " why "\n"); \
        skip();                              \
    } while (0)

static void expect(const heard_t *heard, helio_backend_word_t word)
{
    if (heard->event.word != word)
        fail_msg("%s (%s) instead of %s", helio_backend_word_word(heard->event.word), heard->reason,
                 helio_backend_word_word(word));
}

static void expect_end(const heard_t *heard, int exit_code)
{
    expect(heard, HELIO_BACKEND_WORD_ENDED);
    assert_int_equal(heard->event.exit_code, exit_code);
}

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

/* ---- starts ----------------------------------------------------------------------------------------------
 */

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
    while (site.heard_count == 0 || site.heard[site.heard_count - 1].event.word == HELIO_BACKEND_WORD_STARTED)
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
    expect(site_wait(&site, 2), HELIO_BACKEND_WORD_ENDED);
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
    expect(site_wait(&site, 1), HELIO_BACKEND_WORD_ABSENT);
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
        expect(heard, HELIO_BACKEND_WORD_FAILED_TO_START);
        assert_memory_equal(heard->reason, "StartFailed: ", 13);
        site.shim = NULL; /* mended: the same attempt can start now, since nothing of it ever ran */
        site_reopen(&site);
        site_start(&site, &attempt);
        expect_end(site_wait(&site, 3), 0);
        site_close(&site);
    }
}

/* ---- agents and shims that die ---------------------------------------------------------------------------
 */

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
    expect(site_wait(&site, 1), HELIO_BACKEND_WORD_STARTED);
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
    assert_int_equal(site.heard[0].event.word, HELIO_BACKEND_WORD_STARTED);
    site.heard_count = 0;
    site.backend->class->survey(site.backend);
    expect_end(site_wait(&site, 2), 5);
    site.heard_count = 0;
    site_adopt(&site, 2);
    site_stop(&site, 3, HELIO_STOP_MODE_GRACE);
    (void)site_wait(&site, 2);
    expect(&site.heard[0], HELIO_BACKEND_WORD_ABSENT);
    expect(&site.heard[1], HELIO_BACKEND_WORD_ABSENT);
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
        expect(end, HELIO_BACKEND_WORD_VANISHED);
        assert_memory_equal(end->reason, "Vanished: ", 10);
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
    expect(site_wait(&site, 2), HELIO_BACKEND_WORD_ENDED);
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
    expect(site_wait(&site, 2), HELIO_BACKEND_WORD_VANISHED);
    site_close(&site);
}

/* ---- leases ----------------------------------------------------------------------------------------------
 */

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
    assert_string_equal(end->reason, "LeaseExpired");
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
        expect(heard, HELIO_BACKEND_WORD_FAILED_TO_START);
        assert_string_equal(heard->reason, "LeaseExpired");
        char path[512];
        assert_int_not_equal(access(site_path(&site, "output", 1, "ran", path), F_OK), 0);
        site_close(&site);
    }
}

/* ---- users and secrets -----------------------------------------------------------------------------------
 */

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
        expect(heard, HELIO_BACKEND_WORD_FAILED_TO_START);
        assert_memory_equal(heard->reason, "NoUserMapping: ", 15);
        if (!strstr(heard->reason, rows[i].says))
            fail_msg("'%s' does not say '%s'", heard->reason, rows[i].says);
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
    expect(site_wait(&site, 3), HELIO_BACKEND_WORD_FAILED_TO_START);
    assert_non_null(strstr(site.heard[2].reason, "checkpoints belong to another"));
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

    helio_word_t name = {HELIO_TEXT("HF_TOKEN")};
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
        expect(heard, HELIO_BACKEND_WORD_FAILED_TO_START);
        assert_memory_equal(heard->reason, "MissingSecret: ", 15);
        assert_non_null(strstr(heard->reason, bad[i]));
    }
    assert_int_equal(chmod(root, 0755), 0); /* open to others: none is given out */
    name.text = HELIO_TEXT("HF_TOKEN");
    attempt.epoch = 20;
    uint32_t before = site.heard_count;
    site_start(&site, &attempt);
    expect(site_wait(&site, before + 1), HELIO_BACKEND_WORD_FAILED_TO_START);
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
    expect(site_wait(&site, 1), HELIO_BACKEND_WORD_FAILED_TO_START);
    assert_memory_equal(site.heard[0].reason, "NoContainerRuntime", 18);
    helio_pair_t bad = {HELIO_TEXT("A=B"), HELIO_TEXT("x")};
    attempt_t env = {.run = "true", .epoch = 2};
    env.spec.env.items = &bad;
    env.spec.env.count = 1;
    site_start(&site, &env);
    expect(site_wait(&site, 2), HELIO_BACKEND_WORD_FAILED_TO_START);
    attempt_t hostile = {.run = "true", .epoch = 3};
    hostile.order.tenant = HELIO_TEXT("../../../etc\n$(touch x)");
    hostile.order.user = HELIO_TEXT("*");
    site_start(&site, &hostile);
    expect(site_wait(&site, 3), HELIO_BACKEND_WORD_FAILED_TO_START);
    site_close(&site);
}

/* ---- full disks ------------------------------------------------------------------------------------------
 */

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
    assert_int_equal(word, HELIO_BACKEND_WORD_ENDED);
    assert_int_equal(exit_code, 5);
    assert_int_equal(next, HELIO_BACKEND_WORD_FAILED_TO_START);
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
        cmocka_unit_test(users__nobody_runs_as_the_agent_by_accident),
        cmocka_unit_test(users__are_read_from_a_site_file),
        cmocka_unit_test(users__the_first_line_that_fits_decides),
        cmocka_unit_test(users__a_job_is_its_mapped_user_and_no_more),
        cmocka_unit_test(users__checkpoints_of_another_user_are_not_handed_over),
        cmocka_unit_test(secrets__come_from_the_mapped_users_folder_alone),
        cmocka_unit_test(orders__that_this_site_cannot_run_are_refused_with_their_reason),
        cmocka_unit_test(disk__full_delays_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
