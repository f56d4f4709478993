/*  test_ends.c -- what Slurm says of ends and of one job, and its complaints. */
#include "tests/unit/site-agent/backends/slurm/listing/listing_testing.h"

/* ---- ends ---------------------------------------------------------------------------------------------- */

static helio_text_t end_text(const char *name, const char *id, const char *word, const char *exit_code,
                             const char *end_s)
{
    return helio_arena_printf(arena, "%-56.56s %-40.40s %-32.32s %-12.12s %-20.20s %-20.20s %-20.20s 1000         \n",
                              name, id, word, exit_code, "100", "Unknown", end_s);
}

static void recorded_ends_are_read(void **state)
{
    (void)state;
    helio_slurm_ends_t ends;
    helio_error_t err = {0};
    assert_int_equal(helio_slurm_read_ends(recorded("sacct.txt"), arena, &ends, &err), HELIO_OK);
    assert_true(ends.count > 20);
    uint32_t with_break = 0, cancelled = 0, ours = 0;
    for (uint32_t i = 0; i < ends.count; i++) {
        with_break += ends.items[i].name.size && memchr(ends.items[i].name.data, '\n', ends.items[i].name.size) != NULL;
        cancelled += ends.items[i].state == HELIO_SLURM_CANCELLED && ends.items[i].cancelled_by == 0;
        ours += helio_text_is(ends.items[i].name, "helio-01k9zx3f8w7c2m5n6p4q8r1stv-3") &&
                helio_text_is(ends.items[i].id, "49");
    }
    assert_true(with_break >= 2 && cancelled > 5 && ours == 1);
}

static void ends_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *word, *exit_code;
        helio_slurm_state_t state;
        uint32_t code, signal;
        int64_t by;
    } cases[] = {
        {"COMPLETED", "0:0", HELIO_SLURM_COMPLETED, 0, 0, -1},
        {"FAILED", "3:0", HELIO_SLURM_FAILED, 3, 0, -1},
        {"FAILED", "0:11", HELIO_SLURM_FAILED, 0, 11, -1},
        {"CANCELLED by 1000", "0:15", HELIO_SLURM_CANCELLED, 0, 15, 1000},
        {"CANCELLED by 4294967294", "0:0", HELIO_SLURM_CANCELLED, 0, 0, 4294967294},
        {"CANCELLED", "0:0", HELIO_SLURM_CANCELLED, 0, 0, -1},
        {"NODE_FAIL", "1:0", HELIO_SLURM_NODE_FAIL, 1, 0, -1},
        {"OUT_OF_MEMORY", "0:125", HELIO_SLURM_OUT_OF_MEMORY, 0, 125, -1},
        {"BRAND_NEW", "0:0", HELIO_SLURM_OTHER, 0, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_slurm_ends_t ends;
        helio_text_t text = end_text("\nx 1 COMPLETED", "10_3", cases[i].word, cases[i].exit_code, "300");
        assert_int_equal(helio_slurm_read_ends(text, arena, &ends, NULL), HELIO_OK);
        assert_int_equal(ends.count, 1);
        const helio_slurm_end_t *one = &ends.items[0];
        assert_text(one->id, "10_3");
        assert_true(one->state == cases[i].state && one->exit_code == cases[i].code);
        assert_true(one->exit_signal == cases[i].signal && one->cancelled_by == cases[i].by);
        assert_true(one->submit_s == 100 && one->start_s == 0 && one->end_s == 300);
    }
}

static void what_is_no_list_of_ends_is_invalid(void **state)
{
    (void)state;
    helio_slurm_ends_t ends = {.count = 77};
    helio_text_t good = end_text("a", "1", "COMPLETED", "0:0", "3");
    for (uint32_t size = 1; size < good.size; size++) {
        char *copy = exact((helio_text_t){good.data, size});
        assert_int_equal(helio_slurm_read_ends((helio_text_t){copy, size}, arena, &ends, NULL), HELIO_INVALID);
        free(copy);
    }
    helio_text_t bad[] = {
        end_text("a", "x", "COMPLETED", "0:0", "3"),          end_text("a", "1", "", "0:0", "3"),
        end_text("a", "1", "COMPLETED", "zero", "3"),         end_text("a", "1", "COMPLETED", "0:0", "soon"),
        HELIO_TEXT("Slurm accounting storage is disabled\n"), HELIO_TEXT("a|1|COMPLETED|0:0|1|2|3\n")}; /* --parsable */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_ends(bad[i], arena, &ends, NULL), HELIO_INVALID);
    assert_int_equal(ends.count, 77);
    assert_int_equal(helio_slurm_read_ends(HELIO_TEXT(""), arena, &ends, NULL), HELIO_OK);
    assert_int_equal(ends.count, 0);
}

