/*  test_lies.c -- reports of a site that must not be believed. */
#include <stdio.h>
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

/* ---- ends that a site invents --------------------------------------------------------------------------- */

enum { SOUTH = 2 };

/*  Of ten GPU hours in a month, one is for the next job. */
static void expect_budget_left(void)
{
    helio_job_spec_t next = harness_spec(h, "H100", 1);
    next.time_limit_ms = HOUR_MS;
    helio_job_key_t key = harness_job(h, &next);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static helio_report_t end_of_hundred_gpus(helio_job_key_t key, uint32_t epoch)
{
    helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
    report.run_ms = 600000;
    report.gpu_ms = 100 * report.run_ms;
    report.started_wall_ms = harness_wall_ms(h) - 600000;
    report.ended_wall_ms = harness_wall_ms(h);
    return report;
}

/*  Of an epoch that was never issued, of the one that runs elsewhere, and of a job that was never placed: the store writes
 *  none of them, and no budget may know more than the store. */
static void lies__an_attempt_that_a_site_never_had_costs_no_budget(void **state)
{
    (void)state;
    harness_advance(h, HOUR_MS); /* the month begins with the harness */
    helio_job_key_t key = running();
    helio_site_profile_t *south = harness_site(h, "south");
    harness_pool(h, south, "a", "A100", 4, 8, 2.0);
    harness_join(h, SOUTH, south);
    assert_int_equal(harness_budget(h, "acme", "", "10 gpu-h/month")->rc, HELIO_OK);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.time_limit_ms = 24 * HOUR_MS;
    helio_job_key_t waits = harness_job(h, &spec); /* for its budget */
    harness_tick(h);
    assert_int_equal(harness_state(h, waits), HELIO_JOB_QUEUED);
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        const helio_report_t invented = end_of_hundred_gpus(key, epoch);
        harness_report(h, SOUTH, &invented);
    }
    for (int i = 0; i < 10; i++) { /* of eight GPUs for ten minutes each, since its job wants no more */
        const helio_report_t invented = end_of_hundred_gpus(waits, 0);
        harness_report(h, SOUTH, &invented);
    }
    expect_budget_left();
}

/*  An attempt of one GPU, which its site lost. */
static void lies__an_old_attempt_has_no_more_gpus_than_its_job_wants(void **state)
{
    (void)state;
    helio_job_key_t key = running();
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_LOST);
    harness_tick(h);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 2, HELIO_JOB_RUNNING);
    harness_clear(h);
    helio_report_t report = end_of_hundred_gpus(key, 1);
    report.energy_j = UINT64_MAX;
    harness_report(h, NORTH, &report);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_true(attempt->fenced && attempt->run_ms);
    assert_int_equal(attempt->gpu_ms, attempt->run_ms);
    assert_true(attempt->energy_j < UINT64_C(1000) * 100000);
}

/*  It would be a gift to the budgets of whoever runs there. */
static void lies__a_rent_below_zero_is_none(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, -1000.0);
    harness_hello(h, NORTH, north);
    const helio_row_pool_t *pool = harness_take(h, HELIO_BROKER_FX_ROW_POOL);
    assert_non_null(pool);
    assert_true(pool->price_usd_per_gpu_h >= 0);
}

static void lies__a_flood_of_evidence_is_limited_for_a_while(void **state)
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
    uint32_t rows = harness_count(h, HELIO_BROKER_FX_ROW_LEDGER) + harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_in_range(rows, 50000, 100000);
    harness_clear(h);
    harness_advance(h, 10000);
    report.seq++;
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 1);
}

static void lies__impossible_figures_of_a_profile_are_cut(void **state)
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
    assert_true(pool->price_usd_per_gpu_h <= 1e4);
    assert_true(site->pue <= 10 && site->latitude >= -90);
}

/*  Prices below zero are real, and are a fraction of a dollar: exchanges stop at about ten. */
static void lies__electricity_has_a_price_that_a_grid_can_have(void **state)
{
    (void)state;
    static const double said[] = {-1000, -10.1, -0.5, 0.12, 101, 1000};
    static const double kept[] = {-10, -10, -0.5, 0.12, 100, 100};
    double points[6];
    memcpy(points, said, sizeof points);
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        north->electricity_usd_per_kwh = said[i];
        harness_join(h, NORTH + i, north);
        const helio_row_site_t *site = NULL;
        for (const helio_row_site_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_SITE));)
            site = row;
        assert_non_null(site);
        assert_float_equal(site->electricity_usd_per_kwh, kept[i], 1e-9);
    }
    helio_series_t series = {.signal = HELIO_SIGNAL_ELECTRICITY,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) / HOUR_MS * HOUR_MS,
                             .step_s = 3600,
                             .values = {points, 6}};
    harness_series(h, NORTH + 5, &series, 1);
    const helio_row_series_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SERIES);
    assert_non_null(row);
    for (uint32_t i = 0; i < row->values.count; i++)
        assert_float_equal(row->values.items[i], kept[i], 1e-9);
}

