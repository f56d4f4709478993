/*  test_capacity_any.c -- what holds for any cluster, and for a large one. */
#include "tests/unit/site-agent/backends/slurm/capacity_testing.h"

/* ---- any cluster --------------------------------------------------------------------------------------- */

static const char *const types[] = {"h100", "a100", ""};

static void random_node(helio_rng_t *rng, uint32_t i)
{
    static char names[NODES_MAX][8];
    static const char *const partitions[] = {"main", "main,urgent", "urgent,shut", "other", ""};
    (void)helio_text_copy(helio_arena_printf(arena, "n%u", i + 1), names[i], sizeof names[i]);
    uint32_t gpus = (uint32_t)helio_rng_below(rng, 10), used = (uint32_t)helio_rng_below(rng, gpus + 1);
    helio_slurm_node_t *node = add_node(names[i], types[helio_rng_below(rng, 3)], gpus, used);
    if (helio_rng_below(rng, 4) == 0) {
        node->gpus[1] =
            (helio_slurm_gres_t){.type = HELIO_TEXT("t4"), .count = 3, .used = (uint32_t)helio_rng_below(rng, 4)};
        node->gpu_kinds = 2;
    }
    node->partitions = helio_text_of(partitions[helio_rng_below(rng, 5)]);
    node->cpus_allocated = (uint32_t)helio_rng_below(rng, 70);
    node->memory_allocated_bytes = helio_rng_below(rng, 5) ? 0 : helio_rng_below(rng, 1100);
    node->up = helio_rng_below(rng, 8) > 0;
    node->closed = helio_rng_below(rng, 8) == 0;
    node->reserved = helio_rng_below(rng, 8) == 0;
    node->idle_off = !node->up && helio_rng_below(rng, 2);
}

static const char *random_list(helio_rng_t *rng)
{
    uint32_t first = 1 + (uint32_t)helio_rng_below(rng, NODES_MAX), more = (uint32_t)helio_rng_below(rng, 5);
    helio_text_t text =
        more ? helio_arena_printf(arena, "n[%u-%u]", first, first + more) : helio_arena_printf(arena, "n%u", first);
    return helio_arena_string(arena, text);
}

static int64_t random_time(helio_rng_t *rng)
{
    return helio_rng_below(rng, 6) ? NOW_S - HOUR + (int64_t)helio_rng_below(rng, 30 * HOUR) : 0;
}

static void random_job(helio_rng_t *rng)
{
    uint32_t gpus = (uint32_t)helio_rng_below(rng, 5);
    helio_slurm_job_t *job;
    if (helio_rng_below(rng, 2))
        job = add_running(random_list(rng), gpus, random_time(rng));
    else
        job = add_pending((uint32_t)helio_rng_below(rng, 6), gpus, helio_rng_below(rng, 2) ? random_list(rng) : "",
                          random_time(rng), random_time(rng));
    if (helio_rng_below(rng, 3) == 0)
        job->gpu_type = helio_text_of(types[helio_rng_below(rng, 3)]);
    if (helio_rng_below(rng, 10) == 0)
        job->state = (helio_slurm_state_t)helio_rng_below(rng, HELIO_SLURM_STATE_COUNT);
}

static void random_world(helio_rng_t *rng)
{
    uint32_t nodes = (uint32_t)helio_rng_below(rng, NODES_MAX), jobs = (uint32_t)helio_rng_below(rng, 100);
    for (uint32_t i = 0; i < nodes; i++)
        random_node(rng, i);
    for (uint32_t i = 0; i < jobs; i++)
        random_job(rng);
    for (uint64_t i = helio_rng_below(rng, RESERVATIONS_MAX); i > 0; i--) {
        helio_slurm_reservation_t *one = reserve(random_list(rng), random_time(rng), random_time(rng));
        one->cpus = (uint32_t)helio_rng_below(rng, 2) * (uint32_t)helio_rng_below(rng, 400);
        one->gpus = (uint32_t)helio_rng_below(rng, 12);
    }
    add_pool("h", "H100", 8);
    add_pool("a", "A100", 4);
    map_pool("a", "urgent", "");
    add_pool("all", "any", 9);
    map_pool("all", "main", "*");
    add_pool("cpu", "", 0);
    add_pool("shut", "H100", 8);
    map_pool("shut", "shut", "");
    add_pool("twin", "H100", 8); /* the same as h */
}

/*  GPUs of nodes on which something can start, counted naively for pools of every type ("all"). */
static uint32_t idle_gpus(void)
{
    uint32_t idle = 0;
    for (uint32_t i = 0; i < w.nodes.count; i++) {
        const helio_slurm_node_t *node = &w.node_items[i];
        bool here = node->partitions.size >= 4 && memcmp(node->partitions.data, "main", 4) == 0;
        if (!here || !(node->up || node->idle_off) || node->closed || node->cpus_allocated >= node->cpus)
            continue;
        for (uint32_t k = 0; k < node->gpu_kinds; k++)
            idle += node->gpus[k].count - node->gpus[k].used;
    }
    return idle;
}

