/*  test_folder.c -- folders of attempts: their owners, hostile contents, and their removal once nothing needs them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "site-agent/backends/folder/folder.h"
#include "tests/support/local_fixture.h"

#define SKIP_LOUDLY(why)                     \
    do {                                     \
        print_message("SKIPPED: " why "\n"); \
        skip();                              \
    } while (0)

typedef struct bed {
    site_t site; /* its folder, users and rules */
    helio_folders_t *folders;
    helio_folder_how_t how;
    helio_job_spec_t spec;
    helio_order_t order;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    uint32_t cause; /* of the last that could not be prepared */
} bed_t;

static void open_bed(bed_t *bed, bool users_own, const char *unix_user)
{
    site_open(&bed->site);
    if (unix_user)
        bed->site.users[0].unix_user = helio_text_of(unix_user);
    bed->site.users[0].account = HELIO_TEXT("acme-gpu");
    helio_folders_options_t options = {
        .root = bed->site.dir, .site = HELIO_TEXT("lulea"), .rules = &bed->site.rules, .users_own = users_own};
    helio_error_t err = {0};
    if (helio_folders_new(&options, &bed->folders, &err))
        fail_msg("%s", err.text);
    bed->order = (helio_order_t){
        .key = site_key(), .epoch = 1, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .nodes = 1};
    bed->spec.run = HELIO_TEXT("echo ran\n");
    helio_attempt_name(bed->order.key, 1, bed->name);
}

static void close_bed(bed_t *bed)
{
    helio_folders_destroy(&bed->folders);
    site_close(&bed->site);
}

static helio_rc prepare(bed_t *bed, helio_error_t *err)
{
    helio_backend_task_t task = {.order = &bed->order, .spec = &bed->spec};
    return helio_folders_prepare(bed->folders, &task, bed->name, &bed->how, &bed->cause, err);
}

static int folder_of(const bed_t *bed)
{
    int folder = -1;
    assert_int_equal(helio_folders_open(bed->folders, bed->name, &folder, NULL), HELIO_OK);
    return folder;
}

static void expect_file(int folder, const char *name, mode_t mode, uid_t uid)
{
    struct stat status;
    assert_int_equal(fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW), 0);
    if ((status.st_mode & 07777) != mode || status.st_uid != uid)
        fail_msg("%s: mode %o, user %u", name, (unsigned)status.st_mode, status.st_uid);
}

static void folder__belongs_to_the_user_only_if_a_scheduler_starts_the_shim(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can give folders away");
    const struct passwd *nobody = getpwnam("nobody");
    assert_non_null(nobody);
    for (int users_own = 0; users_own < 2; users_own++) {
        bed_t bed = {0};
        open_bed(&bed, users_own == 1, "nobody");
        bed.how.launcher = users_own ? HELIO_LAUNCHER_SLURM : HELIO_LAUNCHER_LOCAL;
        helio_error_t err = {0};
        if (prepare(&bed, &err))
            fail_msg("%s", err.text);
        int folder = folder_of(&bed);
        uid_t theirs = nobody->pw_uid, owner = users_own ? theirs : 0;
        expect_file(folder, ".", users_own ? 0700 : 0711, owner);
        expect_file(folder, "run", 0500, theirs);
        expect_file(folder, "report", 0600, theirs);
        expect_file(folder, "env", 0600, owner);
        expect_file(folder, "plan", 0600, owner);
        /* A shim that is still on its way, as that user, finds it taken. */
        assert_int_equal(helio_folder_close_unclaimed(folder, NULL), HELIO_OK);
        expect_file(folder, "claim", 0600, 0);
        (void)close(folder);
        close_bed(&bed);
    }
}

static void folder__account_names_the_slurm_account_that_pays(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    helio_unix_account_t account;
    assert_int_equal(helio_folders_account(bed.folders, &bed.order, &account, NULL), HELIO_OK);
    assert_string_equal(account.name, bed.site.self_name);
    assert_true(helio_text_is(account.slurm_account, "acme-gpu"));
    assert_true(account.uid == geteuid());
    close_bed(&bed);
}