/*  A site that takes a million for a GPU-hour would empty every budget with one job: no more is believed than its site
 *  file can say. */
static void lies__rent_is_one_that_a_site_file_can_have(void **state)
{
    (void)state;
    static const double said[] = {-1, 0.5, 2.74, 9999, 10001, 1e6};
    static const double kept[] = {0, 0.5, 2.74, 9999, 10000, 10000};
    double points[6];
    memcpy(points, said, sizeof points);
    helio_pool_t *pool = harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        pool->price_usd_per_gpu_h = said[i];
        harness_clear(h);
        harness_join(h, NORTH + i, north);
        const helio_row_pool_t *row = harness_take(h, HELIO_BROKER_FX_ROW_POOL);
        assert_non_null(row);
        assert_float_equal(row->price_usd_per_gpu_h, kept[i], 1e-9);
    }
    helio_series_t series = {.signal = HELIO_SIGNAL_PRICE,
                             .pool = HELIO_TEXT("a"),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) / HOUR_MS * HOUR_MS,
                             .step_s = 3600,
                             .values = {points, 6}};
    harness_series(h, NORTH + 5, &series, 1);
    const helio_row_series_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SERIES);
    assert_non_null(row);
    for (uint32_t i = 0; i < row->values.count; i++)
        assert_float_equal(row->values.items[i], kept[i], 1e-9);
}

/*  A time that no table can hold would fail the commit of everybody's rows. */
static void lies__the_last_value_of_a_failed_feed_has_a_time_that_a_table_can_hold(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    int64_t now_ms = harness_wall_ms(h);
    const struct {
        helio_feed_state_t state;
        int64_t said, kept;
    } cases[] = {{HELIO_FEED_STATE_NO_DATA, INT64_MAX, 0},
                 {HELIO_FEED_STATE_LAST_GOOD, INT64_MIN, 0},
                 {HELIO_FEED_STATE_CURRENT, now_ms, 0},
                 {HELIO_FEED_STATE_UNKNOWN, now_ms, 0},
                 {HELIO_FEED_STATE_LAST_GOOD, now_ms - 5, now_ms - 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = (double)i;
        helio_series_t series = {.signal = HELIO_SIGNAL_ELECTRICITY,
                                 .issued_wall_ms = now_ms,
                                 .start_wall_ms = now_ms / HOUR_MS * HOUR_MS,
                                 .step_s = 3600,
                                 .values = {&value, 1},
                                 .feed_state = cases[i].state,
                                 .last_value_ms = cases[i].said};
        harness_clear(h);
        harness_series(h, NORTH, &series, 1);
        const helio_row_series_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SERIES);
        assert_non_null(row);
        assert_true(row->feed_state == cases[i].state && row->last_value_ms == cases[i].kept);
    }
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
    assert_true(written->values.items[0] <= 1e4 && written->values.items[1] >= 0); /* renting never earns money */
    assert_true(written->values.items[2] > 2.9 && written->values.items[2] < 3.1);
}

static const helio_row_capacity_t *row_withheld(uint32_t code)
{
    static uint64_t seq = 10;
    helio_pool_capacity_t pool = {.pool = HELIO_TEXT("a"), .withheld = code};
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.seq = ++seq, .pools = {&pool, 1}, .power_w = -1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    return harness_take(h, HELIO_BROKER_FX_ROW_CAPACITY);
}

/*  Why a pool offers nothing is one of the codes for that. Of another one the sentence would not be true. */
static void withheld__is_written_when_it_changes_and_only_if_it_can_be_said(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_advance(h, 60000);
    const helio_row_capacity_t *row = row_withheld(HELIO_DETAIL_NONE);
    assert_true(row && row->withheld.items.count == 0);
    assert_null(row_withheld(HELIO_DETAIL_NONE));
    static const uint32_t said[] = {
        HELIO_DETAIL_WITHHELD_SURVEY,     HELIO_DETAIL_WITHHELD_UNKNOWN_RUN, HELIO_DETAIL_WITHHELD_SCHEDULER,
        HELIO_DETAIL_WITHHELD_NODES,      HELIO_DETAIL_WITHHELD_RESERVED,    HELIO_DETAIL_WITHHELD_OTHERS,
        HELIO_DETAIL_WITHHELD_STATE_GONE, HELIO_DETAIL_WITHHELD_PARTITION,   HELIO_DETAIL_WITHHELD_LIMITS,
        HELIO_DETAIL_WITHHELD_SHARED,     HELIO_DETAIL_WITHHELD_GONE};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        row = row_withheld(said[i]);
        assert_true(row && row->withheld.items.count == 1 && row->withheld.items.items[0].code == said[i]);
        assert_null(row_withheld(said[i]));
    }
    static const uint32_t lies[] = {HELIO_DETAIL_QUOTA_IN_USE, HELIO_DETAIL_PREEMPTED, HELIO_DETAIL_SITE_BACK,
                                    HELIO_DETAIL_CODE_COUNT, UINT32_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        row = row_withheld(lies[i]);
        assert_true(row && row->withheld.items.count == 0);
    }
}

