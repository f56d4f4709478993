#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"
#include "tests/support/slurm_double.h"

#define NODE(name, gres, partitions, cpus, memory)                                                            \
    "NodeName=" name " Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=" cpus " CPUTot=" cpus " Gres=" gres \
    " GresUsed=gpu:0 RealMemory=" memory " AllocMem=0 FreeMem=1 Sockets=1 State=IDLE Partitions=" partitions  \
    "  CfgTRES=cpu=1 AllocTRES=\n"
#define PARTITION(name, standard, nodes)                                                                            \
    "PartitionName=" name " AllowGroups=ALL Default=" standard " MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=" nodes \
    " PriorityTier=1 State=UP TotalNodes=1\n"

static const char two_sorts[] = NODE("a1", "gpu:H100:8(S:0-1)", "main,all", "96", "2000000")
    NODE("a2", "gpu:H100:8", "main,all", "64", "1000000") NODE("b1", "gpu:a100:4", "old,all", "32", "500000");
static const char two_partitions[] =
    PARTITION("all", "NO", "a[1-2],b1") PARTITION("main", "YES", "a[1-2]") PARTITION("old", "NO", "b1");

/*  Some with GPUs of a type, and some without one, in one partition. */
static const char some_untyped[] = NODE("a1", "gpu:4", "main", "16", "500000")
    NODE("a2", "gpu:h100:8", "main", "96", "2000000") NODE("a3", "gpu:a100:2,gpu:l4:2", "main", "32", "1000000");

typedef struct site {
    lab_t lab;
    helio_arena_t *arena;
    helio_site_profile_t profile;
    helio_slurm_settings_t settings;
    helio_error_t err;
} site_t;

static void open_site(site_t *site, const helio_pool_t *pool, const helio_slurm_pool_t *mapping)
{
    lab_open(&site->lab);
    site->arena = helio_arena_new();
    site->profile = site->lab.site;
    site->settings = site->lab.settings;
    site->profile.pools.count = pool ? 1 : 0;
    if (pool)
        site->lab.pool = *pool;
    site->settings.pools.count = mapping ? 1 : 0;
    site->settings.pools.items = helio_arena_alloc(site->arena, 1, sizeof *mapping);
    if (mapping)
        site->settings.pools.items[0] = *mapping;
    lab_put(&site->lab, "nodes", "%s", two_sorts);
    lab_put(&site->lab, "partitions", "%s", two_partitions);
}

static void close_site(site_t *site)
{
    helio_arena_destroy(&site->arena);
    lab_close(&site->lab);
}

static helio_rc fill(site_t *site)
{
    return helio_slurm_fill_site(&site->profile, &site->settings, site->arena, &site->err);
}

static void slurm_site__a_pool_is_completed_from_its_nodes_in_the_clusters_spelling(void **state)
{
    (void)state;
    site_t site;
    open_site(&site, &(helio_pool_t){.name = HELIO_TEXT("big"), .gpu = HELIO_TEXT("H100")}, NULL);
    assert_int_equal(fill(&site), HELIO_OK);
    const helio_pool_t *pool = &site.profile.pools.items[0];
    assert_int_equal(pool->nodes, 2);
    assert_int_equal(pool->max_nodes, 2);
    assert_int_equal(pool->gpus_per_node, 8);
    assert_int_equal(pool->cpus_per_node, 96); /* what the largest has */
    assert_true(pool->memory_bytes_per_node == UINT64_C(2000000) << 20);
    assert_int_equal(site.settings.pools.items[0].cpus_per_gpu, 8); /* of the smallest */
    assert_true(site.settings.pools.items[0].memory_bytes_per_gpu == UINT64_C(125000) << 20);
    assert_int_equal(site.settings.pools.count, 1);
    assert_true(helio_text_is(site.settings.pools.items[0].partition, "main"));
    assert_true(helio_text_is(site.settings.pools.items[0].gres, "H100"));
    close_site(&site);
}