static void folder__impossible_paths_are_refused_before_anything_is_created(void **state)
{
    (void)state;
    const struct {
        const char *workdir, *stdout_path;
    } rows[] = {{"relative", ""}, {"/a\nlease=/x", ""}, {"", "a\nuid=0"}, {"", "a\x7f"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bed_t bed = {0};
        open_bed(&bed, true, NULL);
        bed.how = (helio_folder_how_t){.launcher = HELIO_LAUNCHER_SLURM,
                                       .workdir = helio_text_of(rows[i].workdir),
                                       .stdout_path = helio_text_of(rows[i].stdout_path)};
        helio_error_t err = {0};
        assert_int_equal(prepare(&bed, &err), HELIO_INVALID);
        assert_int_equal(bed.cause, HELIO_CAUSE_START_FAILED);
        assert_int_equal(folder_of(&bed), -1);
        close_bed(&bed);
    }
}

static void put_of(int folder, const char *name, const char *text, uid_t uid)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(fchown(fd, uid, uid), 0);
    (void)close(fd);
}

/*  Where nothing protects hard links, users can put files of others into their own folders, and root reads them. */
static void folder__files_of_others_in_a_users_folder_are_not_read(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can read what belongs to others");
    static const struct {
        uid_t uid;
        bool log, claim;
    } cases[] = {{0, false, true}, {61234, false, false}, {65534, true, true}};
    const char report[] = "{\"units\": 7}\n";
    bed_t bed = {0};
    open_bed(&bed, true, "nobody");
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(getpwnam("nobody")->pw_uid, 65534);
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        uint64_t next = 0;
        bool end = false;
        int64_t beat = 0;
        helio_error_t err = {0};
        put_of(folder, "log", "the other's words", cases[i].uid);
        put_of(folder, "report", report, cases[i].uid);
        put_of(folder, "claim", "", cases[i].uid);
        helio_rc rc = helio_folders_log_read(bed.folders, bed.name, 0, 100, &out, &next, &end, &err);
        assert_int_equal(rc == HELIO_OK, cases[i].log);
        assert_int_equal(out.size > 0, cases[i].log);
        if (rc) {
            assert_non_null(strstr(err.text, "'log' in '/tmp/"));
            assert_non_null(strstr(err.text, "belongs to another user than that folder: remove it there"));
        }
        const helio_done_t ended = {.started_wall_ms = 1, .run_ms = 1000};
        assert_int_equal(helio_folder_progress(folder, &ended).units, cases[i].log ? 7 : 0);
        assert_int_equal(helio_folder_beat(folder, &beat) == HELIO_OK, cases[i].claim); /* agents close folders so */
        const char *names[] = {"log", "report", "claim"};
        for (size_t n = 0; n < 3; n++)
            assert_int_equal(unlinkat(folder, names[n], 0), 0);
    }
    (void)close(folder);
    close_bed(&bed);
}

/*  The agent's folder, in which `report` alone is the user's. */
static void folder__of_a_root_agent_has_a_users_report(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can run jobs as somebody else");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    uint64_t next = 0;
    bool end = false;
    bed_t bed = {0};
    open_bed(&bed, false, "nobody");
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    put_of(folder, "log", "words", 0);
    put_of(folder, "report", "{\"units\": 7}\n", 65534);
    assert_int_equal(helio_folders_log_read(bed.folders, bed.name, 0, 100, &out, &next, &end, NULL), HELIO_OK);
    assert_int_equal(out.size, 5);
    assert_int_equal(
        helio_folders_log_read(bed.folders, bed.name, HELIO_LOG_FROM_END | 3, 100, &out, &next, &end, NULL), HELIO_OK);
    assert_true(out.size == 8 && memcmp(out.data + 5, "rds", 3) == 0 && next == 5); /* it began at 2 */
    assert_int_equal(helio_folders_log_read(bed.folders, bed.name, HELIO_LOG_FROM_END | 99, 4, &out, &next, &end, NULL),
                     HELIO_OK);
    assert_true(out.size == 12 && memcmp(out.data + 8, "word", 4) == 0 && next == 4 && !end);
    const helio_done_t ended = {.started_wall_ms = 1, .run_ms = 1000};
    assert_int_equal(helio_folder_progress(folder, &ended).units, 7);
    (void)close(folder);
    close_bed(&bed);
}

