/*  What Slurm's commands print, as values. tests/data/slurm holds what a real cluster (22.05) printed; other
 * releases' words are written here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/listing.h"

static helio_arena_t *arena;

static int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

/*  A copy of its own size, so that a read past its end is seen by the sanitizer. */
static char *exact(helio_text_t text)
{
    char *copy = malloc(text.size ? text.size : 1);
    assert_non_null(copy);
    if (text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}

static helio_text_t read_path(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = helio_arena_alloc(arena, 1, 1 << 20);
    size_t size = fread(bytes, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return (helio_text_t){bytes, (uint32_t)size};
}

static helio_text_t recorded(const char *name)
{
    return read_path(helio_arena_string(
        arena, helio_arena_printf(arena, "%s/tests/data/slurm/%s", HELIO_SOURCE_DIR, name)));
}

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

static void assert_text(helio_text_t text, const char *expected)
{
    if (!helio_text_is(text, expected))
        fail_msg("'%.*s' where '%s' is expected", HELIO_TEXT_ARGS(text), expected);
}

/* ---- jobs
 * ------------------------------------------------------------------------------------------------------ */

/*  One line as squeue prints it. */
typedef struct row {
    const char *name, *node, *job, *task, *reason, *free;
} row_t;

static helio_text_t row_text(row_t row)
{
    return helio_arena_printf(arena, "%-56.56s|%-40.40s|%-40.40s|%-40.40s|%-40.40s|%s1000|\n",
                              row.name ? row.name : "x", row.node ? row.node : "N/A",
                              row.job ? row.job : "N/A", row.task ? row.task : "N/A",
                              row.reason ? row.reason : "None",
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
        {{.node = "gres:shard:3"}, 0, 0, ""},
        {{.node = "gres:gpumem:3"}, 0, 0, ""},
        {{.node = "gres:gpu:a100_1g.5gb:3", .free = "7|RUNNING|1|1|1|2|main|gres/gpu=3|n1||"}, 0, 0, ""},
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
    helio_text_t bad =
        row_text((row_t){.name = "\n7|COMPLETED|", .node = "gres:gpu:x\n|||\n:1", .reason = "a|b\nc"});
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
    jobs =
        jobs_of(row_text((row_t){.name = "1234567890123456789012345678901234567890123456789012345\xc3\xbc"}));
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
        assert_non_null(helio_slurm_state_word((helio_slurm_state_t)s));
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

/* ---- nodes
 * ----------------------------------------------------------------------------------------------------- */

static helio_slurm_nodes_t nodes_of(helio_text_t text)
{
    helio_slurm_nodes_t nodes;
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_nodes(text, arena, &nodes, &err);
    if (rc)
        print_error("%s\n", err.text);
    assert_int_equal(rc, HELIO_OK);
    return nodes;
}

static helio_slurm_node_t node_with(const char *gres, const char *used, const char *node_state)
{
    helio_text_t text = helio_arena_printf(
        arena,
        "NodeName=n1 Arch=x86_64 CoresPerSocket=64  CPUAlloc=4 CPUTot=64 CPULoad=N/A AvailableFeatures=ib "
        "ActiveFeatures=(null) Gres=%s%s%s NodeAddr=n1 OS=Linux 6.1 #1 SMP  RealMemory=1000 AllocMem=10 "
        "FreeMem=N/A "
        "State=%s ThreadsPerCore=1 Owner=N/A Partitions=main  BootTime=None CfgTRES=cpu=64 AllocTRES=\n",
        gres, used ? " GresUsed=" : "", used ? used : "", node_state);
    helio_slurm_nodes_t nodes = nodes_of(text);
    assert_int_equal(nodes.count, 1);
    return nodes.items[0];
}

static void recorded_nodes_are_read(void **state)
{
    (void)state;
    helio_slurm_nodes_t nodes = nodes_of(recorded("nodes.txt"));
    assert_int_equal(nodes.count, 3); /* one has a comment of two lines */
    const helio_slurm_node_t *node = &nodes.items[0];
    assert_text(node->name, "eu-n1");
    assert_text(node->partitions, "main,urgent,debug");
    assert_true(node->up && !node->closed && node->reserved && !node->idle_off);
    assert_int_equal(node->gpu_kinds, 1);
    assert_text(node->gpus[0].type, "h100");
    assert_int_equal(node->gpus[0].count, 8);
    assert_int_equal(node->gpus[0].used, 6);
    assert_int_equal(node->cpus, 64);
    assert_true(node->memory_bytes == UINT64_C(512000) << 20);
    node = &nodes.items[1];
    assert_true(node->up && node->closed);
    assert_text(node->reason, "a Reason=x State=IDLE two words [root@1795245154]");
    assert_int_equal(node->gpus[0].used, 0);
    nodes = nodes_of(recorded("nodes-mixed.txt"));
    assert_int_equal(nodes.count, 3);
    node = &nodes.items[0];
    assert_int_equal(node->gpu_kinds, 2);
    assert_true(node->gpus[0].count == 4 && node->gpus[0].used == 1);
    assert_true(node->gpus[1].count == 4 && node->gpus[1].used == 2);
    node = &nodes.items[2];
    assert_text(node->features, "nvlink,ib");
    assert_int_equal(node->gpu_kinds, 1); /* slices are none */
    assert_true(node->gpus[0].count == 4 && node->gpus[0].used == 0);
}

static void gpus_of_a_node_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *gres, *used;
        uint32_t kinds;
        helio_slurm_gres_t gpus[3];
    } cases[] = {
#define T(literal, n, u) {{literal, sizeof(literal) - 1}, n, u}
        {"gpu:h100:8", "gpu:h100:6(IDX:0-5)", 1, {T("h100", 8, 6)}},
        {"gpu:h100:8(S:0-1)", "gpu:h100:0(IDX:N/A)", 1, {T("h100", 8, 0)}},
        {"gpu:h100:8", "gpu:h100:2", 1, {T("h100", 8, 2)}}, /* after a restart of the controller */
        {"gpu:8", "gpu:(null):3(IDX:0,2-3)", 1, {T("", 8, 3)}},
        {"gpu:8", "gpu:3", 1, {T("", 8, 3)}},
        {"gpu", "gpu:1", 1, {T("", 1, 1)}},
        {"gpu:h100:4(S:0),gpu:h100:4(S:1)", "gpu:h100:5(IDX:0-4)", 1, {T("h100", 8, 5)}},
        {"gpu:h100:4,gpu:a100:2",
         "gpu:h100:1(IDX:0,2),gpu:a100:2(IDX:4-5)",
         2,
         {T("h100", 4, 1), T("a100", 2, 2)}},
        {"gpu:h100:4,gpu:a100:2",
         "gpu:3",
         2,
         {T("h100", 4, 3), T("a100", 2, 2)}}, /* which is not told: each */
        {"gpu:4", "gpu:h100:2(IDX:0-1)", 1, {T("", 4, 2)}},
        {"gpu:h100:8", "gpu:h100:99", 1, {T("h100", 8, 8)}},
        {"gpu:h100:8", NULL, 1, {T("h100", 8, 8)}}, /* not told what is in use, while jobs run */
        {"gpu:h100:8", "(null)", 1, {T("h100", 8, 8)}},
        {"(null)", "gpu:0", 0, {T("", 0, 0)}},
        {"(null)", NULL, 0, {T("", 0, 0)}},
        {"gpu:h100:4,shard:h100:16", "gpu:h100:1(IDX:3),shard:h100:5(1/4,0/4,4/4,0/4)", 1, {T("h100", 4, 3)}},
        {"gpu:4,shard:16", "gpu:1,shard:(null):1(IDX:0)", 1, {T("", 4, 2)}},
        {"gpu:4,shard:16", "gpu:0,shard:0,mig:1", 1, {T("", 4, 0)}},
        {"gpu:4,shard:16", "gpu:0,shard:9", 1, {T("", 4, 4)}}, /* on which is not told */
        {"gpu:4,shard:16", "gpu:0,shard:(null):3(IDX:what)", 1, {T("", 4, 3)}},
        {"gpu:4,shard:16", "gpu:0,shard:2(old)", 1, {T("", 4, 2)}},
        {"gpu:4,mps:400", "gpu:1,mps:50(50/100,0/100,0/100,0/100)", 1, {T("", 4, 2)}},
        {"gpu:a100_1g.5gb:7,gpu:a100_3g.20gb:2,gpu:a100:6",
         "gpu:a100_1g.5gb:3(IDX:0-2),gpu:a100:1",
         1,
         {T("a100", 6, 1)}},
        {"gpu:1g.10gb:7", "gpu:1g.10gb:7", 0, {T("", 0, 0)}},
        {"mig:7,craynetwork:4", "mig:1", 0, {T("", 0, 0)}},
        {"gpu:no_consume:h100:4", "gpu:h100:0", 1, {T("h100", 4, 0)}},
        {"gpu:h100:2K", "gpu:h100:1K", 1, {T("h100", 2048, 1024)}},
        {"gpu:a:1,gpu:b:1,gpu:c:1,gpu:d:1,gpu:e:1,gpu:f:1,gpu:g:1,gpu:h:1,gpu:i:1",
         "gpu:i:1",
         8,
         {T("a", 1, 1)}},
#undef T
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_slurm_node_t node = node_with(cases[i].gres, cases[i].used, "MIXED");
        print_message("case %zu: %s %s\n", i, cases[i].gres, cases[i].used ? cases[i].used : "");
        assert_int_equal(node.gpu_kinds, cases[i].kinds);
        for (uint32_t k = 0; k < node.gpu_kinds && k < 3 && cases[i].gpus[k].count; k++) {
            assert_true(helio_text_equal(node.gpus[k].type, cases[i].gpus[k].type));
            assert_int_equal(node.gpus[k].count, cases[i].gpus[k].count);
            assert_int_equal(node.gpus[k].used, cases[i].gpus[k].used);
        }
    }
}

static void states_of_nodes_of_all_releases_are_understood(void **state)
{
    (void)state;
    enum { UP = 1, CLOSED = 2, RESERVED = 4, OFF = 8 };
    static const struct {
        const char *word;
        unsigned is;
    } cases[] = {
        {"IDLE", UP},
        {"MIXED", UP},
        {"ALLOCATED", UP},
        {"ALLOCATED+COMPLETING", UP},
        {"IDLE+CLOUD", UP},
        {"MIXED+PLANNED", UP},
        {"IDLE-", UP},
        {"IDLE+DYNAMIC_NORM", UP},
        {"IDLE+DRAIN", UP | CLOSED},
        {"MIXED+DRAIN", UP | CLOSED},
        {"DRAINING", UP | CLOSED},
        {"DRAINED$", UP | CLOSED | RESERVED},
        {"DRAINING@", UP | CLOSED},
        {"MIXED+BLOCKED", UP | CLOSED},
        {"MIXED+REBOOT_REQUESTED", UP | CLOSED},
        {"IDLE+RESERVED", UP | RESERVED},
        {"ALLOCATED+MAINTENANCE+RESERVED", UP | RESERVED},
        {"MAINT", UP | RESERVED},
        {"RESERVED", UP | RESERVED},
        {"IDLE+POWERED_DOWN", OFF},
        {"IDLE+CLOUD+POWERED_DOWN", OFF},
        {"IDLE+CLOUD+POWER", OFF}, /* 20.11 */
        {"IDLE~", OFF},
        {"IDLE#", OFF},
        {"ALLOCATED+POWERING_UP", OFF},
        {"IDLE%", UP | CLOSED},
        {"IDLE+POWERING_DOWN", UP | CLOSED},
        {"DOWN", 0},
        {"DOWN*", 0},
        {"DOWN*+NOT_RESPONDING", 0},
        {"IDLE*", 0},
        {"IDLE+NOT_RESPONDING", 0},
        {"DOWN+DRAIN", CLOSED},
        {"DOWN+POWERED_DOWN", 0},
        {"IDLE+POWERED_DOWN+DRAIN", CLOSED},
        {"FUTURE", 0},
        {"UNKNOWN", 0},
        {"ERROR", 0},
        {"IDLE+FAIL", 0},
        {"FAILING", UP | CLOSED},
        {"IDLE+REBOOT_ISSUED", 0},
        {"REBOOT^", 0},
        {"IDLE+INVALID_REG", 0},
        {"INVAL", 0},
        {"IDLE+ENCHANTED", UP | CLOSED}, /* of a release to come */
        {"ENCHANTED", CLOSED},
        {"?", CLOSED},
        {"*", CLOSED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_slurm_node_t node = node_with("(null)", NULL, cases[i].word);
        unsigned is = (node.up ? UP : 0u) | (node.closed ? CLOSED : 0u) | (node.reserved ? RESERVED : 0u) |
                      (node.idle_off ? OFF : 0u);
        if (is != cases[i].is)
            fail_msg("%s is %x, not %x", cases[i].word, is, cases[i].is);
    }
}

static void cpus_and_memory_are_those_that_jobs_may_have(void **state)
{
    (void)state;
    helio_slurm_nodes_t nodes = nodes_of(
        HELIO_TEXT("NodeName=n1 CPUAlloc=3 CPUEfctv=60 CPUTot=64 RealMemory=1000 AllocMem=7 Sockets=1 "
                   "CoreSpecCount=2 MemSpecLimit=100 State=IDLE Weight=1\n\n"));
    assert_int_equal(nodes.items[0].cpus, 60);
    assert_int_equal(nodes.items[0].cpus_allocated, 3);
    assert_true(nodes.items[0].memory_bytes == UINT64_C(900) << 20);
    assert_true(nodes.items[0].memory_allocated_bytes == UINT64_C(7) << 20);
}

static void what_is_no_list_of_nodes_is_invalid(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{\"nodes\": []}",
        "slurm_load_node error: Unable to contact slurm controller (connect failure)\n",
        "NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=1 State=IDLE", /* cut off */
        "NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=1\n",          /* no state */
        "NodeName= CPUAlloc=0 CPUTot=1 RealMemory=1 State=IDLE\n",
        "NodeName=n1 CPUAlloc=x CPUTot=1 RealMemory=1 State=IDLE\n",
        "NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=99999999999999999999 State=IDLE\n",
        "NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=18446744073709551615 State=IDLE\n",
        "NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=1 State=IDLE Gres=gpu:h100:8(S:0-1\n",
        "NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=1 State=IDLE\nhello\n",
    };
    helio_slurm_nodes_t nodes = {.count = 77};
    helio_error_t err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (helio_slurm_read_nodes(helio_text_of(texts[i]), arena, &nodes, &err) != HELIO_INVALID)
            fail_msg("accepted: %s", texts[i]);
    assert_int_equal(nodes.count, 77);
    assert_int_equal(helio_slurm_read_nodes(HELIO_TEXT("No nodes in the system\n"), arena, &nodes, &err),
                     HELIO_OK);
    assert_int_equal(nodes.count, 0);
}

/*  After a comment of several lines the next node is still seen; what stands in a comment or a reason is no
 * field. */
static void free_texts_of_administrators_are_not_read_as_figures(void **state)
{
    (void)state;
    helio_slurm_nodes_t nodes =
        nodes_of(HELIO_TEXT("NodeName=n1 CPUAlloc=0 CPUTot=1 RealMemory=1 State=IDLE Comment=see "
                            "Gres=gpu:h100:8\nand State=DOWN\n"
                            "NodeName=n2 CPUAlloc=0 CPUTot=1 RealMemory=1 State=IDLE+DRAIN Reason=Gres=gpu:8 "
                            "it said Comment=hm [a@1]\n"));
    assert_int_equal(nodes.count, 2);
    assert_int_equal(nodes.items[0].gpu_kinds, 0);
    assert_true(nodes.items[0].up && !nodes.items[0].closed);
    assert_text(nodes.items[1].reason, "Gres=gpu:8 it said");
    assert_int_equal(nodes.items[1].gpu_kinds, 0);
}

/* ---- partitions, reservations
 * -------------------------------------------------------------------------------------- */

static void partitions_are_read(void **state)
{
    (void)state;
    helio_slurm_partitions_t all;
    helio_error_t err;
    assert_int_equal(helio_slurm_read_partitions(recorded("partitions.txt"), arena, &all, &err), HELIO_OK);
    assert_int_equal(all.count, 3);
    assert_text(all.items[0].name, "main");
    assert_text(all.items[0].nodes, "eu-n[1-3]");
    assert_true(all.items[0].is_default && all.items[0].up && all.items[0].max_time_ms == 0);
    assert_int_equal(all.items[1].priority_tier, 100);
    assert_false(all.items[1].is_default);
    assert_true(all.items[2].max_time_ms == 600000);
    static const struct {
        const char *time;
        uint64_t ms;
    } times[] = {{"UNLIMITED", 0},          {"00:10:00", 600000}, {"2-00:00:00", 172800000},
                 {"1-12:30:15", 131415000}, {"10:00", 600000},    {"NONE", 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        helio_text_t line = helio_arena_printf(
            arena, "PartitionName=p MaxNodes=4 MaxTime=%s Nodes=(null) State=DRAIN\n", times[i].time);
        assert_int_equal(helio_slurm_read_partitions(line, arena, &all, &err), HELIO_OK);
        assert_true(all.items[0].max_time_ms == times[i].ms && !all.items[0].up &&
                    all.items[0].max_nodes == 4);
        assert_text(all.items[0].nodes, "");
    }
    static const char *const bad[] = {"",
                                      "hello\n",
                                      "PartitionName=p State=UP\n",
                                      "PartitionName=p Nodes=a State=UP",
                                      "PartitionName=p Nodes=a State=UP MaxTime=soon\n",
                                      "PartitionName=p Nodes=a State=UP MaxTime=1:2:3:4\n",
                                      "PartitionName=p Nodes=a State=UP MaxTime=-\n",
                                      "PartitionName=p Nodes=a State=UP MaxNodes=some\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_partitions(helio_text_of(bad[i]), arena, &all, &err),
                         HELIO_INVALID);
}

static void reservations_are_read(void **state)
{
    (void)state;
    helio_slurm_reservations_t all;
    helio_error_t err;
    assert_int_equal(helio_slurm_read_reservations(recorded("reservations.txt"), arena, &all, &err),
                     HELIO_OK);
    assert_int_equal(all.count, 3);
    assert_text(all.items[0].name, "other");
    assert_text(all.items[0].nodes, "eu-n3");
    assert_true(all.items[0].maintenance && all.items[0].start_s == 1795245154 &&
                all.items[0].end_s == 1795248754);
    assert_true(all.items[1].maintenance && all.items[1].cpus == 128);
    assert_true(!all.items[2].maintenance && all.items[2].cpus == 2 && all.items[2].gpus == 0);
    assert_int_equal(
        helio_slurm_read_reservations(HELIO_TEXT("No reservations in the system\n"), arena, &all, &err),
        HELIO_OK);
    assert_int_equal(all.count, 0);
    static const char *const bad[] = {"",
                                      "{}",
                                      "error\n",
                                      "ReservationName=a StartTime=1 EndTime=2\n",
                                      "ReservationName=a StartTime=2026-11-21T02:13:39 EndTime=2 Nodes=n1\n",
                                      "ReservationName=a StartTime=1 EndTime=2 Nodes=n1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_reservations(helio_text_of(bad[i]), arena, &all, &err),
                         HELIO_INVALID);
}

/* ---- ends
 * -------------------------------------------------------------------------------------------------------- */

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
        with_break +=
            ends.items[i].name.size && memchr(ends.items[i].name.data, '\n', ends.items[i].name.size) != NULL;
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
        assert_int_equal(helio_slurm_read_ends((helio_text_t){copy, size}, arena, &ends, NULL),
                         HELIO_INVALID);
        free(copy);
    }
    helio_text_t bad[] = {end_text("a", "x", "COMPLETED", "0:0", "3"),
                          end_text("a", "1", "", "0:0", "3"),
                          end_text("a", "1", "COMPLETED", "zero", "3"),
                          end_text("a", "1", "COMPLETED", "0:0", "soon"),
                          HELIO_TEXT("Slurm accounting storage is disabled\n"),
                          HELIO_TEXT("a|1|COMPLETED|0:0|1|2|3\n")}; /* --parsable */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_ends(bad[i], arena, &ends, NULL), HELIO_INVALID);
    assert_int_equal(ends.count, 77);
    assert_int_equal(helio_slurm_read_ends(HELIO_TEXT(""), arena, &ends, NULL), HELIO_OK);
    assert_int_equal(ends.count, 0);
}

/* ---- one job
 * ------------------------------------------------------------------------------------------------------- */

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
    assert_int_equal(helio_slurm_read_detail(
                         HELIO_TEXT("JobId=8 JobName=helio-1 UserId=root(0) JobState=NODE_FAIL "
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
        helio_slurm_read_detail(helio_text_of("JobId=8 JobName=x UserId=root(0) " REST "\n"), &detail, NULL),
        HELIO_OK);
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
    static const char *const bad[] = {
        "",      "12",           "\n",       "0\n",   "-1\n", "Submitted batch job 12\n",
        "12 \n", "4294967296\n", "12\n13\n", ";eu\n", "12x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_submitted(helio_text_of(bad[i]), id), HELIO_INVALID);
    assert_string_equal(id, "67108866");
}

/* ---- complaints
 * ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *complaint;
    helio_slurm_trouble_t trouble;
} complaints[] = {
    {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
     HELIO_SLURM_UNREACHABLE},
    {"slurm_load_jobs error: Unable to contact slurm controller (connect failure)", HELIO_SLURM_UNREACHABLE},
    {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
     HELIO_SLURM_UNREACHABLE},
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
    {"scancel: error: Kill job error on job id 6: Job/step already completing or completed",
     HELIO_SLURM_ALREADY_OVER},
    {"sbatch: error: Batch job submission failed: Requested node configuration is not available",
     HELIO_SLURM_REFUSED},
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
        TEST(recorded_jobs_are_read),
        TEST(gpus_of_a_job_are_found_however_they_were_asked_for),
        TEST(no_name_can_forge_a_job),
        TEST(names_of_any_length_and_script_stay_within_their_column),
        TEST(ids_of_arrays_larger_jobs_and_federations_are_taken),
        TEST(states_of_other_releases_do_not_break_a_list),
        TEST(what_is_no_list_of_jobs_is_invalid_not_empty),
        TEST(a_malformed_row_fails_the_list),
        TEST(a_list_of_jobs_that_was_cut_off_is_no_list),
        TEST(recorded_nodes_are_read),
        TEST(gpus_of_a_node_are_read_in_every_form),
        TEST(states_of_nodes_of_all_releases_are_understood),
        TEST(cpus_and_memory_are_those_that_jobs_may_have),
        TEST(what_is_no_list_of_nodes_is_invalid),
        TEST(free_texts_of_administrators_are_not_read_as_figures),
        TEST(partitions_are_read),
        TEST(reservations_are_read),
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
