#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <math.h>

#include "site-agent/telemetry/energy_account.h"

static const int64_t H = 3600000, BEGIN = INT64_C(1795003200000); /* an hour begins */

typedef struct fixture {
    helio_arena_t *arena;
    helio_site_profile_t site;
    helio_pool_t pools[2];
    helio_nvml_t *nvml;
    helio_energy_account_t *energy_account;
    char folder[64], counters[128], path[128];
} fixture_t;

static void counters(const fixture_t *self, unsigned long long first_j, int first_busy, unsigned long long second_j)
{
    FILE *file = fopen(self->counters, "we");
    assert_non_null(file);
    (void)fprintf(file, "%llu %d\n%llu 0\n", first_j * 1000, first_busy, second_j * 1000);
    (void)fclose(file);
}

static int make(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->site = (helio_site_profile_t){.name = HELIO_TEXT("lulea"), .pue = 1.5, .pools = {self->pools, 1}};
    self->pools[0] = (helio_pool_t){.name = HELIO_TEXT("a"),
                                    .nodes = 1,
                                    .gpus_per_node = 2,
                                    .idle_w = 50,
                                    .base_w = 100,
                                    .slope_w = 200,
                                    .host_w = 80};
    self->pools[1] = (helio_pool_t){.name = HELIO_TEXT("b"),
                                    .nodes = 4,
                                    .gpus_per_node = 8,
                                    .idle_w = 10,
                                    .base_w = 20,
                                    .slope_w = 30,
                                    .host_w = 40};
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-book-XXXXXX");
    assert_non_null(mkdtemp(self->folder));
    (void)snprintf(self->counters, sizeof self->counters, "%s/counters", self->folder);
    (void)snprintf(self->path, sizeof self->path, "%s/energy.book", self->folder);
    (void)setenv("NVML_DOUBLE_NAMES", "NVIDIA L4;NVIDIA L4", 1);
    (void)setenv("NVML_DOUBLE_FILE", self->counters, 1);
    counters(self, 1000, 0, 5000);
    self->nvml = helio_nvml_new(HELIO_NVML_DOUBLE);
    *state = self;
    return 0;
}

static int unmake(void **state)
{
    fixture_t *self = *state;
    helio_energy_account_destroy(&self->energy_account);
    helio_nvml_destroy(&self->nvml);
    (void)unlink(self->path);
    (void)unlink(self->counters);
    (void)rmdir(self->folder);
    helio_arena_destroy(&self->arena);
    free(self);
    (void)unsetenv("NVML_DOUBLE_FILE");
    return 0;
}

static void open_energy_account(fixture_t *self, bool measured, int64_t wall_ms)
{
    helio_energy_account_destroy(&self->energy_account);
    helio_energy_account_options_t options = {&self->site, measured ? self->nvml : NULL, self->folder, wall_ms};
    self->energy_account = helio_energy_account_new(&options);
}

/*  Joules of an hour; -1 = nothing is said of it. */
static double joules(fixture_t *self, const char *pool, const char *kind, int64_t hour_ms, int64_t wall_ms)
{
    helio_series_t series[8];
    uint32_t count = helio_energy_account_series(self->energy_account, wall_ms, self->arena, series);
    for (uint32_t i = 0; i < count; i++) {
        int64_t at = (hour_ms - series[i].start_wall_ms) / H;
        assert_int_equal(series[i].signal, HELIO_SIGNAL_POWER);
        if (helio_text_is(series[i].pool, pool) && helio_text_is(series[i].kind, kind) && at >= 0 &&
            at < series[i].values.count)
            return series[i].values.items[at] < 0 ? -1 : series[i].values.items[at] * 3600;
    }
    return -1;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-6 * (1 + fabs(b));
}

static void book__of_measured_gpus_counts_nobodys_others_and_ours_apart(void **state)
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

static void book__splits_at_the_hour_and_says_nothing_of_one_that_it_saw_in_part(void **state)
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