/*  The user owns the folder: whatever they put there, the agent neither hangs nor tells them what they may
 * not read. */
static void folder__hostile_status_files_and_logs_are_refused(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    char secret[128];
    (void)snprintf(secret, sizeof secret, "%s/secret", bed.site.dir);
    FILE *file = fopen(secret, "we");
    assert_non_null(file);
    (void)fprintf(file, "the other's words\nend=1\n");
    (void)fclose(file);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    uint64_t next = 0;
    bool end = false;
    for (int kind = 0; kind < 4; kind++) {
        const char *names[] = {"log", "done", "claim", "started"};
        for (size_t i = 0; i < 4; i++)
            switch (kind) {
            case 0:
                assert_int_equal(symlinkat(secret, folder, names[i]), 0);
                break;
            case 1:
                assert_int_equal(mkfifoat(folder, names[i], 0666), 0);
                break;
            case 2:
                assert_int_equal(mkdirat(folder, names[i], 0777), 0);
                break;
            default:
                assert_int_equal(linkat(AT_FDCWD, secret, folder, names[i], 0), 0);
                break;
            }
        helio_done_t done;
        helio_claim_t claim;
        helio_started_t started;
        assert_int_not_equal(helio_folders_log_read(bed.folders, bed.name, 0, 100, &out, &next, &end, NULL), HELIO_OK);
        if (kind < 3)
            assert_int_not_equal(helio_folder_done(folder, &done, NULL), HELIO_OK);
        assert_int_not_equal(helio_folder_claim(folder, &claim, NULL), HELIO_OK);
        assert_int_not_equal(helio_folder_started(folder, &started, NULL), HELIO_OK);
        const helio_done_t ended = {.started_wall_ms = 1, .run_ms = 1000};
        helio_progress_t progress = helio_folder_progress(folder, &ended);
        assert_true(progress.units == 0 && progress.saved_run_ms == 0);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(unlinkat(folder, names[i], kind == 2 ? AT_REMOVEDIR : 0), 0);
    }
    assert_int_equal(out.size, 0);
    (void)close(folder);
    close_bed(&bed);
}

/*  Written at 1,000.25 s; begun at 990 s. */
static helio_progress_t progress_with(int folder, helio_text_t text, const helio_done_t *done)
{
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000, .tv_nsec = 250000000}};
    int fd = openat(folder, "report", O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.data, text.size), text.size);
    assert_int_equal(futimens(fd, times), 0);
    (void)close(fd);
    return helio_folder_progress(folder, done);
}

static void folder__a_report_whose_last_line_names_a_checkpoint_saves_the_run_up_to_its_writing(void **state)
{
    (void)state;
    const struct {
        helio_text_t report;
        uint64_t saved_ms;
    } rows[] = {{HELIO_TEXT(""), 0},
                {HELIO_TEXT("\n\n"), 0},
                {HELIO_TEXT("{\"units\": 9, \"checkpoint\": \"step-9\"}\n"), 10250},
                {HELIO_TEXT("{\"checkpoint\": \"a\"}"), 10250},
                {HELIO_TEXT("{\"units\": 1}\n{\"checkpoint\": \"a\"}\n\n"), 10250},
                {HELIO_TEXT("{\"checkpoint\": \"a\"}\n{\"units\": 9}\n"), 0}, /* written since */
                {HELIO_TEXT("{\"checkpoint\": \"\"}\n"), 0},
                {HELIO_TEXT("{\"checkpoint\": 9}\n"), 0},
                {HELIO_TEXT("{\"checkpoint\": \"a\""), 0},
                {HELIO_TEXT("{\"checkpoint\": \"a\", \"checkpoint\": \"b\"}\n"), 0},
                {HELIO_TEXT("[\"checkpoint\"]\n"), 0},
                {HELIO_TEXT("{\"checkpoint\": \"\xff\"}\n"), 0},
                {HELIO_TEXT("{\0\"checkpoint\": \"a\"}\n"), 0}};
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    const helio_done_t done = {.started_wall_ms = 990000, .run_ms = 60000};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(progress_with(folder, rows[i].report, &done).saved_run_ms, rows[i].saved_ms);
    (void)close(folder);
    close_bed(&bed);
}

