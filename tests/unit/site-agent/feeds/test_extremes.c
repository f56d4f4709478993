/*  test_extremes.c -- feeds that say what no meter shows, and clocks that were a year ahead: what is
 * published stays finite and is about now. */
#include "federation/base/rng.h"
#include "site-agent/feeds/points.h"
#include "tests/unit/site-agent/feeds/compose_testing.h"

enum { SEEDS = 40 };

/*  Every signal that a site publishes, in the unit that makes its numbers largest. */
static const struct signal {
    const char *feed; /* without its source */
    uint32_t published;
    const char *pool;
} signals[] = {
    {"signal: carbon, unit: t/MWh", HELIO_SIGNAL_CARBON, ""},
    {"signal: electricity, unit: EUR/kWh, usd_per_eur: 1.1", HELIO_SIGNAL_ELECTRICITY, ""},
    {"signal: price, pool: p, unit: EUR/GPU-h, usd_per_eur: 1.1", HELIO_SIGNAL_PRICE, "p"},
    {"signal: pue", HELIO_SIGNAL_PUE, ""},
};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static site_file_t *site_with(const char *feed)
{
    helio_text_t text = helio_arena_printf(arena, "%sagent: {feeds: [{%s, source: csv, path: x}]}\n", SITE, feed);
    return read_site(helio_arena_string(arena, text), arena);
}

static const helio_feed_t *json_feed(const char *feed)
{
    helio_text_t text = helio_arena_printf(arena,
                                           "%sagent: {feeds: [{%s, source: http-json, url: "
                                           "\"https://x.example/\", fields: {time: t, value: v}}]}\n",
                                           SITE, feed);
    return &read_site(helio_arena_string(arena, text), arena)->feeds.feeds.items[0];
}

static void points__that_no_meter_shows_are_refused_in_either_form(void **state)
{
    (void)state;
    static const struct {
        const char *number;
        double is; /* in kW; NAN = no point */
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"1e12", 1e12},
        {"-1e12", -1e12},
        {"1.0000001e12", NAN},
        {"1e300", NAN},
        {"-1e300", NAN},
        {"1e308", NAN},
        {"1e-300", 1e-300},
        {"-1e12", -1e12},
        {"999999999999", 999999999999.0},
    };
    const helio_feed_t *csv = &site_with("signal: power, unit: kW")->feeds.feeds.items[0];
    const helio_feed_t *json = json_feed("signal: power, unit: kW");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_points_t points = {.count = 77};
        helio_error_t err = {0};
        helio_text_t lines =
            helio_arena_printf(arena, "%.*s,%.*s\n1,5\n1795000000,%s\n", HELIO_TEXT_ARGS(csv->time_column),
                               HELIO_TEXT_ARGS(csv->value_column), rows[i].number);
        helio_rc rc = helio_points_csv(csv, lines, arena, &points, &err);
        bool good = !isnan(rows[i].is);
        if ((rc == HELIO_OK) != good || (good && points.items[1].value != rows[i].is * 1000))
            fail_msg("csv: %s is %s", rows[i].number, rc ? err.text : "taken as something else");
        if (!good && !strstr(err.text, "line 3"))
            fail_msg("csv: %s: '%s' does not name the line", rows[i].number, err.text);
        helio_text_t entries = helio_arena_printf(
            arena, "[{\"t\": 1, \"v\": 5}, {\"t\": 1795000000, \"v\": %s}, {\"t\": 3, \"v\": \"%s\"}]", rows[i].number,
            rows[i].number);
        assert_int_equal(helio_points_json(json, entries, false, arena, &points, &err), HELIO_OK);
        if (points.count != (good ? 3 : 1) || (good && points.items[2].value != rows[i].is * 1000))
            fail_msg("json: of %s there are %u points", rows[i].number, points.count);
    }
}

