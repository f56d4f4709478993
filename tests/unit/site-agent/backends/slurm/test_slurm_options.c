#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"
#include "tests/support/slurm_double.h"

/*  sbatch's arguments of one order, joined by blanks; the error's text when it is refused. */
static const char *arguments(lab_t *lab, lab_job_t *job, helio_text_t account, char *ret_text, size_t size,
                             helio_folder_how_t *ret_how)
{
    helio_slurm_t *self = helio_slurm_of(lab->backend);
    helio_slurm_attempt_t *attempt = helio_new(1, sizeof *attempt);
    helio_unix_account_t *unix_account = helio_new(1, sizeof *unix_account);
    helio_arena_t *arena = helio_arena_new();
    helio_slurm_launch_t launch = {0};
    helio_error_t err = {0};
    unix_account->slurm_account = account;
    job->order.pool = job->order.pool.size ? job->order.pool : HELIO_TEXT("h100");
    attempt->backend = self;
    attempt->order = job->order;
    attempt->spec = job->spec;
    attempt->grace_ms = 30000;
    (void)snprintf(attempt->held.name, sizeof attempt->held.name, "helio-x-1");
    ret_text[0] = '\0';
    if (helio_slurm_launch(self, attempt, unix_account, arena, &launch, &err)) {
        (void)snprintf(ret_text, size, "%s", err.text);
    } else {
        for (uint32_t i = 0; launch.argv[i]; i++) {
            size_t used = strlen(ret_text);
            (void)snprintf(ret_text + used, size - used, "%s ", launch.argv[i]);
        }
        if (ret_how)
            *ret_how = launch.how;
    }
    helio_arena_destroy(&arena);
    free(unix_account);
    free(attempt);
    return ret_text;
}

static void slurm_options__an_order_becomes_resources(void **state)
{
    (void)state;
    static const struct {
        helio_order_t order;
        const char *has, *has_not;
    } cases[] = {
        {{.nodes = 1, .gpus_per_node = 2}, "--nodes=1 --gres=gpu:h100:2 --ntasks-per-node=1 ", "--time"},
        {{.nodes = 4, .gpus_per_node = 8}, "--nodes=4 --gres=gpu:h100:8 ", "--mem"},
        {{.nodes = 0}, "--nodes=1 ", "--gres"},
        {{.nodes = 1, .cpus_per_node = 12}, "--cpus-per-task=12 ", "--mem"},
        {{.nodes = 1, .memory_bytes_per_node = INT64_C(1) << 30}, "--mem=1024M ", "--cpus"},
        {{.nodes = 1, .memory_bytes_per_node = 1}, "--mem=1M ", "--cpus"},
        {{.nodes = 1, .time_limit_ms = 60000}, "--time=3 ", "--mem"}, /* the limit, 30 s of grace, a minute */
        {{.nodes = 1, .time_limit_ms = 3600000}, "--time=62 ", "--mem"},
        {{.nodes = 1}, "--job-name=helio-x-1 --no-requeue --export=ALL --propagate=NONE ", "--account"},
        {{.nodes = 1}, "--parsable ", "--partition"},
    };
    lab_t lab;
    char text[8192];
    lab_open(&lab);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_job_t job = {.order = cases[i].order};
        (void)arguments(&lab, &job, (helio_text_t){0}, text, sizeof text, NULL);
        if (!strstr(text, cases[i].has) || strstr(text, cases[i].has_not))
            fail_msg("case %zu: '%s'", i, text);
    }
    lab_close(&lab);
}