static void folder__no_date_of_a_report_saves_more_than_the_run_time(void **state)
{
    (void)state;
    const struct {
        helio_done_t done;
        uint64_t saved_ms;
    } rows[] = {{{.started_wall_ms = 990000, .run_ms = 10250}, 10250},
                {{.started_wall_ms = 990000, .run_ms = 4000}, 4000}, /* dated after the end */
                {{.started_wall_ms = 1000250, .run_ms = 4000}, 0},
                {{.started_wall_ms = 2000000, .run_ms = 4000}, 0}, /* before the begin */
                {{.started_wall_ms = 0, .run_ms = 4000}, 0},
                {{.started_wall_ms = INT64_MIN, .run_ms = 4000}, 0},
                {{.started_wall_ms = INT64_MAX, .run_ms = 4000}, 0}};
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(progress_with(folder, HELIO_TEXT("{\"checkpoint\": \"a\"}\n"), &rows[i].done).saved_run_ms,
                         rows[i].saved_ms);
    (void)close(folder);
    close_bed(&bed);
}

static void folder__only_the_last_bytes_of_an_endless_report_are_read(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed), fd = openat(folder, "report", O_WRONLY | O_APPEND | O_CLOEXEC);
    const helio_done_t done = {.started_wall_ms = 1, .run_ms = 4000};
    static const char line[] = "\n{\"units\": 7, \"checkpoint\": \"a\"}\n";
    assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0); /* a hole */
    assert_int_equal(helio_folder_progress(folder, &done).saved_run_ms, 0);
    assert_int_equal(write(fd, line, sizeof line - 1), sizeof line - 1);
    helio_progress_t progress = helio_folder_progress(folder, &done);
    assert_int_equal(progress.units, 7);
    assert_int_equal(progress.saved_run_ms, 4000);
    char huge[8192];
    memset(huge, ' ', sizeof huge);
    memcpy(huge, "{\"checkpoint\": \"a\",", 20);
    memcpy(huge + sizeof huge - 8, "\"x\": 1}", 8);
    assert_int_equal(write(fd, huge, sizeof huge), sizeof huge);
    assert_int_equal(helio_folder_progress(folder, &done).saved_run_ms, 0); /* no line is so long */
    (void)close(fd);
    (void)close(folder);
    close_bed(&bed);
}

