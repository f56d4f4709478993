/*  What a cluster can offer: cases by hand, and properties that hold for any cluster. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/rng.h"
#include "site-agent/backends/slurm/capacity.h"

enum { NOW_S = 1795245000, HOUR = 3600 }; /* ten minutes before a full hour */
enum { NODES_MAX = 64, JOBS_MAX = 256, RESERVATIONS_MAX = 8, POOLS_MAX = 6, WAITING_MAX = 32 };

static helio_arena_t *arena;
static struct world {
    helio_pool_t pool_items[POOLS_MAX];
    helio_slurm_pool_t mappings[POOLS_MAX];
    helio_slurm_node_t node_items[NODES_MAX];
    helio_slurm_job_t job_items[JOBS_MAX];
    helio_slurm_reservation_t reservation_items[RESERVATIONS_MAX];
    helio_slurm_partition_t partition_items[3];
    helio_slurm_waiting_t waiting[WAITING_MAX];
    helio_site_profile_t site;
    helio_slurm_settings_t settings;
    helio_slurm_nodes_t nodes;
    helio_slurm_jobs_t jobs;
    helio_slurm_reservations_t reservations;
    helio_slurm_partitions_t partitions;
    helio_slurm_view_t view;
    helio_aev_capacity_t capacity;
    helio_aev_series_t series;
} w;

static int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    memset(&w, 0, sizeof w);
    w.site.pools.items = w.pool_items;
    w.settings.pools.items = w.mappings;
    w.nodes.items = w.node_items;
    w.jobs.items = w.job_items;
    w.reservations.items = w.reservation_items;
    w.partitions.items = w.partition_items;
    w.partition_items[0] =
        (helio_slurm_partition_t){.name = HELIO_TEXT("main"), .is_default = true, .up = true};
    w.partition_items[1] = (helio_slurm_partition_t){.name = HELIO_TEXT("urgent"), .up = true};
    w.partition_items[2] = (helio_slurm_partition_t){.name = HELIO_TEXT("shut")};
    w.partitions.count = 3;
    w.view = (helio_slurm_view_t){.site = &w.site,
                                  .settings = &w.settings,
                                  .nodes = &w.nodes,
                                  .partitions = &w.partitions,
                                  .reservations = &w.reservations,
                                  .jobs = &w.jobs,
                                  .waiting = w.waiting,
                                  .wall_ms = (int64_t)NOW_S * 1000};
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

/* ---- a world by hand
 * -------------------------------------------------------------------------------------------- */

static helio_pool_t *add_pool(const char *name, const char *gpu, uint32_t gpus_per_node)
{
    helio_pool_t *pool = &w.pool_items[w.site.pools.count++];
    *pool = (helio_pool_t){
        .name = helio_text_of(name), .gpu = helio_text_of(gpu), .gpus_per_node = gpus_per_node};
    return pool;
}

static void map_pool(const char *pool, const char *partition, const char *gres)
{
    w.mappings[w.settings.pools.count++] =
        (helio_slurm_pool_t){helio_text_of(pool), helio_text_of(partition), helio_text_of(gres)};
}

static helio_slurm_node_t *add_node(const char *name, const char *type, uint32_t gpus, uint32_t used)
{
    helio_slurm_node_t *node = &w.node_items[w.nodes.count++];
    *node = (helio_slurm_node_t){.name = helio_text_of(name),
                                 .partitions = HELIO_TEXT("main,urgent"),
                                 .gpus = {{helio_text_of(type), gpus, used}},
                                 .gpu_kinds = 1,
                                 .cpus = 64,
                                 .cpus_allocated = used,
                                 .memory_bytes = 1000,
                                 .up = true};
    return node;
}