static void slurm_site__values_of_the_file_are_kept(void **state)
{
    (void)state;
    site_t site;
    open_site(
        &site,
        &(helio_pool_t){.name = HELIO_TEXT("big"),
                        .gpu = HELIO_TEXT("H100-SXM"),
                        .nodes = 1,
                        .max_nodes = 1,
                        .gpus_per_node = 4,
                        .cpus_per_node = 7},
        &(helio_slurm_pool_t){.pool = HELIO_TEXT("big"), .partition = HELIO_TEXT("all"), .gres = HELIO_TEXT("h100")});
    assert_int_equal(fill(&site), HELIO_OK);
    const helio_pool_t *pool = &site.profile.pools.items[0];
    assert_true(helio_text_is(pool->gpu, "H100-SXM"));
    assert_int_equal(pool->nodes, 1);
    assert_int_equal(pool->gpus_per_node, 4);
    assert_int_equal(pool->cpus_per_node, 7);
    assert_int_equal(site.settings.pools.items[0].cpus_per_gpu, 0);
    assert_true(helio_text_is(site.settings.pools.items[0].partition, "all"));
    assert_true(helio_text_is(site.settings.pools.items[0].gres, "H100"));
    close_site(&site);
}

static void slurm_site__a_contradiction_is_named(void **state)
{
    (void)state;
    const struct {
        helio_pool_t pool;
        helio_slurm_pool_t mapping;
        const char *says;
    } cases[] = {
        {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H100"), .nodes = 3},
         {.pool = HELIO_TEXT("p")},
         "has 3 nodes in the site file"},
        {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H100"), .gpus_per_node = 9},
         {.pool = HELIO_TEXT("p")},
         "has 9 GPUs per node in the site file"},
        {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("B200")},
         {.pool = HELIO_TEXT("p")},
         "has GPUs of the type 'B200'"},
        {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H100")},
         {.pool = HELIO_TEXT("p"), .gres = HELIO_TEXT("shard")},
         "no node of partition 'main' has GPUs of the type 'shard'"},
        {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H100")},
         {.pool = HELIO_TEXT("p"), .partition = HELIO_TEXT("gpu")},
         "no partition 'gpu'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        site_t site;
        open_site(&site, &cases[i].pool, &cases[i].mapping);
        assert_int_equal(fill(&site), HELIO_INVALID);
        if (!strstr(site.err.text, cases[i].says))
            fail_msg("case %zu: %s", i, site.err.text);
        close_site(&site);
    }
}

static void slurm_site__without_pools_each_type_of_gpu_becomes_one_pool_counted_once(void **state)
{
    (void)state;
    site_t site;
    open_site(&site, NULL, NULL);
    assert_int_equal(fill(&site), HELIO_OK);
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < site.profile.pools.count; i++) {
        const helio_pool_t *pool = &site.profile.pools.items[i];
        gpus += pool->nodes * pool->gpus_per_node;
        assert_true(helio_text_is(pool->gpu, "H100") || helio_text_is(pool->gpu, "A100"));
    }
    assert_int_equal(site.profile.pools.count, 2);
    assert_int_equal(gpus, 20);
    close_site(&site);
}

static void slurm_site__gpus_without_a_type_beside_others_are_counted_once(void **state)
{
    (void)state;
    site_t site;
    open_site(&site, NULL, NULL);
    lab_put(&site.lab, "nodes", "%s", some_untyped);
    lab_put(&site.lab, "partitions", "%s", PARTITION("main", "YES", "a[1-3]"));
    assert_int_equal(fill(&site), HELIO_OK);
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < site.profile.pools.count; i++)
        gpus += site.profile.pools.items[i].nodes * site.profile.pools.items[i].gpus_per_node;
    assert_int_equal(site.profile.pools.count, 4);
    assert_int_equal(gpus, 16);
    const helio_pool_t *last = &site.profile.pools.items[3];
    assert_true(helio_text_is(last->gpu, "GPU"));
    assert_int_equal(last->gpus_per_node, 4);
    assert_int_equal(last->cpus_per_node, 16);
    assert_true(helio_text_is(site.settings.pools.items[3].gres, "*"));
    for (uint32_t i = 1; i < 3; i++) { /* two types on one node: half of its CPUs and memory for each */
        assert_int_equal(site.settings.pools.items[i].cpus_per_gpu, 8);
        assert_true(site.settings.pools.items[i].memory_bytes_per_gpu == (UINT64_C(1000000) << 20) / 4);
    }
    close_site(&site);
}

