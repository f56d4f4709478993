/*  What a signal was, hour by hour. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "federation/policy/history.h"

static const int64_t HOUR_MS = 3600000, NOW_MS = INT64_C(1772323200000);

static helio_history_t *history;
static uint32_t told;
static double told_sum;

static int begin(void **state)
{
    (void)state;
    history = helio_history_new(HELIO_SIGNAL_CARBON);
    told = 0;
    told_sum = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_history_destroy(&history);
    return 0;
}

static void count_news(void *arg, const helio_history_value_t *value)
{
    (void)arg;
    told++;
    told_sum += value->value;
}

/*  Hourly values from the hour that wall_ms is in. */
static void take(int64_t issued_ms, int64_t wall_ms, double *values, uint32_t count, const char *source)
{
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .kind = HELIO_TEXT("average"),
                             .source = helio_text_of(source),
                             .issued_wall_ms = issued_ms,
                             .start_wall_ms = wall_ms - wall_ms % HOUR_MS,
                             .step_s = 3600,
                             .values = {values, count}};
    helio_history_take(history, &series, wall_ms, count_news, NULL);
}

static helio_history_value_t at(int64_t hour_ms)
{
    helio_history_value_t value = {.value = -1};
    (void)helio_history_at(history, hour_ms, &value);
    return value;
}

static void take__the_latest_issue_counts_and_a_forecast_is_an_estimate(void **state)
{
    (void)state;
    double first[] = {100, 200, 300}, second[] = {210, 310};
    take(NOW_MS + 60000, NOW_MS + 60000, first, 3, "a");
    assert_true(at(NOW_MS).value == 100 && !at(NOW_MS).estimated);
    assert_true(at(NOW_MS + HOUR_MS).value == 200 && at(NOW_MS + HOUR_MS).estimated);
    take(NOW_MS + HOUR_MS, NOW_MS + HOUR_MS, second, 2, "b");
    assert_true(at(NOW_MS).value == 100);
    assert_true(at(NOW_MS + HOUR_MS).value == 210 && !at(NOW_MS + HOUR_MS).estimated);
    assert_true(helio_text_is(at(NOW_MS + HOUR_MS).source, "b"));
    double late[] = {999};
    take(NOW_MS, NOW_MS + HOUR_MS, late, 1, "an older issue");
    assert_true(at(NOW_MS + HOUR_MS).value == 210);
}

static void take__only_hours_that_have_begun_are_news_and_each_once(void **state)
{
    (void)state;
    double values[] = {1, 2, 4, 8, 16};
    take(NOW_MS, NOW_MS, values, 5, "a");
    assert_true(told == 1 && told_sum == 1);
    take(NOW_MS, NOW_MS + 1000, values, 5, "a"); /* a full summary repeats it */
    assert_true(told == 1);
    double later[] = {32, 64}; /* three hours on: the forecast was the last word on two of them */
    take(NOW_MS + 3 * HOUR_MS, NOW_MS + 3 * HOUR_MS, later, 2, "a");
    assert_true(told == 4 && told_sum == 1 + 2 + 4 + 32);
    assert_true(at(NOW_MS + HOUR_MS).estimated);
}

static void take__unusable_series_are_ignored(void **state)
{
    (void)state;
    double values[] = {NAN, -5, 300, INFINITY, 1e9};
    take(NOW_MS, NOW_MS, values, 5, "a");
    helio_history_value_t value;
    assert_false(helio_history_at(history, NOW_MS, &value));
    assert_true(at(NOW_MS + 2 * HOUR_MS).value == 300);
    assert_true(at(NOW_MS + 3 * HOUR_MS).value == 300); /* the last good one */
    assert_true(at(NOW_MS + 4 * HOUR_MS).value == 1e5);
    helio_series_t marginal = {.kind = HELIO_TEXT("marginal"),
                               .issued_wall_ms = NOW_MS + 1,
                               .start_wall_ms = NOW_MS,
                               .step_s = 3600,
                               .values = {values + 2, 1}};
    helio_history_take(history, &marginal, NOW_MS, NULL, NULL);
    helio_series_t ahead = {
        .issued_wall_ms = NOW_MS + 2 * HOUR_MS, .start_wall_ms = NOW_MS, .step_s = 3600, .values = {values + 2, 1}};
    helio_history_take(history, &ahead, NOW_MS, NULL, NULL);
    helio_series_t none = {.issued_wall_ms = NOW_MS};
    helio_history_take(history, &none, NOW_MS, NULL, NULL);
    assert_false(helio_history_at(history, NOW_MS, &value));
}

static const struct {
    uint32_t signal;
    double told, kept; /* NAN = passed over */
} bounds[] = {
    {HELIO_SIGNAL_CARBON, 0, 0},          {HELIO_SIGNAL_CARBON, -1, NAN},
    {HELIO_SIGNAL_CARBON, 1e9, 1e5},      {HELIO_SIGNAL_PUE, 1, 1},
    {HELIO_SIGNAL_PUE, 0.99, NAN},                                                /* no building gives energy back */
    {HELIO_SIGNAL_PUE, 11, 10},           {HELIO_SIGNAL_ELECTRICITY, -0.5, -0.5}, /* a market may pay for taking it */
    {HELIO_SIGNAL_ELECTRICITY, -11, NAN}, {HELIO_SIGNAL_ELECTRICITY, 101, 100},
    {HELIO_SIGNAL_PRICE, 2e6, 1e4},       {HELIO_SIGNAL_PRICE, NAN, NAN},
    {HELIO_SIGNAL_PRICE, INFINITY, NAN},
};

