/*  test_energy.c -- the energy that sites report of past hours is stored once, beside the ledger. */
#include "tests/support/core_harness.h"

#include <math.h>
#include <stdlib.h>

enum { PEER = 7 };
static const int64_t H = 3600000;

typedef struct fixture {
    harness_t *h;
    int64_t hour_ms; /* of the clock */
} fixture_t;

static int make(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    self->h = harness_begin(NULL);
    helio_site_profile_t *site = harness_site(self->h, "north");
    (void)harness_pool(self->h, site, "a", "A100", 1, 4, 1);
    harness_join(self->h, PEER, site);
    harness_clear(self->h);
    self->hour_ms = harness_wall_ms(self->h);
    assert_int_equal(self->hour_ms % H, 0);
    *state = self;
    return 0;
}

static int unmake(void **state)
{
    fixture_t *self = *state;
    harness_end(&self->h);
    free(self);
    return 0;
}

static void say(fixture_t *self, const char *kind, const char *pool, int64_t start_ms, double *watts, uint32_t count)
{
    helio_series_t series = {.signal = HELIO_SIGNAL_POWER,
                             .pool = helio_text_of(pool),
                             .kind = helio_text_of(kind),
                             .source = HELIO_TEXT("nvml"),
                             .issued_wall_ms = self->hour_ms,
                             .start_wall_ms = start_ms,
                             .step_s = 3600,
                             .values = {watts, count}};
    harness_series(self->h, PEER, &series, 1);
}

static void energy__of_past_hours_is_written_once(void **state)
{
    fixture_t *self = *state;
    double watts[] = {100, -1, 250.5};
    say(self, "idle", "a", self->hour_ms - 3 * H, watts, 3);
    const helio_row_site_energy_t *first = harness_take(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY);
    const helio_row_site_energy_t *second = harness_take(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY);
    assert_true(first && second && !harness_take(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY));
    assert_true(helio_text_is(first->site, "north") && helio_text_is(first->pool, "a") && first->part == 0);
    assert_true(first->hour_ms == self->hour_ms - 3 * H && first->energy_j == 360000);
    assert_true(second->hour_ms == self->hour_ms - H && second->energy_j == 901800);
    assert_int_equal(harness_count(self->h, HELIO_BROKER_FX_ROW_SERIES), 0);
    assert_int_equal(harness_count(self->h, HELIO_BROKER_FX_ROW_ACTUAL), 0);

    double again[] = {-1, 250.5, 70};
    harness_advance(self->h, H);
    say(self, "idle", "a", self->hour_ms - 2 * H, again, 3);
    assert_int_equal(harness_count(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY), 1);
    const helio_row_site_energy_t *fresh = harness_take(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY);
    assert_true(fresh->hour_ms == self->hour_ms && fresh->energy_j == 252000);
}

static void energy__impossible_values_are_ignored(void **state)
{
    fixture_t *self = *state;
    static const struct {
        const char *kind, *pool;
        int64_t from_h, shift_ms;
        double watts;
        uint32_t rows;
    } rows[] = {
        {"meter", "", -1, 0, 5, 1},       {"overhead", "a", -1, 0, 0, 1},    {"foreign", "a", -100, 0, 5, 1},
        {"meter", "a", -1, 0, 5, 0},      {"idle", "", -1, 0, 5, 0},         {"idle", "b", -1, 0, 5, 0},
        {"idle", "a", 0, 0, 5, 0},        {"idle", "a", 30, 0, 5, 0},        {"idle", "a", -1, 1000, 5, 0},
        {"idle", "a", -24 * 10, 0, 5, 0}, {"idle", "a", -1, 0, -5, 0},       {"idle", "a", -1, 0, 1e300, 0},
        {"idle", "a", -1, 0, NAN, 0},     {"idle", "a", -1, 0, INFINITY, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double watts = rows[i].watts;
        say(self, rows[i].kind, rows[i].pool, self->hour_ms + rows[i].from_h * H + rows[i].shift_ms, &watts, 1);
        if (harness_count(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY) != rows[i].rows ||
            harness_count(self->h, HELIO_BROKER_FX_ROW_SERIES) != 0)
            fail_msg("row %zu", i);
        harness_clear(self->h);
    }
}

static void energy__of_another_kind_is_an_ordinary_series(void **state)
{
    fixture_t *self = *state;
    double watts[] = {5};
    say(self, "", "", self->hour_ms, watts, 1);
    assert_int_equal(harness_count(self->h, HELIO_BROKER_FX_ROW_SERIES), 1);
    assert_int_equal(harness_count(self->h, HELIO_BROKER_FX_ROW_SITE_ENERGY), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    static const struct CMUnitTest tests[] = {
        TEST(energy__of_past_hours_is_written_once),
        TEST(energy__impossible_values_are_ignored),
        TEST(energy__of_another_kind_is_an_ordinary_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
