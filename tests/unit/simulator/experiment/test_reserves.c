/*  test_reserves.c -- what windows reserve: by the clock of the site, by demand, and as a site publishes it; and what
 *  that does to jobs. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include "federation/base/clock.h"
#include "simulator/experiment/site.h"

enum { NORTH, SOUTH, WEST };

static exp_series_set_t demand;
static exp_reserves_t *reserves;

static int close_reserves(void **state)
{
    exp_reserves_destroy(&reserves);
    exp_series_free(&demand);
    return close_world(state);
}

/*  North has the windows. */
static void use(const char *timezone, const char *windows)
{
    fleet = fleet_of(helio_arena_string(
        arena, helio_arena_printf(arena, "sites:\n%s    timezone: %s\n    windows: %s\n%s%s",
                                  A_SITE("north", "NO", "1.1", "2"), timezone, windows,
                                  A_SITE("south", "SO", "1.5", "2"), A_SITE("west", "WE", "1.2", "4"))));
    if (exp_reserves_new(&fleet, demand, &reserves, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    world.reserves = reserves;
}

static uint32_t at(const char *time)
{
    int64_t ms;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(time), &ms), HELIO_OK);
    return exp_reserves_at(reserves, NORTH, 0, ms / HOUR);
}

static void load_demand(const char *text)
{
    if (exp_series_load_demand(put("inference.csv", text), 0, &demand, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

/*  ---- what is reserved ---- */

/*  2023-10-02 is a Monday; Stockholm is two hours ahead until the end of October, and one after it. */
static void clock__is_that_of_the_site(void **state)
{
    (void)state;
    use("Europe/Stockholm",
        "[{pool: a100, reserve_gpus: 5, when: \"Mon..Fri 08:00-20:00\"}, {pool: a100, reserve_gpus: 2}]");
    assert_int_equal(at("2023-10-02T05:00:00Z"), 2);
    assert_int_equal(at("2023-10-02T06:00:00Z"), 7);
    assert_int_equal(at("2023-10-02T17:00:00Z"), 7);
    assert_int_equal(at("2023-10-02T18:00:00Z"), 2);
    assert_int_equal(at("2023-10-01T12:00:00Z"), 2);
    assert_int_equal(at("2023-11-01T06:00:00Z"), 2);
    assert_int_equal(at("2023-11-01T07:00:00Z"), 7);
    assert_false(exp_reserves_has(reserves, WEST, 0));
    assert_int_equal(exp_reserves_at(reserves, WEST, 0, 0), 0);
    assert_int_equal(exp_reserves_at(NULL, NORTH, 0, 0), 0);
}

static void clock__an_hour_that_a_window_touches_is_reserved(void **state)
{
    (void)state;
    use("UTC", "[{pool: a100, reserve_gpus: 5, when: \"08:59-10:01\"}]");
    static const uint32_t expected[] = {0, 5, 5, 5, 0};
    double published[48];
    int64_t hour = T0 / 3600 + 15; /* 7 o'clock */
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(exp_reserves_at(reserves, NORTH, 0, hour + i), expected[i]);
    exp_reserves_publish(reserves, NORTH, 0, hour, 48, false, arena, published); /* the clock is no forecast */
    for (uint32_t i = 0; i < 48; i++)
        assert_true(published[i] == (i % 24 < 5 ? expected[i % 24] : 0));
}

#define DEMAND "utc,series,requests\n"

static void demand__is_relative_to_its_maximum(void **state)
{
    (void)state;
    load_demand(DEMAND "2023-10-01T16:00:00Z,chat,10\n2023-10-01T16:20:00Z,chat,25\n2023-10-01T16:40:00Z,chat,1\n"
                       "2023-10-01T17:00:00Z,chat,100\n2023-10-01T18:00:00Z,chat,0\n2023-10-01T18:00:00Z,code,7\n"
                       "2023-10-01T20:00:00Z,chat,51\n");
    use("UTC", "[{pool: a100, reserve_gpus: 10, series: chat, peak_gpus: 10}]");
    static const uint32_t expected[] = {3, 10, 0, 0, 6, 6}; /* whole GPUs, rounded up; the last value goes on */
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(exp_reserves_at(reserves, NORTH, 0, T0 / 3600 + i), expected[i]);
}

/*  Two worlds that differ from the next hour on are published alike, unless the truth is asked for. */
static void demand__of_later_hours_is_a_forecast(void **state)
{
    (void)state;
    double published[2][48], truth[2][48];
    for (int turn = 0; turn < 2; turn++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_buffer_text(&text, DEMAND);
        for (int64_t i = -10 * 24; i < 4 * 24; i++) {
            char time[HELIO_RFC3339_SIZE];
            helio_rfc3339((T0 / 3600 + i) * HOUR, time);
            helio_buffer_printf(&text, "%s,chat,%d\n", time, i <= 0 || turn ? 40 + 20 * (int)(i & 1) : 60);
        }
        helio_buffer_append(&text, "", 1);
        exp_reserves_destroy(&reserves);
        exp_series_free(&demand);
        load_demand(text.data);
        use("UTC", "[{pool: a100, series: chat, peak_gpus: 12}]");
        exp_reserves_publish(reserves, NORTH, 0, T0 / 3600, 48, false, arena, published[turn]);
        exp_reserves_publish(reserves, NORTH, 0, T0 / 3600, 48, true, arena, truth[turn]);
    }
    assert_memory_equal(published[0], published[1], sizeof published[0]);
    assert_true(published[0][0] == 8 && truth[0][0] == 8 && truth[0][2] == 12 && truth[1][2] == 8);
}

static void demand__that_is_unknown_reserves_its_peak(void **state)
{
    (void)state;
    double published[3];
    load_demand(DEMAND "2023-10-01T20:00:00Z,chat,1\n2023-10-01T21:00:00Z,chat,2\n");
    use("UTC", "[{pool: a100, series: chat, peak_gpus: 12}]");
    exp_reserves_publish(reserves, NORTH, 0, T0 / 3600, 3, false, arena, published);
    assert_true(published[0] == 6 && published[1] == 12 && published[2] == 12);
}

/*  A series that has ended is no feed that is dead: nobody expects its last day to come again. */
static void demand__after_its_end_stays_as_it_is(void **state)
{
    (void)state;
    double published[30];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, DEMAND);
    for (int64_t i = -4 * 24; i <= 0; i++) {
        char time[HELIO_RFC3339_SIZE];
        helio_rfc3339((T0 / 3600 + i) * HOUR, time);
        helio_buffer_printf(&text, "%s,chat,%d\n", time, i % 24 ? 10 : 0);
    }
    helio_buffer_append(&text, "", 1);
    load_demand(text.data);
    use("UTC", "[{pool: a100, series: chat, peak_gpus: 12}]");
    exp_reserves_publish(reserves, NORTH, 0, T0 / 3600, 30, false, arena, published);
    assert_true(published[0] == 0 && published[5] > 0);
    exp_reserves_publish(reserves, NORTH, 0, T0 / 3600 + 1, 30, false, arena, published);
    for (uint32_t i = 0; i < 30; i++)
        assert_true(published[i] == 0);
}

static void errors__name_the_site_and_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *windows, *timezone, *demand, *error;
    } rows[] = {
        {"[{pool: a100, series: chat, peak_gpus: 1}]", "UTC", NULL,
         "site 'north': a window names the series 'chat': --inference FILE is needed"},
        {"[{pool: a100, series: chat, peak_gpus: 1}]", "UTC", DEMAND "2023-10-01T20:00:00Z,code,1\n",
         "site 'north': --inference has no series 'chat', which a window names"},
        {"[{pool: a100, reserve_gpus: 1, when: \"08:00-10:00\"}]", "Europe/Atlantis", NULL,
         "site 'north': timezone 'Europe/Atlantis': No such file or directory"},
        {"[{pool: a100, reserve_gpus: 1, when: \"08:00-10:00\"}]", "x/../passwd", NULL,
         "site 'north': timezone 'x/../passwd': this is not the name of a time zone"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exp_fleet_t wrong = fleet_of(helio_arena_string(
            arena, helio_arena_printf(arena, "sites:\n%s    timezone: %s\n    windows: %s\n",
                                      A_SITE("north", "NO", "1.1", "2"), rows[i].timezone, rows[i].windows)));
        exp_series_free(&demand);
        if (rows[i].demand)
            load_demand(rows[i].demand);
        assert_int_equal(exp_reserves_new(&wrong, demand, &reserves, &err), HELIO_INVALID);
        assert_string_equal(err.text, rows[i].error);
        assert_null(reserves);
    }
    static const struct {
        const char *row, *error;
    } lines[] = {{"2023-10-01T20:00:00Z,chat,-1", ":2: column 'requests': "},
                 {"yesterday,chat,1", ":2: column 'utc': "},
                 {"2023-10-01T20:00:00Z,,1", ":2: column 'series': "},
                 {"2023-10-01T20:00:00Z,chat,1\n2023-10-01T19:00:00Z,chat,1", ":3: column 'utc': the hours of 'chat'"}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        exp_series_set_t none;
        const char *text = helio_arena_string(arena, helio_arena_printf(arena, DEMAND "%s\n", lines[i].row));
        assert_int_equal(exp_series_load_demand(put("i.csv", text), 0, &none, &err), HELIO_INVALID);
        assert_non_null(strstr(err.text, lines[i].error));
    }
}

/*  ---- what it does to jobs ---- */

/*  16 GPUs, 12 of them reserved from 20:00 to 22:00; it is 16:00. */
#define EVENING "[{pool: a100, reserve_gpus: 12, when: \"20:00-22:00\"}]"

static void window__is_left_in_time_and_work_goes_on_after_it(void **state)
{
    (void)state;
    use("UTC", EVENING);
    load(HEAD "1696176000,21600,8,north,standard,3600,,1\n");
    trace.to_ms = trace.from_ms + 8 * HOUR; /* until midnight */
    run("least-wait");
    assert_int_equal(result.finished, 1);
    double inference = exp_result_utilization_with_inference(&result, &world) - exp_result_utilization(&result, &world);
    assert_true(fabs(inference - 12 * 2 / ((double)exp_fleet_gpus(&fleet) * 8)) < 1e-9);
    assert_true(result.placements == 2 && result.short_gpu_hours == 0);
    /* six hours of work from 16:00 to just before 20:00, in whole checkpoints of an hour, and from 22:00 on */
    assert_true(result.jct_sum_s > 9 * 3600 && result.jct_sum_s < 9 * 3600 + 120);
}

static void window__nothing_starts_that_would_be_in_its_way(void **state)
{
    (void)state;
    use("UTC", EVENING);
    load(HEAD "1696176000,21600,8,north,standard,,,1\n"); /* it cannot save its work */
    run("least-wait");
    assert_true(result.finished == 1 && result.placements == 1 && result.short_gpu_hours == 0);
    assert_true(fabs(result.wait_sum_s - 6 * 3600) <= 30);
    load(
        HEAD
        "1696176000,14400,8,north,standard,,,1\n1696176000,21600,4,north,standard,,,1\n"); /* both are in nobody's way */
    run("least-wait");
    assert_true(result.finished == 2 && result.wait_sum_s == 0);
}

static void window__is_open_to_critical_work(void **state)
{
    (void)state;
    use("UTC", EVENING);
    load(HEAD "1696176000,21600,8,north,express,,,1\n");
    run("least-wait");
    assert_true(result.finished == 1 && result.wait_sum_s == 0 && result.short_gpu_hours == 0);
}

/*  What critical jobs and the site's own users hold is no shortfall. */
static void shortfall__counts_what_others_hold(void **state)
{
    (void)state;
    exp_site_t site;
    use("UTC", EVENING);
    exp_site_init(&site, &world, NORTH, EXP_KNOWS_FORECAST, T0 * 1000);
    helio_order_t order = {.pool = HELIO_TEXT("a100"), .nodes = 2, .gpus_per_node = 3, .epoch = 1};
    uint32_t served;
    exp_attempt_t *first = exp_site_start(&site, &order, T0 * 1000), *second = exp_site_start(&site, &order, T0 * 1000);
    assert_int_equal(exp_site_shortfall(&site, 0, 12, &served), 12 - 4);
    assert_int_equal(served, 4);
    exp_site_exempt(&site, second);
    assert_int_equal(exp_site_shortfall(&site, 0, 12, &served), 2);
    assert_int_equal(exp_site_shortfall(&site, 0, 20, &served), 6); /* more than there is */
    assert_int_equal(served, 4);
    exp_site_end(&site, second, HELIO_REPORT_KIND_ENDED, T0 * 1000 + 5);
    assert_int_equal(exp_site_shortfall(&site, 0, 12, &served), 2);
    assert_int_equal(served, 10);
    exp_site_end(&site, first, HELIO_REPORT_KIND_ENDED, T0 * 1000 + 5);
    assert_int_equal(exp_site_shortfall(&site, 0, 12, &served), 0);
    assert_int_equal(served, 12);
    free(first);
    free(second);
    exp_site_clear(&site);
}

/*  Days without demand, and then all of it: the job leaves in the hour in which it is known, or before. */
static void demand__that_nobody_foresaw_stops_what_is_in_its_way(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, DEMAND);
    for (int64_t i = -3 * 24; i < 48; i++) {
        char time[HELIO_RFC3339_SIZE];
        helio_rfc3339((T0 / 3600 + i) * HOUR, time);
        helio_buffer_printf(&text, "%s,chat,%d\n", time, i >= 2 && i < 4 ? 100 : 0);
    }
    helio_buffer_append(&text, "", 1);
    load_demand(text.data);
    use("UTC", "[{pool: a100, series: chat, peak_gpus: 12}]");
    load(HEAD "1696176000,14400,16,north,standard,3600,,1\n");
    run("least-wait");
    assert_int_equal(result.finished, 1);
    assert_true(result.placements == 2 && result.short_gpu_hours == 0);
    assert_true(fabs(result.jct_sum_s - 6 * 3600 - 60) <= 30); /* four hours of work, two without GPUs, a restart */
    run("clairvoyant"); /* it leaves before, and so the hour that it cannot finish is lost */
    assert_true(result.finished == 1 && result.placements == 2 && result.short_gpu_hours == 0);
}

