/*  test_nodes.c -- what squeue and sinfo say of nodes, partitions and reservations. */
#include "tests/unit/site-agent/backends/slurm/listing/listing_testing.h"

/* ---- nodes --------------------------------------------------------------------------------------------- */

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
    assert_int_equal(node->gpu_kinds, 2); /* slices are no GPUs of their model */
    assert_true(node->gpus[0].count == 4 && node->gpus[0].used == 0);
    assert_text(node->gpus[1].type, "a100_1g.5gb");
    assert_true(node->gpus[1].count == 4 && node->gpus[1].used == 1);
    assert_int_equal(helio_slurm_part_of(node->gpus[1].type), HELIO_SLURM_SLICE);
}

static void gpus_of_a_node_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *gres, *used;
        uint32_t kinds;
        helio_slurm_gres_t gpus[3];
    } cases[] = {
#define T(literal, n, u) {{literal, sizeof(literal) - 1}, n, u, 0}
        {"gpu:h100:8", "gpu:h100:6(IDX:0-5)", 1, {T("h100", 8, 6)}},
        {"gpu:h100:8(S:0-1)", "gpu:h100:0(IDX:N/A)", 1, {T("h100", 8, 0)}},
        {"gpu:h100:8", "gpu:h100:2", 1, {T("h100", 8, 2)}}, /* after a restart of the controller */
        {"gpu:8", "gpu:(null):3(IDX:0,2-3)", 1, {T("", 8, 3)}},
        {"gpu:8", "gpu:3", 1, {T("", 8, 3)}},
        {"gpu", "gpu:1", 1, {T("", 1, 1)}},
        {"gpu:h100:4(S:0),gpu:h100:4(S:1)", "gpu:h100:5(IDX:0-4)", 1, {T("h100", 8, 5)}},
        {"gpu:h100:4,gpu:a100:2", "gpu:h100:1(IDX:0,2),gpu:a100:2(IDX:4-5)", 2, {T("h100", 4, 1), T("a100", 2, 2)}},
        {"gpu:h100:4,gpu:a100:2", "gpu:3", 2, {T("h100", 4, 3), T("a100", 2, 2)}}, /* which is not told: each */
        {"gpu:4", "gpu:h100:2(IDX:0-1)", 1, {T("", 4, 2)}},
        {"gpu:h100:8", "gpu:h100:99", 1, {T("h100", 8, 8)}},
        {"gpu:h100:8", NULL, 1, {T("h100", 8, 8)}}, /* not told what is in use, while jobs run */
        {"gpu:h100:8", "(null)", 1, {T("h100", 8, 8)}},
        {"(null)", "gpu:0", 0, {T("", 0, 0)}},
        {"(null)", NULL, 0, {T("", 0, 0)}},
        {"gpu:h100:4,shard:h100:16",
         "gpu:h100:1(IDX:3),shard:h100:5(1/4,0/4,4/4,0/4)",
         2,
         {T("h100", 4, 3), T("shard", 16, 9)}},
        {"gpu:4,shard:16", "gpu:1,shard:(null):1(IDX:0)", 2, {T("", 4, 2), T("shard", 16, 5)}},
        {"gpu:4,shard:16", "gpu:0,shard:0,mig:1", 2, {T("", 4, 0), T("shard", 16, 0)}},
        {"gpu:4,shard:16", "gpu:0,shard:9", 2, {T("", 4, 4), T("shard", 16, 9)}}, /* on which is not told */
        {"gpu:4,shard:16", "gpu:0,shard:(null):3(IDX:what)", 2, {T("", 4, 3), T("shard", 16, 3)}},
        {"gpu:4,shard:16", "gpu:0,shard:2(old)", 2, {T("", 4, 2), T("shard", 16, 2)}},
        {"gpu:4,shard:16", "gpu:4,shard:0", 2, {T("", 4, 4), T("shard", 16, 16)}}, /* of GPUs that jobs have whole */
        {"gpu:4,mps:400", "gpu:1,mps:50(50/100,0/100,0/100,0/100)", 2, {T("", 4, 2), T("mps", 400, 150)}},
        {"gpu:a100_1g.5gb:7,gpu:a100_3g.20gb:2,gpu:a100:6",
         "gpu:a100_1g.5gb:3(IDX:0-2),gpu:a100:1",
         3,
         {T("a100_1g.5gb", 7, 3), T("a100_3g.20gb", 2, 0), T("a100", 6, 1)}},
        {"gpu:1g.10gb:7", "gpu:1g.10gb:7", 1, {T("1g.10gb", 7, 7)}},
        {"mig:7,craynetwork:4", "mig:1", 0, {T("", 0, 0)}},
        {"gpu:no_consume:h100:4", "gpu:h100:0", 1, {T("h100", 4, 0)}},
        {"gpu:h100:2K", "gpu:h100:1K", 1, {T("h100", 2048, 1024)}},
        {"gpu:a:1,gpu:b:1,gpu:c:1,gpu:d:1,gpu:e:1,gpu:f:1,gpu:g:1,gpu:h:1,gpu:i:1", "gpu:i:1", 8, {T("a", 1, 1)}},
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
    helio_slurm_nodes_t nodes =
        nodes_of(HELIO_TEXT("NodeName=n1 CPUAlloc=3 CPUEfctv=60 CPUTot=64 RealMemory=1000 AllocMem=7 Sockets=1 "
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
    assert_int_equal(helio_slurm_read_nodes(HELIO_TEXT("No nodes in the system\n"), arena, &nodes, &err), HELIO_OK);
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

/* ---- partitions, reservations -------------------------------------------------------------------------- */

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
        assert_true(all.items[0].max_time_ms == times[i].ms && !all.items[0].up && all.items[0].max_nodes == 4);
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
        assert_int_equal(helio_slurm_read_partitions(helio_text_of(bad[i]), arena, &all, &err), HELIO_INVALID);
}

static void reservations_are_read(void **state)
{
    (void)state;
    helio_slurm_reservations_t all;
    helio_error_t err;
    assert_int_equal(helio_slurm_read_reservations(recorded("reservations.txt"), arena, &all, &err), HELIO_OK);
    assert_int_equal(all.count, 3);
    assert_text(all.items[0].name, "other");
    assert_text(all.items[0].nodes, "eu-n3");
    assert_true(all.items[0].maintenance && all.items[0].start_s == 1795245154 && all.items[0].end_s == 1795248754);
    assert_true(all.items[1].maintenance && all.items[1].cpus == 128);
    assert_true(!all.items[2].maintenance && all.items[2].cpus == 2 && all.items[2].gpus == 0);
    assert_int_equal(helio_slurm_read_reservations(HELIO_TEXT("No reservations in the system\n"), arena, &all, &err),
                     HELIO_OK);
    assert_int_equal(all.count, 0);
    static const char *const bad[] = {"",
                                      "{}",
                                      "error\n",
                                      "ReservationName=a StartTime=1 EndTime=2\n",
                                      "ReservationName=a StartTime=2026-11-21T02:13:39 EndTime=2 Nodes=n1\n",
                                      "ReservationName=a StartTime=1 EndTime=2 Nodes=n1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(helio_slurm_read_reservations(helio_text_of(bad[i]), arena, &all, &err), HELIO_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(recorded_nodes_are_read),
        TEST(gpus_of_a_node_are_read_in_every_form),
        TEST(states_of_nodes_of_all_releases_are_understood),
        TEST(cpus_and_memory_are_those_that_jobs_may_have),
        TEST(what_is_no_list_of_nodes_is_invalid),
        TEST(free_texts_of_administrators_are_not_read_as_figures),
        TEST(partitions_are_read),
        TEST(reservations_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