static void folder__removal_takes_its_contents_and_nothing_else(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    char outside[128], path[256];
    (void)snprintf(outside, sizeof outside, "%s/outside", bed.site.dir);
    assert_int_equal(mkdir(outside, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/kept", outside);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(symlinkat(outside, folder, "link"), 0);
    for (int rank = 0; rank < 300; rank++) {
        char name[32], mark[48];
        (void)snprintf(name, sizeof name, "rank-%d", rank);
        (void)snprintf(mark, sizeof mark, "%s/claim", name);
        assert_int_equal(mkdirat(folder, name, 0700), 0);
        int fd = openat(folder, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    (void)close(folder);
    helio_folders_forget(bed.folders, bed.name, 1000000);
    (void)helio_folders_sweep(bed.folders, 1000000 + 999);
    folder = folder_of(&bed);
    assert_true(folder >= 0);
    (void)close(folder);
    assert_true(helio_folders_sweep(bed.folders, 1000000 + 1000) > 0);
    assert_int_equal(folder_of(&bed), -1);
    assert_int_equal(access(path, F_OK), 0);
    close_bed(&bed);
}

/*  Deeper than any path may be long, with folders that shut their owner out, and marks that are folders. */
static void folder__of_any_depth_and_size_is_removed_in_bounded_pieces(void **state)
{
    (void)state;
    enum { DEEP = 2000, WIDE = 6000 };
    for (int users_own = 0; users_own < 2; users_own++) {
        bed_t bed = {0};
        open_bed(&bed, users_own == 1, NULL);
        bed.how.launcher = users_own ? HELIO_LAUNCHER_SLURM : HELIO_LAUNCHER_LOCAL;
        assert_int_equal(prepare(&bed, NULL), HELIO_OK);
        int folder = folder_of(&bed), top = dup(folder);
        assert_int_equal(mkdirat(top, "claim", 0700), 0);
        assert_int_equal(mkdirat(top, "claim/in", 0), 0);
        assert_int_equal(mkdirat(top, ".deep-0", 0700), 0);
        assert_int_equal(mkdirat(top, ".deep-0/.deep-1", 0700), 0);
        for (int i = 0; i < DEEP; i++) {
            assert_int_equal(mkdirat(folder, "down", 0700), 0);
            assert_int_equal(symlinkat("/", folder, "root"), 0);
            int below = openat(folder, "down", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            assert_true(below >= 0);
            if (i % 7 == 3)
                assert_int_equal(fchmod(folder, 0), 0);
            (void)close(folder);
            folder = below;
        }
        for (int i = 0; i < WIDE; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "%d", i);
            int fd = openat(top, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            assert_true(fd >= 0);
            (void)close(fd);
        }
        (void)close(folder);
        (void)close(top);
        helio_folders_forget(bed.folders, bed.name, 1000000);
        int turns = 0;
        for (folder = 0; folder >= 0 && turns < 20; turns++) {
            assert_true(helio_folders_sweep(bed.folders, 1000000 + 1000) > 0);
            folder = folder_of(&bed);
            if (folder >= 0)
                (void)close(folder);
        }
        assert_int_equal(folder, -1);
        assert_true(turns > 1); /* no turn took it all */
        close_bed(&bed);
    }
}

static void count_one(void *arg, const char *name, helio_job_key_t key, uint32_t epoch)
{
    uint32_t *count = arg;
    assert_memory_equal(name, "helio-", 6);
    assert_true(helio_job_key_equal(key, site_key()));
    assert_int_equal(epoch, *count + 1);
    (*count)++;
}

static void folder__a_survey_skips_acknowledged_attempts(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, true, NULL);
    bed.how.launcher = HELIO_LAUNCHER_SLURM;
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    uint32_t count = 0;
    assert_int_equal(helio_folders_each(bed.folders, count_one, &count, NULL), HELIO_OK);
    assert_int_equal(count, 1);
    helio_folders_forget(bed.folders, bed.name, 1000000);
    assert_int_equal(helio_folders_each(bed.folders, count_one, &count, NULL), HELIO_OK);
    assert_int_equal(count, 1);
    close_bed(&bed);
}

static void folder__of_nobody_is_closed_for_ever(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, false, NULL);
    helio_folder_taken_t taken;
    helio_claim_t claim = {0};
    assert_int_equal(helio_folders_close(bed.folders, bed.name, &taken, &claim, NULL),
                     HELIO_OK); /* it does not exist */
    assert_int_equal(taken, HELIO_FOLDER_CLOSED);
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    assert_int_equal(helio_folder_taken(folder, &claim), HELIO_FOLDER_OPEN);
    for (int i = 0; i < 2; i++) { /* the second time as after a restart of the agent */
        assert_int_equal(helio_folders_close(bed.folders, bed.name, &taken, &claim, NULL), HELIO_OK);
        assert_int_equal(taken, HELIO_FOLDER_CLOSED);
        assert_int_equal(helio_folder_taken(folder, &claim), HELIO_FOLDER_CLOSED);
    }
    (void)close(folder);
    close_bed(&bed);
}

static void folder__that_a_shim_has_claimed_is_not_closed(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, false, NULL);
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    helio_claim_t claim = {.shim = {.pid = 77, .start_ticks = 5}}, read = {0};
    (void)snprintf(claim.scheduler_id, sizeof claim.scheduler_id, "4711");
    helio_process_boot_id(claim.boot_id);
    helio_buffer_t text = {0};
    helio_claim_text(&claim, &text);
    assert_int_equal(helio_status_file_claim(folder, "claim", helio_buffer_view(&text), NULL), HELIO_OK);
    helio_folder_taken_t taken;
    assert_int_equal(helio_folders_close(bed.folders, bed.name, &taken, &read, NULL), HELIO_CONFLICT);
    assert_int_equal(taken, HELIO_FOLDER_TAKEN);
    assert_string_equal(read.scheduler_id, "4711");
    /* a damaged claim is one all the same, of nobody that is known */
    assert_int_equal(helio_status_file_replace(folder, "claim", HELIO_TEXT("noise"), 0644, NULL), HELIO_OK);
    assert_int_equal(helio_folder_taken(folder, &read), HELIO_FOLDER_TAKEN);
    assert_string_equal(read.scheduler_id, "");
    helio_buffer_clear(&text);
    (void)close(folder);
    close_bed(&bed);
}

static void folder__a_sign_of_life_counts_from_its_last_change(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, false, NULL);
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    int folder = folder_of(&bed);
    helio_beat_t beat = {0};
    assert_int_equal(helio_beat_note(&beat, folder, 1000), 0);
    assert_false(helio_beat_is_fresh(&beat, 1000)); /* nobody has claimed it */
    assert_int_equal(helio_folder_close_unclaimed(folder, NULL), HELIO_OK);
    assert_int_equal(helio_beat_note(&beat, folder, 1000), 0);
    assert_int_equal(helio_beat_note(&beat, folder, 20000), 0);
    assert_true(helio_beat_is_fresh(&beat, 30999));
    assert_false(helio_beat_is_fresh(&beat, 31000));
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5}};
    assert_int_equal(utimensat(folder, "claim", times, 0), 0);
    assert_int_equal(helio_beat_note(&beat, folder, 31000), 30000);
    assert_true(helio_beat_is_fresh(&beat, 31000));
    (void)close(folder);
    close_bed(&bed);
}