static uint32_t all_gpus(void)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < w.nodes.count; i++)
        for (uint32_t k = 0; k < w.node_items[i].gpu_kinds; k++)
            all += w.node_items[i].gpus[k].count;
    return all;
}

static void check_pool(const helio_pool_capacity_t *pool)
{
    uint32_t nodes = 0;
    for (uint32_t k = 0; k < pool->free_nodes.count; k++)
        nodes += pool->free_nodes.items[k];
    assert_true(nodes <= pool->nodes_up);
    assert_true(free_gpus(pool) + pool->gpus_allocated + pool->gpus_reserved <= pool->gpus_total);
    for (uint32_t i = 1; i < pool->expected_wait_s.count; i++)
        assert_true(pool->expected_wait_s.items[i - 1] <= pool->expected_wait_s.items[i]);
    assert_true(pool->expected_wait_s.count <= 16);
}

static void check_series(void)
{
    for (uint32_t s = 0; s < w.series.series.count; s++) {
        const helio_series_t *series = &w.series.series.items[s];
        const helio_pool_capacity_t *pool = NULL;
        for (uint32_t p = 0; p < w.capacity.pools.count; p++)
            if (helio_text_equal(w.capacity.pools.items[p].pool, series->pool))
                pool = &w.capacity.pools.items[p];
        assert_non_null(pool);
        for (uint32_t h = 0; h < series->values.count; h++)
            assert_true(series->values.items[h] >= 0 && series->values.items[h] <= pool->gpus_total);
    }
}

static void no_cluster_offers_more_than_it_has(void **state)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        helio_rng_t rng = {seed};
        random_world(&rng);
        (void)look(0);
        for (uint32_t p = 0; p < w.site.pools.count; p++)
            check_pool(&w.capacity.pools.items[p]);
        assert_true(free_gpus(&w.capacity.pools.items[0]) + free_gpus(&w.capacity.pools.items[2]) <= idle_gpus());
        assert_int_equal(free_gpus(&w.capacity.pools.items[4]), 0);
        assert_int_equal(w.capacity.pools.items[5].gpus_total, 0);
        uint32_t total = 0;
        for (uint32_t p = 0; p < w.site.pools.count; p++)
            total += w.capacity.pools.items[p].gpus_total;
        assert_true(total <= all_gpus());
        helio_slurm_free_series(&w.view, 1 + (uint32_t)helio_rng_below(&rng, 60), arena, &w.series);
        check_series();
        (void)end(state);
        (void)begin(state);
    }
}

/*  What is handed in is taken off entirely or not at all, and of nobody's twice. */
static void what_is_handed_in_is_taken_off_exactly(void **state)
{
    uint32_t taken_worlds = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        helio_rng_t rng = {seed};
        random_world(&rng);
        w.pool_items[0].gpus_per_node = 9;
        w.pool_items[0].gpu = HELIO_TEXT("H100");
        uint32_t before = free_gpus(look(0)), allocated = w.capacity.pools.items[0].gpus_allocated;
        uint32_t nodes = 1 + (uint32_t)helio_rng_below(&rng, 4), gpus = 1 + (uint32_t)helio_rng_below(&rng, 8);
        uint32_t fitting = 0;
        for (uint32_t k = gpus; k < w.capacity.pools.items[0].free_nodes.count; k++)
            fitting += w.capacity.pools.items[0].free_nodes.items[k];
        hand_in("h", nodes, gpus);
        uint32_t after = free_gpus(look(0)), expected = fitting >= nodes ? nodes * gpus : 0;
        /* a node whose last CPU goes offers nothing any more */
        assert_true(before - after >= expected);
        assert_int_equal(w.capacity.pools.items[0].gpus_allocated - allocated, expected);
        check_pool(&w.capacity.pools.items[0]);
        taken_worlds += expected > 0;
        (void)end(state);
        (void)begin(state);
    }
    assert_true(taken_worlds > 200);
}

/*  More nodes in the way never shorten a wait. */
static void a_node_less_never_shortens_a_wait(void **state)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        helio_rng_t rng = {seed};
        random_world(&rng);
        if (w.nodes.count) {
            uint32_t before[16] = {0};
            const helio_u32s_t *waits = &look(0)->expected_wait_s;
            uint32_t count = waits->count;
            memcpy(before, waits->items, count * sizeof *before);
            w.node_items[helio_rng_below(&rng, w.nodes.count)].closed = true;
            waits = &look(0)->expected_wait_s;
            assert_int_equal(waits->count, count);
            for (uint32_t i = 0; i < count; i++)
                assert_true(waits->items[i] >= before[i]);
        }
        (void)end(state);
        (void)begin(state);
    }
}