/* ---- one job ------------------------------------------------------------------------------------------- */

static void the_look_at_one_job_is_read(void **state)
{
    (void)state;
    helio_slurm_detail_t detail;
    helio_error_t err = {0};
    assert_int_equal(helio_slurm_read_detail(recorded("job.txt"), &detail, &err), HELIO_OK);
    assert_text(detail.id, "49");
    assert_text(detail.name, "helio-01k9zx3f8w7c2m5n6p4q8r1stv-3");
    assert_int_equal(detail.state, HELIO_SLURM_PENDING);
    assert_text(detail.reason, "Priority");
    assert_true(detail.start_s == 0 && detail.end_s == 0);
    assert_int_equal(
        helio_slurm_read_detail(HELIO_TEXT("JobId=8 JobName=helio-1 UserId=root(0) JobState=NODE_FAIL "
                                           "Reason=Nodes required for job are DOWN, DRAINED FailedNode=n1 "
                                           "Dependency=(null) Requeue=0 ExitCode=0:15 StartTime=5 EndTime=9 \n"),
                                &detail, &err),
        HELIO_OK);
    assert_true(detail.state == HELIO_SLURM_NODE_FAIL && detail.exit_signal == 15 && detail.end_s == 9);
    assert_text(detail.reason, "Nodes required for job are DOWN, DRAINED");
}

static void a_name_that_forges_the_look_at_one_job_is_invalid(void **state)
{
    (void)state;
#define REST "JobState=COMPLETED Reason=None Dependency=(null) ExitCode=0:0 StartTime=5 EndTime=9 \n"
    static const char *const texts[] = {
        "JobId=8 JobName=x " REST "JobState=RUNNING ExitCode=0:0 StartTime=5 EndTime=9 \n",
        "JobId=8 JobName=x UserId=root(0) " REST "and more\n",
        "JobId=8 JobName=x JobState=COMPLETED UserId=root(0) " REST,
        "JobId=8 JobName=x|y UserId=root(0) " REST,
        "JobId=8 JobName= UserId=root(0) " REST,
        "JobId=8 UserId=root(0) " REST,
        "JobId=8 JobName=x UserId=root(0) " REST "JobId=9 JobName=x UserId=root(0) " REST,
        "JobId=8 JobName=x UserId=root(0) JobState=COMPLETED ExitCode=0:0 StartTime=5 EndTime=9", /* cut off
                                                                                                   */
        "slurm_load_jobs error: Invalid job id specified\n",
        "{}\n",
        "",
    };
    helio_slurm_detail_t detail = {.exit_code = 77};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (helio_slurm_read_detail(helio_text_of(texts[i]), &detail, NULL) != HELIO_INVALID)
            fail_msg("accepted: %s", texts[i]);
    assert_int_equal(detail.exit_code, 77);
    assert_int_equal(
        helio_slurm_read_detail(helio_text_of("JobId=8 JobName=x UserId=root(0) " REST "\n"), &detail, NULL), HELIO_OK);
#undef REST
}

