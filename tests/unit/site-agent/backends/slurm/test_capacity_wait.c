/*  test_capacity_wait.c -- how long gangs would wait, and what is free in the hours to come. */
#include "tests/unit/site-agent/backends/slurm/capacity_testing.h"

/* ---- a world by hand ----------------------------------------------------------------------------------- */

static double free_in(uint32_t hour)
{
    helio_slurm_free_series(&w.view, 48, arena, &w.series);
    assert_int_equal(w.series.series.count, 1);
    assert_int_equal(w.series.series.items[0].values.count, 48);
    return w.series.series.items[0].values.items[hour];
}

/* ---- waits --------------------------------------------------------------------------------------------- */

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

static void what_is_offered_ahead_does_not_wait_for_limits(void **state)
{
    (void)state;
    helio_slurm_ahead_t ahead[] = {{HELIO_TEXT("p"), 1, 8, 4, 10, 1}};
    four_nodes();
    w.view.ahead = ahead;
    w.view.ahead_count = 1;
    assert_waits(0, 3, 0u, 0u, 500u); /* of the third node, one will be free in a moment */
    w.view.ahead_count = 0;
    assert_waits(0, 3, 0u, 100u, 500u);
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
    helio_slurm_job_t *unknown_intensity = add_running("n[1-4]", 0, NOW_S + 900); /* asked per job: it may be these */
    assert_waits(0, 3, 0u, 300u, 900u);
    unknown_intensity->gpu_type = HELIO_TEXT("a100");
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

/* ---- hours --------------------------------------------------------------------------------------------- */

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_offered_ahead_does_not_wait_for_limits),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
