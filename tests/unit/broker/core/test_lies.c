/*  What a site can say and must not be believed. */
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, HOUR_MS = 3600000 };

static harness_t *h;
static helio_site_profile_t *north;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  One job of one GPU that runs at the site, as its first epoch. */
static helio_job_key_t running(void)
{
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_clear(h);
    return key;
}

static void lies__a_run_longer_than_its_job_is_old_is_cut(void **state)
{
    (void)state;
    helio_job_key_t key = running();
    harness_advance(h, 2 * HOUR_MS);
    harness_clear(h);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = UINT64_C(1) << 60;
    report.gpu_ms = UINT64_MAX;
    report.energy_j = UINT64_MAX;
    harness_report(h, NORTH, &report);
    assert_true(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER) <= 5);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_true(attempt->completes);
    assert_true(attempt->run_ms <= 3 * HOUR_MS);
    assert_int_equal(attempt->gpu_ms, attempt->run_ms);
    assert_true(attempt->energy_j < UINT64_C(10000) * 100000);
    assert_int_equal(harness_figures(h).illegal_reports_total, 1);
}

static void lies__evidence_of_unknown_jobs_takes_few_rows(void **state)
{
    (void)state;
    (void)running();
    helio_report_t report = {.seq = 7,
                             .epoch = 1,
                             .kind = HELIO_REPORT_KIND_ENDED,
                             .started_wall_ms = harness_wall_ms(h) - INT64_C(360) * 24 * HOUR_MS,
                             .ended_wall_ms = harness_wall_ms(h),
                             .run_ms = UINT64_C(360) * 24 * HOUR_MS,
                             .gpu_ms = UINT64_C(360) * 24 * HOUR_MS};
    report.key = (helio_job_key_t){.job.bytes = {9}, .task = HELIO_NO_TASK};
    harness_report(h, NORTH, &report);
    uint64_t gpu_ms = 0;
    uint32_t rows = harness_count(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_in_range(rows, 1, 49);
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        assert_true(row->fenced);
        gpu_ms += row->gpu_ms;
    }
    assert_int_equal(gpu_ms, report.gpu_ms); /* nothing is forgiven */
}

static void lies__a_flood_of_evidence_dries_up_and_comes_back(void **state)
{
    (void)state;
    (void)running();
    helio_report_t report = {.epoch = 1,
                             .kind = HELIO_REPORT_KIND_ENDED,
                             .started_wall_ms = harness_wall_ms(h) - 1000,
                             .ended_wall_ms = harness_wall_ms(h),
                             .run_ms = 1000,
                             .gpu_ms = 1000};
    for (uint32_t i = 0; i < 60000; i++) {
        report.seq++;
        memcpy(report.key.job.bytes, &i, sizeof i);
        harness_report(h, NORTH, &report);
    }
    uint32_t rows =
        harness_count(h, HELIO_BROKER_FX_ROW_LEDGER) + harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_in_range(rows, 50000, 100000);
    harness_clear(h);
    harness_advance(h, 10000);
    report.seq++;
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 1);
}

static void lies__a_profile_beyond_measure_is_cut(void **state)
{
    (void)state;
    north->pue = 1e300;
    north->latitude = -1e308;
    harness_pool(h, north, "a", "H100", 4, 8, 1e308);
    harness_hello(h, NORTH, north);
    const helio_row_pool_t *pool = harness_take(h, HELIO_BROKER_FX_ROW_POOL);
    const helio_row_site_t *site = harness_take(h, HELIO_BROKER_FX_ROW_SITE);
    assert_non_null(pool);
    assert_non_null(site);
    assert_true(pool->price_usd_per_gpu_h <= 1e6);
    assert_true(site->pue <= 10 && site->latitude >= -90);
}

static void lies__figures_of_all_pools_can_be_added_up(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_clear(h);
    harness_advance(h, 60000);
    uint32_t nodes[65];
    for (int i = 0; i < 65; i++)
        nodes[i] = UINT32_MAX;
    double points[] = {1e308, -1e308, 3};
    helio_pool_capacity_t pool = {.pool = HELIO_TEXT("a"),
                                  .nodes_up = UINT32_MAX,
                                  .gpus_total = UINT32_MAX,
                                  .gpus_allocated = UINT32_MAX,
                                  .free_nodes = {nodes, 65},
                                  .jobs_running = UINT32_MAX};
    helio_series_t series = {.signal = HELIO_SIGNAL_PRICE,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h),
                             .step_s = 3600,
                             .values = {points, 3}};
    helio_ev_site_summary_t event = {
        .peer = NORTH, .summary = {.seq = 9, .pools = {&pool, 1}, .series = {&series, 1}, .power_w = 1e308}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    const helio_row_capacity_t *row = harness_take(h, HELIO_BROKER_FX_ROW_CAPACITY);
    const helio_row_series_t *written = harness_take(h, HELIO_BROKER_FX_ROW_SERIES);
    assert_non_null(row);
    assert_non_null(written);
    const uint32_t most = INT32_MAX / HELIO_SITE_POOLS_MAX;
    assert_true(row->nodes_up <= most && row->gpus_total <= most && row->gpus_allocated <= most &&
                row->gpus_free <= most && row->largest_block_gpus <= most && row->jobs_running <= most);
    assert_true(row->site_power_w <= 2e9);
    assert_true(written->values.items[0] <= 2e9 && written->values.items[1] >= -2e9);
    assert_true(written->values.items[2] > 2.9 && written->values.items[2] < 3.1);
}

static void lies__a_rebuilt_broker_orders_the_gpus_again(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 3);
    (void)harness_job(h, &spec);
    harness_tick(h);
    harness_t *after = harness_rebuild(h);
    harness_hello(after, NORTH, north);
    harness_inventory(after, NORTH, NULL, 0);
    const helio_fx_order_t *fx = harness_take(after, HELIO_BROKER_FX_ORDER);
    assert_non_null(fx);
    assert_int_equal(fx->order.gpus_per_node, 3);
    harness_end(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lies__a_run_longer_than_its_job_is_old_is_cut, begin, end),
        cmocka_unit_test_setup_teardown(lies__evidence_of_unknown_jobs_takes_few_rows, begin, end),
        cmocka_unit_test_setup_teardown(lies__a_flood_of_evidence_dries_up_and_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(lies__a_profile_beyond_measure_is_cut, begin, end),
        cmocka_unit_test_setup_teardown(lies__figures_of_all_pools_can_be_added_up, begin, end),
        cmocka_unit_test_setup_teardown(lies__a_rebuilt_broker_orders_the_gpus_again, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