static void slurm_options__a_pools_mapping_gives_partition_and_type(void **state)
{
    (void)state;
    const struct {
        helio_slurm_pool_t pool;
        const char *has, *has_not;
    } cases[] = {
        {{.pool = HELIO_TEXT("h100"), .partition = HELIO_TEXT("gpu")},
         "--partition=gpu --nodes=1 --gres=gpu:h100:2 ",
         "--mem"},
        {{.pool = HELIO_TEXT("h100"), .gres = HELIO_TEXT("nvidia_h100")}, "--gres=gpu:nvidia_h100:2 ", "--partition"},
        {{.pool = HELIO_TEXT("h100"), .gres = HELIO_TEXT("*")}, "--gres=gpu:2 ", "--partition"},
        {{.pool = HELIO_TEXT("h100"), .gres = HELIO_TEXT("a100_1g.5gb")}, "--gres=gpu:a100_1g.5gb:2 ", "--partition"},
        {{.pool = HELIO_TEXT("h100"), .gres = HELIO_TEXT("shard")}, "--gres=shard:2 ", "gpu"},
        {{.pool = HELIO_TEXT("h100"), .gres = HELIO_TEXT("mps"), .units = 25}, "--gres=mps:50 ", "gpu"},
        {{.pool = HELIO_TEXT("other"), .partition = HELIO_TEXT("gpu"), .gres = HELIO_TEXT("x")},
         "--gres=gpu:h100:2 ",
         "--partition"},
    };
    char text[8192];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        helio_slurm_pool_t pool = cases[i].pool;
        lab_job_t job = {.order = {.nodes = 1, .gpus_per_node = 2}};
        lab_open(&lab);
        lab.settings.pools.items = &pool;
        lab.settings.pools.count = 1;
        lab_reopen(&lab);
        (void)arguments(&lab, &job, (helio_text_t){0}, text, sizeof text, NULL);
        if (!strstr(text, cases[i].has) || strstr(text, cases[i].has_not))
            fail_msg("case %zu: '%s'", i, text);
        lab_close(&lab);
    }
}

static void slurm_options__slurms_limit_is_at_most_that_of_the_partition(void **state)
{
    (void)state;
    lab_t lab;
    char text[8192];
    lab_job_t fits = {.order = {.nodes = 1, .time_limit_ms = 7200000}},
              too_long = {.order = {.nodes = 1, .time_limit_ms = 7260000}};
    lab_open(&lab);
    lab_pass(&lab, 1000); /* the partition allows two hours */
    assert_non_null(strstr(arguments(&lab, &fits, (helio_text_t){0}, text, sizeof text, NULL), "--time=120 "));
    assert_non_null(strstr(arguments(&lab, &too_long, (helio_text_t){0}, text, sizeof text, NULL), "--time=123 "));
    lab_close(&lab);
}

static void slurm_options__slurms_limit_is_at_most_that_of_the_qos(void **state)
{
    (void)state;
    lab_t lab;
    char text[8192];
    helio_pair_t pair = {HELIO_TEXT("qos"), HELIO_TEXT("short")};
    lab_job_t fits = {.order = {.nodes = 1, .time_limit_ms = 600000}},
              too_long = {.order = {.nodes = 1, .time_limit_ms = 660000}};
    fits.spec.slurm.items = too_long.spec.slurm.items = &pair;
    fits.spec.slurm.count = too_long.spec.slurm.count = 1;
    lab_open(&lab);
    lab_put(&lab, "qos",
            "Current Association Manager state\n\nQOS Records\n\n"
            "QOS=normal(1) UsageRaw=0.000000 GrpJobs=N(0) MaxWallPJ= MaxTRESPJ= User Limits No Users \n"
            "QOS=short(2) UsageRaw=0.000000 GrpJobs=N(0) MaxWallPJ=10 MaxTRESPJ= User Limits No Users \n");
    lab_pass(&lab, 1000);
    assert_int_equal(lab.capacities, 1);
    assert_non_null(strstr(arguments(&lab, &fits, (helio_text_t){0}, text, sizeof text, NULL), "--time=10 "));
    assert_non_null(strstr(arguments(&lab, &too_long, (helio_text_t){0}, text, sizeof text, NULL), "--time=13 "));
    pair.value = HELIO_TEXT("normal");
    assert_non_null(strstr(arguments(&lab, &fits, (helio_text_t){0}, text, sizeof text, NULL), "--time=12 "));
    lab_close(&lab);
}

