/*  The job file: every key, good and bad, and where errors point. */
#include "spec_testing.h"

#include "federation/base/clock.h"

static void job__defaults_are_those_of_the_reference(void **state)
{
    helio_job_spec_t job = good_job("run: echo\n", *state);
    assert_text(job.run, "echo");
    assert_text(job.name, "");
    assert_text(job.queue, "standard");
    assert_int_equal(job.kind, HELIO_JOB_KIND_TRAIN);
    assert_int_equal(job.gpus.count, 0);
    assert_int_equal(job.nodes, 1);
    assert_int_equal(job.goal, HELIO_GOAL_BALANCED);
    assert_int_equal(job.on_site_loss, HELIO_SITE_LOSS_STRICT);
    assert_int_equal(job.on_better_site, HELIO_BETTER_SITE_STAY);
    assert_int_equal(job.sharing, HELIO_SHARING_NONE);
    assert_int_equal(job.interconnect, HELIO_INTERCONNECT_ANY);
    assert_int_equal(job.time_limit_ms, 0);
    assert_int_equal(job.retries, 0);
    assert_int_equal(job.tasks.count, 0);
    assert_false(job.prices_set);
    assert_false(job.gpus_any);
}

static const char whole_job[] = "name: finetune-70b\n"
                                "queue: batch\n"
                                "kind: eval\n"
                                "home: lulea\n"
                                "gpu: H100:8\n"
                                "nodes: 2\n"
                                "cpus: 32\n"
                                "memory: 256GB\n"
                                "interconnect: nvlink\n"
                                "time: 6h\n"
                                "sharing: none\n"
                                "image: registry.example/train:1.4\n"
                                "env: {LR: \"1e-4\", STEPS: 0x10, ON: true, RATE: 1e-4, EMPTY: \"\"}\n"
                                "labels: {team: nlp, example.com/phase: \"\"}\n"
                                "secrets: [HF_TOKEN]\n"
                                "data:\n"
                                "  - {uri: s3://acme-eu/corpus, size: 2TB, mode: rw}\n"
                                "run: |\n"
                                "  torchrun train.py\n"
                                "checkpoint: {signal: USR1, grace: 120s, every: 30m}\n"
                                "on_site_loss: lease\n"
                                "retries: 2\n"
                                "placement:\n"
                                "  prices: {carbon: 200 USD/t, wait: 0.5 USD/gpu-h}\n"
                                "  flexible: 12h\n"
                                "  deadline: 2026-11-22T07:00:00Z\n"
                                "  sites: [eu-*, oregon, \"!eu-test\"]\n"
                                "  regions: EU\n"
                                "  not_before: 2026-11-21T07:00:00Z\n"
                                "  backends: [slurm, local]\n"
                                "  max_cost: 400 USD\n"
                                "  max_carbon: 250 g/kWh\n"
                                "  on_better_site: checkpoint\n"
                                "array: 0-99%10\n"
                                "depends: {after_ok: [01k9x2m4q8r7], after_any: [01k9x2m4q8r8, 01k9x2m4q8r9],\n"
                                "  after_not_ok: 01k9x2m4q8ra, after_start: 01k9x2m4q8rb,\n"
                                "  after_task: [01k9x2m4q8rc, 01k9x2m4q8rd]}\n"
                                "slurm: {partition: gpu, account: nlp}\n"
                                "kubernetes: {queue: team-a}\n";