static helio_slurm_job_t *add_running(const char *nodes, uint32_t gpus_per_node, int64_t end_s)
{
    helio_slurm_job_t *job = &w.job_items[w.jobs.count++];
    *job = (helio_slurm_job_t){.id = HELIO_TEXT("1"),
                               .state = HELIO_SLURM_RUNNING,
                               .partition = HELIO_TEXT("main"),
                               .nodes = 1,
                               .gpus_per_node = gpus_per_node,
                               .gpus = gpus_per_node,
                               .start_s = NOW_S - 100,
                               .end_s = end_s,
                               .node_list = helio_text_of(nodes)};
    return job;
}

static helio_slurm_job_t *add_pending(uint32_t nodes, uint32_t gpus_per_node, const char *planned,
                                      int64_t start_s, int64_t end_s)
{
    helio_slurm_job_t *job = add_running("", gpus_per_node, end_s);
    job->state = HELIO_SLURM_PENDING;
    job->nodes = nodes;
    job->gpus = nodes * gpus_per_node;
    job->planned = helio_text_of(planned);
    job->start_s = start_s;
    return job;
}

static helio_slurm_reservation_t *reserve(const char *nodes, int64_t start_s, int64_t end_s)
{
    helio_slurm_reservation_t *one = &w.reservation_items[w.reservations.count++];
    *one = (helio_slurm_reservation_t){HELIO_TEXT("r"), start_s, end_s, helio_text_of(nodes), false, 0, 0};
    return one;
}

static void hand_in(const char *pool, uint32_t nodes, uint32_t gpus)
{
    w.waiting[w.view.waiting_count++] =
        (helio_slurm_waiting_t){.pool = helio_text_of(pool), .nodes = nodes, .gpus_per_node = gpus};
}

static const helio_pool_capacity_t *look(uint32_t pool)
{
    helio_slurm_capacity(&w.view, arena, &w.capacity);
    assert_int_equal(w.capacity.pools.count, w.site.pools.count);
    return &w.capacity.pools.items[pool];
}

static uint32_t free_gpus(const helio_pool_capacity_t *pool)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < pool->free_nodes.count; k++)
        sum += k * pool->free_nodes.items[k];
    return sum;
}

static double free_in(uint32_t hour)
{
    helio_slurm_free_series(&w.view, 48, arena, &w.series);
    assert_int_equal(w.series.series.count, 1);
    assert_int_equal(w.series.series.items[0].values.count, 48);
    return w.series.series.items[0].values.items[hour];
}

static void two_nodes(void)
{
    add_pool("p", "H100", 8);
    add_node("n1", "h100", 8, 0);
    add_node("n2", "h100", 8, 6);
}

/* ---- now
 * -----------------------------------------------------------------------------------------------------------
 */

static void free_nodes_are_counted_by_their_free_gpus(void **state)
{
    (void)state;
    two_nodes();
    const helio_pool_capacity_t *pool = look(0);
    assert_true(helio_text_is(pool->pool, "p"));
    assert_int_equal(pool->nodes_up, 2);
    assert_int_equal(pool->gpus_total, 16);
    assert_int_equal(pool->gpus_allocated, 6);
    assert_int_equal(pool->free_nodes.count, 9);
    assert_int_equal(pool->free_nodes.items[8], 1);
    assert_int_equal(pool->free_nodes.items[2], 1);
    assert_int_equal(free_gpus(pool), 10);
    assert_int_equal(pool->cpus_free, 64 + 58);
    assert_true(pool->memory_free_bytes == 2000);
}

static void attempts_handed_in_are_not_promised_twice(void **state)
{
    (void)state;
    two_nodes();
    hand_in("p", 1, 2); /* best fit: n2 */
    hand_in("p", 1, 4); /* n1 */
    hand_in("elsewhere", 1, 8);
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->free_nodes.items[0], 1);
    assert_int_equal(pool->free_nodes.items[4], 1);
    assert_int_equal(pool->gpus_allocated, 12);
    hand_in("p", 2, 1); /* a gang that does not fit holds nothing */
    assert_int_equal(free_gpus(look(0)), 4);
    hand_in("p", 2, 0); /* needs CPUs only */
    assert_int_equal(free_gpus(look(0)), 4);
    assert_int_equal(look(0)->cpus_free, 64 + 58 - 2 - 2);
}