static void the_id_of_a_submitted_job_is_whole_or_none(void **state)
{
    (void)state;
    char id[32] = "";
    assert_int_equal(helio_slurm_read_submitted(HELIO_TEXT("123\n"), id), HELIO_OK);
    assert_string_equal(id, "123");
    assert_int_equal(helio_slurm_read_submitted(HELIO_TEXT("67108866;eu\n"), id), HELIO_OK);
    assert_string_equal(id, "67108866");
    static const char *const bad[] = {"",      "12",           "\n",       "0\n",   "-1\n", "Submitted batch job 12\n",
                                      "12 \n", "4294967296\n", "12\n13\n", ";eu\n", "12x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_submitted(helio_text_of(bad[i]), id), HELIO_INVALID);
    assert_string_equal(id, "67108866");
}

/* ---- complaints ---------------------------------------------------------------------------------------- */

static const struct {
    const char *complaint;
    helio_slurm_trouble_t trouble;
} complaints[] = {
    {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
     HELIO_SLURM_UNREACHABLE},
    {"slurm_load_jobs error: Unable to contact slurm controller (connect failure)", HELIO_SLURM_UNREACHABLE},
    {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", HELIO_SLURM_UNREACHABLE},
    {"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
     "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
     HELIO_SLURM_UNREACHABLE},
    {"error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file or directory",
     HELIO_SLURM_UNREACHABLE},
    {"slurm_load_jobs error: Protocol authentication error", HELIO_SLURM_UNREACHABLE},
    {"slurm_load_jobs error: Slurm backup controller in standby mode", HELIO_SLURM_UNREACHABLE},
    {"slurm_load_jobs error: Zero Bytes were transmitted or received", HELIO_SLURM_UNREACHABLE},
    {"sbatch: error: Batch job submission failed: Unspecified error", HELIO_SLURM_UNREACHABLE},
    {"sacct: error: Problem talking to the slurmdbd: Connection refused", HELIO_SLURM_UNREACHABLE},
    {"", HELIO_SLURM_UNREACHABLE},
    {"something that nobody has ever said", HELIO_SLURM_UNREACHABLE},
    {"slurm_load_jobs error: Invalid job id specified", HELIO_SLURM_UNKNOWN_JOB},
    {"scancel: error: Kill job error on job id 999999: Invalid job id specified", HELIO_SLURM_UNKNOWN_JOB},
    {"scancel: error: Kill job error on job id 6: Job/step already completing or completed", HELIO_SLURM_ALREADY_OVER},
    {"sbatch: error: Batch job submission failed: Requested node configuration is not available", HELIO_SLURM_REFUSED},
    {"sbatch: error: invalid partition specified: nosuch\n"
     "sbatch: error: Batch job submission failed: Invalid partition name specified",
     HELIO_SLURM_REFUSED},
    {"sbatch: error: Invalid generic resource (gres) specification", HELIO_SLURM_REFUSED},
    {"sbatch: error: Invalid --time specification", HELIO_SLURM_REFUSED},
    {"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
     HELIO_SLURM_REFUSED},
    {"sbatch: error: Batch job submission failed: Invalid qos specification", HELIO_SLURM_REFUSED},
    {"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, "
     "user's size "
     "and/or time limits)",
     HELIO_SLURM_REFUSED},
    {"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some "
     "limit)",
     HELIO_SLURM_REFUSED},
    {"scancel: error: Kill job error on job id 9: Access/permission denied", HELIO_SLURM_REFUSED},
    {"sbatch: unrecognized option '--frobnicate'", HELIO_SLURM_REFUSED},
    {"sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates "
     "accounting/QOS policy (job submit limit, user's size and/or time limits)",
     HELIO_SLURM_BUSY},
    {"sbatch: error: Slurm job queue full, sleeping and retrying.", HELIO_SLURM_BUSY},
    {"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying.", HELIO_SLURM_BUSY},
    {"sbatch: error: Batch job submission failed: Resource temporarily unavailable", HELIO_SLURM_BUSY},
    {"sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)",
     HELIO_SLURM_BUSY},
    {"slurm_load_jobs error: Rate limit exceeded, please retry momentarily", HELIO_SLURM_BUSY},
    {"sbatch: error: Batch job submission failed: System submissions disabled", HELIO_SLURM_BUSY},
};

static void complaints_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++)
        if (helio_slurm_trouble_of(helio_text_of(complaints[i].complaint)) != complaints[i].trouble)
            fail_msg("%s: %d", complaints[i].complaint,
                     (int)helio_slurm_trouble_of(helio_text_of(complaints[i].complaint)));
}

/*  Each recorded complaint is one of those above, so that it has been thought about. */
static void recorded_complaints_have_all_been_thought_about(void **state)
{
    (void)state;
    const char *data = getenv("HELIO_DATA");
    if (!data) {
        print_message("SKIPPED: HELIO_DATA does not say where the recorded outputs are\n");
        skip();
    }
    const char *path = helio_arena_string(arena, helio_arena_printf(arena, "%s/slurm/plain", data));
    DIR *folder = opendir(path);
    if (!folder) {
        print_message("SKIPPED: there is no %s\n", path);
        skip();
    }
    uint32_t refused = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (strncmp(entry->d_name, "sbatch_err_", 11) != 0 || !strstr(entry->d_name, ".meta"))
            continue;
        helio_text_t meta =
            read_path(helio_arena_string(arena, helio_arena_printf(arena, "%s/%s", path, entry->d_name)));
        const char *said = strstr(helio_arena_string(arena, meta), "stderr:");
        assert_non_null(said);
        if (helio_slurm_trouble_of(helio_text_of(said)) != HELIO_SLURM_REFUSED)
            fail_msg("%s: %s", entry->d_name, said);
        refused++;
    }
    closedir(folder);
    assert_true(refused >= 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(recorded_ends_are_read),
        TEST(ends_are_read_in_every_form),
        TEST(what_is_no_list_of_ends_is_invalid),
        TEST(the_look_at_one_job_is_read),
        TEST(a_name_that_forges_the_look_at_one_job_is_invalid),
        TEST(the_id_of_a_submitted_job_is_whole_or_none),
        TEST(complaints_are_told_apart),
        TEST(recorded_complaints_have_all_been_thought_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