static void assert_whole_job(const helio_job_spec_t *job)
{
    int64_t deadline = 0;
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2026-11-22T07:00:00Z"), &deadline), HELIO_OK);
    assert_text(job->name, "finetune-70b");
    assert_text(job->queue, "batch");
    assert_int_equal(job->kind, HELIO_JOB_KIND_EVAL);
    assert_text(job->home, "lulea");
    assert_int_equal(job->nodes, 2);
    assert_int_equal(job->cpus, 32);
    assert_true(job->memory_bytes == UINT64_C(256000000000));
    assert_int_equal(job->interconnect, HELIO_INTERCONNECT_NVLINK);
    assert_int_equal(job->time_limit_ms, 21600000);
    assert_text(job->image, "registry.example/train:1.4");
    assert_int_equal(job->env.count, 5);
    assert_text(job->env.items[1].name, "STEPS");
    assert_text(job->env.items[1].value, "0x10");
    assert_text(job->env.items[2].value, "true");
    assert_text(job->env.items[3].value, "1e-4");
    assert_text(job->env.items[4].value, "");
    assert_int_equal(job->labels.count, 2);
    assert_text(job->labels.items[0].value, "nlp");
    assert_text(job->labels.items[1].name, "example.com/phase");
    assert_text(job->labels.items[1].value, "");
    assert_int_equal(job->secrets.count, 1);
    assert_text(job->secrets.items[0].text, "HF_TOKEN");
    assert_int_equal(job->data.count, 1);
    assert_true(job->data.items[0].size_bytes == UINT64_C(2000000000000));
    assert_int_equal(job->data.items[0].mode, HELIO_DATA_MODE_RW);
    assert_text(job->run, "torchrun train.py\n");
    assert_text(job->checkpoint_signal, "USR1");
    assert_int_equal(job->checkpoint_grace_ms, 120000);
    assert_int_equal(job->checkpoint_every_ms, 1800000);
    assert_int_equal(job->on_site_loss, HELIO_SITE_LOSS_LEASE);
    assert_int_equal(job->retries, 2);
    assert_true(job->prices_set);
    assert_int_equal(job->carbon_price_micro_usd_per_t, 200000000);
    assert_int_equal(job->wait_price_micro_usd_per_gpu_h, 500000);
    assert_int_equal(job->flexible_ms, 43200000);
    assert_true(job->deadline_wall_ms == deadline);
    assert_int_equal(job->sites.count, 3);
    assert_text(job->sites.items[2].text, "!eu-test");
    assert_int_equal(job->regions.count, 1);
    assert_text(job->regions.items[0].text, "EU");
    assert_int_equal(job->max_cost_micro_usd, 400000000);
    assert_int_equal(job->max_carbon_mg_per_kwh, 250000);
    assert_int_equal(job->on_better_site, HELIO_BETTER_SITE_CHECKPOINT);
    assert_int_equal(job->tasks.count, 100);
    assert_int_equal(job->tasks_at_once, 10);
    assert_true(job->not_before_wall_ms == deadline - 86400000);
    assert_int_equal(job->backends.count, 2);
    assert_text(job->backends.items[0].text, "slurm");
    assert_text(job->after_ok.items[0].text, "01k9x2m4q8r7");
    assert_int_equal(job->after_any.count, 2);
    assert_text(job->after_any.items[1].text, "01k9x2m4q8r9");
    assert_int_equal(job->after_not_ok.count, 1);
    assert_text(job->after_not_ok.items[0].text, "01k9x2m4q8ra");
    assert_int_equal(job->after_start.count, 1);
    assert_text(job->after_start.items[0].text, "01k9x2m4q8rb");
    assert_int_equal(job->after_task.count, 2);
    assert_text(job->after_task.items[1].text, "01k9x2m4q8rd");
    assert_text(job->slurm.items[1].value, "nlp");
    assert_text(job->kubernetes.items[0].value, "team-a");
}

static void job__every_key_reaches_its_field(void **state)
{
    helio_job_spec_t job = good_job(whole_job, *state);
    assert_whole_job(&job);
    assert_int_equal(job.gpus.count, 1);
    assert_text(job.gpus.items[0].model, "H100");
    assert_int_equal(job.gpus.items[0].count, 8);
}

static void job__json_and_yaml_give_the_same_spec(void **state)
{
    static const char json[] =
        "{\"name\":\"n\",\"gpu\":[\"A\\u0031:2\",\"B:4\"],\"nodes\":2,\"memory\":\"1GB\",\n"
        "\t\"env\":{\"A\":1,\"B\":1e-4,\"C\":true,\"D\":\"\\ud83d\\ude00\\/\\n\"},\n"
        "\t\"run\":\"a\\nb\",\"placement\":{\"sites\":[\"x\"],\"flexible\":\"1h\"},\"array\":\"1,3\"}\n";
    static const char yaml[] = "name: n\ngpu: [A1:2, B:4]\nnodes: 2\nmemory: 1GB\n"
                               "env: {A: 1, B: 1e-4, C: true, D: \"\xf0\x9f\x98\x80/\\n\"}\n"
                               "run: |-\n  a\n  b\nplacement: {sites: x, flexible: 1h}\narray: 1,3\n";
    helio_job_spec_t a = good_job(json, *state), b = good_job(yaml, *state);
    assert_true(helio_record_equal(&helio_job_spec_type, &a, &b));
}

static void job__crlf_and_byte_order_marks_are_read(void **state)
{
    helio_job_spec_t job = good_job("\xef\xbb\xbfname: x\r\nrun: |\r\n  a\r\n  b\r\n", *state);
    assert_text(job.name, "x");
    assert_text(job.run, "a\nb\n");
}