static void take__impossible_values_are_ignored_or_clamped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        double told_value = bounds[i].told;
        helio_history_destroy(&history);
        history = helio_history_new(bounds[i].signal);
        take(NOW_MS, NOW_MS, &told_value, 1, "grid");
        helio_history_value_t value;
        bool known = helio_history_at(history, NOW_MS, &value);
        if (known == isnan(bounds[i].kept) || (known && fabs(value.value - bounds[i].kept) > 1e-9))
            fail_msg("case %zu: %d, %g", i, known, known ? value.value : NAN);
    }
}

static void at__a_dead_feed_gives_its_last_good_value_for_a_day(void **state)
{
    (void)state;
    double values[] = {100};
    take(NOW_MS, NOW_MS, values, 1, "a");
    helio_history_value_t value;
    assert_false(helio_history_at(history, NOW_MS - HOUR_MS, &value));
    assert_true(helio_history_at(history, NOW_MS + 24 * HOUR_MS, &value));
    assert_true(value.estimated && value.value == 100 && value.hour_ms == NOW_MS);
    assert_false(helio_history_at(history, NOW_MS + 25 * HOUR_MS, &value));
    assert_true(helio_history_nearest(history, NOW_MS + 25 * HOUR_MS, &value) && value.estimated);
    assert_true(helio_history_nearest(history, NOW_MS - 9 * HOUR_MS, &value) && value.estimated);
}

static void restore__another_leader_knows_the_same(void **state)
{
    (void)state;
    helio_history_t *other = helio_history_new(HELIO_SIGNAL_CARBON);
    int64_t wall_ms = NOW_MS;
    helio_series_t last = {0};
    double values[60];
    uint32_t failed = 0;
    for (int h = 0; h < 100; h++, wall_ms += HOUR_MS) {
        if (h % 7 == 3)
            continue; /* the agent was away */
        for (int i = 0; i < 60; i++)
            values[i] = (double)((h * 31 + i * 17) % 500);
        last = (helio_series_t){.signal = HELIO_SIGNAL_CARBON,
                                .kind = HELIO_TEXT("average"),
                                .source = helio_text_of(h % 5 ? "a" : "b"),
                                .issued_wall_ms = wall_ms + 1000,
                                .start_wall_ms = wall_ms,
                                .step_s = 3600,
                                .values = {values, (uint32_t)(40 + h % 20)},
                                .feed_state = h % 5 ? HELIO_FEED_STATE_CURRENT : HELIO_FEED_STATE_LAST_GOOD,
                                .last_value_ms = h % 5 ? 0 : NOW_MS + h / 10};
        helio_history_take(history, &last, wall_ms + 2000, count_news, NULL);
    }
    wall_ms -= HOUR_MS;
    for (int64_t h = NOW_MS; h <= wall_ms; h += HOUR_MS) {
        helio_history_value_t value;
        if (helio_history_at(history, h, &value) && value.hour_ms == h)
            helio_history_restore(other, &value, wall_ms);
    }
    helio_history_take(other, &last, wall_ms, NULL, NULL);
    for (int64_t h = NOW_MS - 10 * HOUR_MS; h < wall_ms + 80 * HOUR_MS; h += HOUR_MS) {
        helio_history_value_t a, b;
        bool known = helio_history_at(history, h, &a);
        assert_int_equal(known, helio_history_at(other, h, &b));
        if (!known)
            continue;
        assert_true(a.value == b.value && a.hour_ms == b.hour_ms && a.issued_ms == b.issued_ms);
        assert_true(a.estimated == b.estimated && helio_text_equal(a.source, b.source));
        assert_true(a.feed_state == b.feed_state && a.last_value_ms == b.last_value_ms);
        failed += a.feed_state == HELIO_FEED_STATE_LAST_GOOD && a.last_value_ms >= NOW_MS;
    }
    assert_true(failed > 0);
    helio_history_destroy(&other);
}

static void take__months_of_changing_sources_stay_within_bounds(void **state)
{
    (void)state;
    char source[32];
    double values[192];
    for (int i = 0; i < 192; i++)
        values[i] = i;
    for (int64_t h = 0; h < 3000; h++) {
        (void)snprintf(source, sizeof source, "grid %d", (int)h);
        take(NOW_MS + h * HOUR_MS, NOW_MS + h * HOUR_MS, values, 192, source);
        assert_true(at(NOW_MS + h * HOUR_MS).value == 0 && helio_text_is(at(NOW_MS + h * HOUR_MS).source, source));
    }
    helio_history_value_t value;
    assert_true(helio_history_at(history, NOW_MS + (2999 - HELIO_HISTORY_BACK_H) * HOUR_MS, &value));
    assert_true(told == 3000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(take__the_latest_issue_counts_and_a_forecast_is_an_estimate),
        CASE(take__only_hours_that_have_begun_are_news_and_each_once),
        CASE(take__unusable_series_are_ignored),
        CASE(take__impossible_values_are_ignored_or_clamped),
        CASE(at__a_dead_feed_gives_its_last_good_value_for_a_day),
        CASE(restore__another_leader_knows_the_same),
        CASE(take__months_of_changing_sources_stay_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