/*  In hours that a reservation of everything touches nothing is free. */
static void hours_of_a_reservation_of_all_are_empty(void **state)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        helio_rng_t rng = {seed};
        random_world(&rng);
        int64_t hour_s = NOW_S - NOW_S % HOUR;
        uint32_t first = (uint32_t)helio_rng_below(&rng, 20), count = 1 + (uint32_t)helio_rng_below(&rng, 10);
        w.reservations.count = 0;
        reserve("n[1-64]", hour_s + (int64_t)first * HOUR, hour_s + (int64_t)(first + count) * HOUR);
        helio_slurm_free_series(&w.view, 40, arena, &w.series);
        for (uint32_t s = 0; s < w.series.series.count; s++)
            for (uint32_t h = first; h < first + count; h++)
                assert_true(w.series.series.items[s].values.items[h] == 0);
        (void)end(state);
        (void)begin(state);
    }
}

/* ---- size ---------------------------------------------------------------------------------------------- */

static void write_cluster(helio_buffer_t *nodes, helio_buffer_t *jobs, uint32_t node_count, uint32_t job_count)
{
    for (uint32_t i = 1; i <= node_count; i++)
        helio_buffer_printf(
            nodes,
            "NodeName=node%04u Arch=x86_64 CoresPerSocket=64  CPUAlloc=48 CPUEfctv=128 CPUTot=128 "
            "CPULoad=1.65 "
            "AvailableFeatures=ib,nvlink ActiveFeatures=ib,nvlink Gres=gpu:h100:8(S:0-1) GresDrain=N/A "
            "GresUsed=gpu:h100:6(IDX:0-5) NodeAddr=10.0.0.1 NodeHostName=node%04u Port=6818 Version=22.05.8 "
            "OS=Linux "
            "6.1.0 #1 SMP PREEMPT_DYNAMIC  RealMemory=2048000 AllocMem=100000 FreeMem=20721 Sockets=2 "
            "Boards=1 "
            "State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=main,urgent  "
            "BootTime=1795232723 SlurmdStartTime=1795244784 LastBusyTime=1795244917 "
            "CfgTRES=cpu=128,mem=2000G "
            "AllocTRES=cpu=48,gres/gpu=6 CapWatts=n/a CurrentWatts=0 AveWatts=0 \n",
            i, i);
    for (uint32_t i = 1; i <= job_count; i++) {
        bool runs = i % 4 == 0;
        helio_buffer_printf(jobs, "%-56s|%-40s|%-40s|%-40s|%-40s|%u|%s|1|1|%s|%s|main|cpu=8,gres/gpu=1|", "train-model",
                            "gres:gpu:h100:1", "N/A", "N/A", runs ? "None" : "Priority", i,
                            runs ? "RUNNING" : "PENDING", runs ? "1795240000" : "N/A", runs ? "1795260000" : "N/A");
        if (runs)
            helio_buffer_printf(jobs, "node%04u|(null)|1000|\n", i / 4 % node_count + 1);
        else
            helio_buffer_text(jobs, "|(null)|1000|\n");
    }
}

/*  Prints, asserts nothing timed. */
static void a_large_cluster_is_read_and_summed(void **state)
{
    (void)state;
    helio_buffer_t nodes = {0}, jobs = {0};
    write_cluster(&nodes, &jobs, 5000, 100000);
    assert_false(nodes.overflow || jobs.overflow);
    add_pool("p", "H100", 8);
    add_pool("q", "H100", 8);
    map_pool("q", "urgent", "");
    int64_t t0 = helio_clock_boot_us();
    assert_int_equal(helio_slurm_read_nodes(helio_buffer_view(&nodes), arena, &w.nodes, NULL), HELIO_OK);
    int64_t t1 = helio_clock_boot_us();
    assert_int_equal(helio_slurm_read_jobs(helio_buffer_view(&jobs), arena, &w.jobs, NULL), HELIO_OK);
    int64_t t2 = helio_clock_boot_us();
    const helio_pool_capacity_t *pool = look(0);
    int64_t t3 = helio_clock_boot_us();
    helio_slurm_free_series(&w.view, 48, arena, &w.series);
    int64_t t4 = helio_clock_boot_us();
    print_message("5000 nodes (%zu KiB) read in %lld us, 100000 jobs (%zu KiB) in %lld us; capacity of two "
                  "pools in %lld "
                  "us, series in %lld us\n",
                  nodes.size / 1024, (long long)(t1 - t0), jobs.size / 1024, (long long)(t2 - t1), (long long)(t3 - t2),
                  (long long)(t4 - t3));
    assert_int_equal(w.jobs.count, 100000);
    assert_int_equal(pool->nodes_up, 5000);
    assert_int_equal(free_gpus(pool), 10000);
    assert_int_equal(pool->jobs_running, 25000);
    assert_int_equal(pool->jobs_queued, 75000);
    helio_buffer_clear(&nodes);
    helio_buffer_clear(&jobs);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(no_cluster_offers_more_than_it_has), TEST(what_is_handed_in_is_taken_off_exactly),
        TEST(a_node_less_never_shortens_a_wait),  TEST(hours_of_a_reservation_of_all_are_empty),
        TEST(a_large_cluster_is_read_and_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