static void slurm_site__a_pool_without_gpus_has_its_nodes(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        site_t site;
        helio_slurm_pool_nodes_t nodes[2] = {{0}};
        open_site(&site, named ? &(helio_pool_t){.name = HELIO_TEXT("old")} : NULL,
                  named ? &(helio_slurm_pool_t){.pool = HELIO_TEXT("old"), .partition = HELIO_TEXT("old")} : NULL);
        lab_put(&site.lab, "nodes", "%s", NODE("b1", "(null)", "old,all", "32", "500000"));
        lab_put(&site.lab, "partitions", "%s", PARTITION("old", "YES", "b1") PARTITION("all", "NO", "b1"));
        assert_int_equal(fill(&site), HELIO_OK);
        assert_int_equal(site.profile.pools.count, 1);
        const helio_pool_t *pool = &site.profile.pools.items[0];
        assert_int_equal(pool->nodes, 1);
        assert_int_equal(pool->gpus_per_node, 0);
        assert_int_equal(pool->gpu.size, 0);
        assert_int_equal(pool->cpus_per_node, 32);
        assert_int_equal(helio_slurm_ask_nodes(&site.profile, &site.settings, site.arena, nodes), HELIO_OK);
        assert_int_equal(nodes[0].open, 1);
        assert_int_equal(nodes[0].shared, 0);
        close_site(&site);
    }
}

static const char products[] = NODE("a1", "gpu:nvidia_a100-sxm4-80gb:8", "main", "96", "2000000")
    NODE("a2", "gpu:nvidia_a100-sxm4-40gb:4", "main,old", "96", "2000000");

static void slurm_site__types_that_are_names_of_products_are_their_model(void **state)
{
    (void)state;
    site_t site;
    open_site(&site, NULL, NULL);
    lab_put(&site.lab, "nodes", "%s", products);
    lab_put(&site.lab, "partitions", "%s", PARTITION("main", "YES", "a[1-2]") PARTITION("old", "NO", "a2"));
    assert_int_equal(fill(&site), HELIO_OK);
    assert_int_equal(site.profile.pools.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const helio_pool_t *pool = &site.profile.pools.items[i];
        assert_true(helio_text_is(pool->name, i ? "nvidia_a100-sxm4-40gb" : "a100"));
        assert_true(helio_text_is(pool->gpu, "A100"));
        assert_int_equal(pool->gpus_per_node, i ? 4 : 8);
        assert_true(pool->gpu_memory_bytes == (i ? UINT64_C(40) : UINT64_C(80)) << 30);
        assert_true(
            helio_text_is(site.settings.pools.items[i].gres, i ? "nvidia_a100-sxm4-40gb" : "nvidia_a100-sxm4-80gb"));
    }
    close_site(&site);
}

static void slurm_site__a_pool_of_the_file_finds_the_product_of_its_model(void **state)
{
    (void)state;
    for (int several = 0; several < 2; several++) {
        site_t site;
        open_site(&site, &(helio_pool_t){.name = HELIO_TEXT("big"), .gpu = HELIO_TEXT("A100")},
                  &(helio_slurm_pool_t){.pool = HELIO_TEXT("big"),
                                        .partition = several ? HELIO_TEXT("main") : HELIO_TEXT("old")});
        lab_put(&site.lab, "nodes", "%s", products);
        lab_put(&site.lab, "partitions", "%s", PARTITION("main", "YES", "a[1-2]") PARTITION("old", "NO", "a2"));
        assert_int_equal(fill(&site), several ? HELIO_INVALID : HELIO_OK);
        if (several && !strstr(site.err.text, "'nvidia_a100-sxm4-80gb' and 'nvidia_a100-sxm4-40gb'; name its `gres`"))
            fail_msg("%s", site.err.text);
        if (!several)
            assert_true(helio_text_is(site.settings.pools.items[0].gres, "nvidia_a100-sxm4-40gb"));
        close_site(&site);
    }
}

static void slurm_check__says_which_pools_share_nodes(void **state)
{
    (void)state;
    site_t site;
    open_site(&site, NULL, NULL);
    helio_pool_t pools[] = {{.name = HELIO_TEXT("h100"), .gpu = HELIO_TEXT("H100")},
                            {.name = HELIO_TEXT("again"), .gpu = HELIO_TEXT("H100")},
                            {.name = HELIO_TEXT("a100"), .gpu = HELIO_TEXT("A100")}};
    helio_slurm_pool_t mappings[] = {{.pool = HELIO_TEXT("h100"), .partition = HELIO_TEXT("main")},
                                     {.pool = HELIO_TEXT("again"), .partition = HELIO_TEXT("all")},
                                     {.pool = HELIO_TEXT("a100"), .partition = HELIO_TEXT("all")}};
    helio_slurm_pool_nodes_t nodes[3];
    site.profile.pools.items = pools;
    site.settings.pools.items = mappings;
    site.profile.pools.count = site.settings.pools.count = 3;
    assert_int_equal(fill(&site), HELIO_OK);
    assert_int_equal(helio_slurm_ask_nodes(&site.profile, &site.settings, site.arena, nodes), HELIO_OK);
    assert_int_equal(nodes[0].shared, 0);
    assert_int_equal(nodes[1].shared, 2);
    assert_int_equal(nodes[1].with, 0);
    assert_int_equal(nodes[1].own, 0);
    assert_int_equal(nodes[2].shared, 0); /* other GPUs */
    close_site(&site);
}

