/*  test_agent_meter.c -- the site's meter, from a feed to the broker: mean watts of the hours that are over.
 */
#include <math.h>

#include "tests/unit/site-agent/agent/agent_testing.h"

enum { HOUR_MS = 3600000 };

static int64_t hour_now(void)
{
    return helio_clock_wall_ms() / HOUR_MS;
}

/*  Readings at the last three full hours: what the meter shows at each. */
static const char *readings(double first, double second, double third)
{
    static char text[256];
    const double values[] = {first, second, third};
    int64_t hour_ms = hour_now() * HOUR_MS;
    size_t used = (size_t)snprintf(text, sizeof text, "time,value\n");
    for (int i = 0; i < 3; i++) {
        char time[HELIO_RFC3339_SIZE];
        helio_rfc3339(hour_ms - (2 - i) * (int64_t)HOUR_MS, time);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s,%.6f\n", time, values[i]);
    }
    return text;
}

static void meter__of_any_unit_is_told_as_mean_watts_of_its_hours(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        double readings[3];
        double watts[2];
    } rows[] = {
        {"kWh", {1000, 1012, 1012.5}, {12000, 500}}, {"MWh", {3, 3.012, 3.0125}, {12000, 500}},
        {"Wh", {5000, 17000, 17500}, {12000, 500}},  {"W", {12000, 500, 77}, {12000, 500}},
        {"kW", {12, 0.5, 77}, {12000, 500}},         {"MW", {0.012, 0.5, 77}, {12000, 500000}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0];) {
        char book[96];
        int64_t hour = hour_now();
        helio_feed_t feed = {
            .signal = HELIO_FEED_METER, .name = HELIO_TEXT("mains"), .unit = helio_text_of(rows[i].unit)};
        end_agent(); /* and what it remembers */
        (void)snprintf(book, sizeof book, "%s/energy.book", world.directory);
        (void)unlink(book);
        (void)snprintf(book, sizeof book, "%s/feeds.history", world.directory);
        (void)unlink(book);
        world.metered = 0;
        restart_with_feed(&feed, readings(rows[i].readings[0], rows[i].readings[1], rows[i].readings[2]));
        turn_until(&world.metered, 1);
        if (hour == hour_now() &&
            (fabs(world.meter_w[0] - rows[i].watts[0]) > 1 || fabs(world.meter_w[1] - rows[i].watts[1]) > 1))
            fail_msg("%s: %g W and %g W", rows[i].unit, world.meter_w[0], world.meter_w[1]);
        end_agent();             /* before its feed goes */
        i += hour == hour_now(); /* an hour that ended meanwhile has no reading yet */
    }
    world.settings.feeds.feeds.count = 0;
    start_agent();
}

/*  A counter that was changed for another begins anew: that hour is not known, and the next one is. */
static void meter__that_begins_anew_says_nothing_of_that_hour(void **state)
{
    (void)state;
    int64_t hour = hour_now();
    helio_feed_t feed = {.signal = HELIO_FEED_METER, .name = HELIO_TEXT("mains"), .unit = HELIO_TEXT("kWh")};
    restart_with_feed(&feed, readings(1000, 3, 5));
    turn_until(&world.metered, 1);
    if (hour == hour_now()) {
        assert_true(world.meter_w[0] == -1); /* the series begins with what is known */
        assert_true(world.meter_w[1] > 1999 && world.meter_w[1] < 2001);
    }
    end_agent();
    world.settings.feeds.feeds.count = 0;
    start_agent();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(meter__of_any_unit_is_told_as_mean_watts_of_its_hours),
        TEST(meter__that_begins_anew_says_nothing_of_that_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