static void an_attempt_handed_in_to_one_pool_takes_from_all_that_share_its_nodes(void **state)
{
    (void)state;
    two_nodes();
    add_pool("q", "H100", 8);
    map_pool("q", "urgent", "");
    assert_int_equal(free_gpus(look(0)), 10);
    assert_int_equal(free_gpus(look(1)), 10);
    hand_in("q", 1, 8);
    assert_int_equal(free_gpus(look(0)), 2);
    assert_int_equal(free_gpus(look(1)), 2);
}

static void closed_and_lost_nodes_offer_nothing(void **state)
{
    (void)state;
    add_pool("p", "H100", 8);
    add_node("closed", "h100", 8, 2)->closed = true;
    add_node("down", "h100", 8, 0)->up = false;
    helio_slurm_node_t *asleep = add_node("asleep", "h100", 8, 0);
    asleep->up = false;
    asleep->idle_off = true;
    add_node("no_cpu", "h100", 8, 1)->cpus_allocated = 64;
    add_node("no_memory", "h100", 8, 1)->memory_allocated_bytes = 1000;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->nodes_up, 4);
    assert_int_equal(pool->gpus_total, 32);
    assert_int_equal(pool->gpus_allocated, 4);
    assert_int_equal(free_gpus(pool), 8); /* Slurm would wake that one */
    assert_int_equal(pool->cpus_free, 64);
    w.partition_items[0].up = false;
    assert_int_equal(free_gpus(look(0)), 0);
    assert_int_equal(look(0)->nodes_up, 4);
}

static void a_pool_is_the_gpus_of_a_type_in_a_partition(void **state)
{
    (void)state;
    helio_slurm_node_t *mixed = add_node("n1", "h100", 4, 1);
    mixed->gpus[1] = (helio_slurm_gres_t){HELIO_TEXT("a100"), 4, 2};
    mixed->gpu_kinds = 2;
    add_node("n2", "", 2, 0);
    add_node("n3", "a100", 8, 0)->partitions = HELIO_TEXT("urgent,maintenance");
    add_pool("h", "H100", 8); /* by its model, in lower case */
    add_pool("h_only", "H100", 8);
    map_pool("h_only", "main", "h100");
    add_pool("a", "NVIDIA A100", 8);
    map_pool("a", "urgent", "a100");
    add_pool("all", "any", 8);
    map_pool("all", "", "*");
    add_pool("none", "T4", 8);
    add_pool("unknown", "H100", 8);
    map_pool("unknown", "no-such", "");
    static const struct {
        uint32_t nodes, total, allocated;
    } expected[] = {{1, 4, 1}, {1, 4, 1}, {2, 12, 2}, {2, 10, 3}, {0, 0, 0}, {0, 0, 0}};
    for (uint32_t p = 0; p < 6; p++) {
        const helio_pool_capacity_t *pool = look(p);
        print_message("pool %u\n", p);
        assert_int_equal(pool->nodes_up, expected[p].nodes);
        assert_int_equal(pool->gpus_total, expected[p].total);
        assert_int_equal(pool->gpus_allocated, expected[p].allocated);
        assert_int_equal(free_gpus(pool), expected[p].total - expected[p].allocated);
    }
}

static void where_no_gpu_has_a_type_they_are_the_pools(void **state)
{
    (void)state;
    add_node("n1", "", 8, 1);
    add_pool("p", "H100", 8);
    add_pool("q", "H100", 8);
    map_pool("q", "", "h100"); /* insists */
    assert_int_equal(free_gpus(look(0)), 7);
    assert_int_equal(look(1)->nodes_up, 0);
    add_node("n2", "t4", 4, 0); /* now it matters */
    assert_int_equal(look(0)->nodes_up, 0);
}