static void slurm_site__a_silent_controller_matters_only_for_values_missing_in_the_file(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        site_t site;
        open_site(&site,
                  &(helio_pool_t){
                      .name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H100"), .nodes = whole ? 2 : 0, .gpus_per_node = 8},
                  NULL);
        lab_put(&site.lab, "down", "yes");
        assert_int_equal(fill(&site), whole ? HELIO_OK : HELIO_UNAVAILABLE);
        assert_int_equal(site.profile.pools.items[0].nodes, whole ? 2 : 0);
        close_site(&site);
    }
}

/* ---- helio-agent check --------------------------------------------------------------------------------- */

typedef struct lines {
    char text[4096];
    uint32_t failed;
} lines_t;

static void on_line(void *arg, const char *what, helio_rc rc, const char *detail)
{
    lines_t *lines = arg;
    size_t used = strlen(lines->text);
    (void)snprintf(lines->text + used, sizeof lines->text - used, "%s %s: %s\n", rc ? "bad" : "good", what, detail);
    lines->failed += rc != HELIO_OK;
}

static void slurm_check__prints_one_line_for_each_requirement(void **state)
{
    (void)state;
    for (int down = 0; down < 2; down++) {
        site_t site;
        lines_t lines = {0};
        open_site(&site, &(helio_pool_t){.name = HELIO_TEXT("big"), .gpu = HELIO_TEXT("H100")}, NULL);
        char srun[200];
        (void)snprintf(srun, sizeof srun, "bin/srun");
        lab_put(&site.lab, srun, "#!/bin/sh\necho slurm 22.05.8\n");
        helio_slurm_options_t options = {
            .site = &site.profile, .rules = &site.lab.rules, .settings = &site.settings, .shim = site.lab.shim};
        if (down)
            lab_put(&site.lab, "down", "yes");
        lab_answer(&site.lab, "sbatch", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "squeue", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "scancel", "slurm 22.05.8\n", "", 0);
        helio_slurm_check(&options, false, on_line, &lines);
        if (!down) {
            assert_non_null(strstr(lines.text, "good controller: Slurmctld(primary) at here is UP\n"));
            assert_non_null(
                strstr(lines.text, "good pool big: 2 nodes with 8 GPUs H100, partition 'main', GRES type 'H100'"));
        }
        assert_non_null(strstr(lines.text, "good shared: /tmp/helio-slurm-"));
        assert_int_equal(lines.failed, down ? 1 : 0);
        close_site(&site);
    }
}