static void book__of_a_killed_agent_goes_on_where_the_file_stands(void **state)
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

static void book__knows_no_energy_of_a_run_that_ended_long_before_anybody_looked(void **state)
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

static void book__takes_what_an_attempt_took_that_never_ran_for_idle(void **state)
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

static void book__falls_back_on_the_model_when_a_counter_begins_anew(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    counters(self, 3, 0, 5000);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 50 * 3600));
}

/*  Nobody knows what was taken meanwhile, and by whom; and a year of hours is not walked through. */
static void book__of_a_clock_that_leaps_says_nothing_of_the_time_between(void **state)
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

static void book__gives_a_gpu_back_whose_holder_is_gone(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    counters(self, 1000, 1, 5000);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
    counters(self, 1500, 1, 5000); /* busy, but with no stranger's work */
    helio_energy_account_take(self->energy_account, "helio-y-1", (uint32_t[]){0, 7}, 2, BEGIN + 60000); /* there is no 7 */
    counters(self, 1800, 0, 5000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 90000, BEGIN + 90000), 0);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-y-1", true, BEGIN + 90000, BEGIN + 90000), 300);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), 500)); /* on no job's account */
    assert_true(near(joules(self, "a", "foreign", BEGIN, BEGIN + H), 0));
}

static void book__that_cannot_be_written_says_so_and_goes_on(void **state)
{
    fixture_t *self = *state;
    helio_energy_account_options_t options = {&self->site, self->nvml, "/nonexistent/folder", BEGIN};
    self->energy_account = helio_energy_account_new(&options);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){0}, 1, BEGIN);
    assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_IO);
    counters(self, 1250, 0, 5000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 60000, BEGIN + 60000), 250);
}

static void book__models_pools_that_are_not_measured_by_whose_their_gpus_are(void **state)
{
    fixture_t *self = *state;
    self->site.pools.count = 2;
    open_energy_account(self, false, BEGIN);
    helio_energy_account_use(self->energy_account, 1, 32, 8, 4);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "b", "idle", BEGIN, BEGIN + H), 20 * 10 * 3600));
    assert_true(near(joules(self, "b", "foreign", BEGIN, BEGIN + H), 4 * 50 * 3600));
    assert_true(near(joules(self, "b", "overhead", BEGIN, BEGIN + H),
                     1.5 * 4 * 40 * 3600 + 0.5 * (200 * 3600 + 200 * 3600)));
    assert_true(joules(self, "a", "idle", BEGIN, BEGIN + H) == -1); /* nobody said whose */
}

static void book__begins_anew_after_a_damaged_file_or_of_another_site(void **state)
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

static void book__reads_meters_that_count_and_meters_of_means(void **state)
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

static void book__has_news_once_an_hour_and_when_the_meter_made_one_whole(void **state)
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
        TEST(book__of_measured_gpus_counts_nobodys_others_and_ours_apart),
        TEST(book__splits_at_the_hour_and_says_nothing_of_one_that_it_saw_in_part),
        TEST(book__of_a_killed_agent_goes_on_where_the_file_stands),
        TEST(book__knows_no_energy_of_a_run_that_ended_long_before_anybody_looked),
        TEST(book__takes_what_an_attempt_took_that_never_ran_for_idle),
        TEST(book__falls_back_on_the_model_when_a_counter_begins_anew),
        TEST(book__of_a_clock_that_leaps_says_nothing_of_the_time_between),
        TEST(book__gives_a_gpu_back_whose_holder_is_gone),
        TEST(book__that_cannot_be_written_says_so_and_goes_on),
        TEST(book__models_pools_that_are_not_measured_by_whose_their_gpus_are),
        TEST(book__begins_anew_after_a_damaged_file_or_of_another_site),
        TEST(book__reads_meters_that_count_and_meters_of_means),
        TEST(book__has_news_once_an_hour_and_when_the_meter_made_one_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
