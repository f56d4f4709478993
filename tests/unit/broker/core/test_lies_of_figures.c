/*  test_lies_of_figures.c -- figures of a site and its series that no site can have. Everybody sees them. */
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, HOUR_MS = 3600000 };

static harness_t *h;
static helio_site_profile_t *north;
static uint64_t peer;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    peer = NORTH;
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static const helio_row_series_t *row_of_series(uint32_t signal, const double *points, uint32_t count)
{
    double said[6];
    memcpy(said, points, count * sizeof *said);
    helio_series_t series = {.signal = signal,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) / HOUR_MS * HOUR_MS,
                             .step_s = 3600,
                             .values = {said, count},
                             .p90 = {said, count}};
    harness_clear(h);
    harness_join(h, ++peer, north);
    harness_series(h, peer, &series, 1);
    return harness_take(h, HELIO_BROKER_FX_ROW_SERIES);
}

/*  What is below the range of a carbon intensity, a PUE or a power is no value: -1 g/kWh is often
 *  an unknown one, and as 0 it would be the cleanest of all. */
static void figures__of_series_are_possible_ones(void **state)
{
    (void)state;
    static const struct {
        uint32_t signal;
        double said[6], kept[6];
    } cases[] = {
        {HELIO_SIGNAL_PUE, {0.5, 1.1, 2e9, -3, 10, 1}, {1.1, 1.1, 10, 10, 10, 1}},
        {HELIO_SIGNAL_CARBON, {-1, 250, -5, 9e9, 1e5, 0}, {250, 250, 250, 1e5, 1e5, 0}},
        {HELIO_SIGNAL_POWER, {-1, 5e8, 1e308, 0, -2e9, 7}, {5e8, 5e8, 2e9, 0, 0, 7}},
        {HELIO_SIGNAL_FREE_GPUS, {4, -1, 1e9, 0, 8, 2}, {4, 4, 1e7, 0, 8, 2}},
        {HELIO_SIGNAL_RESERVED, {-4, 1, 1e9, 0, 8, 2}, {0, 1, 1e7, 0, 8, 2}},
        {HELIO_SIGNAL_ELECTRICITY, {-1e9, -0.5, 0, 0.2, 99, 1e9}, {-10, -0.5, 0, 0.2, 99, 100}},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        const helio_row_series_t *row = row_of_series(cases[n].signal, cases[n].said, 6);
        assert_non_null(row);
        assert_int_equal(row->values.count, 6);
        for (uint32_t i = 0; i < 6; i++) {
            assert_float_equal(row->values.items[i], cases[n].kept[i], 1e-9);
            assert_float_equal(row->p90.items[i], cases[n].kept[i], 1e-9);
        }
    }
    const double bad[] = {-1, -1};
    const helio_row_series_t *row = row_of_series(HELIO_SIGNAL_CARBON, bad, 2);
    assert_true(row && row->values.count == 0 && row->p90.count == 0);
}

/*  The same of static figures. A site that states no PUE has one of 1. */
static void figures__of_a_site_are_possible_ones(void **state)
{
    (void)state;
    static const double said[][2] = {{2e9, 9e9}, {0, -5}, {0.5, 0}, {1.2, 1e5}, {-1, -1e9}};
    static const double kept[][2] = {{10, 1e5}, {1, -1}, {1, 0}, {1.2, 1e5}, {1, -1}};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        north->pue = said[i][0];
        north->carbon_g_per_kwh = said[i][1];
        harness_clear(h);
        harness_join(h, ++peer, north);
        const helio_row_site_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SITE);
        assert_non_null(row);
        assert_float_equal(row->pue, kept[i][0], 1e-9);
        assert_float_equal(row->carbon_g_per_kwh, kept[i][1], 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures__of_series_are_possible_ones, begin, end),
        cmocka_unit_test_setup_teardown(figures__of_a_site_are_possible_ones, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