static void a_pool_without_gpus_offers_nodes_with_cpus(void **state)
{
    (void)state;
    add_pool("cpu", "", 0);
    add_node("n1", "h100", 8, 8)->cpus_allocated = 8;
    add_node("n2", "", 0, 0)->gpu_kinds = 0;
    add_node("n3", "", 0, 0)->cpus_allocated = 64;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->nodes_up, 3);
    assert_int_equal(pool->gpus_total, 0);
    assert_int_equal(pool->free_nodes.count, 1);
    assert_int_equal(pool->free_nodes.items[0], 2);
    assert_int_equal(pool->cpus_free, 56 + 64);
    helio_slurm_free_series(&w.view, 48, arena, &w.series);
    assert_int_equal(w.series.series.count, 0);
}

static void more_gpus_than_the_site_file_says_are_counted_at_its_most(void **state)
{
    (void)state;
    add_pool("p", "H100", 4);
    add_pool("q", "H100", 0);
    add_node("n1", "h100", 8, 1);
    assert_int_equal(look(0)->free_nodes.count, 5);
    assert_int_equal(look(0)->free_nodes.items[4], 1);
    assert_int_equal(look(1)->free_nodes.count, 9);
    assert_int_equal(look(1)->free_nodes.items[7], 1);
}

static void reservations_keep_their_nodes_while_they_last(void **state)
{
    (void)state;
    two_nodes();
    reserve("n[1-2]", NOW_S + 1, NOW_S + HOUR);
    assert_int_equal(look(0)->gpus_reserved, 0);
    w.view.wall_ms += 1000;
    assert_int_equal(look(0)->gpus_reserved, 10); /* less what runs on */
    assert_int_equal(look(0)->gpus_allocated, 6);
    assert_int_equal(free_gpus(look(0)), 0);
    w.view.wall_ms += HOUR * 1000;
    assert_int_equal(look(0)->gpus_reserved, 0);
    assert_int_equal(free_gpus(look(0)), 10);
}

static void a_reservation_of_some_cores_leaves_the_rest_to_everybody(void **state)
{
    (void)state;
    two_nodes();
    w.node_items[0].reserved = w.node_items[1].reserved = true;
    helio_slurm_reservation_t *one = reserve("n[1-2]", NOW_S - 1, NOW_S + HOUR);
    one->cpus = 4;
    assert_int_equal(free_gpus(look(0)), 10);
    one->gpus = 3; /* on which of them is not told: two on each */
    assert_int_equal(look(0)->gpus_reserved, 4);
    assert_int_equal(free_gpus(look(0)), 6);
    one->cpus = 128;
    assert_int_equal(free_gpus(look(0)), 0);
    w.reservations.count = 0; /* the node says so and nobody explains it */
    assert_int_equal(free_gpus(look(0)), 0);
    assert_int_equal(look(0)->gpus_reserved, 10);
}

static void everybodys_jobs_are_counted(void **state)
{
    (void)state;
    two_nodes();
    add_pool("q", "H100", 8);
    map_pool("q", "urgent", "");
    (void)add_running("n[1-2]", 1, 0);
    add_running("n2", 1, 0)->partition = HELIO_TEXT("urgent"); /* on nodes of both */
    (void)add_running("login1", 0, 0);
    add_running("n1", 1, 0)->state = HELIO_SLURM_COMPLETED;
    add_running("n1", 1, 0)->state = HELIO_SLURM_COMPLETING;
    (void)add_pending(1, 1, "", 0, 0);
    add_pending(1, 1, "", 0, 0)->partition = HELIO_TEXT("shut,urgent");
    add_pending(1, 1, "", 0, 0)->gpu_type = HELIO_TEXT("a100");
    add_pending(1, 1, "", 0, 0)->state = HELIO_SLURM_FAILED; /* refused, and still listed */
    assert_int_equal(look(0)->jobs_running, 3);
    assert_int_equal(look(1)->jobs_running, 3);
    assert_int_equal(look(0)->jobs_queued, 1);
    assert_int_equal(look(1)->jobs_queued, 1);
}

