/*  test_listing.c -- lists of jobs: read field by field, and nothing is concluded from a list that was cut off. */
#include "tests/unit/site-agent/backends/slurm/listing/listing_testing.h"

static helio_slurm_jobs_t jobs_of(helio_text_t text)
{
    helio_slurm_jobs_t jobs;
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_jobs(text, arena, &jobs, &err);
    if (rc)
        print_error("%s\n", err.text);
    assert_int_equal(rc, HELIO_OK);
    return jobs;
}

static const helio_slurm_job_t *job_called(const helio_slurm_jobs_t *jobs, const char *name)
{
    for (uint32_t i = 0; i < jobs->count; i++)
        if (helio_text_is(jobs->items[i].name, name))
            return &jobs->items[i];
    fail_msg("no job %s", name);
    return NULL;
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

/*  One line as squeue prints it. */
typedef struct row {
    const char *name, *node, *job, *task, *reason, *free;
} row_t;

static helio_text_t row_text(row_t row)
{
    return helio_arena_printf(arena, "%-56.56s|%-40.40s|%-40.40s|%-40.40s|%-40.40s|%s1000|\n",
                              row.name ? row.name : "x", row.node ? row.node : "N/A", row.job ? row.job : "N/A",
                              row.task ? row.task : "N/A", row.reason ? row.reason : "None",
                              row.free ? row.free : "7|RUNNING|1|1|100|200|main|cpu=1,node=1|n1||");
}

static void recorded_jobs_are_read(void **state)
{
    (void)state;
    helio_slurm_jobs_t jobs = jobs_of(recorded("squeue.txt"));
    assert_int_equal(jobs.count, 16);
    const helio_slurm_job_t *job = job_called(&jobs, "helio-01k9zx3f8w7c2m5n6p4q8r1stv-3");
    assert_text(job->id, "49");
    assert_int_equal(job->state, HELIO_SLURM_PENDING);
    assert_text(job->reason, "Priority");
    assert_text(job->partition, "main");
    assert_int_equal(job->gpus_per_node, 2);
    assert_int_equal(job->gpus, 2);
    assert_text(job->gpu_type, "h100");
    assert_true(job->start_s == 0 && job->end_s == 0 && job->node_list.size == 0 && job->planned.size == 0);
    job = job_called(&jobs, "a1");
    assert_int_equal(job->state, HELIO_SLURM_RUNNING);
    assert_text(job->reason, "");
    assert_true(job->start_s == 1795245155 && job->end_s == 1795246955);
    assert_text(job->node_list, "eu-n1");
    assert_text(job->gpu_type, "");
    job = job_called(&jobs, "unlimited");
    assert_true(job->start_s == 1795257780 && job->end_s == 0);
    assert_text(job->planned, "eu-n1");
    assert_text(job_called(&jobs, "het2")->id, "40+1");
    assert_text(job_called(&jobs, "held")->reason, "JobHeldUser");
    assert_int_equal(job_called(&jobs, "persocket")->gpus, 1); /* the cluster accounts for GPUs */
}

static void gpus_of_a_job_are_found_however_they_were_asked_for(void **state)
{
    (void)state;
    static const struct {
        row_t row;
        uint32_t gpus, per_node;
        const char *type;
    } cases[] = {
        {{.node = "gres:gpu:2"}, 2, 2, ""},
        {{.node = "gres:gpu:h100:2"}, 2, 2, "h100"},
        {{.node = "gres/gpu:h100:2"}, 2, 2, "h100"}, /* 23.11 */
        {{.node = "gpu:h100:2"}, 2, 2, "h100"},      /* 20.11 */
        {{.node = "gres:gpu"}, 1, 1, ""},
        {{.node = "gres:gpu:h100"}, 1, 1, "h100"},
        {{.node = "gres:gpu:a100:1,gres:gpu:h100:1"}, 2, 2, ""},
        {{.node = "gres:nvme:1,gres:gpu:4"}, 4, 4, ""},
        {{.node = "gres:shard:3"}, 3, 3, "shard"},
        {{.node = "gres:mps:h100:50"}, 50, 50, "mps"},
        {{.node = "gres:shard:2,gres:gpu:1"}, 1, 1, ""}, /* shares beside GPUs are not followed */
        {{.node = "gres:shard:2,gres:gpu:a100_1g.5gb:1"}, 0, 0, ""},
        {{.node = "gres:gpumem:3"}, 0, 0, ""},
        {{.node = "gres:gpu:a100_1g.5gb:3", .free = "7|RUNNING|1|1|1|2|main|gres/gpu=3|n1||"}, 3, 3, "a100_1g.5gb"},
        {{.node = "gres:gpu:2", .free = "7|RUNNING|3|3|1|2|main||n[1-3]||"}, 6, 2, ""},
        {{.job = "gres:gpu:4", .free = "7|RUNNING|2|2|1|2|main||n[1-2]||"}, 4, 0, ""},
        {{.job = "gres:gpu:h100:4"}, 4, 4, "h100"},
        {{.task = "gres:gpu:1", .free = "7|RUNNING|1|3|1|2|main||n1||"}, 3, 3, ""},
        {{.task = "cpu=2,gres/gpu=2", .free = "7|RUNNING|2|4|1|2|main||n[1-2]||"}, 8, 0, ""}, /* 24.05 */
        {{.task = "gres:gpu:2", .free = "7|PENDING|1|4294967294|N/A|N/A|main||||"}, 0, 0, ""},
        {{.free = "7|RUNNING|1|1|1|2|main|cpu=1,mem=1G,gres/gpu=5,gres/gpu:h100=5|n1||"}, 5, 5, ""},
        {{.free = "7|RUNNING|2|1|1|2|main|cpu=1,gres/gpu=5|n[1-2]||"}, 5, 0, ""},
        /* what was cut off at the column's end is not read as something else */
        {{.node = "gres:gpu:2,gres:a_long_name_of_a_resource:1234"}, 2, 2, ""},
        {{.node = "gres:gpu:a_type_whose_name_is_far_too_long:8"}, 0, 0, ""},
        {{.node = "gres:gpu:99999999999999999999999"}, 1, 1, "99999999999999999999999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_slurm_jobs_t jobs = jobs_of(row_text(cases[i].row));
        print_message("case %zu\n", i);
        assert_int_equal(jobs.count, 1);
        assert_int_equal(jobs.items[0].gpus, cases[i].gpus);
        assert_int_equal(jobs.items[0].gpus_per_node, cases[i].per_node);
        assert_text(jobs.items[0].gpu_type, cases[i].type);
    }
}

static void no_name_can_forge_a_job(void **state)
{
    (void)state;
    helio_slurm_jobs_t jobs = jobs_of(recorded("squeue.txt"));
    uint32_t forged = 0;
    for (uint32_t i = 0; i < jobs.count; i++) {
        assert_false(helio_text_is(jobs.items[i].id, "99"));
        forged += helio_text_is(jobs.items[i].name, "forged\n99|RUNNING|1|1|0|0|main||eu-n1||");
    }
    assert_int_equal(forged, 1);
    assert_text(job_called(&jobs, "two  words|and a bar")->id, "44");
    assert_text(job_called(&jobs, "broken")->reason, "BadConstraints"); /* its GRES is "gpu:a\nb|:1" */
    helio_text_t bad = row_text((row_t){.name = "\n7|COMPLETED|", .node = "gres:gpu:x\n|||\n:1", .reason = "a|b\nc"});
    jobs = jobs_of(bad);
    assert_int_equal(jobs.count, 1);
    assert_int_equal(jobs.items[0].state, HELIO_SLURM_RUNNING);
}

static void names_of_any_length_and_script_stay_within_their_column(void **state)
{
    (void)state;
    char longest[1025];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    helio_slurm_jobs_t jobs = jobs_of(row_text((row_t){.name = longest}));
    assert_int_equal(jobs.items[0].name.size, 56);
    jobs = jobs_of(row_text((row_t){.name = "\xc3\xbc\xe2\x9c\x93"}));
    assert_text(jobs.items[0].name, "\xc3\xbc\xe2\x9c\x93");
    jobs = jobs_of(row_text((row_t){.name = ""}));
    assert_text(jobs.items[0].name, "");
    /* cut in the middle of a character */
    jobs = jobs_of(row_text((row_t){.name = "1234567890123456789012345678901234567890123456789012345\xc3\xbc"}));
    assert_int_equal(jobs.items[0].name.size, 56);
}

static void ids_of_arrays_larger_jobs_and_federations_are_taken(void **state)
{
    (void)state;
    static const char *const ids[] = {"1", "67108865", "10_1", "10_[3-7%2]", "12+1", "12_[1,3,5,...]"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        helio_text_t line = helio_arena_printf(arena, "%s|PENDING|1|1|N/A|N/A|a,b||||", ids[i]);
        helio_slurm_jobs_t jobs = jobs_of(row_text((row_t){.free = helio_arena_string(arena, line)}));
        assert_text(jobs.items[0].id, ids[i]);
        assert_text(jobs.items[0].partition, "a,b");
    }
}

static void states_of_other_releases_do_not_break_a_list(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        helio_slurm_state_t state;
        bool over;
    } cases[] = {
        {"RUNNING", HELIO_SLURM_RUNNING, false},
        {"EXPEDITING", HELIO_SLURM_OTHER, false},
        {"?", HELIO_SLURM_OTHER, false},
        {"COMPLETED", HELIO_SLURM_COMPLETED, true},
        {"COMPLETED,COMPLETING", HELIO_SLURM_COMPLETING, false},
        {"FAILED,LAUNCH_FAILED", HELIO_SLURM_FAILED, true},
        {"PENDING,REQUEUED", HELIO_SLURM_REQUEUED, false},
        {"OUT_OF_MEMORY", HELIO_SLURM_OUT_OF_MEMORY, true},
        {"REVOKED", HELIO_SLURM_REVOKED, true},
        {"COMPLETEDX", HELIO_SLURM_OTHER, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_text_t line = helio_arena_printf(arena, "1|%s|1|1|N/A|N/A|main||||", cases[i].word);
        helio_slurm_jobs_t jobs = jobs_of(row_text((row_t){.free = helio_arena_string(arena, line)}));
        assert_int_equal(jobs.items[0].state, cases[i].state);
        assert_int_equal(helio_slurm_state_is_over(jobs.items[0].state), cases[i].over);
    }
    for (uint32_t s = 0; s < HELIO_SLURM_STATE_COUNT; s++)
        assert_non_null(helio_slurm_state_name((helio_slurm_state_t)s));
}

static void what_is_no_list_of_jobs_is_invalid_not_empty(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\n  \"errors\": [ { \"error\": \"Unspecified error\" } ],\n  \"jobs\": [\n  ]\n}",
        "{}",
        "[]",
        "\n",
        " ",
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
        "JOBID|STATE\n",
        "7|RUNNING|main\n",
    };
    helio_slurm_jobs_t jobs = {.count = 77};
    helio_error_t err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(helio_slurm_read_jobs(helio_text_of(texts[i]), arena, &jobs, &err), HELIO_INVALID);
    assert_int_equal(jobs.count, 77); /* untouched */
    assert_int_equal(helio_slurm_read_jobs(HELIO_TEXT(""), arena, &jobs, &err), HELIO_OK);
    assert_int_equal(jobs.count, 0);
}

static void a_malformed_row_fails_the_list(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "7|RUNNING|1|1|100|200|main|cpu=1|n1|",   /* a column too few */
        "7|RUNNING|1|1|100|200|main|cpu=1|n1|||", /* one too many */
        "x|RUNNING|1|1|100|200|main|cpu=1|n1||",  /* no id */
        "|RUNNING|1|1|100|200|main|cpu=1|n1||",
        "7||1|1|100|200|main|cpu=1|n1||",
        "7|RUNNING|many|1|100|200|main|cpu=1|n1||",
        "7|RUNNING|-1|1|100|200|main|cpu=1|n1||",
        "7|RUNNING|1|1|2026-11-21T02:13:39|200|main|cpu=1|n1||", /* SLURM_TIME_FORMAT was not heeded */
        "7|RUNNING|1|1|100|99999999999999|main|cpu=1|n1||",
        "7|RUNNING|1|1|100|200|main|cpu=1|n1||and more",
    };
    helio_slurm_jobs_t jobs;
    helio_error_t err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        helio_text_t good = row_text((row_t){0}), bad = row_text((row_t){.free = rows[i]});
        helio_text_t all = helio_arena_printf(arena, "%.*s%.*s", HELIO_TEXT_ARGS(good), HELIO_TEXT_ARGS(bad));
        assert_int_equal(helio_slurm_read_jobs(all, arena, &jobs, &err), HELIO_INVALID);
        assert_non_null(strstr(err.text, "entry 2"));
    }
}