static void folder__a_stop_is_marked_once_for_each_mode(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, false, NULL);
    uint32_t marked = 0;
    helio_folders_mark_stop(bed.folders, bed.name, HELIO_STOP_MODE_GRACE, &marked);
    assert_int_equal(marked, 0); /* there is no folder yet */
    assert_int_equal(prepare(&bed, NULL), HELIO_OK);
    helio_folders_mark_stop(bed.folders, bed.name, HELIO_STOP_MODE_GRACE, &marked);
    assert_int_equal(marked, HELIO_STOP_MODE_GRACE + 1);
    int folder = folder_of(&bed);
    assert_int_equal(unlinkat(folder, "stop", 0), 0);
    helio_folders_mark_stop(bed.folders, bed.name, HELIO_STOP_MODE_GRACE, &marked);
    assert_int_equal(faccessat(folder, "stop", F_OK, 0), -1);
    helio_folders_mark_stop(bed.folders, bed.name, HELIO_STOP_MODE_KILL, &marked);
    assert_int_equal(marked, HELIO_STOP_MODE_KILL + 1);
    assert_int_equal(faccessat(folder, "stop", F_OK, 0), 0);
    (void)close(folder);
    close_bed(&bed);
}

static void folder__a_shim_kills_three_quarters_of_the_margin_after_its_deadline(void **state)
{
    (void)state;
    const struct {
        int64_t left_ms;
        uint64_t margin_ms;
        int64_t after_ms;
    } rows[] = {{900000, 10000, 7500}, {30000, 10000, 7500}, {12000, 10000, 3000},
                {0, 10000, 0},         {-5, 10000, 0},       {900000, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(helio_lease_kill_after_ms(rows[i].left_ms, rows[i].margin_ms), rows[i].after_ms);
}

static void folder__batch_scripts_run_without_a_slurm(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed, false, NULL);
    helio_pair_t slurm[] = {{HELIO_TEXT("partition"), HELIO_TEXT("gpu")}, {HELIO_TEXT("launch"), HELIO_TEXT("batch")}};
    uint32_t tasks[] = {1, 2, 4};
    attempt_t attempt = {.run = "env | grep ^SLURM_ | sort; echo once", .slot_count = 2};
    attempt.order.key.task = 4;
    attempt.order.cpus_per_node = 6;
    attempt.spec.name = HELIO_TEXT("train");
    attempt.spec.slurm.items = slurm;
    attempt.spec.slurm.count = 2;
    attempt.spec.tasks.items = tasks;
    attempt.spec.tasks.count = 3;
    assert_true(helio_job_is_batch_script(&attempt.spec));
    site_start(&bed.site, &attempt);
    assert_int_equal(site_wait(&bed.site, 2)->event.exit_code, 0);
    helio_job_key_t key = site_key();
    key.task = 4;
    char name[HELIO_ATTEMPT_NAME_SIZE], want[1024], path[256], array[24];
    helio_attempt_name(key, 1, name);
    uint64_t number = 0; /* of the array: the same for every task, attempt and site */
    for (size_t i = sizeof key.job.bytes - 8; i < sizeof key.job.bytes; i++)
        number = number << 8 | key.job.bytes[i];
    (void)snprintf(array, sizeof array, "%llu", (unsigned long long)(1000000000 + number % 1000000000));
    int size = snprintf(want, sizeof want,
                        "SLURM_ARRAY_JOB_ID=%s\nSLURM_ARRAY_TASK_COUNT=3\nSLURM_ARRAY_TASK_ID=4\n"
                        "SLURM_ARRAY_TASK_MAX=4\nSLURM_ARRAY_TASK_MIN=1\nSLURM_ARRAY_TASK_STEP=1\n"
                        "SLURM_CPUS_PER_TASK=6\nSLURM_JOB_ID=%s\nSLURM_JOB_NAME=train\nSLURM_JOB_NODELIST=localhost\n"
                        "SLURM_JOB_NUM_NODES=1\nSLURM_LOCALID=0\nSLURM_NNODES=1\nSLURM_NODEID=0\nSLURM_NTASKS=1\n"
                        "SLURM_PROCID=0\nSLURM_SUBMIT_DIR=%s/output/%s\nonce\n",
                        array, name, bed.site.dir, name);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    (void)snprintf(path, sizeof path, "%s/attempts/%s/log", bed.site.dir, name);
    assert_true(read_whole(path, &log));
    assert_int_equal(log.size, size);
    assert_string_equal(log.data, want);
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder__belongs_to_the_user_only_if_a_scheduler_starts_the_shim),
        cmocka_unit_test(folder__account_names_the_slurm_account_that_pays),
        cmocka_unit_test(folder__impossible_paths_are_refused_before_anything_is_created),
        cmocka_unit_test(folder__files_of_others_in_a_users_folder_are_not_read),
        cmocka_unit_test(folder__of_a_root_agent_has_a_users_report),
        cmocka_unit_test(folder__hostile_status_files_and_logs_are_refused),
        cmocka_unit_test(folder__a_report_whose_last_line_names_a_checkpoint_saves_the_run_up_to_its_writing),
        cmocka_unit_test(folder__no_date_of_a_report_saves_more_than_the_run_time),
        cmocka_unit_test(folder__only_the_last_bytes_of_an_endless_report_are_read),
        cmocka_unit_test(folder__removal_takes_its_contents_and_nothing_else),
        cmocka_unit_test(folder__of_any_depth_and_size_is_removed_in_bounded_pieces),
        cmocka_unit_test(folder__a_survey_skips_acknowledged_attempts),
        cmocka_unit_test(folder__of_nobody_is_closed_for_ever),
        cmocka_unit_test(folder__that_a_shim_has_claimed_is_not_closed),
        cmocka_unit_test(folder__a_sign_of_life_counts_from_its_last_change),
        cmocka_unit_test(folder__a_stop_is_marked_once_for_each_mode),
        cmocka_unit_test(folder__a_shim_kills_three_quarters_of_the_margin_after_its_deadline),
        cmocka_unit_test(folder__batch_scripts_run_without_a_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
