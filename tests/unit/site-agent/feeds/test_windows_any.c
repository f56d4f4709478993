/*  test_windows_any.c -- windows in any zone and over any change of the clocks, held minute by minute against
 * what the C library's local time says. */
#include <time.h>

#include "federation/base/rng.h"
#include "tests/unit/site-agent/feeds/compose_testing.h"

enum { WINDOWS = 4, TOTAL_GPUS = 32, ROUNDS = 120 };

typedef struct window {
    uint32_t days;        /* bit 0 = Monday */
    int from_min, to_min; /* of the day; to <= from: over midnight */
    uint32_t gpus;
} window_t;

static const char *const day_words[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/*  Around the days on which clocks are set, and some on which they are not. */
static const struct {
    const char *zone, *around;
} places[] = {
    {"Europe/Berlin", "2026-10-24T12:00:00Z"},       {"Europe/Berlin", "2026-03-28T12:00:00Z"},
    {"Europe/Berlin", "2026-07-04T12:00:00Z"},       {"America/New_York", "2026-10-31T12:00:00Z"},
    {"America/New_York", "2027-03-13T12:00:00Z"},    {"Australia/Lord_Howe", "2026-10-03T06:00:00Z"},
    {"Australia/Lord_Howe", "2027-04-03T06:00:00Z"}, {"Asia/Kathmandu", "2026-12-31T00:00:00Z"},
    {"Pacific/Auckland", "2026-09-26T00:00:00Z"},    {"America/St_Johns", "2026-11-01T00:00:00Z"},
};
enum { PLACES = sizeof places / sizeof places[0] };

static window_t random_window(helio_rng_t *rng, int grain_min)
{
    int of_day = 1440 / grain_min;
    window_t window = {.days = 1 + (uint32_t)helio_rng_below(rng, 127), .gpus = 1 + (uint32_t)helio_rng_below(rng, 15)};
    window.from_min = (int)helio_rng_below(rng, (uint64_t)of_day) * grain_min;
    do
        window.to_min = (int)helio_rng_below(rng, (uint64_t)of_day + 1) * grain_min;
    while (window.to_min == window.from_min || window.to_min == 0);
    return window;
}

static void write_window(const window_t *window, helio_buffer_t *out)
{
    bool first = true;
    helio_buffer_printf(out, "  - {pool: p, reserve_gpus: %u, when: \"", window->gpus);
    for (int day = 0; day < 7; day++)
        if (window->days & (1u << day)) {
            helio_buffer_printf(out, "%s%s", first ? "" : ",", day_words[day]);
            first = false;
        }
    helio_buffer_printf(out, " %02d:%02d-%02d:%02d\"}\n", window->from_min / 60, window->from_min % 60,
                        window->to_min / 60, window->to_min % 60);
}

/*  By the clock on the wall: the range belongs to the day on which it starts. */
static bool is_inside(const window_t *window, int64_t wall_ms)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm local;
    assert_non_null(localtime_r(&seconds, &local));
    int minute = local.tm_hour * 60 + local.tm_min, today = (local.tm_wday + 6) % 7, before = (today + 6) % 7;
    bool starts_today = window->days & (1u << today), started_before = window->days & (1u << before);
    if (window->to_min > window->from_min)
        return starts_today && minute >= window->from_min && minute < window->to_min;
    return (starts_today && minute >= window->from_min) || (started_before && minute < window->to_min);
}

/*  What is reserved in [from, to): a reservation in any minute of it counts for all of it. */
static double kept_of(const window_t *windows, uint32_t count, int64_t from_ms, int64_t to_ms)
{
    double kept = 0;
    for (uint32_t w = 0; w < count; w++) {
        bool inside = false;
        for (int64_t at_ms = from_ms; !inside && at_ms < to_ms; at_ms += 60000)
            inside = is_inside(&windows[w], at_ms);
        kept += inside ? windows[w].gpus : 0;
    }
    return kept;
}