/*  A list that was cut off anywhere is none, unless the cut lies between two jobs (that the command was cut
 * short must then be seen by its exit). */
static void a_list_of_jobs_that_was_cut_off_is_no_list(void **state)
{
    (void)state;
    helio_text_t text = recorded("squeue.txt");
    uint32_t accepted = 0, last = 0;
    for (uint32_t size = 0; size <= text.size; size++) {
        helio_arena_t *scratch = helio_arena_new();
        helio_slurm_jobs_t jobs;
        char *copy = exact((helio_text_t){text.data, size});
        if (helio_slurm_read_jobs((helio_text_t){copy, size}, scratch, &jobs, NULL) == HELIO_OK) {
            assert_int_equal(jobs.count, accepted);
            assert_true(size == 0 || text.data[size - 1] == '\n');
            accepted++;
            last = size;
        }
        free(copy);
        helio_arena_destroy(&scratch);
    }
    assert_int_equal(accepted, 17);
    assert_int_equal(last, text.size);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(recorded_jobs_are_read),
        TEST(gpus_of_a_job_are_found_however_they_were_asked_for),
        TEST(no_name_can_forge_a_job),
        TEST(names_of_any_length_and_script_stay_within_their_column),
        TEST(ids_of_arrays_larger_jobs_and_federations_are_taken),
        TEST(states_of_other_releases_do_not_break_a_list),
        TEST(what_is_no_list_of_jobs_is_invalid_not_empty),
        TEST(a_malformed_row_fails_the_list),
        TEST(a_list_of_jobs_that_was_cut_off_is_no_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
