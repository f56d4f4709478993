/*  test_energy_account.c -- whose energy it was: measured GPUs, modelled pools, meters, restarts. */
#include "tests/unit/site-agent/telemetry/energy_account_testing.h"

static void account__of_measured_gpus_separates_idle_foreign_and_jobs(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    counters(self, 1100, 1, 5040); /* somebody began on the first */
    helio_energy_account_tick(self->energy_account, BEGIN + 600000);
    counters(self, 1400, 1, 5090);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){1}, 1, BEGIN + 1200000);
    helio_energy_account_tick(self->energy_account, BEGIN + 1200000);
    counters(self, 1400, 0, 6090);
    assert_int_equal(
        helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 1800000, BEGIN + 1800000), 1000);
    helio_energy_account_tick(self->energy_account, BEGIN + 1800000);
    counters(self, 1410, 0, 6120);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "foreign", BEGIN, BEGIN + H), 300));
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 100 + 40 + 50 + 10 + 30));
    double hosts = 1.5 * 2 * 80 * 3600;
    assert_true(near(joules(self, "a", "overhead", BEGIN, BEGIN + H), hosts + 0.5 * (300 + 230)));
}

static void account__splits_at_the_hour_and_omits_partly_observed_hours(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN + H / 2);
    helio_energy_account_tick(self->energy_account, BEGIN + H / 2);
    counters(self, 1100, 0, 5000);
    helio_energy_account_tick(self->energy_account, BEGIN + H + H / 2);
    assert_true(joules(self, "a", "idle", BEGIN, BEGIN + H + H / 2) == -1);
    counters(self, 1100, 0, 5000);
    helio_energy_account_tick(self->energy_account, BEGIN + 2 * H);
    assert_true(near(joules(self, "a", "idle", BEGIN + H, BEGIN + 2 * H), 50));
    assert_true(joules(self, "a", "idle", BEGIN + 2 * H, BEGIN + 2 * H) == -1);
}

static void account__of_a_killed_agent_continues_from_its_file(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN + 60000); /* is kept */
    counters(self, 1500, 1, 5100);
    helio_energy_account_tick(self->energy_account, BEGIN + 120000); /* is not */
    counters(self, 3000, 1, 5300);
    open_energy_account(self, true, BEGIN + 600000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 600000, BEGIN + 600000),
                     2000);
    helio_energy_account_tick(self->energy_account, BEGIN + 600000);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 300));
}

static void account__does_not_know_the_energy_of_a_run_that_ended_long_before(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-y-1", (uint32_t[]){1}, 1, BEGIN);
    counters(self, 401000, 0, 405000);
    /* 1000 s of run, 90 s late: what the GPU took since is idle_w */
    assert_int_equal(
        helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 1000000, BEGIN + 1090000),
        400000 - 50 * 90);
    assert_int_equal(
        helio_energy_account_give(self->energy_account, "helio-y-1", true, BEGIN + 500000, BEGIN + 1090000), 0);
    assert_int_equal(
        helio_energy_account_give(self->energy_account, "helio-z-1", true, BEGIN + 500000, BEGIN + 1090000), 0);
}

static void account__counts_the_energy_of_an_attempt_that_never_ran_as_idle(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
    counters(self, 1070, 0, 5000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", false, BEGIN + 60000, BEGIN + 60000),
                     0);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 70));
}

static void account__uses_the_model_when_a_counter_restarts(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    counters(self, 3, 0, 5000);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 50 * 3600));
}

/*  The energy that was used meanwhile is unknown, and so are its users; and the account does not walk through a year of
 *  hours. */
static void account__omits_the_time_over_which_the_clock_jumped(void **state)
{
    fixture_t *self = *state;
    const int64_t later = BEGIN + 400 * 24 * H;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    counters(self, 90000, 0, 5000);
    helio_energy_account_tick(self->energy_account, later);
    assert_true(joules(self, "a", "idle", later - H, later) == -1);
    counters(self, 90070, 0, 5000);
    helio_energy_account_tick(self->energy_account, later + H);
    assert_true(near(joules(self, "a", "idle", later, later + H), 70));
    assert_true(joules(self, "a", "idle", later - H, later + H) == -1);
}

static void account__releases_a_gpu_whose_holder_is_gone(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    counters(self, 1000, 1, 5000);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
    counters(self, 1500, 1, 5000); /* busy, but with no stranger's work */
    helio_energy_account_take(self->energy_account, "helio-y-1", (uint32_t[]){0, 7}, 2,
                              BEGIN + 60000); /* there is no 7 */
    counters(self, 1800, 0, 5000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 90000, BEGIN + 90000),
                     0);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-y-1", true, BEGIN + 90000, BEGIN + 90000),
                     300);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 500)); /* on no job's account */
    assert_true(near(joules(self, "a", "foreign", BEGIN, BEGIN + H), 0));
}

static void account__that_cannot_be_written_reports_it_and_continues(void **state)
{
    fixture_t *self = *state;
    helio_energy_account_options_t options = {&self->site, self->nvml, "/nonexistent/folder", BEGIN};
    self->energy_account = helio_energy_account_new(&options);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
    assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_IO);
    counters(self, 1250, 0, 5000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 60000, BEGIN + 60000),
                     250);
}