static void slurm_options__a_job_passes_on_only_allowed_options(void **state)
{
    (void)state;
    const struct {
        helio_pair_t pair;
        const char *has;
    } cases[] = {
        {{HELIO_TEXT("partition"), HELIO_TEXT("urgent")}, " --partition=urgent "},
        {{HELIO_TEXT("qos"), HELIO_TEXT("high")}, " --qos=high "},
        {{HELIO_TEXT("constraint"), HELIO_TEXT("a100&nvlink")}, " --constraint=a100&nvlink "},
        {{HELIO_TEXT("comment"), HELIO_TEXT("$(rm -rf /); `x` 'y' \"z\"")}, " --comment=$(rm -rf /); `x` 'y' \"z\" "},
        {{HELIO_TEXT("exclusive"), {0}}, " --exclusive "},
        {{HELIO_TEXT("account"), HELIO_TEXT("phys")}, " --account=phys "},
        {{HELIO_TEXT("mail-type"), HELIO_TEXT("END")}, " --mail-type=END "},
        {{HELIO_TEXT("core-spec"), HELIO_TEXT("2")}, " --core-spec=2 "},
        {{HELIO_TEXT("site-thing"), HELIO_TEXT("2")}, " --site-thing=2 "}, /* by the site's settings */
        {{HELIO_TEXT("job-name"), HELIO_TEXT("x")}, "--job-name "},
        {{HELIO_TEXT("requeue"), {0}}, "--requeue "},
        {{HELIO_TEXT("export"), HELIO_TEXT("ALL")}, "--export "},
        {{HELIO_TEXT("array"), HELIO_TEXT("1-9")}, "--array "},
        {{HELIO_TEXT("wrap"), HELIO_TEXT("true")}, "--wrap "},
        {{HELIO_TEXT("uid"), HELIO_TEXT("0")}, "--uid "},
        {{HELIO_TEXT("time"), HELIO_TEXT("1")}, "--time "},
        {{HELIO_TEXT("hold"), {0}}, "--hold "}, /* not even by the site's settings */
        {{HELIO_TEXT("clusters"), HELIO_TEXT("all")}, "--clusters "},
        {{HELIO_TEXT("container"), HELIO_TEXT("x")},
         "--container is not passed on at this site; the operator can allow it under "
         "agent.slurm.options"},
        {{HELIO_TEXT("qos=high --uid"), HELIO_TEXT("0")}, "not passed on"},
        {{{0}, HELIO_TEXT("0")}, "not passed on"},
        {{HELIO_TEXT("qos"), HELIO_TEXT("-x")}, "the value of --qos begins with '-'"},
        {{HELIO_TEXT("qos"), HELIO_TEXT("a\nb")}, "the value of --qos has a control character"},
        {{HELIO_TEXT("output"), HELIO_TEXT("a\tb")}, "the value of --output has a control character"},
    };
    helio_string_t site[] = {{HELIO_TEXT("site-thing")}, {HELIO_TEXT("hold")}};
    lab_t lab;
    char text[8192];
    lab_open(&lab);
    lab.settings.options.items = site;
    lab.settings.options.count = 2;
    lab_reopen(&lab);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_pair_t pair = cases[i].pair;
        lab_job_t job = {.order = {.nodes = 1}};
        job.spec.slurm.items = &pair;
        job.spec.slurm.count = 1;
        (void)arguments(&lab, &job, (helio_text_t){0}, text, sizeof text, NULL);
        if (!strstr(text, cases[i].has))
            fail_msg("case %zu: '%s'", i, text);
    }
    lab_close(&lab);
}

static void slurm_options__the_site_decides_which_account_is_charged(void **state)
{
    (void)state;
    lab_t lab;
    char text[8192];
    helio_pair_t pair = {HELIO_TEXT("account"), HELIO_TEXT("others")};
    lab_job_t job = {.order = {.nodes = 1}};
    job.spec.slurm.items = &pair;
    job.spec.slurm.count = 1;
    lab_open(&lab);
    (void)arguments(&lab, &job, HELIO_TEXT("acme"), text, sizeof text, NULL);
    assert_non_null(strstr(text, " --account=acme "));
    assert_null(strstr(text, "others"));
    lab_close(&lab);
}

static void slurm_options__a_scripts_own_layout_of_tasks_is_kept(void **state)
{
    (void)state;
    lab_t lab;
    char text[8192];
    helio_pair_t pair = {HELIO_TEXT("ntasks-per-node"), HELIO_TEXT("4")};
    lab_job_t job = {.order = {.nodes = 2, .cpus_per_node = 32}};
    job.spec.slurm.items = &pair;
    job.spec.slurm.count = 1;
    lab_open(&lab);
    (void)arguments(&lab, &job, (helio_text_t){0}, text, sizeof text, NULL);
    assert_non_null(strstr(text, " --ntasks-per-node=4 "));
    assert_null(strstr(text, "--ntasks-per-node=1 "));
    assert_null(strstr(text, "--cpus-per-task"));
    lab_close(&lab);
}

