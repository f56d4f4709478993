/*  test_account_clock.c -- the energy account when the wall clock is set, and when readings of the meter arrive late,
 *  twice or out of order. */
#include "federation/base/rng.h"
#include "tests/unit/site-agent/telemetry/energy_account_testing.h"

enum { YEAR_HOURS = 400 * 24 };

/*  The machine started with a clock a year ahead; then somebody set it right. */
static void account__begins_again_when_the_clock_is_set_back(void **state)
{
    fixture_t *self = *state;
    static const struct {
        const char *what;
        int64_t back_ms;
    } rows[] = {{"two hours", 2 * 3600000},
                {"a day", 24 * 3600000},
                {"a week and an hour", 169 * INT64_C(3600000)},
                {"more than a year", YEAR_HOURS * INT64_C(3600000)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)unlink(self->path);
        counters(self, 1000, 0, 5000);
        open_energy_account(self, true, BEGIN + rows[i].back_ms - 3 * H);
        for (int64_t at_ms = BEGIN + rows[i].back_ms - 3 * H; at_ms <= BEGIN + rows[i].back_ms; at_ms += H)
            helio_energy_account_tick(self->energy_account, at_ms);
        helio_energy_account_tick(self->energy_account, BEGIN);
        counters(self, 1000, 0, 5070);
        helio_energy_account_tick(self->energy_account, BEGIN + H);
        double first = joules(self, "a", "idle", BEGIN, BEGIN + H);
        if (!near(first, 70))
            fail_msg("%s back: the first whole hour has %g J", rows[i].what, first);
    }
}

/*  The same over a restart: the file has a time that is yet to come. */
static void account__of_a_file_from_a_time_to_come_begins_again(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN + 48 * H);
    helio_energy_account_tick(self->energy_account, BEGIN + 49 * H);
    assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    counters(self, 1000, 0, 5070);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 70));
}

/*  An hour that was counted twice by a clock would show twice the power that the pool can draw. */
static void account__says_nothing_of_an_hour_that_the_clock_showed_twice(void **state)
{
    fixture_t *self = *state;
    self->site.pools.count = 2;
    open_energy_account(self, false, BEGIN);
    helio_energy_account_use(self->energy_account, 1, 32, 0, 0);
    for (int64_t at_ms = BEGIN; at_ms <= BEGIN + 3 * H; at_ms += H / 6)
        helio_energy_account_tick(self->energy_account, at_ms);
    for (int64_t at_ms = BEGIN + H + H / 2; at_ms <= BEGIN + 5 * H; at_ms += H / 6)
        helio_energy_account_tick(self->energy_account, at_ms);
    static const double watts[] = {-1, -1, 320, 320, 320};
    for (int64_t h = 1; h < 5; h++) {
        double told = joules(self, "b", "idle", BEGIN + h * H, BEGIN + 5 * H);
        double expected = watts[h] < 0 ? -1 : watts[h] * 3600;
        if (!near(told, expected))
            fail_msg("hour %lld: %g J, not %g", (long long)h, told, expected);
    }
}

/*  Time services step a clock by parts of a second: that is no reason to forget an hour. */
static void account__goes_on_over_a_step_of_the_clock_by_seconds(void **state)
{
    fixture_t *self = *state;
    self->site.pools.count = 2;
    open_energy_account(self, false, BEGIN);
    helio_energy_account_use(self->energy_account, 1, 32, 0, 0);
    helio_energy_account_tick(self->energy_account, BEGIN + H / 2);
    helio_energy_account_tick(self->energy_account, BEGIN + H / 2 - 3000);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    double told = joules(self, "b", "idle", BEGIN, BEGIN + H);
    assert_true(told >= 320.0 * 3600 && told <= 320.0 * 3603 + 1);
}

/*  The counter tells what a job took, whatever the clock did meanwhile. */
static void account__of_a_job_is_its_counter_over_a_clock_that_was_set(void **state)
{
    fixture_t *self = *state;
    static const int64_t sets_ms[] = {-30 * 1000, -2 * 3600000, -YEAR_HOURS * INT64_C(3600000), 90 * 60000};
    for (size_t i = 0; i < sizeof sets_ms / sizeof sets_ms[0]; i++) {
        (void)unlink(self->path);
        counters(self, 1000, 0, 5000);
        open_energy_account(self, true, BEGIN);
        helio_energy_account_tick(self->energy_account, BEGIN);
        helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
        helio_energy_account_tick(self->energy_account, BEGIN + 60000);
        int64_t now_ms = BEGIN + 60000 + sets_ms[i];
        helio_energy_account_tick(self->energy_account, now_ms);
        counters(self, 4000, 1, 5000);
        uint64_t told = helio_energy_account_give(self->energy_account, "helio-x-1", true, now_ms, now_ms);
        if (told != 3000)
            fail_msg("clock set by %lld ms: %llu J", (long long)sets_ms[i], (unsigned long long)told);
    }
}

/* ---- meters -------------------------------------------------------------------------------------------- */