typedef struct gpu_case {
    const char *gpu;
    uint32_t count;
    bool any;
    const char *model[2];
    uint32_t per_node[2];
    uint64_t memory;
    const char *mig;
} gpu_case_t;

static void job__gpus_have_four_forms(void **state)
{
    static const gpu_case_t cases[] = {
        {"H100:8", 1, false, {"H100"}, {8}, 0, ""},
        {"H100", 1, false, {"H100"}, {1}, 0, ""},
        {"\"H100:8\"", 1, false, {"H100"}, {8}, 0, ""},
        {"RTX-4090:2", 1, false, {"RTX-4090"}, {2}, 0, ""},
        {"any:2", 1, false, {""}, {2}, 0, ""},
        {"[A:8, B:4]", 2, false, {"A", "B"}, {8, 4}, 0, ""},
        {"[A: 8, B: 4]", 2, false, {"A", "B"}, {8, 4}, 0, ""},
        {"\n  - A:8\n  - B: 4", 2, false, {"A", "B"}, {8, 4}, 0, ""},
        {"{A:8, B:4}", 2, true, {"A", "B"}, {8, 4}, 0, ""},
        {"{A: 8, B: 4}", 2, true, {"A", "B"}, {8, 4}, 0, ""},
        {"{A, B:4}", 2, true, {"A", "B"}, {1, 4}, 0, ""},
        {"\n  A: 8\n  B: 4", 2, true, {"A", "B"}, {8, 4}, 0, ""},
        {"\"80GB..:8\"", 1, false, {""}, {8}, UINT64_C(80000000000), ""},
        {"80GB..:8", 1, false, {""}, {8}, UINT64_C(80000000000), ""},
        {"24GiB..", 1, false, {""}, {1}, UINT64_C(24) << 30, ""},
        {"H100/1g.10gb:1", 1, false, {"H100"}, {1}, 0, "1g.10gb"},
        {"H100/1g.10gb+me:1", 1, false, {"H100"}, {1}, 0, "1g.10gb+me"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[256];
        (void)snprintf(yaml, sizeof yaml, "run: x\ngpu: %s\n", cases[i].gpu);
        helio_job_spec_t job = good_job(yaml, *state);
        assert_int_equal(job.gpus.count, cases[i].count);
        assert_int_equal(job.gpus_any, cases[i].any);
        for (uint32_t j = 0; j < job.gpus.count; j++) {
            assert_text(job.gpus.items[j].model, cases[i].model[j]);
            assert_int_equal(job.gpus.items[j].count, cases[i].per_node[j]);
        }
        assert_true(job.gpus.items[0].memory_bytes == cases[i].memory);
        assert_text(job.gpus.items[0].mig, cases[i].mig);
    }
}

static void job__arrays_are_ascending_and_unique(void **state)
{
    static const struct {
        const char *array;
        uint32_t count, first, last, at_once;
    } cases[] = {{"5", 1, 5, 5, 0},       {"0-99%10", 100, 0, 99, 10},   {"1,3,7", 3, 1, 7, 0},
                 {"7,3,1", 3, 1, 7, 0},   {"0-15:4", 4, 0, 12, 0},       {"0-9:2,1%3", 6, 0, 8, 3},
                 {"\"2-2\"", 1, 2, 2, 0}, {"0-9999", 10000, 0, 9999, 0}, {"0-9:18446744073709551615", 1, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[128];
        (void)snprintf(yaml, sizeof yaml, "run: x\narray: %s\n", cases[i].array);
        helio_job_spec_t job = good_job(yaml, *state);
        assert_int_equal(job.tasks.count, cases[i].count);
        assert_int_equal(job.tasks.items[0], cases[i].first);
        assert_int_equal(job.tasks.items[job.tasks.count - 1], cases[i].last);
        assert_int_equal(job.tasks_at_once, cases[i].at_once);
        for (uint32_t j = 1; j < job.tasks.count; j++)
            assert_true(job.tasks.items[j - 1] < job.tasks.items[j]);
    }
}

typedef struct bad_case {
    const char *line; /* the second line, after "run: x" */
    helio_spec_problem_t problem;
    uint32_t column;
    const char *message; /* a part of it */
    const char *hint;    /* a part of it; NULL = none is asked for */
} bad_case_t;

#define BAD(problem) HELIO_SPEC_##problem##_PROBLEM

static const bad_case_t bad_cases[] = {
    {"nmae: x", BAD(UNKNOWN_KEY), 1, "unknown key 'nmae' in job", "did you mean 'name'?"},
    {"cpu: 4", BAD(UNKNOWN_KEY), 1, "unknown key 'cpu' in job", "the key is called 'cpus'; for example 'cpus: 32'"},
    {"gpus: 8", BAD(UNKNOWN_KEY), 1, "unknown key 'gpus' in job", "is called 'gpu'; for example 'gpu: H100:8'"},
    {"script: x", BAD(UNKNOWN_KEY), 1, "unknown key 'script' in job", "is called 'run'"},
    {"command: x", BAD(UNKNOWN_KEY), 1, "unknown key 'command' in job", "is called 'run'"},
    {"mem: 8GB", BAD(UNKNOWN_KEY), 1, "unknown key 'mem' in job", "is called 'memory'"},
    {"walltime: 1h", BAD(UNKNOWN_KEY), 1, "unknown key 'walltime' in job", "is called 'time'"},
    {"sites: [lulea]", BAD(UNKNOWN_KEY), 1, "unknown key 'sites' in job", "belongs under 'placement'"},
    {"site: lulea", BAD(UNKNOWN_KEY), 1, "unknown key 'site' in job",
     "is called 'sites' and belongs under 'placement'"},
    {"placement: {region: EU}", BAD(UNKNOWN_KEY), 13, "'region' in placement", "the key is called 'regions'; for"},
    {"zzz: x", BAD(UNKNOWN_KEY), 1, "unknown key 'zzz'", "known keys: name, labels, queue"},
    {"goal: green", BAD(UNKNOWN_KEY), 1, "unknown key 'goal'", "belongs under 'placement'"},
    {"GPU: H100", BAD(UNKNOWN_KEY), 1, "unknown key 'GPU'", "'gpu'"},
    {"placement: {flexble: 12h}", BAD(UNKNOWN_KEY), 13, "'flexble' in placement", "'flexible'"},
    {"data: [{uri: x, sise: 1GB}]", BAD(UNKNOWN_KEY), 17, "'sise' in data[0]", "'size'"},
    {"run: y", BAD(DUPLICATE_KEY), 1, "'run' is given twice", NULL},
    {"labels: {team: a b}", BAD(BAD_VALUE), 16, "found 'a b'", NULL},
    {"labels: {-team: a}", BAD(BAD_VALUE), 10, "labels: expected", NULL},
    {"labels: [team]", BAD(WRONG_TYPE), 9, "found a list", NULL},
    {"tags: {team: nlp}", BAD(UNKNOWN_KEY), 1, "unknown key 'tags'", "'labels'"},
    {"env: {A: 1, B: 2, A: 3}", BAD(DUPLICATE_KEY), 19, "'A' is given twice", NULL},
    {"name: ''", BAD(WRONG_TYPE), 7, "name: expected a name", NULL},
    {"name: a b", BAD(BAD_VALUE), 7, "found 'a b'", NULL},
    {"name: -x", BAD(BAD_VALUE), 7, "begins with a letter or digit", NULL},
    {"name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", BAD(BAD_VALUE), 7, "at most 63", NULL},
    {"name: [a]", BAD(WRONG_TYPE), 7, "found a list", NULL},
    {"name:", BAD(WRONG_TYPE), 1, "found nothing", NULL},
    {"name: null", BAD(WRONG_TYPE), 7, "found nothing", NULL},
    {"queue: a/b", BAD(BAD_VALUE), 8, "queue: expected", NULL},
    {"kind: trian", BAD(UNKNOWN_WORD), 7, "one of train, infer", "did you mean 'train'?"},
    {"kind: {}", BAD(WRONG_TYPE), 7, "found a mapping", NULL},
    {"home: '*'", BAD(BAD_VALUE), 7, "home: expected", NULL},
    {"gpu: 8", BAD(BAD_VALUE), 6, "GPU model before the count", "H100:8"},
    {"gpu: H100x8", BAD(BAD_VALUE), 6, "expected MODEL:COUNT, found 'H100x8'", "write 'H100:8'"},
    {"gpu: 8xH100", BAD(BAD_VALUE), 6, "expected MODEL:COUNT, found '8xH100'", "write 'H100:8'"},
    {"gpu: H100*8", BAD(BAD_VALUE), 6, "expected MODEL:COUNT", "write 'H100:8'"},
    {"gpu: [A100:8, H100X8]", BAD(BAD_VALUE), 15, "gpu[1]: expected MODEL:COUNT", "write 'H100:8'"},
    {"gpu: H100:0", BAD(OUT_OF_RANGE), 6, "1 to 64", NULL},
    {"gpu: H100:65", BAD(OUT_OF_RANGE), 6, "1 to 64", NULL},
    {"gpu: H100:x", BAD(BAD_VALUE), 6, "whole number of GPUs", NULL},
    {"gpu: 'H100:'", BAD(BAD_VALUE), 6, "whole number of GPUs", NULL},
    {"gpu: ':8'", BAD(BAD_VALUE), 6, "GPU model", NULL},
    {"gpu: H100/2:1", BAD(BAD_VALUE), 6, "MIG profile", NULL},
    {"gpu: H100/9g.10gb", BAD(BAD_VALUE), 6, "MIG profile", NULL},
    {"gpu: 80..:8", BAD(WRONG_UNIT), 6, "minimum memory", NULL},
    {"gpu: []", BAD(WRONG_TYPE), 6, "at least one GPU", NULL},
    {"gpu: {A:8: 4}", BAD(WRONG_TYPE), 12, "expected a count", NULL},
    {"gpu: {A: [1]}", BAD(WRONG_TYPE), 10, "expected a count", NULL},
    {"gpu: [[A]]", BAD(WRONG_TYPE), 7, "gpu[0]: expected MODEL:COUNT", NULL},
    {"gpu: [a, b, c, d, e, f, g, h, i]", BAD(TOO_BIG), 6, "at most 8", NULL},
    {"nodes: 0", BAD(OUT_OF_RANGE), 8, "from 1 to 10000, found '0'", "'nodes: 2'"},
    {"nodes: 10001", BAD(OUT_OF_RANGE), 8, "from 1 to 10000", NULL},
    {"nodes: -1", BAD(OUT_OF_RANGE), 8, "from 1 to 10000", NULL},
    {"nodes: 99999999999999999999", BAD(OUT_OF_RANGE), 8, "from 1 to 10000", NULL},
    {"nodes: 4294967297", BAD(OUT_OF_RANGE), 8, "from 1 to 10000", NULL},
    {"nodes: two", BAD(WRONG_TYPE), 8, "found 'two'", NULL},
    {"nodes: \"2\"", BAD(WRONG_TYPE), 8, "whole number", "remove the quotes"},
    {"nodes: 1.5", BAD(WRONG_TYPE), 8, "whole number", NULL},
    {"nodes: 0x2", BAD(WRONG_TYPE), 8, "whole number", NULL},
    {"cpus: 5000", BAD(OUT_OF_RANGE), 7, "from 1 to 4096", NULL},
    {"memory: 256", BAD(WRONG_UNIT), 9, "memory: expected a size, found '256'", "'256GB'"},
    {"memory: 256G", BAD(WRONG_UNIT), 9, "a size", "KiB"},
    {"memory: lots", BAD(WRONG_TYPE), 9, "a size", "256GB"},
    {"memory: 99999999PB", BAD(OUT_OF_RANGE), 9, "a size", NULL},
    {"interconnect: nvlnk", BAD(UNKNOWN_WORD), 15, "one of any, nvlink, ib", "'nvlink'"},
    {"interconnect: nvlink", BAD(CONTRADICTION), 15, "the job requests none", "gpu"},
    {"time: 90", BAD(WRONG_UNIT), 7, "a duration", "the unit is missing: write '90s'"},
    {"time: 6hours", BAD(WRONG_UNIT), 7, "found '6hours'", "write 'time: 6h' (whole numbers"},
    {"time: 1.5h", BAD(WRONG_UNIT), 7, "found '1.5h'", "write 'time: 1h30m' (whole numbers"},
    {"time: 01:30:00", BAD(WRONG_UNIT), 7, "found '01:30:00'", "write 'time: 1h30m'"},
    {"time: 1h 30m", BAD(WRONG_UNIT), 7, "found '1h 30m'", "write whole numbers with w"},
    {"time: 0.33333ms", BAD(WRONG_UNIT), 7, "found '0.33333ms'", "for example 'time: 6h'"},
    {"time: soon", BAD(WRONG_TYPE), 7, "found 'soon'", "'time: 6h'"},
    {"time: 0s", BAD(OUT_OF_RANGE), 7, "from 1ms to 366d", NULL},
    {"time: 367d", BAD(OUT_OF_RANGE), 7, "from 1ms to 366d", NULL},
    {"sharing: mgi", BAD(UNKNOWN_WORD), 10, "one of none, mig", "'mig'"},
    {"sharing: mig", BAD(CONTRADICTION), 10, "the job requests none", NULL},
    {"image: a b", BAD(BAD_VALUE), 8, "image: expected", NULL},
    {"image: --privileged", BAD(BAD_VALUE), 8, "image: expected a URI without spaces that does not begin with '-'",
     NULL},
    {"image: \"a\\nb\"", BAD(BAD_VALUE), 8, "one line", NULL},
    {"env: [A]", BAD(WRONG_TYPE), 6, "a mapping of names to text", "LR"},
    {"env: {9A: 1}", BAD(BAD_VALUE), 7, "found '9A'", NULL},
    {"env: {HELIO_X: 1}", BAD(BAD_VALUE), 7, "HELIO_", NULL},
    {"env: {A: [1]}", BAD(WRONG_TYPE), 10, "env.A: expected text, found a list", NULL},
    {"env: {A: null}", BAD(WRONG_TYPE), 10, "found nothing", NULL},
    {"env: {A}", BAD(WRONG_TYPE), 7, "found nothing", NULL},
    {"secrets: [A-B]", BAD(BAD_VALUE), 11, "secrets[0]: expected", NULL},
    {"secrets: {A: b}", BAD(WRONG_TYPE), 10, "a list of words, found a mapping", NULL},
    {"data: {uri: x}", BAD(WRONG_TYPE), 7, "a list of mappings", "- "},
    {"data: [s3]", BAD(WRONG_TYPE), 8, "data[0]: expected a mapping", NULL},
    {"data: [{size: 2TB}]", BAD(MISSING), 8, "key 'uri' is missing in data[0]", "add 'uri:"},
    {"data: [{uri: 'a b'}]", BAD(BAD_VALUE), 14, "data[0].uri", NULL},
    {"data: [{uri: a, size: 2}]", BAD(WRONG_UNIT), 23, "data[0].size", "'2GB'"},
    {"data: [{uri: a, mode: wr}]", BAD(UNKNOWN_WORD), 23, "one of ro, rw", NULL},
    {"checkpoint: {signal: KILL}", BAD(BAD_VALUE), 22, "one of USR1", NULL},
    {"checkpoint: {grace: 120}", BAD(WRONG_UNIT), 21, "checkpoint.grace", "'120s'"},
    {"checkpoint: {grace: 61m}", BAD(OUT_OF_RANGE), 21, "from 0s to 1h", NULL},
    {"checkpoint: {every: 4000d}", BAD(OUT_OF_RANGE), 21, "checkpoint.every", "at most 3650d"},
    {"checkpoint: USR1", BAD(WRONG_TYPE), 13, "expected a mapping", NULL},
    {"on_site_loss: eagre", BAD(UNKNOWN_WORD), 15, "one of strict, lease, eager", "'eager'"},
    {"retries: 101", BAD(OUT_OF_RANGE), 10, "from 0 to 100", NULL},
    {"placement: green", BAD(WRONG_TYPE), 12, "expected a mapping", NULL},
    {"placement: {goal: gren}", BAD(UNKNOWN_WORD), 19, "one of fast, cheap", "'green'"},
    {"placement: {goal: fast, prices: {carbon: 1 USD/t, wait: 1 USD/gpu-h}}", BAD(CONTRADICTION), 19, "contradict",
     "remove one"},
    {"placement: {prices: {carbon: 200 USD/t}}", BAD(MISSING), 21, "'wait' is missing", "USD/gpu-h"},
    {"placement: {prices: {carbon: 200, wait: 1}}", BAD(WRONG_UNIT), 30, "USD/t", "200 USD/t"},
    {"placement: {flexible: 12}", BAD(WRONG_UNIT), 23, "placement.flexible", "'12s'"},
    {"placement: {deadline: 2026-11-22}", BAD(BAD_VALUE), 23, "RFC 3339", "2026-11-22T07:00:00Z"},
    {"placement: {deadline: 2026-02-30T00:00:00Z}", BAD(BAD_VALUE), 23, "RFC 3339", NULL},
    {"placement: {deadline: 1969-11-22T07:00:00Z}", BAD(OUT_OF_RANGE), 23, "RFC 3339", NULL},
    {"placement: {sites: [a/b]}", BAD(BAD_VALUE), 21, "placement.sites[0]", NULL},
    {"placement: {sites: ['!']}", BAD(BAD_VALUE), 21, "placement.sites[0]", NULL},
    {"placement: {sites: [!eu ]}", BAD(FORBIDDEN), 21, "tags", "quote"},
    {"placement: {sites: [!eu]}", BAD(MALFORMED), 24, "not valid YAML", "begins with '!'"},
    {"placement: {regions: [[EU]]}", BAD(WRONG_TYPE), 23, "placement.regions[0]", NULL},
    {"placement: {not_before: tomorrow}", BAD(BAD_VALUE), 25, "placement.not_before", "2026-11-22T07:00:00Z"},
    {"placement: {backends: [slurm, slrum]}", BAD(BAD_VALUE), 31, "one of local, slurm", NULL},
    {"placement: {max_cost: 400}", BAD(WRONG_UNIT), 23, "USD", "'400 USD'"},
    {"placement: {max_cost: 400 EUR}", BAD(WRONG_UNIT), 23, "USD", NULL},
    {"placement: {max_carbon: 250}", BAD(WRONG_UNIT), 25, "g/kWh", "250 g/kWh"},
    {"placement: {on_better_site: move}", BAD(UNKNOWN_WORD), 29, "one of stay, checkpoint", NULL},
    {"array: 9-1", BAD(BAD_VALUE), 8, "smaller to the larger", NULL},
    {"array: 1,1", BAD(BAD_VALUE), 8, "index 1 is given twice", NULL},
    {"array: 0-3,2", BAD(BAD_VALUE), 8, "index 2 is given twice", NULL},
    {"array: '1,'", BAD(BAD_VALUE), 8, "FIRST-LAST", NULL},
    {"array: 0-9:0", BAD(BAD_VALUE), 8, "FIRST-LAST", NULL},
    {"array: 0-10000", BAD(OUT_OF_RANGE), 8, "at most 10000 tasks", NULL},
    {"array: 10000000", BAD(OUT_OF_RANGE), 8, "up to 9999999", NULL},
    {"array: 0-18446744073709551615", BAD(OUT_OF_RANGE), 8, "up to", NULL},
    {"array: 0-9%0", BAD(BAD_VALUE), 8, "after '%'", NULL},
    {"array: 0-9%x", BAD(BAD_VALUE), 8, "after '%'", NULL},
    {"array: [1, 2]", BAD(WRONG_TYPE), 8, "expected indices", "0-99%10"},
    {"depends: {after_ok: [abc]}", BAD(BAD_VALUE), 22, "depends.after_ok[0]", NULL},
    {"depends: {after_any: [abc]}", BAD(BAD_VALUE), 23, "depends.after_any[0]", NULL},
    {"depends: {after_not_ok: [abc]}", BAD(BAD_VALUE), 26, "depends.after_not_ok[0]", NULL},
    {"depends: {after_task: [abcdef.3]}", BAD(BAD_VALUE), 24, "without a task", NULL},
    {"depends: {after_task: [abcdef]}", BAD(CONTRADICTION), 23, "the job is none", "after_ok"},
    {"depends: {after_task: [abcdef, abcdef, abcdef, abcdef, abcdef]}", BAD(TOO_BIG), 23, "limit of 4", NULL},
    {"depends: [abcdef]", BAD(WRONG_TYPE), 10, "expected a mapping", NULL},
    {"slurm: {--wrap: x}", BAD(BAD_VALUE), 9, "that begins with a letter", NULL},
    {"slurm: {a: \"x\\n#SBATCH --y\"}", BAD(BAD_VALUE), 12, "one line", NULL},
    {"kubernetes: [a]", BAD(WRONG_TYPE), 13, "a mapping of names", NULL},
    {"env: {A: &x 1}", BAD(FORBIDDEN), 10, "anchors", "quote"},
    {"env: {A: *x}", BAD(FORBIDDEN), 10, "aliases", "quote"},
    {"name: !!str x", BAD(FORBIDDEN), 7, "tags", NULL},
    {"? [a]\n: b", BAD(WRONG_TYPE), 3, "expected the name of a key", NULL},
    {"a: b: c", BAD(MALFORMED), 5, "not valid YAML", "put text that contains ': '"},
    {"  gpu: H100", BAD(MALFORMED), 6, "not valid YAML", "in the column of the keys"},
    {"env: {A: 'x}", BAD(MALFORMED), 10, "end of stream while scanning a quoted scalar", NULL},
    {"name x", BAD(MALFORMED), 1, "not valid YAML", "a colon and a space"},
    {"env: @x", BAD(MALFORMED), 6, "not valid YAML", "quote"},
};

static void job__errors_name_the_place_and_what_was_expected(void **state)
{
    for (size_t i = 0; i < sizeof bad_cases / sizeof bad_cases[0]; i++) {
        const bad_case_t *bad = &bad_cases[i];
        char yaml[256];
        (void)snprintf(yaml, sizeof yaml, "run: x\n%s\n", bad->line);
        helio_diagnostic_t diagnostic = bad_job(yaml, *state);
        bool same = diagnostic.problem == bad->problem && diagnostic.line == 2 && diagnostic.column == bad->column &&
                    strstr(diagnostic.message, bad->message) && (!bad->hint || strstr(diagnostic.hint, bad->hint));
        if (!same)
            fail_msg("%s\n%s %u:%u %s\nhelp: %s", bad->line, helio_spec_problem_name(diagnostic.problem),
                     diagnostic.line, diagnostic.column, diagnostic.message, diagnostic.hint);
    }
}

/*  Accepted before there was a bound: it is read as the longest grace, wherever stored documents are read. */
static void job__a_stored_document_is_cut_not_refused(void **state)
{
    static const char text[] = "run: echo\ncheckpoint: {signal: USR1, grace: 300d}\n";
    helio_job_spec_t job;
    helio_spec_source_t source = {.text = HELIO_TEXT(text)};
    assert_int_equal(helio_spec_parse_job(source, *state, &job, NULL), HELIO_INVALID);
    assert_int_equal(helio_spec_parse_stored_job(source, *state, &job, NULL), HELIO_OK);
    assert_int_equal(job.checkpoint_grace_ms, HELIO_JOB_GRACE_MAX_MS);
    source.text = HELIO_TEXT("run: echo\ncheckpoint: {grace: 1h, every: 4000d}\n"); /* bounds that did not change */
    assert_int_equal(helio_spec_parse_stored_job(source, *state, &job, NULL), HELIO_INVALID);
    source.text = HELIO_TEXT("run: echo\ncheckpoint: {grace: 1h}\n");
    assert_int_equal(helio_spec_parse_job(source, *state, &job, NULL), HELIO_OK);
    assert_int_equal(job.checkpoint_grace_ms, HELIO_JOB_GRACE_MAX_MS);
}

/*  Simulators and old agents pass specs on that no reader has cut. */
static void job__no_grace_is_longer_than_the_most(void **state)
{
    (void)state;
    static const struct {
        uint64_t asked_ms, default_ms, ms;
    } rows[] = {{0, 30000, 30000},
                {1000, 30000, 1000},
                {HELIO_JOB_GRACE_MAX_MS, 0, HELIO_JOB_GRACE_MAX_MS},
                {UINT64_MAX, 30000, HELIO_JOB_GRACE_MAX_MS},
                {0, 86400000, HELIO_JOB_GRACE_MAX_MS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_job_spec_t job = {.checkpoint_grace_ms = rows[i].asked_ms};
        assert_int_equal(helio_job_grace_ms(&job, rows[i].default_ms), rows[i].ms);
    }
}

static void job__run_is_required_and_not_empty(void **state)
{
    static const char *const bad[] = {"",           "{}", "name: x\n", "run:\n", "run: ''\n", "run: \" \\n\"\n",
                                      "run: [a]\n", "~"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_diagnostic_t diagnostic = bad_job(bad[i], *state);
        assert_non_null(strstr(diagnostic.message, "run"));
    }
}

static void job__errors_need_no_diagnostic(void **state)
{
    helio_job_spec_t job;
    assert_int_equal(parse_job("rnu: x", 6, *state, &job, NULL), HELIO_INVALID);
    assert_int_equal(parse_job("run: x", 6, *state, &job, NULL), HELIO_OK);
}

static void job__the_path_names_the_value(void **state)
{
    assert_string_equal(bad_job("run: x\ndata: [{uri: a}, {uri: b, size: 1}]\n", *state).path, "data[1].size");
    assert_string_equal(bad_job("run: x\nplacement: {prices: {carbon: 1}}\n", *state).path, "placement.prices.carbon");
    assert_string_equal(bad_job("run: x\nplacement: {foo: 1}\n", *state).path, "placement.foo");
    assert_string_equal(bad_job("name: x\n", *state).path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(job__defaults_are_those_of_the_reference, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__every_key_reaches_its_field, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__json_and_yaml_give_the_same_spec, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__crlf_and_byte_order_marks_are_read, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__gpus_have_four_forms, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__arrays_are_ascending_and_unique, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__errors_name_the_place_and_what_was_expected, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__a_stored_document_is_cut_not_refused, arena_setup, arena_teardown),
        cmocka_unit_test(job__no_grace_is_longer_than_the_most),
        cmocka_unit_test_setup_teardown(job__run_is_required_and_not_empty, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__errors_need_no_diagnostic, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(job__the_path_names_the_value, arena_setup, arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