/*  GPUs that inference has are not idle. */
static void idle__is_what_neither_jobs_nor_inference_have(void **state)
{
    (void)state;
    double idle[2];
    for (int turn = 0; turn < 2; turn++) {
        exp_reserves_destroy(&reserves);
        use("UTC", turn ? EVENING : "[]");
        load(HEAD "1696176000,3600,4,west,standard,,,1\n1696212000,3600,4,west,standard,,,1\n");
        run("least-wait");
        idle[turn] = result.idle_kwh;
    }
    assert_true(fabs(idle[0] - idle[1] - 12 * 2 * 0.05 * 1.1) < 1e-9);
}

static void every_policy__finishes_beside_windows(void **state)
{
    (void)state;
    use("UTC", EVENING);
    load_many(5, 120);
    for (uint32_t i = 0; i < exp_policy_count; i++) {
        run(exp_policies[i].name);
        assert_int_equal(result.finished, 120);
    }
}

#define RESERVED(name) cmocka_unit_test_setup_teardown(name, open_world, close_reserves)
int main(void)
{
    const struct CMUnitTest tests[] = {
        RESERVED(clock__is_that_of_the_site),
        RESERVED(clock__an_hour_that_a_window_touches_is_reserved),
        RESERVED(demand__is_relative_to_its_maximum),
        RESERVED(demand__of_later_hours_is_a_forecast),
        RESERVED(demand__that_is_unknown_reserves_its_peak),
        RESERVED(demand__after_its_end_stays_as_it_is),
        RESERVED(errors__name_the_site_and_the_file),
        RESERVED(window__is_left_in_time_and_work_goes_on_after_it),
        RESERVED(window__nothing_starts_that_would_be_in_its_way),
        RESERVED(window__is_open_to_critical_work),
        RESERVED(shortfall__counts_what_others_hold),
        RESERVED(demand__that_nobody_foresaw_stops_what_is_in_its_way),
        RESERVED(idle__is_what_neither_jobs_nor_inference_have),
        RESERVED(every_policy__finishes_beside_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