static void nothing_known_is_nothing_offered(void **state)
{
    (void)state;
    two_nodes();
    (void)add_running("n2", 6, NOW_S + 100);
    w.view.nodes = NULL;
    assert_int_equal(look(0)->nodes_up, 0);
    assert_int_equal(look(0)->expected_wait_s.count, 0);
    w.view.nodes = &w.nodes;
    w.view.jobs = NULL;
    w.view.reservations = NULL;
    w.view.partitions = NULL;
    w.view.settings = NULL;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(free_gpus(pool), 10);
    assert_true(pool->expected_wait_s.items[0] == 0 && pool->expected_wait_s.items[1] == UINT32_MAX);
}

/* ---- waits
 * ------------------------------------------------------------------------------------------------------- */

static void assert_waits(uint32_t pool, uint32_t count, ...)
{
    const helio_u32s_t *waits = &look(pool)->expected_wait_s;
    va_list list;
    va_start(list, count);
    assert_int_equal(waits->count, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t expected = va_arg(list, uint32_t);
        if (waits->items[i] != expected)
            fail_msg("%u nodes: %u s, not %u", 1u << i, waits->items[i], expected);
    }
    va_end(list);
}

static void four_nodes(void)
{
    add_pool("p", "H100", 8)->provision_ms = 120000;
    add_node("n1", "h100", 8, 0);
    add_node("n2", "h100", 8, 8);
    add_node("n3", "h100", 8, 1);
    add_node("n4", "h100", 8, 2);
    (void)add_running("n2", 8, NOW_S + 500);
    (void)add_running("n3", 1, NOW_S + 100);
    (void)add_running("n4", 1, NOW_S + 200);
    (void)add_running("n4", 1, NOW_S + 300);
}

static void gangs_wait_for_the_ends_of_running_jobs(void **state)
{
    (void)state;
    four_nodes();
    assert_waits(0, 3, 0u, 100u, 500u);
    w.job_items[0].end_s = 0; /* without a limit */
    assert_waits(0, 3, 0u, 100u, UINT32_MAX);
    add_running("n3", 1, 0)->state = HELIO_SLURM_CANCELLED; /* holds nothing any more */
    assert_waits(0, 3, 0u, 100u, UINT32_MAX);
    w.job_items[1].end_s = NOW_S - 5; /* over its time, still being ended */
    assert_waits(0, 3, 0u, 0u, UINT32_MAX);
    w.node_items[0].closed = true;
    assert_waits(0, 3, 0u, 300u, UINT32_MAX);
    w.partition_items[0].max_nodes = 1;
    assert_waits(0, 3, 0u, UINT32_MAX, UINT32_MAX);
    w.partition_items[0].up = false;
    assert_waits(0, 3, UINT32_MAX, UINT32_MAX, UINT32_MAX);
}

static void gpus_that_no_job_explains_stay_in_use(void **state)
{
    (void)state;
    four_nodes();
    w.node_items[2].gpus[0].used = 2;
    assert_waits(0, 3, 0u, 300u, UINT32_MAX);
    helio_slurm_job_t *untold = add_running("n[1-4]", 0, NOW_S + 900); /* asked per job: it may be these */
    assert_waits(0, 3, 0u, 300u, 900u);
    untold->gpu_type = HELIO_TEXT("a100");
    assert_waits(0, 3, 0u, 300u, UINT32_MAX);
}