static double meter_j(fixture_t *self, int64_t hour, int64_t now_ms)
{
    return joules(self, "", "meter", BEGIN + hour * H, now_ms);
}

static void read_one(fixture_t *self, int64_t at_ms, double value, int64_t now_ms)
{
    helio_energy_account_reading_t reading = {at_ms, value};
    helio_energy_account_read(self->energy_account, &reading, 1, true, HELIO_TEXT("mains"), now_ms);
}

static void meter__goes_on_when_the_clock_is_set_back(void **state)
{
    fixture_t *self = *state;
    const int64_t ahead = BEGIN + YEAR_HOURS * H;
    open_energy_account(self, false, ahead);
    read_one(self, ahead, 5, ahead);
    helio_energy_account_tick(self->energy_account, ahead);
    helio_energy_account_tick(self->energy_account, BEGIN);
    read_one(self, BEGIN, 6, BEGIN);
    read_one(self, BEGIN + H, 8, BEGIN + H);
    assert_true(near(meter_j(self, 0, BEGIN + H), 2 * 3.6e6));
}

/*  What one reading tells is told by the same readings in any order, in any pieces, and more than once. */
static void meter__tells_the_same_however_its_readings_arrive(void **state)
{
    fixture_t *self = *state;
    enum { COUNT = 60 };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        helio_rng_t rng = {seed};
        helio_energy_account_reading_t all[COUNT], some[COUNT];
        double kwh = 100;
        for (int i = 0; i < COUNT; i++) {
            all[i] = (helio_energy_account_reading_t){BEGIN + i * H / 10, kwh};
            kwh += (double)helio_rng_below(&rng, 100) / 10;
        }
        const int64_t now_ms = BEGIN + 6 * H;
        double expected[6], found[6];
        for (int pass = 0; pass < 2; pass++) {
            (void)unlink(self->path);
            open_energy_account(self, false, BEGIN);
            for (int from = 0; from < COUNT;) {
                int size = pass ? 1 + (int)helio_rng_below(&rng, 8) : COUNT, count = 0, back = 0;
                size = size < COUNT - from ? size : COUNT - from;
                if (pass && from > 3) /* a service repeats its last values */
                    back = (int)helio_rng_below(&rng, 4);
                for (int i = from - back; i < from + size; i++)
                    some[count++] = all[i];
                for (int i = count - 1; pass && i > 0; i--) { /* in any order */
                    int other = (int)helio_rng_below(&rng, (uint64_t)i + 1);
                    helio_energy_account_reading_t one = some[i];
                    some[i] = some[other];
                    some[other] = one;
                }
                helio_energy_account_read(self->energy_account, some, (uint32_t)count, true, HELIO_TEXT("mains"),
                                          now_ms);
                from += size;
            }
            for (int h = 0; h < 6; h++)
                (pass ? found : expected)[h] = meter_j(self, h, now_ms);
        }
        for (int h = 0; h < 5; h++)
            if (expected[h] < 0 || !near(found[h], expected[h]))
                fail_msg("seed %llu hour %d: %g J, not %g", (unsigned long long)seed, h, found[h], expected[h]);
    }
}

static void meter__of_another_kind_joins_no_reading_of_the_former_one(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, false, BEGIN);
    read_one(self, BEGIN, 1000, BEGIN);
    helio_energy_account_reading_t means[] = {{BEGIN + H, 500}, {BEGIN + 2 * H, 500}};
    helio_energy_account_read(self->energy_account, means, 2, false, HELIO_TEXT("mains"), BEGIN + 2 * H);
    assert_true(meter_j(self, 0, BEGIN + 2 * H) == -1);
    assert_true(near(meter_j(self, 1, BEGIN + 2 * H), 500 * 3600));
}

/*  The agent was away for two hours: the next reading covers them; for four: nothing is known of them. */
static void meter__goes_on_over_a_restart(void **state)
{
    fixture_t *self = *state;
    for (int64_t away = 2; away <= 4; away += 2) {
        (void)unlink(self->path);
        open_energy_account(self, false, BEGIN);
        read_one(self, BEGIN, 10, BEGIN);
        helio_energy_account_tick(self->energy_account, BEGIN);
        assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
        open_energy_account(self, false, BEGIN + away * H);
        read_one(self, BEGIN + away * H, 10 + (double)away, BEGIN + away * H);
        double first = meter_j(self, 0, BEGIN + away * H);
        assert_true(near(first, away == 2 ? 3.6e6 : -1));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    static const struct CMUnitTest tests[] = {
        TEST(account__begins_again_when_the_clock_is_set_back),
        TEST(account__of_a_file_from_a_time_to_come_begins_again),
        TEST(account__says_nothing_of_an_hour_that_the_clock_showed_twice),
        TEST(account__goes_on_over_a_step_of_the_clock_by_seconds),
        TEST(account__of_a_job_is_its_counter_over_a_clock_that_was_set),
        TEST(meter__goes_on_when_the_clock_is_set_back),
        TEST(meter__tells_the_same_however_its_readings_arrive),
        TEST(meter__of_another_kind_joins_no_reading_of_the_former_one),
        TEST(meter__goes_on_over_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