static void account__models_unmeasured_pools_by_their_gpus_holders(void **state)
{
    fixture_t *self = *state;
    self->site.pools.count = 2;
    open_energy_account(self, false, BEGIN);
    helio_energy_account_use(self->energy_account, 1, 32, 8, 4);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "b", "idle", BEGIN, BEGIN + H), 20 * 10 * 3600));
    assert_true(near(joules(self, "b", "foreign", BEGIN, BEGIN + H), 4 * 50 * 3600));
    assert_true(
        near(joules(self, "b", "overhead", BEGIN, BEGIN + H), 1.5 * 4 * 40 * 3600 + 0.5 * (200 * 3600 + 200 * 3600)));
    assert_true(joules(self, "a", "idle", BEGIN, BEGIN + H) == -1); /* nobody said whose */
}

static void account__starts_anew_after_a_damaged_file_or_that_of_another_site(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
    open_energy_account(self, true, BEGIN + H);
    assert_true(joules(self, "a", "overhead", BEGIN, BEGIN + H) > 0);
    self->site.name = HELIO_TEXT("oslo");
    open_energy_account(self, true, BEGIN + H);
    assert_true(joules(self, "a", "overhead", BEGIN, BEGIN + H) == -1);
    self->site.name = HELIO_TEXT("lulea");
    FILE *file = fopen(self->path, "r+e");
    assert_non_null(file);
    assert_int_equal(fseek(file, 3000, SEEK_SET), 0);
    (void)fputc(0x55, file);
    (void)fclose(file);
    open_energy_account(self, true, BEGIN + H);
    assert_true(joules(self, "a", "overhead", BEGIN, BEGIN + H) == -1);
    assert_int_equal(truncate(self->path, 100), 0);
    open_energy_account(self, true, BEGIN + H);
    assert_true(joules(self, "a", "overhead", BEGIN, BEGIN + H) == -1);
}

static void account__reads_counting_meters_and_meters_of_means(void **state)
{
    fixture_t *self = *state;
    static const struct {
        const char *what;
        bool cumulative;
        helio_energy_account_reading_t readings[4];
        uint32_t count;
        double first_j, second_j; /* of the two hours from BEGIN on */
    } rows[] = {
        {"a count, over the hour", true, {{-600000, 10}, {600000, 12}, {3000000, 16}, {4200000, 20}}, 4, 7 * 3.6e6, -1},
        {"a count, out of order and twice", true, {{7200000, 5}, {0, 3}, {0, 3}, {3600000, 4}}, 4, 3.6e6, 3.6e6},
        {"means", false, {{0, 1000}, {1800000, 3000}, {3600000, 500}, {7200000, 9}}, 4, 2000 * 3600, 500 * 3600},
        {"a count that goes back", true, {{0, 10}, {3600000, 2}, {7200000, 3}, {0, 10}}, 4, -1, 3.6e6},
        {"a gap of four hours", true, {{-10800000 - 1, 10}, {3600000, 12}, {7200000, 13}, {0, 0}}, 3, -1, 3.6e6},
        {"hours to come", true, {{0, 1}, {3600000, 2}, {7200000 + 600000, 9}, {0, 1}}, 3, 3.6e6, -1},
        {"no number", true, {{0, 1}, {3600000, 2}, {5000000, NAN}, {7200000, 4}}, 4, 3.6e6, 7.2e6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)unlink(self->path);
        open_energy_account(self, false, BEGIN);
        helio_energy_account_reading_t readings[4];
        memcpy(readings, rows[i].readings, sizeof readings);
        for (uint32_t n = 0; n < 4; n++)
            readings[n].time_ms += BEGIN;
        helio_energy_account_read(self->energy_account, readings, rows[i].count, rows[i].cumulative,
                                  HELIO_TEXT("mains"), BEGIN + 2 * H);
        double first = joules(self, "", "meter", BEGIN, BEGIN + 2 * H);
        double second = joules(self, "", "meter", BEGIN + H, BEGIN + 2 * H);
        if (!near(first, rows[i].first_j) || !near(second, rows[i].second_j))
            fail_msg("%s: %g and %g J", rows[i].what, first, second);
    }
}

static void account__has_news_once_an_hour_and_when_the_meter_completes_an_hour(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    assert_true(helio_energy_account_news(self->energy_account, BEGIN));
    assert_false(helio_energy_account_news(self->energy_account, BEGIN + H - 1));
    assert_true(helio_energy_account_news(self->energy_account, BEGIN + H));
    helio_energy_account_reading_t readings[] = {{BEGIN, 1}, {BEGIN + H, 2}};
    helio_energy_account_read(self->energy_account, readings, 2, true, HELIO_TEXT("mains"), BEGIN + H);
    assert_true(helio_energy_account_news(self->energy_account, BEGIN + H + 1));
    assert_false(helio_energy_account_news(self->energy_account, BEGIN + H + 2));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    static const struct CMUnitTest tests[] = {
        TEST(account__of_measured_gpus_separates_idle_foreign_and_jobs),
        TEST(account__splits_at_the_hour_and_omits_partly_observed_hours),
        TEST(account__of_a_killed_agent_continues_from_its_file),
        TEST(account__does_not_know_the_energy_of_a_run_that_ended_long_before),
        TEST(account__counts_the_energy_of_an_attempt_that_never_ran_as_idle),
        TEST(account__uses_the_model_when_a_counter_restarts),
        TEST(account__omits_the_time_over_which_the_clock_jumped),
        TEST(account__releases_a_gpu_whose_holder_is_gone),
        TEST(account__that_cannot_be_written_reports_it_and_continues),
        TEST(account__models_unmeasured_pools_by_their_gpus_holders),
        TEST(account__starts_anew_after_a_damaged_file_or_that_of_another_site),
        TEST(account__reads_counting_meters_and_meters_of_means),
        TEST(account__has_news_once_an_hour_and_when_the_meter_completes_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