static void pending_jobs_with_a_start_take_their_nodes_first(void **state)
{
    (void)state;
    four_nodes();
    helio_slurm_job_t *job = add_pending(2, 8, "n[1,3]", NOW_S + 100, NOW_S + 100 + 2 * HOUR);
    /* n1 is free for 100 s only: no use. n4 at 300, n2 at 500, n1 and n3 after the job. */
    assert_waits(0, 3, 300u, 500u, 100u + 2 * HOUR);
    job->start_s += HOUR; /* long enough to start before it, on n1; on n3 too at 100 */
    job->end_s += HOUR;
    assert_waits(0, 3, 0u, 100u, 100u + 3 * HOUR);
    job->planned = (helio_text_t){0}; /* two, whichever */
    assert_waits(0, 3, 0u, 100u, 100u + 3 * HOUR);
    job->start_s--; /* then not even these two have their hour */
    assert_waits(0, 3, 0u, 500u, 100u + 3 * HOUR);
    job->end_s = 0;
    assert_waits(0, 3, 0u, 500u, UINT32_MAX);
    job->partition = HELIO_TEXT("shut");
    assert_waits(0, 3, 0u, 100u, 500u);
}

static void several_that_follow_on_one_node_are_passed_in_turn(void **state)
{
    (void)state;
    add_pool("p", "H100", 8);
    add_node("n1", "h100", 8, 0);
    (void)add_pending(1, 8, "n1", NOW_S + 3 * HOUR, NOW_S + 4 * HOUR);
    (void)add_pending(1, 8, "n1", NOW_S + 10, NOW_S + 9 * HOUR); /* around both of the others */
    (void)add_pending(1, 8, "n1", NOW_S + 5 * HOUR, NOW_S + 6 * HOUR);
    assert_waits(0, 1, 9u * HOUR);
    w.job_items[1].end_s = NOW_S + 2 * HOUR;
    assert_waits(0, 1, 2u * HOUR);
    w.job_items[1].end_s++;
    assert_waits(0, 1, 4u * HOUR);
    w.job_items[0].end_s++;
    assert_waits(0, 1, 6u * HOUR);
}

static void a_gap_that_is_too_short_takes_nothing_from_others(void **state)
{
    (void)state;
    add_pool("p", "H100", 8);
    add_node("n1", "h100", 8, 0);
    add_node("n2", "h100", 8, 8);
    (void)add_running("n2", 8, NOW_S + 500);
    (void)add_pending(1, 8, "n2", NOW_S + 600, NOW_S + HOUR);
    assert_waits(0, 2, 0u, 1u * HOUR);
}