static void slurm_site__the_prolog_time_is_read_from_the_cluster_unless_the_file_has_it(void **state)
{
    (void)state;
    static const char none[] = "Configuration data as of 2026-11-21T15:00:00\nPriorityType           = (null)\n"
                               "Prolog                  = (null)\nPrologSlurmctld         = (null)\n"
                               "ResumeProgram           = (null)\nTaskProlog              = /etc/task\n";
    static const char some[] = "Slurm\nProlog                  = (null)\nPrologSlurmctld         = /etc/slurm/p\n"
                               "ResumeProgram           = (null)\n";
    static const char power[] = "Slurm\nProlog                  = (null)\nPrologSlurmctld         = (null)\n"
                                "ResumeProgram           = /etc/slurm/up";
    static const struct {
        const char *config;
        uint64_t says_ms, is_ms;
    } cases[] = {
        {none, 0, 10000},     {some, 0, 120000},   {power, 0, 120000}, {"", 0, 0}, {"slurm_load_ctl_conf", 0, 0},
        {none, 45000, 45000}, {some, 45000, 45000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        site_t site;
        open_site(&site, &(helio_pool_t){.name = HELIO_TEXT("big"), .gpu = HELIO_TEXT("H100")}, NULL);
        lab_put(&site.lab, "config", "%s", cases[i].config);
        site.settings.prolog_ms = cases[i].says_ms;
        assert_int_equal(fill(&site), HELIO_OK);
        if (site.settings.prolog_ms != cases[i].is_ms)
            fail_msg("case %zu: %llu ms", i, (unsigned long long)site.settings.prolog_ms);
        close_site(&site);
    }
}

static void slurm_check__reports_a_pool_without_usable_nodes(void **state)
{
    (void)state;
    for (int fault = 0; fault < 3; fault++) { /* one of two nodes, both, their partition */
        site_t site;
        lines_t lines = {0};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t nodes = {0};
        open_site(&site, &(helio_pool_t){.name = HELIO_TEXT("big"), .gpu = HELIO_TEXT("H100")}, NULL);
        helio_slurm_options_t options = {
            .site = &site.profile, .rules = &site.lab.rules, .settings = &site.settings, .shim = site.lab.shim};
        lab_read(&site.lab, "nodes", &nodes);
        assert_non_null(nodes.data);
        char *at = nodes.data;
        for (int i = 0; fault < 2 && i <= fault; i++) {
            at = strstr(at, "State=IDLE ");
            assert_non_null(at);
            memcpy(at, "State=DOWN ", 11);
        }
        lab_put(&site.lab, "nodes", "%s", nodes.data);
        if (fault == 2)
            lab_put(&site.lab, "partitions",
                    "PartitionName=main AllowGroups=ALL Default=YES MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=a[1-2] "
                    "PriorityTier=1 State=DOWN TotalNodes=2\n");
        lab_put(&site.lab, "bin/srun", "#!/bin/sh\necho slurm 22.05.8\n");
        lab_answer(&site.lab, "sbatch", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "squeue", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "scancel", "slurm 22.05.8\n", "", 0);
        helio_slurm_check(&options, false, on_line, &lines);
        if (!strstr(lines.text, fault ? "bad pool big: 2 nodes with" : "good pool big: 2 nodes with") ||
            (strstr(lines.text, "none of them starts jobs") != NULL) != (fault == 1) ||
            (strstr(lines.text, "the partition starts no jobs") != NULL) != (fault == 2))
            fail_msg("%s", lines.text);
        close_site(&site);
    }
}

static void slurm_check__distinguishes_silent_accounting_from_none(void **state)
{
    (void)state;
    static const struct {
        const char *complaint; /* of sacct; NULL = it answers */
        int rc;
        const char *says;
    } cases[] = {
        {"", 0, "good accounting: kept\n"},
        {"Slurm accounting storage is disabled\n", 1, "good accounting: not kept"},
        {"sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection\n", 1,
         "bad accounting: sacct: error: slurm_persist_conn_open_without_init"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        site_t site;
        lines_t lines = {0};
        open_site(&site, &(helio_pool_t){.name = HELIO_TEXT("big"), .gpu = HELIO_TEXT("H100")}, NULL);
        helio_slurm_options_t options = {
            .site = &site.profile, .rules = &site.lab.rules, .settings = &site.settings, .shim = site.lab.shim};
        lab_put(&site.lab, "bin/srun", "#!/bin/sh\necho slurm 22.05.8\n");
        lab_answer(&site.lab, "sbatch", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "squeue", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "scancel", "slurm 22.05.8\n", "", 0);
        lab_answer(&site.lab, "sacct", "", cases[i].complaint, cases[i].rc);
        helio_slurm_check(&options, false, on_line, &lines);
        if (!strstr(lines.text, cases[i].says))
            fail_msg("not '%s' in\n%s", cases[i].says, lines.text);
        close_site(&site);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_site__a_pool_is_completed_from_its_nodes_in_the_clusters_spelling),
        cmocka_unit_test(slurm_site__values_of_the_file_are_kept),
        cmocka_unit_test(slurm_site__a_contradiction_is_named),
        cmocka_unit_test(slurm_site__without_pools_each_type_of_gpu_becomes_one_pool_counted_once),
        cmocka_unit_test(slurm_site__gpus_without_a_type_beside_others_are_counted_once),
        cmocka_unit_test(slurm_site__a_pool_without_gpus_has_its_nodes),
        cmocka_unit_test(slurm_site__types_that_are_names_of_products_are_their_model),
        cmocka_unit_test(slurm_site__a_pool_of_the_file_finds_the_product_of_its_model),
        cmocka_unit_test(slurm_check__says_which_pools_share_nodes),
        cmocka_unit_test(slurm_site__a_silent_controller_matters_only_for_values_missing_in_the_file),
        cmocka_unit_test(slurm_site__the_prolog_time_is_read_from_the_cluster_unless_the_file_has_it),
        cmocka_unit_test(slurm_check__reports_a_pool_without_usable_nodes),
        cmocka_unit_test(slurm_check__distinguishes_silent_accounting_from_none),
        cmocka_unit_test(slurm_check__prints_one_line_for_each_requirement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