static void slurm_options__pairs_for_the_shim_do_not_reach_sbatch(void **state)
{
    (void)state;
    lab_t lab;
    char text[8192];
    helio_folder_how_t how;
    helio_pair_t pairs[] = {{HELIO_TEXT("launch"), HELIO_TEXT("batch")},
                            {HELIO_TEXT("output"), HELIO_TEXT("out-%j.txt")},
                            {HELIO_TEXT("error"), HELIO_TEXT("/tmp/e")},
                            {HELIO_TEXT("chdir"), HELIO_TEXT("/home/ada")}};
    lab_job_t job = {.order = {.nodes = 1, .on_site_loss = HELIO_SITE_LOSS_LEASE}};
    job.spec.slurm.items = pairs;
    job.spec.slurm.count = 4;
    lab_open(&lab);
    (void)arguments(&lab, &job, (helio_text_t){0}, text, sizeof text, &how);
    assert_null(strstr(text, "out-%j.txt"));
    assert_null(strstr(text, "/home/ada"));
    assert_null(strstr(text, "launch"));
    assert_true(how.batch_script && how.truncate);
    assert_true(helio_text_is(how.stdout_path, "out-%j.txt") && helio_text_is(how.stderr_path, "/tmp/e") &&
                helio_text_is(how.workdir, "/home/ada"));
    assert_non_null(strstr(how.lease, "/shared/lease"));
    assert_int_equal(how.clock_tolerance_ms, 5000);
    job.order.on_site_loss = HELIO_SITE_LOSS_STRICT;
    (void)arguments(&lab, &job, (helio_text_t){0}, text, sizeof text, &how);
    assert_null(how.lease);
    lab_close(&lab);
}

static void slurm_settings__a_site_files_group_is_read_with_its_defaults(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_slurm_settings_t settings;
    helio_diagnostic_t diagnostic;
    helio_spec_source_t source = {
        .text = HELIO_TEXT("shared: /s\npools: [{pool: a, partition: gpu, gres: '*'}]\noptions: [x-y]\n"), .name = "t"};
    assert_int_equal(helio_spec_read(&helio_slurm_settings_table, source, 4096, arena, &settings, &diagnostic),
                     HELIO_OK);
    assert_int_equal(settings.poll_ms, 2000);
    assert_int_equal(settings.timeout_ms, 30000);
    assert_int_equal(settings.clock_tolerance_ms, 5000);
    assert_true(helio_text_is(settings.pools.items[0].gres, "*"));
    assert_true(helio_text_is(settings.options.items[0].text, "x-y"));
    static const char *const bad[] = {"poll: 10ms\n",
                                      "options: [--uid]\n",
                                      "options: ['a b']\n",
                                      "pools: [{partition: x}]\n",
                                      "pools: [{pool: a, partition: '-x'}]\n",
                                      "sharde: /s\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        source.text = helio_text_of(bad[i]);
        assert_int_equal(helio_spec_read(&helio_slurm_settings_table, source, 4096, arena, &settings, &diagnostic),
                         HELIO_INVALID);
    }
    helio_arena_destroy(&arena);
}

static void slurm_new__names_what_is_missing(void **state)
{
    (void)state;
    lab_t lab;
    lab_open(&lab);
    static const char *const shared[] = {"", "relative", "/no/such/folder"};
    static const char *const says[] = {"agent.slurm.shared is missing", "absolute", "/no/such/folder"};
    for (size_t i = 0; i < 3; i++) {
        helio_slurm_settings_t settings = lab.settings;
        settings.shared = helio_text_of(shared[i]);
        helio_slurm_options_t options = {
            .site = &lab.site, .rules = &lab.rules, .settings = &settings, .shim = lab.shim};
        helio_backend_t *backend = NULL;
        helio_error_t err = {0};
        assert_int_not_equal(helio_slurm_new(&options, &backend, &err), HELIO_OK);
        assert_null(backend);
        assert_non_null(strstr(err.text, says[i]));
    }
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_options__an_order_becomes_resources),
        cmocka_unit_test(slurm_options__a_pools_mapping_gives_partition_and_type),
        cmocka_unit_test(slurm_options__slurms_limit_is_at_most_that_of_the_partition),
        cmocka_unit_test(slurm_options__slurms_limit_is_at_most_that_of_the_qos),
        cmocka_unit_test(slurm_options__a_job_passes_on_only_allowed_options),
        cmocka_unit_test(slurm_options__the_site_decides_which_account_is_charged),
        cmocka_unit_test(slurm_options__a_scripts_own_layout_of_tasks_is_kept),
        cmocka_unit_test(slurm_options__pairs_for_the_shim_do_not_reach_sbatch),
        cmocka_unit_test(slurm_settings__a_site_files_group_is_read_with_its_defaults),
        cmocka_unit_test(slurm_new__names_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