static helio_series_t price_series(const char *pool, const char *kind, double *points, uint32_t count)
{
    return (helio_series_t){.signal = HELIO_SIGNAL_PRICE,
                            .pool = helio_text_of(pool),
                            .kind = helio_text_of(kind),
                            .issued_wall_ms = harness_wall_ms(h),
                            .start_wall_ms = harness_wall_ms(h) / HOUR_MS * HOUR_MS,
                            .step_s = 3600,
                            .values = {points, count}};
}

static void summary_of_nothing(uint64_t seq, uint64_t base_seq)
{
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.seq = seq, .base_seq = base_seq, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static void lies__series_are_written_when_they_are_news_of_a_pool_that_exists(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_clear(h);
    double points[] = {1, 2, 3};
    helio_series_t series[] = {price_series("a", "", points, 3), price_series("none", "", points, 3)};
    harness_series(h, NORTH, series, 2);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SERIES), 1);
    assert_int_equal(harness_figures(h).series_dropped_total, 1);
    for (int i = 0; i < 5; i++)
        harness_series(h, NORTH, series, 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SERIES), 1);
    points[1] = 5;
    harness_series(h, NORTH, series, 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SERIES), 2);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 0);
}

/*  As many messages as a site sends in 20 s, each with as many series as fit. */
static void lies__a_flood_of_series_costs_few_rows_and_ends_with_everything_said_again(void **state)
{
    (void)state;
    enum { MESSAGES = 150, ROWS_MAX = 100, POINTS = 192 };
    static double points[POINTS];
    static helio_series_t series[HELIO_SERIES_MAX];
    static char kinds[HELIO_SERIES_MAX][16];
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_clear(h);
    for (uint32_t m = 0; m < MESSAGES; m++) {
        for (uint32_t i = 0; i < HELIO_SERIES_MAX; i++) {
            (void)snprintf(kinds[i], sizeof kinds[i], "%u-%u", m, i);
            points[i % POINTS] = m;
            series[i] = price_series("a", kinds[i], points, POINTS);
        }
        harness_series(h, NORTH, series, HELIO_SERIES_MAX);
    }
    assert_true(harness_count(h, HELIO_BROKER_FX_ROW_SERIES) <= ROWS_MAX);
    assert_true(harness_figures(h).series_dropped_total > (MESSAGES - 1) * HELIO_SERIES_MAX);
    const helio_row_site_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SITE);
    assert_non_null(row); /* people are told */
    assert_true(row->refused.size > 0);
    /* Too many issues of one series, which is kept: what was left out is asked for, once there is room again. */
    harness_clear(h);
    for (uint32_t m = 0; m < MESSAGES; m++) {
        points[0] = 1000 + m;
        series[0] = price_series("a", "0-0", points, POINTS);
        harness_series(h, NORTH, series, 1);
    }
    assert_true(harness_count(h, HELIO_BROKER_FX_ROW_SERIES) <= ROWS_MAX);
    harness_clear(h);
    harness_advance(h, HOUR_MS / 2);
    harness_renew(h, NORTH);
    summary_of_nothing(1000, 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 0);
    summary_of_nothing(1001, 1000);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 1);
    harness_series(h, NORTH, series, 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SERIES), 1);
    summary_of_nothing(1002, 0);
    summary_of_nothing(1003, 1002);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 1); /* once */
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
        cmocka_unit_test_setup_teardown(lies__an_attempt_that_a_site_never_had_costs_no_budget, begin, end),
        cmocka_unit_test_setup_teardown(lies__an_old_attempt_has_no_more_gpus_than_its_job_wants, begin, end),
        cmocka_unit_test_setup_teardown(lies__a_rent_below_zero_is_none, begin, end),
        cmocka_unit_test_setup_teardown(lies__a_flood_of_evidence_is_limited_for_a_while, begin, end),
        cmocka_unit_test_setup_teardown(lies__impossible_figures_of_a_profile_are_cut, begin, end),
        cmocka_unit_test_setup_teardown(lies__electricity_has_a_price_that_a_grid_can_have, begin, end),
        cmocka_unit_test_setup_teardown(lies__rent_is_one_that_a_site_file_can_have, begin, end),
        cmocka_unit_test_setup_teardown(lies__the_last_value_of_a_failed_feed_has_a_time_that_a_table_can_hold, begin,
                                        end),
        cmocka_unit_test_setup_teardown(lies__figures_of_all_pools_can_be_added_up, begin, end),
        cmocka_unit_test_setup_teardown(withheld__is_written_when_it_changes_and_only_if_it_can_be_said, begin, end),
        cmocka_unit_test_setup_teardown(lies__series_are_written_when_they_are_news_of_a_pool_that_exists, begin, end),
        cmocka_unit_test_setup_teardown(lies__a_flood_of_series_costs_few_rows_and_ends_with_everything_said_again,
                                        begin, end),
        cmocka_unit_test_setup_teardown(lies__a_rebuilt_broker_orders_the_gpus_again, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