/*  compose() itself asserts that every value and every bound is finite and in order. */
static void compose__stays_finite_whatever_a_feed_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        helio_rng_t rng = {seed};
        const struct signal *signal = &signals[seed % SIGNALS];
        helio_arena_reset(arena);
        site_file_t *file = site_with(signal->feed);
        helio_track_t *track = new_track(now);
        static const double values[] = {HELIO_POINT_VALUE_MAX, -HELIO_POINT_VALUE_MAX, 0, -1, 1e-300, 5e14, 450};
        uint32_t count = 600;
        helio_point_t *points = helio_arena_alloc(arena, count, sizeof *points);
        for (uint32_t i = 0; i < count; i++)
            points[i] = (helio_point_t){.time_ms = now - (int64_t)helio_rng_below(&rng, 35 * 24) * H,
                                        .value = values[helio_rng_below(&rng, 7)],
                                        .forecast = helio_rng_below(&rng, 4) == 0,
                                        .estimated = helio_rng_below(&rng, 4) == 0};
        for (uint32_t i = 0; i < 60; i++) /* and of the hours to come */
            points[i].time_ms = now + (int64_t)helio_rng_below(&rng, 60) * H;
        assert_true(helio_track_take(track, &(helio_points_t){points, count}, now) > 0);
        for (int64_t later_ms = 0; later_ms < 20 * 24 * H; later_ms += 7 * H) {
            helio_aev_series_t all = compose(file, track, NULL, now + later_ms);
            const helio_series_t *series = find(&all, signal->published, signal->pool);
            assert_non_null(series);
            for (uint32_t h = 0; h < 48; h++)
                if (signal->published == HELIO_SIGNAL_PUE && series->values.items[h] < 1)
                    fail_msg("seed %llu: a PUE of %g", (unsigned long long)seed, series->values.items[h]);
        }
    }
}

/*  What the source says now is kept, although the hours of the false year were "later". */
static void track__begins_again_when_the_clock_was_far_ahead(void **state)
{
    (void)state;
    static const int64_t ahead_h[] = {HELIO_TRACK_HOURS, 60 * 24, 400 * 24, 30 * 365 * 24};
    for (size_t i = 0; i < sizeof ahead_h / sizeof ahead_h[0]; i++) {
        site_file_t *file = site_with("signal: carbon, unit: g/kWh");
        helio_track_t *track = new_track(now + ahead_h[i] * H);
        tell_days(track, now + ahead_h[i] * H, 20);
        assert_int_equal(tell(track, now, (helio_point_t){.time_ms = now - 600000, .value = 512}), 1);
        assert_int_equal(helio_track_state(track, 3600000, now), HELIO_TRACK_FRESH);
        helio_aev_series_t all = compose(file, track, NULL, now);
        const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
        if (carbon->values.items[0] != 512)
            fail_msg("%lld hours ahead: the running hour is %g", (long long)ahead_h[i], carbon->values.items[0]);
    }
}

/*  A step back by hours or days loses nothing of what is known. */
static void track__keeps_its_past_when_the_clock_is_set_back_a_little(void **state)
{
    (void)state;
    static const int64_t back_h[] = {1, 5, 24, 14 * 24};
    for (size_t i = 0; i < sizeof back_h / sizeof back_h[0]; i++) {
        helio_track_t *track = new_track(now);
        tell_days(track, now, 30);
        int64_t then = now - back_h[i] * H;
        assert_int_equal(tell(track, then, (helio_point_t){.time_ms = then, .value = 77}), 1);
        helio_hours_t hours = helio_track_hours(track);
        assert_true(helio_hours_at(&hours, then / H) == 77);
        for (int64_t hour = then / H - 15 * 24; hour < then / H; hour++)
            assert_true(helio_hours_at(&hours, hour) == 100 + 10 * (double)(hour % 24));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points__that_no_meter_shows_are_refused_in_either_form),
        TEST(compose__stays_finite_whatever_a_feed_says),
        TEST(track__begins_again_when_the_clock_was_far_ahead),
        TEST(track__keeps_its_past_when_the_clock_is_set_back_a_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