static void gangs_wait_for_reservations(void **state)
{
    (void)state;
    four_nodes();
    reserve("n[1-4]", NOW_S + HOUR, NOW_S + 3 * HOUR);
    assert_waits(0, 3, 0u, 3u * HOUR, 3u * HOUR); /* n3 would be free for less than an hour before */
    w.reservation_items[0].start_s = NOW_S - 5;
    assert_waits(0, 3, 3u * HOUR, 3u * HOUR, 3u * HOUR);
    w.reservation_items[0].end_s = 0;
    assert_waits(0, 3, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    w.reservations.count = 0;
    w.node_items[0].reserved = true; /* for how long nobody tells */
    assert_waits(0, 3, 100u, 300u, UINT32_MAX);
}

static void sleeping_nodes_take_their_time(void **state)
{
    (void)state;
    four_nodes();
    w.node_items[0].up = false;
    w.node_items[0].idle_off = true;
    assert_waits(0, 3, 100u, 120u, 500u);
}

static void our_own_that_wait_keep_nodes_to_their_limit(void **state)
{
    (void)state;
    four_nodes();
    hand_in("p", 1, 8);
    assert_waits(0, 3, 100u, 300u, UINT32_MAX);
    w.waiting[0].time_limit_ms = 400000;
    assert_waits(0, 3, 100u, 300u, 500u);
}

static void whole_nodes_without_gpus_wait_for_every_job(void **state)
{
    (void)state;
    add_pool("cpu", "", 0);
    add_node("n1", "", 0, 0)->gpu_kinds = 0;
    add_node("n2", "", 0, 0)->cpus_allocated = 3;
    add_node("n3", "", 0, 0)->cpus_allocated = 3;
    (void)add_running("n2", 0, NOW_S + 50);
    (void)add_running("n2", 0, NOW_S + 70);
    assert_waits(0, 2, 0u, 70u);
    w.node_items[0].closed = true;
    assert_waits(0, 2, 70u, UINT32_MAX);
}

/* ---- hours
 * ------------------------------------------------------------------------------------------------------- */

static void free_gpus_of_the_hours_to_come(void **state)
{
    (void)state;
    two_nodes(); /* NOW_S lies in hour 0 */
    int64_t hour_s = NOW_S - NOW_S % HOUR;
    (void)add_running("n2", 4, hour_s + HOUR);
    (void)add_running("n2", 2, hour_s + 2 * HOUR + 1);
    assert_true(free_in(0) == 10);
    assert_true(free_in(1) == 14);
    assert_true(free_in(2) == 14); /* one second of it is not free */
    assert_true(free_in(3) == 16);
    assert_true(free_in(47) == 16);
    const helio_series_t *series = &w.series.series.items[0];
    assert_true(series->signal == HELIO_SIGNAL_FREE_GPUS && series->start_wall_ms == hour_s * 1000);
    assert_true(series->step_s == HOUR && series->issued_wall_ms == w.view.wall_ms && w.series.power_w == -1);
    assert_true(helio_text_is(series->pool, "p"));
    reserve("n1", hour_s + 5 * HOUR, hour_s + 7 * HOUR);
    assert_true(free_in(4) == 16 && free_in(5) == 8 && free_in(6) == 8 && free_in(7) == 16);
    (void)add_pending(2, 3, "n[1-2]", hour_s + 7 * HOUR, hour_s + 8 * HOUR);
    assert_true(free_in(7) == 10 && free_in(8) == 16);
    w.job_items[1].end_s = 0;
    assert_true(free_in(47) == 14);
    w.node_items[0].closed = true;
    assert_true(free_in(47) == 6);
    w.partition_items[0].up = false;
    assert_true(free_in(47) == 0);
}

static void what_keeps_gpus_now_keeps_them_in_this_hour(void **state)
{
    (void)state;
    two_nodes();
    (void)add_running("n2", 6, NOW_S - 5); /* over its time, still being ended */
    assert_true(free_in(0) == 10 && free_in(1) == 16);
    w.node_items[0].cpus_allocated = 64; /* its GPUs are idle and of no use */
    assert_true(free_in(0) == 2 && free_in(47) == 8);
    (void)add_running("n1", 0, NOW_S + HOUR);
    assert_true(free_in(0) == 2 && free_in(1) == 8 && free_in(2) == 16);
    hand_in("p", 1, 2);
    assert_true(free_in(0) == 0 && free_in(2) == 14);
    w.waiting[0].time_limit_ms = (uint64_t)2 * HOUR * 1000;
    assert_true(free_in(0) == 0 && free_in(2) == 14 && free_in(3) == 16);
}

static void series_have_bounds(void **state)
{
    (void)state;
    two_nodes();
    helio_slurm_free_series(&w.view, 100000, arena, &w.series);
    assert_int_equal(w.series.series.items[0].values.count, HELIO_SERIES_POINTS_MAX);
    helio_slurm_free_series(&w.view, 0, arena, &w.series);
    assert_int_equal(w.series.series.items[0].values.count, 0);
}

/* ---- any cluster
 * ------------------------------------------------------------------------------------------------- */

static const char *const types[] = {"h100", "a100", ""};

static void random_node(helio_rng_t *rng, uint32_t i)
{
    static char names[NODES_MAX][8];
    static const char *const partitions[] = {"main", "main,urgent", "urgent,shut", "other", ""};
    (void)helio_text_copy(helio_arena_printf(arena, "n%u", i + 1), names[i], sizeof names[i]);
    uint32_t gpus = (uint32_t)helio_rng_below(rng, 10), used = (uint32_t)helio_rng_below(rng, gpus + 1);
    helio_slurm_node_t *node = add_node(names[i], types[helio_rng_below(rng, 3)], gpus, used);
    if (helio_rng_below(rng, 4) == 0) {
        node->gpus[1] = (helio_slurm_gres_t){HELIO_TEXT("t4"), 3, (uint32_t)helio_rng_below(rng, 4)};
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
    helio_text_t text = more ? helio_arena_printf(arena, "n[%u-%u]", first, first + more)
                             : helio_arena_printf(arena, "n%u", first);
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
        job =
            add_pending((uint32_t)helio_rng_below(rng, 6), gpus,
                        helio_rng_below(rng, 2) ? random_list(rng) : "", random_time(rng), random_time(rng));
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
        assert_true(free_gpus(&w.capacity.pools.items[2]) <= idle_gpus());
        assert_int_equal(free_gpus(&w.capacity.pools.items[4]), 0);
        assert_int_equal(free_gpus(&w.capacity.pools.items[0]), free_gpus(&w.capacity.pools.items[5]));
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
        uint32_t nodes = 1 + (uint32_t)helio_rng_below(&rng, 4),
                 gpus = 1 + (uint32_t)helio_rng_below(&rng, 8);
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

/* ---- size
 * -------------------------------------------------------------------------------------------------------- */

static void write_cluster(helio_buffer_t *nodes, helio_buffer_t *jobs, uint32_t node_count,
                          uint32_t job_count)
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
        helio_buffer_printf(jobs, "%-56s|%-40s|%-40s|%-40s|%-40s|%u|%s|1|1|%s|%s|main|cpu=8,gres/gpu=1|",
                            "train-model", "gres:gpu:h100:1", "N/A", "N/A", runs ? "None" : "Priority", i,
                            runs ? "RUNNING" : "PENDING", runs ? "1795240000" : "N/A",
                            runs ? "1795260000" : "N/A");
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
                  nodes.size / 1024, (long long)(t1 - t0), jobs.size / 1024, (long long)(t2 - t1),
                  (long long)(t3 - t2), (long long)(t4 - t3));
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
        TEST(free_nodes_are_counted_by_their_free_gpus),
        TEST(attempts_handed_in_are_not_promised_twice),
        TEST(an_attempt_handed_in_to_one_pool_takes_from_all_that_share_its_nodes),
        TEST(closed_and_lost_nodes_offer_nothing),
        TEST(a_pool_is_the_gpus_of_a_type_in_a_partition),
        TEST(where_no_gpu_has_a_type_they_are_the_pools),
        TEST(a_pool_without_gpus_offers_nodes_with_cpus),
        TEST(more_gpus_than_the_site_file_says_are_counted_at_its_most),
        TEST(reservations_keep_their_nodes_while_they_last),
        TEST(a_reservation_of_some_cores_leaves_the_rest_to_everybody),
        TEST(everybodys_jobs_are_counted),
        TEST(nothing_known_is_nothing_offered),
        TEST(gangs_wait_for_the_ends_of_running_jobs),
        TEST(gpus_that_no_job_explains_stay_in_use),
        TEST(pending_jobs_with_a_start_take_their_nodes_first),
        TEST(several_that_follow_on_one_node_are_passed_in_turn),
        TEST(a_gap_that_is_too_short_takes_nothing_from_others),
        TEST(gangs_wait_for_reservations),
        TEST(sleeping_nodes_take_their_time),
        TEST(our_own_that_wait_keep_nodes_to_their_limit),
        TEST(whole_nodes_without_gpus_wait_for_every_job),
        TEST(free_gpus_of_the_hours_to_come),
        TEST(what_keeps_gpus_now_keeps_them_in_this_hour),
        TEST(series_have_bounds),
        TEST(no_cluster_offers_more_than_it_has),
        TEST(what_is_handed_in_is_taken_off_exactly),
        TEST(a_node_less_never_shortens_a_wait),
        TEST(hours_of_a_reservation_of_all_are_empty),
        TEST(a_large_cluster_is_read_and_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