static void hold(const helio_aev_series_t *all, const window_t *windows, uint32_t count, uint32_t round)
{
    const helio_series_t *reserved = find(all, HELIO_SIGNAL_RESERVED, "p");
    const helio_series_t *free_gpus = find(all, HELIO_SIGNAL_FREE_GPUS, "p");
    assert_true(reserved && free_gpus);
    const int64_t step_ms = 1000 * (int64_t)reserved->step_s;
    for (uint32_t i = 0; i < reserved->values.count; i++) {
        int64_t at_ms = reserved->start_wall_ms + (int64_t)i * step_ms;
        double kept = kept_of(windows, count, at_ms, at_ms + step_ms);
        if (reserved->values.items[i] != kept)
            fail_msg("round %u, %s: %g GPUs are kept from minute %lld on, not %g", round, getenv("TZ"),
                     reserved->values.items[i], (long long)((at_ms - reserved->start_wall_ms) / 60000), kept);
    }
    for (uint32_t h = 0; h < free_gpus->values.count; h++) {
        int64_t at_ms = free_gpus->start_wall_ms + (int64_t)h * H;
        double left = fmax(TOTAL_GPUS - kept_of(windows, count, at_ms, at_ms + H), 0);
        if (free_gpus->values.items[h] != left)
            fail_msg("round %u, %s: %g GPUs are free in hour %u, not %g", round, getenv("TZ"),
                     free_gpus->values.items[h], h, left);
    }
}

static void windows__keep_gpus_by_the_clock_on_the_wall_in_every_zone(void **state)
{
    (void)state;
    helio_rng_t rng = {7};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        static const int grains_min[] = {60, 30, 15, 5, 1};
        helio_arena_reset(arena);
        const char *name = places[round % PLACES].zone;
        helio_zone_t *zone = zone_of(name);
        (void)setenv("TZ", name, 1);
        tzset();
        window_t windows[WINDOWS];
        uint32_t count = 1 + (uint32_t)helio_rng_below(&rng, WINDOWS);
        int grain_min = grains_min[helio_rng_below(&rng, 5)];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_buffer_printf(&text, "%swindows:\n", SITE);
        for (uint32_t w = 0; w < count; w++) {
            windows[w] = random_window(&rng, grain_min);
            write_window(&windows[w], &text);
        }
        int64_t at_ms = ms_of(places[round % PLACES].around) + (int64_t)helio_rng_below(&rng, 24 * 60) * 60000;
        helio_aev_series_t all = compose(read_site(text.data, arena), NULL, zone, at_ms);
        hold(&all, windows, count, round);
        helio_zone_destroy(&zone);
    }
    (void)unsetenv("TZ");
    tzset();
}

/*  A window that is always there, beside those that come and go, is in every value. */
static void windows__without_a_time_keep_their_gpus_always(void **state)
{
    (void)state;
    static const struct {
        const char *windows;
        double kept, left;
    } rows[] = {{"[{pool: p, reserve_gpus: 5}]", 5, 27},
                {"[{pool: p, reserve_gpus: 5}, {pool: p, reserve_gpus: 6}, {pool: q, reserve_gpus: 8}]", 11, 21},
                {"[{pool: p, reserve_gpus: 32}]", 32, 0},
                {"[{pool: p, reserve_gpus: 20}, {pool: p, reserve_gpus: 20}]", 40, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_text_t text = helio_arena_printf(arena, "%swindows: %s\n", SITE, rows[i].windows);
        helio_aev_series_t all = compose(read_site(helio_arena_string(arena, text), arena), NULL, NULL, now);
        const helio_series_t *reserved = find(&all, HELIO_SIGNAL_RESERVED, "p");
        const helio_series_t *free_gpus = find(&all, HELIO_SIGNAL_FREE_GPUS, "p");
        assert_int_equal(reserved->step_s, 900);
        for (uint32_t n = 0; n < reserved->values.count; n++)
            assert_true(reserved->values.items[n] == rows[i].kept);
        for (uint32_t n = 0; n < free_gpus->values.count; n++)
            assert_true(free_gpus->values.items[n] == rows[i].left); /* never fewer than none */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(windows__keep_gpus_by_the_clock_on_the_wall_in_every_zone),
        TEST(windows__without_a_time_keep_their_gpus_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
